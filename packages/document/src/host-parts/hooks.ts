import type { Finding } from '../diagnostics/index.ts';
import { is, when, without } from '../fields/conditions.ts';
import { milliseconds, type ResolveSecret } from '../fields/convert-values.ts';
import { choice, define, field, object } from '../fields/field.ts';
import type { Platform } from '../fields/platform.ts';
import { duration, environmentName, machinePath } from '../fields/types.ts';
import { HOOKS_SERVICE, openrcScriptPath, unitPath } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import type { SecretValue } from '../secrets/secret.ts';
import { accountName } from './accounts.ts';
import { claimsOn, hostPart } from './part.ts';

const DEFAULT_TIMEOUT_MS = 10 * 60_000;
const DEFAULT_DELAY_MS = 10_000;

export interface HookGroup {
  readonly shell: 'sh' | 'bash' | 'powershell' | 'cmd';
  /** `Script`: the group is a part of `singleScript`, where the shell decides. */
  readonly onError: 'Fail' | 'Continue' | 'Script';
  readonly timeoutMs: number;
  readonly commands: readonly string[];
  /** Once per instance, or at every boot. */
  readonly frequency: 'Once' | 'Always';
  /** Variables of the environment of all entries. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Variables that name a file with the value of a secret. */
  readonly secrets?: Readonly<Record<string, SecretValue>>;
  /** When a later run runs it again; absent: never. */
  readonly rerun?: 'OnChange' | 'Always';
  /** The user that runs the commands; absent: root. */
  readonly user?: string;
  /** Where they start; absent: the root directory. */
  readonly workingDirectory?: string;
  /** When an entry that failed runs again in the same run; absent: never. */
  readonly retry?: HookRetry;
}

/** `retry` of a group of hooks. */
export interface HookRetry {
  /** Of each entry, the first included. */
  readonly attempts: number;
  /** Before the second attempt. */
  readonly delayMs: number;
  /** The factor by which each further pause is longer than the one before. */
  readonly backoff: number;
  /** Exit statuses; absent: any failure. */
  readonly on?: readonly number[];
}

const retry = field(
  object({
    attempts: field(
      z.int().min(2, 'at least 2: the first attempt counts').max(100, 'at most 100'),
      'How often an entry may run, the first time included: 2 to 100.',
      { example: 5 },
    ),
    delay: field(duration, 'The pause before the second attempt.', { default: '10s', example: '30s' }),
    backoff: field(
      z.int().min(1, 'at least 1, which keeps the pause as it is').max(10, 'at most 10'),
      'The factor by which each further pause is longer than the one before it: 1 to 10.',
      { default: 1, example: 2 },
    ),
    on: field(
      z
        .array(z.int().min(1, 'a status from 1 to 255: 0 is no failure').max(255, 'a status from 1 to 255'))
        .min(1, 'a list without an exit status'),
      'The exit statuses after which an entry runs again: apt ends with 100 if another process holds its lock.',
      { absent: 'all but 0', example: [100] },
    ),
  }),
  'When an entry that fails runs again in the same run, in the shell as it was before the entry: for locks of package managers, downloads, and a network that is not up yet. The timeout of the group includes all attempts and pauses. Only with onError Fail.',
  { absent: 'an entry that fails ends the group', example: { attempts: 5, delay: '10s', on: [100] } },
);

/** What groups of one script cannot have, and what only its beginning decides. */
const NOT_IN_A_SCRIPT = ['onError', 'user', 'rerun', 'retry'];
const OF_THE_BEGINNING = ['shell', 'environment', 'secrets', 'workingDirectory'];

export interface HooksModel {
  readonly early: HookGroup | undefined;
  readonly beforeBootstrap: HookGroup | undefined;
  readonly afterBootstrap: HookGroup | undefined;
}

const word = z.string().regex(/^[^\0]*$/, 'a zero byte cannot be in an argument');

const hookFields = {
  shell: field(
    choice({
      sh: 'The POSIX shell.',
      bash: 'GNU Bash.',
      powershell: 'Windows PowerShell.',
      cmd: 'The command processor of Windows.',
    }),
    'The shell that runs the commands.',
    { absent: 'sh, or powershell on Windows', example: 'bash' },
  ),
  onError: field(
    choice({
      Fail: 'The run ends at the first entry that fails.',
      Continue: 'The failure is reported, and the next entry runs.',
    }),
    'Fail ends the run at the first entry that fails. Continue reports it and runs the next entry.',
    { default: 'Fail', example: 'Continue' },
  ),
  timeout: field(duration, 'How long the whole group may run. After that its processes are killed.', {
    default: '10m',
    example: '30s',
  }),
  rerun: field(
    choice({
      Never: 'A group that ran to its end does not run again; one with another content is another group.',
      OnChange: 'The group runs again if its commands, environment, user or working directory changed.',
      Always: 'The group runs again in every run.',
    }),
    'Whether a group that ran to its end runs again in a later run: Never, OnChange if its commands, environment, user or working directory changed since its last run, or Always. A group with commands that never ran is another group, and runs.',
    { default: 'Never', example: 'OnChange' },
  ),
  user: field(
    accountName,
    'The user that the commands run as, with its groups. It must exist when the group runs. Not on Windows.',
    { default: 'root', example: 'core' },
  ),
  workingDirectory: field(machinePath, 'The working directory of the commands. It must exist when the group runs.', {
    absent: '/, or the directory of machineadm on Windows',
    example: '/opt/site',
  }),
  commands: field(
    z
      .array(
        z.union([z.string().min(1, 'an empty command'), z.array(word).min(1, 'an empty command')], {
          error: 'expected a command, or a list of a program and its arguments',
        }),
      )
      .min(1, 'a hook without commands'),
    'The commands: text for the shell, or a list of a program and its arguments, which the shell does not interpret. They run in order in one shell process, so exports persist from one entry to the next.',
    { example: ['export RACK=r12', 'register-asset --rack "$RACK"', ['touch', '/run/a file']] },
  ),
  environment: field(
    z.record(environmentName, z.string().regex(/^[^\0]*$/, 'a zero byte cannot be in the environment')),
    'Environment variables of all entries. A value may contain ${name}, which is replaced by a variable of the document.',
    { default: {}, example: { RACK: '${rack}' } },
  ),
  secrets: field(
    z.record(
      environmentName,
      object({ secret: field(z.string(), 'The name of an entry of `secrets`.', { example: 'registryToken' }) }),
    ),
    'Environment variables with the path of a file that holds the secret. The file has mode 0600, is stored in memory, and is removed after the group. Not with frequency Always.',
    { default: {}, example: { TOKEN_FILE: { secret: 'registryToken' } } },
  ),
  expand: field(
    z.boolean(),
    'Whether ${name} in commands is replaced by a variable. A value with a character that a shell interprets is refused; use environment for it.',
    { default: false, example: true },
  ),
  retry,
};

const HOOK_GROUP = ['Commands of one shell process.', { commands: ['echo ready'] }] as const;

const hookGroup = define(
  'HookGroup',
  object(hookFields, () => [when(is('onError', 'Continue'), without('retry'))]),
  ...HOOK_GROUP,
);
const earlyHookGroup = define(
  'EarlyHookGroup',
  object(
    {
      ...hookFields,
      frequency: field(
        choice({ Once: 'Once on a machine.', Always: 'At every boot.' }),
        'Once runs the group once on a machine, Always at every boot.',
        { default: 'Once', example: 'Always' },
      ),
    },
    () => [when(is('frequency', 'Always'), without('secrets')), when(is('onError', 'Continue'), without('retry'))],
  ),
  ...HOOK_GROUP,
);
const section = object(
  {
    early: field(earlyHookGroup, 'Commands that run before anything else is changed.', {
      absent: 'none',
      example: { commands: ['echo preparing'] },
    }),
    beforeBootstrap: field(
      hookGroup,
      'Commands that run after the files below /run/kubeadm are written, and before the bootstrapper. They may edit those files.',
      { absent: 'none', example: { commands: ['echo bootstrapping'] } },
    ),
    afterBootstrap: field(hookGroup, 'Commands that run after the node is proven to work, and never after a failure.', {
      absent: 'none',
      example: { commands: ['echo ready'] },
    }),
    singleScript: field(
      z.boolean(),
      'Whether beforeBootstrap, the bootstrapper and afterBootstrap behave as one script of one shell, as the kubeadm provider of Cluster API runs them. The bootstrapper has the exported variables, the working directory and the umask of beforeBootstrap; afterBootstrap continues in that shell. A command that fails is reported, and the run ends only where the script would: by exit, set -e or set -u.',
      { default: false, example: true },
    ),
  },
  () => [
    when(
      is('singleScript', true),
      without(
        ...NOT_IN_A_SCRIPT.map((name) => `beforeBootstrap.${name}`),
        ...[...NOT_IN_A_SCRIPT, ...OF_THE_BEGINNING].map((name) => `afterBootstrap.${name}`),
      ),
    ),
  ],
);

export const hooks = hostPart({
  description: 'Custom commands at three points of a run.',
  absent: 'no commands',
  changes: 'whatever the commands change; a hook of every boot is also stored in `/var/lib/machineadm/hooks`',
  example: { early: { commands: ['modprobe dummy'] } },
  schema: section,
  toModel: (hooks = {}, resolve, platform): HooksModel => ({
    early: toGroup(hooks.early, platform, resolve, 'early'),
    beforeBootstrap: toGroup(hooks.beforeBootstrap, platform, resolve, 'beforeBootstrap', hooks),
    afterBootstrap: toGroup(hooks.afterBootstrap, platform, resolve, 'afterBootstrap', hooks),
  }),
  claims: ({ early }) =>
    early?.frequency === 'Always'
      ? claimsOn('hooks-boot', ['early'], 'file', unitPath(HOOKS_SERVICE), openrcScriptPath(HOOKS_SERVICE))
      : [],
  check: (hooks) => [
    ...(['early', 'beforeBootstrap', 'afterBootstrap'] as const).flatMap((phase) =>
      hooks[phase] === undefined ? [] : checkGroup(hooks[phase], phase),
    ),
    ...(hooks.singleScript === true ? checkScript(hooks) : []),
  ],
});

export type HookGroupSection = z.infer<typeof earlyHookGroup>;
type HooksSection = z.infer<typeof section>;

function toGroup(
  section: HookGroupSection | undefined,
  platform: Platform,
  resolve: ResolveSecret,
  phase: string,
  { singleScript = false, beforeBootstrap }: HooksSection = {},
): HookGroup | undefined {
  if (section === undefined) return undefined;
  const { environment, secrets } = section;
  const resolved = Object.entries(secrets ?? {}).map(([name, field]): [string, SecretValue] => [
    name,
    resolve(field, `host.hooks.${phase}.secrets.${name}`),
  ]);
  return {
    shell:
      (singleScript ? beforeBootstrap?.shell : undefined) ??
      section.shell ??
      (platform === 'windows' ? 'powershell' : 'sh'),
    onError: singleScript ? 'Script' : (section.onError ?? 'Fail'),
    timeoutMs: milliseconds(section.timeout) ?? DEFAULT_TIMEOUT_MS,
    commands: section.commands.map((command) => (typeof command === 'string' ? command : quoted(command))),
    frequency: section.frequency ?? 'Once',
    ...(environment === undefined ? {} : { environment }),
    ...(section.rerun === undefined || section.rerun === 'Never' ? {} : { rerun: section.rerun }),
    ...(section.user === undefined || section.user === 'root' ? {} : { user: section.user }),
    ...(section.workingDirectory === undefined ? {} : { workingDirectory: section.workingDirectory }),
    ...(resolved.length === 0 ? {} : { secrets: Object.fromEntries(resolved) }),
    ...(section.retry === undefined ? {} : { retry: toRetry(section.retry) }),
  };
}

/** Words that a shell takes as they are (XCU 2.2.2). */
function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
}

function checkGroup(
  { environment = {}, secrets, frequency, onError, retry }: HookGroupSection,
  phase: string,
): Finding[] {
  const findings = Object.keys(secrets ?? {})
    .filter((name) => Object.hasOwn(environment, name))
    .map((name): Finding => {
      const path = [phase, 'secrets', name];
      return { path, message: `environment sets "${name}", too`, hint: 'rename one of them' };
    });
  if (onError === 'Continue' && retry !== undefined) {
    findings.push({
      path: [phase, 'retry'],
      message: 'with onError Continue an entry that fails does not run again',
      hint: 'remove one of them',
    });
  }
  if (frequency === 'Always' && secrets !== undefined) {
    findings.push({
      path: [phase, 'secrets'],
      message: 'a hook of every boot cannot use secrets: the document is not available when the machine boots',
      hint: 'read the secret in the command, or use frequency: Once',
    });
  }
  return findings;
}

/** One script has one user and one environment, and its shell decides what a failure means. */
function checkScript({ beforeBootstrap, afterBootstrap }: HooksSection): Finding[] {
  const unfit = (phase: string, group: HookGroupSection = { commands: [] }, names: readonly string[]): Finding[] =>
    names
      .filter((name) => Object.hasOwn(group, name))
      .map((name) => ({ path: [phase, name], message: 'not with singleScript', hint: 'remove one of them' }));
  return [
    ...unfit('beforeBootstrap', beforeBootstrap, NOT_IN_A_SCRIPT),
    ...unfit('afterBootstrap', afterBootstrap, [...NOT_IN_A_SCRIPT, ...OF_THE_BEGINNING]),
  ];
}

/** As it is in the model. */
function toRetry({ attempts, delay, backoff, on }: NonNullable<z.infer<typeof retry.schema>>): HookRetry {
  return {
    attempts,
    delayMs: milliseconds(delay) ?? DEFAULT_DELAY_MS,
    backoff: backoff ?? 1,
    ...(on === undefined ? {} : { on }),
  };
}
