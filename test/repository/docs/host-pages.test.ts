import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { load } from '../../support/document.ts';

describe('the pages about the host', () => {
  for (const page of [
    'accounts',
    'files',
    'directories-and-links',
    'hardening',
    'time',
    'services',
    'proxy',
    'certificate-authorities',
    'openrc',
    'containerd',
    'sinks-cloud',
    'control-plane',
    'packages',
    'windows',
  ]) {
    const text = readFileSync(join(import.meta.dirname, `../../../docs/${page}.md`), 'utf8');

    test(`${page}: its examples are valid documents`, async () => {
      const examples = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, example = '']) => example);
      assert.notEqual(examples.length, 0);
      for (const example of examples) {
        const result = await load(example);
        assert.deepEqual(result.ok ? [] : result.problems.map(formatDiagnostic), []);
      }
    });

    if (!text.includes('## Faults')) continue; // told on the pages of the steps
    test(`${page}: the reasons it names exist`, () => {
      const faults = text.slice(text.indexOf('## Faults'));
      const named = [...faults.matchAll(/`([A-Z][a-z]+[A-Z][A-Za-z]+)`/g)].map(([, name = '']) => name);
      assert.notEqual(named.length, 0);
      assert.deepEqual(
        named.filter((name) => !Object.hasOwn(REASONS, name)),
        [],
      );
    });
  }
});
