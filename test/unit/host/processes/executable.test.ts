import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { executableTrouble, programTrouble } from '../../../../src/host/processes/executable.ts';
import { memoryHost } from '../../../support/memory-host.ts';

/** A real dynamically linked program: the Node that runs this. */
const NODE = readFileSync(process.execPath);
const INTERPRETER = /\/lib(?:64)?\/ld-[\w.-]+/.exec(NODE.subarray(0, 4096).toString('latin1'))?.[0] ?? '';

function trouble(content: string | Uint8Array, mode = 0o755, architecture: string = process.arch) {
  const host = memoryHost({ files: { '/usr/bin/kubelet': { content, mode }, [INTERPRETER]: 'ld.so' } });
  return executableTrouble(host, '/usr/bin/kubelet', architecture);
}

describe('a program that the kernel cannot run is reported', () => {
  test('but a whole program, and a script, are not', async () => {
    assert.equal(await trouble(NODE), undefined);
    assert.equal(await trouble('#!/bin/sh\nexit 0\n'), undefined);
  });

  const broken: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
    ['nothing in it', '', /^\/usr\/bin\/kubelet is empty$/],
    ['a text', 'kubelet v1.34.1\n', /is neither a program nor a script with a #! line$/],
    ['a page of a portal', '<html>', /is neither a program/],
    ['the first kilobyte', NODE.subarray(0, 1024), /is truncated$/],
    ['all but its end', NODE.subarray(0, NODE.length / 2), /is truncated$/],
    ['32 bytes', NODE.subarray(0, 32), /is truncated$/],
  ];
  for (const [what, content, why] of broken) {
    test(`with ${what}`, async () => assert.match((await trouble(content)) ?? '', why));
  }

  test('of another machine architecture', async () => {
    const other = process.arch === 'x64' ? 'arm64' : 'x64';
    assert.match(
      (await trouble(NODE, 0o755, other)) ?? '',
      new RegExp(`is a program for ${process.arch}, and this machine is ${other}`),
    );
  });

  test('without the execute permission, which no PATH finds', async () => {
    const host = memoryHost({ files: { '/usr/bin/kubelet': { content: NODE, mode: 0o644 } } });
    assert.equal(await programTrouble(host, 'kubelet'), '/usr/bin/kubelet is not executable (mode 0644)');
  });

  test('without the execute permission behind a link, whose own mode says nothing', async () => {
    const runc = { content: NODE, mode: 0o644 };
    const link = { type: 'symlink', content: '../sbin/runc', mode: 0o777 } as const;
    const host = memoryHost({ files: { '/usr/bin/runc': link, '/usr/sbin/runc': runc } });
    assert.equal(await programTrouble(host, 'runc'), '/usr/bin/runc is not executable (mode 0644)');
  });

  test('without its loader', async () => {
    const host = memoryHost({ files: { '/usr/bin/kubelet': { content: NODE, mode: 0o755 } } });
    assert.equal(
      await executableTrouble(host, '/usr/bin/kubelet'),
      `/usr/bin/kubelet needs ${INTERPRETER}, which does not exist`,
    );
  });

  test('as missing by its path, but not by its name', async () => {
    assert.equal(await programTrouble(memoryHost(), 'kubelet'), undefined);
    assert.equal(await executableTrouble(memoryHost(), '/usr/bin/kubelet'), '/usr/bin/kubelet does not exist');
  });
});
