import type { Finding } from '../../diagnostics.ts';
import { sinkNames } from './convert-reporting.ts';
import type { Sections } from './sections.ts';
import { checkKubernetesSink } from './sinks/kubernetes.ts';

/** Mistakes across the fields of `reporting`. */
export function checkReporting({ reporting }: Sections): Finding[] {
  const sinks = reporting?.sinks ?? [];
  const single = sinks.flatMap((sink, index) =>
    sink.type === 'Kubernetes' ? checkKubernetesSink(sink, ['reporting', 'sinks', index]) : [],
  );
  return [...sameNames(sinkNames(sinks)), ...single];
}

/** A name is what a sink is known by in tables, messages and the spool. */
function sameNames(names: readonly string[]): Finding[] {
  return names.flatMap((name, index) => {
    const first = names.indexOf(name);
    if (first === index) return [];
    const path = ['reporting', 'sinks', index];
    const other = ['reporting', 'sinks', first];
    return [{ path, message: `a sink of the name "${name}" is already at`, other, hint: 'give it another name' }];
  });
}
