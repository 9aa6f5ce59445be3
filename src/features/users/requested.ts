import { dirname } from 'node:path/posix';
import { authorizedKeysPath, sudoersPath, usualHome } from '@machineadm/document/ownership/paths.ts';
import type { IsRequested } from '../../step/feature-step.ts';
import { namedIn } from '../../step/named-in.ts';

/** The account of a user stays; its rule for sudo and its keys go with the user. */
export const requestsUser: IsRequested = ({ host }, { kind, name }) => {
  const users = namedIn(host, 'user', host.users);
  if (kind === 'user') return users.includes(name);
  if (kind !== 'path') return true;
  const homes = [...users.map(usualHome), ...host.users.flatMap(({ home }) => home ?? [])];
  const keys = homes.map(authorizedKeysPath);
  const isOfUser = /^\/etc\/sudoers\.d\/|\/\.ssh(?:\/authorized_keys)?$/.test(name);
  const wanted = [...users.map(sudoersPath), ...keys, ...keys.map((path) => dirname(path))];
  return !isOfUser || wanted.includes(name);
};
