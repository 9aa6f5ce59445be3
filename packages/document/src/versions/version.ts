import type { Finding, PathSegment } from '../diagnostics/index.ts';
import type { Fields } from '../fields/field.ts';
import type { Model } from '../model/index.ts';
import type { VariableSource } from '../trees/variables.ts';

/** What `machineadm upgrade` can change of what lasts: settings of the kubelet, and of the static pods of a control plane. */
export type ChangeablePart = 'kubelet' | 'controlPlane';

/**
 * One version of the document. Each converts to the one internal model, so that an old document outlives the next
 * version; adding a version adds a folder beside `v1alpha1` and a line in `versions/index.ts`.
 */
export interface DocumentVersion<Sections = Readonly<Record<string, unknown>>> {
  readonly apiVersion: string;
  /** The top-level sections but `apiVersion`, `kind` and `requires`. */
  readonly sections: Fields;
  /** Names that `requires.features` may ask for. */
  readonly features: readonly string[];
  /** The section that defines variables, and the strings in which `${name}` is replaced. */
  readonly variables?: {
    readonly section: string;
    /** The variables of this section, which is valid or undefined, by name. */
    sources(section: unknown): ReadonlyMap<string, VariableSource>;
    isExpandable(path: readonly PathSegment[], document: unknown): boolean;
    /** Of those the ones that a shell reads. */
    isShellText(path: readonly PathSegment[]): boolean;
  };
  /** What identifies the entries of the list at a path, where sources merge it by entry. */
  entryKeys?(path: readonly PathSegment[]): readonly string[] | undefined;
  /** Whether the number at a path is handed on as it is written. */
  keepsNumber?(path: readonly PathSegment[]): boolean;
  /** Settings that are allowed but harmful: reported as warnings. */
  lint?(sections: Sections): readonly Finding[];
  /**
   * Mistakes across fields; gets the sections without the parts that are wrong in themselves.
   *
   * @param unprivilegedFrom see `LoadOptions`
   */
  check(sections: Sections, unprivilegedFrom?: number): Promise<readonly Finding[]>;
  /**
   * What a machine was bootstrapped from, as plain data: the part of the document that may not change afterwards.
   * undefined for a document without a bootstrapper.
   *
   * @param kubernetes the version of Kubernetes in the place of the document's
   * @param without what is left out
   */
  lasting(sections: Sections, kubernetes?: string, without?: readonly ChangeablePart[]): unknown;
  /** Called only with a document that has no findings. */
  toModel(sections: Sections): Promise<Model>;
}
