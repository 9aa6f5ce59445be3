import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { runChecks } from '../../host/time/checks.ts';
import type { Clause, ClauseResult, Level, Profile, Subject } from './clause.ts';
import { IMAGE_CLAUSES } from './image.ts';
import { IMMUTABLE_CLAUSES } from './immutable.ts';
import { KUBERNETES_CLAUSES } from './kubernetes.ts';
import { RUN_CLAUSES } from './run.ts';
import { ONE_STARTER, UNIT_CLAUSES } from './units.ts';
import { WINDOWS_CLAUSES } from './windows.ts';

/** Every clause of contract/CONTRACT.md that a Linux machine or image can be checked for, in its order. */
export const CLAUSES: readonly Clause[] = [
  ...IMAGE_CLAUSES,
  ...KUBERNETES_CLAUSES,
  ...IMMUTABLE_CLAUSES,
  ...UNIT_CLAUSES,
  ONE_STARTER,
  ...RUN_CLAUSES,
];

/** The clauses of a profile. Windows and Linux nodes have no clause in common. */
export function clausesOf(profile: Profile): readonly Clause[] {
  return profile === 'windows' ? WINDOWS_CLAUSES : CLAUSES;
}

export type EvaluatedClause = ClauseResult & { readonly id: string; readonly level: Level; readonly title: string };

/** `notProven`: no MUST is broken, and at least one that applies could not be decided. */
export type Verdict = 'kept' | 'broken' | 'notProven';

/** Checks every clause. A check that throws is reported as not proven, so that nothing is hidden. */
export async function evaluateClauses(
  subject: Subject,
  clauses: readonly Clause[] = clausesOf(subject.profile),
): Promise<readonly EvaluatedClause[]> {
  return await runChecks<Clause, EvaluatedClause>(
    clauses.map((clause) => {
      const { id, level, title, check } = clause;
      return [clause, () => [{ id, level, title, ...check(subject) }]];
    }),
    ({ id, level, title }, error) => {
      return { id, level, title, state: 'notProven', text: `the check failed: ${errorMessage(error)}` };
    },
  );
}

/** Only MUST clauses decide the verdict. */
export function verdictOf(judgements: readonly EvaluatedClause[]): Verdict {
  const states = judgements.filter(({ level }) => level === 'MUST').map(({ state }) => state);
  return states.includes('broken') ? 'broken' : states.includes('notProven') ? 'notProven' : 'kept';
}

/** The profile of a root where none was chosen: Windows by its kernel, a node by any program of Kubernetes. */
export function profileOf({ tree }: Pick<Subject, 'tree'>): Profile {
  if (tree.stat('/Windows/System32') !== undefined) return 'windows';
  const isNode = [tree.which('kubeadm'), tree.which('kubelet')].some((path) => path !== undefined);
  return isNode ? 'kubernetes' : 'host';
}
