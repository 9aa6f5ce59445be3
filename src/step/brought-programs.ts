import { PATH_OF_ROOT } from '../host/linux/environment.ts';
import { NODE_PROGRAMS, type NodeProgram } from './index.ts';

/** The programs for which one of the paths where they are looked for satisfies the condition. */
export function programsAt(isBrought: (path: string) => boolean): readonly NodeProgram[] {
  return NODE_PROGRAMS.filter((program) => PATH_OF_ROOT.some((directory) => isBrought(`${directory}/${program}`)));
}
