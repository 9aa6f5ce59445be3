import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../scripts/lab/process.ts';
import { AGENT, DOCUMENT, type Node, type Run } from './lab.ts';

const COUNT = '/run/records.strace';
/** A step has 15 s to stop after a signal. */
const ENDS_WITHIN_SECONDS = 25;

/** Runs `provision` while counting the records it makes durable: every fdatasync(2) is the journal's, one a record. */
export function countingRecords(): string[] {
  return ['strace', '-f', '-qq', '-e', 'trace=fdatasync', '-e', 'signal=none', '-o', COUNT];
}

/** How many records the run under `countingRecords` made durable. */
export async function countedRecords(node: Node): Promise<number> {
  const lines = ((await node.read(COUNT)) ?? '').split('\n');
  return lines.filter((line) => line.includes('fdatasync(')).length;
}

/**
 * Runs `provision` under a strace that kills it (SIGKILL) as it makes its nth record durable: the record is written, and
 * nothing that follows it has happened. The kernel aborts the system call of a process with a fatal signal pending
 * (ptrace(2), syscall-enter-stop), so that the point is the same each time. The agent is unchanged.
 */
export async function killAtRecord(node: Node, nth: number): Promise<Run> {
  const wrapper = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=fdatasync'];
  const run = await provisionRaw(node, [...wrapper, '-e', `inject=fdatasync:signal=SIGKILL:when=${nth}`]);
  assert.equal(run.exitCode, 137, `the run was to be killed at record ${nth}:\n${run.stderr}`);
  return run;
}

/**
 * Runs `provision` and kills it between the moment `path` has its new content and the next record: strace holds every
 * record for three seconds before it is durable, and a shell that already runs in the machine looks at the file much
 * more often. (A shell that had to be started first was late on a busy machine.)
 */
export async function killAfterRename(node: Node, path: string): Promise<Run> {
  const wrapper = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=fdatasync'];
  const changed = `until ! cmp -s ${path} /run/before-rename; do echo >> /run/looks-at-rename; sleep 0.01; done`;
  await node.machine.shell(`cp ${path} /run/before-rename`);
  const killing = node.machine.shell(`${changed}; ${killOfAgent('KILL')}`);
  await until('the shell looks at the file', 60_000, exists(node, '/run/looks-at-rename'));
  const run = provisionRaw(node, [...wrapper, '-e', 'inject=fdatasync:delay_enter=3000000']);
  await killing;
  return run;
}

/** Starts `provision`, waits until `reached` says so, and sends the agent a signal. Returns how it ended, which is soon. */
export async function signalWhen(
  node: Node,
  signal: 'TERM' | 'INT' | 'KILL',
  what: string,
  reached: () => Promise<boolean>,
): Promise<Run> {
  let ended = false;
  const run = provisionRaw(node, []).finally(() => {
    ended = true;
  });
  await until(what, 180_000, async () => {
    if (await reached()) return true;
    if (ended) throw new Error(`the run ended before: ${what}\n${(await run).stderr}`);
    return false;
  });
  await signalAgent(node, signal);
  const signalled = performance.now();
  const ending = await run;
  const seconds = (performance.now() - signalled) / 1000;
  assert.ok(seconds < ENDS_WITHIN_SECONDS, `in: ${what}: the run took ${seconds} s to end\n${ending.stderr}`);
  return ending;
}

/** True once a file is there. */
export function exists(node: Node, path: string): () => Promise<boolean> {
  return async () => (await node.machine.exec(['test', '-e', path])).status === 0;
}

/** Command lines of the machine's processes that match, without kernel threads. */
export async function processes(node: Node, pattern: string): Promise<string[]> {
  const { stdout } = await node.machine.exec(['pgrep', '-a', '-f', pattern]);
  return stdout.split('\n').filter((line) => line !== '');
}

async function signalAgent(node: Node, signal: string): Promise<void> {
  await node.machine.shell(killOfAgent(signal));
}

/** By its command line: Node names its main thread, and so the process, MainThread. */
function killOfAgent(signal: string): string {
  return `pkill -${signal} -f '^${AGENT} provision '`;
}

function provisionRaw(node: Node, wrapper: readonly string[]): Promise<Run> {
  return node.agent(['provision', '-d', DOCUMENT, '-o', 'json'], wrapper);
}

/** Written by daemons at their own times, or different on every machine by nature. */
const NOT_COMPARED =
  /^\/(var\/(log|cache|tmp|lib\/(machineadm|systemd|etcd|dbus|private|cni|calico))|tmp|root|run|etc\/machine-id|etc\/resolv\.conf|usr\/local\/bin\/machineadm)(\/|$)/;

/**
 * What a run leaves on a machine's disk: path -> type, mode, owner and content. Keys and certificates are drawn anew
 * by every run: of what is below /etc/kubernetes only the form is told.
 */
export function endState(node: Node): ReadonlyMap<string, string> {
  const state = new Map<string, string>();
  const visit = (directory: string, shownAs: string) => {
    for (const name of readdirSync(directory).sort()) {
      const path = join(directory, name);
      const shown = `${shownAs}/${name}`;
      if (NOT_COMPARED.test(shown)) continue;
      const stat = lstatSync(path);
      const form = `${stat.mode.toString(8)} ${stat.uid}:${stat.gid}`;
      state.set(shown, stat.isFile() && !shown.startsWith('/etc/kubernetes/') ? `${form} ${digest(path)}` : form);
      if (stat.isSymbolicLink()) state.set(shown, `${form} ${readlinkSync(path)}`);
      if (stat.isDirectory()) visit(path, shown);
    }
  };
  visit(node.machine.upper, '');
  return state;
}

/** Asserts that containerd runs since after its configuration was written, and so uses it. */
export async function assertContainerdIsCurrent(node: Node): Promise<void> {
  const active = (await node.machine.shell('systemctl is-active containerd')).trim();
  assert.equal(active, 'active');
  const seconds = 'date -d "$(systemctl show containerd --property=ExecMainStartTimestamp --value)" +%s';
  const [started, written] = (await node.machine.shell(`${seconds}; stat -c %Y /etc/containerd/config.toml`))
    .trim()
    .split('\n')
    .map(Number);
  assert.ok((started ?? 0) >= (written ?? Number.NaN), `containerd started at ${started}, configured at ${written}`);
}

function digest(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
