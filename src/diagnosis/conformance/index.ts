import type { Clause, Finding, Level, Subject } from './clause.ts';
import { IMAGE_CLAUSES } from './image.ts';
import { KUBERNETES_CLAUSES } from './kubernetes.ts';
import { RUN_CLAUSES } from './run.ts';
import { ONE_STARTER, UNIT_CLAUSES } from './units.ts';

/** Every clause of contract/CONTRACT.md that a machine can be held against, in its order. */
export const CLAUSES: readonly Clause[] = [
  ...IMAGE_CLAUSES,
  ...KUBERNETES_CLAUSES,
  ...UNIT_CLAUSES,
  ONE_STARTER,
  ...RUN_CLAUSES,
];

/** How a machine keeps one clause. */
export type Judgement = Finding & { readonly id: string; readonly level: Level; readonly title: string };

/** Holds a machine against each clause, one after the other. A look that throws is told as unchecked: nothing is hidden. */
export async function judge(subject: Subject, clauses: readonly Clause[] = CLAUSES): Promise<readonly Judgement[]> {
  const judgements: Judgement[] = [];
  for (const { id, level, title, look } of clauses) {
    const finding = await look(subject).catch(
      (error: unknown): Finding => ({
        state: 'unchecked',
        text: `it could not be looked at: ${error instanceof Error ? error.message : String(error)}`,
      }),
    );
    judgements.push({ id, level, title, ...finding });
  }
  return judgements;
}
