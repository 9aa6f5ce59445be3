import type { Model } from '@machineadm/document/model/index.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';
import type { StepRecord } from '../step/index.ts';
import type { Conflict } from './asked.ts';
import type { FindSource } from './change-source.ts';

/** The document, and what its steps are checked against. */
export interface PreflightScope {
  readonly host: QueryHost;
  readonly model: Model;
  readonly facts: Facts;
  readonly scope: 'base' | 'all';
  /** The journal's record of a step. */
  readonly record: (step: string) => StepRecord;
  /** Finds the place in the document; absent: findings name none. */
  readonly source?: FindSource;
  /** Finds where another document of this machine asks for something else; absent: that is not checked. */
  readonly conflicts?: () => Promise<readonly Conflict[]>;
}
