import type { Model } from '@machineadm/document/model/index.ts';
import type { DocumentName } from '@machineadm/document/ownership/drop-ins.ts';
import type { SectionPath } from '@machineadm/document/versions/v1alpha1/section-path.ts';
import type { partsOf, Resource } from '../host/seam/resource.ts';
import type { Step } from './index.ts';
import type { Memory } from './memory.ts';
import type { Restoring } from './restoring.ts';

/**
 * A step of the pipeline. It says of itself what other rooms must know of it. The members without a default are those for
 * which a wrong default would go unnoticed.
 */
export interface FeatureStep<Desired = unknown, Actual = unknown, Payload = unknown>
  extends Step<Desired, Actual, Payload> {
  /** The field of the document that causes its changes, where its claims on paths are not more specific. */
  readonly section: SectionPath | undefined;
  /**
   * Whether the document still requests a resource that this step changed first. Otherwise a run restores its prior state.
   * `STAYS`: no run does.
   */
  readonly isRequested: IsRequested;
  /**
   * What stays of its changes although the document no longer has it, and why: a run reports each once, by an id. Absent:
   * nothing stays, or it is not reported.
   */
  stays?(model: Model, changed: ChangedByStep): readonly Staying[];
  /** The effects of this step that a reset does not undo, and why: `images in the container runtime: …`. Absent: none. */
  readonly leaves?: string | ((did: Did) => readonly string[]);
  /** Its lines in a file that others share. Absent: it writes none. */
  readonly sharedLines?: SharedLines;
  /** What is special about undoing its changes. Absent: nothing is. */
  readonly restoring?: Restoring;
}

/** Steps by their ids: a journal may have ids of other versions. */
export type StepsById = ReadonlyMap<string, FeatureStep>;

export type IsRequested = (model: Model, resource: ReturnType<typeof partsOf>, memory: Memory) => boolean;

export const STAYS: IsRequested = () => true;

/** What earlier runs of a document changed in a step. Resources that other documents request are left out. */
export interface ChangedByStep {
  readonly resources: readonly ChangedResource[];
  /** The ids of its changes; undefined: there were none. */
  readonly acted: ReadonlySet<string> | undefined;
  readonly memory: Memory;
}

interface ChangedResource extends ReturnType<typeof partsOf> {
  readonly resource: Resource;
  /** Whether it did not exist before. */
  readonly isMade: boolean;
}

/** All that a step did on this instance: the ids of its changes and their last notes. */
export interface Did {
  readonly changes: ReadonlySet<string>;
  readonly notes: ReadonlyMap<string, unknown>;
}

export type Staying = readonly [id: string, what: string];

export interface SharedLines {
  readonly path: string;
  /** Whether all documents that request them share the same lines. */
  readonly isOne: boolean;
  /** The text of the file without them. */
  without(text: string, memory: Memory, document: DocumentName): string;
}

/** The desired state of a step that itself removes what is no longer in the document. */
export type Prunable<Section> = Section & { readonly prune?: Model['host']['prune'] };
