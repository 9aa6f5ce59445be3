import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { TARGETS } from '../../scripts/build/runtime.ts';
import { buildInto } from '../../scripts/build.ts';
import { needs } from '../support/needs.ts';
import { openWine, type Wine } from '../support/wine.ts';

const PROGRAM = 'C:\\k\\host.exe';
const DOCUMENT = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: windows-1}
host: {platform: Windows, hostname: windows-1}
`;

const opened = await openWine();
if ('unavailable' in opened) test('the Windows host, under Wine', { skip: needs(opened) }, () => {});
else underWine(opened);

function underWine(wine: Wine): void {
  describe('the Windows host, under Wine', { timeout: 600_000 }, () => {
    const part = async (name: string) => {
      const { status, stdout, stderr } = await wine.run(PROGRAM, [name]);
      assert.deepEqual([status, stderr], [0, '']);
      return JSON.parse(stdout);
    };

    before(async () => {
      const directory = mkdtempSync(join(tmpdir(), 'machineadm-wine-host-'));
      try {
        const targets = TARGETS.filter(({ platform }) => platform === 'win32');
        const root = resolve(import.meta.dirname, '../..');
        const built = await buildInto(directory, {
          root,
          entry: 'test/fixtures/wine/host.ts',
          targets,
          commit: 'wine',
        });
        wine.write(PROGRAM, readFileSync(join(directory, built[0] ?? '')));
      } finally {
        rmSync(directory, { recursive: true });
      }
      wine.write('C:\\site\\bootstrap.yaml', DOCUMENT);
    });
    after(() => wine.close());

    test('a lock is held by one process, and released as soon as that process ends', async () => {
      const { pid, holder, whileHeld, afterRelease, heldByChild, afterKill } = await part('lock');
      const held = (by: number) =>
        `Locked: another machineadm run is active on this machine: process ${by} holds C:\\ProgramData\\machineadm\\run\\lock`;
      assert.equal(whileHeld, held(pid));
      assert.equal(afterRelease, 'taken');
      assert.equal(heldByChild, held(holder));
      assert.equal(afterKill, 'taken');
    });

    test('a journal loses only what was cut off', async () => {
      assert.deepEqual(await part('journal'), ['first\nsecond\nthird\nfourth\n', 'another\n']);
    });

    test('programs run with status, standard input, lines and timeout', async () => {
      const { status, input, echoed, lines, timedOut, slowStatus, missing } = await part('commands');
      assert.equal(status, 1003);
      assert.equal(input, 'secret x\r\n');
      assert.deepEqual([echoed, lines], [0, ['one', 'two']]);
      assert.deepEqual([timedOut, slowStatus > 0], [true, true]);
      assert.equal(missing, 127);
    });

    test('hooks of cmd share one shell, and a failing one is named', async () => {
      const { ended, failed, output, left } = await part('hooks');
      assert.equal(ended, 'well', output.join('\n'));
      assert.ok(output.includes('hello early'), output.join('\n'));
      assert.ok(output.includes('last'), output.join('\n'));
      assert.match(failed, /^HookFailed: .*entry 2 of 3 \(exit \/b 7\): exit status 7/);
      assert.ok(!output.includes('never'));
      assert.deepEqual(left, []);
    });

    test('a PowerShell that does nothing and exits with 0 does not count as a success', async () => {
      assert.match(await part('facts'), /^HostStepFailed: powershell\.exe .*did not answer the script facts/);
      const { status, stderr } = await wine.agent(['plan', '-d', 'C:\\site\\bootstrap.yaml']);
      assert.equal(status, 10, stderr);
      assert.match(stderr, /did not answer the script facts.*\[HostStepFailed\]/s);
    });
  });
}
