import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Node, Provisioned } from '../lab.ts';
import type { Sabotage } from './sabotage.ts';

/** Of a line that repeats, so many are kept; of each part, so many lines. */
const MOST_REPEATS = 2;
const MOST_LINES = 90;
const COMPONENTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];

/** Writes what a machine logged of a sabotaged run as `ID.log` and `ID.json`. */
export async function capture(directory: string, node: Node, run: Provisioned, sabotage: Sabotage): Promise<void> {
  const { failure } = run.status;
  const parts = [
    part('-- kubeadm --', kubeadmOf(run)),
    part('-- journal: kubelet.service --', await journal(node, '-u kubelet')),
    part('-- journal: containerd.service --', await journal(node, '-u containerd')),
  ];
  for (const name of COMPONENTS) parts.push(part(`-- container: ${name} --`, await containerLog(node, name)));
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${sabotage.id}.log`), `${parts.filter((text) => text !== '').join('\n')}\n`);
  const known = {
    expected: { outcome: 'failure', reason: failure?.reason ?? '', retryable: failure?.retryable ?? false },
    command: `kubeadm ${sabotage.role === 'init' ? 'init' : 'join'}`,
    kubeadmVersion: 'v1.20.2',
    how: sabotage.what,
  };
  writeFileSync(join(directory, `${sabotage.id}.json`), `${JSON.stringify(known, null, 2)}\n`);
}

/** kubeadm's lines, as machineadm prints them with `kubeadm: ` before each; blank lines are kept. */
function kubeadmOf(run: Provisioned): readonly string[] {
  // After its end the same lines are printed once more, as evidence.
  const [progress = ''] = run.stderr.split(/^kubeadm: (?:failed|done)/m);
  return progress.split('\n').flatMap((line) => /^ {2}kubeadm: ?(.*)$/.exec(line)?.[1] ?? []);
}

async function journal(node: Node, selection: string): Promise<readonly string[]> {
  const { stdout } = await node.machine.exec(['sh', '-c', `journalctl -q --no-pager ${selection}`]);
  return capped(stdout.split('\n'));
}

async function containerLog(node: Node, name: string): Promise<readonly string[]> {
  const files = `/var/log/pods/kube-system_${name}-*/${name}/*.log`;
  const { stdout } = await node.machine.exec(['sh', '-c', `tail -q -n 60 ${files} 2>/dev/null`]);
  return capped(stdout.split('\n'));
}

/** The stacks of goroutines that end a program of Go, and the plugins that containerd lists, explain nothing. */
const NOISE =
  /goroutine \d+ \[|\.(go|s):\d+( \+0x\w+)?$|created by \S+$|\]: +\S+\/\S+\.\S*\(|\]: (main|runtime|sync|os|net|time|io|bufio|syscall|internal)[\w./]*\.\S+\(|\]:\s*$|msg="?(skip )?loading plugin/;

function capped(lines: readonly string[]): readonly string[] {
  const seen = new Map<string, number>();
  const kept = lines.filter((line) => {
    if (line.trim() === '' || NOISE.test(line)) return false;
    // What a line says, without its times and numbers.
    const sense = line
      .slice(16)
      .replace(/\d+/g, '0')
      .replace(/[0-9a-f]{8,}/g, 'x')
      .slice(0, 160);
    const count = (seen.get(sense) ?? 0) + 1;
    seen.set(sense, count);
    return count <= MOST_REPEATS;
  });
  return kept.slice(-MOST_LINES).map((line) => line.slice(0, 700));
}

function part(header: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : [header, ...lines].join('\n');
}
