import { basename } from 'node:path/posix';
import { nameGlob } from '@machineadm/document/text/glob.ts';
import type { RootTree } from '../../host/local-files/root-tree.ts';

/** Where systemd looks for system units, the first wins (systemd.unit(5), "UNIT FILE LOAD PATH"). */
const DIRECTORIES = [
  '/etc/systemd/system.control',
  '/run/systemd/system.control',
  '/run/systemd/transient',
  '/run/systemd/generator.early',
  '/etc/systemd/system',
  '/etc/systemd/system.attached',
  '/run/systemd/system',
  '/run/systemd/system.attached',
  '/run/systemd/generator',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
  '/run/systemd/generator.late',
];
const PRESET_DIRECTORIES = ['/etc', '/run', '/usr/local/lib', '/usr/lib', '/lib'].map(
  (directory) => `${directory}/systemd/system-preset`,
);
/** What is started at every boot, whatever else the default target wants. cloud-init.target comes from a generator. */
const BOOT_TARGETS = ['default.target', 'sysinit.target', 'basic.target', 'cloud-init.target'];
/** Settings by which a unit starts another one. */
const PULLS_IN = ['Wants', 'Requires', 'BindsTo', 'Upholds'];

interface Assignment {
  readonly section: string;
  readonly key: string;
  readonly value: string;
}

/** A unit as its files describe it. Read from the files and not asked of systemd, which does not run in an image. */
export class Unit {
  readonly path: string;
  readonly #assignments: readonly Assignment[];

  constructor(path: string, texts: readonly string[]) {
    this.path = path;
    this.#assignments = texts.flatMap(parseUnit);
  }

  /** All values in order; an empty one takes back those before it (systemd.syntax(7)). */
  list(section: string, ...keys: readonly string[]): readonly string[] {
    let values: string[] = [];
    for (const { value } of this.#of(section, keys)) values = value === '' ? [] : [...values, value];
    return values;
  }

  /** The last value that is not empty, of one setting or of several that set the same. */
  last(section: string, ...keys: readonly string[]): string | undefined {
    return this.#of(section, keys).findLast(({ value }) => value !== '')?.value;
  }

  /** Names of units. systemd.unit(5): "dependencies (After=, etc.) cannot be reset to an empty list". */
  dependencies(...keys: readonly string[]): readonly string[] {
    return this.#of('Unit', keys).flatMap(({ value }) => splitWords(value));
  }

  #of(section: string, keys: readonly string[]): readonly Assignment[] {
    return this.#assignments.filter((one) => one.section === section && keys.includes(one.key));
  }
}

/** The assignments of a unit file: comments, sections and continued lines as systemd.syntax(7) has them. */
function parseUnit(text: string): readonly Assignment[] {
  const assignments: Assignment[] = [];
  let section = '';
  let line = '';
  for (const part of text.split(/\r?\n/)) {
    // A comment between continued lines does not end them.
    if (/^\s*[#;]/.test(part)) continue;
    const continues = part.endsWith('\\');
    line += continues ? `${part.slice(0, -1)} ` : part;
    if (continues) continue;
    const header = /^\s*\[([^\]]*)\]\s*$/.exec(line);
    const at = line.indexOf('=');
    if (header !== null) section = header[1] ?? '';
    else if (at > 0) assignments.push({ section, key: line.slice(0, at).trim(), value: line.slice(at + 1).trim() });
    line = '';
  }
  return assignments;
}

/** Words as systemd splits them: quotes hold one together, a backslash takes its meaning from a character. */
export function splitWords(value: string): readonly string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < value.length; at += 1) {
    const character = value.charAt(at);
    if (character === '\\') {
      at += 1;
      word = (word ?? '') + value.charAt(at);
    } else if (character === quote) quote = '';
    else if (quote === '' && /["']/.test(character)) {
      quote = character;
      word ??= '';
    } else if (quote === '' && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + character;
  }
  return word === undefined ? words : [...words, word];
}

export type Enablement = 'enabled' | 'disabled' | 'masked' | 'missing';

/** The units of a root, with the directories, drop-ins, links and presets that systemd would read. */
export class UnitFiles {
  readonly #tree: RootTree;
  readonly #texts: ReadonlyMap<string, string>;
  #started: ReadonlySet<string> | undefined;

  /** @param texts what `systemctl cat` says of units, by their names: it wins over the files */
  constructor(tree: RootTree, texts: ReadonlyMap<string, string> = new Map()) {
    this.#tree = tree;
    this.#texts = texts;
  }

  /** A unit and its drop-ins; undefined where there is none, or where it is masked. */
  load(name: string): Unit | undefined {
    const found = this.#find(name);
    const told = this.#texts.get(name);
    if (found === 'masked') return undefined;
    if (told !== undefined) return new Unit(found?.path ?? name, [told]);
    if (found === undefined) return undefined;
    const paths = [found.path, ...this.#dropIns(found.names)];
    return new Unit(
      found.path,
      paths.map((path) => this.#tree.readText(path) ?? ''),
    );
  }

  /** How `systemctl is-enabled` would put it; `enabled` is what a boot starts, whatever made it so. */
  enablement(name: string): Enablement {
    const found = this.#find(name);
    if (found === undefined) return 'missing';
    if (found === 'masked') return 'masked';
    return found.names.some((one) => this.started().has(one)) ? 'enabled' : 'disabled';
  }

  /** The units that a boot starts: the default target, and all that it pulls in. */
  started(): ReadonlySet<string> {
    if (this.#started !== undefined) return this.#started;
    const started = new Set<string>();
    const pending = [...BOOT_TARGETS];
    if (this.#find('default.target') === undefined) pending.push('multi-user.target');
    if (this.#isFirstBoot()) pending.push(...this.#enabledByPreset());
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      const found = this.#find(name);
      if (started.has(name) || found === 'masked') continue;
      for (const one of [name, ...(found?.names ?? [])]) {
        started.add(one);
        for (const suffix of ['wants', 'requires', 'upholds']) pending.push(...this.#linked(`${one}.${suffix}`));
      }
      pending.push(...(this.load(name)?.dependencies(...PULLS_IN) ?? []));
    }
    this.#started = started;
    return started;
  }

  /** All names of units in the directories that end so. */
  names(suffix: string): readonly string[] {
    return [...new Set(DIRECTORIES.flatMap((directory) => this.#tree.list(directory)))].filter((name) =>
      name.endsWith(suffix),
    );
  }

  /** The file that a name stands for, and all names of it; an instance stands for its template. */
  #find(name: string): { readonly path: string; readonly names: readonly string[] } | 'masked' | undefined {
    for (const directory of DIRECTORIES) {
      const path = `${directory}/${name}`;
      if (this.#isNull(path)) return 'masked';
      const entry = this.#tree.stat(path);
      if (entry?.type !== 'file') continue;
      if (entry.size === 0) return 'masked';
      const real = basename(entry.path);
      return { path: entry.path, names: real === name ? [name] : [name, real] };
    }
    const template = name.replace(/@[^@]+(\.\w+)$/, '@$1');
    return template === name ? undefined : this.#find(template);
  }

  /** A link to /dev/null, which need not be there in an image. */
  #isNull(path: string): boolean {
    return this.#tree.linkTarget(path)?.endsWith('/dev/null') === true;
  }

  /** systemd.unit(5): a drop-in of the same name in an earlier directory hides the later one; then they go by name. */
  #dropIns(names: readonly string[]): readonly string[] {
    const type = names[0]?.split('.').at(-1) ?? 'service';
    const specific = names.flatMap((name) =>
      DIRECTORIES.flatMap((directory) => [name, ...prefixes(name)].map((one) => `${directory}/${one}.d`)),
    );
    const found = new Map<string, string>();
    for (const directory of [...specific, ...DIRECTORIES.map((one) => `${one}/${type}.d`)]) {
      for (const file of this.#tree.list(directory)) {
        if (file.endsWith('.conf') && !found.has(file)) found.set(file, `${directory}/${file}`);
      }
    }
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, path]) => path);
  }

  /** The units that have a link in `multi-user.target.wants` of any directory; one to /dev/null takes others back. */
  #linked(folder: string): readonly string[] {
    const found = new Map<string, boolean>();
    for (const directory of DIRECTORIES) {
      for (const name of this.#tree.list(`${directory}/${folder}`)) {
        if (!found.has(name)) found.set(name, !this.#isNull(`${directory}/${folder}/${name}`));
      }
    }
    return [...found].filter(([, counts]) => counts).map(([name]) => name);
  }

  /** machine-id(5), "FIRST BOOT SEMANTICS": presets are applied where the file is missing or says "uninitialized". */
  #isFirstBoot(): boolean {
    const id = this.#tree.readText('/etc/machine-id');
    return id === undefined || id.trim() === 'uninitialized';
  }

  /** systemd.preset(5): the first rule that matches counts, and where none does the unit is enabled. */
  #enabledByPreset(): readonly string[] {
    const files = new Map<string, string>();
    for (const directory of PRESET_DIRECTORIES) {
      for (const name of this.#tree.list(directory)) {
        if (name.endsWith('.preset') && !files.has(name)) files.set(name, `${directory}/${name}`);
      }
    }
    const rules = [...files]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, path]) => (this.#tree.readText(path) ?? '').split('\n'))
      .flatMap((line) => {
        const [verb, pattern] = line.trim().split(/\s+/);
        return (verb === 'enable' || verb === 'disable') && pattern !== undefined
          ? [{ verb, glob: nameGlob(pattern) }]
          : [];
      });
    return this.names('').filter((name) => {
      if (rules.find(({ glob }) => glob.matches(name))?.verb === 'disable') return false;
      const unit = this.load(name);
      return unit !== undefined && unit.list('Install', 'WantedBy', 'RequiredBy', 'UpheldBy').length > 0;
    });
  }
}

/** `machineadm-report-flush.service` is under `machineadm-report-.service.d` and `machineadm-.service.d`, too. */
function prefixes(name: string): readonly string[] {
  const [, stem = '', type = ''] = /^(.*)(\.\w+)$/.exec(name) ?? [];
  const parts = stem.split('-');
  return parts.slice(1).map((_, index) => `${parts.slice(0, parts.length - 1 - index).join('-')}-${type}`);
}

/** The command of a service: its program and its arguments, with the variables that the unit itself sets. */
export interface StartCommand {
  readonly program: string;
  readonly args: readonly string[];
  /** Variables that files of the machine set at its start, by their names in the unit. */
  readonly variables: readonly string[];
}

/** The commands that ExecStart= starts (systemd.service(5), "COMMAND LINES"). */
export function startCommands(tree: RootTree, unit: Unit): readonly StartCommand[] {
  const environment = new Map<string, string>();
  const assign = (assignment: string): void => {
    const at = assignment.indexOf('=');
    if (at > 0) environment.set(assignment.slice(0, at), assignment.slice(at + 1));
  };
  for (const value of unit.list('Service', 'Environment')) splitWords(value).forEach(assign);
  for (const value of unit.list('Service', 'EnvironmentFile')) {
    const text = tree.readText(value.replace(/^-/, '')) ?? '';
    for (const line of text.split('\n')) {
      if (/^\s*[#;]/.test(line)) continue;
      const at = line.indexOf('=');
      if (at > 0)
        assign(
          `${line.slice(0, at).trim()}=${line
            .slice(at + 1)
            .trim()
            .replace(/^(['"])(.*)\1$/, '$2')}`,
        );
    }
  }
  return unit.list('Service', 'ExecStart').map((value) => {
    const [first = '', ...rest] = splitWords(value);
    const variables = [...value.matchAll(/\$\{?(\w+)\}?/g)].map(([, name = '']) => name);
    const args = rest.flatMap((word) => {
      const whole = /^\$(\w+)$/.exec(word)?.[1];
      if (whole !== undefined) return splitWords(environment.get(whole) ?? '');
      return [word.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => environment.get(name) ?? '')];
    });
    return { program: first.replace(/^[-@:+!|]+/, ''), args, variables };
  });
}
