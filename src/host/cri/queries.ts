/** Queries over the Container Runtime Interface (k8s.io/cri-api runtime/v1 api.proto). */
export interface CriQueries {
  /** Runtime name and version. Throws `CriError`. */
  version(): Promise<{ readonly runtimeName: string; readonly runtimeVersion: string }>;
  /** `RuntimeReady` and `NetworkReady` with their messages. */
  status(): Promise<readonly CriCondition[]>;
  /** SYSTEMD or CGROUPFS; undefined where the runtime does not implement RuntimeConfig (containerd 1.x). */
  cgroupDriver(): Promise<'systemd' | 'cgroupfs' | undefined>;
  /** The configuration that the running daemon reports: evidence of what it has actually read. */
  configuration(): Promise<CriConfiguration>;
  images(): Promise<readonly CriImage[]>;
  /** Containers in the state exited, newest first, with the paths of their logs. */
  exitedContainers(): Promise<readonly CriContainer[]>;
  /** The pods that are ready, and the containers that run. */
  workloads(): Promise<CriWorkloads>;
}

export interface CriCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Each is undefined where this runtime or version does not report it. */
export interface CriConfiguration {
  /** Of the default runtime handler. */
  readonly cgroupDriver: 'systemd' | 'cgroupfs' | undefined;
  /** containerd 1.x only. */
  readonly sandboxImage: string | undefined;
  readonly restrictOomScoreAdj: boolean | undefined;
}

export interface CriImage {
  readonly id: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
}

/** What runs; names are for messages: `kube-system/etcd-a`, `kube-system/etcd-a/etcd`. */
export interface CriWorkloads {
  readonly pods: readonly { readonly id: string; readonly name: string }[];
  readonly containers: readonly {
    readonly id: string;
    readonly name: string;
    /** In nanoseconds since the epoch. */
    readonly startedAt: string;
  }[];
}

export interface CriContainer {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly exitCode: number;
  /** The index of this attempt in its pod, from 0: how often the container was restarted. */
  readonly attempt: number;
  /** The reason reported by the runtime: `Error`, `OOMKilled`, `Completed`. */
  readonly reason: string;
  readonly finishedAtMs: number;
  readonly logPath: string;
}
