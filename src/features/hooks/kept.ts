import type { HookGroup, HookRetry } from '@machineadm/document/model/index.ts';
import { fileLabel } from '@machineadm/document/ownership/drop-ins.ts';
import { HOOKS_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { isRecord, listOf, number, object, optional } from '@machineadm/document/values/shape.ts';
import { checksummedJson, withChecksum } from '../../host/files/checksum.ts';
import type { Facts } from '../../host/seam/facts.ts';

/**
 * The commands of a document that run at every boot, when no document is available. They can contain secrets. Earlier
 * versions had one file without the name of a document.
 */
export function bootHooksFile(document: string | undefined): string {
  return `${HOOKS_DIRECTORY}/every-boot${document === undefined ? '' : `-${fileLabel(document)}`}.json`;
}

/** Whether a file of that directory is one of them. */
export function isBootHooksFile(name: string): boolean {
  return /^every-boot(?:-.*)?\.json$/.test(name);
}

/** The id of the step `hooks-boot`, under which its commands are kept, apart from those of `hooks-early`. */
export const BOOT_HOOKS_ID = 'hooks-boot';

/** The commands that run at every boot, and the machine that they belong to. */
export interface KeptHooks {
  readonly machineId: string;
  readonly cloudInstanceId: string | undefined;
  /** Its name; undefined in files of earlier versions. */
  readonly document: string | undefined;
  readonly group: HookGroup;
}

/** The content of the file. */
export function keptText(document: string, group: HookGroup, { machineId, cloudInstanceId }: Facts): string {
  const kept: KeptHooks = { machineId, cloudInstanceId, document, group };
  return `${withChecksum(JSON.stringify({ version: 1, ...kept }))}\n`;
}

/**
 * Reads the file. undefined: no version of machineadm wrote this, or it is damaged; it would be run by root, so it is
 * not used.
 */
export function parseKeptHooks(text: string): KeptHooks | undefined {
  const value = checksummedJson(text);
  if (!isRecord(value) || value.version !== 1 || typeof value.machineId !== 'string') return undefined;
  const { machineId, cloudInstanceId, document, group } = value;
  if (!isRecord(group) || !Array.isArray(group.commands)) return undefined;
  const { shell, onError, timeoutMs, user, workingDirectory } = group;
  const commands = group.commands.filter((command) => typeof command === 'string');
  if (commands.length !== group.commands.length || typeof timeoutMs !== 'number') return undefined;
  if ((shell !== 'sh' && shell !== 'bash') || (onError !== 'Fail' && onError !== 'Continue')) return undefined;
  return {
    machineId,
    cloudInstanceId: typeof cloudInstanceId === 'string' ? cloudInstanceId : undefined,
    document: typeof document === 'string' ? document : undefined,
    group: {
      shell,
      onError,
      timeoutMs,
      commands,
      frequency: 'Always',
      environment: texts(group.environment),
      ...(typeof user === 'string' ? { user } : {}),
      ...(typeof workingDirectory === 'string' ? { workingDirectory } : {}),
      ...(isRetry(group.retry) ? { retry: group.retry } : {}),
    },
  };
}

const RETRY = object({ attempts: number, delayMs: number, backoff: number, on: optional(listOf(number)) });

function isRetry(value: unknown): value is HookRetry {
  return RETRY(value);
}

function texts(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, text]) => (typeof text === 'string' ? [[key, text]] : [])),
  );
}
