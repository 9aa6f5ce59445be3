import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HEADER } from './documents.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** A network of which nothing ever comes back: frames to an address that nobody has (RFC 5737, 192.0.2.0/24). */
const BLACK_HOLE = `
ip link set lo up
ip link add hole type veth peer name void
ip addr add 192.0.2.1/24 dev hole
ip link set void up
ip link set hole up
ip neigh add 192.0.2.9 lladdr 02:00:00:00:00:09 dev hole
rm -f /etc/resolv.conf
echo nameserver 192.0.2.9 > /etc/resolv.conf
`;

const SINKS: readonly (readonly [string, string])[] = [
  ['without sinks', '[]'],
  ['webhook that swallows every packet', `[{type: Webhook, url: "http://192.0.2.9/", secret: ${SECRET}}]`],
  ['webhook, no resolver answers', `[{type: Webhook, url: "http://hooks.example/", secret: ${SECRET}}]`],
];

/** From the conclusion that the status file tells of to the end of the process, in milliseconds, of `runs` runs. */
export interface ExitTimes {
  readonly what: string;
  readonly ms: readonly number[];
}

/**
 * How long the agent stays after its conclusion, with a network that does not answer: each run in a fresh throw-away copy
 * of this machine.
 * @param overlay starts a command in such a copy, with `directory` at /quickstart and the binary in it
 */
export function measureExits(overlay: readonly string[], directory: string, runs: number): readonly ExitTimes[] {
  return SINKS.map(([what, sinks], index) => {
    const name = `exit-${index}.yaml`;
    // machineadm refuses a document that holds a secret and that others may read.
    writeFileSync(join(directory, name), `${HEADER}reporting:\n  sinks: ${sinks}\n`, { mode: 0o600 });
    return { what, ms: Array.from({ length: runs }, () => exitMs(overlay, name)).sort((a, b) => a - b) };
  });
}

function exitMs([program = '', ...args]: readonly string[], document: string): number {
  const script = `set -e${BLACK_HOLE}
/quickstart/machineadm provision -d /quickstart/${document} -o json >/tmp/status
date +%s%3N
cat /tmp/status`;
  const { status, stdout, stderr } = spawnSync(program, [...args, 'sh', '-c', script], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the run ended with ${status}: ${stderr.trim()}`);
  const end = stdout.indexOf('\n');
  const { updatedAt }: { updatedAt: string } = JSON.parse(stdout.slice(end));
  return Number(stdout.slice(0, end)) - Date.parse(updatedAt);
}
