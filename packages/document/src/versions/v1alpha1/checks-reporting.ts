import type { Finding } from '../../diagnostics.ts';
import { sinkNames } from './convert-reporting.ts';
import type { Sections } from './sections.ts';
import { checkSinks } from './sinks/checks.ts';
import { checkWebhooks } from './sinks/webhook-checks.ts';

/** Mistakes across the fields of `reporting`. */
export function checkReporting(sections: Sections): Finding[] {
  const sinks = sections.reporting?.sinks ?? [];
  return [...sameNames(sinkNames(sinks)), ...checkSinks(sinks), ...checkWebhooks(sections)];
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
