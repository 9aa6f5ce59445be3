import type { Model } from '@machineadm/document/model/index.ts';
import { compareVersions, parseVersion, type Version } from '@machineadm/document/text/program-version.ts';
import { startsInstalledContainerd } from '../../container-runtime/service-program.ts';
import { CriError } from '../../host/cri/call.ts';
import type { Facts } from '../../host/seam/facts.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { runtimeSocket } from '../../kubernetes/runtime-socket.ts';
import type { ProgramVersions } from '../../step/upgrade-order.ts';
import { type UpgradeDesired, upgradeDesired } from './desired.ts';

/** The change after which there is no way back to the previous containerd. */
export const CONTAINERD_CHANGE = 'upgrade-containerd/prove';

/** What the steps of an upgrade of containerd know of the document and the machine. */
export interface ContainerdUpgradeDesired extends UpgradeDesired {
  /** The version of the document; undefined: the one that is installed. */
  readonly version: string | undefined;
  readonly cgroupDriver: 'systemd' | 'cgroupfs';
  /** The files that the document writes. */
  readonly paths: ReadonlySet<string>;
}

/** Of a document that configures the containerd of a node that kubeadm made. */
export function containerdUpgradeDesired(model: Model, facts: Facts): ContainerdUpgradeDesired | undefined {
  const desired = upgradeDesired(model, facts);
  if (desired === undefined || model.containerd === undefined) return undefined;
  const { version, cgroupDriver } = model.containerd;
  return { ...desired, version, cgroupDriver, paths: new Set(model.host.files.map(({ path }) => path)) };
}

/**
 * The containerd that runs here, and the one that a document asks for, if that is another: the version of the document, or else
 * the one that is installed already. undefined: the daemon has it, or does not answer.
 */
export async function containerdAsked(host: QueryHost, model: Model): Promise<ProgramVersions | undefined> {
  if (model.containerd === undefined || model.host.platform !== 'linux') return undefined;
  const running = await runningContainerd(host, runtimeSocket(model, { platform: 'linux' }));
  const { version } = model.containerd;
  if (version === undefined && !(await startsInstalledContainerd(host))) return undefined;
  const wanted = version === undefined ? await installedContainerd(host) : parseVersion(version);
  if (running === undefined || wanted === undefined || compareVersions(running, wanted) === 0) return undefined;
  return { from: numbersOf(running), to: numbersOf(wanted) };
}

/** The version of the daemon at a socket; undefined: it does not answer, or it is no containerd. */
export async function runningContainerd(host: QueryHost, socket: string): Promise<Version | undefined> {
  try {
    const { runtimeName, runtimeVersion } = await host.cri(socket).version();
    return runtimeName === 'containerd' ? parseVersion(runtimeVersion) : undefined;
  } catch (error) {
    if (error instanceof CriError) return undefined;
    throw error;
  }
}

/** The version of the program that the next start of the service runs, as far as it is the one of PATH. */
export async function installedContainerd(host: QueryHost): Promise<Version | undefined> {
  const { status, stdout } = await host.query({ program: 'containerd', args: ['--version'] });
  return status === 0 ? parseVersion(stdout) : undefined;
}

/** Without what distributions add: `1.7.24` of `1.7.24~ds1`. */
export function numbersOf({ major, minor, patch }: Version): string {
  return `${major}.${minor}.${patch}`;
}
