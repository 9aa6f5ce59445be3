import type { Finding, PathSegment } from '../../diagnostics.ts';
import type { UsersSection } from './accounts.ts';
import type { HostSection } from './host.ts';
import { repeated } from './repeated.ts';
import type { Sections } from './sections.ts';
import type { ServicesSection, TimeSection } from './system.ts';

/** crypt(5) hashes begin with "$" and their method; "*" and "!" stand for "no password". DES hashes have no place here. */
export const PASSWORD_HASH = /^(?:\$[A-Za-z0-9-]+\$[^:\s]+|[*!])$/;

/** Contradictions and doubles among accounts, time and services of the host. */
export function checkSystem({ host, secrets }: Sections): Finding[] {
  if (host === undefined) return [];
  return [
    ...doubles(host.groups, 'groups'),
    ...doubles(host.users, 'users'),
    ...doubles(host.services, 'services'),
    ...checkIds(host.users, 'users', 'uid'),
    ...checkIds(host.groups, 'groups', 'gid'),
    ...checkUsers(host.users, secrets ?? {}),
    ...checkTime(host.time),
    ...checkServices(host.services),
  ];
}

function doubles(list: readonly { readonly name: string }[] | undefined, section: keyof HostSection): Finding[] {
  const first = new Map<string, number>();
  return (list ?? []).flatMap(({ name }, index) => {
    const earlier = first.get(name);
    if (earlier === undefined) {
      first.set(name, index);
      return [];
    }
    const path = ['host', section, index, 'name'];
    return [
      {
        code: 'Duplicate',
        path,
        message: `${name} is already`,
        other: ['host', section, earlier],
        hint: 'keep one of them',
      },
    ];
  });
}

function checkIds<Key extends 'uid' | 'gid'>(
  list: readonly ({ readonly name: string } & { readonly [id in Key]?: number | undefined })[] | undefined,
  section: 'users' | 'groups',
  key: Key,
): Finding[] {
  const first = new Map<number, string>();
  return (list ?? []).flatMap((account, index) => {
    const id = account[key];
    if (id === undefined) return [];
    const other = first.get(id);
    if (other === undefined) {
      first.set(id, account.name);
      return [];
    }
    if (other === account.name) return [];
    const path = ['host', section, index, key];
    return [{ code: 'Duplicate', path, message: `${id} is already the ${key} of ${other}`, hint: 'give each its own' }];
  });
}

function checkUsers(users: UsersSection | undefined, secrets: NonNullable<Sections['secrets']>): Finding[] {
  return (users ?? []).flatMap(({ passwordHash }, index) => {
    const source = typeof passwordHash === 'object' ? secrets[passwordHash.secret] : undefined;
    const literal =
      typeof passwordHash === 'string'
        ? passwordHash
        : source !== undefined && 'value' in source
          ? source.value
          : undefined;
    // The value itself is never shown: it may be a password where its hash belongs.
    if (literal === undefined || PASSWORD_HASH.test(literal)) return [];
    const path: readonly PathSegment[] = ['host', 'users', index, 'passwordHash'];
    return [{ path, message: 'not a password hash as crypt(5) makes it', hint: 'mkpasswd or "openssl passwd -6"' }];
  });
}

function checkTime(time: TimeSection | undefined): Finding[] {
  if (time?.enabled !== false) return [];
  return (['servers', 'synchronized'] as const).flatMap((key) =>
    time[key] === undefined
      ? []
      : [{ path: ['host', 'time', key], message: 'has no effect while time.enabled is false', hint: 'remove one' }],
  );
}

function checkServices(services: ServicesSection | undefined): Finding[] {
  return (services ?? []).flatMap((service, index) => {
    const findings: Finding[] = [];
    const path = ['host', 'services', index];
    const excluded = service.masked === true && (service.enabled === true || service.state === 'Started');
    if (excluded)
      findings.push({ path, message: 'a masked service neither runs nor starts', hint: 'keep one of them' });
    findings.push(
      ...doubleDropIns(service).map(
        (at): Finding => ({
          code: 'Duplicate',
          path: [...path, 'dropIns', at, 'name'],
          message: 'another drop-in of this service has this name',
        }),
      ),
    );
    return findings;
  });
}

function doubleDropIns({ dropIns = [] }: ServicesSection[number]): number[] {
  return [...repeated(dropIns.map(({ name }) => name)).keys()];
}
