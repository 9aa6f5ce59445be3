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
import { assertSucceeded, type Fleet, Node, type Provisioned } from '../lab.ts';
import { Gate } from './gate.ts';
import type { FaultRole, Sabotage } from './sabotage.ts';

const IMAGES = [
  'pause',
  'kube-proxy',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'etcd',
  'coredns',
];
const KUBECTL = 'kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout 10s';
const HOOK = '/root/sabotage.sh';
const BESIDE = 'sabotage';

/** Failures are decided as soon as they can be: a sabotage that shows only once the API server serves asks for more time. */
const SHORT: DocumentTree = {
  host: { hooks: { early: undefined, beforeBootstrap: undefined, afterBootstrap: undefined } },
  reporting: { sinks: [{ type: 'Journal' }] },
  kubernetes: { timeouts: { controlPlane: '25s', discovery: '8s' }, ready: { timeout: '15s' } },
};

/** What a sabotaged run left to look at. */
export interface Sabotaged {
  readonly node: Node;
  readonly run: Provisioned;
}

/**
 * Lab machines that are broken, run, and made whole again by dropping what they wrote. All start from one machine whose
 * host is prepared and whose images are imported, so that a case costs a boot of one or two seconds and its own run.
 */
export class FaultBench {
  readonly #fleet: Fleet;
  readonly #seeds: Seeds = newSeeds();
  readonly #free: Node[] = [];
  readonly #waiting: ((node: Node) => void)[] = [];
  readonly #gate = new Gate();
  #first: Node | undefined;

  private constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  /** @param role what the machines are to become; joining ones get a cluster to join */
  static async open(fleet: Fleet, role: FaultRole, machines: number): Promise<FaultBench> {
    const bench = new FaultBench(fleet);
    const base = await bench.#prepare({ name: 'flt-base', ip: '10.99.0.200' });
    const sites = Array.from({ length: machines }, (_, index) => ({
      name: `flt-${'abcd'[index] ?? 'x'}`,
      ip: `10.99.0.${201 + index}`,
    }));
    const first: NodeSite | undefined = role === 'init' ? undefined : { name: 'flt-first', ip: '10.99.0.209' };
    await base.machine.powerOff();
    for (const site of first === undefined ? sites : [first, ...sites]) {
      const node = new Node(await fleet.copyDisk(base, site));
      if (site === first) await bench.#makeCluster(node);
      else {
        await node.machine.snapshot();
        bench.#free.push(node);
      }
    }
    await fleet.remove(base);
    return bench;
  }

  /** Sabotages a machine, runs the agent on it, and hands both to `look`; makes everything whole afterwards. */
  async drive(sabotage: Sabotage, look: (sabotaged: Sabotaged) => Promise<void>): Promise<void> {
    const leave = await this.#gate.enter(needsAll(sabotage));
    const node = this.#free.pop() ?? (await new Promise<Node>((resolve) => this.#waiting.push(resolve)));
    try {
      await look({ node, run: await this.#run(node, sabotage) });
    } finally {
      await node.machine.pullPlug();
      try {
        await this.#restoreCluster(sabotage, node.site.name);
      } finally {
        const next = this.#waiting.shift();
        if (next === undefined) this.#free.push(node);
        else next(node);
        leave();
      }
    }
  }

  async #run(node: Node, sabotage: Sabotage): Promise<Provisioned> {
    const { machine } = node;
    await machine.revert();
    await machine.boot();
    await node.lay(this.#document(node, sabotage));
    if (sabotage.hook !== undefined) await machine.write(HOOK, sabotage.hook, '700');
    if (sabotage.before !== undefined) await machine.shell(sabotage.before);
    if (sabotage.cluster !== undefined) await this.#first?.machine.shell(sabotage.cluster);
    if (sabotage.during !== undefined) await startBeside(machine, sabotage.during);
    return await node.provision();
  }

  /** The first control plane of the cluster that is joined. */
  get first(): Node | undefined {
    return this.#first;
  }

  async #prepare(site: NodeSite): Promise<Node> {
    const node = await this.#fleet.start(site);
    const images = { images: { archives: IMAGES.map((name) => ({ path: `/opt/images/${name}.tar` })) } };
    await node.lay(merge(merge(hostDocument(site, this.#seeds), SHORT), { kubernetes: undefined, ...images }));
    await assertSucceeded(node, await node.provision());
    await node.machine.shell('rm -rf /var/lib/machineadm /run/machineadm /root/document.yaml; sync');
    return node;
  }

  async #makeCluster(node: Node): Promise<void> {
    await node.machine.boot();
    const document = merge(initDocument(node.site, this.#seeds), SHORT);
    await node.lay(merge(document, { kubernetes: { timeouts: { controlPlane: '4m' }, ready: { timeout: '2m' } } }));
    await assertSucceeded(node, await node.provision());
    await node.machine.powerOff();
    await node.machine.snapshot();
    await node.machine.boot();
    this.#first = node;
    await this.#untilServing();
  }

  #document(node: Node, sabotage: Sabotage): DocumentTree {
    const endpoint = this.#first?.machine.ip ?? '';
    const document = {
      init: () => initDocument(node.site, this.#seeds),
      worker: () => workerDocument(node.site, this.#seeds, endpoint),
      'control plane': () => controlPlaneDocument(node.site, this.#seeds, endpoint),
    }[sabotage.role]();
    const hook =
      sabotage.hook === undefined ? {} : { host: { hooks: { beforeBootstrap: { commands: [`sh -eu ${HOOK}`] } } } };
    return merge(merge(merge(document, SHORT), merge(attempts(1), hook)), sabotage.document ?? {});
  }

  async #restoreCluster(sabotage: Sabotage, joined: string): Promise<void> {
    const first = this.#first;
    if (first === undefined) return;
    const whole = sabotage.spoils === true || (sabotage.cluster !== undefined && sabotage.restore === undefined);
    if (whole) {
      await first.machine.revert();
      await first.machine.boot();
    } else {
      if (sabotage.restore !== undefined) await first.machine.exec(['sh', '-c', sabotage.restore]);
    }
    await this.#untilServing();
    if (!whole)
      await first.machine.shell(`${KUBECTL} delete node ${joined} --ignore-not-found; ${KUBECTL} delete csr --all`);
  }

  async #untilServing(): Promise<void> {
    for (let left = 120; left > 0; left -= 1) {
      const answer = await this.#first?.machine.exec([
        'sh',
        '-c',
        `${KUBECTL} get --raw /readyz && ${KUBECTL} get cm -n kube-public cluster-info`,
      ]);
      if (answer?.status === 0) return;
      await pause(1_000);
    }
    throw new Error('the first control plane does not serve');
  }
}

/** What changes the cluster, or shows on all machines at once as the kernel's log does, is driven with no other beside it. */
function needsAll({ cluster, spoils, alone }: Sabotage): boolean {
  return cluster !== undefined || spoils === true || alone === true;
}

/** A unit of its own, so that it outlives the shell that starts it and ends with the machine. */
async function startBeside(machine: Machine, script: string): Promise<void> {
  await machine.write('/root/beside.sh', script, '700');
  await machine.shell(`systemd-run --quiet --collect --unit=${BESIDE} sh /root/beside.sh`);
}
