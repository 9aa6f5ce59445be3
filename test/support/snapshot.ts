import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from '../../scripts/lab/machine.ts';

/** The state of a machine that a command which changes nothing must leave as it is: line by line, to be compared. */
export interface Snapshot {
  /** Every file of the whole root file system and of the volumes: type, mode, owner, size, time, content's digest. */
  readonly files: ReadonlyMap<string, string>;
  /** Every kernel setting that can be read, with its value. */
  readonly settings: ReadonlyMap<string, string>;
  /** Every unit, with its states and the invocation of its process. */
  readonly units: ReadonlyMap<string, string>;
}

/** What changes by itself: the journal's files, and what the kernel counts or draws anew at each read. */
const RESTLESS_FILES = /^\/var\/log\/journal\//;
const RESTLESS_SETTINGS =
  /^(kernel\.random\.(uuid|entropy_avail)|kernel\.ns_last_pid|fs\.(dentry-state|file-nr|inode-nr|inode-state|aio-nr|quota\..*)|kernel\.pty\.nr|net\.netfilter\.nf_conntrack_count)\b/;

/**
 * Takes a snapshot. The machine image below a machine's own layer cannot change, so the layer (upper) and the volumes
 * are the whole root file system: a file that was only opened for writing shows, too, because it was copied up.
 * `/run` is not part of it.
 */
export async function takeSnapshot(machine: Machine): Promise<Snapshot> {
  const files = new Map<string, string>();
  for (const [volume, mountedAt] of [
    [machine.upper, ''],
    [join(machine.directory, 'containerd'), '/var/lib/containerd'],
    [join(machine.directory, 'kubelet'), '/var/lib/kubelet'],
  ] as const) {
    listFiles(volume, mountedAt, files);
  }
  const settings = await machine.exec(['sysctl', '-a']);
  const show = 'systemctl show "*" --property=Id,LoadState,ActiveState,UnitFileState,InvocationID,NeedDaemonReload';
  const units = await machine.shell(`${show} --no-pager`);
  // Until it has a configuration the kubelet ends and is started again every ten seconds.
  const all = units.split('\n\n').filter((unit) => !/^Id=run-credentials-/m.test(unit)); // systemd's own, for seconds
  const steady = all.map((unit) => {
    return /^Id=kubelet\.service$/m.test(unit) ? unit.replace(/^(InvocationID|ActiveState)=.*$/gm, '$1=*') : unit;
  });
  return {
    files,
    settings: pairs(settings.stdout.split('\n').filter((line) => !RESTLESS_SETTINGS.test(line))),
    units: new Map(steady.map((unit) => [/^Id=(.*)$/m.exec(unit)?.[1] ?? '', unit])),
  };
}

/** What differs, each as `path: before -> after`; [] = nothing. */
export function differences(before: Snapshot, after: Snapshot): string[] {
  return (['files', 'settings', 'units'] as const).flatMap((part) => {
    const keys = new Set([...before[part].keys(), ...after[part].keys()]);
    return [...keys]
      .filter((key) => before[part].get(key) !== after[part].get(key))
      .map((key) => `${part} ${key}: ${before[part].get(key) ?? 'absent'} -> ${after[part].get(key) ?? 'absent'}`);
  });
}

function listFiles(directory: string, shownAs: string, files: Map<string, string>): void {
  for (const name of readdirSync(directory).sort()) {
    const path = join(directory, name);
    const shown = `${shownAs}/${name}`;
    if (RESTLESS_FILES.test(shown)) continue;
    const { mode, uid, gid, size, mtimeMs, rdev } = lstatSync(path);
    const type = mode & 0o170000;
    const isDirectory = type === 0o040000;
    const content =
      type === 0o100000
        ? createHash('sha256').update(readFileSync(path)).digest('hex')
        : type === 0o120000
          ? readlinkSync(path)
          : `${rdev}`;
    files.set(shown, `${mode.toString(8)} ${uid}:${gid} ${isDirectory ? '' : size} ${mtimeMs} ${content}`);
    if (isDirectory) listFiles(path, shown, files);
  }
}

function pairs(lines: readonly string[]): Map<string, string> {
  return new Map(
    lines.map((line) => {
      const at = line.indexOf(' = ');
      return [line.slice(0, at), line.slice(at + 3)] as const;
    }),
  );
}
