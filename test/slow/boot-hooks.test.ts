import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { agent, startAgent, statusOf } from '../support/agent.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';
import { waitUntil } from '../support/wait-until.ts';

const DOCUMENT = '/tmp/document.yaml';
const KEPT = '/var/lib/machineadm/hooks/every-boot-throw-away.json';
const TRACE = '/tmp/trace';
const RUN = ['hooks', 'run', 'early'] as const;

function lay(early: object): void {
  const header = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name: 'throw-away' } };
  writeFileSync(DOCUMENT, stringify({ ...header, host: { hooks: { early } }, reporting: { sinks: [] } }));
}

const trace = () => (existsSync(TRACE) ? readFileSync(TRACE, 'utf8') : '');

async function provision(early: object) {
  lay(early);
  return statusOf(await agent(['provision', '-d', DOCUMENT, '-o', 'json']));
}

inThrowAwayMachine(import.meta.filename, () => {
  describe('early hooks of every boot', () => {
    beforeEach(() => {
      rmSync('/var/lib/machineadm', { recursive: true, force: true });
      rmSync('/run/machineadm', { recursive: true, force: true });
      rmSync(TRACE, { force: true });
      rmSync('/var/lib/cloud', { recursive: true, force: true });
      writeFileSync('/etc/machine-id', `${'a'.repeat(32)}\n`);
    });

    test('run once with provision, not with the next one, and at every boot', async () => {
      const always = { frequency: 'Always', commands: [`echo ran >> ${TRACE}`] };
      const first = await provision(always);
      assert.equal(first.outcome, 'Succeeded');
      assert.equal(trace(), 'ran\n');
      assert.equal(statSync(KEPT).mode & 0o777, 0o600);
      assert.equal(statSync('/var/lib/machineadm/hooks').mode & 0o777, 0o700);
      const second = await provision(always);
      assert.deepEqual(
        second.steps.flatMap(({ changes }) => changes),
        [],
      );
      assert.equal(trace(), 'ran\n');
      for (const times of [2, 3]) {
        const boot = await agent(RUN);
        assert.equal(boot.status, 0, boot.stderr);
        assert.match(boot.stderr, /1 command of the early hooks ran/);
        assert.equal(trace(), 'ran\n'.repeat(times));
      }
      assert.deepEqual(
        readdirSync('/var/lib/machineadm/hooks'),
        ['every-boot-throw-away.json'],
        'no exports stay on the disk',
      );
    });

    test('share one shell, and export nothing to the next boot', async () => {
      const commands = ['export WORD=again$WORD', `echo "$WORD" >> ${TRACE}`];
      await provision({ frequency: 'Always', commands });
      await agent(RUN);
      await agent(RUN);
      assert.equal(trace(), 'again\n'.repeat(3));
    });

    test('do not run where there are none', async () => {
      await provision({ commands: ['true'] });
      const boot = await agent(RUN);
      assert.equal(boot.status, 0);
      assert.match(boot.stderr, /no hooks were run: this machine has none/);
      assert.equal(existsSync(KEPT), false);
    });

    for (const [what, becomeAnother] of [
      ['machine-id', () => writeFileSync('/etc/machine-id', `${'b'.repeat(32)}\n`)],
      [
        "the cloud's instance id",
        () => {
          mkdirSync('/var/lib/cloud/data', { recursive: true });
          writeFileSync('/var/lib/cloud/data/instance-id', 'i-2\n');
        },
      ],
    ] as const) {
      test(`do not run on a copy of the disk, recognised by ${what}`, async () => {
        mkdirSync('/var/lib/cloud/data', { recursive: true });
        writeFileSync('/var/lib/cloud/data/instance-id', 'i-1\n');
        await provision({ frequency: 'Always', commands: [`echo ran >> ${TRACE}`] });
        becomeAnother();
        const boot = await agent(RUN);
        assert.equal(boot.status, 0);
        assert.match(boot.stderr, /no hooks were run: those on this disk belong to another machine/);
        assert.equal(trace(), 'ran\n');
      });
    }

    test('are left to the run that has not completed them', async () => {
      const failing = await provision({
        frequency: 'Always',
        commands: [`test -e /tmp/mended`, `echo ran >> ${TRACE}`],
      });
      assert.equal(failing.failure?.reason, 'HookFailed');
      const boot = await agent(RUN);
      assert.equal(boot.status, 0);
      assert.equal(trace(), '');
    });

    test('that fail are reported with the entry, and with exit code 10', async () => {
      await provision({ frequency: 'Always', commands: ['true', `test ! -e ${TRACE}`] });
      writeFileSync(TRACE, 'there\n');
      const boot = await agent(RUN);
      assert.equal(boot.status, 10);
      assert.match(boot.stderr, /HookFailed/);
      assert.match(boot.stderr, /entry 2 of 2/);
      assert.doesNotMatch(boot.stderr, /The next run continues/);
      rmSync(TRACE);
      assert.equal((await agent(RUN)).status, 0, 'a boot after it was mended is well');
    });

    test('that hang are killed at their timeout', async () => {
      const commands = [`if [ -e ${TRACE} ]; then sleep 600; fi`];
      await provision({ frequency: 'Always', timeout: '1s', commands });
      writeFileSync(TRACE, '');
      const boot = await agent(RUN);
      assert.equal(boot.status, 10);
      assert.match(boot.stderr, /HookTimedOut/);
    });

    test('that are killed start from the first entry at the next boot', async () => {
      const commands = [`echo one >> ${TRACE}`, `if [ -e /tmp/hang ]; then sleep 600; fi`, `echo two >> ${TRACE}`];
      await provision({ frequency: 'Always', commands });
      writeFileSync('/tmp/hang', '');
      const killed = startAgent(RUN);
      await waitUntil(() => trace() === 'one\ntwo\none\n', 'the command of the next boot is run');
      killed.kill('SIGTERM');
      const ended = await killed.ended;
      assert.equal(ended.status, 14, ended.stderr);
      rmSync('/tmp/hang');
      assert.equal((await agent(RUN)).status, 0);
      assert.equal(trace(), 'one\ntwo\none\none\ntwo\n');
    });

    test('of a damaged file are not guessed', async () => {
      await provision({ frequency: 'Always', commands: ['true'] });
      writeFileSync(KEPT, '{');
      const boot = await agent(RUN);
      assert.equal(boot.status, 10);
      assert.match(boot.stderr, /HooksUnreadable/);
    });

    test('that the document no longer has are removed by the next run', async () => {
      await provision({ frequency: 'Always', commands: ['true'] });
      await provision({ commands: ['true'] });
      assert.equal(existsSync(KEPT), false);
    });
  });
});
