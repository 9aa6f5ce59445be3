import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempDisposableSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { makeOutputDirectory, writeOutputFile } from '../../../../src/host/local-files/output-file.ts';
import { needs } from '../../../support/needs.ts';

const skip = needs('POSIX files');

describe('an output file', { skip }, () => {
  const modeOf = (path: string): number => statSync(path).mode & 0o777;

  test('is private to its caller, also when it replaces one that was not', () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-output-'));
    const path = join(directory.path, 'out');
    writeOutputFile(path, 'one', '--to');
    assert.deepEqual([readFileSync(path, 'utf8'), modeOf(path)], ['one', 0o600]);
    writeFileSync(path, 'two', { mode: 0o644 });
    execFileSync('chmod', ['0644', path]);
    writeOutputFile(path, new TextEncoder().encode('three'), '--to');
    assert.deepEqual([readFileSync(path, 'utf8'), modeOf(path)], ['three', 0o600]);
    assert.deepEqual(readdirSync(directory.path), ['out']);
  });

  test('that is a link replaces the target, and the link stays', () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-output-'));
    const [path, target] = [join(directory.path, 'link'), join(directory.path, 'target')];
    writeFileSync(target, 'old');
    symlinkSync('target', path);
    writeOutputFile(path, 'new', '--to');
    assert.deepEqual([readFileSync(target, 'utf8'), readdirSync(directory.path)], ['new', ['link', 'target']]);
  });

  test('that is a FIFO is written to, and stays one', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-output-'));
    const path = join(directory.path, 'fifo');
    execFileSync('mkfifo', [path]);
    const reader = spawn('cat', [path], { stdio: ['ignore', 'pipe', 'inherit'] });
    // Were it replaced, the reader would wait for ever.
    try {
      const written = text(reader.stdout);
      writeOutputFile(path, 'through', '--to');
      assert.equal(statSync(path).isFIFO(), true);
      assert.equal(await written, 'through');
    } finally {
      reader.kill();
    }
  });

  test('that cannot be written names the option, and leaves nothing', () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-output-'));
    const path = join(directory.path, 'missing/out');
    const refused = { reason: 'FileNotWritten', exit: 'Refused', remedy: / Or give another path with --save-to\.$/ };
    assert.throws(() => writeOutputFile(path, 'x', '--save-to'), refused);
    writeFileSync(join(directory.path, 'file'), '');
    assert.throws(() => makeOutputDirectory(join(directory.path, 'file/directory'), '--save-to'), refused);
    assert.deepEqual(readdirSync(directory.path), ['file']);
  });

  test("has a directory that is its caller's alone", () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-output-'));
    const path = join(directory.path, 'a/b');
    makeOutputDirectory(path, '--to');
    assert.deepEqual([modeOf(path), modeOf(join(directory.path, 'a'))], [0o700, 0o700]);
  });
});
