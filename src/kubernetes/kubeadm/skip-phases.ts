import { member, text } from '../../host/untyped.ts';

/** The flag that says which phases to leave out; it beats the field of the same meaning (cobra workflow.Runner). */
const FLAG = '--skip-phases=';

/**
 * The phases that a command will skip: those of the flag, else those of the configuration as it is on the disk, where a
 * hook may have changed them.
 */
export async function skippedPhases(flags: readonly string[], configuration: string): Promise<readonly string[]> {
  const flag = flags.find((one) => one.startsWith(FLAG));
  if (flag !== undefined) return flag.slice(FLAG.length).split(',');
  const { parseAllDocuments } = await import('yaml');
  return parseAllDocuments(configuration).flatMap((document) => {
    const object: unknown = document.toJS();
    const kind = text(member(object, 'kind'));
    const phases = member(object, 'skipPhases');
    if ((kind !== 'InitConfiguration' && kind !== 'JoinConfiguration') || !Array.isArray(phases)) return [];
    return phases.filter((phase) => typeof phase === 'string');
  });
}

/** The same flags with these phases skipped. */
export function withSkippedPhases(flags: readonly string[], phases: readonly string[]): readonly string[] {
  const others = flags.filter((flag) => !flag.startsWith(FLAG));
  return phases.length === 0 ? others : [...others, `${FLAG}${[...new Set(phases)].join(',')}`];
}
