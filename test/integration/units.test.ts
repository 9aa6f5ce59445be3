import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');
const UNITS = globSync('packaging/systemd/*.service', { cwd: ROOT }).sort();

describe('the units of packaging/', () => {
  for (const unit of UNITS) {
    test(`${unit} leaves no core dump`, () => {
      assert.match(readFileSync(resolve(ROOT, unit), 'utf8'), /^LimitCORE=0$/m);
    });
  }
});
