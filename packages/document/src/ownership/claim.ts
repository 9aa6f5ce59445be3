import type { PathSegment } from '../diagnostics/index.ts';
import type { StepId } from './step-ids.ts';

/** A path that one step manages because of one field of the document. */
export interface Claim {
  /** The step, or the agent itself. */
  readonly step: StepId | 'machineadm';
  readonly field: readonly PathSegment[];
  /** Absolute; a directory for the kinds `names` and `tree`. */
  readonly path: string;
  /**
   * `file`: the file as a whole. `lines`: lines in it, beside those of others. `mount`: a mount point. `tree`: all below
   * a directory. `names`: files of certain names in a directory. `directory`: the directory itself, whatever is in it.
   */
  readonly kind: 'file' | 'lines' | 'mount' | 'tree' | 'names' | 'directory';
  /** Of the kind `names`: what the path below the directory matches as a whole. */
  readonly names?: RegExp;
}
