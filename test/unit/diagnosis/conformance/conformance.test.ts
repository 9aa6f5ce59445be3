import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { formatFindings, formatJunit } from '../../../../src/cli/findings.ts';
import { type ConformanceReport, checkReportOf, ofImage } from '../../../../src/commands/conformance/run.ts';
import type { Finding } from '../../../../src/diagnosis/checks/finding.ts';
import { CONTRACT_VERSION } from '../../../../src/diagnosis/conformance/clause.ts';
import { CLAUSES, evaluateClauses, verdictOf } from '../../../../src/diagnosis/conformance/index.ts';
import { WINDOWS_CLAUSES } from '../../../../src/diagnosis/conformance/windows.ts';
import { type Base, type Files, withImage } from '../../../support/conformance/image.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const OS = { id: 'debian', version: '12' };

async function report(base: Base, change: Files = {}): Promise<ConformanceReport> {
  return await withImage(base, change, undefined, async (subject) => {
    const clauses = await evaluateClauses(subject);
    const verdict = verdictOf(clauses);
    const { profile } = subject;
    return { contract: CONTRACT_VERSION, profile, verdict, conforms: verdict === 'kept', os: OS, clauses };
  });
}

const formatConformance = (found: ConformanceReport): string => formatFindings(checkReportOf(found));

const NOTHING_MOUNTED = { '/etc/fstab': '' };

describe('the report', () => {
  test('ends with the clauses that are broken, and their remedies', async () => {
    const found = await report('host', { '/usr/bin/lsblk': undefined, '/usr/bin/visudo': undefined });
    const lines = formatConformance(found).split('\n');
    assert.equal(found.verdict, 'broken');
    assert.match(
      lines.at(-1) ?? '',
      /^debian 12 does not keep contract 1\.\d+ \(profile host\): IMG-04: 1 failed, 1 warning, \d+ ok, \d+ skipped \[ContractBroken\]$/,
    );
    assert.match(lines.at(-5) ?? '', /^FAIL IMG-04 MUST .*: missing: lsblk$/);
    assert.match(lines.at(-3) ?? '', /^warn IMG-11 SHOULD .*: missing: visudo$/);
  });

  test('does not say that a machine keeps the contract while a MUST is not proven', async () => {
    const found = await report('host', NOTHING_MOUNTED);
    assert.equal(found.verdict, 'notProven');
    assert.match(
      formatConformance(found),
      /is not proven to keep contract .*: IMG-06, IMG-08: .* \[ContractNotProven\]$/,
    );
  });

  test('says that a sound image keeps it', async () => {
    const found = await report('node');
    assert.equal(found.verdict, 'kept');
    assert.match(
      formatConformance(found),
      /^debian 12 keeps contract .* \(profile kubernetes\): \d+ ok, \d+ skipped$/m,
    );
  });

  test('does not fail for a SHOULD', async () =>
    assert.equal((await report('host', { '/usr/bin/visudo': undefined })).verdict, 'kept'));
});

describe('the report as JUnit', () => {
  const junit = (found: ConformanceReport): string => {
    const { name, findings } = checkReportOf(found);
    return formatJunit(name, findings);
  };

  test('has a failure for a broken MUST, an error for one that is not proven, and fails for no SHOULD', async () => {
    const xml = junit(
      await report('host', { ...NOTHING_MOUNTED, '/usr/bin/lsblk': undefined, '/usr/bin/visudo': undefined }),
    );
    const kinds = [...xml.matchAll(/name="([A-Z]+-\d\d) [^"]*"><(\w+) /g)].map(([, id, kind]) => `${id} ${kind}`);
    const decisive = kinds.filter((one) => !one.endsWith('skipped'));
    assert.deepEqual(decisive, ['IMG-04 failure', 'IMG-06 error', 'IMG-08 error']);
    assert.ok(kinds.includes('IMG-11 skipped'));
    assert.match(
      xml,
      new RegExp(`<testsuite name="[^"]+" tests="${CLAUSES.length}" failures="1" errors="2" skipped="\\d+">`),
    );
  });

  test('is well-formed XML, whatever an image has in it', async () => {
    const xml = junit({
      ...(await report('host', { '/etc/fstab': 'a / e"<&\u0001> ro 0 1\n' })),
      os: { id: '<"&', version: '\u0000' },
    });
    assert.match(xml, /e&quot;&lt;&amp;&gt;/);
    assert.doesNotMatch(xml, /&(?!amp;|lt;|gt;|quot;|#10;)/);
    assert.ok(![...xml].some((character) => character < ' ' && character !== '\n'));
    assert.equal(xml.match(/<testcase /g)?.length, CLAUSES.length);
  });
});

test('a report of any check as JUnit: only failures and what is undecided count', async () => {
  const finding = (id: string, severity: Finding['severity']): Finding => ({
    id,
    title: 't',
    severity,
    text: 'x',
    remedy: 'Do y.',
  });
  const xml = formatJunit('suite', [
    finding('a', 'passed'),
    finding('b', 'warning'),
    finding('c', 'failed'),
    finding('d', 'undecided'),
    finding('e', 'skipped'),
  ]);
  assert.match(xml, /<testsuites tests="5" failures="1" errors="1" skipped="2">/);
  assert.match(xml, /name="c t"><failure message="x">Do y\.<\/failure>/);
  assert.match(xml, /name="a t"\/>/);
  assert.match(xml, /name="d t"><error message="x"><\/error>/);
});

test('a check that throws is not proven', async () => {
  const check = (): never => {
    throw new Error('EIO');
  };
  const found = await withImage('host', {}, undefined, (subject) =>
    evaluateClauses(subject, [{ id: 'IMG-99', level: 'MUST', title: 't', check }]),
  );
  assert.deepEqual(found, [
    { id: 'IMG-99', level: 'MUST', title: 't', state: 'notProven', text: 'the check failed: EIO' },
  ]);
});

describe('--root', () => {
  test('needs a directory', async () => {
    for (const root of ['/nonexistent/image', join(ROOT, 'package.json')]) {
      assert.throws(() => ofImage(root), { reason: 'UsageInvalid', message: `--root: ${root} is not a directory` });
    }
  });
});

describe('contract/CONTRACT.md', () => {
  const text = readFileSync(join(ROOT, 'contract/CONTRACT.md'), 'utf8');
  const ids = [...text.matchAll(/^(?:\| |- )([A-Z]+-\d\d)\b/gm)].map(([, id = '']) => id);

  test('gives each id to one clause only', async () => {
    assert.ok(ids.length > CLAUSES.length + 20);
    assert.deepEqual(ids, [...new Set(ids)]);
  });

  test('has every clause of the suite, in the version that the suite reports', async () => {
    assert.deepEqual(
      [...CLAUSES, ...WINDOWS_CLAUSES].map(({ id }) => id).filter((id) => !ids.includes(id)),
      [],
    );
    assert.match(text, new RegExp(`^Version ${CONTRACT_VERSION}\\.`, 'm'));
  });
});
