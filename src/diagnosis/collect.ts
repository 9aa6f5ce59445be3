import type { Evidence } from '../document/errors.ts';
import type { CriContainer } from '../host/cri.ts';
import type { QueryHost, ServiceState } from '../host/host.ts';
import type { LineSource } from './catalogue.ts';
import type { ObservedLine } from './classify.ts';

/** What the collectors must know to look at this run, and not at what was before it. */
export interface CollectContext {
  /** Where the run began, in the journal or by the clock (milliseconds since the epoch). */
  readonly since: { readonly cursor: string } | { readonly realTimeMs: number };
  readonly role: 'InitControlPlane' | 'JoinControlPlane' | 'Worker' | undefined;
  /** `unix:///run/containerd/containerd.sock` */
  readonly criSocket: string;
  /** What all collectors together may take; default 10 s. */
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

/**
 * Gathers what the machine says about a failure: unit states, the journals of kubelet, containerd and kernel since
 * the run began, and the last lines of exited containers. Never throws: a collector that fails or does not end within
 * the deadline contributes nothing, the others still count.
 */
export async function collect(host: QueryHost, context: CollectContext): Promise<readonly ObservedLine[]> {
  const now = context.now ?? Date.now;
  const timeoutMs = context.deadlineMs ?? DEFAULT_DEADLINE_MS;
  const since = sinceArguments(context.since);
  const collectors: readonly (() => Promise<readonly ObservedLine[]>)[] = [
    () => unitStates(host, now),
    () =>
      journal(
        host,
        'kubelet',
        'journal of kubelet',
        [...since, '-n', `${JOURNAL_LINES}`, '-u', 'kubelet.service'],
        timeoutMs,
      ),
    () =>
      journal(
        host,
        'containerd',
        'journal of containerd',
        [...since, '-n', `${JOURNAL_LINES}`, '-u', 'containerd.service'],
        timeoutMs,
      ),
    () => journal(host, 'kernel', 'kernel', [...since, '-n', `${KERNEL_LINES}`, '-k'], timeoutMs),
    () =>
      context.role === 'Worker'
        ? Promise.resolve([])
        : exitedContainers(host, context.criSocket, sinceMs(context.since)),
  ];
  const deadline = cancellableDelay(timeoutMs);
  try {
    const parts = await Promise.all(
      collectors.map((collector) => Promise.race([collector().catch(() => []), deadline.passed.then(() => [])])),
    );
    return parts.flat();
  } finally {
    deadline.cancel();
  }
}

/** kubeadm's own output, as an error carries it. */
export function transcriptLines(transcript: readonly Evidence[]): readonly ObservedLine[] {
  return transcript.flatMap((part) =>
    part.text.split('\n').map((text): ObservedLine => ({ source: 'kubeadm', origin: part.source, text })),
  );
}

async function unitStates(host: QueryHost, now: () => number): Promise<readonly ObservedLine[]> {
  const names = ['kubelet.service', 'containerd.service'];
  const states = await Promise.all(names.map((name) => host.service(name)));
  return states.map((state, index) => {
    const name = names[index] ?? '';
    return { source: 'unit', origin: 'service manager', text: `${name}: ${describeState(state, now())}` };
  });
}

function describeState(state: ServiceState, now: number): string {
  if (state.masked) return 'masked';
  if (!state.exists) return 'not installed';
  if (!state.active) return state.detail;
  const seconds = state.startedAtMs === undefined ? 0 : Math.max(0, Math.round((now - state.startedAtMs) / 1000));
  return `active (running) for ${seconds} s`;
}

function sinceArguments(since: CollectContext['since']): readonly string[] {
  // `@` and seconds since the epoch: systemd.time(7).
  return 'cursor' in since ? ['--after-cursor', since.cursor] : ['--since', `@${Math.floor(since.realTimeMs / 1000)}`];
}

function sinceMs(since: CollectContext['since']): number {
  return 'cursor' in since ? 0 : since.realTimeMs;
}

async function journal(
  host: QueryHost,
  source: LineSource,
  origin: string,
  selection: readonly string[],
  timeoutMs: number,
): Promise<readonly ObservedLine[]> {
  const args = ['-o', 'json', '-a', '-q', '--no-pager', '--output-fields', 'MESSAGE,SYSLOG_IDENTIFIER', ...selection];
  const result = await host.query({ program: 'journalctl', args, timeoutMs });
  return result.stdout.split('\n').flatMap((line) => {
    const entry = parseJournalLine(line);
    if (entry === undefined) return [];
    const from: LineSource = source !== 'kernel' && entry.identifier === 'systemd' ? 'systemd' : source;
    return entry.message.split('\n').map((text): ObservedLine => ({ source: from, origin, text }));
  });
}

interface JournalLine {
  readonly message: string;
  readonly identifier: string;
}

/**
 * One line of `journalctl -o json -a`: a message that is not valid UTF-8 comes as an array of bytes, a repeated field
 * as an array of values (systemd.io/JOURNAL_EXPORT_FORMATS). undefined = not a whole entry (the output was cut).
 */
export function parseJournalLine(line: string): JournalLine | undefined {
  let entry: unknown;
  try {
    entry = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof entry !== 'object' || entry === null) return undefined;
  const fields = new Map<string, unknown>(Object.entries(entry));
  const message = textOf(fields.get('MESSAGE'));
  if (message === undefined) return undefined;
  return { message, identifier: textOf(fields.get('SYSLOG_IDENTIFIER')) ?? '' };
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return undefined;
  const items: unknown[] = value;
  if (items.every((item) => typeof item === 'number')) return new TextDecoder().decode(Uint8Array.from(items));
  const texts = items.filter((item) => typeof item === 'string');
  return texts.length === 0 ? undefined : texts.join('\n');
}

async function exitedContainers(host: QueryHost, socket: string, since: number): Promise<readonly ObservedLine[]> {
  const exited = await host.cri(socket).exitedContainers();
  const recent = exited.filter((container) => container.finishedAtMs >= since).slice(0, CONTAINERS);
  const logs: ObservedLine[] = [];
  for (const container of recent) logs.push(...(await containerLog(host, container).catch(() => [])));
  return logs;
}

async function containerLog(host: QueryHost, container: CriContainer): Promise<readonly ObservedLine[]> {
  const size = (await host.stat(container.logPath))?.size ?? 0;
  const bytes = await host.readRange(container.logPath, Math.max(0, size - LOG_TAIL_BYTES), LOG_TAIL_BYTES);
  const origin = `log of container ${container.name}`;
  return new TextDecoder()
    .decode(bytes)
    .trimEnd()
    .split('\n')
    .slice(-CONTAINER_LINES)
    .map((line): ObservedLine => ({ source: 'container', origin, text: line }));
}

function cancellableDelay(ms: number): { readonly passed: Promise<void>; cancel(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  return { passed: promise, cancel: () => clearTimeout(timer) };
}
