import { existsSync } from 'node:fs';
import { MachineadmError } from '@machineadm/document/errors.ts';
import { redact } from '@machineadm/document/redaction.ts';
import type { CommandResult, ServiceManager, ServiceState } from '../seam/host.ts';
import { serviceLog } from '../services/log.ts';
import { runCommand } from './commands.ts';
import { isRunning, readProcess } from './processes.ts';
import { list, readRange, readText, stat } from './read.ts';
import { isChroot } from './systemd.ts';
import { chmod } from './write.ts';

const QUERY_TIMEOUT_MS = 30_000;
/** Services of OpenRC may wait for others that start; there is no limit of its own. */
const JOB_TIMEOUT_MS = 300_000;
const EVIDENCE_LINES = 20;
const SCRIPTS = '/etc/init.d';
const RUNLEVELS = '/etc/runlevels';
/** The runlevels that a boot goes through (runlevels(7)), the last of which is where services belong. */
const BOOT_RUNLEVELS: readonly string[] = ['sysinit', 'boot', 'default'];
/** Where OpenRC keeps what it knows of running services (its RC_SVCDIR). */
const STATE = '/run/openrc';
/** Clock ticks a second of /proc/PID/stat: USER_HZ, 100 on every architecture that Node runs on. */
const TICK_MS = 10;

/** What `rc-service NAME status` ends with (OpenRC sh/openrc-run.sh.in, _status; LSB for 3). */
const STATUS: Readonly<Record<number, string>> = {
  0: 'started',
  3: 'stopped',
  4: 'stopping',
  8: 'starting',
  16: 'inactive',
  32: 'crashed',
  // sh/supervise-daemon.sh, supervise_status: it was started, and the process that supervises it is gone.
  64: 'unsupervised',
};

const ABSENT: ServiceState = {
  exists: false,
  active: false,
  enabled: false,
  masked: false,
  detail: 'not-found',
  pid: undefined,
  startedAtMs: undefined,
};

/**
 * True where OpenRC started this machine: the test that its own scripts make (sh/openrc-run.sh.in, verify_boot), but for a
 * chroot that sees the /run of its host.
 */
export function isOpenrcBooted(): boolean {
  return existsSync(`${STATE}/softlevel`) && !isChroot();
}

/** The name of a service as OpenRC knows it: without the suffix of a unit of systemd. */
export function openrcName(name: string): string {
  return name.replace(/\.service$/, '');
}

/** The state of a service. One that does not exist is a state, too, not an error. */
export async function openrcServiceState(name: string): Promise<ServiceState> {
  const service = openrcName(name);
  const script = await stat(`${SCRIPTS}/${service}`);
  if (script === undefined) return ABSENT;
  // What nobody may execute can be started by nothing; OpenRC has no other mask.
  const masked = script.type === 'file' && (script.mode & 0o111) === 0;
  const enabled = (await runlevelsOf(service)).some((level) => BOOT_RUNLEVELS.includes(level));
  const started = (await stat(`${STATE}/started/${service}`)) !== undefined;
  // It cannot be asked; what was started before it was masked goes on running.
  if (masked) return { ...ABSENT, exists: true, active: started, enabled, masked, detail: 'masked' };
  const { status } = await runCommand({
    program: 'rc-service',
    args: ['--nocolor', service, 'status'],
    timeoutMs: QUERY_TIMEOUT_MS,
  });
  // Scripts in the manner of LSB that know no status say that all is well (Debian's rc.local).
  const active = status === 0 && started;
  const failed = !active && (await stat(`${STATE}/failed/${service}`)) !== undefined;
  const pid = active ? await pidOf(service) : undefined;
  const startTicks = pid === undefined ? undefined : (await readProcess(pid))?.startTicks;
  return {
    exists: true,
    active,
    enabled,
    masked,
    detail: failed ? 'failed' : detailOf(status, started),
    pid,
    startedAtMs: startTicks === undefined ? undefined : Math.round(bootedAtMs() + startTicks * TICK_MS),
  };
}

function detailOf(status: number, started: boolean): string {
  return status === 0 && !started ? 'stopped' : (STATUS[status] ?? `status ${status}`);
}

/** OpenRC through rc-service(8) and rc-update(8). Every failure is `ServiceFailed` with the last lines of the logs. */
export function openrcServices(): ServiceManager {
  const act = (name: string, verb: 'start' | 'stop' | 'restart') => openrc(verb, name, [openrcName(name), verb]);
  /**
   * OpenRC takes a service whose process is gone for one that was started, and says that `start` succeeded: it must forget
   * it first (openrc-run(8), zap).
   */
  const forgetCrash = async (name: string): Promise<boolean> => {
    const { detail } = await openrcServiceState(name);
    const crashed = detail === 'crashed' || detail === 'unsupervised';
    if (crashed) await openrc('reset', name, [openrcName(name), 'zap']);
    return crashed;
  };
  return {
    async reload() {
      // It looks at times of modification by itself; this is for two changes within one second (rc-update(8), --update).
      const result = await run('rc-update', ['--update']);
      if (result.status !== 0) throw await failed('rc-update --update', 'OpenRC', 'read its services again', result);
    },
    async start(name) {
      await forgetCrash(name);
      await act(name, 'start');
    },
    async stop(name) {
      if (!(await forgetCrash(name))) await act(name, 'stop');
    },
    async restart(name) {
      await act(name, (await forgetCrash(name)) ? 'start' : 'restart');
    },
    async enable(name) {
      const service = openrcName(name);
      if ((await runlevelsOf(service)).some((level) => BOOT_RUNLEVELS.includes(level))) return;
      const result = await run('rc-update', ['--nocolor', 'add', service, 'default']);
      if (result.status !== 0) throw await failed(`rc-update add ${service}`, name, 'enabled', result);
    },
    async disable(name) {
      const service = openrcName(name);
      // One by one: with --all it ends with a failure wherever the service was in some and not in others.
      for (const level of await runlevelsOf(service)) {
        const result = await run('rc-update', ['--nocolor', 'del', service, level]);
        if (result.status !== 0) throw await failed(`rc-update del ${service} ${level}`, name, 'disabled', result);
      }
    },
    mask: (name) => setExecutable(name, false),
    unmask: (name) => setExecutable(name, true),
    logs: (name, lines) => serviceLog({ stat, readRange }, openrcName(name), lines),
  };
}

const PAST: Readonly<Record<string, string>> = {
  start: 'started',
  stop: 'stopped',
  restart: 'restarted',
  reset: 'reset',
};

async function openrc(verb: string, name: string, args: readonly string[]): Promise<void> {
  const result = await run('rc-service', ['--nocolor', ...args]);
  if (result.status === 0) return;
  throw await failed(`rc-service ${args.join(' ')}`, name, PAST[verb] ?? verb, result);
}

function run(program: string, args: readonly string[]): Promise<CommandResult> {
  return runCommand({ program, args, timeoutMs: JOB_TIMEOUT_MS });
}

async function setExecutable(name: string, executable: boolean): Promise<void> {
  const path = `${SCRIPTS}/${openrcName(name)}`;
  const mode = (await stat(path))?.mode;
  if (mode === undefined) {
    throw new MachineadmError({
      reason: 'ServiceFailed',
      summary: `${name} could not be ${executable ? 'unmasked' : 'masked'}: there is no ${path}`,
      remedy: 'OpenRC can mask only what is installed: install it, or remove it from the document.',
    });
  }
  await chmod(path, executable ? mode | 0o755 : mode & ~0o111);
}

/** The runlevels that a service was added to; a link in the runlevel's directory stands for it (rc-update(8)). */
async function runlevelsOf(service: string): Promise<readonly string[]> {
  const levels = (await list(RUNLEVELS)) ?? [];
  const added: string[] = [];
  for (const level of levels) {
    if ((await stat(`${RUNLEVELS}/${level}/${service}`)) !== undefined) added.push(level);
  }
  return added;
}

/** The main process: what supervise-daemon noted of its child, or the pidfile that start-stop-daemon was told. */
async function pidOf(service: string): Promise<number | undefined> {
  const child = await readText(`${STATE}/options/${service}/child_pid`);
  const daemon = (await readText(`${STATE}/daemons/${service}/001`)) ?? '';
  const pidfile = /^pidfile=(\/.*)$/m.exec(daemon)?.[1];
  const text = child ?? (pidfile === undefined ? undefined : await readText(pidfile));
  const pid = Number(text?.trim() || Number.NaN);
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const process = await readProcess(pid);
  return process !== undefined && isRunning(process) ? pid : undefined;
}

function bootedAtMs(): number {
  return Date.now() - Number(process.hrtime.bigint() / 1_000_000n);
}

async function failed(command: string, name: string, what: string, result: CommandResult): Promise<MachineadmError> {
  const service = openrcName(name);
  // The logs are evidence; that they cannot be read must not hide the failure itself.
  const log = await serviceLog({ stat, readRange }, service, EVIDENCE_LINES).catch(() => []);
  const state = await openrcServiceState(name).catch(() => ABSENT);
  const why = state.masked
    ? 'its script may not be executed (it is masked)'
    : !state.exists
      ? 'no such service exists'
      : result.timedOut
        ? `no answer within ${JOB_TIMEOUT_MS / 1000} s`
        : `its state is ${state.detail}`;
  return new MachineadmError({
    reason: 'ServiceFailed',
    summary: `${name} could not be ${what}: ${why}`,
    remedy: state.masked
      ? `Unmask it with "chmod 755 ${SCRIPTS}/${service}" if it is wanted.`
      : state.exists
        ? `Run "rc-service ${service} start" in a root shell and read /var/log; repair the cause, then run again.`
        : `Install the package that provides ${service} with a script for OpenRC in ${SCRIPTS}.`,
    evidence: [
      ...textLines(`${result.stdout}\n${result.stderr}`).map((text) => ({ source: command, text: redact(text) })),
      ...log.map((text) => ({ source: `log of ${service}`, text: redact(text) })),
    ],
    retryable: true,
  });
}

function textLines(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(-EVIDENCE_LINES);
}
