import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { Host, QueryHost, ServiceManager, ServiceState } from '../seam/host.ts';
import { ABSENT_SERVICE } from '../services/absent.ts';
import { logTail } from '../services/log.ts';
import { DRIVE } from './paths.ts';
import { askScript, notReturned, readAnswer, scriptInput } from './powershell.ts';
import { CHANGE_SERVICE, SERVICE_EVENTS, SERVICE_STATE } from './service-scripts.ts';

/** How long a service may take to reach the wanted state. */
const PATIENCE_S = 120;
const TIMEOUT_MS = 150_000;
const LOG_TAIL_BYTES = 512 * 1024;
/** Files of a directory, the last one by name: rotated logs have their time in the name. */
const MOST_LOGS = 5;

/**
 * The script of Kubernetes' image-builder that recreates the service `kubelet` with the arguments in kubeadm-flags.env
 * (images/capi/ansible/windows/roles/kubernetes/templates/RestartKubelet.ps1): a Windows service has its arguments in
 * its command line, and kubeadm starts it without changing that. Images with nssm read the file themselves, in
 * StartKubelet.ps1.
 */
export const RESTART_KUBELET = `${DRIVE}\\k\\RestartKubelet.ps1`;

/** Where the services of a node log (image-builder, sig-windows-tools). */
const LOG_DIRECTORIES: readonly ((service: string) => string)[] = [
  (service) => `/var/log/${service}`,
  (service) => `${DRIVE}\\Program Files\\${service}`,
];

/** Windows' details about a service. */
export async function serviceState(host: Pick<QueryHost, 'query'>, name: string): Promise<ServiceState> {
  return toState(await askScript(host, SERVICE_STATE, { name }));
}

/** Throws `HostStepFailed` for an invalid answer. */
function toState(answer: unknown): ServiceState {
  if (member(answer, 'exists') === false) return ABSENT_SERVICE;
  const [state, mode, pid] = [text(member(answer, 'state')), text(member(answer, 'startMode')), member(answer, 'pid')];
  if (state === undefined || mode === undefined) throw notReturned('the state of a service', 'Win32_Service');
  const startedAt = Date.parse(text(member(answer, 'startedAt')) ?? '');
  return {
    exists: true,
    active: state === 'Running',
    enabled: mode === 'Auto',
    masked: mode === 'Disabled',
    detail: state,
    pid: typeof pid === 'number' && pid > 0 ? pid : undefined,
    startedAtMs: Number.isNaN(startedAt) ? undefined : startedAt,
  };
}

type Machine = Pick<Host, 'query' | 'run' | 'stat' | 'list' | 'readRange'>;

export function windowsServices(machine: Machine, signal: AbortSignal | undefined): ServiceManager {
  const told = async (name: string, action: string): Promise<void> => {
    const options = { timeoutMs: TIMEOUT_MS, ...(signal === undefined ? {} : { signal }) };
    const input = scriptInput({ name, action, seconds: PATIENCE_S });
    const result = await machine.run({ program: 'powershell.exe', args: CHANGE_SERVICE.args, input, ...options });
    const answer = readAnswer(CHANGE_SERVICE, result);
    if (!answer.ok) throw await serviceFailed(machine, name, action, answer.message);
    const wanted = EXPECTED[action];
    const [state, mode] = [text(member(answer.value, 'state')), text(member(answer.value, 'startMode'))];
    if (wanted === undefined || wanted === state || wanted === mode) return;
    throw await serviceFailed(machine, name, action, `afterwards it was ${state ?? 'unknown'}, ${mode ?? 'unknown'}`);
  };
  const started = async (name: string): Promise<void> => {
    if (!(await restartsByScript(machine, name))) return await told(name, 'start');
    if (!(await serviceState(machine, name)).active) await restartKubelet(machine, signal);
  };
  const restart = async (name: string): Promise<void> => {
    if (await restartsByScript(machine, name)) return await restartKubelet(machine, signal);
    await told(name, 'restart');
  };
  return {
    async reload() {
      // The service control manager stores the definitions itself: there is nothing to reload.
    },
    start: started,
    stop: (name) => told(name, 'stop'),
    restart,
    // A Windows service has no such request.
    reloadService: restart,
    enable: (name) => told(name, 'Automatic'),
    disable: (name) => told(name, 'Manual'),
    mask: (name) => told(name, 'Disabled'),
    unmask: (name) => told(name, 'Manual'),
    logs: (name, lines) => serviceLogs(machine, name, lines),
  };
}

/** The state that Win32_Service must report after an action. */
const EXPECTED: Readonly<Record<string, string>> = {
  start: 'Running',
  restart: 'Running',
  stop: 'Stopped',
  Automatic: 'Auto',
  Manual: 'Manual',
  Disabled: 'Disabled',
};

async function restartsByScript(machine: Machine, name: string): Promise<boolean> {
  if (name !== 'kubelet' || (await machine.list(`${DRIVE}\\k`))?.includes('RestartKubelet.ps1') !== true) return false;
  const path = text(member(await askScript(machine, SERVICE_STATE, { name }), 'path')) ?? '';
  return !/nssm/i.test(path);
}

/** The script's output is not reliable: a query checks that the kubelet runs afterwards. */
async function restartKubelet(machine: Machine, signal: AbortSignal | undefined): Promise<void> {
  const result = await machine.run({
    program: 'powershell.exe',
    args: ['-NoLogo', '-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', RESTART_KUBELET],
    timeoutMs: TIMEOUT_MS,
    ...(signal === undefined ? {} : { signal }),
  });
  const { active, detail } = await serviceState(machine, 'kubelet');
  if (active) return;
  const said = result.stderr.trim() === '' ? `status ${result.status}` : result.stderr.trim().slice(0, 2000);
  throw await serviceFailed(machine, 'kubelet', `restart by ${RESTART_KUBELET}`, `${said}; the service is ${detail}`);
}

/**
 * The service control manager's log entries for a service, and the last lines of its log files, at most `lines` of
 * each. What cannot be read counts as empty.
 */
async function serviceLogs(machine: Machine, name: string, lines: number): Promise<readonly string[]> {
  const events = await askScript(machine, SERVICE_EVENTS, { name, lines }).catch(() => []);
  const told = (Array.isArray(events) ? events : []).filter((event) => typeof event === 'string');
  const own: string[] = [];
  for (const directory of LOG_DIRECTORIES) {
    const path = directory(name);
    const names = ((await machine.list(path).catch(() => undefined)) ?? []).filter((file) =>
      /\.(log|txt)$|\.(INFO|ERROR|WARNING)$|\.log\./.test(file),
    );
    for (const file of names.slice(-MOST_LOGS))
      own.push(...(await logTail(machine, `${path}\\${file}`, LOG_TAIL_BYTES)).slice(-lines));
  }
  return [...told.slice(-lines), ...own];
}

async function serviceFailed(machine: Machine, name: string, action: string, why: string): Promise<MachineadmError> {
  const logs = await serviceLogs(machine, name, 20);
  return new MachineadmError({
    reason: 'ServiceFailed',
    summary: `the service ${name} did not ${action}: ${why}`,
    remedy: `Look at "sc.exe queryex ${name}", the System log in the Event Viewer, and the logs below C:\\var\\log.`,
    evidence: evidenceFrom(name, logs.slice(-20)),
  });
}
