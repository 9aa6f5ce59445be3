import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { checkLanguage, formatFinding } from '../../scripts/language.ts';

test('the pages and messages of this project use no word of scripts/language/words.yaml (docs/style.md)', () => {
  assert.deepEqual(checkLanguage(resolve(import.meta.dirname, '../..')).map(formatFinding), []);
});
