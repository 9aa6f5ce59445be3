import { hostPartModels } from '../../host-parts/index.ts';
import type { HookGroup, Model, Platform } from '../../model.ts';
import type { SecretValue } from '../../secret.ts';
import { toContainerd } from './convert-containerd.ts';
import { toStorage } from './convert-host.ts';
import { toImages } from './convert-images.ts';
import { toKubernetes } from './convert-kubernetes.ts';
import { toReporting } from './convert-reporting.ts';
import { milliseconds, type ResolveSecret, secretResolver } from './convert-values.ts';
import { toHardening } from './hardening.ts';
import type { HookGroupSection } from './host.ts';
import type { Sections } from './sections.ts';

/** Defaults that the documentation promises. */
const DEFAULT_HOOK_TIMEOUT_MS = 10 * 60_000;

/** The internal model of a valid v1alpha1 document. */
export async function toModel(sections: Sections): Promise<Model> {
  const { metadata, host, containerRuntime, images, kubernetes, reporting } = sections;
  const resolve = secretResolver(sections.secrets ?? {});
  const hooks = host?.hooks;
  const platform = host?.platform === 'Windows' ? 'windows' : 'linux';
  return {
    metadata: {
      name: metadata?.name ?? '',
      namespace: metadata?.namespace,
      uid: metadata?.uid,
      cluster: metadata?.cluster,
      labels: metadata?.labels ?? {},
    },
    apply: sections.apply ?? 'Once',
    host: {
      platform,
      rebootPolicy: host?.rebootPolicy ?? 'IfRequired',
      ...(await hostPartModels(host, resolve, platform)),
      storage: toStorage(host?.storage),
      hooks: {
        early: toHookGroup(hooks?.early, platform, resolve, 'early'),
        beforeBootstrap: toHookGroup(hooks?.beforeBootstrap, platform, resolve, 'beforeBootstrap'),
        afterBootstrap: toHookGroup(hooks?.afterBootstrap, platform, resolve, 'afterBootstrap'),
      },
    },
    containerd: toContainerd(containerRuntime?.containerd, resolve),
    images: toImages(images, resolve),
    kubernetes: kubernetes === undefined ? undefined : toKubernetes(kubernetes, platform, resolve),
    hardening: toHardening(sections.hardening),
    reporting: toReporting(reporting, platform, resolve),
  };
}

function toHookGroup(
  section: HookGroupSection | undefined,
  platform: Platform,
  resolve: ResolveSecret,
  phase: string,
): HookGroup | undefined {
  if (section === undefined) return undefined;
  const { environment, secrets } = section;
  const resolved = Object.entries(secrets ?? {}).map(([name, field]): [string, SecretValue] => [
    name,
    resolve(field, `host.hooks.${phase}.secrets.${name}`),
  ]);
  return {
    shell: section.shell ?? (platform === 'windows' ? 'powershell' : 'sh'),
    onError: section.onError ?? 'Fail',
    timeoutMs: milliseconds(section.timeout) ?? DEFAULT_HOOK_TIMEOUT_MS,
    commands: section.commands,
    frequency: section.frequency ?? 'Once',
    ...(environment === undefined ? {} : { environment }),
    ...(resolved.length === 0 ? {} : { secrets: Object.fromEntries(resolved) }),
  };
}
