import type { LocatedKubernetes } from '../runtime-socket.ts';
import type { Attempt } from './attempt.ts';
import type { Inventory, ResetPlaces } from './inventory.ts';

/** The parts of a document that a reset depends on; without secrets, so that the journal may keep them. */
export interface UndoNote extends ResetPlaces {
  /** `unix:///run/containerd/containerd.sock` */
  readonly criSocket: string;
  readonly nodeName: string;
  /** The document's, where it has one. */
  readonly advertiseAddress?: string | undefined;
  /** True where this machine created its cluster. */
  readonly founded: boolean;
}

export interface ResetOrder extends UndoNote {
  /** True where the credentials on disk are another machine's: they must not be used with any cluster. */
  readonly offline: boolean;
  /** True in an unattended run: it fails rather than leave a member in etcd that cannot be removed later. */
  readonly automatic: boolean;
  readonly attempt: Attempt;
  /** Paths to keep. */
  readonly inventory: Inventory;
  /** Paths that must not exist afterwards. */
  readonly leftovers: readonly string[];
  /** Distinguishes this machine's Node from that of another machine with the same name. */
  readonly machineId?: string | undefined;
}

/** What a later reset must know about this document. */
export function undoNote({ node, cluster, controlPlane, role }: LocatedKubernetes, nodeName: string): UndoNote {
  const { etcd, apiEndpoint } = controlPlane;
  return {
    criSocket: node.criSocket,
    certificatesDirectory: cluster.certificatesDirectory,
    etcdDataDirectory: etcd.kind === 'local' ? etcd.dataDirectory : undefined,
    nodeName,
    advertiseAddress: apiEndpoint.advertiseAddress,
    founded: role === 'InitControlPlane',
  };
}

export interface ResetWatch {
  readonly signal: AbortSignal;
  readonly line: (text: string) => void;
  readonly warn: (message: string) => void;
  readonly waitingFor: (what: string | undefined) => void;
}
