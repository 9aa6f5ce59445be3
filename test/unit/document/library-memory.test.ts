import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { readImportGraph, startupClosure } from '../../support/import-graph.ts';

const root = resolve(import.meta.dirname, '../../..');

describe('the library', () => {
  test('loads no redactor, which would keep the secrets of every document', () => {
    const graph = readImportGraph(root);
    for (const entry of ['packages/document/src/library.ts', 'packages/convert/src/library.ts']) {
      const { files } = startupClosure(graph, entry);
      assert.deepEqual(
        [...files].filter((file) => file.includes('document/redaction')),
        [],
        entry,
      );
    }
  });

  test('keeps nothing of the documents that it has validated', () => {
    const script = `
      const { validateDocument } = await import(${JSON.stringify(join(root, 'packages/document/src/library.ts'))});
      const validate = async (count) => {
        for (let index = 0; index < count; index += 1) {
          const value = String(index).repeat(20_000 / String(index).length);
          const text = 'apiVersion: machineadm.dev/v1alpha1\\nkind: MachineBootstrap\\nmetadata: {name: n}\\nsecrets: {s: {value: "' + value + '"}}\\n';
          const { valid } = await validateDocument(text, { agentVersion: '0.1.0' });
          if (!valid) throw new Error('not valid');
        }
        gc();
        return process.memoryUsage().heapUsed;
      };
      const before = await validate(50);
      const after = await validate(500);
      console.log(after - before);
    `;
    const node = [process.execPath, ['--expose-gc', '--input-type=module', '--eval', script]] as const;
    const grown = Number(execFileSync(...node, { encoding: 'utf8' }));
    // 500 secrets of 20 kB are 10 MB.
    assert.ok(grown < 3_000_000, `${grown} bytes`);
  });
});
