import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HookGroup } from '@machineadm/document/model/index.ts';
import { bootHooks, bootHooksCommand } from '../../../../src/features/hooks/boot.ts';
import { bootHooksFile, parseKeptHooks } from '../../../../src/features/hooks/kept.ts';
import { withChecksum } from '../../../../src/host/files/checksum.ts';
import { openrcBootFile, systemdBootFile } from '../../../../src/host/services/boot-command.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const UNIT = '/etc/systemd/system/machineadm-hooks.service';
const FILE = bootHooksFile('node-1');
const GROUP: HookGroup = {
  shell: 'sh',
  onError: 'Fail',
  timeoutMs: 1000,
  frequency: 'Always',
  commands: ['echo hunter-two'],
};

function early(group: Partial<HookGroup> | undefined) {
  const hooks = group === undefined ? undefined : { ...GROUP, ...group };
  return hostModel({ hooks: { early: hooks, beforeBootstrap: undefined, afterBootstrap: undefined } });
}

function machine() {
  return memoryHost({ services: { 'machineadm-hooks.service': {} } });
}

const ids = (changes: readonly { readonly id: string }[]) => changes.map(({ id }) => id);

describe('hooks of every boot', () => {
  test('are kept for root only, with a unit that runs them, and then nothing is left to do', async () => {
    const host = machine();
    const run = await runStep(bootHooks, host, early({}));
    assert.deepEqual(ids(run.changes), ['hooks-boot/commands', 'hooks-boot/unit', 'hooks-boot/enable']);
    assert.ok(run.changes.every(({ scope }) => scope === 'node'));
    const owed = run.changes.find(({ id }) => id === 'hooks-boot/unit')?.owes;
    assert.deepEqual([owed, bootHooks.followUps?.settles], [['daemon-reload'], ['daemon-reload']]);
    assert.doesNotMatch(JSON.stringify(run.changes.map(({ summary, diff }) => [summary, diff])), /hunter/);
    assert.ok(host.log.includes(`write ${FILE} 0600 0:0`));
    assert.ok(host.log.includes('mkdir /var/lib/machineadm/hooks 0700'));
    assert.doesNotMatch(host.text(UNIT) ?? '', /hunter/);
    assert.deepEqual(run.left, []);
  });

  test('name the machine that they were left for', async () => {
    const host = machine();
    const here = facts({ cloudInstanceId: 'i-1' });
    await runStep(bootHooks, host, early({}), { facts: here });
    const kept = parseKeptHooks(host.text(FILE) ?? '');
    assert.deepEqual(kept, {
      machineId: here.machineId,
      cloudInstanceId: 'i-1',
      document: 'node-1',
      group: { ...GROUP, environment: {} },
    });
    assert.deepEqual(ids(await planned(bootHooks, host, early({}), { facts: facts({ machineId: 'f'.repeat(32) }) })), [
      'hooks-boot/commands',
    ]);
  });

  test('are written anew when they change, or when others may read them', async () => {
    const host = machine();
    await runStep(bootHooks, host, early({}));
    assert.deepEqual(ids(await planned(bootHooks, host, early({ commands: ['true'] }))), ['hooks-boot/commands']);
    await host.chmod(FILE, 0o644);
    assert.deepEqual(ids(await planned(bootHooks, host, early({}))), ['hooks-boot/commands']);
  });

  for (const [what, model] of [
    ['no longer for every boot', early({ frequency: 'Once' })],
    ['no longer in the document', early(undefined)],
  ] as const) {
    test(`are taken away when they are ${what}`, async () => {
      const host = machine();
      await runStep(bootHooks, host, early({}));
      const run = await runStep(bootHooks, host, model);
      assert.deepEqual(ids(run.changes), ['hooks-boot/disable', 'hooks-boot/unit', 'hooks-boot/commands']);
      assert.equal(host.text(UNIT), undefined);
      assert.equal(host.text(FILE), undefined);
      assert.deepEqual(run.left, []);
    });
  }

  test('that nobody asks for cost no question to the service manager', async () => {
    const host = machine();
    assert.deepEqual(await planned(bootHooks, host, early(undefined)), []);
    assert.deepEqual(host.queries, []);
  });

  test('are kept where nothing runs them at boot, which is reported', async () => {
    const run = await runStep(bootHooks, memoryHost({ serviceManager: 'none' }), early({}));
    assert.deepEqual(ids(run.changes), ['hooks-boot/commands']);
    assert.equal(run.warnings.length, 1);
  });

  test('run before the container runtime and the kubelet, and may do what a shell of root may', () => {
    const command = bootHooksCommand(['/usr/local/bin/machineadm']);
    const unit = systemdBootFile(command).content;
    assert.match(unit, /^ExecStart=\/usr\/local\/bin\/machineadm hooks run early$/m);
    assert.match(unit, /^Before=containerd\.service kubelet\.service$/m);
    assert.doesNotMatch(unit, /NoNewPrivileges/);
    assert.match(openrcBootFile(command).content, /^\tbefore containerd kubelet$/m);
  });
});

describe('the file of the hooks of every boot', () => {
  const group = { shell: 'sh', onError: 'Fail', timeoutMs: 1, commands: ['true'], environment: { A: 'b', C: 1 } };
  const kept = { version: 1, machineId: 'a', cloudInstanceId: 'i', group };
  const read = (value: unknown) => parseKeptHooks(withChecksum(JSON.stringify(value)));

  test('is what was kept, with only what is a text', () => {
    const environment = { A: 'b' };
    const { machineId, cloudInstanceId } = kept;
    assert.deepEqual(read(kept), {
      machineId,
      cloudInstanceId,
      document: undefined,
      group: { ...group, environment, frequency: 'Always' },
    });
    assert.equal(read({ ...kept, cloudInstanceId: 5 })?.cloudInstanceId, undefined);
    const more = { shell: 'bash', onError: 'Continue', user: 'ada', workingDirectory: '/srv' };
    assert.deepEqual(read({ ...kept, group: { ...group, ...more } })?.group, {
      ...group,
      ...more,
      environment,
      frequency: 'Always',
    });
    const wrong = read({ ...kept, group: { ...group, user: 1, workingDirectory: 2 } })?.group ?? {};
    assert.deepEqual(
      ['user', 'workingDirectory'].filter((name) => name in wrong),
      [],
    );
  });

  for (const [what, value] of [
    ['of no map', [kept]],
    ['of another version', { ...kept, version: 2 }],
    ['of no machine', { ...kept, machineId: 1 }],
    ['without a group', { ...kept, group: 'x' }],
    ['without commands', { ...kept, group: { ...group, commands: undefined } }],
    ['with a command that is none', { ...kept, group: { ...group, commands: ['true', 1] } }],
    ['without a time', { ...kept, group: { ...group, timeoutMs: '1' } }],
    ['for another shell', { ...kept, group: { ...group, shell: 'zsh' } }],
    ['that says something else for errors', { ...kept, group: { ...group, onError: 'Ignore' } }],
  ] as const) {
    test(`is not believed ${what}`, () => assert.equal(read(value), undefined));
  }

  test('is not believed where it is damaged', () => {
    assert.equal(parseKeptHooks('{"version":1,"machineId":"a'), undefined);
    assert.equal(parseKeptHooks(withChecksum(JSON.stringify(kept)).replace('true', 'evil')), undefined);
  });
});
