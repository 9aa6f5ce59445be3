import { ownershipFindings } from '../claims/findings.ts';
import {
  type Diagnostic,
  type Finding,
  formatPath,
  type PathSegment,
  pathOf,
  type ReplacedPart,
  sortDiagnostics,
  unknownKey,
} from '../diagnostics/index.ts';
import type { Model } from '../model/index.ts';
import { schemaFindings } from '../schema/issues.ts';
import { searchFields } from '../schema/places.ts';
import { stripInvalid, type ValidPart } from '../schema/valid-part.ts';
import { isOptional } from '../schema/zod.ts';
import { placeOf, placeOfKey, type Tree, toPlain } from '../trees/tree.ts';
import { type Expansion, expandVariables, type VariableResolver } from '../trees/variables.ts';
import { DOCUMENT_VERSIONS } from '../versions/index.ts';
import type { ChangeablePart, DocumentVersion } from '../versions/version.ts';
import { withSinks } from './added-sinks.ts';
import { canonicalJson, sha256 } from './digest.ts';
import { checkHeader, checkRequires, convertible } from './header.ts';
import { PathSet } from './path-set.ts';
import { type DocumentSource, sourceTree, treeDigest } from './source-tree.ts';

export type { DocumentSource } from './source-tree.ts';

export interface LoadOptions {
  /** This agent's version, for `requires`. */
  readonly agentVersion: string;
  /** Resolves variables; without it (`validate` on another machine) their values stay unknown. */
  readonly resolveVariables?: VariableResolver;
  /** The first port on which every user of this machine may listen; without it that of Linux, 1024. */
  readonly unprivilegedFrom?: number;
  /** Sinks of the command line, each as YAML: added after those of the document. */
  readonly sinks?: readonly string[];
  /**
   * Applies what follows from the document as a whole, such as hardening profiles: the changed model, and
   * contradictions. Passed by the caller, because this room does not depend on hardening.
   */
  readonly complete?: (model: Model) => Promise<{ readonly model: Model; readonly findings: readonly Finding[] }>;
  /** The supported document versions; tests add a fictitious one. */
  readonly versions?: readonly DocumentVersion[];
}

export type LoadResult =
  | { readonly ok: true; readonly document: LoadedDocument }
  | { readonly ok: false; readonly reason: 'DocumentInvalid' | 'RequiresNewerAgent'; readonly problems: Diagnostic[] };

export interface LoadedDocument {
  readonly model: Model;
  readonly apiVersion: string;
  /** Hex SHA-256 of the merged document in a canonical form, independent of comments and key order. */
  readonly digest: string;
  /** The same for the document as written: before variables were replaced, and without sinks of the command line. */
  readonly writtenDigest: string;
  /** The same for the parts that may not change after the bootstrap; undefined without `kubernetes`. */
  readonly lastingDigest: string | undefined;
  /** `lastingDigest` of the same document with another version of Kubernetes, or without what an upgrade can change. */
  readonly lastingDigestWith: (kubernetes: string, without?: readonly ChangeablePart[]) => Promise<string | undefined>;
  /** The merged document with the place of every part, before variables were replaced. */
  readonly tree: Tree;
  /** Parts of earlier sources that later ones replaced or removed. */
  readonly replaced: readonly ReplacedPart[];
  readonly warnings: readonly Diagnostic[];
  /** Paths whose value depends on a variable that is unknown here; the model may lack them. */
  readonly unresolved: readonly string[];
}

/**
 * Loads the document from its sources, merged in the given order. Finds all problems before it returns. Throws
 * `DocumentTooLarge` and `DocumentInvalid` (undecodable) for sources that are not text.
 */
export async function loadDocument(sources: readonly DocumentSource[], options: LoadOptions): Promise<LoadResult> {
  const versions = options.versions ?? DOCUMENT_VERSIONS;
  const names = sources.map(({ name }) => name);
  const { tree, declared, replaced, added, problems, isWhole } = await sourceTree(
    sources,
    options.sinks ?? [],
    versions,
  );
  // A source that cannot be parsed leaves gaps, which are not problems of the others.
  if (tree === undefined || !isWhole) {
    return { ok: false, reason: 'DocumentInvalid', problems: sortDiagnostics(problems, names) };
  }
  const merged = withSinks(tree, added);
  const place = (finding: Finding): Diagnostic => placed(finding, merged);
  const fail = (reason: 'DocumentInvalid' | 'RequiresNewerAgent', findings: readonly Finding[]): LoadResult => ({
    ok: false,
    reason,
    problems: sortDiagnostics([...problems, ...findings.map(place)], names),
  });

  const { raw: given } = plainMap(merged, declared);
  const foreign = convertible(given);
  if (foreign !== undefined) return fail('DocumentInvalid', [foreign]);
  const header = checkHeader(given, versions);
  const version = versions.find((candidate) => candidate.apiVersion === given.get('apiVersion'));
  if (version === undefined) return fail('DocumentInvalid', header);
  const required = checkRequires(given.get('requires'), version, options.agentVersion);
  // A document for a newer agent is refused because of its version, not because of unknown fields.
  if (required.newer.length > 0) return fail('RequiresNewerAgent', required.newer);
  const expansion = await expandIn(merged, given, version, options.resolveVariables);
  const { raw, misfits } = plainMap(expansion.tree, version);
  const unknown = new PathSet(expansion.unknown);
  const misfitting = new PathSet(misfits.map(({ path }) => path));
  const judged = checkSections(raw, version).filter(({ path }) => !unknown.has(path) && !misfitting.has(path));
  const mistakes = [...judged, ...misfits, ...expansion.findings];
  const wrong = new PathSet(mistakes.map(({ path }) => path));
  const sections = soundSections(raw, version);
  const checked = await version.check(plainData(sections), options.unprivilegedFrom);
  const plainModel = await modelOf(version, sections, [...header, ...required.mistakes, ...mistakes, ...checked]);
  const across = [...checked, ...(plainModel === undefined ? [] : ownershipFindings(plainModel))]
    .map((finding) => inWholeDocument(finding, sections))
    // A part that is wrong or not known yet was left out, and may be what seems to be missing.
    .filter(({ path, about = [path] }) => !about.some((subject) => wrong.touches(subject) || unknown.touches(subject)));
  const findings = [...header, ...required.mistakes, ...mistakes, ...across];
  if (findings.length > 0 || problems.length > 0 || plainModel === undefined) return fail('DocumentInvalid', findings);
  const completed = (await options.complete?.(plainModel)) ?? { model: plainModel, findings: [] };
  if (completed.findings.length > 0) return fail('DocumentInvalid', completed.findings);
  const lastingDigestWith = async (
    kubernetes?: string,
    without?: readonly ChangeablePart[],
  ): Promise<string | undefined> => {
    const lasting = version.lasting(plainData(sections), kubernetes, without);
    return lasting === undefined ? undefined : await sha256(canonicalJson(lasting));
  };
  return {
    ok: true,
    document: {
      model: completed.model,
      apiVersion: version.apiVersion,
      digest: await sha256(canonicalJson(Object.fromEntries(raw))),
      writtenDigest: await treeDigest(tree),
      lastingDigest: await lastingDigestWith(),
      lastingDigestWith,
      tree: merged,
      replaced,
      warnings: sortDiagnostics(
        (version.lint?.(plainData(sections)) ?? []).map((finding) => place({ code: 'Risk', ...finding })),
        names,
      ),
      unresolved: expansion.unknown.map(formatPath),
    },
  };
}

/** The model; for an invalid document a model of its valid parts, or undefined. */
async function modelOf(
  version: DocumentVersion,
  sections: ReadonlyMap<string, ValidPart>,
  mistakes: readonly Finding[],
): Promise<Model | undefined> {
  try {
    return await version.toModel(plainData(sections));
  } catch (error) {
    if (mistakes.length === 0) throw error;
    return undefined;
  }
}

function placed(finding: Finding, tree: Tree): Diagnostic {
  const { code = 'Conflict', path, key, other, hint } = finding;
  const place = key === undefined ? placeOf(tree, path) : placeOfKey(tree, path.slice(0, -1), key);
  const message = other === undefined ? finding.message : `${finding.message} ${whereIs(tree, other)}`;
  return { code, place, path: pathOf(finding), message, hint };
}

/** `host.swap (node.yaml:7:3)`. */
function whereIs(tree: Tree, path: readonly PathSegment[]): string {
  const { file, line, column } = placeOf(tree, path);
  return `${formatPath(path)} (${file}:${line}:${column})`;
}

/**
 * The document as plain data, with the numbers that JavaScript cannot represent, and keys that an object cannot have.
 */
function plainMap(
  tree: Tree,
  version: DocumentVersion | undefined,
): { readonly raw: ReadonlyMap<string, unknown>; readonly misfits: readonly Finding[] } {
  const misfits: (readonly PathSegment[])[] = [];
  const reserved = [...reservedKeys(tree)].map(
    (path): Finding => ({
      code: 'UnknownField',
      path,
      key: '__proto__',
      message: 'a key that no field has',
      hint: 'remove it',
    }),
  );
  const plain = toPlain(tree, version?.keepsNumber?.bind(version) ?? (() => false), misfits);
  return {
    raw: new Map(plain !== null && typeof plain === 'object' ? Object.entries(plain) : []),
    misfits: [
      ...reserved,
      ...misfits.map(
        (path): Finding => ({
          code: 'InvalidValue',
          path,
          message: 'a number that is too large to be kept exactly, or not finite',
          hint: 'write it in quotes if it is a text',
        }),
      ),
    ],
  };
}

/** The paths of keys `__proto__`: zod drops them with everything below. */
function* reservedKeys(tree: Tree, path: readonly PathSegment[] = []): Generator<readonly PathSegment[]> {
  if (tree.kind === 'list')
    for (const [index, item] of tree.items.entries()) yield* reservedKeys(item, [...path, index]);
  if (tree.kind !== 'map') return;
  for (const [key, { value }] of tree.entries) {
    if (key === '__proto__') yield [...path, key];
    else yield* reservedKeys(value, [...path, key]);
  }
}

/** Replaces variables, if their own section is valid. */
async function expandIn(
  tree: Tree,
  raw: ReadonlyMap<string, unknown>,
  version: DocumentVersion,
  resolve: VariableResolver | undefined,
): Promise<Expansion> {
  const { variables } = version;
  const schema = variables === undefined ? undefined : version.sections[variables.section]?.schema;
  if (variables === undefined || schema === undefined) return { tree, findings: [], unknown: [] };
  const section = raw.get(variables.section);
  if (section !== undefined && schemaFindings(schema, section, []).length > 0)
    return { tree, findings: [], unknown: [] };
  const document = Object.fromEntries(raw);
  const sources = variables.sources(section);
  const allowed = (path: readonly PathSegment[]) => {
    if (!variables.isExpandable(path, document)) return undefined;
    return variables.isShellText(path) ? 'shell' : 'text';
  };
  return await expandVariables(tree, sources, allowed, resolve);
}

function checkSections(raw: ReadonlyMap<string, unknown>, version: DocumentVersion): Finding[] {
  const findings: Finding[] = [];
  const elsewhere = searchFields(version.sections);
  const known = ['apiVersion', 'kind', 'requires', ...Object.keys(version.sections)];
  for (const [key, value] of raw) {
    if (!known.includes(key)) findings.push(unknownKey([key], { known, value, meant: elsewhere(key) }));
  }
  for (const [name, { schema }] of Object.entries(version.sections)) {
    if (raw.has(name))
      for (const finding of schemaFindings(schema, raw.get(name), [name], elsewhere)) findings.push(finding);
    else if (!isOptional(schema))
      findings.push({ code: 'MissingField', path: [], message: `"${name}" is missing`, hint: `add ${name}` });
  }
  return findings;
}

/** Each existing section, without the parts that its schema refuses, so that all problems are found. */
function soundSections(raw: ReadonlyMap<string, unknown>, version: DocumentVersion): ReadonlyMap<string, ValidPart> {
  const sound = new Map<string, ValidPart>();
  for (const [name, { schema }] of Object.entries(version.sections)) {
    const part = raw.has(name) ? stripInvalid(schema, raw.get(name)) : undefined;
    if (part !== undefined) sound.set(name, part);
  }
  return sound;
}

function plainData(sections: ReadonlyMap<string, ValidPart>): Readonly<Record<string, unknown>> {
  return Object.fromEntries([...sections].map(([name, part]) => [name, part.data]));
}

function inWholeDocument(finding: Finding, sections: ReadonlyMap<string, ValidPart>): Finding {
  const whole = ([name, ...path]: readonly PathSegment[]): readonly PathSegment[] => {
    const part = sections.get(String(name));
    if (name === undefined) return [];
    return [name, ...(part?.original(path) ?? path)];
  };
  const about = finding.about === undefined ? {} : { about: finding.about.map(whole) };
  const other = finding.other === undefined ? {} : { other: whole(finding.other) };
  return { ...finding, path: whole(finding.path), ...about, ...other };
}
