/** What is true of the machine before anything is changed; gathered once per run by queries only. */
export interface Facts {
  readonly platform: 'linux' | 'windows';
  readonly architecture: string;
  /** `ID` and `VERSION_ID` of os-release; `windows` and its build with the update (20348.2700). */
  readonly os: { readonly id: string; readonly version: string };
  readonly kernel: string;
  readonly serviceManager: 'systemd' | 'openrc' | 'none' | 'windows';
  /** The current host name. */
  readonly hostname: string;
  /** machine-id(5), or the MachineGuid of Windows. */
  readonly machineId: string;
  /** Differs from that of every other boot. */
  readonly bootId: string;
  /** What the kubelet says of this machine in its Node, where that is not `machineId` and `bootId`. */
  readonly reported?: ReportedIdentity;
  /** The cloud's instance id, where cloud-init knows one. */
  readonly cloudInstanceId: string | undefined;
  /** Addresses of the interfaces with a default route, as the kubelet chooses a node's; sorted, none of link scope. */
  readonly nodeAddresses: readonly string[];
  readonly isRoot: boolean;
  /** undefined = not installed. */
  readonly containerd: Version | undefined;
  readonly kubeadm: Version | undefined;
  readonly kubelet: Version | undefined;
}

/** A semantic version without pre-release and build parts; `text` is what the program printed. */
export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly text: string;
}

/**
 * How a Node says which machine it is: nodeInfo's machineID, bootID and systemUUID. On Windows these are the host name, the
 * number of the boot, and the id of the firmware (k/k pkg/kubelet/winstats/perfcounter_nodestats_windows.go).
 */
export interface ReportedIdentity {
  readonly machineId: string;
  readonly bootId: string;
  /** Upper case; undefined where the others tell machines apart. */
  readonly systemUuid?: string;
}

/** How the Node of this machine must say that it is this one. */
export function reportedIdentity(facts: Pick<Facts, 'machineId' | 'bootId' | 'reported'>): ReportedIdentity {
  return facts.reported ?? { machineId: facts.machineId, bootId: facts.bootId };
}
