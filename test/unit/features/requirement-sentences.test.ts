import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { CATALOGUE } from '@machineadm/failures/catalogue.ts';

/** Verbs of requirements: a text without one is a noun, which does not say what is wrong with it. */
const VERB =
  /\b(?:is|are|was|were|has|have|does|do|can|cannot|could|would|must|refuses|needs|belongs|contradicts|names|installs|ignores|knows|runs|wants|leads|serves|breaks|collide|maps|gives|uses|share|sets|shadows|waits|overlaps)\b/;

/** The literal texts of `what` of the unmet requirements in a source. Texts that a function composes are not literal. */
function requirementsIn(source: string): readonly string[] {
  return [...source.matchAll(/\breason: '[A-Za-z]+',[^{}]*?\bwhat: (?:'([^']+)'|`((?:[^`$]|\$\{[^}]*\})+)`)/g)].map(
    ([, plain, template]) => plain ?? template ?? '',
  );
}

describe('what is missing is a sentence', () => {
  const texts = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => requirementsIn(readFileSync(`src/${name}`, 'utf8')));

  test('many requirements are found in the sources', () => assert.ok(texts.length > 30, String(texts.length)));

  /** The verb is in what the template inserts. */
  const composed = /\$\{(?:why|found|what|[^}]*\?)/;
  for (const text of new Set(texts.filter((one) => !composed.test(one)))) {
    test(text, () => {
      assert.match(text.replace(/\$\{[^}]*\}/g, 'X'), VERB);
      // A remedy follows it after a full stop, which `sentence` adds.
      assert.doesNotMatch(text, /[.;:,]$/);
    });
  }
});

describe('sentences end', () => {
  const ended = /[.!?…)]$/;
  for (const [name, { meaning }] of Object.entries(REASONS)) {
    test(`the meaning of ${name}`, () => assert.match(meaning, /[.]$/));
  }
  for (const { id, says, remedy } of CATALOGUE) {
    test(`the remedy of ${id}`, () => assert.match(remedy, ended));
    if (says !== undefined) test(`the text of ${id}`, () => assert.doesNotMatch(says, /[:;,]$/));
  }
});
