import { setTimeout as pause } from 'node:timers/promises';
import type { Machine } from '../../../scripts/lab/machine.ts';
import {
  attempts,
  controlPlaneDocument,
  type DocumentTree,
  hostDocument,
  initDocument,
  merge,
  type NodeSite,
  newSeeds,
  type Seeds,
  workerDocument,
} from '../documents.ts';
import { type Member, membersSeenBy } from '../etcd-members.ts';
import { type Fleet, type Node, type Provisioned, provisionOnce } from '../lab.ts';
import { archiveOf } from '../lab-release.ts';
import { Gate } from './gate.ts';
import { type FaultRole, FIRSTS, type Sabotage } from './sabotage.ts';
import { K } from './shell.ts';

const IMAGES = [
  'pause',
  'kube-proxy',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'etcd',
  'coredns',
];
const KUBECTL = `${K} --request-timeout 10s`;
const HOOK = '/root/sabotage.sh';
const BESIDE = 'sabotage';

/** Failures are decided as soon as they can be: a sabotage that shows only once the API server serves asks for more time. */
const SHORT: DocumentTree = {
  host: { hooks: { early: undefined, beforeBootstrap: undefined, afterBootstrap: undefined } },
  reporting: { sinks: [{ type: 'Journal' }] },
  kubernetes: { timeouts: { controlPlane: '25s', discovery: '8s' }, ready: { timeout: '15s' } },
};

const ADDRESSES = ['10.99.0.201', '10.99.0.202', '10.99.0.203'] as const;

/** How many machines are broken side by side: most of a failure's time is a timeout of kubeadm's. */
export function lanesOf(role: FaultRole): number {
  return role === 'init' ? ADDRESSES.length : FIRSTS.length;
}

/** A machine to break and, where it is to join, a cluster of its own for that. */
interface Lane {
  readonly node: Node;
  readonly first: Node | undefined;
}

/** What a sabotaged run left to look at. */
export interface Sabotaged {
  readonly node: Node;
  readonly run: Provisioned;
  /** The members of etcd right before and after the run; undefined where no control plane joins. */
  readonly members: { readonly before: readonly Member[]; readonly after: readonly Member[] } | undefined;
}

/**
 * Lab machines that are broken, run, and made whole again by dropping what they wrote. All start from one machine whose
 * host is prepared and whose images are imported, so that a case costs a boot of one or two seconds and its own run.
 */
export class FaultBench {
  readonly #fleet: Fleet;
  readonly #seeds: Seeds = newSeeds();
  readonly #free: Lane[] = [];
  readonly #waiting: ((lane: Lane) => void)[] = [];
  readonly #gate = new Gate();

  private constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** @param role what the machines are to become; each that joins gets a cluster to join */
  static async open(fleet: Fleet, role: FaultRole, lanes: number): Promise<FaultBench> {
    const bench = new FaultBench(fleet);
    const base = await bench.#prepare({ name: 'flt-base', ip: '10.99.0.200' });
    await base.machine.powerOff();
    for (const [index, ip] of ADDRESSES.slice(0, lanes).entries()) {
      const letter = 'abc'[index];
      const node = await fleet.copyDisk(base, { name: `flt-${letter}`, ip });
      await node.machine.snapshot();
      const site = { name: `flt-first-${letter}`, ip: FIRSTS[index] ?? '' };
      const first = role === 'init' ? undefined : await fleet.copyDisk(base, site);
      bench.#free.push({ node, first });
    }
    await fleet.remove(base);
    await Promise.all(bench.#free.map(({ first }) => first && bench.#makeCluster(first)));
    return bench;
  }

  /** Sabotages a machine, runs the agent on it, and hands both to `look`; makes everything whole afterwards. */
  async drive(sabotage: Sabotage, look: (sabotaged: Sabotaged) => Promise<void>): Promise<void> {
    const leave = await this.#gate.enter(sabotage.alone === true);
    const lane = this.#free.pop() ?? (await new Promise<Lane>((resolve) => this.#waiting.push(resolve)));
    try {
      await look(await this.#run(lane, sabotage));
    } finally {
      await lane.node.machine.cutPower();
      try {
        await restoreCluster(sabotage, lane);
      } finally {
        const next = this.#waiting.shift();
        if (next === undefined) this.#free.push(lane);
        else next(lane);
        leave();
      }
    }
  }

  async #run(lane: Lane, sabotage: Sabotage): Promise<Sabotaged> {
    const { node, first } = lane;
    const { machine } = node;
    const places = placesOf(lane);
    await machine.revert();
    await machine.boot();
    await node.lay(this.#document(lane, sabotage));
    if (sabotage.hook !== undefined) await machine.write(HOOK, places + sabotage.hook, '700');
    if (sabotage.before !== undefined) await machine.shell(places + sabotage.before);
    if (sabotage.cluster !== undefined) await first?.machine.shell(places + sabotage.cluster);
    const witness = sabotage.role === 'control plane' ? first : undefined;
    const before = witness && (await membersSeenBy(witness));
    if (sabotage.during !== undefined) await startBeside(machine, places + sabotage.during);
    const run = await node.provision();
    return {
      node,
      run,
      members: witness && before && { before, after: await membersSeenBy(witness) },
    };
  }

  async #prepare(site: NodeSite): Promise<Node> {
    const node = await this.#fleet.start(site);
    const images = { images: { archives: IMAGES.map((name) => ({ path: archiveOf(name) })) } };
    await provisionOnce(
      node,
      merge(merge(hostDocument(site, this.#seeds), SHORT), { kubernetes: undefined, ...images }),
    );
    await node.machine.shell('rm -rf /var/lib/machineadm /run/machineadm /root/document.yaml; sync');
    return node;
  }

  async #makeCluster(node: Node): Promise<void> {
    await node.machine.boot();
    const document = merge(initDocument(node.site, this.#seeds), SHORT);
    await provisionOnce(
      node,
      merge(document, { kubernetes: { timeouts: { controlPlane: '4m' }, ready: { timeout: '2m' } } }),
    );
    await node.machine.powerOff();
    await node.machine.snapshot();
    await node.machine.boot();
    await untilServing(node);
  }

  #document({ node, first }: Lane, sabotage: Sabotage): DocumentTree {
    const endpoint = first?.machine.ip ?? '';
    const document = {
      init: () => initDocument(node.site, this.#seeds),
      worker: () => workerDocument(node.site, this.#seeds, endpoint),
      'control plane': () => controlPlaneDocument(node.site, this.#seeds, endpoint),
    }[sabotage.role]();
    const hook =
      sabotage.hook === undefined ? {} : { host: { hooks: { beforeBootstrap: { commands: [`sh -eu ${HOOK}`] } } } };
    const besides =
      typeof sabotage.document === 'function' ? sabotage.document((first ?? node).site) : (sabotage.document ?? {});
    return merge(merge(merge(document, SHORT), merge(attempts(1), hook)), besides);
  }
}

async function restoreCluster(sabotage: Sabotage, lane: Lane): Promise<void> {
  const { first, node } = lane;
  if (first === undefined) return;
  if (sabotage.spoils === true || (sabotage.cluster !== undefined && sabotage.restore === undefined)) {
    await first.machine.revert();
    await first.machine.boot();
    return await untilServing(first);
  }
  if (sabotage.restore !== undefined) await first.machine.exec(['sh', '-c', placesOf(lane) + sabotage.restore]);
  await untilServing(first);
  const joined = node.site.name;
  await first.machine.shell(`${KUBECTL} delete node ${joined} --ignore-not-found; ${KUBECTL} delete csr --all`);
}

/** A machine can join as soon as cluster-info is signed, which the controller manager does some time after the API server serves. */
async function untilServing(first: Node): Promise<void> {
  for (let left = 120; left > 0; left -= 1) {
    const answer = await first.machine.exec([
      'sh',
      '-c',
      `${KUBECTL} get --raw /readyz && ${KUBECTL} get cm -n kube-public cluster-info -o yaml | grep jws-kubeconfig`,
    ]);
    if (answer.status === 0) return;
    await pause(1_000);
  }
  throw new Error(`${first.site.name} does not serve`);
}

/** What the shell of a sabotage knows: the machine that is broken, and the first control plane of the cluster it joins. */
function placesOf({ node, first }: Lane): string {
  const joined = first === undefined ? '' : ` FIRST=${first.site.name} FIRST_IP=${first.site.ip}`;
  return `NODE=${node.site.name} IP=${node.site.ip}${joined}\n`;
}

/** A unit of its own, so that it outlives the shell that starts it and ends with the machine. */
async function startBeside(machine: Machine, script: string): Promise<void> {
  await machine.write('/root/beside.sh', script, '700');
  await machine.shell(`systemd-run --quiet --collect --unit=${BESIDE} sh /root/beside.sh`);
}
