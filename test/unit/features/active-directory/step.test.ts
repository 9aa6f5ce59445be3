import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ActiveDirectoryModel } from '@machineadm/document/model/index.ts';
import { activeDirectoryStep } from '../../../../src/features/active-directory/index.ts';
import { kerberosConfiguration } from '../../../../src/features/active-directory/kerberos-configuration.ts';
import type { DirectoryNetwork } from '../../../../src/host/network/directory.ts';
import { keytab, membership, PASSWORD } from '../../../support/active-directory.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { bench } from '../../../support/step-bench.ts';

const KEYS = keytab(['NODE-1$@CORP.EXAMPLE.COM']);

const network = (different: Partial<DirectoryNetwork> = {}): DirectoryNetwork => ({
  controllers: async () => ['dc1.corp.example.com'],
  addressOf: async () => '10.0.0.1',
  closedPorts: async () => [],
  ownAddress: async () => '10.0.0.9',
  clock: async () => Date.now(),
  ...different,
});

/** A machine whose adcli makes the keytab when it joins. */
function machine(options: { joined?: boolean; account?: boolean; testjoin?: string } = {}) {
  const inputs: string[] = [];
  const programs: MemoryMachine['programs'] = {
    rm: () => ({}),
    adcli: ({ args, input }, host) => {
      const [verb] = args;
      if (verb === 'join') {
        inputs.push(typeof input === 'string' ? input : '');
        host.put('/etc/krb5.keytab', { content: KEYS, mode: 0o600 });
      }
      if (verb === 'show-computer' && options.account !== true) {
        return { status: 5, stderr: 'adcli: No computer account for NODE-1 exists' };
      }
      if (verb === 'testjoin' && options.testjoin !== undefined) return { status: 3, stderr: options.testjoin };
      if (verb === 'info') return { status: 0, stdout: '[domain]\ndomain-controller = dc1.corp.example.com\n' };
      return {};
    },
  };
  const files = options.joined
    ? {
        '/etc/krb5.keytab': { content: KEYS, mode: 0o600 },
        '/etc/krb5.conf': kerberosConfiguration('corp.example.com'),
      }
    : {};
  return { host: memoryHost({ files, programs }), inputs };
}

const on = (
  { host }: ReturnType<typeof machine>,
  different: Partial<ActiveDirectoryModel> = {},
  reached: Partial<DirectoryNetwork> = {},
) =>
  bench(
    activeDirectoryStep(async () => network(reached)),
    host,
    hostModel({ activeDirectory: membership(different) }),
  );

const ids = (changes: readonly { readonly id: string }[]) => changes.map(({ id }) => id);

describe('a machine outside of its domain', () => {
  test('writes the configuration of Kerberos, then joins once, and finds nothing to do then', async () => {
    const outside = machine();
    const step = on(outside);
    const changes = await step.plan();
    assert.deepEqual(
      changes.map(({ id, scope, repeatable }) => [id, scope, repeatable]),
      [
        ['active-directory/krb5.conf', 'base', undefined],
        ['active-directory/join', 'node', false],
      ],
    );
    const told = await step.apply();
    assert.deepEqual(outside.inputs, [PASSWORD]);
    assert.ok(!outside.host.log.some((line) => line.includes(PASSWORD)));
    assert.deepEqual(told.notes, [
      {
        computer: 'NODE-1',
        domain: 'corp.example.com',
        controller: 'dc1.corp.example.com',
        stays: 'host.activeDirectory.onReset is Keep',
      },
    ]);
    assert.deepEqual(await step.plan(), []);
  });

  test('does not take over an account that is there, unless an earlier run of its own began it', async () => {
    const taken = machine({ account: true });
    await assert.rejects(on(taken).apply(), { reason: 'ComputerAccountExists' });
    assert.deepEqual(taken.inputs, []);
    const notes = new Map([
      ['active-directory/join', { computer: 'NODE-1', domain: 'corp.example.com', controller: 'dc1' }],
    ]);
    await on(taken).apply({ notes });
    assert.deepEqual(taken.inputs, [PASSWORD]);
    const permitted = machine({ account: true });
    await on(permitted, { accountReuse: true }).apply();
    assert.deepEqual(permitted.inputs, [PASSWORD]);
  });

  const unreachable: readonly (readonly [string, Partial<DirectoryNetwork>, string])[] = [
    ['a closed port', { closedPorts: async () => [{ port: 464, why: 'ETIMEDOUT' }] }, 'DomainControllerUnreachable'],
    ['a clock of 301 s', { clock: async () => Date.now() + 301_000 }, 'DomainControllerClockSkew'],
  ];
  for (const [name, reached, reason] of unreachable) {
    test(`sends no secret anywhere with ${name}: ${reason}`, async () => {
      const outside = machine();
      await assert.rejects(on(outside, {}, reached).apply(), { reason, retryable: true, exit: 'HostStepFailed' });
      assert.deepEqual(outside.inputs, []);
      assert.ok(!outside.host.log.some((line) => line.includes('show-computer')));
    });
  }

  test('continues, with a warning, where only SMB is closed, or the clock is 61 s off', async () => {
    const reached = {
      closedPorts: async () => [{ port: 445, why: 'ETIMEDOUT' }],
      clock: async () => Date.now() - 61_000,
    };
    const { warnings } = await on(machine(), {}, reached).apply();
    assert.match(warnings.join('\n'), /TCP 445[\s\S]*61 s ahead/);
  });

  test('remembers the keytab for a reset, where asked and where there was none', async () => {
    const { notes } = await on(machine(), { onReset: 'Leave' }).apply();
    assert.deepEqual(notes, [
      {
        computer: 'NODE-1',
        domain: 'corp.example.com',
        controller: 'dc1.corp.example.com',
        undo: { keytab: '/etc/krb5.keytab' },
      },
    ]);
  });

  test('lacks adcli, or has a name that would be cut: before any change', async () => {
    const host = memoryHost();
    const model = hostModel({ activeDirectory: membership(), hostname: 'a-very-long-name-01' });
    const missing = await bench(
      activeDirectoryStep(async () => network()),
      host,
      model,
    ).preflight();
    assert.deepEqual(
      missing.map(({ reason, scope }) => [reason, scope]),
      [
        ['ActiveDirectoryToolMissing', undefined],
        ['ComputerNameInvalid', 'node'],
      ],
    );
  });
});

describe('a machine with keys', () => {
  test('that the domain accepts is left alone', async () => {
    const inside = machine({ joined: true });
    assert.deepEqual(await on(inside).plan(), []);
    assert.deepEqual(inside.host.log, []);
  });

  test('closes a keytab that others can read, and adds keys for services', async () => {
    const inside = machine({ joined: true });
    await inside.host.chmod('/etc/krb5.keytab', 0o644);
    assert.deepEqual(ids(await on(inside, { servicePrincipals: ['HTTP'] }).plan()), [
      'active-directory/keytab',
      'active-directory/services',
    ]);
  });

  for (const [what, file] of [
    ['content', { content: '[libdefaults]\n' }],
    ['mode', { content: kerberosConfiguration('corp.example.com'), mode: 0o600 }],
    ['owner', { content: kerberosConfiguration('corp.example.com'), uid: 1000 }],
  ] as const) {
    test(`writes the configuration of Kerberos again where its ${what} was changed by hand, and keeps no copy beside it`, async () => {
      const inside = machine({ joined: true });
      const step = on(inside);
      inside.host.put('/etc/krb5.conf', file);
      assert.deepEqual(ids(await step.plan()), ['active-directory/krb5.conf']);
      await step.apply();
      assert.deepEqual(await step.plan(), []);
      assert.equal(
        inside.host.text('/etc/krb5.conf.machineadm-orig'),
        undefined,
        'the journal has what was there first',
      );
    });
  }

  test('that the domain refuses stops, or joins again on request or if its own join was interrupted', async () => {
    const refused = {
      joined: true,
      testjoin: "Couldn't authenticate as machine account: NODE-1: Preauthentication failed",
    };
    await assert.rejects(on(machine(refused)).plan(), { reason: 'DomainJoinBroken' });
    assert.deepEqual(ids(await on(machine(refused), { onBroken: 'Rejoin' }).plan()), ['active-directory/join']);
    const interrupted = new Set(['active-directory/join']);
    assert.deepEqual(ids(await on(machine(refused)).plan({ interrupted })), ['active-directory/join']);
  });

  test('that cannot be verified is no success: the obstacle is reported', async () => {
    const unasked = machine({ joined: true, testjoin: "Couldn't find usable domain controller to connect to" });
    assert.deepEqual(ids(await on(unasked).plan()), ['active-directory/verify']);
    const closed = { closedPorts: async () => [{ port: 88, why: 'ECONNREFUSED' }] };
    await assert.rejects(on(unasked, {}, closed).apply(), { reason: 'DomainControllerUnreachable' });
  });
});
