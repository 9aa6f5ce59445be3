import type { HostModel } from '@machineadm/document/model/index.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import { PATH_OF_ROOT } from '../host/linux/environment.ts';
import { NODE_PROGRAMS, type NodeProgram } from './abilities.ts';

/** The programs for which one of the paths where they are looked for satisfies the condition. */
export function programsAt(isBrought: (path: string) => boolean): readonly NodeProgram[] {
  return NODE_PROGRAMS.filter((program) => PATH_OF_ROOT.some((directory) => isBrought(`${directory}/${program}`)));
}

/** The step of files or archives that may bring a program. What an archive holds is known once it is unpacked. */
export function bringerOf(
  program: NodeProgram,
  { files, archives }: Pick<HostModel, 'files' | 'archives'>,
): StepId | undefined {
  const isFile = programsAt((path) => files.some((file) => file.path === path)).includes(program);
  return isFile ? 'files' : archives.length > 0 ? 'archives' : undefined;
}
