import { hash } from 'node:crypto';
import { dirname } from 'node:path/posix';
import type { ApparmorModel } from '@machineadm/document/model/index.ts';
import { APPARMOR_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import { readCopy, secondName } from '../../prior-state/copies.ts';
import { hostStepFailed } from '../../step/command-failed.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import type { Change, UnmetRequirement } from '../../step/index.ts';
import type { PriorState } from '../../step/recorded-state.ts';
import type { ResetAction } from '../../step/reset-action.ts';
import { isAt } from '../../step/wants.ts';

const PARSER = 'apparmor_parser';
const ENABLED = '/sys/module/apparmor/parameters/enabled';
/** The profiles that the kernel has loaded, each as `NAME (MODE)`. */
const LOADED = '/sys/kernel/security/apparmor/profiles';
const COMMAND_TIMEOUT_MS = 120_000;

type Profile = ApparmorModel['profiles'][number];

export interface ApparmorActual {
  readonly files: ReadonlyMap<
    string,
    { readonly text: string | undefined; readonly isRight: boolean; readonly isLoaded: boolean }
  >;
}

type ApparmorPayload = { readonly kind: 'write' | 'load' } & Profile;

/**
 * AppArmor profiles. Their files belong to an image, and apparmor.service loads them at boot; a profile loaded now
 * belongs to the node. The kernel lists the loaded names, and the journal knows the content that was loaded for each.
 */
export const apparmor: FeatureStep<ApparmorModel, ApparmorActual, ApparmorPayload> = {
  id: 'apparmor',
  restoring: { completed: undoProfile },
  section: 'host.apparmor',
  isRequested: ({ host }, { name }) => host.apparmor?.profiles.some(({ path }) => isAt(path, name)) === true,

  desired: ({ host }) => host.apparmor,

  async preflight(host, { profiles }) {
    if (profiles.length === 0) return [];
    const missing = (what: string, remedy: string, scope: 'base' | 'node'): readonly UnmetRequirement[] => [
      { reason: 'SecurityModuleMissing', what, remedy, field: 'host.apparmor', scope },
    ];
    if ((await host.which(PARSER)) === undefined) {
      return missing(`${PARSER} is not installed`, 'Install the package apparmor in the image.', 'base');
    }
    const found: UnmetRequirement[] = [];
    if (!(await isApparmorEnabled(host))) {
      const remedy = 'Boot a kernel with AppArmor (lsm=…,apparmor), or remove host.apparmor.';
      found.push(...missing('AppArmor is not enabled in the running kernel', remedy, 'node'));
    }
    for (const [index, { path, content }] of profiles.entries()) {
      // Only parses: nothing is loaded into the kernel or written to the cache.
      const query = { program: PARSER, args: ['--skip-kernel-load', '--skip-cache'], input: content };
      const { status, stderr } = await host.query(query);
      if (status === 0) continue;
      found.push({
        reason: 'SecurityPolicyInvalid',
        what: `${PARSER} refuses ${path}`,
        remedy: 'Correct the profile; apparmor.d(5) has its syntax.',
        field: `host.apparmor.profiles[${index}].content`,
        certain: true,
        evidence: textLines(stderr)
          .filter((line) => /error/i.test(line))
          .map((text) => ({ source: PARSER, text })),
      });
    }
    return found;
  },

  async inspect(host, { profiles }, { notes }) {
    const loaded = new Set(
      textLines((await host.readText(LOADED)) ?? '').map((line) => line.replace(/ \([a-z]+\)$/, '')),
    );
    const files = new Map<string, { text: string | undefined; isRight: boolean; isLoaded: boolean }>();
    for (const { path, content } of profiles) {
      const [text, stat] = [await host.readText(path), await host.stat(path)];
      const isRight =
        text === content && stat?.type === 'file' && stat.mode === 0o644 && stat.uid === 0 && stat.gid === 0;
      const { stdout } = await host.query({ program: PARSER, args: ['--names'], input: content });
      const isKnown = member(notes.get(`apparmor/load${path}`), 'sha256') === hash('sha256', content);
      files.set(path, { text, isRight, isLoaded: isKnown && textLines(stdout).every((name) => loaded.has(name)) });
    }
    return { files };
  },

  plan({ profiles }, { files }) {
    const changes: Change<ApparmorPayload>[] = [];
    for (const profile of profiles) {
      const { path, content } = profile;
      const { text, isRight = false, isLoaded = false } = files.get(path) ?? {};
      if (!isRight) {
        changes.push({
          id: `apparmor${path}`,
          summary: `${text === undefined ? 'write' : 'update'} ${path}`,
          diff: textDiff(text ?? '', content),
          scope: 'base',
          payload: { kind: 'write', ...profile },
        });
      }
      if (!isLoaded || text !== content) {
        const payload: ApparmorPayload = { kind: 'load', ...profile };
        changes.push({ id: `apparmor/load${path}`, summary: `load ${path}`, action: 'run', scope: 'node', payload });
      }
    }
    return changes;
  },

  async apply(host, { payload: { kind, path, content } }, { signal, remember }) {
    if (kind === 'write') return await host.writeFile({ path, content, mode: 0o644 });
    await runParser(host, ['--replace', path], signal);
    remember({ sha256: hash('sha256', content) });
  },

  settled: async (host) => await host.sync('/etc'),
};

/** The reset of a profile's file: before it, the kernel unloads the profile, or loads the previous one from its copy. */
function undoProfile(path: string, was: PriorState, { perform, ...action }: ResetAction): ResetAction {
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

async function isApparmorEnabled(host: QueryHost): Promise<boolean> {
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
async function runParser(host: Host, args: readonly string[], signal: AbortSignal, input?: string): Promise<void> {
  const command = { program: PARSER, args, timeoutMs: COMMAND_TIMEOUT_MS, signal };
  const result = await host.run(input === undefined ? command : { ...command, input });
  if (result.status !== 0) throw hostStepFailed([PARSER, ...args], result);
}
