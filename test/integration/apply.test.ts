import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import type { RunStatus } from '@machineadm/status/status.ts';
import { stringify } from 'yaml';
import { type AgentRun, agent } from '../support/agent.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DOCUMENT = '/etc/machineadm/bootstrap.yaml';
const FILE = '/etc/machineadm-test/file';

/** What a unit of packaging/ gives machineadm to do. */
function argumentsOf(unit: string): readonly string[] {
  const text = readFileSync(join(ROOT, 'packaging/systemd', unit), 'utf8');
  const command = /^ExecStart=\/usr\/local\/bin\/machineadm (.+)$/m.exec(text)?.[1];
  assert.ok(command !== undefined, unit);
  return command.split(' ');
}

const PROVISION = argumentsOf('machineadm-provision.service');
const RESUME = argumentsOf('machineadm-resume.service');

/** One boot: what systemd would start, on a /run that is empty. */
async function boot(args = PROVISION): Promise<AgentRun> {
  rmSync('/run/machineadm', { recursive: true, force: true });
  return await agent(args);
}

function lay(document: object, host: object): void {
  mkdirSync('/etc/machineadm', { recursive: true });
  const header = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name: 'n' } };
  writeFileSync(DOCUMENT, stringify({ ...header, ...document, host, reporting: { sinks: [] } }));
}

async function status(): Promise<RunStatus> {
  const { stdout } = await agent(['status', '-o', 'json']);
  return JSON.parse(stdout) as RunStatus;
}

const content = () => readFileSync(FILE, 'utf8');
const files = (text: string) => ({ files: [{ path: FILE, content: text }] });

inThrowAwayMachine(import.meta.filename, () => {
  beforeEach(() => {
    for (const path of ['/var/lib/machineadm', '/run/machineadm', '/etc/machineadm', '/etc/machineadm-test', '/tmp/ok'])
      rmSync(path, { recursive: true, force: true });
  });

  describe('the unit that starts machineadm at every boot', () => {
    test('applies a document once: what an administrator edited stays, and status shows what was applied', async () => {
      lay({}, files('of the document\n'));
      assert.equal((await boot()).status, 0);
      assert.equal(content(), 'of the document\n');
      writeFileSync(FILE, 'edited\n');
      const before = readFileSync('/var/lib/machineadm/journal', 'utf8');
      const second = await boot();
      assert.equal(second.status, 0, second.stderr);
      assert.match(
        second.stderr,
        /nothing to do: this document was applied at \S+ and has not changed \(apply: Once\)/,
      );
      assert.equal(content(), 'edited\n');
      assert.equal(readFileSync('/var/lib/machineadm/journal', 'utf8'), before);
      const { document, outcome } = await status();
      assert.deepEqual([outcome, document.apply], ['Succeeded', 'Once']);
      assert.match(document.appliedAt ?? '', /^\d{4}-\d\d-\d\dT/);
      const { stdout } = await agent(['status']);
      assert.match(stdout, new RegExp(`applied ${document.appliedAt}, once: units do nothing until`));
    });

    test('applies it again at every boot where it says so', async () => {
      lay({ apply: 'EveryBoot' }, files('of the document\n'));
      await boot();
      writeFileSync(FILE, 'edited\n');
      assert.equal((await boot()).status, 0);
      assert.equal(content(), 'of the document\n');
      assert.match((await agent(['status'])).stdout, /applied \S+, again at every boot/);
    });

    test('applies a document that has changed, and not one that only has another comment', async () => {
      lay({}, files('first\n'));
      await boot();
      writeFileSync(FILE, 'edited\n');
      writeFileSync(DOCUMENT, `# a comment\n${readFileSync(DOCUMENT, 'utf8')}`);
      await boot();
      assert.equal(content(), 'edited\n');
      lay({}, files('second\n'));
      assert.equal((await boot()).status, 0);
      assert.equal(content(), 'second\n');
    });

    test('does not resolve variables again: a variable that no longer exists is no failure', async () => {
      writeFileSync('/tmp/ok', 'value');
      const variables = { v: { file: '/tmp/ok' } };
      lay({ variables }, { files: [{ path: FILE, content: 'is ${v}\n', expand: true }] });
      assert.equal((await boot()).status, 0);
      assert.equal(content(), 'is value\n');
      rmSync('/tmp/ok');
      assert.equal((await boot()).status, 0);
    });

    test('resumes a failed run until it succeeds', async () => {
      const hooks = { beforeBootstrap: { commands: ['test -e /tmp/ok'] } };
      lay({}, { ...files('x\n'), hooks });
      assert.equal((await boot()).status, 10);
      writeFileSync(FILE, 'edited\n');
      assert.equal((await boot()).status, 10);
      assert.equal(content(), 'x\n');
      writeFileSync('/tmp/ok', '');
      assert.equal((await boot()).status, 0);
      writeFileSync(FILE, 'edited\n');
      assert.match((await boot()).stderr, /nothing to do/);
      assert.equal(content(), 'edited\n');
    });

    test('applies it on a copy of the disk that runs as another machine', async () => {
      lay({}, files('x\n'));
      await boot();
      writeFileSync(FILE, 'of the other machine\n');
      writeFileSync('/etc/machine-id', `${'b'.repeat(32)}\n`);
      assert.equal((await boot()).status, 0);
      assert.equal(content(), 'x\n');
    });

    test('reports a document that cannot be read any more', async () => {
      lay({}, files('x\n'));
      await boot();
      writeFileSync(DOCUMENT, 'kind: "\n');
      assert.equal((await boot()).status, 3);
    });

    test('a run by hand always applies, and a document from elsewhere changes nothing of this', async () => {
      lay({}, files('x\n'));
      await boot();
      writeFileSync(FILE, 'edited\n');
      assert.equal((await agent(['provision', '-d', DOCUMENT])).status, 0);
      assert.equal(content(), 'x\n');
      const other = readFileSync(DOCUMENT, 'utf8').replace('x\\n', 'other\\n').replace('x\n', 'other\n');
      writeFileSync('/tmp/other.yaml', other);
      assert.equal((await agent(['provision', '-d', '/tmp/other.yaml'])).status, 0);
      const edited = content();
      assert.notEqual(edited, 'x\n');
      assert.match((await boot()).stderr, /nothing to do/);
      assert.equal(content(), edited);
    });
  });

  describe('the unit that resumes a run after a reboot', () => {
    test('applies again what asks for it, once another has applied it', async () => {
      for (const [apply, expected] of [
        ['EveryBoot', 'of the document\n'],
        ['Once', 'edited\n'],
      ] as const) {
        rmSync('/var/lib/machineadm', { recursive: true, force: true });
        rmSync('/etc/machineadm-test', { recursive: true, force: true });
        lay({ apply }, files('of the document\n'));
        assert.equal((await boot(RESUME)).status, 0);
        assert.equal(existsSync(FILE), false);
        assert.equal((await agent(['provision', '-d', DOCUMENT])).status, 0);
        writeFileSync(FILE, 'edited\n');
        assert.equal((await boot(RESUME)).status, 0);
        assert.equal(content(), expected, apply);
      }
    });
  });

  test('--boot and --resume exclude each other', async () => {
    const run = await agent(['provision', '--boot', '--resume', '-d', DOCUMENT]);
    assert.equal(run.status, 2);
    assert.match(run.stderr, /UsageInvalid/);
  });
});
