import { dirname } from 'node:path/posix';
import type { TomlTable } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { nameGlob } from '@machineadm/document/text/glob.ts';
import { mergeTables, stringsAt, tableAt, without } from '../../container-runtime/toml-tree.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { FoundConfiguration, FoundFiles } from './changed-values.ts';
import { CONFIGURATION_PATH } from './configuration.ts';
import { parseTable, placesOf } from './toml-text.ts';

/** A text that is not TOML, and the place of the error. */
export interface NotToml {
  readonly row: number;
  readonly column: number;
  readonly message: string;
}

/** The tree of a text, or why it cannot be parsed. */
export async function parseToml(text: string): Promise<{ readonly tree: TomlTable } | { readonly problem: NotToml }> {
  const { TomlError } = await import('smol-toml');
  try {
    return { tree: await parseTable(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = error.message.split('\n')[0] ?? '';
    return { problem: { row: error.line, column: error.column, message } };
  }
}

/** A foreign file that is to be merged into. Throws `ContainerdConfigSyntax`. */
export async function parseOthers(path: string, text: string): Promise<FoundConfiguration> {
  const parsed = await parseToml(text);
  if ('tree' in parsed) return { tree: parsed.tree, places: await placesOf(path, text) };
  const { row, column, message } = parsed.problem;
  throw new MachineadmError({
    reason: 'ContainerdConfigSyntax',
    summary: `${path} cannot be merged, because it is not valid TOML at row ${row}, column ${column}`,
    remedy: 'Correct it, or set mode: Managed in containerRuntime.containerd, which replaces it and keeps a copy.',
    evidence: [{ source: path, text: message }],
  });
}

/**
 * A containerd 1.x configuration with its drop-ins merged, and their paths. In 1.x a drop-in replaces the whole section
 * of a plug-in (containerd/containerd#5837), so merged values in the main file would be lost.
 */
export async function withDropIns(
  host: QueryHost,
  root: FoundConfiguration,
): Promise<FoundConfiguration & FoundFiles & { readonly folded: readonly string[] }> {
  const folded: string[] = [];
  const files = [root];
  let tree = without(root.tree, ['imports']);
  let places = without(root.places, ['imports']);
  const pending = await matching(host, stringsAt(root.tree, ['imports']), CONFIGURATION_PATH);
  for (let path = pending.shift(); path !== undefined; path = pending.shift()) {
    const text = folded.includes(path) ? undefined : await host.readText(path);
    if (text === undefined) continue;
    folded.push(path);
    const dropIn = await parseOthers(path, text);
    files.push(dropIn);
    pending.push(...(await matching(host, stringsAt(dropIn.tree, ['imports']), path)));
    tree = replaced(tree, dropIn.tree);
    places = replaced(places, dropIn.places);
  }
  return { tree, places, folded, files };
}

/** containerd 1.x services/server/config/config.go, mergeConfig: lists grow, sections of plug-ins are replaced. */
function replaced(below: TomlTable, dropIn: TomlTable): TomlTable {
  const lists = ['disabled_plugins', 'required_plugins'].flatMap((key) => {
    const all = [...new Set([...stringsAt(below, [key]), ...stringsAt(dropIn, [key])])];
    return all.length === 0 ? [] : [[key, all] as const];
  });
  const plugins = { ...tableAt(below, ['plugins']), ...tableAt(dropIn, ['plugins']) };
  return {
    ...mergeTables(below, without(dropIn, ['version', 'imports', 'plugins'])),
    ...Object.fromEntries(lists),
    ...(Object.keys(plugins).length === 0 ? {} : { plugins }),
  };
}

/** The files of `imports`, in order; patterns only in the last part of a path, which is common practice. */
async function matching(host: QueryHost, imports: readonly string[], from: string): Promise<string[]> {
  const found: string[] = [];
  for (const written of imports) {
    const path = written.startsWith('/') ? written : `${dirname(from)}/${written}`;
    if (!/[*?[]/.test(path)) found.push(path);
    else {
      const directory = dirname(path);
      const pattern = nameGlob(path.slice(directory.length + 1));
      const names = (await host.list(directory)) ?? [];
      found.push(...names.filter((name) => pattern.matches(name)).map((name) => `${directory}/${name}`));
    }
  }
  return found;
}
