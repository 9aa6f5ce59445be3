/** The few questions asked over the Container Runtime Interface (k8s.io/cri-api runtime/v1 api.proto). */
export interface CriQueries {
  /** Runtime name and version. Throws `CriError`. */
  version(): Promise<{ readonly runtimeName: string; readonly runtimeVersion: string }>;
  /** `RuntimeReady` and `NetworkReady` with their messages. */
  status(): Promise<readonly CriCondition[]>;
  /** SYSTEMD or CGROUPFS; undefined where the runtime does not implement RuntimeConfig (containerd 1.x). */
  cgroupDriver(): Promise<'systemd' | 'cgroupfs' | undefined>;
  images(): Promise<readonly CriImage[]>;
  /** Containers in the state exited, newest first, with the path of their log. */
  exitedContainers(): Promise<readonly CriContainer[]>;
}

export interface CriCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface CriImage {
  readonly id: string;
  readonly tags: readonly string[];
  readonly digests: readonly string[];
}

export interface CriContainer {
  readonly id: string;
  readonly name: string;
  readonly podName: string;
  readonly namespace: string;
  readonly exitCode: number;
  readonly finishedAtMs: number;
  readonly logPath: string;
}
