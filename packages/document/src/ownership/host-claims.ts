import type { PathSegment } from '../diagnostics.ts';
import { hostPartClaims } from '../host-parts/index.ts';
import type { HostModel, Model } from '../model.ts';
import type { StepId } from '../step-ids.ts';
import type { Claim } from './claim.ts';
import {
  ACCOUNT_DATABASES,
  authorizedKeysPath,
  CHRONY_CONFIGURATIONS,
  CLOUD_INIT_HOSTNAME_FILE,
  CONTAINERD_CONFIGURATION,
  ENVIRONMENT_FILE,
  FSTAB,
  HOOKS_SERVICE,
  HOSTNAME_FILE,
  KERBEROS_CONFIGURATION,
  MODULES_FILE,
  NAME_SERVICE_SWITCH,
  NTP_CONFIGURATIONS,
  ORIGINAL_SUFFIX,
  OWN_FILE_PREFIX,
  openrcConfigurationPath,
  openrcScriptPath,
  PREVIOUS_SUFFIX,
  PROXY_DROP_IN,
  PROXY_FILE,
  PROXY_SERVICES,
  REGISTRIES_DIRECTORY,
  REGISTRY_HOSTS_FILE,
  registryDirectories,
  SSSD_CONFIGURATION_PATH,
  SYSCTL_FILE,
  sudoersPath,
  TIMESYNCD_CONFIGURATION,
  TRUST_STORES,
  UNIT_DIRECTORY,
  unitDropInPath,
  unitPath,
  usualHome,
  ZRAM_CONFIGURATION,
} from './paths.ts';

type Kind = Claim['kind'];

/** What the steps of the host manage, section by section. */
export function hostClaims({ host, containerd }: Model): readonly Claim[] {
  return [
    ...hostPartClaims(host),
    ...settingClaims(host),
    ...accountClaims(host),
    ...timeClaims(host),
    ...proxyClaims(host),
    ...trustClaims(host),
    ...directoryClaims(host),
    ...serviceClaims(host),
    ...host.storage.mounts.flatMap(({ path }, index) =>
      path === 'none' ? [] : [claim('mounts', ['host', 'storage', 'mounts', index, 'path'], 'mount', path)],
    ),
    ...(containerd === undefined ? [] : containerdClaims(containerd)),
  ];
}

function claim(step: StepId, field: readonly PathSegment[], kind: Kind, path: string, names?: RegExp): Claim {
  return names === undefined ? { step, field, path, kind } : { step, field, path, kind, names };
}

/** A claim of each of these paths. */
function claims(step: StepId, field: readonly PathSegment[], kind: Kind, ...paths: readonly string[]): Claim[] {
  return paths.map((path) => claim(step, field, kind, path));
}

function settingClaims({ hostname, kernelModules, sysctl, swap, storage, hooks }: HostModel): Claim[] {
  return [
    ...(hostname === undefined
      ? []
      : claims('hostname', ['host', 'hostname'], 'file', HOSTNAME_FILE, CLOUD_INIT_HOSTNAME_FILE)),
    ...(kernelModules.length === 0 ? [] : claims('kernel-modules', ['host', 'kernelModules'], 'file', MODULES_FILE)),
    ...(sysctl.length === 0 ? [] : claims('sysctl', ['host', 'sysctl'], 'file', SYSCTL_FILE)),
    ...(swap === 'Unmanaged'
      ? []
      : [
          ...claims('swap', ['host', 'swap'], 'lines', FSTAB),
          ...claims('swap', ['host', 'swap'], 'file', ZRAM_CONFIGURATION),
          claim('swap', ['host', 'swap'], 'names', UNIT_DIRECTORY, SWAP_UNITS),
        ]),
    ...(storage.mounts.length === 0 ? [] : claims('mounts', ['host', 'storage', 'mounts'], 'lines', FSTAB)),
    ...(hooks.early?.frequency === 'Always'
      ? claims(
          'hooks-boot',
          ['host', 'hooks', 'early'],
          'file',
          unitPath(HOOKS_SERVICE),
          openrcScriptPath(HOOKS_SERVICE),
        )
      : []),
  ];
}

/** Masks of swap units, and the condition that keeps one of the administrator's from starting. */
const SWAP_UNITS = /^[^/]+\.swap(?:\.d\/[^/]+\.conf)?$/;

function accountClaims({ users, groups }: HostModel): Claim[] {
  return [
    ...(groups.length === 0 ? [] : claims('groups', ['host', 'groups'], 'lines', ...ACCOUNT_DATABASES)),
    ...(users.length === 0 ? [] : claims('users', ['host', 'users'], 'lines', ...ACCOUNT_DATABASES)),
    ...users.flatMap(({ name, home, sshAuthorizedKeys }, index) => {
      const field = ['host', 'users', index];
      // Removed where the user has no rules.
      const sudo = claim('users', [...field, 'sudo'], 'file', sudoersPath(name));
      if (sshAuthorizedKeys === undefined) return [sudo];
      const path = authorizedKeysPath(home ?? usualHome(name));
      return [sudo, claim('users', [...field, 'sshAuthorizedKeys'], 'lines', path)];
    }),
  ];
}

/** Which of the files it is depends on the client that is installed; a file of another client serves nobody. */
function timeClaims({ time }: HostModel): Claim[] {
  if (time?.enabled !== true) return [];
  const own = claims('time', ['host', 'time'], 'file', TIMESYNCD_CONFIGURATION);
  if (time.servers.length === 0) return own;
  const main = [...CHRONY_CONFIGURATIONS, ...NTP_CONFIGURATIONS];
  return [...own, ...claims('time', ['host', 'time', 'servers'], 'lines', ...main)];
}

function proxyClaims({ proxy }: HostModel): Claim[] {
  if (proxy === undefined) return [];
  const field = ['host', 'proxy'];
  const services = PROXY_SERVICES.filter((service) => proxy.for.includes(service));
  return [
    ...claims('proxy', field, 'file', PROXY_FILE, ...PROXY_SERVICES.map((name) => unitDropInPath(name, PROXY_DROP_IN))),
    ...claims('proxy', field, 'lines', ...services.map(openrcConfigurationPath)),
    ...(proxy.for.includes('environment') ? claims('proxy', field, 'lines', ENVIRONMENT_FILE) : []),
  ];
}

function trustClaims({ certificateAuthorities }: HostModel): Claim[] {
  if (certificateAuthorities.length === 0) return [];
  const field = ['host', 'certificateAuthorities'];
  const stores = Object.values(TRUST_STORES);
  const ours = new RegExp(`^${OWN_FILE_PREFIX}[^/]*\\.(?:crt|pem)$`);
  return [...new Set(stores.map(({ directory }) => directory))]
    .map((directory) => claim('certificate-authorities', field, 'names', directory, ours))
    .concat(claims('certificate-authorities', field, 'file', ...new Set(stores.map(({ bundle }) => bundle))));
}

function directoryClaims({ activeDirectory }: HostModel): Claim[] {
  if (activeDirectory === undefined) return [];
  const field = ['host', 'activeDirectory'];
  const { keytab, logins, kerberosConfiguration } = activeDirectory;
  const configuration =
    kerberosConfiguration === 'Managed' ? [KERBEROS_CONFIGURATION, `${KERBEROS_CONFIGURATION}${ORIGINAL_SUFFIX}`] : [];
  return [
    ...claims('active-directory', [...field, 'keytab'], 'file', keytab),
    ...claims('active-directory', field, 'file', ...configuration),
    ...(logins === undefined
      ? []
      : [
          ...claims('directory-logins', [...field, 'logins'], 'file', SSSD_CONFIGURATION_PATH),
          ...claims('directory-logins', [...field, 'logins'], 'lines', NAME_SERVICE_SWITCH),
        ]),
  ];
}

function serviceClaims({ services }: HostModel): Claim[] {
  return services.flatMap(({ name, masked, dropIns }, index) => {
    const field = ['host', 'services', index];
    return [
      ...dropIns.map((dropIn, at) =>
        claim('services', [...field, 'dropIns', at], 'file', unitDropInPath(name, dropIn.name)),
      ),
      // A link to /dev/null in the place of the unit (systemctl(1), mask).
      ...(masked === true ? [claim('services', [...field, 'masked'], 'file', unitPath(name))] : []),
    ];
  });
}

function containerdClaims({ registries }: NonNullable<Model['containerd']>): Claim[] {
  const field = ['containerRuntime', 'containerd'];
  const copies = [ORIGINAL_SUFFIX, PREVIOUS_SUFFIX].map((suffix) => `${CONTAINERD_CONFIGURATION}${suffix}`);
  return [
    ...claims('containerd', field, 'file', CONTAINERD_CONFIGURATION, ...copies),
    ...registries.flatMap(({ host }, index) =>
      registryDirectories(host).map((name) => {
        const directory = `${REGISTRIES_DIRECTORY}/${name}`;
        return claim('containerd', [...field, 'registries', index], 'names', directory, REGISTRY_FILES);
      }),
    ),
  ];
}

/** Names in the directory of a registry that are ours to write and to remove, and the file that was found there. */
export const REGISTRY_FILES = new RegExp(
  `^(?:${REGISTRY_HOSTS_FILE.replace('.', '\\.')}(?:${ORIGINAL_SUFFIX.replace('.', '\\.')})?|${OWN_FILE_PREFIX}[^/]*)$`,
);
