import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { bundle } from '../../scripts/build/bundle.ts';
import { stage } from '../../scripts/quickstart/light.ts';
import { needs } from '../support/needs.ts';

const script = resolve(import.meta.dirname, '../../scripts/quickstart/overlay.sh');
const skip = needs('root');

describe('the throw-away copy of a machine', { skip }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-copy-'));
  after(() => rmSync(directory, { recursive: true }));
  const inside = (command: string): string =>
    execFileSync('sh', [script, directory, 'sh', '-euc', command], { encoding: 'utf8' });

  test('shows the files of the machine and the given directory', () => {
    writeFileSync(join(directory, 'given'), 'here');
    assert.equal(inside('cat /quickstart/given; cat /etc/passwd'), `here${readFileSync('/etc/passwd', 'utf8')}`);
  });

  test('keeps what is done in it to itself', () => {
    const forwarding = '/proc/sys/net/ipv4/ip_forward';
    const before = {
      hostname: hostname(),
      forwarding: readFileSync(forwarding, 'utf8'),
      passwd: readFileSync('/etc/passwd'),
    };
    const flipped = before.forwarding.trim() === '1' ? '0' : '1';
    const seen = inside(
      `hostname throw-away; echo ${flipped} > ${forwarding}; touch /etc/throw-away; rm /etc/passwd; hostname; cat ${forwarding}`,
    );
    assert.equal(seen, `throw-away\n${flipped}\n`);
    assert.deepEqual(
      { hostname: hostname(), forwarding: readFileSync(forwarding, 'utf8'), passwd: readFileSync('/etc/passwd') },
      before,
    );
    assert.ok(!existsSync('/etc/throw-away'));
  });

  test('shows neither disks nor consoles nor the environment of its caller', () => {
    assert.equal(inside('ls /dev'), 'full\nnull\nrandom\ntty\nurandom\nzero\n');
    const environment = inside('env')
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    assert.deepEqual(environment.filter((name) => name !== 'PWD').sort(), ['HOME', 'LANG', 'PATH']);
  });

  test('ends with the exit status of its command', () => {
    assert.throws(() => inside('exit 10'), { status: 10 });
  });

  test('holds the light quick start, each of whose commands ends as it says', async () => {
    const program = join(directory, 'machineadm');
    writeFileSync(program, '#!/bin/sh\nexec /quickstart/node /quickstart/machineadm.cjs "$@"\n');
    chmodSync(program, 0o755);
    const staged = stage(program);
    try {
      // The copy has neither this checkout nor its Node.
      copyFileSync(process.execPath, join(staged.directory, 'node'));
      const root = resolve(import.meta.dirname, '../..');
      await bundle(join(root, 'src/main.ts'), join(staged.directory, 'machineadm.cjs'), { commit: 'unknown' });
      const run = () =>
        execFileSync('sh', [script, staged.directory, 'sh', '/quickstart/light.sh'], { encoding: 'utf8' });
      assert.match(run(), /nothing is left to change[\s\S]*files +Unchanged/);
    } finally {
      staged.remove();
    }
  });
});
