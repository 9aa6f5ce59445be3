import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { optionsOf, type Upgrade } from '../step/upgrade-order.ts';
import type { ControlPlaneNames, JournalRecord, KubeletNames } from './journal-record.ts';
import type { StepMemory } from './step-memory.ts';

/** What a journal knows of the version of the node. */
export interface NodeVersion {
  /** An upgrade that was begun and did not end. */
  readonly upgrade: Upgrade | undefined;
  /** The `LoadedDocument.lastingDigest` that this instance was bootstrapped from, or upgraded to; undefined before. */
  readonly bootstrappedFrom: string | undefined;
  /** `kubernetes.version` of that document; undefined where an earlier version of machineadm did not record it. */
  readonly bootstrappedVersion: string | undefined;
  /** What that document asks of the kubelet; undefined where no version of machineadm that records it has seen it. */
  readonly bootstrappedKubelet: KubeletNames | undefined;
  /** The same of the static pods of its control plane. */
  readonly bootstrappedControlPlane: ControlPlaneNames | undefined;
}

/** Of a journal, what an upgrade changes. */
type Upgradable = NodeVersion & {
  readonly steps: ReadonlyMap<string, StepMemory>;
  readonly open: Origin | undefined;
};

/** A run after a kill may find the daemon of the new version. */
function fromOf(begun: Upgrade | undefined): Partial<Pick<Upgrade, 'from'>> {
  return begun?.containerd === undefined ? {} : { from: begun.containerd.from };
}

/** What the journal has of the document of a run. */
interface Origin {
  readonly lasting: string | undefined;
  readonly kubernetes?: string;
  readonly kubelet?: KubeletNames;
  readonly controlPlane?: ControlPlaneNames;
}

/** The node once it is what the document of this run asks. */
export function nodeOf(
  { lasting, kubernetes, kubelet, controlPlane }: Partial<Origin> = {},
  before: Partial<NodeVersion> = {},
): Omit<NodeVersion, 'upgrade'> {
  return {
    bootstrappedFrom: lasting ?? before.bootstrappedFrom,
    bootstrappedVersion: kubernetes ?? before.bootstrappedVersion,
    bootstrappedKubelet: kubelet,
    bootstrappedControlPlane: controlPlane,
  };
}

/** The state after a record of an upgrade. What the steps of an earlier upgrade noted does not count for the next. */
export function afterUpgradeRecord<State extends Upgradable>(
  state: State,
  record: Extract<JournalRecord, { is: 'upgrade' }>,
): State {
  const steps = new Map([...state.steps].filter(([step]) => !step.startsWith('upgrade-')));
  switch (record.now) {
    case 'Begun': {
      const { from, to, subjects, before, containerd } = record;
      const isSame = state.upgrade?.to === to;
      const upgrade: Upgrade = {
        from: isSame ? state.upgrade.from : from,
        to,
        ...omitUndefined({ subjects, before }),
        ...(containerd === undefined
          ? {}
          : { containerd: { ...containerd, ...fromOf(isSame ? state.upgrade : undefined) } }),
        ...optionsOf(record),
      };
      return isSame ? { ...state, upgrade } : { ...state, upgrade, steps };
    }
    case 'Back':
      return { ...state, upgrade: undefined, steps };
    case 'Done': {
      const node = nodeOf(state.open, { ...state, bootstrappedVersion: state.upgrade?.to });
      return { ...state, upgrade: undefined, steps, ...node };
    }
  }
}
