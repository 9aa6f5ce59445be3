import { setTimeout as pause } from 'node:timers/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { getNode } from '../../kubernetes/node-client.ts';
import { waitUntilSteady } from '../../kubernetes/steady-kubelet.ts';
import { ClusterUnanswered, ownCredential, serverVersion } from '../../kubernetes/upgrade/cluster.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Execution } from '../../step/index.ts';
import { type Upgrade, versionUpgrade } from '../../step/upgrade-order.ts';
import { hasVersion, nodeNameOf, plain, type UpgradeDesired, upgradeDesired, wrongProgram } from './desired.ts';

const RUN = 'upgrade-kubelet/run';
const PAUSE_MS = 1_000;
const SLACK_MS = 120_000;

interface KubeletActual {
  readonly upgrade: Upgrade | undefined;
  readonly isDone: boolean;
}

interface KubeletPayload {
  readonly desired: UpgradeDesired;
  readonly upgrade: Upgrade;
}

/** Restarts the kubelet with its new program and configuration, and waits until it reports its new version. */
export const upgradeKubelet: FeatureStep<UpgradeDesired, KubeletActual, KubeletPayload> = {
  id: 'upgrade-kubelet',
  section: 'kubernetes.version',
  isRequested: STAYS,

  desired: upgradeDesired,

  idle: (_desired, record) => versionUpgrade(record) === undefined,

  // The health of the kubelet, and then its report.
  deadlineMs: ({ kubernetes }) => 2 * kubernetes.ready.timeoutMs + SLACK_MS,

  async preflight(_host, desired, record) {
    const upgrade = versionUpgrade(record);
    if (upgrade === undefined || record?.done.has(RUN) === true) return [];
    const wrong = wrongProgram('kubelet', desired, upgrade);
    return wrong === undefined ? [] : [wrong];
  },

  async inspect(_host, _desired, record) {
    return { upgrade: versionUpgrade(record), isDone: record.done.has(RUN) };
  },

  plan(desired, { upgrade, isDone }) {
    if (upgrade === undefined || isDone) return [];
    const summary = `restart the kubelet: ${plain(upgrade.from)} -> ${plain(upgrade.to)}`;
    return [{ id: RUN, summary, action: 'run', scope: 'node', repeatable: false, payload: { desired, upgrade } }];
  },

  async apply(host, { payload: { desired, upgrade } }, execution) {
    await requireRight(host, desired, upgrade, execution.signal);
    // A package may have brought another unit.
    await host.services.reload();
    await host.services.restart('kubelet');
    const { timeoutMs } = desired.kubernetes.ready;
    const { signal } = execution;
    const waitingFor = (what: string | undefined): void => execution.waitingFor(what);
    await waitUntilSteady(host, desired.readiness, { timeoutMs, signal, waitingFor });
    await untilReported(host, desired, upgrade, execution);
  },
};

/** The program that will start is the new one, and the API server is not older. */
async function requireRight(
  host: QueryHost,
  desired: UpgradeDesired,
  upgrade: Upgrade,
  signal: AbortSignal,
): Promise<void> {
  const { status, stdout } = await host.query({ program: 'kubelet', args: ['--version'] });
  const [kubelet, wanted] = [status === 0 ? parseVersion(stdout) : undefined, parseVersion(upgrade.to)];
  if (!hasVersion('kubelet', kubelet, wanted)) {
    const wrong = wrongProgram('kubelet', { ...desired, programs: { ...desired.programs, kubelet } }, upgrade);
    throw new MachineadmError({
      reason: 'UpgradeProgramMissing',
      exit: 'HostStepFailed',
      summary: `${wrong?.what ?? 'the kubelet has another version'}.`,
      remedy: wrong?.remedy ?? '',
    });
  }
  const serving = await serverVersion(await ownCredential(host, false), signal);
  const server = parseVersion(serving);
  if (server === undefined || wanted === undefined || server.minor >= wanted.minor) return;
  throw new MachineadmError({
    reason: 'UpgradeVersionSkew',
    exit: 'HostStepFailed',
    summary: `The API server that the kubelet uses has the version ${serving}, and the kubelet would be newer, ${upgrade.to}.`,
    remedy: 'Upgrade the other control planes first, then run machineadm upgrade again: it continues here.',
    retryable: true,
  });
}

/** The kubelet writes its version into its Node when it starts. */
async function untilReported(
  host: Host,
  desired: UpgradeDesired,
  { to }: Upgrade,
  { signal, waitingFor }: Execution,
): Promise<void> {
  const end = performance.now() + desired.kubernetes.ready.timeoutMs;
  for (;;) {
    const why = await unreported(host, desired, to, signal);
    if (why === undefined) return waitingFor(undefined);
    waitingFor(`the kubelet to report its new version: ${why}`);
    if (performance.now() > end) {
      throw new MachineadmError({
        reason: 'UpgradeNotProven',
        summary: `The kubelet runs, but its Node does not have the version ${to}: ${why}.`,
        remedy:
          'Check which program the unit of the kubelet starts (systemctl cat kubelet), then run machineadm upgrade again.',
        evidence: [{ source: 'Node', text: why }],
        retryable: true,
      });
    }
    await pause(PAUSE_MS, undefined, { signal });
  }
}

async function unreported(
  host: QueryHost,
  desired: UpgradeDesired,
  to: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const node = await getNode(await ownCredential(host, false), await nodeNameOf(host, desired), signal);
    if (node.kind !== 'found') return node.kind === 'absent' ? 'it does not exist' : node.why;
    const { kubeletVersion } = node.object;
    return hasVersion('kubelet', parseVersion(kubeletVersion), parseVersion(to))
      ? undefined
      : `it has ${kubeletVersion || 'none'}`;
  } catch (error) {
    if (error instanceof ClusterUnanswered) return error.why;
    throw error;
  }
}
