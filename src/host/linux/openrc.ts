import { existsSync } from 'node:fs';
import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import type { CommandResult, Host, ServiceManager, ServiceState } from '../seam/host.ts';
import { ABSENT_SERVICE } from '../services/absent.ts';
import { LINES_TO_SEARCH, lastErrors } from '../services/last-errors.ts';
import { serviceLog } from '../services/log.ts';
import { runCommand } from './commands.ts';
import { isRunning, readProcess } from './processes.ts';
import { list, readRange, readText, stat } from './read.ts';
import { isChroot } from './systemd.ts';
import { chmod } from './write.ts';

const QUERY_TIMEOUT_MS = 30_000;
/** OpenRC services may wait for others that are starting; OpenRC has no time limit. */
const JOB_TIMEOUT_MS = 300_000;
const EVIDENCE_LINES = 20;
const SCRIPTS = '/etc/init.d';
const RUNLEVELS = '/etc/runlevels';
/** The runlevels of a boot (runlevels(7)); services belong to the last one. */
const BOOT_RUNLEVELS: readonly string[] = ['sysinit', 'boot', 'default'];
/** Where OpenRC keeps the state of services (RC_SVCDIR). */
const STATE = '/run/openrc';
/** Clock ticks per second in /proc/PID/stat: USER_HZ, 100 on every architecture that Node supports. */
const TICK_MS = 10;

/** The exit statuses of `rc-service NAME status` (OpenRC sh/openrc-run.sh.in, _status; LSB for 3). */
const STATUS: Readonly<Record<number, string>> = {
  0: 'started',
  3: 'stopped',
  4: 'stopping',
  8: 'starting',
  16: 'inactive',
  32: 'crashed',
  // sh/supervise-daemon.sh, supervise_status: it was started, and its supervisor is gone.
  64: 'unsupervised',
};

/** What of a machine its services are seen and changed through. */
type OpenrcHost = Pick<Host, 'stat' | 'list' | 'readText' | 'readRange' | 'chmod' | 'run'>;
const THIS_MACHINE: OpenrcHost = { stat, list, readText, readRange, chmod, run: runCommand };

/**
 * True where OpenRC has booted this machine: the same test as in its own scripts (sh/openrc-run.sh.in, verify_boot),
 * except in a chroot that sees the /run of its host.
 */
export function isOpenrcBooted(): boolean {
  return existsSync(`${STATE}/softlevel`) && !isChroot();
}

/** The OpenRC name of a service: without the suffix of a systemd unit. */
export function openrcName(name: string): string {
  return name.replace(/\.service$/, '');
}

/** The state of a service. A missing service is a state, not an error. */
export async function openrcServiceState(name: string, host: OpenrcHost = THIS_MACHINE): Promise<ServiceState> {
  const service = openrcName(name);
  const script = await host.stat(`${SCRIPTS}/${service}`);
  if (script === undefined) return ABSENT_SERVICE;
  // A script that is not executable cannot be started; OpenRC has no other way to mask it.
  const masked = script.type === 'file' && (script.mode & 0o111) === 0;
  const enabled = (await runlevelsOf(service, host)).some((level) => BOOT_RUNLEVELS.includes(level));
  const started = (await host.stat(`${STATE}/started/${service}`)) !== undefined;
  // Its status is not available; a service started before it was masked continues.
  if (masked) return { ...ABSENT_SERVICE, exists: true, active: started, enabled, masked, detail: 'masked' };
  const { status } = await host.run({
    program: 'rc-service',
    args: ['--nocolor', service, 'status'],
    timeoutMs: QUERY_TIMEOUT_MS,
  });
  // LSB-style scripts without a status command report success (Debian's rc.local).
  const active = status === 0 && started;
  const failed = !active && (await host.stat(`${STATE}/failed/${service}`)) !== undefined;
  const pid = active ? await pidOf(service, host) : undefined;
  const startTicks = pid === undefined ? undefined : (await readProcess(pid))?.startTicks;
  const bootedAtMs = Date.now() - Number(process.hrtime.bigint() / 1_000_000n);
  return {
    exists: true,
    active,
    enabled,
    masked,
    detail: failed ? 'failed' : status === 0 && !started ? 'stopped' : (STATUS[status] ?? `status ${status}`),
    pid,
    startedAtMs: startTicks === undefined ? undefined : Math.round(bootedAtMs + startTicks * TICK_MS),
  };
}

/** OpenRC through rc-service(8) and rc-update(8). Every failure is `ServiceFailed` with the last lines of the logs. */
export function openrcServices(host: OpenrcHost = THIS_MACHINE): ServiceManager {
  const run = (program: string, args: readonly string[]) => host.run({ program, args, timeoutMs: JOB_TIMEOUT_MS });
  const openrc = async (verb: string, name: string, args: readonly string[]): Promise<void> => {
    const result = await run('rc-service', ['--nocolor', ...args]);
    if (result.status === 0) return;
    throw await failed(`rc-service ${args.join(' ')}`, name, PAST[verb] ?? verb, result, host);
  };
  const act = (name: string, verb: 'start' | 'stop' | 'restart') => openrc(verb, name, [openrcName(name), verb]);
  /**
   * OpenRC regards a service whose process has died as started, and reports that `start` succeeded: its state must be
   * reset first (openrc-run(8), zap).
   */
  const forgetCrash = async (name: string): Promise<boolean> => {
    const { detail } = await openrcServiceState(name, host);
    const crashed = detail === 'crashed' || detail === 'unsupervised';
    if (crashed) await openrc('reset', name, [openrcName(name), 'zap']);
    return crashed;
  };
  return {
    async reload() {
      // It compares modification times by itself; this covers two changes within one second (rc-update(8), --update).
      const result = await run('rc-update', ['--update']);
      if (result.status !== 0)
        throw await failed('rc-update --update', 'OpenRC', 'made to read its services again', result, host);
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
    async reloadService(name) {
      // Only scripts that say so know it (openrc-run(8), extra_started_commands), and fail with any other word.
      const { status } = await run('rc-service', ['--nocolor', openrcName(name), 'reload']);
      if (status !== 0) await act(name, 'restart');
    },
    async enable(name) {
      const service = openrcName(name);
      if ((await runlevelsOf(service, host)).some((level) => BOOT_RUNLEVELS.includes(level))) return;
      const result = await run('rc-update', ['--nocolor', 'add', service, 'default']);
      if (result.status !== 0) throw await failed(`rc-update add ${service}`, name, 'enabled', result, host);
    },
    async disable(name) {
      const service = openrcName(name);
      // One by one: --all fails if the service is in only some of the runlevels.
      for (const level of await runlevelsOf(service, host)) {
        const result = await run('rc-update', ['--nocolor', 'del', service, level]);
        if (result.status !== 0)
          throw await failed(`rc-update del ${service} ${level}`, name, 'disabled', result, host);
      }
    },
    mask: (name) => setExecutable(name, false, host),
    unmask: (name) => setExecutable(name, true, host),
    logs: (name, lines) => serviceLog(host, openrcName(name), lines),
  };
}

const PAST: Readonly<Record<string, string>> = {
  start: 'started',
  stop: 'stopped',
  restart: 'restarted',
  reset: 'reset',
};

async function setExecutable(name: string, executable: boolean, host: OpenrcHost): Promise<void> {
  const path = `${SCRIPTS}/${openrcName(name)}`;
  const mode = (await host.stat(path))?.mode;
  if (mode === undefined) {
    throw new MachineadmError({
      reason: 'ServiceFailed',
      summary: `${name} could not be ${executable ? 'unmasked' : 'masked'}: there is no ${path}`,
      remedy: 'OpenRC can mask only what is installed: install it, or remove it from the document.',
    });
  }
  await host.chmod(path, executable ? mode | 0o755 : mode & ~0o111);
}

/** The runlevels of a service; each has a link to it in the runlevel's directory (rc-update(8)). */
async function runlevelsOf(service: string, host: OpenrcHost): Promise<readonly string[]> {
  const levels = (await host.list(RUNLEVELS)) ?? [];
  const added: string[] = [];
  for (const level of levels) {
    if ((await host.stat(`${RUNLEVELS}/${level}/${service}`)) !== undefined) added.push(level);
  }
  return added;
}

/** The main process: the recorded child of supervise-daemon, or the pidfile of start-stop-daemon. */
async function pidOf(service: string, host: OpenrcHost): Promise<number | undefined> {
  const child = await host.readText(`${STATE}/options/${service}/child_pid`);
  const daemon = (await host.readText(`${STATE}/daemons/${service}/001`)) ?? '';
  const pidfile = /^pidfile=(\/.*)$/m.exec(daemon)?.[1];
  const text = child ?? (pidfile === undefined ? undefined : await host.readText(pidfile));
  const pid = Number(text?.trim() || Number.NaN);
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const process = await readProcess(pid);
  return process !== undefined && isRunning(process) ? pid : undefined;
}

async function failed(
  command: string,
  name: string,
  what: string,
  result: CommandResult,
  host: OpenrcHost,
): Promise<MachineadmError> {
  const service = openrcName(name);
  // The logs are evidence; a failure to read them must not hide the actual failure.
  const log = lastErrors(await serviceLog(host, service, LINES_TO_SEARCH).catch(() => []), EVIDENCE_LINES);
  const state = await openrcServiceState(name, host).catch(() => ABSENT_SERVICE);
  const why = state.masked
    ? 'its script is not executable (it is masked)'
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
      ...evidenceFrom(
        command,
        textLines(result.stdout, result.stderr)
          .slice(-EVIDENCE_LINES)
          .map((line) => redact(line.trim())),
      ),
      ...log.map((text) => ({ source: `log of ${service}`, text: redact(text) })),
    ],
    retryable: true,
  });
}
