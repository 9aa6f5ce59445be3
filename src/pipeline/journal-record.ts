import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { type Check, listOf, object, optional, string } from '@machineadm/document/values/shape.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import { withoutChecksum } from '../host/files/checksum.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { Resource } from '../host/seam/resource.ts';
import type { FollowUp, Inventory, OwnedPlace } from '../step/index.ts';
import type { PriorState } from '../step/recorded-state.ts';
import { isPodNames, isUpgradeRecord, type PodNames, type Upgrade } from '../step/upgrade-order.ts';
import type { Asked } from '../step/wants.ts';

/**
 * What a run leaves for the next one, as lines of JSON. Pure: parses and interprets lines; `host/local-files/append-log.ts`
 * makes them durable. Never contains a secret.
 */
export type JournalRecord =
  /** First line: the journal's machine. `foreign`: another instance's journal was found on this disk and put aside. */
  | { readonly is: 'instance'; readonly identity: InstanceIdentity; readonly foreign: boolean; readonly at: string }
  | {
      readonly is: 'run';
      readonly run: string;
      readonly command: 'provision' | 'prepare';
      readonly agent: string;
      readonly document: string;
      readonly lasting: string | undefined;
      /** `LoadedDocument.writtenDigest`, and its sources; absent in journals of earlier versions. */
      readonly written?: string;
      readonly sources?: readonly string[];
      /** `metadata.name`; absent in journals of earlier versions, where the sources tell documents apart. */
      readonly name?: string;
      /** `kubernetes.version`; absent without it, and in journals of earlier versions. */
      readonly kubernetes?: string;
      /** What it asks of the kubelet; absent without kubeadm, and in journals of earlier versions. */
      readonly kubelet?: KubeletNames;
      /** What it asks of the static pods of a control plane; absent without kubeadm, and in journals of earlier versions. */
      readonly controlPlane?: ControlPlaneNames;
      readonly bootId: string;
      readonly at: string;
    }
  /** What the document of this run asks for, where that is not on record yet; written before any change. */
  | ({ readonly is: 'document' } & Asked)
  /**
   * An upgrade of Kubernetes in place. `Begun` before its first change, by each run of it; `Back`: the node is as before;
   * `Done`: it has the version of the document of this run.
   */
  | ({ readonly is: 'upgrade'; readonly now: 'Begun'; readonly at: string } & Upgrade)
  | { readonly is: 'upgrade'; readonly now: 'Back' | 'Done'; readonly at: string }
  /** A document was reset: nothing on this machine belongs to it any more. */
  | { readonly is: 'forgotten'; readonly document: string }
  /** Follow-ups that a change requires; written before the change. */
  | { readonly is: 'owed'; readonly step: string; readonly change: string; readonly followUps: readonly FollowUp[] }
  /** The start of a change that must not be repeated blindly; written before it. */
  | { readonly is: 'started'; readonly step: string; readonly change: string }
  | { readonly is: 'note'; readonly step: string; readonly change: string; readonly note: unknown }
  /** Its end. `undoes` names steps whose records become invalid. */
  | { readonly is: 'done'; readonly step: string; readonly change: string; readonly undoes?: readonly string[] }
  | { readonly is: 'settled'; readonly followUp: FollowUp }
  /**
   * The state of a resource just before its first change. The first record counts, until a reset. `v`: since 2 every
   * change has an `after` record; before, only files, links and users had one.
   */
  | { readonly is: 'before'; readonly v: 1 | 2; readonly step: string; readonly of: Resource; readonly was: PriorState }
  /** What a change makes of a resource (`markOf`): a reset keeps what somebody else changed since. */
  | { readonly is: 'after'; readonly of: Resource; readonly mark: string }
  /**
   * What earlier versions recorded instead of `before`: whether a path, or a service at boot, was made by machineadm or
   * existed already.
   */
  | { readonly is: 'wrote'; readonly step: string; readonly path: string; readonly before: 'absent' | 'present' }
  | { readonly is: 'enabled'; readonly step: string; readonly service: string }
  /**
   * A file, link or directory that did not exist is about to be made, or was made: once a document no longer asks for
   * it, it is removed. `stamp` follows once a file is written, and shows whether somebody else changed it since.
   */
  | ({ readonly is: 'owned'; readonly path: string } & OwnedPlace)
  /** What was owned is gone, or belongs to somebody else now. `of`: it is again as it was before the first run. */
  | { readonly is: 'released'; readonly step: string; readonly path: string; readonly of?: Resource }
  /** What exists before a bootstrapper starts: no reset removes it. The last record counts. */
  | { readonly is: 'inventory'; readonly step: string; readonly entries: Inventory }
  /**
   * A reboot that a step's change needs. `Owed`: written before the change. `Requested`: the run is about to end for
   * it. `Served`: the machine was rebooted, and the step has nothing left to do. Its boot is that of its run.
   */
  | { readonly is: 'reboot'; readonly step: string; readonly now: 'Owed' | 'Requested' | 'Served' }
  /** A step's changes were made and verified. */
  | { readonly is: 'step'; readonly step: string; readonly changes: readonly string[] }
  | {
      readonly is: 'concluded';
      readonly run: string;
      readonly outcome: string;
      readonly exitCode: number;
      readonly reason: string | undefined;
      /** A supervised command did not stop in time and was abandoned. */
      readonly commandsLeft?: true;
      readonly at: string;
    }
  /** A reset begins, of one document or of all. When that of all has ended, this journal no longer describes the machine. */
  | { readonly is: 'reset'; readonly run: string; readonly document?: string; readonly at: string };

/** The names of the settings of the kubelet in a document, and the digest of what else lasts. */
export interface KubeletNames {
  /** `LoadedDocument.lastingDigestWith` its own version, without the kubelet. */
  readonly rest: string;
  readonly fields: readonly string[];
  readonly args: readonly string[];
}

/** The names of the settings of static pods in a document, and digests of what else lasts. */
export interface ControlPlaneNames {
  /** `LoadedDocument.lastingDigestWith` its own version, without the control plane. */
  readonly rest: string;
  /** The same, also without the kubelet. */
  readonly bare: string;
  readonly pods: PodNames;
}

/** The identity of the machine. Each part is compared only if both sides have it. */
export interface InstanceIdentity {
  /** metadata.uid of the document. */
  readonly uid: string | undefined;
  readonly cloudInstanceId: string | undefined;
  readonly machineId: string;
}

/**
 * Whether a journal belongs to this instance: by the strongest identity that both have, which is the uid of the
 * Machine, then the cloud's instance id, then the machine-id.
 */
export function isSameInstance(a: InstanceIdentity, b: InstanceIdentity): boolean {
  if (a.uid !== undefined && b.uid !== undefined) return a.uid === b.uid;
  if (a.cloudInstanceId !== undefined && b.cloudInstanceId !== undefined)
    return a.cloudInstanceId === b.cloudInstanceId;
  return a.machineId === b.machineId;
}

/**
 * Whether the state on this disk was left by the machine that runs from it now, and not by the original of a copy. At
 * boot no document is available, so the uid of the Machine is unknown: machine-id and the cloud's instance id decide.
 */
export function recordedOnThisMachine(
  left: { readonly machineId: string; readonly cloudInstanceId: string | undefined },
  facts: Pick<Facts, 'machineId' | 'cloudInstanceId'>,
): boolean {
  if (left.machineId !== facts.machineId) return false;
  const bothKnown = left.cloudInstanceId !== undefined && facts.cloudInstanceId !== undefined;
  return !bothKnown || left.cloudInstanceId === facts.cloudInstanceId;
}

/** The fields that `afterRecord` requires of each kind of record. */
const SHAPES: Readonly<Record<JournalRecord['is'], Check>> = {
  instance: object({ identity: object({ machineId: optional(string) }) }),
  run: object({
    run: string,
    command: string,
    sources: optional(listOf(string)),
    name: optional(string),
    kubernetes: optional(string),
    kubelet: optional(object({ rest: string, fields: listOf(string), args: listOf(string) })),
    controlPlane: optional(object({ rest: string, bare: string, pods: isPodNames })),
  }),
  upgrade: (record) => isUpgradeEnd(record) || isUpgradeRecord(record),
  document: object({
    agent: string,
    wishes: listOf(object({ step: string, key: string, value: optional(string), field: string, place: string })),
    claims: listOf(object({ step: string, kind: string, path: string, field: string, place: string })),
  }),
  forgotten: object({ document: string }),
  owed: object({ followUps: listOf(string) }),
  started: object({ step: string, change: string }),
  note: object({ step: string, change: string }),
  done: object({ step: string, change: string, undoes: optional(listOf(string)) }),
  settled: object({ followUp: string }),
  before: object({ of: string }),
  after: object({ of: string, mark: string }),
  wrote: object({ path: string, before: string }),
  owned: object({ path: string, step: string, type: string }),
  released: object({ path: string, of: optional(string) }),
  enabled: object({ service: string }),
  inventory: object({ entries: listOf(object({ path: string })) }),
  reboot: object({ step: string, now: string }),
  step: object({ step: string }),
  concluded: object({ outcome: string }),
  reset: object({ run: string, document: optional(string) }),
};

const isEnd = object({ now: string });

/** A record of an upgrade that ended needs no versions. */
function isUpgradeEnd(record: unknown): boolean {
  return isEnd(record) && ['Back', 'Done'].includes(String(member(record, 'now')));
}

/** Parses one line of a journal. Throws `JournalUnreadable` for a line that machineadm did not write. */
export function parseRecord(path: string, line: string, index: number): JournalRecord {
  const json = withoutChecksum(line);
  if (json === undefined) throw unreadable(path, index + 1);
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw unreadable(path, index + 1, cause);
  }
  if (!isRecord(value)) throw unreadable(path, index + 1);
  return value;
}

/** Only machineadm writes this file, and only root can: an undamaged line is exactly as written. */
function isRecord(value: unknown): value is JournalRecord {
  if (value === null || typeof value !== 'object' || !('is' in value)) return false;
  const shape = Object.entries(SHAPES).find(([is]) => is === value.is)?.[1];
  return shape?.(value) === true;
}

/** The error for a line (counted from 1) that is not a valid record. */
export function unreadable(path: string, line: number, cause?: unknown): MachineadmError {
  return new MachineadmError({
    reason: 'JournalUnreadable',
    summary: `${path}: line ${line} is not a journal record, or was damaged`,
    remedy: `Find out what damaged it. If this machine holds nothing worth keeping, move ${path} away, run \`kubeadm reset -f\` and provision again.`,
    cause,
  });
}
