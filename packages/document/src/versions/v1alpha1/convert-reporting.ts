import type { Platform, ReportingModel } from '../../model.ts';
import { milliseconds, type ResolveSecret } from './convert-values.ts';
import type { Sections } from './sections.ts';
import { type SinkSection, toSink } from './sinks/index.ts';

const DEFAULT_DEADLINE_MS = 30_000;
/** Read by Cluster API providers: bootstrap provider contract, `bootstrap-success.complete`. */
const DEFAULT_SENTINEL = '/run/cluster-api/bootstrap-success.complete';

export function toReporting(
  section: Sections['reporting'],
  platform: Platform,
  resolve: ResolveSecret,
): ReportingModel {
  const sinks = section?.sinks ?? [
    { type: platform === 'windows' ? ('WindowsEventLog' as const) : ('Journal' as const) },
  ];
  const names = sinkNames(sinks);
  return {
    sentinelPath: section?.sentinel?.path ?? DEFAULT_SENTINEL,
    deadlineMs: milliseconds(section?.deadline) ?? DEFAULT_DEADLINE_MS,
    sinks: sinks.map((sink, index) => toSink(sink, names[index] ?? sink.type, resolve)),
  };
}

/** What each sink is called: its own name, else its type, else its type and how many of that type there were. */
export function sinkNames(sinks: readonly SinkSection[]): readonly string[] {
  const counts = new Map<string, number>();
  return sinks.map((sink) => {
    if ('name' in sink && sink.name !== undefined) return sink.name;
    const count = (counts.get(sink.type) ?? 0) + 1;
    counts.set(sink.type, count);
    return count === 1 ? sink.type : `${sink.type}-${count}`;
  });
}
