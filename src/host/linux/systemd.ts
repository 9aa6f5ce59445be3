import { existsSync, statSync } from 'node:fs';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import type { CommandResult, Host, ServiceManager, ServiceState } from '../seam/host.ts';
import { ABSENT_SERVICE } from '../services/absent.ts';
import { LINES_TO_SEARCH, lastErrors } from '../services/last-errors.ts';
import { parseUnitFacts, UNIT_FACT_PROPERTIES } from '../services/unit-facts.ts';
import { unitTrouble } from '../services/unit-trouble.ts';
import { runCommand } from './commands.ts';

const QUERY_TIMEOUT_MS = 30_000;
/** Longer than a unit's default start timeout (TimeoutStartSec, 90 s) together with some units that it requires. */
const JOB_TIMEOUT_MS = 300_000;
const EVIDENCE_LINES = 20;

const PROPERTIES = [
  ...UNIT_FACT_PROPERTIES,
  'UnitFileState',
  'NeedDaemonReload',
  'MainPID',
  'ExecMainStartTimestampMonotonic',
];

/**
 * Unit file states in which a unit starts at boot, or need not be enabled for that: those for which `systemctl
 * is-enabled` succeeds, except enabled-runtime, which a reboot forgets (systemctl(1)).
 */
const ENABLED = new Set(['enabled', 'alias', 'static', 'indirect', 'generated']);

/** Unit file states in which `systemctl enable` and `disable` have nothing to do (systemctl(1), is-enabled). */
const FIXED = new Set(['static', 'indirect', 'generated', 'transient']);

/** The result of serviceState without systemd. */
const UNKNOWN_SERVICE: ServiceState = { ...ABSENT_SERVICE, detail: 'unknown' };

/**
 * True where systemd is the init system of this root: the test of sd_booted(3), except in a chroot. There /run may be
 * the host's (image builders bind-mount it), whose services are not ours, and systemctl(1) ignores most commands.
 */
export function isSystemdBooted(): boolean {
  return existsSync('/run/systemd/system') && !isChroot();
}

/** The test of systemd's running_in_chroot(): a different root directory than the first process. */
export function isChroot(proc = '/proc'): boolean {
  try {
    const [first, own] = [statSync(`${proc}/1/root/`), statSync('/')];
    return first.dev !== own.dev || first.ino !== own.ino;
  } catch {
    // Unknown without /proc, or as a user other than root.
    return false;
  }
}

/** How a machine's systemd is asked. */
interface SystemdHost extends Pick<Host, 'run'> {
  readonly isBooted: () => boolean;
}
const THIS_MACHINE: SystemdHost = { run: runCommand, isBooted: isSystemdBooted };

/** What the next `systemctl show` is asked for, and its answers in the same order. */
const questions = new WeakMap<SystemdHost, { names: string[]; states: Promise<readonly ServiceState[]> }>();

/** The state of a unit. A missing unit is a state, not an error. Calls of the same moment share one `systemctl show`. */
export async function serviceState(name: string, host: SystemdHost = THIS_MACHINE): Promise<ServiceState> {
  if (!host.isBooted()) return { ...UNKNOWN_SERVICE, detail: 'systemd does not run' };
  let question = questions.get(host);
  if (question === undefined) {
    const names: string[] = [];
    const end = (): boolean => questions.delete(host);
    question = {
      names,
      states: Promise.resolve()
        .then(end)
        .then(() => shownStates(names, host)),
    };
    questions.set(host, question);
  }
  const place = question.names.push(name) - 1;
  return (await question.states)[place] ?? UNKNOWN_SERVICE;
}

async function shownStates(names: readonly string[], host: SystemdHost): Promise<readonly ServiceState[]> {
  const { status, stdout, stderr } = await host.run({
    program: 'systemctl',
    args: ['show', '--no-pager', `--property=${PROPERTIES.join(',')}`, ...names],
    timeoutMs: QUERY_TIMEOUT_MS,
  });
  const shown = stdout.trim().split('\n\n');
  const isWhole = status === 0 && shown.length === names.length;
  // One that cannot be shown must not hide the others.
  if (!isWhole && names.length > 1) return (await Promise.all(names.map((name) => shownStates([name], host)))).flat();
  if (!isWhole) return [{ ...UNKNOWN_SERVICE, detail: textLines(stderr).at(-1) ?? 'unknown' }];
  const zeroMs = Date.now() - Number(process.hrtime.bigint() / 1_000_000n);
  return shown.map((properties) => parseServiceState(properties, zeroMs));
}

/**
 * Parses `systemctl show`. `monotonicZeroMs` is the time at which the monotonic clock was zero, in milliseconds since
 * the epoch: systemd reports start times in microseconds of that clock.
 */
export function parseServiceState(shown: string, monotonicZeroMs: number): ServiceState {
  const properties = new Map(
    shown.split('\n').map((line) => {
      const equals = line.indexOf('=');
      return [line.slice(0, equals), line.slice(equals + 1)];
    }),
  );
  const loadState = properties.get('LoadState') ?? 'not-found';
  const activeState = properties.get('ActiveState') ?? 'unknown';
  const unitFileState = properties.get('UnitFileState') ?? '';
  const pid = Number(properties.get('MainPID') ?? 0);
  const startedMicroseconds = Number(properties.get('ExecMainStartTimestampMonotonic') ?? 0);
  const exists = loadState !== 'not-found';
  return {
    exists,
    // A unit continues to work while it reloads its configuration.
    active: activeState === 'active' || activeState === 'reloading' || activeState === 'refreshing',
    enabled: ENABLED.has(unitFileState),
    masked: loadState === 'masked' || unitFileState.startsWith('masked'),
    detail: exists ? activeState : loadState,
    pid: pid > 0 ? pid : undefined,
    startedAtMs:
      pid > 0 && startedMicroseconds > 0 ? Math.round(monotonicZeroMs + startedMicroseconds / 1000) : undefined,
    fixed: FIXED.has(unitFileState),
    needsReload: properties.get('NeedDaemonReload') === 'yes',
    ...(exists ? { unit: parseUnitFacts(shown) } : {}),
  };
}

/**
 * systemd through systemctl(1). Every failure is `ServiceFailed` with the last lines of the unit's journal. An aborted
 * `signal` ends waiting for a job and throws its reason; systemd continues the job itself. A job that is started
 * afterwards restores the previous state, and is waited for.
 */
export function systemdServices(signal?: AbortSignal, host: SystemdHost = THIS_MACHINE): ServiceManager {
  const job = async (verb: string, name: string, ...options: readonly string[]): Promise<void> => {
    const result = await systemctl(
      [verb, '--no-ask-password', ...options, name],
      `${name} could not be ${PAST[verb] ?? verb}`,
      signal,
      host,
    );
    if (result.status === 0) return;
    throw await failed(verb, name, result, host);
  };
  return {
    async reload() {
      const result = await systemctl(['daemon-reload'], 'systemd could not re-read its units', signal, host);
      if (result.status !== 0) throw reloadFailed(result);
    },
    start: (name) => job('start', name),
    stop: (name) => job('stop', name),
    restart: (name) => job('restart', name),
    reloadService: (name) => job('reload-or-restart', name),
    enable: (name) => job('enable', name),
    disable: (name) => job('disable', name),
    mask: (name) => job('mask', name),
    async unmask(name) {
      await job('unmask', name);
      // A mask below /run is a different one: `systemctl unmask` does not remove it (systemctl(1), --runtime).
      await job('unmask', name, '--runtime');
    },
    logs: (name, lines) => journalOf(name, lines, host),
  };
}

const PAST: Readonly<Record<string, string>> = {
  start: 'started',
  stop: 'stopped',
  restart: 'restarted',
  'reload-or-restart': 'reloaded',
  enable: 'enabled',
  disable: 'disabled',
  mask: 'masked',
  unmask: 'unmasked',
};

async function systemctl(
  args: readonly string[],
  whatFails: string,
  signal: AbortSignal | undefined,
  host: SystemdHost,
): Promise<CommandResult> {
  if (!host.isBooted()) throw notBooted(whatFails);
  const stop = signal === undefined || signal.aborted ? {} : { signal };
  return host.run({ program: 'systemctl', args, timeoutMs: JOB_TIMEOUT_MS, ...stop });
}

async function journalOf(name: string, lines: number, host: SystemdHost): Promise<readonly string[]> {
  const result = await host.run({
    program: 'journalctl',
    // Of this boot: older lines would be evidence of something else.
    args: ['-b', '-u', name, '-n', String(lines), '-o', 'cat', '--no-pager', '--quiet'],
    timeoutMs: QUERY_TIMEOUT_MS,
  });
  return result.status === 0 ? result.stdout.split('\n').filter((line) => line !== '') : [];
}

async function failed(verb: string, name: string, result: CommandResult, host: SystemdHost): Promise<MachineadmError> {
  // The journal is evidence; a failure to read it must not hide the actual failure.
  const journal = await journalOf(name, LINES_TO_SEARCH, host).catch(() => []);
  const state = await serviceState(name, host).catch(() => UNKNOWN_SERVICE);
  return new MachineadmError({
    reason: 'ServiceFailed',
    summary: `${name} could not be ${PAST[verb] ?? verb}: ${whyNot(state, result)}`,
    remedy: remedyFor(name, state),
    evidence: [
      ...textLines(result.stderr).map((text) => ({ source: `systemctl ${verb} ${name}`, text: redact(text) })),
      ...lastErrors(journal, EVIDENCE_LINES).map((text) => ({ source: `journal of ${name}`, text: redact(text) })),
    ],
    retryable: true,
  });
}

function whyNot(state: ServiceState, result: CommandResult): string {
  if (state.masked) return 'it is masked';
  if (!state.exists) return 'no such unit exists';
  if (result.timedOut) return `no answer within ${JOB_TIMEOUT_MS / 1000} s`;
  const trouble = unitTrouble(state)?.text;
  if (state.detail === 'failed') return trouble === undefined ? 'it failed' : `it failed: ${trouble}`;
  return trouble ?? `its state is ${state.detail}`;
}

function remedyFor(name: string, state: ServiceState): string {
  if (state.masked) return `Unmask it with "systemctl unmask ${name}" if it is wanted.`;
  if (!state.exists) return `Install the package that provides ${name}.`;
  return `Read "journalctl -u ${name} -b" and "systemctl status ${name}"; repair the cause, then run again.`;
}

function reloadFailed(result: CommandResult): MachineadmError {
  return new MachineadmError({
    reason: 'ServiceFailed',
    summary: 'systemd could not re-read its units',
    remedy: 'Run "systemctl daemon-reload" and read "journalctl -b _PID=1".',
    evidence: textLines(result.stderr).map((text) => ({ source: 'systemctl daemon-reload', text: redact(text) })),
    retryable: true,
  });
}

function notBooted(whatFails: string): MachineadmError {
  return new MachineadmError({
    reason: 'ServiceFailed',
    summary: `${whatFails}: systemd does not run on this machine`,
    remedy: 'Run machineadm on a machine that was booted with systemd; a container or a chroot has no service manager.',
    evidence: [
      {
        source: '/run/systemd/system',
        text: 'does not exist, or this is a chroot: systemd is not its init system (sd_booted(3))',
      },
    ],
  });
}
