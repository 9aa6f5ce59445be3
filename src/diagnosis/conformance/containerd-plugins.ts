import { dirname, join } from 'node:path/posix';
import { pathGlob } from '@machineadm/document/text/glob.ts';
import { member, strings } from '@machineadm/document/values/untyped.ts';
import { parse } from 'smol-toml';
import type { RootTree } from '../../host/local-files/root-tree.ts';
import { startCommands, type Unit } from './unit-files.ts';

/** The plug-ins that CRI is made of: one in containerd 1.x, which `cri` names, too, and two in 2.x. */
const CRI = ['cri', 'io.containerd.grpc.v1.cri', 'io.containerd.cri.v1.runtime', 'io.containerd.cri.v1.images'];
const DEFAULT_PATH = '/etc/containerd/config.toml';

/**
 * The first plug-in of CRI that containerd's configuration disables, and where; without a plug-in: a file that is no TOML.
 * Lists of imported files are appended to those of the file that imports (containerd cmd/containerd/server/config).
 */
export function disabledCriPlugin(
  tree: RootTree,
  unit: Unit | undefined,
): { readonly path: string; readonly plugin: string | undefined } | undefined {
  const pending = [configurationPath(tree, unit)];
  const read = new Set<string>();
  for (let path = pending.shift(); path !== undefined; path = pending.shift()) {
    const text = read.has(path) ? undefined : tree.readText(path);
    read.add(path);
    if (text === undefined) continue;
    let table: unknown;
    try {
      table = parse(text);
    } catch {
      return { path, plugin: undefined };
    }
    const plugin = strings(member(table, 'disabled_plugins')).find((name) => CRI.includes(name));
    if (plugin !== undefined) return { path, plugin };
    const directory = dirname(path);
    pending.push(
      ...strings(member(table, 'imports')).flatMap((pattern) =>
        matching(tree, join(pattern.startsWith('/') ? '/' : directory, pattern)),
      ),
    );
  }
  return undefined;
}

/** `--config` of the unit's command, or the variable that stands for it (containerd cmd/containerd/command/main.go). */
function configurationPath(tree: RootTree, unit: Unit | undefined): string {
  const args = unit === undefined ? [] : (startCommands(tree, unit)[0]?.args ?? []);
  const [, named] = /(?:^| )(?:--config|-c)[= ](\S+)/.exec(args.join(' ')) ?? [];
  const variable = unit
    ?.list('Service', 'Environment')
    .map((value) => /CONTAINERD_CONFIG=([^\s"']+)/.exec(value)?.[1])
    .findLast((value) => value !== undefined);
  return named ?? variable ?? DEFAULT_PATH;
}

/** The files of a pattern in one directory: `/etc/containerd/conf.d/*.toml`. */
function matching(tree: RootTree, pattern: string): readonly string[] {
  if (!pattern.includes('*')) return [pattern];
  const directory = dirname(pattern);
  const names = pathGlob(pattern.slice(directory.length + 1));
  return tree.list(directory).flatMap((file) => (names.matches(file) ? [join(directory, file)] : []));
}
