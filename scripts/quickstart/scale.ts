import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { buildCluster, buildLayer, type Progress } from '../lab/artefacts.ts';
import { destroyMachines, freeAddresses } from '../lab/fleet.ts';
import type { Machine } from '../lab/machine.ts';
import { DOCUMENT, type Joining, newSecrets, type Site, sitesOf } from './documents.ts';
import { caCertHash, startClusterMachine } from './lab.ts';

export interface ScaleOptions {
  readonly controlPlanes: number;
  readonly workers: number;
  /** How long random machines lose power. */
  readonly minutes: number;
  /** Determines which machines lose power, in which order. The exact times depend on the speed of this machine. */
  readonly seed: number;
  readonly kubernetes?: string | undefined;
}

/** A machine that joins the cluster, and its measurements. */
interface Member {
  readonly site: Site;
  readonly machine: Machine;
  kills: number;
  runs: number;
  /** Fulfilled while the machine has power. */
  power: Promise<void>;
  joinedAfterMs: number | undefined;
  /** Why it is not a member; undefined if it is. */
  reason: string | undefined;
  peakKb: number;
  cpuSeconds: number;
}

/** The number of failed runs, without a loss of power, after which a machine has failed. */
const TRIES = 3;
/** The number of agents that run concurrently. Control planes join one after the other, as etcd requires. */
const AT_ONCE = 3;
const AFTER_THE_KILLS_MS = 20 * 60_000;
const TICKS_PER_SECOND = 100;

/**
 * Joins control planes and workers to one cluster while random machines lose power. Returns 0 if each machine is a Ready
 * member or reports a reason why it is not, otherwise 1.
 */
export async function scale(binary: string, options: ScaleOptions, say: Progress): Promise<number> {
  const { controlPlanes, workers, minutes, seed } = options;
  const artefacts = await buildCluster(options.kubernetes ?? 'debian', say);
  const balancer = [await buildLayer('haproxy', say, artefacts.root)];
  const addresses = freeAddresses(controlPlanes + workers + 1);
  const sites = sitesOf({ controlPlanes, workers }, (index) => addresses[index] ?? '');
  const machines: Machine[] = [];
  const interrupted = (): void => void destroyMachines(machines).finally(() => process.exit(130));
  process.once('SIGINT', interrupted);
  const began = performance.now();
  try {
    let joining: Joining = newSecrets(controlPlanes);
    const members: Member[] = [];
    for (const site of sites) {
      const layers = site.role === 'balancer' ? balancer : artefacts.lower;
      const machine = await startClusterMachine(site, sites, { ...artefacts, lower: layers }, joining, {
        binary,
        temporary: true,
      });
      machines.push(machine);
      const member = newMember(site, machine);
      if (site.role !== 'balancer') members.push(member);
      if (joining.caCertHash !== undefined) continue;
      await runAgent(member, began);
      if (member.reason !== undefined) throw new Error(`${site.name}: ${member.reason}`);
      say(`${site.name} is up`);
      if (site.role === 'control-plane') joining = { ...joining, caCertHash: await caCertHash(machine) };
    }
    const [first, ...joiners] = members;
    if (first === undefined) throw new Error('no control plane');
    say(`${joiners.length} machines join; for ${minutes} min random ones lose their power (seed ${seed})`);
    const deadline = performance.now() + minutes * 60_000;
    const until = deadline + AFTER_THE_KILLS_MS;
    const free = slots(AT_ONCE);
    let previous: Promise<void> = Promise.resolve();
    const lives = joiners.map((member) => {
      const live = (): Promise<void> => free(() => becomeMember(member, began, until, say));
      if (member.site.role === 'worker') return live();
      previous = previous.then(live);
      return previous;
    });
    await cutPowerAtRandom(members, seed, deadline, say);
    await Promise.all(lives);
    return await report(first, members, say);
  } finally {
    process.off('SIGINT', interrupted);
    await destroyMachines(machines);
  }
}

function newMember(site: Site, machine: Machine): Member {
  const seen = { kills: 0, runs: 0, joinedAfterMs: undefined, reason: undefined, peakKb: 0, cpuSeconds: 0 };
  return { site, machine, power: Promise.resolve(), ...seen };
}

/** Runs the agent until it succeeds, or until it has failed TRIES times, without a loss of power during the run. */
async function becomeMember(member: Member, began: number, until: number, say: Progress): Promise<void> {
  for (let failures = 0; failures < TRIES && performance.now() < until; ) {
    await member.power;
    const { kills } = member;
    await runAgent(member, began).catch((error: unknown) => {
      member.reason = `the machine cannot be asked: ${errorMessage(error)}`;
    });
    if (member.kills !== kills) continue;
    if (member.reason === undefined)
      return say(`${member.site.name} is a member, after ${member.kills} losses of power`);
    failures += 1;
    say(`${member.site.name}: ${member.reason}`);
  }
}

/** Runs the agent once, and records its memory and processor time without those of its child processes. */
async function runAgent(member: Member, began: number): Promise<void> {
  member.runs += 1;
  // Prints the exit code of the agent, its peak memory in kB, and its ticks in user mode and in kernel mode.
  const script = `machineadm provision -d ${DOCUMENT} >>/var/log/scale.log 2>&1 & agent=$!
    while [ -d /proc/$agent ]; do
      seen=$(cat /proc/$agent/status /proc/$agent/stat 2>/dev/null | awk '$1 == "VmHWM:" {m = $2} $2 ~ /^\\(/ {t = $14 " " $15} END {print m, t}')
      [ "$seen" = "\${seen#[0-9]}" ] || last=$seen
      sleep 0.5
    done
    status=0; wait $agent || status=$?; echo "$status $last"`;
  const { stdout } = await member.machine.exec(['sh', '-c', script], { timeoutMs: 25 * 60_000 });
  const [status, peakKb = 0, user = 0, system = 0] = stdout.trim().split(/\s+/).map(Number);
  member.peakKb = Math.max(member.peakKb, peakKb);
  member.cpuSeconds += (user + system) / TICKS_PER_SECOND;
  if (status === 0) {
    member.reason = undefined;
    member.joinedAfterMs ??= performance.now() - began;
  } else {
    const told = await member.machine.exec(['machineadm', 'status', '-o', 'json']);
    member.reason = reasonOf(told.stdout) ?? `exit code ${status ?? 'unknown'} without a reason`;
  }
}

/** `KubeletNotHealthy: the kubelet …` of `machineadm status -o json`. */
function reasonOf(json: string): string | undefined {
  try {
    const { failure } = JSON.parse(json) as { failure?: { reason: string; summary: string } };
    return failure === undefined ? undefined : `${failure.reason}: ${failure.summary}`;
  } catch {
    return undefined;
  }
}

/** Cuts the power of one random machine at a time, and boots it some seconds later. */
async function cutPowerAtRandom(
  members: readonly Member[],
  seed: number,
  deadline: number,
  say: Progress,
): Promise<void> {
  const random = randomFrom(seed);
  while (performance.now() < deadline) {
    await sleep(Math.min(10_000 + random() * 20_000, Math.max(0, deadline - performance.now())));
    const member = members[Math.floor(random() * members.length)];
    if (member === undefined || performance.now() >= deadline) return;
    const isMember = member.joinedAfterMs !== undefined;
    member.kills += 1;
    member.power = (async () => {
      await member.machine.cutPower();
      await sleep(random() * 5000);
      await member.machine.boot();
    })();
    await member.power;
    say(`${member.site.name} (${isMember ? 'member' : 'joining'}) lost its power and has it again`);
    // A member runs the agent at boot. For a machine that is still joining, `becomeMember` runs it again.
    if (isMember) await runAgent(member, performance.now()).catch(() => undefined);
  }
}

async function report(first: Member, members: readonly Member[], say: Progress): Promise<number> {
  const kubectl = 'kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=10s';
  const wait = `timeout 300 sh -c 'until ${kubectl} wait --for=condition=Ready nodes --all --timeout=60s; do sleep 1; done'`;
  await first.machine.exec(['sh', '-c', wait], { timeoutMs: 6 * 60_000 });
  const { stdout } = await first.machine.exec(['sh', '-c', `${kubectl} get nodes --no-headers`]);
  const ready = new Set(
    stdout.split('\n').flatMap((line) => (/ Ready /.test(line) ? [line.split(/\s+/)[0] ?? ''] : [])),
  );
  const rows = members.map((member) => {
    const { site, kills, runs, joinedAfterMs, peakKb, cpuSeconds, reason } = member;
    const isMember = ready.has(site.name) && reason === undefined;
    const outcome = isMember ? 'member' : (reason ?? 'UNEXPLAINED: not Ready, and the agent gives no reason');
    return {
      machine: site.name,
      role: site.role,
      'power lost': kills,
      runs,
      'joined after s': joinedAfterMs === undefined ? '' : Math.round(joinedAfterMs / 1000),
      'peak MB': Math.round(peakKb / 1024),
      'cpu s': Number(cpuSeconds.toFixed(1)),
      outcome,
    };
  });
  console.table(rows);
  const unexplained = rows.filter(({ outcome }) => /^UNEXPLAINED|without a reason$|cannot be asked/.test(outcome));
  const count = rows.filter(({ outcome }) => outcome === 'member').length;
  say(`${count} of ${rows.length} machines are Ready members; ${unexplained.length} without a reason`);
  return unexplained.length === 0 ? 0 : 1;
}

/** Limits the number of concurrent tasks. */
function slots(count: number): (work: () => Promise<void>) => Promise<void> {
  let free = count;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    try {
      await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/** mulberry32: numbers in [0, 1), the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
