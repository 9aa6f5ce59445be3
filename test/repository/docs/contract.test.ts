import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { CLAUSES } from '../../../src/diagnosis/conformance/index.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const contract = read('contract/CONTRACT.md');

interface Clause {
  readonly id: string;
  readonly level: string | undefined;
  readonly checkedBy: string;
}

/** Every row of a table that begins with an id. */
const clauses: readonly Clause[] = contract.split('\n').flatMap((line) => {
  const [, id, ...cells] = line.split('|').map((cell) => cell.trim());
  if (id === undefined || !/^[A-Z]+-\d\d$/.test(id)) return [];
  return [{ id, level: cells[0], checkedBy: cells.at(-2) ?? '' }];
});
/** Sections whose clauses `machineadm conformance` checks; its own tests break each (docs/conformance-tests.md). */
const ofTheSuite = ({ id }: Clause) => /^(?:IMG|KUB|WIN|RUN)-|^UNIT-0/.test(id);
/** What no test of one version can check. */
const RULES_FOR_RELEASES = ['UPG-03', 'UPG-04', 'UPG-05', 'UPG-06'];

describe('every clause of contract/CONTRACT.md', () => {
  test('has a number and a level', () => {
    assert.ok(clauses.length >= CLAUSES.length + 50, `${clauses.length} clauses`);
    assert.deepEqual(
      clauses.filter(({ level }) => !['MUST', 'SHOULD', 'MAY'].includes(level ?? '')).map(({ id }) => id),
      [],
    );
    // A clause is never written as an item of a list, where it would have neither.
    assert.doesNotMatch(contract, /^- [A-Z]+-\d\d/m);
  });

  test('has a check: of the suite, of a test that exists, or it is a rule for releases', () => {
    const unchecked: string[] = [];
    const rules: string[] = [];
    for (const clause of clauses) {
      const { id, checkedBy } = clause;
      if (ofTheSuite(clause)) continue;
      if (checkedBy === 'a rule for releases') rules.push(id);
      else if (!isCheck(checkedBy)) unchecked.push(`${id}: ${checkedBy}`);
    }
    assert.deepEqual(unchecked, []);
    assert.deepEqual(rules, RULES_FOR_RELEASES);
    assert.deepEqual(
      CLAUSES.map(({ id }) => id).filter((id) => !clauses.some((clause) => clause.id === id)),
      [],
    );
  });

  test('is reported where its test is gone', () => {
    assert.equal(isCheck('`contract.test.ts` “no such test”'), false);
    assert.equal(isCheck('`gone.test.ts` “a”'), false);
    assert.equal(isCheck('`machineadm conformance`: IMG-99'), false);
  });

  test('has the number after the one before it, except for the numbers that the contract names as missing', () => {
    const missing: string[] = [];
    for (const prefix of new Set(clauses.map(({ id }) => id.split('-')[0] ?? ''))) {
      const numbers = clauses.filter(({ id }) => id.startsWith(`${prefix}-`)).map(({ id }) => Number(id.slice(-2)));
      for (let number = 1; number < Math.max(...numbers); number += 1) {
        if (!numbers.includes(number)) missing.push(`${prefix}-${String(number).padStart(2, '0')}`);
      }
    }
    const named = [...(/A number that is missing in a list \(([^)]*)\)/.exec(contract)?.[1] ?? '').split(', ')];
    assert.deepEqual(missing, named);
  });
});

function isCheck(checkedBy: string): boolean {
  const suite = /^`machineadm conformance`: (.*)$/.exec(checkedBy)?.[1];
  if (suite !== undefined) return suite.split(', ').every((id) => CLAUSES.some((clause) => clause.id === id));
  const [, name, title] = /^`([\w.-]+\.test\.ts)` “(.+)”$/.exec(checkedBy) ?? [];
  if (name === undefined || title === undefined) return false;
  if (name === basename(import.meta.filename)) return title in OWN;
  return globSync(`test/**/${name}`, { cwd: ROOT }).some((path) => read(path).replaceAll("\\'", "'").includes(title));
}

/** The tests of this file that check a clause: their titles. */
const OWN: Readonly<Record<string, () => void>> = {
  'every program that the sources start': () => {
    const section = contract.slice(contract.indexOf('### Programs'), contract.indexOf('## What machineadm puts'));
    const programs = [...section.matchAll(/^\| [^|]+ \|(.*)\|$/gm)].map(([, cell = '']) => cell).join(' ');
    const listed = [...programs.matchAll(/`([a-z][a-z0-9._-]*)`/g)].map(([, name = '']) => name);
    const started = startedPrograms();
    assert.ok(started.size > 45, `${started.size} found`);
    assert.deepEqual(
      [...started].filter((name) => !listed.includes(name) && !BY_THE_DOCUMENT.includes(name)),
      [],
    );
    const sources = SOURCES.map(([, text]) => text).join('\n');
    assert.deepEqual(
      listed.filter((name) => !sources.includes(`'${name}'`)),
      [],
      'the contract names programs that the sources do not',
    );
  },
  'no package manager': () => {
    const managers = ['apt-get', 'apt', 'dpkg', 'dnf', 'yum', 'microdnf', 'zypper', 'rpm', 'apk', 'pacman', 'snap'];
    assert.deepEqual(
      managers.filter((name) => startedPrograms().has(name)),
      [],
    );
  },
  'no unit starts before sysinit.target': () => {
    for (const [unit, text] of units()) assert.doesNotMatch(text, /^DefaultDependencies=(?:no|false|0)$/m, unit);
  },
  'names every unit of a release': () => {
    const [row = ''] = /^\| UNIT-10 .*$/m.exec(contract) ?? [];
    for (const [unit, text] of units()) if (text.includes('[Install]')) assert.ok(row.includes(unit), unit);
  },
  'are ordered as the contract says': () => {
    const after = (unit: string) => [...setting(unit, 'After').join(' ').split(' ')];
    for (const unit of ['machineadm-provision.service', 'machineadm-resume.service']) {
      for (const earlier of [
        'local-fs.target',
        'cloud-init-network.service',
        'machineadm-hooks.service',
        'containerd.service',
      ]) {
        assert.ok(after(unit).includes(earlier), `${unit} after ${earlier}`);
      }
      assert.ok(setting('machineadm-prefetch.service', 'Before').join(' ').split(' ').includes(unit), unit);
    }
    assert.ok(setting('machineadm-resume.service', 'Before').includes('cloud-final.service'));
  },
  'have no deadline of their own': () => {
    for (const name of ['provision', 'resume', 'prepare', 'prefetch']) {
      assert.deepEqual(setting(`machineadm-${name}.service`, 'TimeoutStartSec'), ['infinity'], name);
    }
  },
};

describe('of the contract:', () => {
  for (const [title, check] of Object.entries(OWN)) test(title, check);
});

const SOURCES = globSync('{src,packages/*/src}/**/*.ts', { cwd: ROOT })
  .sort()
  .map((path) => [path, read(path)] as const);

/** The shells of the document's hooks, and the program itself. */
const BY_THE_DOCUMENT = ['sh', 'bash', 'machineadm'];

/** The names of programs in the sources: of commands, and of what is looked for in PATH. */
function startedPrograms(): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [path, text] of SOURCES) {
    // It looks for programs and starts none.
    if (path.startsWith('src/diagnosis/conformance/')) continue;
    for (const [, quoted] of text.matchAll(/(?:\bprogram: |\bwhich\(|\bspawn(?:Sync)?\(|\brun\()'([a-z][\w.-]*)'/g)) {
      if (quoted !== undefined && !quoted.endsWith('.exe')) names.add(quoted);
    }
  }
  return names;
}

function units(): readonly (readonly [string, string])[] {
  return globSync('packaging/systemd/*', { cwd: ROOT }).map((path) => [
    path.slice('packaging/systemd/'.length),
    read(path),
  ]);
}

function setting(unit: string, key: string): readonly string[] {
  return [...read(`packaging/systemd/${unit}`).matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(
    ([, value = '']) => value,
  );
}
