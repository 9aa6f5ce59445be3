import type { Evidence } from '@machineadm/document/outcomes/errors.ts';
import type { LineSource } from '@machineadm/failures/catalogue.ts';
import { parseJournalLine } from '@machineadm/failures/journal-entry.ts';
import type { ObservedLine } from '@machineadm/failures/observed-line.ts';
import type { CriContainer } from '../host/cri/queries.ts';
import { runtimeService, socketOfMachine } from '../host/linux/runtime-sockets.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { logTail } from '../host/services/log.ts';
import { withTimeout } from '../host/time/timeout.ts';
import { checkCertificates } from './checks/certificates.ts';
import { checkControlPlane } from './checks/control-plane.ts';
import { checkEndpoint, parseEndpoint } from './checks/endpoint.ts';
import type { Finding } from './checks/finding.ts';
import { checkCapacity, checkDisks } from './checks/machine.ts';
import { checkOwnEndpoint } from './checks/own-endpoint.ts';
import { logFileLines } from './log-files.ts';
import { staticPodLines } from './static-pod-lines.ts';
import { killedRepeatedly, unitLines } from './unit-lines.ts';
import { windowsEventLines, windowsLogLines } from './windows-logs.ts';

/** Which part of the machine's logs and states belongs to this run. */
export interface CollectContext {
  /** Where the run began, in the journal or by the clock (milliseconds since the epoch). */
  readonly since: { readonly cursor: string } | { readonly realTimeMs: number };
  readonly role: 'InitControlPlane' | 'JoinControlPlane' | 'Worker' | undefined;
  /** `unix:///run/containerd/containerd.sock`; undefined: that of the machine's runtime. */
  readonly criSocket: string | undefined;
  /** host:port of the API server, where the document names one. */
  readonly endpoint?: string;
  /** Default `linux`. */
  readonly platform?: Facts['platform'];
  /** The time limit of all collectors together; 10 s by default. */
  readonly deadlineMs?: number;
  /** Milliseconds since the epoch; for tests. */
  readonly now?: () => number;
}

const DEFAULT_DEADLINE_MS = 10_000;
const JOURNAL_LINES = 2000;
const KERNEL_LINES = 500;
const CONTAINERS = 8;
const CONTAINER_LINES = 60;
const LOG_TAIL_BYTES = 64 * 1024;
/** How a Go program reports its fatal error (runtime/panic.go, runtime/cgo); long stack traces follow. */
const LAST_WORDS = / [FP] (panic: |fatal error: |runtime(\/cgo)?: |SIG[A-Z]+: )/;
const MOST_LAST_WORDS = 4;

/**
 * Gathers what the machine says about a failure: unit states, the journals of kubelet, containerd and kernel since
 * the run began, the last lines of exited containers, and what is wrong now with disks, memory, certificates, the health
 * of API server and etcd, the clock and the way to the endpoint. Never throws: a collector that fails or does not end within
 * the deadline contributes nothing, the others still count.
 */
export async function collect(host: QueryHost, given: CollectContext): Promise<readonly ObservedLine[]> {
  const context = await withSocket(host, given);
  const now = context.now ?? Date.now;
  const timeoutMs = context.deadlineMs ?? DEFAULT_DEADLINE_MS;
  const collectors =
    context.platform === 'windows'
      ? collectorsOfWindows(host, context, timeoutMs, now)
      : collectorsOfLinux(host, context, timeoutMs, now);
  const parts = await Promise.all(collectors.map((collector) => withTimeout(timeoutMs, collector).catch(() => [])));
  return withKills(parts.flat());
}

/** The same from logs and states alone, without the checks of the machine: while a bootstrapper runs. */
export async function collectLogs(host: QueryHost, given: CollectContext): Promise<readonly ObservedLine[]> {
  if (given.platform === 'windows') return [];
  const context = await withSocket(host, given);
  const timeoutMs = context.deadlineMs ?? DEFAULT_DEADLINE_MS;
  const collectors = logCollectors(host, context, timeoutMs, context.now ?? Date.now);
  const parts = await Promise.all(collectors.map((collector) => withTimeout(timeoutMs, collector).catch(() => [])));
  return withKills(parts.flat());
}

function withKills(lines: readonly ObservedLine[]): readonly ObservedLine[] {
  return [...killedRepeatedly(lines), ...lines];
}

type Located = CollectContext & { readonly criSocket: string };

async function withSocket(host: QueryHost, context: CollectContext): Promise<Located> {
  return { ...context, criSocket: context.criSocket ?? (await socketOfMachine(host, context.platform ?? 'linux')) };
}

type Collector = () => Promise<readonly ObservedLine[]>;

function collectorsOfLinux(
  host: QueryHost,
  context: Located,
  timeoutMs: number,
  now: () => number,
): readonly Collector[] {
  return [
    ...logCollectors(host, context, timeoutMs, now),
    () => facts(() => checkDisks(host)),
    () => facts(() => checkCapacity(host, context.role === 'Worker' ? 'worker' : 'controlPlane')),
    () => facts(() => checkCertificates(host, now())),
    () => facts(() => checkControlPlane(host)),
    () => facts(() => endpointOf(host, context, now, timeoutMs)),
  ];
}

function logCollectors(host: QueryHost, context: Located, timeoutMs: number, now: () => number): readonly Collector[] {
  const since = sinceArguments(context.since);
  const runtime = runtimeService(context.criSocket);
  const recorded: RecordedElsewhere = (source) => logFileLines(host, source, sinceMs(context.since), now());
  return [
    ...['kubelet', runtime].map((service) => () => unitLines(host, `${service}.service`, now())),
    () =>
      journal(
        host,
        'kubelet',
        'journal of kubelet',
        [...since, '-n', `${JOURNAL_LINES}`, '-u', 'kubelet.service'],
        timeoutMs,
        recorded,
      ),
    () =>
      journal(
        host,
        'containerd',
        `journal of ${runtime}`,
        [...since, '-n', `${JOURNAL_LINES}`, '-u', `${runtime}.service`],
        timeoutMs,
        recorded,
      ),
    () => journal(host, 'kernel', 'kernel', [...since, '-n', `${KERNEL_LINES}`, '-k'], timeoutMs, recorded),
    () =>
      context.role === 'Worker'
        ? Promise.resolve([])
        : exitedContainers(host, context.criSocket, sinceMs(context.since)),
  ];
}

/** Windows has no journal and no units. Disks and memory are not checked there. */
function collectorsOfWindows(
  host: QueryHost,
  context: CollectContext,
  timeoutMs: number,
  now: () => number,
): readonly Collector[] {
  const since = sinceMs(context.since);
  return [
    ...['kubelet', 'containerd'].map((service) => () => unitLines(host, service, now())),
    () => windowsLogLines(host, since, now()),
    () => windowsEventLines(host, since, now()),
    () => facts(() => checkCertificates(host, now())),
    () => facts(() => endpointOf(host, context, now, timeoutMs)),
  ];
}

/** The lines in an error's evidence or in a status, each with the program that printed it. */
export function transcriptLines(transcript: readonly Evidence[]): readonly ObservedLine[] {
  return transcript.flatMap((part) =>
    part.text.split('\n').map((text): ObservedLine => ({ source: sourceOf(part.source), origin: part.source, text })),
  );
}

/** The program that printed the lines of an origin. Whatever started kubeadm counts as kubeadm. */
function sourceOf(origin: string): LineSource {
  if (/^(journal of )?kubelet$/.test(origin)) return 'kubelet';
  if (/^(journal of )?(containerd|crio)$/.test(origin)) return 'containerd';
  if (origin === 'service manager') return 'unit';
  return origin.startsWith('log of container ') ? 'container' : 'kubeadm';
}

/** The problems that checks find on the machine now. Passed checks explain nothing. */
async function facts(look: () => Promise<readonly Finding[]>): Promise<readonly ObservedLine[]> {
  const checks = await look();
  return checks
    .filter(({ severity }) => severity === 'failed' || severity === 'warning')
    .map(({ text }): ObservedLine => ({ source: 'check', origin: 'this machine', text }));
}

async function endpointOf(
  host: QueryHost,
  context: CollectContext,
  now: () => number,
  timeoutMs: number,
): Promise<readonly Finding[]> {
  const endpoint = parseEndpoint(context.endpoint ?? '');
  if (context.role === 'InitControlPlane') {
    // What does not end within the deadline of all contributes nothing, and a dropped packet is noticed by waiting only.
    return await checkOwnEndpoint(host, endpoint, now, timeoutMs * 0.75);
  }
  return context.role === undefined || endpoint === undefined ? [] : await checkEndpoint(host, endpoint, now);
}

function sinceArguments(since: CollectContext['since']): readonly string[] {
  // `@` and seconds since the epoch: systemd.time(7).
  return 'cursor' in since ? ['--after-cursor', since.cursor] : ['--since', `@${Math.floor(since.realTimeMs / 1000)}`];
}

function sinceMs(since: CollectContext['since']): number {
  return 'cursor' in since ? 0 : since.realTimeMs;
}

/** Reads the lines where a machine without a journal keeps them. */
type RecordedElsewhere = (source: 'kubelet' | 'containerd' | 'kernel') => Promise<readonly ObservedLine[]>;

async function journal(
  host: QueryHost,
  source: 'kubelet' | 'containerd' | 'kernel',
  origin: string,
  selection: readonly string[],
  timeoutMs: number,
  elsewhere: RecordedElsewhere,
): Promise<readonly ObservedLine[]> {
  const args = ['-o', 'json', '-a', '-q', '--no-pager', '--output-fields', 'MESSAGE,SYSLOG_IDENTIFIER', ...selection];
  const result = await host.query({ program: 'journalctl', args, timeoutMs });
  if (result.status !== 0 && result.stdout === '' && !result.timedOut) return await elsewhere(source);
  return result.stdout.split('\n').flatMap((line) => {
    const entry = parseJournalLine(line);
    if (entry === undefined) return [];
    const from: LineSource = source !== 'kernel' && entry.identifier === 'systemd' ? 'systemd' : source;
    return entry.message.split('\n').map((text): ObservedLine => ({ source: from, origin, text }));
  });
}

async function exitedContainers(host: QueryHost, socket: string, since: number): Promise<readonly ObservedLine[]> {
  const exited = await host.cri(socket).exitedContainers();
  const recent = exited.filter((container) => container.finishedAtMs >= since).slice(0, CONTAINERS);
  const logs: ObservedLine[] = [...staticPodLines(exited.filter(({ finishedAtMs }) => finishedAtMs >= since))];
  for (const container of recent) logs.push(...(await containerLog(host, container)));
  return logs;
}

async function containerLog(host: QueryHost, container: CriContainer): Promise<readonly ObservedLine[]> {
  const origin = `log of container ${container.name}`;
  const lines = await logTail(host, container.logPath, LOG_TAIL_BYTES);
  const earlier = lines.slice(0, -CONTAINER_LINES).filter((line) => LAST_WORDS.test(line));
  return [...earlier.slice(-MOST_LAST_WORDS), ...lines.slice(-CONTAINER_LINES)].map(
    (line): ObservedLine => ({ source: 'container', origin, text: line }),
  );
}
