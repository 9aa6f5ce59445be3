import { hostPartModels } from '../../host-parts/index.ts';
import type { FileModel, HookGroup, Model, Platform } from '../../model.ts';
import type { SecretValue } from '../../secret.ts';
import { decodeContent } from './content.ts';
import { toContainerd } from './convert-containerd.ts';
import { toStorage } from './convert-host.ts';
import { toImages } from './convert-images.ts';
import { toKubernetes } from './convert-kubernetes.ts';
import { toReporting } from './convert-reporting.ts';
import { headersOf, milliseconds, type ResolveSecret, secretResolver } from './convert-values.ts';
import { toHardening } from './hardening.ts';
import type { FileSection, HookGroupSection } from './host.ts';
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
      ...hostPartModels(host, resolve),
      storage: toStorage(host?.storage),
      files: await Promise.all((host?.files ?? []).map((file) => toFile(file, platform, resolve))),
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

async function toFile(file: FileSection, platform: Platform, resolve: ResolveSecret): Promise<FileModel> {
  const { contentFrom } = file;
  const content: FileModel['content'] =
    contentFrom === undefined
      ? { kind: 'inline', bytes: await inlineBytes(file) }
      : 'secret' in contentFrom
        ? { kind: 'secret', secret: resolve(contentFrom, `file ${file.path}`) }
        : 'file' in contentFrom
          ? { kind: 'file', path: contentFrom.file }
          : {
              kind: 'http',
              url: contentFrom.http.url,
              sha256: contentFrom.http.sha256,
              headers: headersOf(contentFrom.http.headers, resolve, `file ${file.path}`),
            };
  const [user = 'root', group] = (file.owner ?? 'root:root').split(':');
  const mode = parseInt(file.mode ?? (content.kind === 'secret' ? '0600' : '0644'), 8);
  return {
    path: file.path,
    content,
    // On Windows only what others may is kept of it.
    mode: platform === 'windows' && mode === 0o700 ? 0o600 : mode,
    user,
    group: group ?? user,
    directoryMode: parseInt(file.directoryMode ?? '0755', 8),
    append: file.append ?? false,
    // A secret makes the file it is added to as private as one of its own.
    keepsMode: file.append === true && file.mode === undefined && content.kind !== 'secret',
    keepsOwner: file.append === true && file.owner === undefined,
  };
}

/** Content with a variable that is not known here is not encoded yet: `validate` on another machine gets its text. */
async function inlineBytes({ content = '', encoding }: FileSection): Promise<Uint8Array> {
  try {
    return await decodeContent(content, encoding);
  } catch {
    return await decodeContent(content, undefined);
  }
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
