/** What is true of the machine before anything is changed; gathered once per run by queries only. */
export interface Facts {
  readonly platform: 'linux' | 'windows';
  readonly architecture: string;
  /** `ID` and `VERSION_ID` of os-release. */
  readonly os: { readonly id: string; readonly version: string };
  readonly kernel: string;
  readonly serviceManager: 'systemd' | 'openrc' | 'none';
  /** The current host name. */
  readonly hostname: string;
  readonly machineId: string;
  readonly bootId: string;
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
