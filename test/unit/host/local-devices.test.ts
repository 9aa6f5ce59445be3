import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempDisposableSync, openSync, readSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { realPath } from '../../../src/host/files/paths.ts';
import { openConsole } from '../../../src/host/local-files/console-device.ts';
import { directoryNetwork } from '../../../src/host/network/directory.ts';
import { isOwnAddress } from '../../../src/host/network/own-addresses.ts';
import { attributesOf } from '../../../src/prior-state/extended-attributes.ts';
import { consoleSink } from '../../../src/reporting/sinks/console.ts';
import { memoryHost } from '../../support/memory-host.ts';

/** A FIFO, which is full like a console that nothing drains. Opened for reading, so that a writer can open it. */
function fifo(directory: string): { readonly path: string; read(): string; [Symbol.dispose](): void } {
  const path = join(directory, 'console');
  assert.equal(spawnSync('mkfifo', [path]).status, 0);
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return {
    path,
    read() {
      const bytes = Buffer.alloc(2 ** 20);
      return bytes.toString('utf8', 0, readSync(descriptor, bytes));
    },
    [Symbol.dispose]: () => closeSync(descriptor),
  };
}

describe('a console', () => {
  test('gets the whole text', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-console-'));
    using console = fifo(directory.path);
    const device = openConsole(console.path);
    await device.write('one\n', new AbortController().signal);
    await device.write('two\n', new AbortController().signal);
    device.close();
    assert.equal(console.read(), 'one\ntwo\n');
  });

  test('that nothing drains holds a writer up no longer than its signal allows', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-console-'));
    using console = fifo(directory.path);
    const device = openConsole(console.path);
    const text = 'x'.repeat(2 ** 20);
    await assert.rejects(device.write(text, AbortSignal.abort()), { name: 'AbortError' });
    device.close();
    const written = console.read();
    assert.ok(written.length > 0 && written.length < text.length);
    assert.ok(text.startsWith(written));
  });

  test('without a device is an error with the remedy, and one that nothing reads is not waited for', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-console-'));
    const path = join(directory.path, 'console');
    await assert.rejects(consoleSink(path).open(new AbortController().signal), {
      reason: 'HostStepFailed',
      message: `the console ${path} cannot be opened: ENOENT`,
    });
    assert.equal(spawnSync('mkfifo', [path]).status, 0);
    assert.throws(() => openConsole(path), { code: 'ENXIO' });
  });
});

describe('an address of this machine', () => {
  test('is each of its interfaces, in any spelling', () => {
    for (const own of ['127.0.0.1', '127.1.2.3', '127.1'] as const) assert.equal(isOwnAddress(own), true, own);
    const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    for (const { address, family } of addresses) {
      assert.equal(isOwnAddress(address), true, address);
      if (family === 'IPv6') assert.equal(isOwnAddress(`[${address.toUpperCase()}]`), true, address);
    }
  });

  test('is no name and no address of another machine', () => {
    for (const other of ['localhost', 'api.example', '192.0.2.1', '[2001:db8::1]', '2001:db8::1', '', '[', '1.127.0.0'])
      assert.equal(isOwnAddress(other), false, other);
  });
});

describe('a controller of a domain', () => {
  test('has the ports that accept no connection reported, each with the reason', async () => {
    await using server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    await using closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const other = closed.address();
    assert.ok(other !== null && typeof other === 'object');
    await new Promise((resolve) => closed.close(resolve));
    assert.deepEqual(await directoryNetwork.closedPorts('127.0.0.1', [address.port, other.port]), [
      { port: other.port, why: 'ECONNREFUSED' },
    ]);
    assert.deepEqual(await directoryNetwork.closedPorts('127.0.0.1', [address.port]), []);
  });

  test('that is given as an address is not looked up', async () => {
    assert.equal(await directoryNetwork.addressOf('127.0.0.1'), '127.0.0.1');
  });
});

test('the real path of a file resolves the links of its directories, and not the file itself', async () => {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-paths-'));
  const root = await realPath(directory.path);
  symlinkSync('..', join(root, 'up'));
  symlinkSync('loop', join(root, 'loop'));
  symlinkSync('target', join(root, 'link'));
  assert.equal(await realPath(`${root}/up/${root.split('/').at(-1)}/link`), `${root}/link`);
  assert.equal(await realPath(`${root}/up/${root.split('/').at(-1)}/new/deep/file`), `${root}/new/deep/file`);
  assert.equal(await realPath(`${root}/link/file`), `${root}/link/file`);
  assert.equal(await realPath(`${root}/loop/file`), `${root}/loop/file`);
  assert.equal(await realPath('/'), '/');
  assert.equal(await realPath('/nothing-here'), '/nothing-here');
});

test('extended attributes are those that getfattr prints, if it is installed', async () => {
  const stdout = '# file: /a\nsecurity.selinux=0x00ff\nuser.empty=0x\nuser.text="no"\nTrusted=0x00\n\n';
  const host = memoryHost({ programs: { getfattr: () => ({ stdout }) } });
  assert.deepEqual(await attributesOf(host, '/a'), {
    extended: { 'security.selinux': '0x00ff', 'user.empty': '0x' },
  });
  assert.deepEqual(host.queries, ['getfattr --no-dereference --dump --match=- --encoding=hex --absolute-names /a']);
  const none = memoryHost({ programs: { getfattr: () => ({ stdout: '# file: /a\n' }) } });
  assert.deepEqual(await attributesOf(none, '/a'), {});
  const failing = memoryHost({ programs: { getfattr: () => ({ status: 1, stdout }) } });
  assert.deepEqual(await attributesOf(failing, '/a'), {});
  assert.deepEqual(await attributesOf(memoryHost(), '/a'), {});
});
