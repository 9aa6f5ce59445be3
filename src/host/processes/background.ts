import { spawn } from 'node:child_process';
import { runCommand } from '../linux/commands.ts';
import { cleanEnvironment } from '../linux/environment.ts';
import { isSystemdBooted } from '../linux/systemd.ts';
import { localPath } from '../local-files/local-path.ts';
import { cleanEnvironment as windowsEnvironment } from '../windows/paths.ts';

export interface BackgroundCommand {
  /** Name of the transient unit, without `.service`; unique while it runs. */
  readonly name: string;
  readonly description: string;
  /** Absolute path of a program and its arguments. */
  readonly command: readonly string[];
  /** Time limit after which it is ended. */
  readonly longestMs: number;
}

/** A service manager that is busy starting the machine answers late; then it is not used. */
const SYSTEMD_RUN_MS = 600;

/**
 * Starts a program that outlives this process and its unit. When a unit ends, systemd kills everything in its control
 * group (systemd.kill(5), KillMode=control-group and mixed), including detached children. So with systemd the program
 * becomes a transient unit of its own (systemd-run(1)); otherwise it is a child in its own session.
 */
export async function startInBackground(background: BackgroundCommand): Promise<void> {
  if (isSystemdBooted() && (await startUnit(background))) return;
  const [program = '', ...args] = background.command;
  const child = spawn(program, args, {
    detached: true,
    stdio: 'ignore',
    windowsHide: true,
    cwd: localPath('/'),
    env: process.platform === 'win32' ? windowsEnvironment() : cleanEnvironment(),
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  child.unref();
}

async function startUnit(background: BackgroundCommand): Promise<boolean> {
  try {
    const args = transientUnit(background);
    return (await runCommand({ program: 'systemd-run', args, timeoutMs: SYSTEMD_RUN_MS })).status === 0;
  } catch {
    return false;
  }
}

/** The arguments of systemd-run(1). */
export function transientUnit({ name, description, command, longestMs }: BackgroundCommand): readonly string[] {
  const properties = [
    `Description=${description}`,
    `RuntimeMaxSec=${Math.ceil(longestMs / 1000)}`,
    'TimeoutStopSec=5',
    'LimitCORE=0',
    'UnsetEnvironment=NODE_OPTIONS NODE_EXTRA_CA_CERTS OPENSSL_CONF',
    // Low priority: it sends small messages and may wait for long, and the node's own work comes first.
    'Nice=5',
    'NoNewPrivileges=yes',
  ].flatMap((property) => ['-p', property]);
  return ['--quiet', '--no-block', '--collect', `--unit=${name}`, ...properties, '--', ...command];
}
