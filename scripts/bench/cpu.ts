import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * User and system seconds of a shell command in a throw-away copy of a root file system, with a directory at `/in`; of it and
 * all that it starts. Throws where it fails.
 */
export function cpuSecondsIn(root: string, input: string, command: string): number {
  const args = [join(import.meta.dirname, 'peers-run.sh'), root, input, 'sh', '-c', command];
  const { status, stdout, stderr } = spawnSync('sh', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr.trim()}; see ${input}/output`);
  return childSeconds(stdout);
}

/** User and system seconds of a command on this machine. Throws if it fails. */
export function cpuSecondsOf(command: readonly string[]): number {
  // A variable like NODE_EXTRA_CA_CERTS would make the binary start itself again (src/seal.ts).
  const env = { PATH: process.env.PATH, LC_ALL: 'C' };
  // bash takes a socket for its input, as Node makes it, for a login over the network, and would read ~/.bashrc.
  const args = ['--norc', '-c', '"$@" >/dev/null 2>&1 </dev/null && times', 'bash', ...command];
  const { status, stdout } = spawnSync('bash', args, { encoding: 'utf8', env });
  if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}`);
  return childSeconds(stdout);
}

/** What bash's `times` prints of the children, in seconds: the last line. */
export function childSeconds(times: string): number {
  const parts = [...(times.trimEnd().split('\n').at(-1) ?? '').matchAll(/(\d+)m([\d.]+)s/g)];
  return parts.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}
