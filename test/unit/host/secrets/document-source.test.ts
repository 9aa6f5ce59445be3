import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { DOCUMENT_LIMIT_BYTES, readSource } from '../../../../src/host/secrets/document-source.ts';

describe('the document is read from', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'machineadm-source-'));
  });
  after(() => rm(directory, { recursive: true }));
  const textOf = async (...source: Parameters<typeof readSource>) =>
    (await readSource(...source)).map(({ name, bytes }) => [name, Buffer.from(bytes).toString()]);

  test('a file', async () => {
    const path = join(directory, 'document.yaml');
    await writeFile(path, 'kind: MachineBootstrap\n');
    assert.deepEqual(await textOf(path), [[path, 'kind: MachineBootstrap\n']]);
  });

  test('standard input, in pieces', async () => {
    const stdin = async function* () {
      yield Buffer.from('kind: ');
      yield Buffer.from('x');
    };
    assert.deepEqual(await textOf('-', stdin()), [['stdin', 'kind: x']]);
  });

  test('a directory of drop-ins in the order of their names, without what is hidden or something else', async () => {
    const dropIns = join(directory, 'drop-ins');
    await mkdir(dropIns);
    for (const name of [
      '20-b.json',
      '10-a.yml',
      '9-c.yaml',
      '.10-a.yaml.swp',
      '.hidden.yaml',
      'README',
      'x.yaml.bak',
    ]) {
      await writeFile(join(dropIns, name), name);
    }
    assert.deepEqual(await textOf(dropIns), [
      [join(dropIns, '10-a.yml'), '10-a.yml'],
      [join(dropIns, '20-b.json'), '20-b.json'],
      [join(dropIns, '9-c.yaml'), '9-c.yaml'],
    ]);
  });

  test('no directory without a document: the error says how many other files it has', async () => {
    const other = join(directory, 'other');
    await mkdir(other);
    for (const name of ['README', '.hidden.yaml']) await writeFile(join(other, name), '');
    await assert.rejects(textOf(other), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'DocumentNotFound');
      assert.deepEqual(error.evidence, [{ source: other, text: '2 other entries' }]);
      return true;
    });
  });

  test('a named pipe, as a shell makes one', async () => {
    const fifo = join(directory, 'fifo');
    assert.equal(spawnSync('mkfifo', [fifo]).status, 0);
    const writer = spawn('sh', ['-c', 'echo one > "$0"', fifo], { stdio: 'ignore' });
    assert.deepEqual(await textOf(fifo), [[fifo, 'one\n']]);
    writer.kill();
  });

  test('what is not there, and a directory without a document, are not found, with a remedy', async () => {
    await mkdir(join(directory, 'empty'));
    await writeFile(join(directory, 'empty', 'README'), '');
    for (const path of [join(directory, 'nothing'), join(directory, 'document.yaml', 'x'), join(directory, 'empty')]) {
      await assert.rejects(readSource(path), { reason: 'DocumentNotFound', remedy: /.+/ });
    }
  });

  test('all drop-ins: one that cannot be read is an error', async () => {
    const dropIns = join(directory, 'broken');
    await mkdir(join(dropIns, '10.yaml'), { recursive: true });
    await assert.rejects(readSource(dropIns), { reason: 'DocumentNotFound' });
  });

  test('at most the exact limit, and not to the end of an endless source', async () => {
    const path = join(directory, 'large.yaml');
    await writeFile(path, Buffer.alloc(DOCUMENT_LIMIT_BYTES));
    assert.equal((await readSource(path))[0]?.bytes.length, DOCUMENT_LIMIT_BYTES);
    await writeFile(path, Buffer.alloc(DOCUMENT_LIMIT_BYTES + 1));
    await assert.rejects(readSource(path), { reason: 'DocumentTooLarge' });
    await assert.rejects(readSource('/dev/zero'), { reason: 'DocumentTooLarge' });
    let closed = false;
    const endless = async function* () {
      try {
        for (;;) yield new Uint8Array(1 << 20);
      } finally {
        closed = true;
      }
    };
    await assert.rejects(readSource('-', endless()), { reason: 'DocumentTooLarge' });
    assert.equal(closed, true);
  });
});
