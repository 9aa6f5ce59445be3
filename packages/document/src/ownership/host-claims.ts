import type { PathSegment } from '../diagnostics.ts';
import { hostPartClaims } from '../host-parts/index.ts';
import type { HostModel, Model } from '../model.ts';
import type { StepId } from '../step-ids.ts';
import type { Claim } from './claim.ts';
import {
  CLOUD_INIT_HOSTNAME_FILE,
  CONTAINERD_CONFIGURATION,
  ENVIRONMENT_FILE,
  FSTAB,
  HOOKS_SERVICE,
  HOSTNAME_FILE,
  KERBEROS_CONFIGURATION,
  NAME_SERVICE_SWITCH,
  ORIGINAL_SUFFIX,
  openrcConfigurationPath,
  openrcScriptPath,
  PREVIOUS_SUFFIX,
  PROXY_DROP_IN,
  PROXY_FILE,
  PROXY_SERVICES,
  REGISTRIES_DIRECTORY,
  REGISTRY_FILES,
  registryDirectories,
  SSSD_CONFIGURATION_PATH,
  unitDropInPath,
  unitPath,
} from './paths.ts';

type Kind = Claim['kind'];

/** What the steps of the host manage, section by section. */
export function hostClaims({ host, containerd }: Model): readonly Claim[] {
  return [
    ...settingClaims(host),
    ...proxyClaims(host),
    ...directoryClaims(host),
    ...hostPartClaims(host),
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

function settingClaims({ hostname, storage, hooks }: HostModel): Claim[] {
  return [
    ...(hostname === undefined
      ? []
      : claims('hostname', ['host', 'hostname'], 'file', HOSTNAME_FILE, CLOUD_INIT_HOSTNAME_FILE)),
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
