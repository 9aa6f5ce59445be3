import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { KubeadmTarget } from './version.ts';

/** One thing of the document that the kubeadm found has no words for. */
export interface Problem {
  /** The document's field: `kubernetes.controlPlane.apiServer.args`. */
  readonly field: string;
  /** `"x" is repeated; kubeadm v1beta3 keeps arguments in a map`. */
  readonly problem: string;
  /** What to do about it, a sentence. */
  readonly remedy: string;
}

/** Gathers problems while the whole configuration is rendered, so that all of them are reported at once. */
export class Problems {
  readonly #found: Problem[] = [];

  add(problem: Problem): void {
    this.#found.push(problem);
  }

  get found(): readonly Problem[] {
    return this.#found;
  }

  /** Throws one `NotExpressible` that lists everything found; does nothing when nothing was. */
  throwIfAny(target: KubeadmTarget): void {
    if (this.#found.length === 0) return;
    const list = this.#found.map(({ field, problem }) => `${field}: ${problem}`);
    throw new MachineadmError({
      reason: 'NotExpressible',
      summary: `${target.name} (${target.configVersion}) cannot express ${
        list.length === 1 ? 'a field' : `${list.length} fields`
      } of the document: ${list.join('; ')}.`,
      remedy: [...new Set(this.#found.map(({ remedy }) => remedy))].join(' '),
      evidence: this.#found.map(({ field, problem }) => ({ source: field, text: problem })),
    });
  }
}

/** The remedy where a newer kubeadm is the only way to keep the field. */
export function needsKubeadm(minor: number, field: string): string {
  return `Use kubeadm 1.${minor} or newer, or remove ${field}.`;
}
