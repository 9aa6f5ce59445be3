import type { Diagnostic } from '../diagnostics/index.ts';
import { decodeSource } from '../encodings/decode.ts';
import { mergeSources } from '../trees/merge.ts';
import { type MapTree, type ScalarTree, type Tree, toPlain } from '../trees/tree.ts';
import { DOCUMENT_VERSIONS } from '../versions/index.ts';
import type { DocumentVersion } from '../versions/version.ts';
import { parseYaml } from '../yaml/parse.ts';
import { SINK_OPTION } from './added-sinks.ts';
import { canonicalJson, sha256 } from './digest.ts';

/** The text of one source: a file of a drop-in directory, standard input, a file named on the command line. */
export interface DocumentSource {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * The sources merged in order, their declared version, the sinks of the command line, and the problems of the texts.
 * Throws `DocumentTooLarge` and `DocumentInvalid` (undecodable) for sources that are not text.
 */
export async function sourceTree(
  sources: readonly DocumentSource[],
  sinks: readonly string[],
  versions: readonly DocumentVersion[],
) {
  const problems: Diagnostic[] = [];
  const maps: MapTree[] = [];
  for (const source of sources) {
    const text = await decodeSource(source.name, source.bytes);
    const parsed = parseYaml(source.name, text, problems);
    if (parsed?.kind === 'map') maps.push(parsed);
    else if (parsed !== undefined) {
      const message = 'the document is not a map';
      problems.push({
        code: 'InvalidType',
        place: parsed.at,
        path: '',
        message,
        hint: 'it begins with apiVersion and kind',
      });
    }
  }
  const added = sinks.flatMap((text) => parseYaml(SINK_OPTION, text, problems) ?? []);
  const declared = versions.find((one) => maps.some((map) => scalarOf(map, 'apiVersion') === one.apiVersion));
  const merged = mergeSources(maps, (path) => (declared ?? versions.at(-1))?.entryKeys?.(path));
  const isWhole = maps.length === sources.length && added.length === sinks.length;
  return { ...merged, declared, added, problems, isWhole };
}

/** A document's own declarations, before it is validated and its variables are known. */
export interface WrittenDocument {
  /** `LoadedDocument.writtenDigest`. */
  readonly digest: string;
  /** Default `Once`, as in the model. */
  readonly apply: 'Once' | 'EveryBoot';
}

/** The same for sources that were only read; undefined for a text that is not a document. Throws as `sourceTree`. */
export async function writtenDocument(sources: readonly DocumentSource[]): Promise<WrittenDocument | undefined> {
  const { tree, problems, isWhole } = await sourceTree(sources, [], DOCUMENT_VERSIONS);
  if (tree === undefined || problems.length > 0 || !isWhole) return undefined;
  const apply = scalarOf(tree, 'apply') === 'EveryBoot' ? 'EveryBoot' : 'Once';
  return { digest: await treeDigest(tree), apply };
}

/** Hex SHA-256 of a tree's content, independent of comments and key order. */
export async function treeDigest(tree: Tree): Promise<string> {
  return await sha256(canonicalJson(toPlain(tree)));
}

function scalarOf(map: MapTree, key: string): ScalarTree['value'] | undefined {
  const value = map.entries.get(key)?.value;
  return value?.kind === 'scalar' ? value.value : undefined;
}
