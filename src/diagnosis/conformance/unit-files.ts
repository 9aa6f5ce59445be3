import type { QueryHost } from '../../host/seam/host.ts';

/** Where systemd looks for system units, the first wins (systemd.unit(5), "UNIT FILE LOAD PATH"). */
const DIRECTORIES = [
  '/etc/systemd/system',
  '/run/systemd/system',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
];

/** A unit as its files describe it. Read from the files and not asked of systemd, which does not run in a chroot. */
export interface UnitFiles {
  readonly path: string;
  /** The unit file and its drop-ins, in the order in which systemd reads them. */
  readonly text: string;
}

/** The files of a unit, `kubelet.service`; undefined when there is none. */
export async function readUnit(host: QueryHost, unit: string): Promise<UnitFiles | undefined> {
  let found: { readonly path: string; readonly text: string } | undefined;
  for (const directory of DIRECTORIES) {
    const path = `${directory}/${unit}`;
    const text = await host.readText(path).catch(() => undefined);
    if (text === undefined) continue;
    found = { path, text };
    break;
  }
  if (found === undefined) return undefined;
  const dropIns = new Map<string, string>();
  // A drop-in of the same name in an earlier directory hides the later one.
  for (const directory of [...DIRECTORIES].reverse()) {
    for (const name of (await host.list(`${directory}/${unit}.d`).catch(() => undefined)) ?? []) {
      if (name.endsWith('.conf')) dropIns.set(name, `${directory}/${unit}.d/${name}`);
    }
  }
  const texts = [found.text];
  for (const [, path] of [...dropIns].sort(([a], [b]) => (a < b ? -1 : 1))) {
    texts.push((await host.readText(path).catch(() => undefined)) ?? '');
  }
  return { path: found.path, text: texts.join('\n') };
}

/** All values of a setting, in order; an empty one takes back those before it (systemd.syntax(7)). */
export function settings(text: string, key: string): readonly string[] {
  let values: string[] = [];
  for (const line of text.replace(/\\\n/g, ' ').split('\n')) {
    const at = line.indexOf('=');
    if (at < 0 || line.slice(0, at).trim() !== key) continue;
    const value = line.slice(at + 1).trim();
    values = value === '' ? [] : [...values, value];
  }
  return values;
}

/** `enabled`, `disabled`, `masked`, …; undefined where systemctl is not there. Works without a running systemd. */
export async function enablement(host: QueryHost, unit: string): Promise<string | undefined> {
  const { status, stdout } = await host.query({ program: 'systemctl', args: ['is-enabled', unit] });
  return status === 127 ? undefined : stdout.trim().split('\n')[0] || 'not-found';
}
