import { hostname as name } from '../fields/types.ts';
import { CLOUD_INIT_HOSTNAME_FILE, HOSTNAME_FILE } from '../ownership/paths.ts';
import { claimsOn, hostPart } from './part.ts';

export const hostname = hostPart({
  description: 'The host name of the machine, in lower case.',
  absent: 'the host name stays as it is',
  changes:
    '`/etc/hostname`, the host name of the kernel, and a drop-in in `/etc/cloud/cloud.cfg.d`; on Windows the computer name',
  example: 'node-1',
  schema: name,
  toModel: (section): string | undefined => section,
  claims: (hostname) =>
    hostname === undefined ? [] : claimsOn('hostname', [], 'file', HOSTNAME_FILE, CLOUD_INIT_HOSTNAME_FILE),
});
