import type { FileSection } from '@machineadm/document/host-parts/files.ts';
import type { RegistrySection } from '@machineadm/document/sections/containerd/registries.ts';
import { isMap } from '../values/map.ts';
import type { Lifting } from './lifting.ts';

const HOSTS = /^\/etc\/containerd\/certs\.d\/([^/]+)\/hosts\.toml$/;
const DROP_IN = /^\/etc\/containerd\/conf\.d\/[^/]+\.toml$/;
const CONFIGURATION = '/etc/containerd/config.toml';
const CERTS_D = '/etc/containerd/certs.d';

type Mirror = NonNullable<RegistrySection['mirrors']>[number];
type Capability = NonNullable<Mirror['capabilities']>[number];

/**
 * Converts hosts.toml files (containerd docs/hosts.md) to `containerRuntime.containerd.registries`, if every key of a
 * file is known, and drop-ins that only set their directory. The rest of containerd's configuration stays in the image.
 */
export async function liftRegistries(lifting: Lifting): Promise<void> {
  const { parse } = await import('smol-toml');
  const read = (file: FileSection): unknown => {
    const text = lifting.textOf(file);
    try {
      return text === undefined ? undefined : parse(text);
    } catch {
      return undefined;
    }
  };
  // All or none, because the directory and the configuration must have one owner.
  if (lifting.files.some(({ path }) => path === CONFIGURATION)) return;
  const found = lifting.files.flatMap((file) => {
    const host = HOSTS.exec(file.path)?.[1];
    return host === undefined ? [] : [{ file, registry: registryOf(host, read(file)) }];
  });
  const registries = found.flatMap(({ registry }) => registry ?? []);
  if (registries.length === 0 || registries.length < found.length) return;
  for (const { file } of found) lifting.takeFile(file, `a registry of containerRuntime.containerd`);
  lifting.containerd = { mode: 'Merge', registries };
  for (const file of lifting.files) {
    if (DROP_IN.test(file.path) && onlyNamesDirectory(read(file)))
      lifting.takeFile(file, 'containerRuntime.containerd');
  }
}

function registryOf(host: string, hosts: unknown): RegistrySection | undefined {
  if (!isMap(hosts) || Object.keys(hosts).some((key) => key !== 'server' && key !== 'host')) return undefined;
  const { server, host: mirrors = {} } = hosts;
  if ((server !== undefined && typeof server !== 'string') || !isMap(mirrors)) return undefined;
  const converted = Object.entries(mirrors).map(([url, settings]) => mirrorOf(url, settings));
  if (converted.some((mirror) => mirror === undefined)) return undefined;
  return { host, server, mirrors: converted.flatMap((mirror) => mirror ?? []) };
}

const CAPABILITIES: readonly Capability[] = ['pull', 'resolve', 'push', 'referrers'];

function mirrorOf(url: string, settings: unknown): Mirror | undefined {
  if (!isMap(settings)) return undefined;
  const { capabilities, override_path: overridePath, ca, skip_verify: skipVerify, ...others } = settings;
  const known = Array.isArray(capabilities)
    ? capabilities.map((one: unknown) => CAPABILITIES.find((name) => name === one))
    : undefined;
  const wellFormed =
    Object.keys(others).length === 0 &&
    (capabilities === undefined || (known !== undefined && !known.includes(undefined))) &&
    (overridePath === undefined || typeof overridePath === 'boolean') &&
    (skipVerify === undefined || typeof skipVerify === 'boolean') &&
    (ca === undefined || typeof ca === 'string');
  if (!wellFormed) return undefined;
  return {
    url,
    capabilities: known?.flatMap((one) => one ?? []),
    overridePath,
    skipVerify,
    ca: ca === undefined ? undefined : { file: ca },
  };
}

/** `version`, and `config_path` of the CRI plug-in under either of its names. */
function onlyNamesDirectory(configuration: unknown): boolean {
  if (!isMap(configuration)) return false;
  const leaves = leavesOf(configuration);
  return (
    leaves.length > 0 &&
    leaves.every(([name, value]) => name === 'version' || (name === 'config_path' && value === CERTS_D))
  );
}

function leavesOf(value: Readonly<Record<string, unknown>>): (readonly [string, unknown])[] {
  return Object.entries(value).flatMap(([key, item]) => (isMap(item) ? leavesOf(item) : [[key, item] as const]));
}
