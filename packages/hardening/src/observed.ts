import { STATIC_PODS_DIRECTORY } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Component } from './controls/control.ts';
import type { Manifest } from './manifest.ts';

export const COMPONENTS: readonly Component[] = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd'];

/** The observed state that controls are evaluated against. */
export interface Observed {
  readonly isNode: boolean;
  readonly isControlPlane: boolean;
  /** Minor of Kubernetes 1.x according to the kubelet; undefined = unknown. */
  readonly minor: number | undefined;
  readonly manifests: ReadonlyMap<Component, Manifest | 'unreadable'>;
  /** Arguments of the running components. A component may run twice while the kubelet replaces it. */
  readonly processes: ReadonlyMap<Component, readonly ReadonlyMap<string, string>[]>;
  /** Parsed KubeletConfiguration. */
  readonly kubeletConfig: unknown;
  readonly kubeletFlags: readonly KubeletFlag[];
  /** By the pattern of the control. */
  readonly files: ReadonlyMap<string, readonly FoundFile[]>;
  /** Ids of the users and groups that controls name; undefined = it does not exist. */
  readonly users: ReadonlyMap<string, number | undefined>;
  readonly groups: ReadonlyMap<string, number | undefined>;
  /** By key in the slash form; undefined = the kernel does not have it. */
  readonly kernel: ReadonlyMap<string, string | undefined>;
  readonly modules: { readonly loaded: ReadonlySet<string>; readonly denied: ReadonlySet<string> };
  /** metricsBindAddress of the kube-proxy pods on this machine; '' = the default. */
  readonly proxyMetrics: readonly string[];
  /**
   * The parsed files that the API server's arguments refer to; undefined = not set, 'unreadable' = the file is missing.
   */
  readonly auditPolicy: NamedFile | undefined;
  readonly encryption: NamedFile | undefined;
  readonly admission: NamedFile | undefined;
  readonly authentication: NamedFile | undefined;
  readonly authorization: NamedFile | undefined;
  readonly services: ReadonlyMap<string, { readonly active: boolean; readonly enabled: boolean }>;
}

export interface NamedFile {
  readonly path: string;
  /** Parsed YAML; undefined = cannot be read. */
  readonly content: unknown;
}

/** An existing file or directory, with what the controls check of it. */
export interface FoundFile {
  readonly path: string;
  readonly type: 'file' | 'directory';
  /** Permission bits only. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /**
   * True for a directory whose contents were not looked at: it is in a directory of another user, who could put a directory of
   * somebody else there. etcd's data is so, after cis-1.1.12 gave its directory to the user etcd.
   */
  readonly isUnread?: true;
}

/** A flag of the kubelet's current or next start. Flags override its configuration file. */
export interface KubeletFlag {
  readonly name: string;
  readonly value: string;
  /** The file that contains it, or the running process. */
  readonly source: string;
}

/** A manifest that could be read. */
export function usable(manifest: Manifest | 'unreadable' | undefined): Manifest | undefined {
  return manifest === 'unreadable' ? undefined : manifest;
}

export function manifestPath(component: Component): string {
  return `${STATIC_PODS_DIRECTORY}/${component}.yaml`;
}
