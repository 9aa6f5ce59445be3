import type { Finding } from '../diagnostics/index.ts';
import { milliseconds, type ResolveSecret } from '../fields/convert-values.ts';
import { field, object } from '../fields/field.ts';
import type { Platform } from '../fields/platform.ts';
import { absolutePath, duration } from '../fields/types.ts';
import { DEFAULT_SENTINEL } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import type { SecretsSection } from './secrets.ts';
import { checkSinks, type SinkModel, type SinkSection, sinkSection, toSink } from './sinks/index.ts';

const DEFAULT_DEADLINE_MS = 30_000;

export interface ReportingModel {
  readonly sentinelPath: string;
  /** How long the deliverer retries after the end of a run; `report flush` sends the rest. */
  readonly deadlineMs: number;
  readonly sinks: readonly SinkModel[];
}

export const reporting = object({
  sentinel: field(
    object({
      path: field(absolutePath, 'The path of the sentinel. Its content is "success" and a line break.', {
        example: DEFAULT_SENTINEL,
      }),
    }),
    "The file whose existence means that the node works. Cluster API's bootstrap contract asks for it.",
    { absent: 'the path of Cluster API', example: { path: DEFAULT_SENTINEL } },
  ),
  deadline: field(
    duration,
    'How long a separate process retries delivery to remote sinks after the run has ended. Reports that remain are spooled and sent later.',
    { default: '30s', example: '2m' },
  ),
  sinks: field(
    z.array(sinkSection).max(32),
    'Receivers of the events of a run. A receiver that is down neither fails nor delays a bootstrap.',
    { default: [{ type: 'Journal' }], example: [{ type: 'Journal' }, { type: 'Console', device: '/dev/ttyS0' }] },
  ),
});

type ReportingSection = z.infer<typeof reporting>;

export function toReporting(
  section: ReportingSection | undefined,
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
function sinkNames(sinks: readonly SinkSection[]): readonly string[] {
  const counts = new Map<string, number>();
  return sinks.map((sink) => {
    if ('name' in sink && sink.name !== undefined) return sink.name;
    const count = (counts.get(sink.type) ?? 0) + 1;
    counts.set(sink.type, count);
    return count === 1 ? sink.type : `${sink.type}-${count}`;
  });
}

/** Mistakes across the fields of `reporting`. */
export function checkReporting({ sinks = [] }: ReportingSection, secrets: SecretsSection): Finding[] {
  return [...sameNames(sinkNames(sinks)), ...checkSinks(sinks, secrets)];
}

/** A name is what a sink is known by in tables, messages and the spool. */
function sameNames(names: readonly string[]): Finding[] {
  return names.flatMap((name, index) => {
    const first = names.indexOf(name);
    if (first === index) return [];
    const path = ['reporting', 'sinks', index];
    const other = ['reporting', 'sinks', first];
    return [
      {
        code: 'Duplicate',
        path,
        message: `a sink of the name "${name}" is already at`,
        other,
        hint: 'give it another name',
      },
    ];
  });
}
