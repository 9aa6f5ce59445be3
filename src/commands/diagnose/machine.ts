import type { ReadyModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { ObservedLine } from '@machineadm/failures/observed-line.ts';
import { readSavedLog } from '@machineadm/failures/saved-log.ts';
import { type RunFacts, type Verdict, verdict } from '@machineadm/failures/verdict.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { collect, transcriptLines } from '../../diagnosis/collect.ts';
import { gatherFacts, openQueryHost } from '../../host/index.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { failureOfNode, probeNodeWithin } from '../../kubernetes/node-health.ts';
import { recordedOnThisMachine } from '../../pipeline/journal-record.ts';
import { refuseUnlessRoot } from '../../pipeline/preflight.ts';
import { peekJournal } from '../../pipeline/run-journal.ts';
import { stepRecord } from '../../pipeline/step-record.ts';
import { readStatus } from '../../reporting/status-file.ts';

const CLOUD_INIT_OUTPUT = '/var/log/cloud-init-output.log';
const MOST_OUTPUT_BYTES = 4 * 1024 * 1024;
const KUBELET_KUBECONFIG = '/etc/kubernetes/kubelet.conf';
/** Time limit of a whole diagnosis: 10 s. */
const NODE_LIMIT_MS = 8_000;

/**
 * The verdict on this machine. A failed run has its verdict in its status, which is used; a node that an earlier run
 * proved is checked again. Read-only. Throws `NotPrivilegedUser`, and `NoRun` where machineadm was never run: nothing
 * failed.
 */
export async function diagnoseMachine(exitStatus?: number): Promise<Verdict> {
  const host = openQueryHost();
  const facts = await gatherFacts(host);
  refuseUnlessRoot(facts);
  const found = await verdictOnMachine(host, facts, await readStatus(), exitStatus);
  if (found === undefined) throw nothingTried();
  return found;
}

/** The same for other commands. undefined: machineadm was never run on this machine. */
export async function verdictOnMachine(
  host: QueryHost,
  facts: Facts,
  reported: RunStatus | undefined,
  exitStatus?: number,
): Promise<Verdict | undefined> {
  // On a cloned disk the copy is another machine's.
  const status = reported?.host.machineId === facts.machineId ? reported : undefined;
  const [lines, known, isNode] = await Promise.all([
    observe(host, facts, status),
    runFactsOf(host, facts, status),
    isWorkingNode(host, facts),
  ]);
  const kubeadmRan = lines.some(({ source }) => source === 'kubeadm');
  if (status === undefined && known === undefined && exitStatus === undefined && !kubeadmRan) return undefined;
  // A working node does not prove that a kubeadm started by someone else completed.
  const run =
    exitStatus !== undefined || (status === undefined && kubeadmRan && known?.state === 'succeeded')
      ? undefined
      : known;
  // The output of a run that proved the node does not explain a later failure.
  const isSince = status?.outcome === 'Succeeded' && run?.state === 'ended';
  const relevant = isSince ? lines.filter(({ source }) => source !== 'kubeadm') : lines;
  return verdict({ lines: relevant, exitStatus, isNode, ...(run === undefined ? {} : { run }) });
}

/** The result of the last run; where it succeeded, or there was none, the present state of the node. */
async function runFactsOf(host: QueryHost, facts: Facts, status: RunStatus | undefined): Promise<RunFacts | undefined> {
  if (status?.failure !== undefined) return { state: 'concluded', failure: status.failure };
  if (status !== undefined && status.outcome !== 'Succeeded') return undefined;
  if (!(await isProvenNode(host, facts, status))) return status === undefined ? undefined : { state: 'succeeded' };
  const finding = await probeNodeWithin(host, facts, await provenDemand(host), NODE_LIMIT_MS);
  return finding.ready ? { state: 'succeeded' } : { state: 'ended', failure: failureOfNode(finding, facts) };
}

/**
 * Whether a run proved that this machine is a node, whichever document ran last; without any run, whether it has a kubelet
 * of whoever made it.
 */
export async function isProvenNode(host: QueryHost, facts: Facts, status: RunStatus | undefined): Promise<boolean> {
  const journal = await peekJournal(host).catch(() => undefined);
  if (journal !== undefined && recordedOnThisMachine(journal.identity, facts))
    return stepRecord(journal, 'readiness').done.size > 0;
  return status?.steps.some(({ id }) => id === 'readiness') ?? (await host.stat(KUBELET_KUBECONFIG)) !== undefined;
}

/**
 * Whether this machine is a node that works, whoever made it: its kubelet is healthy, and the API server answers that its
 * Node is Ready. A failure of whatever ran later must not take it away.
 */
async function isWorkingNode(host: QueryHost, facts: Facts): Promise<boolean> {
  if ((await host.stat(KUBELET_KUBECONFIG)) === undefined) return false;
  const finding = await probeNodeWithin(host, facts, 'NodeReady', NODE_LIMIT_MS).catch(() => undefined);
  return finding?.ready === true;
}

/** What the last document required, according to the journal; a node that is not ours must be registered. */
async function provenDemand(host: QueryHost): Promise<ReadyModel['require']> {
  const { done } = stepRecord(await peekJournal(host).catch(() => undefined), 'readiness');
  const demands = ['NodeReady', 'NodeRegistered', 'KubeletHealthy'] as const;
  return demands.find((demand) => done.has(`readiness/${demand}`)) ?? 'NodeRegistered';
}

function nothingTried(): MachineadmError {
  return new MachineadmError({
    reason: 'NoRun',
    summary: 'neither machineadm nor kubeadm has run on this machine, so there is no failure',
    remedy:
      'Check the machine before a run with `machineadm doctor`, or diagnose saved logs with `machineadm diagnose -f FILE`.',
  });
}

/** The logs since the last run began, or since boot. */
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
    criSocket: undefined,
    ...(endpoint === undefined ? {} : { endpoint }),
  });
  const reported = transcriptLines(status?.failure?.evidence ?? []);
  return numbered([...(said.length === 0 ? reported : said), ...collected]);
}

/** kubeadm's output, wherever its caller keeps it: cloud-init's log, or the journal. */
async function ownWords(host: QueryHost, platform: Facts['platform'], began: number): Promise<readonly ObservedLine[]> {
  const size = (await host.stat(CLOUD_INIT_OUTPUT))?.size ?? 0;
  if (size > 0) {
    const position = Math.max(0, size - MOST_OUTPUT_BYTES);
    const bytes = await host.readRange(CLOUD_INIT_OUTPUT, position, MOST_OUTPUT_BYTES);
    const lines = readSavedLog(new TextDecoder().decode(bytes), CLOUD_INIT_OUTPUT);
    if (lines.length > 0) return lines.map((line) => ({ ...line, origin: CLOUD_INIT_OUTPUT }));
  }
  // There program output is not kept.
  if (platform === 'windows') return [];
  const args = ['-o', 'json', '-a', '-q', '--no-pager', '-n', '4000', '--since', `@${Math.floor(began / 1000)}`];
  for (const identifier of ['machineadm', 'cloud-init', 'kubeadm']) {
    // Any user may log under any identifier, but not as root (systemd.journal-fields(7), "TRUSTED JOURNAL FIELDS").
    const ofRoot = [...args, '-t', identifier, '_UID=0'];
    const { stdout } = await host.query({ program: 'journalctl', args: ofRoot, timeoutMs: 5000 });
    const lines = readSavedLog(stdout);
    if (lines.length > 0) return lines.map((line) => ({ ...line, origin: `journal of ${identifier}` }));
  }
  return [];
}

async function bootTime(host: QueryHost, platform: Facts['platform'], bootId: string): Promise<number> {
  // There a boot is identified by its time.
  if (platform === 'windows') return Date.parse(bootId) || 0;
  const seconds = /^btime (\d+)$/m.exec((await host.readText('/proc/stat')) ?? '')?.[1];
  return Number(seconds ?? 0) * 1000;
}

/** host:port of the API server in the kubelet's configuration. Its credentials are not read. */
async function kubeconfigServer(host: QueryHost): Promise<string | undefined> {
  const text = (await host.readText(KUBELET_KUBECONFIG)) ?? '';
  return /^[ \t]*server: https:\/\/(\S+)$/m.exec(text)?.[1];
}

/** Streams have no file: a line is numbered within its source. */
function numbered(lines: readonly ObservedLine[]): readonly ObservedLine[] {
  const counts = new Map<string, number>();
  return lines.map((line) => {
    const count = (counts.get(line.origin) ?? 0) + 1;
    counts.set(line.origin, count);
    return { line: count, ...line };
  });
}
