import { dirname } from 'node:path/posix';
import { APPARMOR_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { readCopy, secondName } from '../../prior-state/copies.ts';
import { hostStepFailed } from '../../step/command-failed.ts';
import type { PriorState } from '../../step/recorded-state.ts';
import type { ResetAction } from '../../step/reset-action.ts';

export const PARSER = 'apparmor_parser';
const ENABLED = '/sys/module/apparmor/parameters/enabled';
/** The profiles that the kernel has loaded, each as `NAME (MODE)`. */
export const LOADED = '/sys/kernel/security/apparmor/profiles';
const COMMAND_TIMEOUT_MS = 120_000;

/** The reset of a profile's file: before it, the kernel unloads the profile, or loads the previous one from its copy. */
export function undoProfile(path: string, was: PriorState, { perform, ...action }: ResetAction): ResetAction {
  if (perform === undefined || dirname(path) !== APPARMOR_DIRECTORY) return { ...action, ...(perform && { perform }) };
  return {
    ...action,
    async perform(host, signal) {
      if (was === null) await unload(host, path, signal);
      else if (was.is === 'file' && (await isApparmorEnabled(host))) {
        const copy = await readCopy(host, was.fingerprint).catch(() => host.readFile(secondName(path)));
        if (copy !== undefined) await runParser(host, ['--replace'], signal, Buffer.from(copy).toString('utf8'));
      }
      await perform(host, signal);
    },
  };
}

export async function isApparmorEnabled(host: QueryHost): Promise<boolean> {
  return (await host.readText(ENABLED))?.trim() === 'Y';
}

/** Unloads only what is loaded: the parser fails for others. */
async function unload(host: Host, path: string, signal: AbortSignal): Promise<void> {
  if ((await isApparmorEnabled(host)) && (await isAnyLoaded(host, path)))
    await runParser(host, ['--remove', path], signal);
}

async function isAnyLoaded(host: Host, path: string): Promise<boolean> {
  const content = (await host.readText(path)) ?? '';
  const { stdout } = await host.query({ program: PARSER, args: ['--names'], input: content });
  const loaded = (await host.readText(LOADED)) ?? '';
  return textLines(stdout).some((name) => loaded.includes(`${name} (`));
}

/** @param input a profile, where the arguments have no file */
export async function runParser(
  host: Host,
  args: readonly string[],
  signal: AbortSignal,
  input?: string,
): Promise<void> {
  const command = { program: PARSER, args, timeoutMs: COMMAND_TIMEOUT_MS, signal };
  const result = await host.run(input === undefined ? command : { ...command, input });
  if (result.status !== 0) throw hostStepFailed([PARSER, ...args], result);
}
