import { collect } from '../diagnosis/collect.ts';
import type { ObservedLine } from '../diagnosis/observed-line.ts';
import { readSavedLog } from '../diagnosis/saved-log.ts';
import { judge, type Verdict } from '../diagnosis/verdict.ts';
import { MachineadmError } from '../document/errors.ts';
import type { Facts } from '../host/facts.ts';
import type { QueryHost } from '../host/host.ts';
import { gatherFacts, openQueryHost } from '../host/index.ts';
import type { RunStatus } from '../reporting/status.ts';
import { readStatus } from '../reporting/status-file.ts';
import { refuseUnlessRoot } from './preflight.ts';

const CLOUD_INIT_OUTPUT = '/var/log/cloud-init-output.log';
const MOST_OUTPUT_BYTES = 4 * 1024 * 1024;
const KUBELET_KUBECONFIG = '/etc/kubernetes/kubelet.conf';

/** Reasons that name no cause: the logs may name one. */
const GENERAL: ReadonlySet<string> = new Set([
  'BootstrapperFailed',
  'KubeletNotHealthy',
  'ControlPlaneComponentNotHealthy',
  'NodeNotRegistered',
  'NodeNotReady',
  'DeadlinePassed',
]);

/**
 * Judges the machine it runs on, from its logs, its state and the status of the last run. Changes nothing. Throws
 * `NotPrivilegedUser`, and `NoRun` where nobody ever tried to bootstrap it: nothing failed there.
 */
export async function diagnoseMachine(exitStatus?: number): Promise<Verdict> {
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const status = await readStatus();
  const lines = await observe(host, facts, status);
  const tried = status !== undefined || exitStatus !== undefined || lines.some(({ source }) => source === 'kubeadm');
  if (!tried && (await host.stat(KUBELET_KUBECONFIG)) === undefined) throw nothingTried();
  return withStatus(judge(lines, exitStatus ?? exitStatusOf(status)), status);
}

function nothingTried(): MachineadmError {
  return new MachineadmError({
    reason: 'NoRun',
    summary: 'neither machineadm nor kubeadm ever ran on this machine: there is no failure to name',
    remedy: 'Look at the machine before a run with `machineadm doctor`, or judge saved logs with `--log FILE`.',
  });
}

/** What the machine says since the last run began, or since it booted. */
export async function observe(
  host: QueryHost,
  { platform, bootId }: Pick<Facts, 'platform' | 'bootId'>,
  status: RunStatus | undefined,
): Promise<readonly ObservedLine[]> {
  const began = status === undefined ? await bootTime(host, platform, bootId) : Date.parse(status.startedAt);
  const manifests = (await host.list('/etc/kubernetes/manifests')) ?? [];
  const endpoint = await kubeconfigServer(host);
  const said = await ownWords(host, platform, began);
  const collected = await collect(host, {
    platform,
    since: { realTimeMs: began },
    role: manifests.includes('kube-apiserver.yaml') ? 'InitControlPlane' : 'Worker',
    criSocket: 'unix:///run/containerd/containerd.sock',
    ...(endpoint === undefined ? {} : { endpoint }),
  });
  const reported = (status?.failure?.evidence ?? []).map(
    ({ source, text }): ObservedLine => ({ source: 'kubeadm', origin: source, text }),
  );
  return numbered([...(said.length === 0 ? reported : said), ...collected]);
}

/** kubeadm's words, wherever what started it keeps them: cloud-init's output, or the journal. */
async function ownWords(host: QueryHost, platform: Facts['platform'], began: number): Promise<readonly ObservedLine[]> {
  const size = (await host.stat(CLOUD_INIT_OUTPUT))?.size ?? 0;
  if (size > 0) {
    const position = Math.max(0, size - MOST_OUTPUT_BYTES);
    const bytes = await host.readRange(CLOUD_INIT_OUTPUT, position, MOST_OUTPUT_BYTES);
    const lines = readSavedLog(new TextDecoder().decode(bytes), CLOUD_INIT_OUTPUT);
    if (lines.length > 0) return lines.map((line) => ({ ...line, origin: CLOUD_INIT_OUTPUT }));
  }
  // Nobody there keeps what a program said.
  if (platform === 'windows') return [];
  const args = ['-o', 'json', '-a', '-q', '--no-pager', '-n', '4000', '--since', `@${Math.floor(began / 1000)}`];
  for (const identifier of ['machineadm', 'cloud-init', 'kubeadm']) {
    const { stdout } = await host.query({ program: 'journalctl', args: [...args, '-t', identifier], timeoutMs: 5000 });
    const lines = readSavedLog(stdout);
    if (lines.length > 0) return lines.map((line) => ({ ...line, origin: `journal of ${identifier}` }));
  }
  return [];
}

async function bootTime(host: QueryHost, platform: Facts['platform'], bootId: string): Promise<number> {
  // There a boot is known by when it was.
  if (platform === 'windows') return Date.parse(bootId) || 0;
  const seconds = /^btime (\d+)$/m.exec((await host.readText('/proc/stat')) ?? '')?.[1];
  return Number(seconds ?? 0) * 1000;
}

/** host:port of the API server that the kubelet was told of. Its credentials are not read out. */
async function kubeconfigServer(host: QueryHost): Promise<string | undefined> {
  const text = (await host.readText(KUBELET_KUBECONFIG)) ?? '';
  return /^\s*server: https:\/\/(\S+)$/m.exec(text)?.[1];
}

function exitStatusOf(status: RunStatus | undefined): number | undefined {
  if (status?.outcome === 'Succeeded') return 0;
  return status?.outcome === 'Failed' ? 1 : undefined;
}

/** What the run itself found out counts where the logs name no cause. */
function withStatus(verdict: Verdict, status: RunStatus | undefined): Verdict {
  const failure = status?.failure;
  if (verdict.outcome === 'success' || failure === undefined) return verdict;
  if (verdict.reason !== 'Unknown' && GENERAL.has(failure.reason)) return verdict;
  if (verdict.reason === 'Unknown' && GENERAL.has(failure.reason)) return verdict;
  return {
    ...verdict,
    reason: failure.reason,
    retryable: failure.retryable,
    evidence: failure.evidence.map(({ source, text }) => ({ source, line: 0, text })),
    remedy: failure.remedy,
    confidence: 0.95,
  };
}

/** Streams have no files: a line is counted within its origin. */
function numbered(lines: readonly ObservedLine[]): readonly ObservedLine[] {
  const counts = new Map<string, number>();
  return lines.map((line) => {
    const count = (counts.get(line.origin) ?? 0) + 1;
    counts.set(line.origin, count);
    return { line: count, ...line };
  });
}
