import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { after, before } from 'node:test';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { Outcome, RunStatus } from '@machineadm/status/status.ts';
import { LAB_DIRECTORY } from '../../scripts/lab/artefacts.ts';
import { cloneMachine, destroyMachines, type MachineOptions, startMachine } from '../../scripts/lab/fleet.ts';
import { acquire } from '../../scripts/lab/lock.ts';
import type { Init, Machine } from '../../scripts/lab/machine.ts';
import { type DocumentTree, type NodeSite, seededSecrets, toYaml } from './documents.ts';
import { labOfRelease } from './lab-release.ts';
import { findLeaks } from './leaks.ts';
import type { Need } from './needs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
export const DOCUMENT = '/root/document.yaml';
export const AGENT = '/usr/local/bin/machineadm';
export const SENTINEL = '/run/cluster-api/bootstrap-success.complete';
export const JOURNAL = '/var/lib/machineadm/journal';

/** Shows what the lab does while it builds. */
export const progress = (line: string): void => console.error(line);

/** kubectl on a control plane, in a shell. */
export const KUBECTL = 'kubectl --kubeconfig /etc/kubernetes/admin.conf';

/** True where every case is asked for (`npm run test:all`), not only the core set. */
export const ALL_CASES = process.env.MACHINEADM_E2E === 'all';

/** What the machines of the lab need. */
export const LAB = ['root', 'cgroup v1', 'apt-get'] as const satisfies readonly Need[];

/** Machines that become nodes, or machines that run a document for the host only: these need little of two cores. */
export type LabKind = 'nodes' | 'host';

/** Takes the lab for one kind of machine; the function returned gives it back. */
export async function takeLab(kind: LabKind): Promise<() => Promise<void>> {
  const lock = join(LAB_DIRECTORY, kind === 'nodes' ? 'e2e.lock' : 'e2e-host.lock');
  return await acquire(lock, () => console.error('another session runs end-to-end tests; waiting for it'));
}

/**
 * The machines of one test file. One file of a kind at a time, over all sessions on this host: the machines share a
 * kernel and two cores, and deadlines are real.
 */
export class Fleet {
  readonly #machines: Machine[] = [];
  readonly #nodes: Node[] = [];
  #release = async (): Promise<void> => undefined;

  private constructor() {}

  /** Takes the lab, and builds the binary where its sources changed. */
  static async open(kind: LabKind = 'nodes'): Promise<Fleet> {
    const fleet = new Fleet();
    await fleet.#open(kind);
    return fleet;
  }

  /**
   * The fleet of the `describe` whose body calls this: opened before its tests, and closed after them. `setUp` follows the
   * opening. The default timeout is for a lab that another session has.
   */
  static ofSuite(
    setUp: () => Promise<void> = async () => undefined,
    { kind = 'nodes', timeoutMs = 30 * 60_000 }: { readonly kind?: LabKind; readonly timeoutMs?: number } = {},
  ): Fleet {
    const fleet = new Fleet();
    const open = async (): Promise<void> => {
      await fleet.#open(kind);
      await setUp();
    };
    before(open, { timeout: timeoutMs });
    after(async () => await fleet.close());
    return fleet;
  }

  async #open(kind: LabKind): Promise<void> {
    const release = await takeLab(kind);
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/build.ts'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    if (status !== 0) {
      await release();
      throw new Error(`npm run build failed:\n${stdout}${stderr}`);
    }
    this.#release = release;
  }

  /** A new machine with the agent in it and nothing else done. */
  async start(site: NodeSite & FirstBoot, init: Init = 'systemd'): Promise<Node> {
    const machine = await this.#boot(site, init);
    if (site.withoutAgent !== true) await machine.copyIn(join(ROOT, 'dist/machineadm'), AGENT);
    return this.#nodeOf(machine);
  }

  /** A new machine as its image is: nothing of ours is in it. */
  async startBare(site: NodeSite & FirstBoot): Promise<Node> {
    return this.#nodeOf(await this.#boot(site, 'systemd'));
  }

  async #boot(site: NodeSite & FirstBoot, init: Init): Promise<Machine> {
    // Machines of other systems have no Kubernetes.
    const release = init === 'systemd' && site.root === undefined ? await labOfRelease() : undefined;
    const lower = [...(site.lower ?? []), ...(release?.lower ?? [])];
    const artefacts = release === undefined ? {} : { artefacts: release };
    const machine = await startMachine({
      ...site,
      ...artefacts,
      lower,
      init,
      temporary: true,
      progress,
    });
    this.#machines.push(machine);
    return machine;
  }

  /** A machine booted from a copy of another's disk. The other one is powered off for the copy, and booted again. */
  async clone(source: Node, site: NodeSite): Promise<Node> {
    await source.machine.powerOff();
    const machine = await cloneMachine(source.machine, site.name, site.ip, true);
    this.#machines.push(machine);
    await source.machine.boot();
    await machine.boot();
    return this.#nodeOf(machine);
  }

  /** A machine with a copy of the disk of another, which is powered off. It is not booted. */
  async copyDisk(source: Node, site: NodeSite): Promise<Node> {
    const machine = await cloneMachine(source.machine, site.name, site.ip, true);
    this.#machines.push(machine);
    return this.#nodeOf(machine);
  }

  /** Machines booted from copies of a machine's disk, which is powered off and stays so: an image. */
  async bootImage(image: Node, sites: readonly NodeSite[]): Promise<Node[]> {
    await image.machine.powerOff();
    const nodes: Node[] = [];
    for (const { name, ip } of sites) {
      const machine = await cloneMachine(image.machine, name, ip, true);
      this.#machines.push(machine);
      nodes.push(this.#nodeOf(machine));
    }
    for (const { machine } of nodes) await machine.boot();
    return nodes;
  }

  #nodeOf(machine: Machine): Node {
    const node = new Node(machine);
    this.#nodes.push(node);
    return node;
  }

  /** Removes one machine early. */
  async remove(node: Node): Promise<void> {
    const leaks = await leaksOf(node);
    this.#machines.splice(this.#machines.indexOf(node.machine), 1);
    this.#nodes.splice(this.#nodes.indexOf(node), 1);
    await destroyMachines([node.machine]);
    assert.deepEqual(leaks, [], `${node.site.name} shows secrets`);
  }

  /** Removes all machines. None may show a secret of these tests, nor may anything that the agent printed. */
  async close(): Promise<void> {
    const leaks: string[] = [];
    try {
      for (const node of this.#nodes) leaks.push(...(await leaksOf(node)));
    } finally {
      await destroyMachines(this.#machines);
      await this.#release();
    }
    assert.deepEqual(leaks, [], 'machines show secrets');
  }
}

/** Where a machine, or what the agent printed on it, shows a secret of these tests. */
async function leaksOf(node: Node): Promise<readonly string[]> {
  const texts = { 'what the agent printed': node.printed.join('\n') };
  const found = seededSecrets().map((seeds) => findLeaks(node.machine, seeds, texts));
  return (await Promise.all(found)).flat().map((leak) => `${node.site.name}: ${leak}`);
}

/** What is there when a machine boots for the first time. */
export interface FirstBoot extends Partial<Pick<MachineOptions, 'lower' | 'files' | 'machineId' | 'root'>> {
  /** True: machineadm is in a layer, or comes by itself. */
  readonly withoutAgent?: true;
}

export interface Run {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Provisioned extends Run {
  readonly status: RunStatus;
  /** Ids of all changes made, in order. */
  readonly changes: readonly string[];
}

export interface PlannedChange {
  readonly id: string;
  readonly step: string;
  readonly summary: string;
  readonly scope: 'base' | 'node';
  readonly knownAfter?: string;
}

/** When a daemon's main process was started. The same twice = the same process. */
export interface DaemonProcess {
  readonly pid: string;
  readonly startedAt: string;
}

/** A lab machine, spoken to through the agent's command line only. */
export class Node {
  readonly machine: Machine;
  /** What the agent printed in all of its runs. */
  readonly printed: string[] = [];

  constructor(machine: Machine) {
    this.machine = machine;
  }

  get site(): NodeSite {
    return { name: this.machine.name, ip: this.machine.ip };
  }

  /** Lays the document where the agent is told to read it, 0600 as its carrier would. */
  async lay(document: DocumentTree | string): Promise<void> {
    await this.machine.write(DOCUMENT, typeof document === 'string' ? document : toYaml(document), '600');
  }

  /** Runs the agent. `wrapper` is a command that runs it: strace, setpriv. */
  async agent(args: readonly string[], wrapper: readonly string[] = [], timeoutMs = 600_000): Promise<Run> {
    const finished = await this.machine.exec([...wrapper, AGENT, ...args], { timeoutMs });
    this.printed.push(finished.stdout, finished.stderr);
    assert.equal(finished.timedOut, false, `machineadm ${args.join(' ')} did not end:\n${told(finished)}`);
    return { exitCode: finished.status, stdout: finished.stdout, stderr: finished.stderr };
  }

  /** `plan` of the document laid: the changes it lists, in order. */
  async plan(wrapper: readonly string[] = []): Promise<readonly PlannedChange[]> {
    const run = await this.agent(['plan', '-d', DOCUMENT, '-o', 'json'], wrapper);
    assert.equal(run.exitCode, 0, `plan ended with ${run.exitCode}:\n${run.stderr}${run.stdout}`);
    const { changes }: { changes: PlannedChange[] } = JSON.parse(run.stdout);
    return changes;
  }

  /** `provision` of the document laid, whatever its outcome. */
  async provision(wrapper: readonly string[] = []): Promise<Provisioned> {
    const run = await this.agent(['provision', '-d', DOCUMENT, '-o', 'json'], wrapper);
    return { ...run, ...parseStatus(run) };
  }

  /** What `status` says now. */
  async status(): Promise<RunStatus> {
    const run = await this.agent(['status', '-o', 'json']);
    return parseStatus(run).status;
  }

  /** What kubectl prints on this control plane, without blanks around it. */
  async kubectl(args: string, options: Parameters<Machine['shell']>[1] = {}): Promise<string> {
    return (await this.machine.shell(`${KUBECTL} ${args}`, options)).trim();
  }

  /** The main processes of containerd and the kubelet. */
  async daemons(): Promise<Readonly<Record<'containerd' | 'kubelet', DaemonProcess>>> {
    return { containerd: await this.#daemon('containerd'), kubelet: await this.#daemon('kubelet') };
  }

  /** A kubelet that has no configuration yet ends and is started again every ten seconds: one that ended meanwhile is none. */
  async #daemon(unit: string): Promise<DaemonProcess> {
    const pid = (await this.machine.shell(`systemctl show ${unit} --property=MainPID --value`)).trim();
    const stat = pid === '0' ? undefined : await this.read(`/proc/${pid}/stat`);
    return stat === undefined ? { pid: '0', startedAt: '' } : { pid, startedAt: stat.split(' ')[21] ?? '' };
  }

  /** A file's text, or undefined when it is not there. */
  async read(path: string): Promise<string | undefined> {
    const { status, stdout } = await this.machine.exec(['cat', path]);
    return status === 0 ? stdout : undefined;
  }
}

export function parseStatus(run: Run): Pick<Provisioned, 'status' | 'changes'> {
  try {
    const status: RunStatus = JSON.parse(run.stdout);
    return { status, changes: status.steps.flatMap((step) => step.changes) };
  } catch (error) {
    throw new Error(`no status on standard output (exit ${run.exitCode}):\n${run.stdout}\n${run.stderr}`, {
      cause: error,
    });
  }
}

/** What a command printed, the end of it, for the message of an assertion. */
export function told(run: { readonly stdout: string; readonly stderr: string }): string {
  return `${run.stdout.slice(-3000)}\n${run.stderr.slice(-3000)}`;
}

/** What the deliverer adds to the status file comes after the run; what the machine is, the command adds as it reads. */
function ofRun({ reports: _reports, thisMachine: _machine, ...status }: RunStatus): RunStatus {
  return status;
}

/** Asserts that a run succeeded and that all it says and leaves agrees with that. */
export async function assertSucceeded(node: Node, run: Provisioned): Promise<void> {
  assert.equal(run.status.outcome, 'Succeeded' satisfies Outcome, told(run));
  assert.equal(run.exitCode, 0, told(run));
  assert.equal(run.status.exitCode, 0);
  assert.equal(run.status.phase, 'Concluded');
  assert.equal(run.status.failure, undefined);
  assert.equal(run.status.conditions.find((c) => c.type === 'machineadm.dev/BootstrapSucceeded')?.status, 'True');
  assert.deepEqual(ofRun(await node.status()), run.status, 'the status file says what the run printed');
}

/** Provisions a machine with a document, once, and asserts that it succeeded. */
export async function provisionOnce(node: Node, document: DocumentTree | string): Promise<Provisioned> {
  await node.lay(document);
  const run = await node.provision();
  await assertSucceeded(node, run);
  return run;
}

/** Asserts that a run failed in this step for this reason, with a remedy, and that the status file says so. */
export async function assertFailed(
  node: Node,
  run: Provisioned,
  exitCode: number,
  step: string,
  reason: Reason,
): Promise<void> {
  assert.equal(run.status.failure?.reason, reason, told(run));
  assert.equal(run.status.failure?.step, step, told(run));
  assert.equal(run.exitCode, exitCode, told(run));
  assert.equal(run.status.exitCode, exitCode);
  assert.equal(run.status.outcome, 'Failed' satisfies Outcome);
  assert.notEqual(run.status.failure?.summary ?? '', '');
  assert.notEqual(run.status.failure?.remedy ?? '', '');
  // False ends a machine's life where a MachineHealthCheck watches it: only for what the same document cannot mend.
  const condition = run.status.conditions.find((c) => c.type === 'machineadm.dev/BootstrapSucceeded');
  assert.equal(condition?.status, run.status.failure?.retryable === false ? 'False' : 'Unknown');
  assert.equal(condition?.reason, reason);
  assert.equal(await node.read(SENTINEL), undefined, 'no sentinel without success');
  assert.deepEqual(ofRun(await node.status()), run.status, 'the status file says what the run printed');
}
