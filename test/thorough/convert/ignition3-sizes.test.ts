import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { convert } from '@machineadm/convert/index.ts';
import { parse } from 'yaml';

async function converted(files: readonly object[]) {
  const text = JSON.stringify({ ignition: { version: '3.4.0' }, storage: { files } });
  return await convert([{ name: 'node.ign', text }], { kubernetesVersion: 'v1.34.2' });
}

test('many files that are small only compressed are refused', { timeout: 60_000 }, async () => {
  const source = `data:;base64,${gzipSync('x'.repeat(4_000_000)).toString('base64')}`;
  const files = Array.from({ length: 5 }, (_, index) => ({
    path: `/etc/${index}`,
    contents: { source, compression: 'gzip' },
  }));
  const { documents, decisions } = await converted(files);
  const told = decisions.filter(({ message }) => message.includes('more than 16 MiB together'));
  assert.deepEqual([documents.length, told.length], [0, 1]);
});

test('many percent signs and long URLs end', { timeout: 60_000 }, async () => {
  for (const body of ['%'.repeat(200_000), '%41'.repeat(60_000), 'a'.repeat(200_000)]) {
    const { documents } = await converted([{ path: '/etc/a', contents: { source: `data:,${body}` } }]);
    assert.equal(parse(documents[0]?.yaml ?? '').host.files.length, 1);
  }
});
