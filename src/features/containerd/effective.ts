import type { TomlTable, TomlValue } from '@machineadm/document/model/index.ts';
import { type Evidence, evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import { Verbatim, wholeNumber } from '@machineadm/document/values/verbatim.ts';
import { dottedKey, isTable, leavesOf, valueAt } from '../../container-runtime/toml-tree.ts';
import type { CommandResult, QueryHost } from '../../host/seam/host.ts';
import { CONFIGURATION_PATH, holdsCredentials } from './configuration.ts';
import { parseTable } from './toml-text.ts';

const STDIN = '/dev/stdin';

/**
 * Asks the installed containerd for its interpretation of a configuration before it is activated: `containerd -c
 * /dev/stdin config dump` parses it, reads its drop-ins and prints every effective value. Returns the drop-ins, and
 * those values. Throws `ContainerdConfigSyntax`, `ContainerdConfigUnknownKey` or `ContainerdConfigNotEffective`.
 * The dump is no validation: contradictions show only when the daemon starts (`health.ts`).
 */
export async function checkConfiguration(
  host: QueryHost,
  tree: TomlTable,
  text: string,
): Promise<{ readonly dropIns: readonly string[]; readonly effective: TomlTable }> {
  const dump = await host.query({ program: 'containerd', args: ['-c', STDIN, 'config', 'dump'], input: text });
  const unknown = unknownKeys(dump.stderr, tree);
  if (unknown.length > 0) throw unknownKey(unknown, evidenceOf(dump));
  if (dump.status !== 0) throw dump.timedOut ? noAnswer(dump) : refused(dump, tree, text);

  const effective = await parseTable(dump.stdout);
  const dropIns = importsOf(effective).filter((path) => path !== STDIN);
  assertEffective(tree, effective, dropIns);
  return { dropIns, effective };
}

/** Compares every value of `tree` with containerd's effective values. Exported for its tests. */
export function assertEffective(tree: TomlTable, effective: TomlTable, dropIns: readonly string[]): void {
  const moved = typeof effective.version === 'number' && effective.version >= 4 ? MOVED_IN_VERSION_4 : [];
  const unknown: string[] = [];
  const different: Difference[] = [];
  for (const { path, value } of leavesOf(tree)) {
    if (path.length === 1 && ['version', 'imports'].includes(path[0] ?? '')) continue;
    if (moved.includes(path[0] ?? '')) continue;
    const got = valueAt(effective, path);
    if (got === undefined) {
      // The dump may omit a zero value; an unknown key with a zero value does no harm either.
      if (!isZero(value)) unknown.push(dottedKey(path));
    } else if (!holds(path, value, got)) different.push({ key: dottedKey(path), want: value, got });
  }
  if (different.length > 0) throw notEffective(different, dropIns);
  if (unknown.length > 0) throw unknownKey(unknown, []);
}

/** containerd 2.3 prints these as separate plug-ins (cmd/containerd/server/config, serviceMigrate). */
const MOVED_IN_VERSION_4 = ['grpc', 'ttrpc', 'debug', 'metrics'];

interface Difference {
  readonly key: string;
  readonly want: TomlValue;
  readonly got: TomlValue;
}

function isZero(value: TomlValue): boolean {
  return value === '' || amountOf(value) === 0 || value === false || (Array.isArray(value) && value.length === 0);
}

/** Drop-ins may extend a list, but nothing may be added to the disabled plug-ins. */
function holds(path: readonly string[], want: TomlValue, got: TomlValue): boolean {
  if (Array.isArray(want) && Array.isArray(got)) {
    const all = want.every((item) => got.some((other) => sameText(item, other)));
    return all && (path.at(-1) !== 'disabled_plugins' || want.length === got.length);
  }
  if (typeof want === 'string' && typeof got === 'string') return want === got || sameDuration(want, got);
  return sameText(want, got);
}

/** A table in a list has more keys in the dump: omitted ones with their defaults. */
function sameText(want: TomlValue, got: TomlValue): boolean {
  if (isTable(want) && isTable(got)) {
    return leavesOf(want).every(({ path, value }) => {
      const there = valueAt(got, path);
      return there === undefined ? isZero(value) : sameText(value, there);
    });
  }
  const amount = amountOf(want);
  if (amount !== undefined && amountOf(got) === amount) return exactText(want) === exactText(got);
  return JSON.stringify(want) === JSON.stringify(got);
}

/** The numeric value: containerd prints 1e3 as 1000.0, and 16_384 without the underscore. */
function amountOf(value: TomlValue): number | undefined {
  const amount = value instanceof Verbatim ? Number(value.text.replaceAll('_', '')) : value;
  return typeof amount === 'number' && !Number.isNaN(amount) ? amount : undefined;
}

/** Above 2^53 numbers are inexact: then the digits are compared. */
function exactText(value: TomlValue): string {
  const text = String(value).replaceAll('_', '');
  return Number.isSafeInteger(Number(text)) ? '' : (wholeNumber(text)?.toString() ?? '');
}

/** Go prints a duration of "5m" as "5m0s" (time.Duration.String). */
function sameDuration(a: string, b: string): boolean {
  const first = durationMs(a);
  return first !== undefined && first === durationMs(b);
}

const UNITS_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};

function durationMs(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(h|ms|us|µs|ns|m|s))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, amount, unit = ''] of text.matchAll(/(?<!\d)(\d+(?:\.\d+)?)(h|ms|us|µs|ns|m|s)/g)) {
    sum += Number(amount) * (UNITS_MS[unit] ?? 0);
  }
  return sum;
}

function importsOf(effective: TomlTable): readonly string[] {
  const imports = effective.imports;
  return Array.isArray(imports) ? imports.filter((path) => typeof path === 'string') : [];
}

/**
 * Our keys that containerd 2.x reports as ignored. It names a plug-in's key by its path, and top-level keys by file;
 * keys of foreign drop-ins are not checked. 1.x reports nothing: there the comparison finds them.
 */
function unknownKeys(stderr: string, tree: TomlTable): readonly string[] {
  return stderr
    .split('\n')
    .filter((line) => line.includes('Ignoring unknown key in TOML'))
    .flatMap((line) => {
      const key = field(line, 'key')?.split(' ') ?? [];
      const plugin = field(line, 'plugin');
      const path = plugin === undefined ? key : ['plugins', plugin, ...key];
      const file = field(line, 'file');
      const ours = (file === undefined || file === STDIN) && valueAt(tree, path) !== undefined;
      return ours ? [dottedKey(path)] : [];
    });
}

/** A field of a logfmt line: `key=word` or `key="several words"`. */
function field(line: string, name: string): string | undefined {
  const match = new RegExp(`(?:^| )${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|(\\S+))`).exec(line);
  return match?.[1] ?? match?.[2];
}

function evidenceOf(dump: CommandResult): readonly Evidence[] {
  const lines = textLines(dump.stderr);
  return evidenceFrom('containerd config dump', lines.slice(-5));
}

/** The error formats of 1.x (go-toml 1) and 2.x: `(6, 2): …`, `at row 6 column 2: …`. */
function placeIn(stderr: string): { readonly row: number; readonly column: number } | undefined {
  const match = /\((\d+), (\d+)\): /.exec(stderr) ?? /row (\d+) column (\d+)/.exec(stderr);
  return match === null ? undefined : { row: Number(match[1]), column: Number(match[2]) };
}

function refused(dump: CommandResult, tree: TomlTable, text: string): MachineadmError {
  const place = placeIn(dump.stderr);
  const line = place === undefined ? undefined : text.split('\n')[place.row - 1];
  const where = place === undefined ? '' : ` at row ${place.row}, column ${place.column}`;
  const quoted = line === undefined || !dump.stderr.includes(STDIN) || holdsCredentials(tree) ? [] : [line];
  return new MachineadmError({
    reason: 'ContainerdConfigSyntax',
    summary: `containerd refuses the generated configuration${where}`,
    remedy:
      'Correct containerRuntime.containerd.settings, or with mode: Merge the file that is there: the types and names must be those of the containerd installed (`containerd config default` shows them).',
    evidence: [...evidenceOf(dump), ...evidenceFrom(CONFIGURATION_PATH, quoted)],
  });
}

function noAnswer(dump: CommandResult): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: '`containerd config dump` did not end in time',
    remedy: 'Run it manually to see what it waits for; a slow or hung disk is the usual cause.',
    evidence: evidenceOf(dump),
    retryable: true,
  });
}

function unknownKey(keys: readonly string[], evidence: readonly Evidence[]): MachineadmError {
  return new MachineadmError({
    reason: 'ContainerdConfigUnknownKey',
    summary: `the installed containerd does not know ${keys.join(', ')}`,
    remedy:
      'Correct containerRuntime.containerd.settings, or with mode: Merge the file that is there: names differ between containerd 1.x and 2.x (`containerd config default` shows those of the installed one).',
    evidence,
  });
}

function notEffective(different: readonly Difference[], dropIns: readonly string[]): MachineadmError {
  const [first] = different;
  const told = different.map(
    ({ key, want, got }) => `${key}: want ${redactedValue(key, want)}, got ${redactedValue(key, got)}`,
  );
  const because =
    dropIns.length === 0
      ? 'Look for the key in containerRuntime.containerd.settings: it may need another type.'
      : `A drop-in overrides it (containerd 1.x replaces a plug-in's whole section by that of a drop-in, containerd/containerd#5837): remove or correct ${dropIns.join(', ')}.`;
  return new MachineadmError({
    reason: 'ContainerdConfigNotEffective',
    summary: `containerd would not use the configured value of ${first?.key ?? 'a key'}`,
    remedy: because,
    evidence: evidenceFrom('containerd config dump', told),
  });
}

function redactedValue(key: string, value: TomlValue): string {
  return /auth|password|identitytoken|header/i.test(key) ? '[redacted]' : JSON.stringify(value);
}
