import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { TARGETS } from '../../scripts/build/runtime.ts';
import { buildInto } from '../../scripts/build.ts';
import { offlineBlob } from '../support/active-directory.ts';
import { needs } from '../support/needs.ts';
import { openWine, type Wine } from '../support/wine.ts';

const DOCUMENT_PATH = 'C:\\site\\bootstrap.yaml';
const BLOB = offlineBlob({ domain: 'corp.example.com', computer: 'WIN-7', password: 'password-in-the-blob' });
const DOCUMENT = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: win-7}
secrets: {blob: {file: 'C:\\site\\blob.txt'}}
host:
  platform: Windows
  activeDirectory:
    domain: corp.example.com
    credentials: {offlineBlob: {secret: blob}}
`;
/** The names under which the stand-in is laid: what Wine has as a stub that does nothing, or not at all. */
const STAND_INS = [
  'C:\\windows\\system32\\WindowsPowerShell\\v1.0\\powershell.exe',
  'C:\\windows\\system32\\schtasks.exe',
  'C:\\windows\\system32\\shutdown.exe',
  'C:\\windows\\system32\\djoin.exe',
];
const MACHINE = {
  boot: '2026-01-01T00:00:00.0000000Z',
  bootNumber: 7,
  hostname: 'win-7',
  partOfDomain: false,
  domain: 'WORKGROUP',
  trusted: false,
  pending: {},
};

const opened = await openWine();
if ('unavailable' in opened) test('a Windows machine with stand-ins, under Wine', { skip: needs(opened) }, () => {});
else underWine(opened);

function underWine(wine: Wine): void {
  describe('a Windows machine with stand-ins, under Wine', { timeout: 1_200_000 }, () => {
    const text = (path: string): string => wine.read(path)?.toString() ?? '';
    const calls = (): { program: string; args: string[]; input: string }[] =>
      text('C:\\stand-in\\calls.jsonl')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
    const programs = (): string[] =>
      calls()
        .filter(({ program }) => program !== 'powershell.exe')
        .map(({ program, args }) => `${program} ${args[0]}`);
    /** Wine has some of them itself, and prefers its own. */
    const native = async (path: string): Promise<void> => {
      const name = path.slice(path.lastIndexOf('\\') + 1);
      const key = 'HKCU\\Software\\Wine\\DllOverrides';
      const { status, stderr } = await wine.run('reg', ['add', key, '/v', name, '/d', 'native', '/f']);
      assert.equal(status, 0, stderr);
    };
    const reboot = (): void => {
      const machine = JSON.parse(text('C:\\stand-in\\machine.json')) as typeof MACHINE;
      const boot = '2026-01-01T00:10:00.0000000Z';
      wine.write('C:\\stand-in\\machine.json', JSON.stringify({ ...machine, ...machine.pending, boot, bootNumber: 8 }));
      wine.write('C:\\stand-in\\calls.jsonl', '');
    };

    before(async () => {
      const directory = mkdtempSync(join(tmpdir(), 'machineadm-wine-worker-'));
      try {
        const targets = TARGETS.filter(({ platform }) => platform === 'win32');
        const entry = 'test/fixtures/wine/stand-in.ts';
        const built = await buildInto(directory, {
          root: resolve(import.meta.dirname, '../..'),
          entry,
          targets,
          commit: 'wine',
        });
        const program = readFileSync(join(directory, built[0] ?? ''));
        for (const path of STAND_INS) {
          wine.write(path, program);
          await native(path);
        }
      } finally {
        rmSync(directory, { recursive: true });
      }
      wine.write(DOCUMENT_PATH, DOCUMENT);
      wine.write('C:\\site\\blob.txt', BLOB);
      wine.write('C:\\stand-in\\machine.json', JSON.stringify(MACHINE));
      wine.write('C:\\stand-in\\calls.jsonl', '');
    });
    after(() => wine.close());

    test('is planned', async () => {
      const { status, stdout, stderr } = await wine.agent(['plan', '-d', DOCUMENT_PATH, '-o', 'json']);
      assert.equal(status, 0, stderr);
      const { changes } = JSON.parse(stdout) as { changes: { id: string; summary: string }[] };
      assert.deepEqual(
        changes.map(({ id, summary }) => [id, summary]),
        [['active-directory/join', 'join corp.example.com as WIN-7, then reboot']],
      );
      assert.deepEqual(programs(), []);
    });

    test('joins its domain and ends for the reboot, after which a task resumes the run', async () => {
      const { status, stdout, stderr } = await wine.agent(['provision', '-d', DOCUMENT_PATH, '-o', 'json']);
      assert.equal(status, 16, stderr);
      const { outcome, failure } = JSON.parse(stdout) as { outcome: string; failure: { reason: string; step: string } };
      assert.deepEqual([outcome, failure.reason, failure.step], ['RebootRequired', 'Rebooting', 'active-directory']);
      assert.deepEqual(programs(), [
        'schtasks.exe /Create',
        'schtasks.exe /Query',
        'djoin.exe /requestodj',
        'shutdown.exe /r',
      ]);
      assert.match(text('C:\\stand-in\\task.xml'), /<Command>C:\\k\\machineadm\.exe<\/Command>/);
      assert.match(
        text('C:\\stand-in\\task.xml'),
        /<Arguments>provision --resume -d C:\\site\\bootstrap\.yaml<\/Arguments>/,
      );
      assert.equal(wine.read('C:\\ProgramData\\machineadm\\domain-join-blob'), undefined);
      assert.match(
        text('C:\\ProgramData\\machineadm\\journal'),
        /"is":"reboot","step":"active-directory","now":"Requested"/,
      );
    });

    test('joins nothing when it runs again before the reboot, and requests the reboot with the exit code of cloudbase-init', async () => {
      const { status } = await wine.agent(['provision', '-d', DOCUMENT_PATH, '--exit-codes', 'cloudbase-init']);
      // 1001, of which Wine's side hands on eight bits.
      assert.equal(status, 1001 % 256);
      assert.equal(programs().filter((said) => said.startsWith('djoin')).length, 1);
      assert.equal(programs().filter((said) => said.startsWith('shutdown')).length, 1);
    });

    test('resumes after the reboot with its task, and deletes the task at the end', async () => {
      reboot();
      const { status, stdout, stderr } = await wine.agent(['provision', '--resume', '-d', DOCUMENT_PATH, '-o', 'json']);
      assert.equal(status, 0, `${stderr}\n${stdout}`);
      assert.equal((JSON.parse(stdout) as { outcome: string }).outcome, 'Succeeded');
      assert.deepEqual(programs(), [
        'schtasks.exe /Create',
        'schtasks.exe /Query',
        'schtasks.exe /Delete',
        'schtasks.exe /Query',
      ]);
    });

    test('has nothing to resume afterwards, and a second run changes nothing', async () => {
      const resumed = await wine.agent(['provision', '--resume', '-d', DOCUMENT_PATH]);
      assert.deepEqual([resumed.status, /nothing to resume/.test(resumed.stderr)], [0, true]);
      const { status, stdout } = await wine.agent(['plan', '-d', DOCUMENT_PATH, '-o', 'json']);
      assert.deepEqual([status, JSON.parse(stdout).changes], [0, []]);
    });

    test('has exposed no secret on a command line, in the journal or in its status', async () => {
      const seen = [
        JSON.stringify(calls().map(({ program, args }) => [program, args])),
        text('C:\\ProgramData\\machineadm\\journal'),
        text('C:\\ProgramData\\machineadm\\status.json'),
      ].join('\n');
      for (const secret of [BLOB, 'password-in-the-blob']) assert.ok(!seen.includes(secret));
    });
  });
}
