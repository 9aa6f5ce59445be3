import type { Version } from '@machineadm/document/text/program-version.ts';
/** Facts about the machine before any change, collected once per run by queries only. */
export interface Facts {
  readonly platform: 'linux' | 'windows';
  readonly architecture: string;
  /** `ID` and `VERSION_ID` of os-release; `windows` and its build with the update (20348.2700). */
  readonly os: { readonly id: string; readonly version: string };
  readonly kernel: string;
  readonly serviceManager: 'systemd' | 'openrc' | 'none' | 'windows';
  /** The current host name. */
  readonly hostname: string;
  /** machine-id(5), or MachineGuid on Windows. */
  readonly machineId: string;
  /** Different for every boot. */
  readonly bootId: string;
  /** The identity that the kubelet reports in its Node, where it differs from `machineId` and `bootId`. */
  readonly reported?: ReportedIdentity;
  /** The cloud's instance id, where cloud-init knows one. */
  readonly cloudInstanceId: string | undefined;
  /**
   * Addresses of the interfaces with a default route, in the order in which the kubelet chooses a node's; without
   * link-local ones.
   */
  readonly nodeAddresses: readonly string[];
  /** The addresses of the interfaces that are up, with their prefixes and states. Linux only. */
  readonly addresses?: readonly InterfaceAddress[];
  /** The interfaces of the machine, with the addresses that they have now. Linux only. */
  readonly interfaces?: readonly NetworkInterface[];
  /** CRI sockets as URLs, in the order of kubeadm: of the runtimes that run, otherwise of the installed ones. Linux only. */
  readonly runtimeSockets?: readonly string[];
  readonly isRoot: boolean;
  /** undefined = not installed. */
  readonly containerd: Version | undefined;
  readonly kubeadm: Version | undefined;
  readonly kubelet: Version | undefined;
}

/** An address of an interface that is up. */
export interface InterfaceAddress {
  readonly interface: string;
  /** In lower case, without a zone. */
  readonly address: string;
  /** The length of the prefix. */
  readonly prefix: number;
  /** Why it is no address to rely on: see `linux/node-addresses.ts`. Absent: it is one. */
  readonly state?: 'tentative' | 'duplicate' | 'deprecated' | 'temporary';
}

export interface NetworkInterface {
  readonly name: string;
  /** In lower case, without a zone. */
  readonly addresses: readonly string[];
}

/**
 * The identity of a machine in a Node: nodeInfo's machineID, bootID and systemUUID. On Windows these are the host name,
 * the number of the boot, and the id of the firmware (k/k pkg/kubelet/winstats/perfcounter_nodestats_windows.go).
 */
export interface ReportedIdentity {
  readonly machineId: string;
  readonly bootId: string;
  /** Upper case; undefined where the other two are sufficient. */
  readonly systemUuid?: string;
}

/** The identity that the Node of this machine must report. */
export function reportedIdentity(facts: Pick<Facts, 'machineId' | 'bootId' | 'reported'>): ReportedIdentity {
  return facts.reported ?? { machineId: facts.machineId, bootId: facts.bootId };
}
