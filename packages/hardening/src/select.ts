import type { HardeningModel, Role } from '@machineadm/document/model/index.ts';
import type { Control } from './controls/control.ts';
import { CONTROLS } from './controls/index.ts';
import { versionExclusion } from './evaluate.ts';

/** A selected control, and the reason where it is excepted. */
export interface Selected {
  readonly control: Control;
  /** Applied and enforced; otherwise only reported, with the reason. */
  readonly exception: string | undefined;
}

/**
 * The controls of the profiles and those included by id, in the order of their benchmarks. Controls that break clusters
 * are excepted by the profile itself, unless they are included.
 */
export function select({ profiles, include, exceptions }: HardeningModel): readonly Selected[] {
  return CONTROLS.flatMap((control) => {
    const included = include.includes(control.id);
    if (!included && !control.profiles.some((profile) => profiles.includes(profile))) return [];
    const given = exceptions.find(({ id }) => id === control.id)?.reason;
    const own = control.check.kind === 'impossible' ? control.check.why : included ? undefined : control.off;
    return [{ control, exception: given ?? own }];
  });
}

/** The controls that apply to a machine of this role and version. `minor` undefined = any. */
export function applied(
  selected: readonly Selected[],
  role: Role | undefined,
  minor: number | undefined,
): readonly Control[] {
  return selected
    .filter(({ control, exception }) => exception === undefined && concerns(control, role))
    .map(({ control }) => control)
    .filter((control) => versionExclusion(control, minor) === undefined);
}

function concerns({ applies }: Control, role: Role | undefined): boolean {
  if (applies === 'cluster') return false;
  if (applies === 'node') return true;
  if (role === undefined) return false;
  return applies === 'worker' ? role === 'Worker' : role !== 'Worker';
}
