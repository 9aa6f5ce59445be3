import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Subject } from '../../../../src/diagnosis/conformance/clause.ts';
import { CLAUSES, evaluateClauses } from '../../../../src/diagnosis/conformance/index.ts';
import { WINDOWS_CLAUSES } from '../../../../src/diagnosis/conformance/windows.ts';
import { BROKEN_IMAGES } from '../../../support/conformance/broken-images.ts';
import { BASES, type Base, type Files, withEachChange, withImage } from '../../../support/conformance/image.ts';
import { SOUND_IMAGES } from '../../../support/conformance/sound-images.ts';
import { VARIED_IMAGES } from '../../../support/conformance/varied-images.ts';

const RECORDS = join(import.meta.dirname, '../../../fixtures/conformance');

/** Compares with a saved record; `MACHINEADM_WRITE_TRANSCRIPTS=1` saves it, for a person to read. */
function compare(name: string, lines: readonly string[]): void {
  const path = join(RECORDS, name);
  const found = lines.map((line) => line.replace(/[ \t]+$/, ''));
  if (process.env.MACHINEADM_WRITE_TRANSCRIPTS === '1') writeFileSync(path, `${found.join('\n')}\n`);
  assert.deepEqual(found, readFileSync(path, 'utf8').trimEnd().split('\n'));
}

interface Found {
  readonly broken: readonly string[];
  readonly notProven: readonly string[];
  /** Evidence, for the message of a test that fails. */
  readonly texts: readonly string[];
}

async function check({
  base,
  change,
  profile,
}: {
  base: Base;
  change: Files;
  profile?: 'host' | 'kubernetes';
}): Promise<Found> {
  const judgements = await withImage(base, change, profile, (subject) => evaluateClauses(subject));
  const inState = (state: string): string[] => judgements.filter((one) => one.state === state).map(({ id }) => id);
  const texts = judgements
    .filter(({ state }) => /broken|notProven/.test(state))
    .map(({ id, text }) => `${id}: ${text}`);
  return { broken: inState('broken'), notProven: inState('notProven'), texts };
}

describe('a base image keeps every clause that applies', () => {
  for (const base of Object.keys(BASES) as Base[]) {
    test(base, async () =>
      assert.deepEqual(await check({ base, change: {} }), { broken: [], notProven: [], texts: [] }),
    );
  }
});

describe('an image with one thing broken breaks the clauses that are about it, and no other', () => {
  const evidence: string[] = [];
  for (const image of BROKEN_IMAGES) {
    test(`${image.broken.join(', ')}: ${image.what}`, async () => {
      const { broken, notProven, texts } = await check(image);
      evidence.push(`${image.what}:`, ...texts);
      assert.deepEqual({ broken, notProven }, { broken: image.broken, notProven: [] }, texts.join('\n'));
    });
  }

  test('with evidence as recorded', () => compare('broken-images.txt', evidence));

  test('every clause is broken by one of them', async () => {
    const broken = new Set(BROKEN_IMAGES.flatMap((image) => image.broken));
    assert.deepEqual(
      [...CLAUSES, ...WINDOWS_CLAUSES].map(({ id }) => id).filter((id) => !broken.has(id)),
      [],
    );
  });
});

describe('a sound image breaks no clause', () => {
  for (const image of SOUND_IMAGES) {
    test(image.what, async () => {
      const { broken, notProven, texts } = await check(image);
      assert.deepEqual({ broken, notProven }, { broken: [], notProven: image.notProven ?? [] }, texts.join('\n'));
    });
  }
});

test('there are at least 65 images of each kind, each with a title of its own', async () => {
  const titles = [...BROKEN_IMAGES, ...SOUND_IMAGES].map(({ what }) => what);
  assert.ok(BROKEN_IMAGES.length >= 65 && SOUND_IMAGES.filter(({ notProven }) => notProven === undefined).length >= 65);
  assert.deepEqual(titles, [...new Set(titles)]);
});

test('how each varied image keeps each clause is as recorded: all of a base, and what differs from it in the others', async () => {
  const lines: string[] = [];
  const judged = async (subject: Subject): Promise<string[]> =>
    (await evaluateClauses(subject)).map(({ id, level, state, text }) => `  ${id} ${level} ${state}: ${text}`);
  for (const base of Object.keys(BASES) as Base[]) {
    const images = VARIED_IMAGES.filter((one) => one.base === base);
    const titles = new Map(images.map(({ what, change }) => [change, what]));
    let ofBase: readonly string[] = [];
    await withEachChange(base, [{}, ...titles.keys()], async (subject, change) => {
      const found = await judged(subject);
      const what = titles.get(change);
      lines.push(
        what === undefined ? `${base}:` : `${base}, ${what}:`,
        ...found.filter((one) => !ofBase.includes(one)),
      );
      if (what === undefined) ofBase = found;
    });
  }
  compare('varied-images.txt', lines);
});
