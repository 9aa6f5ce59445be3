import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, test } from 'node:test';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { stringify } from 'yaml';
import { agent, statusOf } from '../support/agent.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';

const DOCUMENT = '/tmp/document.yaml';
const FILE = '/etc/machineadm-test/file';

/** Runs a document, and gives how it ended. */
async function provision(host: object, command = 'provision'): Promise<RunStatus> {
  const document = { metadata: { name: 'throw-away' }, host, reporting: { sinks: [] } };
  const header = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap' };
  writeFileSync(DOCUMENT, stringify({ ...header, ...document }));
  return statusOf(await agent([command, '-d', DOCUMENT, '-o', 'json']));
}

function assertFailed(status: RunStatus, step: string, reason: Reason): string {
  const { outcome, exitCode, failure } = status;
  assert.deepEqual([outcome, exitCode, failure?.step, failure?.reason], ['Failed', 10, step, reason]);
  assert.equal(status.steps.find(({ id }) => id === step)?.state, 'Failed');
  return failure?.summary ?? '';
}

const changesOf = (status: RunStatus) => status.steps.flatMap(({ changes }) => changes);

inThrowAwayMachine(import.meta.filename, () => {
  beforeEach(() => {
    for (const path of ['/var/lib/machineadm', '/run/machineadm', '/etc/machineadm-test', '/tmp/said'])
      rmSync(path, { recursive: true, force: true });
    writeFileSync('/etc/fstab', '# nothing\n');
  });

  describe('a document with a contradiction that only a run can detect', () => {
    test('fails, in each run: swap is disabled, and a hook writes a swap entry', async () => {
      const commands = ['echo "/dev/none none swap sw 0 0" >>/etc/fstab'];
      const host = { swap: 'Disabled', hooks: { beforeBootstrap: { commands } } };
      const summary = assertFailed(await provision(host), 'swap', 'SwapNotDisabled');
      assert.match(summary, /\(hooks-before-bootstrap\)\.$/);
      // The hook ran once: the entry is taken out by the next run, and stays out.
      assert.equal((await provision(host)).outcome, 'Succeeded');
      assert.match(readFileSync('/etc/fstab', 'utf8'), /^# machineadm disabled swap: \/dev\/none/m);
    });

    test('fails before the hooks that precede a bootstrap', async () => {
      writeFileSync('/tmp/entry', '/dev/none none swap sw 0 0\n');
      const host = {
        swap: 'Disabled',
        files: [{ path: '/etc/fstab', append: true, contentFrom: { file: '/tmp/entry' } }],
        hooks: { beforeBootstrap: { commands: ['touch /tmp/said'] } },
      };
      for (const command of ['provision', 'provision']) {
        rmSync('/var/lib/machineadm', { recursive: true, force: true });
        const summary = assertFailed(await provision(host, command), 'swap', 'StepUndone');
        assert.match(summary, /the step "files" \(files\) changed \/etc\/fstab after it/);
        assert.throws(() => readFileSync('/tmp/said'));
      }
    });
  });

  describe('two files of the document on one path, behind a link of this machine', () => {
    test('are refused before any change, by provision and prepare, and plan says so', async () => {
      mkdirSync('/etc/machineadm-test/real', { recursive: true });
      symlinkSync('real', '/etc/machineadm-test/link');
      const files = ['link', 'real'].map((name) => ({ path: `/etc/machineadm-test/${name}/file`, content: name }));
      const status = await provision({ files });
      const { outcome, exitCode, failure } = status;
      assert.deepEqual(
        [outcome, exitCode, failure?.step, failure?.reason],
        ['Failed', 4, undefined, 'PathClaimedTwice'],
      );
      assert.match(
        failure?.summary ?? '',
        /link\/file \(host\.files\[0\]\.path\) and .*real\/file \(host\.files\[1\]\.path\)/,
      );
      assert.equal((await provision({ files }, 'prepare')).exitCode, 4);
      const plan = await agent(['plan', '-d', DOCUMENT, '-o', 'json']);
      assert.equal(plan.status, 4, plan.stderr);
      assert.equal(JSON.parse(plan.stdout).refusal.reason, 'PathClaimedTwice');
      assert.equal((await agent(['validate', '-d', DOCUMENT])).status, 0);
      assert.deepEqual(readdirSync('/etc/machineadm-test/real'), []);
    });
  });

  describe('a hook that edits a file of the document', () => {
    const hooks = { beforeBootstrap: { commands: [`sed -i s/PLACEHOLDER/$(echo value)/ ${FILE}`, `rm ${FILE}.rm`] } };
    const files = (content: string) => [
      { path: FILE, content, mode: '0600' },
      { path: `${FILE}.rm`, content: 'needed by the hook\n' },
    ];

    test('takes precedence: the run succeeds, and the next one leaves the file alone', async () => {
      const host = { files: files('a = PLACEHOLDER\n'), hooks };
      assert.equal((await provision(host)).outcome, 'Succeeded');
      assert.equal(readFileSync(FILE, 'utf8'), 'a = value\n');
      const again = await provision(host);
      assert.deepEqual([again.outcome, changesOf(again)], ['Succeeded', []]);
      assert.equal(readFileSync(FILE, 'utf8'), 'a = value\n');
      const plan = await agent(['plan', '-d', DOCUMENT, '--exit-code']);
      assert.equal(plan.status, 0, plan.stdout);
    });

    test('but a file that was changed since, or that the document changed, is written again', async () => {
      const host = { files: files('a = PLACEHOLDER\n'), hooks };
      await provision(host);
      writeFileSync(FILE, 'a = drifted\n');
      assert.deepEqual(changesOf(await provision(host)), [`files/${FILE}`]);
      assert.equal(readFileSync(FILE, 'utf8'), 'a = PLACEHOLDER\n');
      const other = await provision({ files: files('b = PLACEHOLDER\n'), hooks });
      assert.deepEqual(changesOf(other), [`files/${FILE}`]);
      assert.equal(readFileSync(FILE, 'utf8'), 'b = PLACEHOLDER\n');
    });
  });
});
