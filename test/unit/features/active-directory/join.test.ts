import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DomainJoin } from '../../../../src/features/active-directory/join.ts';
import type { DomainMembership } from '../../../../src/features/active-directory/membership.ts';
import type { Command, CommandResult } from '../../../../src/host/seam/host.ts';
import { keytab, membership, offlineBlob } from '../../../support/active-directory.ts';
import { facts } from '../../../support/facts.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const WORK = '/run/machineadm/active-directory';
const DOMAIN = '--domain=corp.example.com --domain-controller=dc1';
const COMPUTER = '--host-fqdn=node-1.corp.example.com --computer-name=NODE-1 --host-keytab=/etc/krb5.keytab';
const OS = { ...facts().os, id: 'debian', version: '13' };

function wanted(different: Partial<DomainMembership> = {}): DomainMembership {
  const names = { computerName: 'NODE-1', realm: 'CORP.EXAMPLE.COM', fqdn: 'node-1.corp.example.com', os: OS };
  return { ...membership(), ...names, ...different };
}

/** Joins on a machine whose programs answer this, and tells what was run, with which input. */
async function join(
  work: (join: DomainJoin) => Promise<void>,
  {
    desired = wanted(),
    answers = {},
    without = [],
  }: {
    readonly desired?: DomainMembership;
    /** By program and first word: `adcli join`. */
    readonly answers?: Readonly<Record<string, Partial<CommandResult>>>;
    readonly without?: readonly string[];
  } = {},
) {
  const [ran, inputs, waits]: [Command[], string[], (string | undefined)[]] = [[], [], []];
  const configurations: string[] = [];
  const answer = (command: Command): Partial<CommandResult> => {
    ran.push(command);
    if (command.input !== undefined) inputs.push(String(command.input));
    const configuration = host.text(`${WORK}/smb.conf`);
    if (configuration !== undefined) configurations.push(configuration);
    return answers[`${command.program} ${command.args?.[0]}`] ?? {};
  };
  const programs = ['adcli', 'kinit', 'net'].filter((name) => !without.includes(name));
  const host = memoryHost({
    files: { '/etc/krb5.keytab': { content: keytab(['NODE-1$@CORP.EXAMPLE.COM']), mode: 0o644 } },
    programs: { rm: () => ({}), ...Object.fromEntries(programs.map((program) => [program, answer])) },
  });
  const execution = {
    signal: new AbortController().signal,
    waitingFor: (what: string | undefined) => void waits.push(what),
    output() {},
    warn() {},
    release() {},
    remember() {},
  };
  let error: unknown;
  try {
    await DomainJoin.during(host, desired, 'dc1', execution, work);
  } catch (thrown) {
    error = thrown;
  }
  const shown = ran.map(({ program, args = [] }) => [program, ...args].join(' '));
  return { ran, shown, inputs, waits, configurations, host, error };
}

/** What an error says, for assertions. */
const told = (error: unknown) =>
  error instanceof Error && 'reason' in error ? `${String(error.reason)}: ${error.message}` : String(error);

describe('a join with an account', () => {
  test('names the computer, its system and its services, and has the password on standard input only', async () => {
    const { shown, inputs, ran, waits, host, error } = await join((one) => one.withAccount('joiner', 'pass word'), {
      desired: wanted({ computerOU: 'OU=Nodes', servicePrincipals: ['HTTP', 'nfs'], timeoutMs: 7 }),
    });
    assert.equal(error, undefined);
    assert.deepEqual(shown, [
      `adcli join ${DOMAIN} ${COMPUTER} --service-name=host --service-name=HTTP --service-name=nfs --login-type=user --login-user=joiner --stdin-password --os-name=debian --os-version=13 --domain-ou=OU=Nodes`,
    ]);
    assert.deepEqual(inputs, ['pass word']);
    assert.deepEqual([ran[0]?.timeoutMs, ran[0]?.supervised], [7, true]);
    assert.deepEqual(ran[0]?.env, { LC_ALL: 'C', TMPDIR: WORK, KRB5CCNAME: `FILE:${WORK}/tickets` });
    assert.deepEqual(waits, ['the join of corp.example.com']);
    assert.equal((await host.stat('/etc/krb5.keytab'))?.mode, 0o600);
  });

  test('without a place in the directory leaves that to the domain', async () => {
    const { shown } = await join((one) => one.withAccount('joiner', 'x'));
    assert.doesNotMatch(shown.join(), /--domain-ou/);
  });

  test('and a one-time password is one of the computer', async () => {
    const { shown, inputs } = await join((one) => one.withOneTimePassword('once'));
    assert.deepEqual(shown, [
      `adcli join ${DOMAIN} ${COMPUTER} --service-name=host --login-type=computer --stdin-password`,
    ]);
    assert.deepEqual(inputs, ['once']);
  });

  test('that fails tells it, and leaves the keytab as it is', async () => {
    const answers = { 'adcli join': { status: 3, stderr: 'adcli: something odd\n' } };
    const { error, host } = await join((one) => one.withAccount('joiner', 'x'), { answers });
    assert.match(told(error), /^DomainJoinFailed: adcli join could not make this machine a member.*\(status 3\)/);
    assert.equal((await host.stat('/etc/krb5.keytab'))?.mode, 0o644);
  });

  test('happens in a directory that is removed, before and after, whatever happens', async () => {
    const { host, error } = await join(() => Promise.reject(new Error('it broke')));
    assert.equal(told(error), 'Error: it broke');
    const wipe = `run rm -r -f --one-file-system -- ${WORK}`;
    assert.deepEqual(host.log, [wipe, `mkdir ${WORK} 0700`, wipe]);
  });
});

describe('an account that may exist', () => {
  const ask = (answer: Partial<CommandResult>) =>
    join((one) => one.refuseExisting('joiner', 'x'), { answers: { 'adcli show-computer': answer } });

  test('is asked for with the account that joins, and is none', async () => {
    const { shown, inputs, error } = await ask({ status: 5, stderr: 'adcli: No computer account for NODE-1 exists\n' });
    assert.equal(error, undefined);
    assert.deepEqual(shown, [
      `adcli show-computer ${DOMAIN} --login-type=user --login-user=joiner --stdin-password NODE-1`,
    ]);
    assert.deepEqual(inputs, ['x']);
  });

  test('is not taken over, and is shown by what identifies it', async () => {
    const stdout =
      'sAMAccountName:\n NODE-1$\ndNSHostName:\n - not set -\noperatingSystem:\n debian\npwdLastSet:\n 1\n';
    const { error } = await ask({ status: 0, stdout });
    assert.match(told(error), /^ComputerAccountExists: The domain has an account of the name NODE-1 already/);
    assert.deepEqual(error instanceof Error && 'evidence' in error ? error.evidence : [], [
      { source: 'adcli show-computer', text: 'NODE-1$, debian' },
    ]);
    const { error: bare } = await ask({ status: 0, stdout: '' });
    assert.deepEqual(bare instanceof Error && 'evidence' in bare ? bare.evidence : [], [
      { source: 'adcli show-computer', text: 'NODE-1' },
    ]);
  });

  test('that cannot be asked for is a failure, and a domain that does not show it is no absence', async () => {
    const { error } = await ask({ status: 5, stderr: 'adcli: something odd\n' });
    assert.match(told(error), /^DomainJoinFailed: adcli show-computer /);
    const { error: odd } = await ask({ status: 0, stderr: 'No computer account for NODE-1 exists' });
    assert.match(told(odd), /^ComputerAccountExists/);
  });
});

describe('a join with a blob', () => {
  const blob = (different: Partial<Parameters<typeof offlineBlob>[0]> = {}) =>
    offlineBlob({ domain: 'corp.example.com', computer: 'node-1', password: 'pass-of-node-1', ...different });

  test('takes the password of the blob, then writes the keytab', async () => {
    const { shown, configurations, host, error } = await join((one) => one.withBlob(blob()));
    assert.equal(error, undefined);
    assert.deepEqual(shown, [
      `net offlinejoin requestodj loadfile=${WORK}/blob --configfile=${WORK}/smb.conf`,
      `net ads keytab create -P -S dc1 --configfile=${WORK}/smb.conf`,
    ]);
    const common = [
      '[global]',
      'security = ads',
      'realm = CORP.EXAMPLE.COM',
      'workgroup = CORP',
      'netbios name = NODE-1',
    ];
    const directories = ['private dir', 'state directory', 'cache directory', 'lock directory', 'pid directory'];
    const places = [...directories.map((name) => `${name} = ${WORK}`), ''];
    assert.deepEqual(configurations, [
      [...common, 'kerberos method = secrets only', ...places].join('\n'),
      [
        ...common,
        'kerberos method = secrets and keytab',
        'dedicated keytab file = FILE:/etc/krb5.keytab',
        ...places,
      ].join('\n'),
    ]);
    for (const name of ['blob', 'smb.conf']) assert.equal((await host.stat(`${WORK}/${name}`))?.mode, 0o600);
  });

  test('of the short name of the domain is one of the domain', async () => {
    const { error } = await join((one) => one.withBlob(blob({ domain: 'CORP.example.com' })));
    assert.equal(error, undefined);
  });

  for (const [what, text, expected] of [
    ['that is none', 'x', /^DomainJoinBlobInvalid: The offline join data is damaged, truncated, or not join data/],
    ['of another computer', blob({ computer: 'NODE-2' }), /was made for the computer NODE-2, and this is NODE-1/],
    [
      'of another domain',
      blob({ domain: 'corp.example.org' }),
      /was made for the domain corp\.example\.org, and the document names corp/,
    ],
  ] as const) {
    test(`${what} is refused before anything is written`, async () => {
      const { error, shown, host } = await join((one) => one.withBlob(text));
      assert.match(told(error), expected);
      assert.deepEqual([shown, host.text(`${WORK}/blob`)], [[], undefined]);
    });
  }

  for (const [verb, name] of [
    ['net offlinejoin', 'net offlinejoin requestodj'],
    ['net ads', 'net ads keytab'],
  ] as const) {
    test(`whose ${name} fails says which program it was`, async () => {
      const { error } = await join((one) => one.withBlob(blob()), {
        answers: { [verb]: { status: 1, stderr: 'odd\n' } },
      });
      assert.ok(told(error).startsWith(`DomainJoinFailed: ${name} could not`), told(error));
    });
  }
});

describe('a member of a domain', () => {
  test('adds keys for services with its own permission', async () => {
    const { shown, error } = await join((one) => one.addServices(['HTTP', 'nfs']));
    assert.equal(error, undefined);
    assert.deepEqual(shown, [`adcli update ${DOMAIN} ${COMPUTER} --service-name=HTTP --service-name=nfs`]);
    const answers = { 'adcli update': { status: 1, stderr: 'odd\n' } };
    assert.match(told((await join((one) => one.addServices(['HTTP']), { answers })).error), /: adcli update could not/);
  });

  const KINIT = 'kinit -k -t /etc/krb5.keytab NODE-1$@CORP.EXAMPLE.COM';
  const TESTJOIN = `adcli testjoin ${DOMAIN} --host-keytab=/etc/krb5.keytab`;

  test('is proven by a ticket and a login; by the login alone without kinit', async () => {
    const { shown, ran, error } = await join((one) => one.verify());
    assert.deepEqual([shown, error], [[KINIT, TESTJOIN], undefined]);
    assert.deepEqual(
      ran.map(({ timeoutMs }) => timeoutMs),
      [30_000, 30_000],
    );
    assert.deepEqual((await join((one) => one.verify(), { without: ['kinit'] })).shown, [TESTJOIN]);
  });

  for (const [program, answers] of [
    ['kinit', { 'kinit -k': { status: 1, stderr: 'odd\n' } }],
    ['adcli testjoin', { 'adcli testjoin': { status: 1, stderr: 'odd\n' } }],
  ] as const) {
    test(`is not proven where ${program} fails`, async () => {
      const { error } = await join((one) => one.verify(), { answers });
      assert.ok(told(error).startsWith(`DomainJoinFailed: ${program} could not`), told(error));
    });
  }
});
