import { containerdRefusal, newerContainerd } from '@machineadm/document/kubernetes-releases/containerd.ts';
import { type Evidence, errorMessage, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { CONTAINERD_CONFIGURATION } from '@machineadm/document/ownership/paths.ts';
import { compareVersions, parseVersion, type Version } from '@machineadm/document/text/program-version.ts';
import { CriError } from '../../host/cri/call.ts';
import type { CriWorkloads } from '../../host/cri/queries.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { waitUntilReady } from '../../kubernetes/readiness.ts';
import { keptContainerd } from '../../kubernetes/upgrade/containerd-kept.ts';
import { programsAt } from '../../step/brought-programs.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Execution, UnmetRequirement } from '../../step/index.ts';
import { containerdUpgrade, type ProgramVersions, type Upgrade, versionUpgrade } from '../../step/upgrade-order.ts';
import {
  CONTAINERD_CHANGE,
  type ContainerdUpgradeDesired,
  containerdUpgradeDesired,
  installedContainerd,
  numbersOf,
  runningContainerd,
} from './containerd-asked.ts';
import { sandboxObstacles } from './image-checks.ts';

const SLACK_MS = 5 * 60_000;
const FIELD = 'containerRuntime.containerd.version';
/** A container that ends while the daemon starts is one that it lost. */
const LOST_WITHIN_MS = 60_000;
const MOST_NAMED = 5;

interface ContainerdActual {
  readonly versions: ProgramVersions | undefined;
  readonly isDone: boolean;
  /** Of the present configuration. */
  readonly format: number | undefined;
}

interface ContainerdPayload {
  readonly desired: ContainerdUpgradeDesired;
  readonly versions: ProgramVersions;
}

/**
 * After the step of containerd, which restarts it with its new program and a configuration in its format, and after images, among
 * which that of a pod's sandbox may be new: proves that this version runs, that it lost no container, and that new pods start.
 */
export const upgradeContainerd: FeatureStep<ContainerdUpgradeDesired, ContainerdActual, ContainerdPayload> = {
  id: 'upgrade-containerd',
  section: 'containerRuntime.containerd',
  isRequested: STAYS,

  desired: containerdUpgradeDesired,

  idle: (_desired, record) => containerdUpgrade(record) === undefined,

  deadlineMs: ({ kubernetes }) => kubernetes.ready.timeoutMs + SLACK_MS,

  async preflight(host, desired, record) {
    const versions = containerdUpgrade(record);
    if (record === undefined || versions === undefined || record.done.has(CONTAINERD_CHANGE)) return [];
    const found = [
      ...refusedVersions(versions, desired, record.upgrade),
      ...(record.interrupted.size > 0 ? [] : await otherPlace(host, desired)),
    ];
    // In an upgrade of Kubernetes the step of kubeadm checks it, for the version that comes.
    const isAlone = versionUpgrade(record) === undefined && record.interrupted.size === 0;
    const images = isAlone ? await sandboxObstacles(host, desired, versions.to) : [];
    return [...found, ...images].map((one) => ({ certain: true, ...one, change: CONTAINERD_CHANGE, scope: 'node' }));
  },

  async inspect(host, _desired, record) {
    const text = (await host.readText(CONTAINERD_CONFIGURATION)) ?? '';
    const [, format] = /^version[ \t]*=[ \t]*(\d)/m.exec(text) ?? [];
    return {
      versions: containerdUpgrade(record),
      isDone: record.done.has(CONTAINERD_CHANGE),
      format: format === undefined ? undefined : Number(format),
    };
  },

  plan(desired, { versions, isDone, format }) {
    if (versions === undefined || isDone) return [];
    const { from, to } = versions;
    const wanted = (parseVersion(to)?.major ?? 1) >= 2 ? 3 : 2;
    const migrated =
      format === undefined || format === wanted ? '' : `configuration migrated from version ${format} to ${wanted}, `;
    return [
      {
        id: CONTAINERD_CHANGE,
        summary: `containerd ${from} -> ${to}: ${migrated}restart; containers keep running, with the shims of ${from}`,
        action: 'change',
        scope: 'node',
        repeatable: false,
        ineffective: 'UpgradeNotProven',
        payload: { desired, versions },
      },
    ];
  },

  async apply(host, { payload: { desired } }, execution) {
    const kept = await keptContainerd(host);
    const wrong = await wrongVersion(host, desired);
    if (wrong.length === 0 && kept !== undefined)
      wrong.push(...(await lostContainers(host, desired.socket, kept.before)));
    if (wrong.length === 0) wrong.push(...(await noNewPods(host, desired, execution)));
    if (wrong.length > 0) {
      throw new MachineadmError({
        reason: 'UpgradeNotProven',
        summary: `The new containerd is not proven: ${wrong.map(({ source, text }) => `${source}: ${text}`).join('; ')}.`,
        remedy: 'Correct the cause, then run machineadm upgrade again.',
        evidence: wrong,
      });
    }
    const { signal } = execution;
    const { timeoutMs } = desired.kubernetes.ready;
    const waitingFor = (what: string | undefined): void => execution.waitingFor(what);
    const isToBeReady = kept?.before.wasReady === true;
    const demand = isToBeReady ? ({ ...desired.readiness, require: 'NodeReady' } as const) : desired.readiness;
    await waitUntilReady(host, demand, { timeoutMs, signal, waitingFor });
  },
};

/** What containerd and Kubernetes do not support. */
function refusedVersions(
  { from, to }: ProgramVersions,
  { programs: { kubelet } }: ContainerdUpgradeDesired,
  upgrade: Upgrade | undefined,
): readonly UnmetRequirement[] {
  const [old, wanted] = [parseVersion(from), parseVersion(to)];
  if (old === undefined || wanted === undefined) return [];
  if (compareVersions(wanted, old) < 0) {
    const what = `containerd ${from} runs, and a downgrade to ${to} is not possible: an older containerd may read neither its data nor its shims`;
    return [{ reason: 'UpgradeVersionSkew', what, remedy: `Write ${from}, or replace the machine.`, field: FIELD }];
  }
  // The kubelet that runs until it is replaced, and the one that the document asks for.
  const kubelets = [kubelet, ...[upgrade?.from, upgrade?.to].map((text) => parseVersion(text ?? ''))];
  const known = kubelets.filter((version) => version !== undefined);
  const refusal = known.map((version) => containerdRefusal(wanted, version)).find((why) => why !== undefined);
  if (refusal !== undefined) {
    const remedy = 'Upgrade Kubernetes to 1.23 or newer first, then containerd.';
    return [{ reason: 'ContainerRuntimeUnsupported', what: refusal, remedy, field: FIELD }];
  }
  const newer = known.map((version) => newerContainerd(wanted, version)).find((text) => text !== undefined);
  return [
    ...skippedMinors(old, wanted),
    ...(newer === undefined
      ? []
      : [
          warning(
            'ContainerRuntimeUnsupported',
            `containerd ${to} is older than ${newer}, which its maintainers recommend for this Kubernetes`,
            `Upgrade to ${newer} or newer.`,
          ),
        ]),
  ];
}

/** containerd RELEASES.md, "Upgrade Path": from one minor version to the next, and from 1.6 or 1.7 to 2.0. */
function skippedMinors(old: Version, wanted: Version): readonly UnmetRequirement[] {
  const isPromised =
    wanted.major === old.major ? wanted.minor - old.minor <= 1 : wanted.major === old.major + 1 && wanted.minor === 0;
  if (isPromised) return [];
  const what = `containerd promises compatibility with the minor version before, and ${numbersOf(old)} -> ${numbersOf(wanted)} skips some`;
  return [warning('UpgradeVersionSkew', what, 'Try it on one node first.')];
}

function warning(reason: UnmetRequirement['reason'], what: string, remedy: string): UnmetRequirement {
  return { reason, what, remedy, field: FIELD, severity: 'warning' };
}

/** The service would go on with its present program. */
async function otherPlace(host: QueryHost, { paths }: ContainerdUpgradeDesired): Promise<readonly UnmetRequirement[]> {
  const brought = programsAt((path) => paths.has(path)).includes('containerd');
  const setsUnit = [...paths].some((path) => /\/containerd\.service(?:\.d\/|$)/.test(path));
  const { pid } = await host.service('containerd');
  if (!brought || setsUnit || pid === undefined) return [];
  const runs = (await host.readLink(`/proc/${pid}/exe`))?.replace(/ \(deleted\)$/, '');
  if (runs === undefined || paths.has(runs)) return [];
  return [
    {
      reason: 'UpgradeProgramMissing',
      what: `the service containerd runs ${runs}, which the document does not replace`,
      remedy: `Write the programs of containerd to the directory of ${runs}, or change the unit with host.files, too.`,
      field: FIELD,
    },
  ];
}

async function wrongVersion(host: QueryHost, desired: ContainerdUpgradeDesired): Promise<Evidence[]> {
  const { version, socket } = desired;
  const running = await runningContainerd(host, socket);
  const wanted = version === undefined ? await installedContainerd(host) : parseVersion(version);
  if (running !== undefined && wanted !== undefined && compareVersions(running, wanted) === 0) return [];
  const { unit } = await host.service('containerd');
  const command = unit === undefined ? '' : `, and its service starts ${unit.command[0] ?? 'nothing'}`;
  const found = running === undefined ? 'does not answer' : `is ${numbersOf(running)}`;
  return [
    { source: 'containerd', text: `${found}, not ${wanted === undefined ? 'known' : numbersOf(wanted)}${command}` },
  ];
}

/** The containers that ran before, and ended with the restart. One that ended by itself, or was deleted, was not lost. */
async function lostContainers(host: QueryHost, socket: string, before: CriWorkloads): Promise<readonly Evidence[]> {
  const cri = host.cri(socket);
  const now = await cri.workloads();
  const running = new Map(now.containers.map(({ id, startedAt }) => [id, startedAt]));
  const gone = before.containers.filter(({ id, startedAt }) => running.get(id) !== startedAt);
  if (gone.length === 0) return [];
  // OpenRC may not know the process: then every failed end since counts.
  const since = (await host.service('containerd')).startedAtMs;
  const exited = new Map((await cri.exitedContainers()).map((container) => [container.id, container]));
  const isAllGone = now.containers.length === 0 && exited.size === 0;
  return gone
    .filter(({ id }) => {
      const end = exited.get(id);
      if (end === undefined) return isAllGone || running.has(id);
      const isSince = since === undefined || Math.abs(end.finishedAtMs - since) < LOST_WITHIN_MS;
      return end.exitCode !== 0 && isSince;
    })
    .map(({ name, id }) => ({ source: name, text: `ended with the restart of containerd (${id.slice(0, 13)})` }))
    .slice(0, MOST_NAMED);
}

/** A pod needs the new shim and runc, and the image of its sandbox. */
async function noNewPods(
  host: Host,
  { cgroupDriver, socket }: ContainerdUpgradeDesired,
  execution: Execution,
): Promise<readonly Evidence[]> {
  execution.waitingFor('a pod to start with the new containerd');
  try {
    await host.probePod(socket, cgroupDriver === 'systemd' ? 'system.slice' : '', execution.signal);
    return [];
  } catch (error) {
    if (!(error instanceof CriError)) throw error;
    return [{ source: 'a new pod', text: errorMessage(error) }];
  } finally {
    execution.waitingFor(undefined);
  }
}
