import { SINK_OPTION, withSinks } from './added-sinks.ts';
import { decodeSource } from './decode.ts';
import type { Finding } from './diagnostics.ts';
import { type Diagnostic, formatPath, nearestName, type PathSegment, sortDiagnostics } from './diagnostics.ts';
import { parseJsonTree } from './json-tree.ts';
import type { Model } from './model.ts';
import { satisfies } from './requires.ts';
import { type SoundPart, schemaFindings, withoutMistakes } from './schema-issues.ts';
import { type MapTree, mergeTrees, parseTree, placeOf, placeOfKey, type Tree, toPlain } from './tree.ts';
import { type Expansion, expandVariables, type VariableResolver } from './variables.ts';
import { DOCUMENT_VERSIONS } from './versions/index.ts';
import type { DocumentVersion } from './versions/version.ts';

/** What was read from one place: a file of a drop-in directory, standard input, a file named on the command line. */
export interface DocumentSource {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface LoadOptions {
  /** This agent's version, for `requires`. */
  readonly agentVersion: string;
  /** Finds out what variables are; without it (`validate` on another machine) their values stay unknown. */
  readonly resolveVariables?: VariableResolver;
  /** Sinks of the command line, each as YAML: behind those of the document. */
  readonly sinks?: readonly string[];
  /**
   * What follows from the document as a whole, as its hardening profiles do: the model with that in it, and where the
   * document contradicts itself. Given by the caller, because this room knows nothing of Kubernetes.
   */
  readonly complete?: (model: Model) => Promise<{ readonly model: Model; readonly findings: readonly Finding[] }>;
  /** Document versions to read; tests add one that does not exist yet. */
  readonly versions?: readonly DocumentVersion[];
}

export type LoadResult =
  | { readonly ok: true; readonly document: LoadedDocument }
  | { readonly ok: false; readonly reason: 'DocumentInvalid' | 'RequiresNewerAgent'; readonly problems: Diagnostic[] };

export interface LoadedDocument {
  readonly model: Model;
  readonly apiVersion: string;
  /** Hex SHA-256 of the merged document in a canonical form: comments and key order do not count. */
  readonly digest: string;
  /** The same of what may not change once the machine is bootstrapped; undefined without `kubernetes`. */
  readonly lastingDigest: string | undefined;
  /** The merged document with the place of every part, before variables were replaced. */
  readonly tree: Tree;
  /** What is allowed but will hurt. */
  readonly warnings: readonly Diagnostic[];
  /** Paths whose value depends on a variable that could not be asked for here; the model may lack them. */
  readonly unresolved: readonly string[];
}

/**
 * Loads the document from its sources, merged in the order given. Finds all mistakes before it returns. Throws
 * `DocumentTooLarge` and `DocumentInvalid` (undecodable) for sources that cannot be read as text at all.
 */
export async function loadDocument(sources: readonly DocumentSource[], options: LoadOptions): Promise<LoadResult> {
  const problems: Diagnostic[] = [];
  let tree: MapTree | undefined;
  for (const source of sources) {
    const text = await decodeSource(source.name, source.bytes);
    const parsed = parseJsonTree(source.name, text) ?? parseTree(source.name, text, problems);
    if (parsed === undefined) continue;
    if (parsed.kind !== 'map') {
      const message = 'the document is not a map';
      problems.push({ place: parsed.at, path: '', message, hint: 'it begins with apiVersion and kind' });
      continue;
    }
    tree = tree === undefined ? parsed : mergeTrees(tree, parsed);
  }
  const names = sources.map((source) => source.name);
  if (tree === undefined) {
    return { ok: false, reason: 'DocumentInvalid', problems: sortDiagnostics(problems, names) };
  }
  const added = (options.sinks ?? []).flatMap((text) => parseTree(SINK_OPTION, text, problems) ?? []);
  const merged = withSinks(tree, added);
  const place = (finding: Finding): Diagnostic => ({
    place:
      finding.key === undefined
        ? placeOf(merged, finding.path)
        : placeOfKey(merged, finding.path.slice(0, -1), finding.key),
    path: formatPath(finding.path),
    message: finding.message,
    hint: finding.hint,
  });
  const fail = (reason: 'DocumentInvalid' | 'RequiresNewerAgent', findings: readonly Finding[]): LoadResult => ({
    ok: false,
    reason,
    problems: sortDiagnostics([...problems, ...findings.map(place)], names),
  });

  let raw = plainMap(merged);
  const versions = options.versions ?? DOCUMENT_VERSIONS;
  const header = checkHeader(raw, versions);
  const version = versions.find((candidate) => candidate.apiVersion === raw.get('apiVersion'));
  if (version === undefined) return fail('DocumentInvalid', header);
  const required = checkRequires(raw.get('requires'), version, options.agentVersion);
  // A document for a newer agent is refused for that, not for the fields that this agent cannot know.
  if (required.newer.length > 0) return fail('RequiresNewerAgent', required.newer);
  const expansion = await expandIn(merged, raw, version, options.resolveVariables);
  raw = plainMap(expansion.tree);
  const judged = checkSections(raw, version).filter((finding) => !isUnknown(finding, expansion.unknown));
  const mistakes = [...judged, ...expansion.findings];
  const sections = soundSections(raw, version);
  const across = (await version.check(plainData(sections)))
    .map((finding) => inWholeDocument(finding, sections))
    .filter(
      (finding) =>
        !touches(
          finding,
          mistakes.map(({ path }) => path),
        ),
    )
    // A part that is not known yet was left out: it may be what is missed.
    .filter((finding) => !touches(finding, expansion.unknown));
  const findings = [...header, ...required.mistakes, ...mistakes, ...across];
  if (findings.length > 0 || problems.length > 0) return fail('DocumentInvalid', findings);
  const plainModel = await version.toModel(plainData(sections));
  const completed = (await options.complete?.(plainModel)) ?? { model: plainModel, findings: [] };
  if (completed.findings.length > 0) return fail('DocumentInvalid', completed.findings);
  const lasting = version.lasting(plainData(sections));
  return {
    ok: true,
    document: {
      model: completed.model,
      apiVersion: version.apiVersion,
      digest: await sha256(canonicalJson(Object.fromEntries(raw))),
      lastingDigest: lasting === undefined ? undefined : await sha256(canonicalJson(lasting)),
      tree: merged,
      warnings: sortDiagnostics((version.lint?.(plainData(sections)) ?? []).map(place), names),
      unresolved: expansion.unknown.map(formatPath),
    },
  };
}

function plainMap(tree: Tree): ReadonlyMap<string, unknown> {
  const plain = toPlain(tree);
  return new Map(plain !== null && typeof plain === 'object' ? Object.entries(plain) : []);
}

/** Replaces variables, when their own section is sound. */
async function expandIn(
  tree: Tree,
  raw: ReadonlyMap<string, unknown>,
  version: DocumentVersion,
  resolve: VariableResolver | undefined,
): Promise<Expansion> {
  const { variables } = version;
  const schema = variables === undefined ? undefined : version.sections[variables.section];
  if (variables === undefined || schema === undefined) return { tree, findings: [], unknown: [] };
  const parsed = schema.optional().safeParse(raw.get(variables.section));
  if (!parsed.success) return { tree, findings: [], unknown: [] };
  const document = Object.fromEntries(raw);
  const sources = variables.sources(parsed.data);
  return await expandVariables(tree, sources, (path) => variables.isExpandable(path, document), resolve);
}

/** Whether a finding is about text that nobody could know yet. */
function isUnknown(finding: Finding, unknown: readonly (readonly PathSegment[])[]): boolean {
  return unknown.some(
    (path) => path.length === finding.path.length && path.every((segment, index) => segment === finding.path[index]),
  );
}

function checkHeader(raw: ReadonlyMap<string, unknown>, versions: readonly DocumentVersion[]): Finding[] {
  const findings: Finding[] = [];
  const known = versions.map((version) => version.apiVersion).join(', ');
  const apiVersion = raw.get('apiVersion');
  if (apiVersion === undefined) {
    findings.push({
      path: [],
      message: '"apiVersion" is missing',
      hint: `add apiVersion: ${versions.at(-1)?.apiVersion}`,
    });
  } else if (!versions.some((version) => version.apiVersion === apiVersion)) {
    const message = `this agent does not read ${JSON.stringify(apiVersion)}`;
    findings.push({ path: ['apiVersion'], message, hint: `it reads ${known}; a newer agent may read more` });
  }
  const kind = raw.get('kind');
  if (kind === undefined) findings.push({ path: [], message: '"kind" is missing', hint: 'add kind: MachineBootstrap' });
  else if (kind !== 'MachineBootstrap') {
    findings.push({ path: ['kind'], message: 'not a bootstrap document', hint: 'kind must be MachineBootstrap' });
  }
  return findings;
}

function checkRequires(
  requires: unknown,
  version: DocumentVersion,
  agentVersion: string,
): { mistakes: Finding[]; newer: Finding[] } {
  const mistakes: Finding[] = [];
  const newer: Finding[] = [];
  if (requires === undefined) return { mistakes, newer };
  if (requires === null || typeof requires !== 'object' || Array.isArray(requires)) {
    mistakes.push({ path: ['requires'], message: 'expected a map with agentVersion or features' });
    return { mistakes, newer };
  }
  for (const [key, value] of Object.entries(requires) as [string, unknown][]) {
    const path = ['requires', key];
    if (key === 'agentVersion') {
      const satisfied = typeof value === 'string' ? satisfies(agentVersion, value) : undefined;
      if (satisfied === undefined) {
        mistakes.push({ path, message: 'not a version condition', hint: 'write it such as ">=0.1.0"' });
      } else if (!satisfied) {
        const message = `the document needs an agent ${String(value)}; this is ${agentVersion}`;
        newer.push({ path, message, hint: 'install a matching machineadm in the image' });
      }
    } else if (key === 'features') {
      const features: readonly unknown[] = Array.isArray(value) ? value : [];
      if (!Array.isArray(value) || features.some((feature) => typeof feature !== 'string')) {
        mistakes.push({ path, message: 'expected a list of feature names' });
      }
      features.forEach((feature, index) => {
        if (typeof feature === 'string' && !version.features.includes(feature)) {
          const message = `this agent lacks the feature "${feature}"`;
          newer.push({ path: [...path, index], message, hint: 'install a newer machineadm in the image' });
        }
      });
    } else {
      const near = nearestName(key, ['agentVersion', 'features']);
      const hint = near === undefined ? 'known here: agentVersion, features' : `did you mean "${near}"?`;
      mistakes.push({ path, key, message: 'unknown key', hint });
    }
  }
  return { mistakes, newer };
}

function checkSections(raw: ReadonlyMap<string, unknown>, version: DocumentVersion): Finding[] {
  const findings: Finding[] = [];
  const known = ['apiVersion', 'kind', 'requires', ...Object.keys(version.sections)];
  for (const key of raw.keys()) {
    if (known.includes(key)) continue;
    const near = nearestName(key, known);
    const hint = near === undefined ? `known here: ${known.join(', ')}` : `did you mean "${near}"?`;
    findings.push({ path: [key], key, message: 'unknown key', hint });
  }
  for (const name of version.required) {
    if (!raw.has(name)) findings.push({ path: [], message: `"${name}" is missing`, hint: `add ${name}` });
  }
  for (const [name, schema] of Object.entries(version.sections)) {
    if (raw.has(name)) findings.push(...schemaFindings(schema, raw.get(name), [name]));
  }
  return findings;
}

/** Each section that is there, without the parts that its schema refuses: one mistake must not hide another. */
function soundSections(raw: ReadonlyMap<string, unknown>, version: DocumentVersion): ReadonlyMap<string, SoundPart> {
  const sound = new Map<string, SoundPart>();
  for (const [name, schema] of Object.entries(version.sections)) {
    const part = raw.has(name) ? withoutMistakes(schema, raw.get(name)) : undefined;
    if (part !== undefined) sound.set(name, part);
  }
  return sound;
}

function plainData(sections: ReadonlyMap<string, SoundPart>): Readonly<Record<string, unknown>> {
  return Object.fromEntries([...sections].map(([name, part]) => [name, part.data]));
}

function inWholeDocument(finding: Finding, sections: ReadonlyMap<string, SoundPart>): Finding {
  const whole = ([name, ...path]: readonly PathSegment[]): readonly PathSegment[] => {
    const part = sections.get(String(name));
    if (name === undefined) return [];
    return [name, ...(part?.original(path) ?? path)];
  };
  const about = finding.about === undefined ? {} : { about: whole(finding.about) };
  const message =
    finding.other === undefined ? finding.message : `${finding.message} ${formatPath(whole(finding.other))}`;
  return { ...finding, message, path: whole(finding.path), ...about };
}

/** Whether a finding is about one of these places, which are known to be wrong, or not known at all. */
function touches(finding: Finding, places: readonly (readonly PathSegment[])[]): boolean {
  const about = finding.about ?? finding.path;
  return places.some((path) => {
    const shared = Math.min(path.length, about.length);
    return path.slice(0, shared).every((segment, index) => segment === about[index]);
  });
}

/** JSON with sorted keys: the same document in another order has the same digest. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
