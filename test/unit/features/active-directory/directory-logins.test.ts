import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ActiveDirectoryModel } from '@machineadm/document/model/index.ts';
import {
  sssdConfiguration,
  withDirectory,
} from '../../../../src/features/active-directory/directory-logins/configuration.ts';
import { directoryLogins } from '../../../../src/features/active-directory/directory-logins/index.ts';
import { membership } from '../../../support/active-directory.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryHost, type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { bench, told } from '../../../support/step-bench.ts';

const LOGINS = { allowedGroups: ['node admins'], createsHomes: true };
const GROUP = 'node admins@corp.example.com';

/** A Debian with sssd, whose group is known once sssd runs with our configuration. */
function debian(different: Partial<MemoryMachine> = {}) {
  return memoryHost({
    files: {
      '/etc/nsswitch.conf': 'passwd:         files systemd\ngroup: files [SUCCESS=merge] systemd\nhosts: files dns\n',
      '/etc/pam.d/common-auth': '# pam_sss.so\nauth [success=1 default=ignore] pam_unix.so nullok\n',
    },
    services: { sssd: {} },
    programs: {
      sssd: () => ({}),
      'pam-auth-update': (_, host) => {
        host.put('/etc/pam.d/common-auth', 'auth [success=1 default=ignore] pam_sss.so use_first_pass\n');
        host.put('/etc/pam.d/common-session', 'session optional pam_mkhomedir.so\n');
        return {};
      },
      getent: (_, host) => ({ status: host.text('/etc/sssd/sssd.conf') === undefined ? 2 : 0 }),
    },
    ...different,
  });
}

const on = (host: ReturnType<typeof memoryHost>, different: Partial<ActiveDirectoryModel> = {}) =>
  bench(directoryLogins, host, hostModel({ activeDirectory: membership({ logins: LOGINS, ...different }) }));

const ids = (changes: readonly { readonly id: string }[]) => changes.map(({ id }) => id);

describe('logins of the domain', () => {
  test('are asked for by the document alone', () => {
    assert.equal(on(debian(), { logins: undefined }).desired, undefined);
  });

  test('are no business of ours on Windows', () => {
    const model = hostModel({ activeDirectory: membership({ logins: LOGINS }) });
    assert.equal(directoryLogins.desired(model, facts({ platform: 'windows' })), undefined);
  });

  test('write what sssd, NSS and PAM need, and are left alone then', async () => {
    const host = debian();
    const step = on(host);
    assert.deepEqual(
      (await step.plan()).map(({ id, scope, owes }) => [id, scope, owes]),
      ['sssd.conf', 'nsswitch.conf', 'pam', 'enable'].map((name) => [
        `directory-logins/${name}`,
        'node',
        ['restart:sssd'],
      ]),
    );
    await step.apply();
    assert.equal((await host.stat('/etc/sssd/sssd.conf'))?.mode, 0o600);
    assert.match(host.text('/etc/sssd/sssd.conf') ?? '', /^simple_allow_groups = node admins@corp\.example\.com$/m);
    assert.equal(host.text('/etc/nsswitch.conf.machineadm-orig'), undefined, 'a reset has it from the journal');
    assert.ok(host.log.includes('run pam-auth-update --package --enable sss mkhomedir'));
    assert.deepEqual(await step.plan(), []);
  });

  test('of a group that the system does not know restart sssd, and are no success', { timeout: 60_000 }, async (t) => {
    const host = debian();
    await on(host).apply();
    const without = debian({
      files: Object.fromEntries(
        ['/etc/sssd/sssd.conf', '/etc/nsswitch.conf', '/etc/pam.d/common-auth', '/etc/pam.d/common-session'].map(
          (path) => [path, { content: host.text(path) ?? '', mode: path.endsWith('sssd.conf') ? 0o600 : 0o644 }],
        ),
      ),
      services: { sssd: { active: true, enabled: true, logs: ['Backend is offline'] } },
      programs: { sssd: () => ({}), 'pam-auth-update': () => ({}), getent: () => ({ status: 2 }) },
    });
    const step = on(without);
    assert.deepEqual(ids(await step.plan()), ['directory-logins/restart']);
    t.mock.timers.enable({ apis: ['Date', 'setTimeout'] });
    assert.ok(step.desired !== undefined);
    const failing = directoryLogins.settled?.(without, step.desired, told());
    const passing = (async () => {
      for (let second = 0; second < 130; second++) {
        await Promise.resolve();
        for (let turn = 0; turn < 20; turn++) await new Promise((done) => setImmediate(done));
        t.mock.timers.tick(500);
      }
    })();
    await assert.rejects(failing ?? Promise.resolve(), (error: { reason: string; evidence: { text: string }[] }) => {
      assert.equal(error.reason, 'DirectoryLoginsNotConfigured');
      assert.match(JSON.stringify(error.evidence), new RegExp(`${GROUP}.*Backend is offline`));
      return true;
    });
    await passing;
  });

  const SSSD = '/etc/sssd/sssd.conf';
  for (const [what, change, finds] of [
    ['sssd.conf', (host) => host.put(SSSD, { content: `${host.text(SSSD)}x`, mode: 0o600 }), 'sssd.conf'],
    ['its mode', (host) => host.put(SSSD, { content: host.text(SSSD) ?? '', mode: 0o644 }), 'sssd.conf'],
    ['its owner', (host) => host.put(SSSD, { content: host.text(SSSD) ?? '', mode: 0o600, uid: 7 }), 'sssd.conf'],
    ['nsswitch.conf', (host) => host.put('/etc/nsswitch.conf', 'passwd: files\n'), 'nsswitch.conf'],
    ['PAM', (host) => host.put('/etc/pam.d/common-auth', 'auth required pam_unix.so\n'), 'pam'],
    ['the service at boot', (host) => host.setService('sssd', { enabled: false }), 'enable'],
  ] as readonly (readonly [string, (host: MemoryHost) => void, string])[]) {
    test(`are repaired where a user changed ${what}, and no copy of our own is kept`, async () => {
      const host = debian();
      const step = on(host);
      await step.apply();
      change(host);
      assert.deepEqual(ids(await step.plan()), [`directory-logins/${finds}`]);
      await step.apply();
      assert.deepEqual(await step.plan(), []);
      assert.equal(host.text(`${SSSD}.machineadm-orig`), undefined);
    });
  }

  test("show no line of another's sssd.conf, which may hold a password", async () => {
    const files = { '/etc/sssd/sssd.conf': { content: 'ldap_default_authtok = hunter22', mode: 0o600 } };
    const [change] = await on(debian({ files })).plan();
    assert.deepEqual([change?.id, change?.diff], ['directory-logins/sssd.conf', undefined]);
    const [ours] = await on(debian()).plan();
    assert.match(ours?.diff ?? '', /access_provider = simple/);
  });

  test('on a system of authselect leave nsswitch.conf to it', async () => {
    const host = debian({
      programs: {
        sssd: () => ({}),
        getent: () => ({ status: 2 }),
        authselect: (_, machine) => {
          machine.put('/etc/authselect/authselect.conf', 'sssd\nwith-mkhomedir\n');
          return {};
        },
      },
    });
    await on(host).apply();
    assert.ok(host.log.includes('run authselect select sssd with-mkhomedir --force'));
    assert.doesNotMatch(host.text('/etc/nsswitch.conf') ?? '', /sss/);
    assert.deepEqual(ids(await on(host).plan()), ['directory-logins/restart']);
  });

  test('stop where PAM cannot be configured, and lack their programs before any change', async () => {
    const programs = { sssd: () => ({}), getent: () => ({ status: 2 }), 'pam-auth-update': () => ({ status: 1 }) };
    await assert.rejects(on(debian({ programs })).apply(), { reason: 'DirectoryLoginsNotConfigured' });
    const missing = await on(memoryHost()).preflight();
    assert.deepEqual(
      missing.map(({ reason }) => reason),
      ['ActiveDirectoryToolMissing', 'ActiveDirectoryToolMissing'],
    );
  });
});

describe('nsswitch.conf', () => {
  test('asks sss behind all else, keeps comments, and is the same the second time', () => {
    const once = withDirectory('# mine\npasswd: files # local\ngroup:\tfiles sss\n');
    assert.equal(once, '# mine\npasswd: files sss # local\ngroup:\tfiles sss\nshadow: files sss\n');
    assert.equal(withDirectory(once), once);
    assert.equal(withDirectory(''), 'passwd: files sss\ngroup: files sss\nshadow: files sss\n');
  });
});

describe('sssd.conf', () => {
  test('says whether addresses are registered, and with which keys', () => {
    const model = hostModel({ activeDirectory: membership({ logins: LOGINS, registersAddress: true }) });
    const desired = directoryLogins.desired(model, facts({ hostname: 'node-1' }));
    assert.ok(desired !== undefined);
    const text = sssdConfiguration(desired);
    assert.match(text, /^dyndns_update = true$/m);
    assert.match(text, /^ldap_sasl_authid = NODE-1\$@CORP\.EXAMPLE\.COM$/m);
  });
});
