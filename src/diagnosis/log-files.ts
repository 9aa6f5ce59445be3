import type { LineSource } from '@machineadm/failures/catalogue.ts';
import type { ObservedLine } from '@machineadm/failures/observed-line.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { serviceLog } from '../host/services/log.ts';

const LINES = 2000;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * What a service, or the kernel, left in log files since a moment, for machines without a journal. A line without a time
 * belongs to the one before it; lines before any time are older than all that can be told, and left out.
 *
 * @param sinceMs milliseconds since the epoch
 * @param nowMs to find the year, which syslog leaves out
 */
export async function logFileLines(
  host: QueryHost,
  source: Extract<LineSource, 'kubelet' | 'containerd' | 'kernel'>,
  sinceMs: number,
  nowMs: number,
): Promise<readonly ObservedLine[]> {
  // Times in syslog have whole seconds.
  const from = Math.floor(sinceMs / 1000) * 1000;
  let isRecent = from <= 0;
  const lines = (await serviceLog(host, source, LINES)).filter((text) => {
    const time = timeOfLine(text, nowMs);
    if (time !== undefined) isRecent = time >= from;
    return isRecent;
  });
  return lines.map((text): ObservedLine => ({ source, origin: `log of ${source}`, text }));
}

/**
 * When a line was written, in milliseconds since the epoch: as logrus (`time="…"`), RFC 3339 in front, klog
 * (`I1120 19:12:20.123`) or syslog (`Nov 20 19:12:20`) say it, the last two in local time and without a year.
 * undefined: the line does not say.
 */
export function timeOfLine(text: string, nowMs: number): number | undefined {
  const iso = /^(?:time=")?(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2}))/.exec(text)?.[1];
  if (iso !== undefined) return Number.isNaN(Date.parse(iso)) ? undefined : Date.parse(iso);
  const klog = /^[IWEF](\d{2})(\d{2}) (\d{2}):(\d{2}):(\d{2})/.exec(text);
  const syslog = /^([A-Z][a-z]{2}) +(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) /.exec(text);
  const fields = klog ?? syslog;
  if (fields === null) return undefined;
  const [, month = '', day, hour, minute, second] = fields;
  const index = klog === null ? MONTHS.indexOf(month) : Number(month) - 1;
  if (index < 0) return undefined;
  const year = new Date(nowMs).getFullYear();
  const inYear = (one: number): number =>
    new Date(one, index, Number(day), Number(hour), Number(minute), Number(second)).getTime();
  // A line of December that is read in January. One day of difference between clocks is tolerated.
  return inYear(year) > nowMs + 86_400_000 ? inYear(year - 1) : inYear(year);
}
