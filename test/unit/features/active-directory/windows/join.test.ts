import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ActiveDirectoryModel } from '@machineadm/document/model/index.ts';
import { JOIN_DOMAIN, REPAIR_SECURE_CHANNEL } from '../../../../../src/host/windows/domain-scripts.ts';
import { EMPTY_RECORD } from '../../../../../src/step/index.ts';
import { offlineBlob } from '../../../../support/active-directory.ts';
import { hostModel } from '../../../../support/host-model.ts';
import {
  accountCredentials,
  becomeMember,
  blobCredentials,
  clock,
  DOMAIN,
  domainModel,
  domainStep,
  domainThatAccepts,
  FOUND,
  findsAccount,
  joins,
  notFound,
  ONE_TIME_PASSWORD,
  oneTimeCredentials,
  PASSWORD,
  verified,
} from '../../../../support/windows-domain.ts';
import { type Recording, type WindowsMachine, windowsMachine } from '../../../../support/windows-machine.ts';
import { WindowsRuns } from '../../../../support/windows-runs.ts';

const JOIN_CHANGE = 'active-directory/join';
const BLOB_FILE = 'C:\\ProgramData\\machineadm\\domain-join-blob';

function runsOf(machine: WindowsMachine, domain: Partial<ActiveDirectoryModel> = {}, closed: readonly number[] = []) {
  return new WindowsRuns(machine, [domainStep(closed)], hostModel({ activeDirectory: domainModel(domain) }));
}

/** What was run, without the questions for versions that every run begins with. */
function commandsOf({ commands }: WindowsMachine): readonly string[] {
  return commands.filter((command) => !/ (--version|version -o short)$/.test(command));
}

/** Everything that lies on the machine or was on a command line, without standard input. */
function visible(machine: WindowsMachine, runs: WindowsRuns): string {
  return JSON.stringify([machine.calls.map(({ program, args, env }) => [program, args, env]), runs.records]);
}

describe('a Windows machine joins its domain', () => {
  test('with an account: reachable, clocks alike, the name free, joined, rebooted, verified', async () => {
    await using machine = windowsMachine({ recordings: domainThatAccepts() });
    const runs = runsOf(machine, { computerOU: 'OU=Nodes,DC=corp,DC=example,DC=com' });
    const { ends, last } = await runs.runToTheEnd();
    assert.deepEqual(ends, ['Rebooting', 'done']);
    assert.deepEqual(last.story, ['active-directory Unchanged []']);
    assert.deepEqual(commandsOf(machine), [
      'nltest.exe /dsgetdc:corp.example.com /force',
      'w32tm.exe /stripchart /computer:DC1.corp.example.com /samples:1 /dataonly',
      `powershell.exe <find-computer> {"path":"LDAP://DC1.corp.example.com","user":"joiner@corp.example.com","password":"${PASSWORD}","filter":"(&(objectCategory=computer)(sAMAccountName=WIN-NODE-1$))"}`,
      `powershell.exe <join-domain> {"name":"corp.example.com","password":"${PASSWORD}","user":"joiner@corp.example.com","organizationalUnit":"OU=Nodes,DC=corp,DC=example,DC=com","options":3}`,
    ]);
    machine.assertExpected();
  });

  test('with an account at a controller of its own', async () => {
    const name = `${DOMAIN}\\dc2.corp.example.com`;
    await using machine = windowsMachine({
      recordings: [
        FOUND,
        {
          ...clock(0),
          args: ['/stripchart', '/computer:dc2.corp.example.com', '/samples:1', '/dataonly'],
        } as Recording,
        findsAccount(null),
        joins(0, { name, password: PASSWORD, user: 'joiner@corp.example.com', organizationalUnit: null, options: 3 }),
      ],
    });
    assert.equal((await runsOf(machine, { domainController: 'dc2.corp.example.com' }).run()).end, 'Rebooting');
    machine.assertExpected();
  });

  test('with a one-time password: no login, no account looked for, the password is the computer’s', async () => {
    const request = {
      name: DOMAIN,
      password: ONE_TIME_PASSWORD,
      user: null,
      organizationalUnit: null,
      options: 0x1 | 0x40 | 0x80,
    };
    await using machine = windowsMachine({ recordings: [FOUND, clock(0), joins(0, request), verified()] });
    const { ends } = await runsOf(machine, { credentials: oneTimeCredentials() }).runToTheEnd();
    assert.deepEqual(ends, ['Rebooting', 'done']);
    machine.assertExpected();
  });

  test('with an offline blob: no network is asked, djoin reads a closed file that is gone afterwards', async () => {
    const text = offlineBlob({ domain: DOMAIN, computer: 'WIN-NODE-1', password: 'password-in-the-blob' });
    let seen: string | undefined;
    let rights: string | null = null;
    await using machine = windowsMachine({
      recordings: [
        {
          program: 'djoin.exe',
          args: ['/requestodj', '/loadfile', BLOB_FILE, '/windowspath', 'C:\\Windows', '/localos'],
          stdout: 'Loading provisioning data from the following file: []\r\nA reboot is required.\r\n',
          effect: (windows) => {
            seen = windows.read(BLOB_FILE);
            rights = windows.descriptor(BLOB_FILE);
            windows.state.atNextBoot.push(becomeMember);
          },
          from: { composed: 'Microsoft Learn, djoin' },
        },
      ],
    });
    const runs = runsOf(machine, { credentials: blobCredentials(text) });
    assert.deepEqual((await runs.runToTheEnd()).ends, ['Rebooting', 'done']);
    assert.ok(seen !== undefined && seen.length > 0);
    assert.equal(rights, 'O:BAG:SYD:AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)');
    assert.equal(machine.read(BLOB_FILE), undefined);
    machine.assertExpected();
  });

  test('and a second run changes nothing, nor asks the domain for more than whether it trusts it', async () => {
    await using machine = windowsMachine({ recordings: domainThatAccepts() });
    const runs = runsOf(machine);
    await runs.runToTheEnd();
    const before = [machine.effects, commandsOf(machine).length];
    assert.deepEqual((await runs.run()).story, ['active-directory Unchanged []']);
    assert.deepEqual([machine.effects, commandsOf(machine).length], before);
  });

  test('that is a member by other hands already is left alone', async () => {
    await using machine = windowsMachine({
      state: { partOfDomain: true, domain: 'CORP.example.com', isTrusted: true },
    });
    assert.deepEqual((await runsOf(machine).run()).story, ['active-directory Unchanged []']);
    assert.equal(machine.effects, 0);
  });

  test('whose Netlogon is not up yet after the reboot is waited for', async () => {
    const down = verified(1311, 'ERROR_NO_LOGON_SERVERS');
    await using machine = windowsMachine({
      recordings: [
        FOUND,
        clock(0),
        findsAccount(null),
        joins(0),
        down,
        {
          ...verified(),
          effect: ({ state }: WindowsMachine) => Object.assign(state, { isTrusted: true }),
        } as Recording,
      ],
    });
    const model = hostModel({ activeDirectory: domainModel() });
    const runs = new WindowsRuns(
      machine,
      [domainStep([], { channelPatience: { withinMs: 60_000, everyMs: 1 } })],
      model,
    );
    assert.equal((await runs.run()).end, 'Rebooting');
    machine.reboot();
    machine.state.isTrusted = false;
    const { end, story } = await runs.run();
    assert.deepEqual([end, story], ['done', ['active-directory Succeeded [active-directory/verify]']]);
    assert.deepEqual(
      machine.commands.filter((command) => command.includes('sc_verify')),
      ['nltest.exe /sc_verify:corp.example.com', 'nltest.exe /sc_verify:corp.example.com'],
    );
  });

  test('whose network is not up yet, as at a boot, is waited for before any secret is used', async () => {
    await using machine = windowsMachine({
      recordings: [notFound(1355, 'ERROR_NO_SUCH_DOMAIN'), FOUND, clock(0), findsAccount(null), joins(0)],
    });
    const model = hostModel({ activeDirectory: domainModel() });
    const runs = new WindowsRuns(
      machine,
      [domainStep([], { networkPatience: { withinMs: 60_000, everyMs: 1 } })],
      model,
    );
    assert.equal((await runs.run()).end, 'Rebooting');
    assert.equal(commandsOf(machine).filter((command) => command.includes('dsgetdc')).length, 2);
    machine.assertExpected();
  });

  test('leaves no secret on a command line, in the environment of a program, or in the journal', async () => {
    for (const credentials of [accountCredentials(), oneTimeCredentials()]) {
      await using machine = windowsMachine({ recordings: domainThatAccepts() });
      const runs = runsOf(machine, { credentials });
      await runs.runToTheEnd();
      assert.ok(machine.calls.some(({ input }) => input?.includes(PASSWORD) || input?.includes(ONE_TIME_PASSWORD)));
      const all = visible(machine, runs);
      for (const secret of [PASSWORD, ONE_TIME_PASSWORD]) assert.ok(!all.includes(secret));
    }
  });

  test('by a script that never changes, and has no value in it', () => {
    assert.ok(!/\$\{|undefined|null,/.test(JOIN_DOMAIN.text));
    assert.deepEqual(JOIN_DOMAIN.args.slice(0, 6), [
      '-NoLogo',
      '-NoProfile',
      '-NonInteractive',
      '-ExecutionPolicy',
      'Bypass',
      '-EncodedCommand',
    ]);
    assert.equal(Buffer.from(JOIN_DOMAIN.args[6] ?? '', 'base64').toString('utf16le'), JOIN_DOMAIN.text);
    // What a cmdlet is given, module logging writes into the event log.
    assert.ok(!/ConvertFrom-Json|New-Object/.test(JOIN_DOMAIN.text));
  });
});

describe('a Windows machine that cannot join fails before it is rebooted', () => {
  const cases: readonly (readonly [string, string, readonly Recording[]])[] = [
    ['the account does not exist or its password is wrong', 'DomainCredentialsRejected', [joins(1326)]],
    ['the account is disabled', 'DomainAccountDisabled', [joins(1331)]],
    ['the account is locked out', 'DomainAccountDisabled', [joins(1909)]],
    ['the password expired', 'DomainPasswordExpired', [joins(1330)]],
    ['the password must be changed', 'DomainPasswordExpired', [joins(1907)]],
    ['no rights', 'DomainPermissionDenied', [joins(5)]],
    ['the quota of the account is used up', 'DomainPermissionDenied', [joins(8557)]],
    ['no such organizational unit', 'OrganizationalUnitMissing', [joins(2)]],
    ['something that is no organizational unit', 'OrganizationalUnitInvalid', [joins(87)]],
    ['the account exists, and may not be taken over (KB5020276)', 'ComputerAccountExists', [joins(2732)]],
    ['the account exists', 'ComputerAccountExists', [joins(2224)]],
    ['clocks too far apart for Kerberos', 'DomainControllerClockSkew', [joins(1398)]],
    ['the controller went away', 'DomainControllerUnreachable', [joins(1722)]],
    ['a number that nobody foresaw', 'DomainJoinFailed', [joins(4242)]],
    ['unknown domain', 'DomainNotFound', [notFound(1355, 'ERROR_NO_SUCH_DOMAIN')]],
    ['name servers that do not answer', 'DomainNameServiceFailed', [notFound(1460, 'ERROR_TIMEOUT')]],
    ['the clock is 3 h off', 'DomainControllerClockSkew', [clock(10_800)]],
    ['the clock is 3 h off, the other way', 'DomainControllerClockSkew', [clock(-10_800)]],
    ['another machine of the name', 'ComputerAccountExists', [findsAccount('CN=WIN-NODE-1,OU=Nodes,DC=corp')]],
  ];
  for (const [what, reason, recordings] of cases) {
    test(`${what}: ${reason}`, async () => {
      await using machine = windowsMachine({
        recordings: [...recordings, FOUND, clock(0), findsAccount(null), joins(0)],
      });
      // The first of the same call would answer in turn: it stays.
      for (const recording of recordings) machine.record(recording);
      const { end, error, story } = await runsOf(machine).run();
      assert.equal(end, reason);
      assert.deepEqual([error?.exit, story], ['HostStepFailed', ['active-directory Failed []']]);
      assert.ok(!JSON.stringify([error?.message, error?.remedy, error?.evidence]).includes(PASSWORD));
    });
  }

  for (const [data, reason] of [
    ['52e', 'DomainCredentialsRejected'],
    ['525', 'DomainCredentialsRejected'],
    ['533', 'DomainAccountDisabled'],
    ['775', 'DomainAccountDisabled'],
    ['532', 'DomainPasswordExpired'],
    ['773', 'DomainPasswordExpired'],
  ] as const) {
    test(`an LDAP login that is refused with data ${data}: ${reason}, and the password is not tried again`, async () => {
      const detail = `80090308: LdapErr: DSID-0C090439, comment: AcceptSecurityContext error, data ${data}, v4563`;
      const refused = { ...findsAccount(null), answer: { code: 1326, detail } } as Recording;
      await using machine = windowsMachine({ recordings: [FOUND, clock(0), refused] });
      const { end, error } = await runsOf(machine).run();
      assert.equal(end, reason);
      assert.equal(error?.retryable, false);
      assert.equal(machine.calls.filter(({ input }) => input?.includes(PASSWORD)).length, 1);
      machine.assertExpected();
    });
  }

  test('a closed port of the controller, before a secret is sent anywhere', async () => {
    await using machine = windowsMachine({ recordings: domainThatAccepts() });
    const { end, error } = await runsOf(machine, {}, [445]).run();
    assert.equal(end, 'DomainControllerUnreachable');
    assert.deepEqual(
      [error?.retryable, error?.evidence],
      [true, [{ source: 'connect 10.0.0.2:445', text: 'ETIMEDOUT' }]],
    );
    assert.ok(!machine.calls.some(({ input }) => input?.includes(PASSWORD)));
  });

  test('a join that never ends', async () => {
    const hanging = { ...joins(0), hangs: true, effect: () => {} } as Recording;
    await using machine = windowsMachine({ recordings: [FOUND, clock(0), findsAccount(null), hanging] });
    const { end, error } = await runsOf(machine).run();
    assert.deepEqual([end, error?.retryable], ['DomainJoinTimedOut', true]);
  });

  for (const [code, reason] of [
    [1326, 'OneTimePasswordRejected'],
    [5, 'OneTimePasswordRejected'],
    [1317, 'ComputerAccountMissing'],
    [2697, 'ComputerAccountMissing'],
  ] as const) {
    test(`a one-time password that is answered with ${code}: ${reason}`, async () => {
      await using machine = windowsMachine({ recordings: [FOUND, clock(0), joins(code)] });
      assert.equal((await runsOf(machine, { credentials: oneTimeCredentials() }).run()).end, reason);
    });
  }

  for (const [what, text] of [
    ['of another machine', offlineBlob({ domain: DOMAIN, computer: 'OTHER', password: 'p-of-the-other' })],
    [
      'of another domain',
      offlineBlob({ domain: 'other.example.com', computer: 'WIN-NODE-1', password: 'p-elsewhere' }),
    ],
    ['that is cut off', offlineBlob({ domain: DOMAIN, computer: 'WIN-NODE-1', password: 'p-cut-off' }).slice(0, -40)],
  ] as const) {
    test(`a blob ${what}: DomainJoinBlobInvalid, before djoin sees it`, async () => {
      await using machine = windowsMachine();
      assert.equal((await runsOf(machine, { credentials: blobCredentials(text) }).run()).end, 'DomainJoinBlobInvalid');
      assert.equal(machine.effects, 0);
    });
  }

  for (const [what, stdout, status, reason] of [
    ['refuses', 'Failed to load the provisioning data (0xa96).\r\n', 1, 'DomainJoinBlobInvalid'],
    ['ends with a number alone', '', 2710, 'DomainJoinBlobInvalid'],
    ['is a stub that says nothing', '', 0, 'DomainJoinFailed'],
  ] as const) {
    test(`a djoin that ${what}: ${reason}, and the blob does not stay`, async () => {
      const text = offlineBlob({ domain: DOMAIN, computer: 'WIN-NODE-1', password: 'p-refused' });
      const args = ['/requestodj', '/loadfile', BLOB_FILE, '/windowspath', 'C:\\Windows', '/localos'];
      const from = { composed: 'lmerr.h NERR_BadOfflineJoinInfo' };
      await using machine = windowsMachine({ recordings: [{ program: 'djoin.exe', args, stdout, status, from }] });
      assert.equal((await runsOf(machine, { credentials: blobCredentials(text) }).run()).end, reason);
      assert.equal(machine.read(BLOB_FILE), undefined);
    });
  }

  test('a PowerShell that is a stub and says nothing is not believed to have joined', async () => {
    const silent = { ...joins(0), stdout: '', effect: () => {} } as Recording;
    await using machine = windowsMachine({ recordings: [FOUND, clock(0), findsAccount(null), silent] });
    assert.equal((await runsOf(machine).run()).end, 'HostStepFailed');
  });

  test('a member of another domain', async () => {
    await using machine = windowsMachine({ state: { partOfDomain: true, domain: 'old.example.com' } });
    assert.equal((await runsOf(machine).run()).end, 'MemberOfOtherDomain');
    assert.equal(machine.effects, 0);
  });

  test('with the message that Windows logged', async () => {
    await using machine = windowsMachine({
      recordings: [FOUND, clock(0), findsAccount(null), joins(5)],
      files: {
        'C:\\Windows\\debug\\NetSetup.LOG': [
          '01/01/2026 00:00:00:000 NetpDoDomainJoin',
          '01/01/2026 00:00:00:001 NetpGetLsaPrimaryDomain: status: 0x0',
          '01/01/2026 00:00:01:000 NetpProvisionComputerAccount: LDAP creation failed: 0x5',
          '',
        ].join('\r\n'),
      },
    });
    const { error } = await runsOf(machine).run();
    assert.deepEqual(
      error?.evidence.map(({ text }) => text),
      ['error 5', '01/01/2026 00:00:01:000 NetpProvisionComputerAccount: LDAP creation failed: 0x5'],
    );
  });
});

describe('a membership of a Windows machine that no longer works', () => {
  const member = { partOfDomain: true, domain: DOMAIN, isTrusted: false };

  for (const [code, name, reason] of [
    [1787, 'ERROR_NO_TRUST_SAM_ACCOUNT', 'DomainJoinBroken'],
    [5, 'ERROR_ACCESS_DENIED', 'DomainJoinBroken'],
    [1355, 'ERROR_NO_SUCH_DOMAIN', 'DomainNotFound'],
    [1311, 'ERROR_NO_LOGON_SERVERS', 'DomainControllerUnreachable'],
  ] as const) {
    test(`with ${name}: ${reason}`, async () => {
      await using machine = windowsMachine({ state: member, recordings: [verified(code, name)] });
      assert.equal((await runsOf(machine).run()).end, reason);
      machine.assertExpected();
    });
  }

  test('is repaired with an account where the document asks for that, without a reboot', async () => {
    const repaired: Recording = {
      script: REPAIR_SECURE_CHANNEL,
      request: { user: 'joiner@corp.example.com', password: PASSWORD },
      answer: { trusted: true },
      effect: ({ state }) => {
        state.isTrusted = true;
      },
      from: { composed: 'Microsoft Learn, Test-ComputerSecureChannel' },
    };
    await using machine = windowsMachine({
      state: member,
      recordings: [verified(1787, 'ERROR_NO_TRUST_SAM_ACCOUNT'), verified(), repaired],
    });
    const { end, story } = await runsOf(machine, { onBroken: 'Rejoin' }).run();
    assert.deepEqual([end, story], ['done', ['active-directory Succeeded [active-directory/verify]']]);
    machine.assertExpected();
  });

  test('is not taken as working if nltest is a stub that prints nothing', async () => {
    const stub = { ...verified(), stdout: '' } as Recording;
    await using machine = windowsMachine({ state: { ...member, isTrusted: true }, recordings: [stub] });
    machine.state.isTrusted = false;
    assert.equal((await runsOf(machine).run()).end, 'DomainJoinFailed');
  });
});

describe('a Windows machine that loses its power in the middle', () => {
  /** How many effects a join has that is not disturbed. */
  const undisturbed = async () => {
    await using machine = windowsMachine({ recordings: domainThatAccepts() });
    await runsOf(machine).runToTheEnd();
    return machine.effects;
  };

  test('at any point ends as one that does not', async () => {
    const effects = await undisturbed();
    assert.ok(effects >= 3, `${effects}`);
    for (let effect = 1; effect <= effects; effect += 1) {
      await using machine = windowsMachine({ recordings: domainThatAccepts() });
      const runs = runsOf(machine);
      const { ends, last } = await runs.runToTheEnd(effect);
      assert.ok(ends.includes('killed'), `effect ${effect}`);
      assert.equal(last.end, 'done', `effect ${effect}: ${ends.join(', ')}`);
      assert.deepEqual([machine.state.partOfDomain, machine.state.domain], [true, DOMAIN]);
      assert.deepEqual((await runs.run()).story, ['active-directory Unchanged []']);
    }
  });

  test('just after the join is not joined twice, and takes the account for its own', async () => {
    await using machine = windowsMachine({ recordings: domainThatAccepts() });
    machine.killAt({ after: 'join-domain' });
    const runs = runsOf(machine);
    assert.equal((await runs.run()).end, 'killed');
    // The join had reached the disk of Windows: it is a member behind the next boot.
    machine.reboot();
    assert.equal((await runs.run()).end, 'done');
    assert.equal(machine.commands.filter((command) => command.includes('<join-domain>')).length, 1);
  });

  test('just after a join that had not reached its disk joins again, though there is an account by now', async () => {
    await using machine = windowsMachine({ recordings: domainThatAccepts() });
    machine.killAt({ after: 'join-domain' });
    const runs = runsOf(machine);
    await runs.run();
    machine.state.atNextBoot.length = 0;
    machine.reboot();
    machine.record(findsAccount('CN=WIN-NODE-1,CN=Computers,DC=corp,DC=example,DC=com'));
    assert.deepEqual((await runs.runToTheEnd()).ends, ['Rebooting', 'done']);
    assert.equal(machine.commands.filter((command) => command.includes('<find-computer>')).length, 1);
  });

  test('while djoin reads the blob: what is left of it is removed', async () => {
    const text = offlineBlob({ domain: DOMAIN, computer: 'WIN-NODE-1', password: 'p-of-the-killed' });
    const args = ['/requestodj', '/loadfile', BLOB_FILE, '/windowspath', 'C:\\Windows', '/localos'];
    await using machine = windowsMachine({
      recordings: [
        {
          program: 'djoin.exe',
          args,
          stdout: 'A reboot is required.\r\n',
          effect: ({ state }) => state.atNextBoot.push(becomeMember),
          from: { composed: 'Microsoft Learn, djoin' },
        },
      ],
    });
    machine.killAt({ after: 'djoin.exe' });
    const runs = runsOf(machine, { credentials: blobCredentials(text) });
    assert.equal((await runs.run()).end, 'killed');
    assert.notEqual(machine.read(BLOB_FILE), undefined);
    machine.reboot();
    assert.deepEqual((await runs.run()).story, ['active-directory Succeeded [active-directory/wipe]']);
    assert.equal(machine.read(BLOB_FILE), undefined);
  });
});

describe('the reboot of a join', () => {
  test('that does not make it a member fails, and does not come twice', async () => {
    const lost = { ...joins(0), effect: () => {} } as Recording;
    await using machine = windowsMachine({ recordings: [FOUND, clock(0), findsAccount(null), lost] });
    const { ends } = await runsOf(machine).runToTheEnd();
    assert.deepEqual(ends, ['Rebooting', 'RebootNotEffective']);
    assert.equal(machine.commands.filter((command) => command.includes('<join-domain>')).length, 1);
  });

  test('is asked for again by a run that comes before it, which joins nothing', async () => {
    await using machine = windowsMachine({ recordings: domainThatAccepts() });
    const runs = runsOf(machine);
    assert.equal((await runs.run()).end, 'Rebooting');
    const { end, story } = await runs.run();
    assert.deepEqual([end, story], ['Rebooting', ['active-directory Succeeded []']]);
  });

  test('does not come for a join that failed, on a machine that had joined before', async () => {
    await using machine = windowsMachine({ recordings: domainThatAccepts() });
    const runs = runsOf(machine);
    await runs.runToTheEnd();
    Object.assign(machine.state, { partOfDomain: false, domain: 'WORKGROUP', isTrusted: false });
    // They answer in turn, behind the one that was given already.
    machine.record(joins(5), joins(5), joins(5), joins(0));
    assert.equal((await runs.run()).end, 'DomainPermissionDenied');
    assert.equal((await runs.run()).end, 'DomainPermissionDenied');
    assert.deepEqual((await runs.runToTheEnd()).ends, ['Rebooting', 'done']);
  });

  test('is left to others where the document says so', async () => {
    await using machine = windowsMachine({ recordings: domainThatAccepts() });
    const model = hostModel({ activeDirectory: domainModel(), rebootPolicy: 'Never' });
    const runs = new WindowsRuns(machine, [domainStep()], model);
    assert.equal((await runs.run()).end, 'RebootRequired');
    machine.reboot();
    assert.equal((await runs.run()).end, 'done');
  });

  test('is planned as one change that says so', async () => {
    await using machine = windowsMachine();
    const model = hostModel({ activeDirectory: domainModel() });
    const step = domainStep();
    const desired = step.desired(model, await machine.facts());
    const actual = await step.inspect(machine.queryHost(), desired, EMPTY_RECORD);
    assert.deepEqual(
      step.plan(desired, actual).map(({ id, summary }) => [id, summary]),
      [[JOIN_CHANGE, 'join corp.example.com as WIN-NODE-1, then reboot']],
    );
    assert.equal(machine.effects, 0);
  });
});

describe('a document that asks of Windows what it cannot do', () => {
  const refused = async (domain: Partial<ActiveDirectoryModel>, hostname?: string) => {
    await using machine = windowsMachine();
    const model = hostModel({ activeDirectory: domainModel(domain), ...(hostname === undefined ? {} : { hostname }) });
    const step = domainStep();
    const desired = step.desired(model, await machine.facts());
    return ((await step.preflight?.(machine.queryHost(), desired)) ?? []).map(({ reason, what }) => [
      reason,
      what.split(':')[0],
    ]);
  };

  test('is refused before anything is changed', async () => {
    assert.deepEqual(await refused({}), []);
    assert.deepEqual(await refused({ computerName: 'WIN-NODE-1' }), []);
    const unsupported = 'UnsupportedOnPlatform';
    assert.deepEqual(await refused({ computerName: 'OTHER' }), [[unsupported, 'host.activeDirectory.computerName']]);
    assert.deepEqual(await refused({ servicePrincipals: ['HTTP'] }), [
      [unsupported, 'host.activeDirectory.servicePrincipals'],
    ]);
    const logins = { allowedGroups: ['Admins'], createsHomes: false };
    assert.deepEqual(await refused({ logins }), [[unsupported, 'host.activeDirectory.logins']]);
    assert.deepEqual(await refused({ registersAddress: true }), [
      [unsupported, 'host.activeDirectory.registerAddress'],
    ]);
    assert.deepEqual(await refused({ onReset: 'Leave' }), [[unsupported, 'host.activeDirectory.onReset']]);
    assert.deepEqual(await refused({ onBroken: 'Rejoin', credentials: oneTimeCredentials() }), [
      [unsupported, 'host.activeDirectory.onBroken'],
    ]);
    assert.deepEqual(await refused({}, 'a-name-of-seventeen'), [
      ['ComputerNameInvalid', 'A-NAME-OF-SEVENTEEN has 19 characters, and a computer of a domain at most 15'],
    ]);
  });
});
