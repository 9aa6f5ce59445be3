import type { QueryHost } from '../../host/seam/host.ts';

/**
 * The values that sysctl keys get at the next boot, by the rules of sysctl.d(5), tested on systemd 252 and procps
 * 4.0.2: the files of all directories are read in the order of their *names*, whatever directory they are in. The
 * directory only decides between files of the same name, and an empty file or a link to /dev/null masks one. The last
 * explicit entry of a key wins. A glob never beats an explicit entry, so globs do not matter for keys that are written
 * out.
 */

/** Highest precedence first. /lib is /usr/lib but on hosts whose /usr is not merged. */
const DIRECTORIES = ['/etc/sysctl.d', '/run/sysctl.d', '/usr/local/lib/sysctl.d', '/usr/lib/sysctl.d', '/lib/sysctl.d'];

const SYSCTL_CONF = '/etc/sysctl.conf';

/** A line of a sysctl file that sets a key. */
export interface SysctlEntry {
  readonly file: string;
  readonly line: number;
  /** Slash form below /proc/sys. */
  readonly key: string;
  readonly value: string;
}

/** A later entry that takes a key away from ours. */
export interface SysctlOverride extends SysctlEntry {
  /** `boot`: the next boot has it; `sysctl --system`: only that command (and OpenRC, which uses it) has it. */
  readonly when: 'boot' | 'sysctl --system';
}

/**
 * The entries that would override `values` (slash key to normalised value) where they stand in `ourFile`. Entries that
 * agree with ours are not reported.
 */
export async function overridesAtBoot(
  host: QueryHost,
  ourFile: string,
  values: ReadonlyMap<string, string>,
): Promise<readonly SysctlOverride[]> {
  const boot = new Map<string, SysctlOverride>();
  const command = new Map<string, SysctlOverride>();
  const consider = (entries: readonly SysctlEntry[], when: SysctlOverride['when']): void => {
    const overrides = when === 'boot' ? boot : command;
    for (const entry of entries) {
      const ours = values.get(entry.key);
      if (ours === undefined) continue;
      if (normaliseSysctl(entry.value) === ours) overrides.delete(entry.key);
      else overrides.set(entry.key, { ...entry, when });
    }
  };
  for (const { name, path } of await filesInOrder(host)) {
    if (name > nameOf(ourFile)) consider(await readSysctlFile(host, path), 'boot');
  }
  // systemd reads sysctl.conf only through a link in sysctl.d; procps reads it last of all (procps-ng src/sysctl.c).
  consider(await readSysctlFile(host, SYSCTL_CONF), 'sysctl --system');
  return [...boot.values(), ...[...command.values()].filter((override) => !boot.has(override.key))];
}

/** The text of an override for people: `/etc/sysctl.conf:3 sets net/ipv4/ip_forward = 0`. */
export function describeOverride(override: SysctlOverride): string {
  const event = override.when === 'boot' ? 'at the next boot' : 'whenever "sysctl --system" runs';
  return `${override.file}:${override.line} sets ${override.key} = ${override.value}, which wins ${event}`;
}

/** Parses a file of sysctl.d(5). Globs and the exclusions (`-key`) are left out: they never beat an explicit entry. */
export function parseSysctlFile(file: string, text: string): readonly SysctlEntry[] {
  const entries: SysctlEntry[] = [];
  text.split('\n').forEach((raw, index) => {
    const line = raw.trim();
    if (line === '' || line.startsWith('#') || line.startsWith(';')) return;
    const equals = line.indexOf('=');
    if (equals < 0) return;
    const key = line.slice(0, equals).trim().replace(/^-/, '');
    if (/[*?[]/.test(key)) return;
    entries.push({ file, line: index + 1, key: slashKey(key), value: line.slice(equals + 1).trim() });
  });
  return entries;
}

/** Values as the kernel shows them differ in white space only: lists are separated by tabs when read back. */
export function normaliseSysctl(value: string): string {
  return value.trim().replace(/\s+/g, ' ');
}

/** The first separator decides: after a dot, dots separate and slashes stand for dots (sysctl.d(5)). */
function slashKey(key: string): string {
  if (/[./]/.exec(key)?.[0] !== '.') return key.replace(/^\/+/, '');
  return key.replace(/[./]/g, (character) => (character === '.' ? '/' : '.'));
}

async function filesInOrder(host: QueryHost): Promise<readonly { name: string; path: string }[]> {
  const chosen = new Map<string, string>();
  for (const directory of DIRECTORIES) {
    for (const name of (await host.list(directory)) ?? []) {
      if (name.endsWith('.conf') && !chosen.has(name)) chosen.set(name, `${directory}/${name}`);
    }
  }
  return [...chosen].map(([name, path]) => ({ name, path })).sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function readSysctlFile(host: QueryHost, path: string): Promise<readonly SysctlEntry[]> {
  return parseSysctlFile(path, (await host.readText(path)) ?? '');
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
