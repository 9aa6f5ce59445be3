import { setTimeout as pause } from 'node:timers/promises';
import type { KubeadmNote } from '@machineadm/kubeadm/output.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { type EtcdPeers, findEtcdPeers, listMembers } from '../etcd-members.ts';
import { type EtcdMember, isSameUrl } from '../etcd-ownership.ts';

/** Observations of the etcd cluster while this machine joined it; kept in the journal. */
export interface MembershipFacts {
  /** The peer URL that this machine announces. */
  readonly etcdPeerUrl: string;
  /** Ids of the members that already had it. */
  readonly etcdHeldBefore: readonly string[];
  /** The id of the member that was announced. */
  readonly etcdMemberId: string;
}

/** The phase in which kubeadm has etcd's certificates, but has announced nothing yet. */
const CHECK_PHASE = 'check-etcd';
const PAUSE_MS = 500;
/** kubeadm waits longer than this for the new member to start. */
const LOOKS = 60;

/**
 * Observes a joining control plane becoming a member of etcd, so that a reset can distinguish its member from another
 * machine's with the same name or address. It only reads, and its failures do not affect the join.
 */
export class MembershipWitness {
  readonly #host: QueryHost;
  readonly #where: { readonly certificatesDirectory: string; readonly advertiseAddress: string | undefined };
  readonly #learned: () => void;
  readonly #stop: AbortController = new AbortController();
  readonly #signal: AbortSignal;
  #facts: Partial<MembershipFacts> = {};
  #work: Promise<void> = Promise.resolve();
  #lookedBefore = false;
  #lookedAfter = false;

  /**
   *
   * @param learned called when `facts` has changed
   */
  constructor(
    host: QueryHost,
    where: { readonly certificatesDirectory: string; readonly advertiseAddress: string | undefined },
    signal: AbortSignal,
    learned: () => void,
  ) {
    this.#host = host;
    this.#where = where;
    this.#learned = learned;
    this.#signal = AbortSignal.any([signal, this.#stop.signal]);
  }

  get facts(): Partial<MembershipFacts> {
    return this.#facts;
  }

  /** Receives kubeadm's progress. */
  observe(note: Pick<KubeadmNote, 'lastPhase' | 'etcdMemberAnnounced'>): void {
    if (!this.#lookedBefore && note.lastPhase === CHECK_PHASE) {
      this.#lookedBefore = true;
      this.#then(() => this.#before());
    }
    if (!this.#lookedAfter && note.etcdMemberAnnounced) {
      this.#lookedAfter = true;
      this.#then(() => this.#after());
    }
  }

  /** Stops observing; nothing is recorded afterwards. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  #then(look: () => Promise<void>): void {
    // Without an observation there is no evidence, and a reset touches no member.
    this.#work = this.#work.then(look).catch(() => {});
  }

  async #before(): Promise<void> {
    const seen = await this.#look();
    // After the announcement it would take the new member for an older one.
    if (seen === undefined || this.#lookedAfter) return;
    this.#learn({ etcdPeerUrl: seen.peerUrl, etcdHeldBefore: seen.holders.map(({ id }) => id) });
  }

  async #after(): Promise<void> {
    for (let look = 1; look <= LOOKS; look += 1) {
      const seen = await this.#look();
      const { etcdHeldBefore } = this.#facts;
      const own = seen?.holders.find(({ id, name }) =>
        etcdHeldBefore === undefined ? name === '' : !etcdHeldBefore.includes(id),
      );
      if (seen !== undefined && own !== undefined) {
        return this.#learn({ etcdPeerUrl: seen.peerUrl, etcdMemberId: own.id });
      }
      await pause(PAUSE_MS, undefined, { signal: this.#signal });
    }
  }

  async #look(): Promise<{ readonly peerUrl: string; readonly holders: readonly EtcdMember[] } | undefined> {
    const { certificatesDirectory, advertiseAddress } = this.#where;
    const peers = await findEtcdPeers(this.#host, certificatesDirectory, advertiseAddress, this.#signal);
    const members = peers === undefined ? undefined : await listMembers(peers, this.#signal);
    if (peers === undefined || members === undefined) return undefined;
    return { peerUrl: peers.ownPeerUrl, holders: holdersOf(members, peers) };
  }

  #learn(facts: Partial<MembershipFacts>): void {
    if (this.#stop.signal.aborted) return;
    this.#facts = { ...this.#facts, ...facts };
    this.#learned();
  }
}

function holdersOf(members: readonly EtcdMember[], { ownPeerUrl }: EtcdPeers): readonly EtcdMember[] {
  return members.filter(({ peerUrls }) => peerUrls.some((url) => isSameUrl(url, ownPeerUrl)));
}
