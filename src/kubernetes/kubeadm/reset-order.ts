import type { KubernetesModel } from '@machineadm/document/model.ts';
import type { Attempt } from './attempt.ts';
import type { Inventory, ResetPlaces } from './inventory.ts';

/** What of a document a reset depends on; without a secret, so that a journal may keep it. */
export interface UndoNote extends ResetPlaces {
  /** `unix:///run/containerd/containerd.sock` */
  readonly criSocket: string;
  readonly nodeName: string;
  /** The document's, where it names one. */
  readonly advertiseAddress?: string | undefined;
  /** True where this machine made its cluster. */
  readonly founded: boolean;
}

export interface ResetOrder extends UndoNote {
  /** True where the credentials on the disk are another machine's: no cluster may be spoken to with them. */
  readonly offline: boolean;
  /** True in a run that nobody watches: it ends rather than leave a member in etcd that cannot be removed later. */
  readonly automatic: boolean;
  readonly attempt: Attempt;
  /** What must stay as it is. */
  readonly inventory: Inventory;
  /** Paths that must be gone afterwards. */
  readonly leftovers: readonly string[];
  /** By which the Node of this machine is told from that of another machine with its name. */
  readonly machineId?: string | undefined;
}

/** What a later reset must know of this document. */
export function undoNote({ node, cluster, controlPlane, role }: KubernetesModel, nodeName: string): UndoNote {
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
