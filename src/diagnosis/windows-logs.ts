import type { ObservedLine } from '@machineadm/failures/observed-line.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { logTail } from '../host/services/log.ts';
import { timeOfLine } from './log-files.ts';

/**
 * Where the kubelet and containerd of a Windows node log: the files of kube-log-runner and nssm (image-builder
 * images/capi/ansible/windows/roles/kubernetes, sig-windows-tools hostprocess/PrepareNode.ps1), and `--log-file` of
 * containerd's service (images/capi/ansible/windows/roles/runtimes/tasks/containerd.yml).
 */
const LOGS: readonly {
  readonly source: 'kubelet' | 'containerd';
  readonly directory: string;
  readonly file: RegExp;
}[] = [
  { source: 'kubelet', directory: 'C:\\var\\log\\kubelet', file: /^kubelet.*\.log$|\.(?:INFO|WARNING|ERROR|FATAL)$/ },
  { source: 'containerd', directory: 'C:\\var\\log\\containerd', file: /\.log$/ },
  { source: 'containerd', directory: 'C:\\Program Files\\containerd', file: /\.log$/ },
];
const TAIL_BYTES = 512 * 1024;
const LINES = 2000;

/** Critical, error and warning (Microsoft Learn, "Event schema", LevelType). */
const LEVELS = [1, 2, 3];
const EVENTS = 100;

/** The lines of the kubelet's and containerd's log files since a moment. A file that cannot be read counts as empty. */
export async function windowsLogLines(
  host: QueryHost,
  sinceMs: number,
  nowMs: number,
): Promise<readonly ObservedLine[]> {
  const found: ObservedLine[] = [];
  for (const { source, directory, file } of LOGS) {
    const names = ((await host.list(directory).catch(() => undefined)) ?? []).filter((name) => file.test(name));
    for (const name of names) {
      const origin = `${directory}\\${name}`;
      const lines = recent(await logTail(host, origin, TAIL_BYTES), sinceMs, nowMs).slice(-LINES);
      found.push(...lines.map((text): ObservedLine => ({ source, origin, text })));
    }
  }
  return found;
}

/**
 * Warnings and errors of the log System since a moment, oldest first: services that end or do not start, and a machine out
 * of memory. Asked of wevtutil in XML, whose names are not translated.
 */
export async function windowsEventLines(
  host: QueryHost,
  sinceMs: number,
  nowMs: number,
): Promise<readonly ObservedLine[]> {
  const levels = LEVELS.map((level) => `Level=${level}`).join(' or ');
  const ageMs = Math.max(0, Math.ceil(nowMs - sinceMs));
  const query = `*[System[(${levels}) and TimeCreated[timediff(@SystemTime) <= ${ageMs}]]]`;
  const args = ['qe', 'System', `/q:${query}`, `/c:${EVENTS}`, '/rd:true', '/f:RenderedXml'];
  const { stdout } = await host.query({ program: 'wevtutil.exe', args });
  const events = stdout.split('</Event>').slice(0, -1);
  return events.reverse().flatMap((event): ObservedLine[] => {
    const provider = /<Provider\b[^<>]*\bName=['"]([^'"]+)['"]/.exec(event)?.[1];
    const id = /<EventID\b[^<>]*>(\d+)<\/EventID>/.exec(event)?.[1];
    const message = /<Message>([^<]*)<\/Message>/.exec(event)?.[1];
    if (provider === undefined || id === undefined) return [];
    const said = message === undefined ? dataOf(event) : unescapeXml(message);
    // The counterpart of systemd: it starts services and reports how they ended.
    const source = provider === 'Service Control Manager' ? 'systemd' : 'kernel';
    return [{ source, origin: `Event Log, ${provider}`, text: `event ${id}: ${said.replace(/\s+/g, ' ').trim()}` }];
  });
}

/** The data of an event whose provider's texts are not installed. */
function dataOf(event: string): string {
  return [...event.matchAll(/<Data\b[^<>]*>([^<]*)<\/Data>/g)].map(([, value = '']) => unescapeXml(value)).join(' ');
}

function unescapeXml(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&');
}

/** The lines since a moment. A line without a time belongs to the line before it. */
function recent(lines: readonly string[], sinceMs: number, nowMs: number): readonly string[] {
  const from = Math.floor(sinceMs / 1000) * 1000;
  let isRecent = from <= 0;
  return lines.filter((text) => {
    const time = timeOfLine(text, nowMs);
    if (time !== undefined) isRecent = time >= from;
    return isRecent;
  });
}
