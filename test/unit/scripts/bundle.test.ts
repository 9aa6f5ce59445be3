import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { bundle } from '../../../scripts/build/bundle.ts';

const root = resolve(import.meta.dirname, '../../..');

test('a bundle holds the published schema deflated, and gives it as it is published', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-bundle-'));
  try {
    const published = join(root, 'contract/schema/v1alpha1.json');
    const entry = join(directory, 'entry.ts');
    writeFileSync(
      entry,
      `import schema from ${JSON.stringify(published)} with { type: 'json' };\nconsole.log(JSON.stringify(schema));\n`,
    );
    const output = join(directory, 'bundle.cjs');
    await bundle(entry, output, { commit: 'test' });
    const printed = execFileSync(process.execPath, [output], { encoding: 'utf8' });
    assert.deepEqual(JSON.parse(printed), JSON.parse(readFileSync(published, 'utf8')));
    assert.ok(statSync(output).size < statSync(published).size / 4, 'the schema is in it as text');
  } finally {
    rmSync(directory, { recursive: true });
  }
});
