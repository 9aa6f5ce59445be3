import type { Failure } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { Place } from './catalogue.ts';
import { type Classification, type Finding, findingsOf } from './classify.ts';

/** What the machine lacks, whatever the document says. */
const OF_MACHINE: ReadonlySet<Place> = new Set<Place>(['kernel', 'filesystem']);
/** What containerd logs of its own start, not of a container. */
const START = /level=fatal|failed to load plugin|load required plugin|^containerd: /;

/** Reasons that say what was seen, not why: a cause replaces them. */
export const REFINABLE: ReadonlySet<Reason> = new Set<Reason>([
  'BootstrapperFailed',
  'KubeletNotHealthy',
  'ControlPlaneComponentNotHealthy',
  'StaticPodCrashLoop',
  'EtcdMemberNotStarted',
  'NodeNotRegistered',
  'NodeStateUnknown',
  'NodeNotReady',
]);

/** Reasons that stay, as they decide how the run ended; the cause is evidence and remedy. */
export const EXPLAINED: ReadonlySet<Reason> = new Set<Reason>(['DeadlinePassed']);

/** Whether lines observed on the machine can add anything to such a failure. */
export function isExplainable(failure: Pick<Failure, 'reason' | 'summary'>): boolean {
  return REFINABLE.has(failure.reason) || EXPLAINED.has(failure.reason) || isOfContainerd(failure);
}

/**
 * A service of the host that failed: its cause is what the service manager knows of it, or what it says itself that the
 * machine lacks, and no log of Kubernetes.
 */
function isOfContainerd({ reason, summary }: Pick<Failure, 'reason' | 'summary'>): boolean {
  return reason === 'ContainerdUnhealthy' || (reason === 'ServiceFailed' && summary.startsWith('containerd '));
}

/** The finding that explains a failure of a run, or replaces its reason. */
export function causeOf(failure: Failure, found: Classification): Finding | undefined {
  if (!isOfContainerd(failure)) return isExplainable(failure) ? found.best : undefined;
  const causes = findingsOf(found).filter(({ entry, weakness }) => entry.kind === 'cause' && weakness === undefined);
  return (
    causes.find(({ line }) => line.source === 'unit' && line.text.startsWith('containerd')) ??
    causes.find(
      ({ entry, line }) => OF_MACHINE.has(entry.place) && line.source === 'containerd' && START.test(line.text),
    )
  );
}
