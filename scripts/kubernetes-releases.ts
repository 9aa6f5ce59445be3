/**
 * Compares the tables about a Kubernetes release with its source and its release notes, offline:
 * `node scripts/kubernetes-releases.ts DIRECTORY v1.38.0 [--write]`, where DIRECTORY is a checkout or an unpacked archive of
 * github.com/kubernetes/kubernetes at that tag. Prints each difference. `--write` updates the image tags and the feature
 * gates of the components. The exit code is 1 if there are differences (docs/kubernetes-releases.md).
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type ComponentGate,
  componentGates,
  componentGatesOf,
  NEWEST_COMPONENT_GATES_MINOR,
} from '@machineadm/document/kubernetes-releases/component-gates.ts';
import { CONFIGURATIONS, type Configuration } from '@machineadm/document/kubernetes-releases/configurations.ts';
import { REMOVED_FLAGS } from '@machineadm/document/kubernetes-releases/flags.ts';
import { companionTags } from '@machineadm/document/kubernetes-releases/images.ts';
import { kubeadmGates } from '@machineadm/document/kubernetes-releases/kubeadm.ts';
import { oldestKubelet } from '@machineadm/document/kubernetes-releases/version-skew.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { parseVersion, type Version } from '@machineadm/document/text/program-version.ts';

const CONSTANTS = 'cmd/kubeadm/app/constants/constants.go';
const KUBEADM_FEATURES = 'cmd/kubeadm/app/features/features.go';
const COMPONENT_FEATURES = 'test/compatibility_lifecycle/reference/feature_list.md';
/** Has no gates of client-go, but the value to which a gate is locked. */
const LOCKED_VALUES = 'test/compatibility_lifecycle/reference/versioned_feature_list.yaml';
const TABLES = resolve(import.meta.dirname, '../packages/document/src/kubernetes-releases');

/** Reads a file of the source of a release. */
type Source = (path: string) => string;

/** The differences between the tables and the source of a release; empty if they agree. */
export function differences(directory: string, release: Version): string[] {
  const source: Source = (path) => readFileSync(join(directory, path), 'utf8');
  const notes = `CHANGELOG/CHANGELOG-1.${release.minor}.md`;
  return [
    ...ofImages(source, release),
    ...ofKubeletSkew(source(CONSTANTS), release),
    ...compareNames('kubeadm gate', kubeadmGates(release.minor), kubeadmGatesOf(source), release.minor),
    ...ofComponentGates(componentFeatures(source), release),
    ...(existsSync(join(directory, notes)) ? ofReleaseNotes(source(notes), release) : [`${notes} is missing`]),
  ];
}

/**
 * The tables, updated from the source of a release: the text of `images.ts` and of `component-gates.ts`, by name.
 *
 * @throws Error for a minor that does not follow the last one of the table of gates: the minors between would be guessed
 */
export function refreshed(directory: string, release: Version, read: (file: string) => string): Map<string, string> {
  const source: Source = (path) => readFileSync(join(directory, path), 'utf8');
  return new Map([
    ['images.ts', withImages(read('images.ts'), release, imageTags(source, release.minor))],
    ['component-gates.ts', withGates(read('component-gates.ts'), release.minor, componentFeatures(source))],
  ]);
}

interface Tags {
  readonly etcd: string;
  readonly coredns: string;
  readonly pause: string;
}

function imageTags(source: Source, minor: number): Tags {
  const constants = source(CONSTANTS);
  const constant = (name: string): string =>
    found(new RegExp(`\\b${name} *(?:string *)?= *"([^"]+)"`).exec(constants), name, CONSTANTS);
  const supported = /SupportedEtcdVersion = map\[uint8\]string\{([^}]*)\}/.exec(constants)?.[1] ?? '';
  const ofMinor = new RegExp(`\\b${minor}: *"([^"]+)"`).exec(supported)?.[1];
  return {
    etcd: ofMinor ?? constant('DefaultEtcdVersion'),
    coredns: constant('CoreDNSVersion'),
    pause: constant('PauseVersion'),
  };
}

function rowOf({ minor, patch }: Version, { etcd, coredns, pause }: Tags, from = patch): string {
  return `${minor}.${from}-${patch} ${etcd} ${coredns} ${pause}`;
}

function ofImages(source: Source, release: Version): string[] {
  const theirs = imageTags(source, release.minor);
  const ours = companionTags(release);
  const line = rowOf(release, theirs);
  if (ours === undefined) return [`images: 1.${release.minor} is in no table; add ${line}`];
  const { etcd, coredns, pause } = ours.tags;
  if (rowOf(release, { etcd, coredns, pause }) !== line) return [`images: the tags differ; add ${line}`];
  return ours.known ? [] : [`images: the tags are right up to ${release.minor}.${release.patch}`];
}

/** Extends the last line of the minor if its tags are the same; otherwise adds a line for the release. */
function withImages(file: string, release: Version, tags: Tags): string {
  const { minor, patch } = release;
  const [before, lines, after] = tableOf(file, 'images.ts');
  const place = lines.findLastIndex((line) => Number.parseInt(line, 10) <= minor);
  const [, ofMinor, from, to, theirs] = /^(\d+)\.(\d+)-(\d+) (.*)$/.exec(lines[place] ?? '') ?? [];
  const isSame = Number(ofMinor) === minor && rowOf(release, tags).endsWith(` ${theirs}`);
  if (Number(ofMinor) === minor && patch <= Number(to)) return file;
  if (isSame) lines[place] = rowOf(release, tags, Number(from));
  else lines.splice(place + 1, 0, rowOf(release, tags));
  return `${before}${lines.join('\n')}${after}`;
}

function ofKubeletSkew(constants: string, release: Version): string[] {
  const skew = /MinimumKubeletVersion = getSkewedKubernetesVersion\(-(\d+)\)/.exec(constants);
  const theirs = release.minor - Number(found(skew, 'MinimumKubeletVersion', CONSTANTS));
  const ours = oldestKubelet(release);
  return ours === theirs ? [] : [`kubelet: 1.${theirs} is the oldest that kubeadm takes, the table says 1.${ours}`];
}

function kubeadmGatesOf(source: Source): ReadonlySet<string> {
  const list = /InitFeatureGates = FeatureList\{([\s\S]*?)\n\}/.exec(source(KUBEADM_FEATURES));
  const text = found(list, 'InitFeatureGates', KUBEADM_FEATURES);
  return new Set([...text.matchAll(/^\t(\w+): /gm)].map(([, name = '']) => name));
}

/** The lock of a gate, as in the table. */
type Lock = Pick<ComponentGate, 'lockedSince' | 'lockedTo'>;

/** The gates of a release, each with the minor that locks it, if any. */
function componentFeatures(source: Source): ReadonlyMap<string, Lock> {
  const toFalse = new Set(
    source(LOCKED_VALUES)
      .split('- name: ')
      .filter((entry) => /default: false\n *lockToDefault: true/.test(entry))
      .map((entry) => /^\w+/.exec(entry)?.[0]),
  );
  const rows = [...source(COMPONENT_FEATURES).matchAll(/^\| (\w+) \| [^|]* \| ([^|]*) \|/gm)];
  const gates = rows.filter(([, name]) => name !== 'Feature');
  if (gates.length === 0) throw new Error(`${COMPONENT_FEATURES} has no table of features`);
  return new Map(
    gates.map(([, name = '', lock = '']) => {
      const since = /1\.(\d+)\+/.exec(lock)?.[1];
      const value = toFalse.has(name) ? { lockedTo: false as const } : {};
      return [name, since === undefined ? {} : { lockedSince: Number(since), ...value }];
    }),
  );
}

/** The listed gates. AllAlpha and AllBeta are not in the list of a release: they set groups of other gates. */
function listedGatesOf(minor: number): readonly string[] {
  return componentGatesOf(minor).filter((name) => !/^All(Alpha|Beta)$/.test(name));
}

function ofComponentGates(theirs: ReadonlyMap<string, Lock>, { minor }: Version): string[] {
  const known = componentGates();
  const locks = [...theirs].flatMap(([name, { lockedSince: since, lockedTo = true }]) => {
    const { lockedSince: ours, lockedTo: to = true } = known.get(name) ?? {};
    if (!known.has(name) || since === undefined || since > minor || (ours === since && to === lockedTo)) return [];
    const said = ours === undefined ? 'never' : to === lockedTo ? `${ours}` : `${ours}, to ${to}`;
    return [`component gate ${name}: locked since 1.${since}, the table says ${said}`];
  });
  return [...compareNames('component gate', listedGatesOf(minor), new Set(theirs.keys()), minor), ...locks];
}

function withGates(file: string, minor: number, theirs: ReadonlyMap<string, Lock>): string {
  const newest = NEWEST_COMPONENT_GATES_MINOR;
  if (minor > newest + 1)
    throw new Error(`the gates of 1.${newest + 1} are not complete: run it for v1.${newest + 1}.0 first`);
  if (minor < newest) return file;
  const gates = new Map<string, ComponentGate>(componentGates());
  for (const name of listedGatesOf(minor)) {
    if (!theirs.has(name)) gates.set(name, { ...gates.get(name), until: minor - 1, untilAtMost: false });
  }
  for (const [name, { lockedSince, ...lock }] of theirs) {
    const known = gates.get(name) ?? { since: minor };
    const { until = minor, untilAtMost: _untilAtMost, ...back } = known;
    const gate = until < minor ? back : known;
    gates.set(name, lockedSince !== undefined && lockedSince <= minor ? { ...gate, ...lock, lockedSince } : gate);
  }
  const [before, , after] = tableOf(file, 'component-gates.ts');
  const marker = /(NEWEST_COMPONENT_GATES_MINOR = )\d+/;
  return `${before}${gateLines(gates).join('\n')}${after}`.replace(marker, `$1${minor}`);
}

const LINE_LENGTH = 120;

/** The lines of the table in `component-gates.ts`: sorted by first and last minor, then by name. */
export function gateLines(gates: ReadonlyMap<string, ComponentGate>): string[] {
  const windows = Map.groupBy(
    [...gates].filter(([name]) => !/^All(Alpha|Beta)$/.test(name)),
    ([, { since = 20, until, untilAtMost }]) => `${since}-${until ?? ''}${untilAtMost === true ? '~' : ''}`,
  );
  const order = (window: string): readonly number[] => {
    const [since = '', until = ''] = window.split('-');
    return [Number(since), until === '' ? Number.POSITIVE_INFINITY : Number.parseInt(until, 10), until.length];
  };
  const isBefore = (a: string, b: string): number => {
    const [first, second] = [order(a), order(b)];
    const place = first.findIndex((value, index) => value !== second[index]);
    return place === -1 ? 0 : (first[place] ?? 0) < (second[place] ?? 0) ? -1 : 1;
  };
  return [...windows.keys()].sort(isBefore).flatMap((window) => {
    const names = (windows.get(window) ?? [])
      .map(([name, { lockedSince, lockedTo }]) =>
        lockedSince === undefined ? name : `${name}!${lockedSince}${lockedTo === false ? 'f' : ''}`,
      )
      .sort();
    const lines = [window];
    for (const name of names) {
      const last = lines.at(-1) ?? window;
      if (last.length + 1 + name.length <= LINE_LENGTH) lines[lines.length - 1] = `${last} ${name}`;
      else lines.push(`${window} ${name}`);
    }
    return lines;
  });
}

/** Removals in the release notes that the tables do not have. They need manual review, because release notes are prose. */
function ofReleaseNotes(notes: string, { minor }: Version): string[] {
  const known = new Set(REMOVED_FLAGS.flatMap(({ removed, flags }) => (removed <= minor ? flags.split(' ') : [])));
  const found = new Map<string, string>();
  for (const item of notes.split(/\n(?=\s*- )/)) {
    if (!/\b(remov|drop|delet)/i.test(item) || !/\bkube(let|adm|-[a-z-]+)\b/.test(item)) continue;
    const pull = /\(\[#(\d+)\]/.exec(item)?.[1];
    const source = pull === undefined ? '' : ` (k/k#${pull})`;
    for (const [, flag = ''] of item.matchAll(/`--([a-z][a-z0-9-]*)/g)) {
      if (!known.has(flag))
        found.set(`--${flag}`, `release notes: the flag --${flag} is named with a removal${source}`);
    }
    for (const { group, versions } of Object.values<Configuration>(CONFIGURATIONS)) {
      for (const { name, until = Number.POSITIVE_INFINITY } of versions) {
        const version = `${group}/${name}`;
        if (until < minor || !item.split(/[^\w./-]+/).includes(version)) continue;
        found.set(version, `release notes: ${version} is named with a removal${source}`);
      }
    }
  }
  return [...found.values()];
}

function compareNames(kind: string, ours: readonly string[], theirs: ReadonlySet<string>, minor: number): string[] {
  const fresh = [...theirs].filter((name) => !ours.includes(name)).sort();
  const gone = ours.filter((name) => !theirs.has(name)).sort();
  return [
    ...fresh.map((name) => `${kind} ${name}: 1.${minor} has it, the table does not`),
    ...gone.map((name) => `${kind} ${name}: the table has it, 1.${minor} does not`),
  ];
}

/** The text before a table in a file, the lines of the table, and the text after it. */
function tableOf(file: string, name: string): readonly [string, string[], string] {
  const [, before = '', table = '', after = ''] =
    /^([\s\S]*const TABLE = `\n)([\s\S]*?)(\n`;[\s\S]*)$/.exec(file) ?? [];
  if (table === '') throw new Error(`${name} has no TABLE`);
  return [before, table.split('\n'), after];
}

function found(match: RegExpExecArray | null, what: string, path: string): string {
  if (match?.[1] === undefined) throw new Error(`${path} does not say ${what}: its form has changed`);
  return match[1];
}

function main(): number {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { write: { type: 'boolean' } } });
  const [directory, version = ''] = positionals;
  const release = parseVersion(version);
  if (directory === undefined || release === undefined) {
    process.stderr.write('usage: node scripts/kubernetes-releases.ts DIRECTORY v1.MINOR.PATCH [--write]\n');
    return 2;
  }
  const lines = differences(directory, release);
  process.stdout.write(lines.length === 0 ? 'the tables agree with the source\n' : `${lines.join('\n')}\n`);
  if (lines.length === 0 || values.write !== true) return lines.length === 0 ? 0 : 1;
  const read = (file: string): string => readFileSync(join(TABLES, file), 'utf8');
  for (const [file, text] of refreshed(directory, release, read)) {
    if (text === read(file)) continue;
    writeFileSync(join(TABLES, file), text);
    process.stdout.write(`wrote ${file}; run the script again: correct the differences that it still prints by hand\n`);
  }
  return 1;
}

if (import.meta.main) {
  try {
    process.exitCode = main();
  } catch (error) {
    process.stderr.write(`kubernetes-releases: ${errorMessage(error)}\n`);
    process.exitCode = 2;
  }
}
