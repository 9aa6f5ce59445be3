import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const JOURNALD = '/usr/lib/systemd/systemd-journald';

/** A journald of the throw-away machine (`inThrowAwayMachine`), in memory; undefined where there is none to start. */
export async function startJournald(): Promise<ChildProcess | undefined> {
  if (!existsSync(JOURNALD)) return undefined;
  // journald asks for its own control group, and the throw-away machine has an empty /sys/fs/cgroup.
  execFileSync('mount', ['-t', 'cgroup2', 'none', '/sys/fs/cgroup']);
  mkdirSync('/run/systemd/journald.conf.d', { recursive: true });
  // In memory and for this machine only: neither the kernel's log nor audit, which are not in a namespace.
  const settings = '[Journal]\nStorage=volatile\nReadKMsg=no\nAudit=no\nForwardToWall=no\n';
  writeFileSync('/run/systemd/journald.conf.d/test.conf', settings);
  const journald = spawn(JOURNALD, { stdio: 'ignore' });
  for (let tries = 0; !existsSync('/run/systemd/journal/socket') && tries < 2_000; tries += 1) await sleep(50);
  // A machine with these control groups could not become a node: they have no controllers.
  execFileSync('umount', ['--lazy', '/sys/fs/cgroup']);
  return journald;
}
