import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { describe, test } from 'node:test';
import type { UserModel } from '@machineadm/document/model/index.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { groups } from '../../../src/features/groups/index.ts';
import { users } from '../../../src/features/users/index.ts';
import { openHost } from '../../../src/host/index.ts';
import { hostModel, userModel } from '../../support/host-model.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { planned, runStep } from '../../support/run-step.ts';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZvb2Jhcg ada@example.com';
const HASH = '$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2/jctKu9YterLp8wwnSq.qc.eoxqOmSuNp2xS0ktL3nh/';

const text = (path: string): string => readFileSync(path, 'utf8');

inThrowAwayMachine(import.meta.filename, () => {
  const host = openHost({ runId: 'test' });

  /** Runs both steps, asserts that verify and a second run find nothing to do, and returns the ids of the changes. */
  async function provide(...list: readonly UserModel[]): Promise<readonly string[]> {
    const model = hostModel({ users: list });
    const first = await runStep(groups, host, model);
    const second = await runStep(users, host, model);
    assert.deepEqual([...first.left, ...second.left], []);
    assert.deepEqual(await planned(users, host, model), []);
    return [...first.changes, ...second.changes].map(({ id }) => id);
  }

  const getent = (database: string, key: string): string =>
    execFileSync('getent', [database, key], { encoding: 'utf8' }).trim();
  const shadowField = (name: string): string | undefined =>
    text('/etc/shadow')
      .split('\n')
      .find((line) => line.startsWith(`${name}:`))
      ?.split(':')[1];
  const modeAndOwner = (path: string): string => {
    const { mode, uid, gid } = statSync(path);
    return `${(mode & 0o7777).toString(8)} ${uid}:${gid}`;
  };
  const hash = (value: string): UserModel['passwordHash'] => ({
    name: 'password',
    source: { kind: 'value', secret: new Secret(value) },
  });

  test('a user is created with all that the document says of it', async () => {
    const made = await provide(
      userModel({
        name: 'ada',
        uid: 4711,
        gecos: 'Ada Lovelace',
        groups: ['operators'],
        home: '/srv/ada',
        shell: '/bin/bash',
        passwordHash: hash(HASH),
        locked: false,
        sshAuthorizedKeys: [KEY],
      }),
    );
    assert.deepEqual(made, ['groups/operators', 'users/ada', 'users/ada/password', 'users/ada/authorized-keys']);
    assert.equal(getent('passwd', 'ada'), `ada:x:4711:4711:Ada Lovelace:/srv/ada:/bin/bash`);
    assert.match(getent('group', 'operators'), /:ada$/);
    assert.equal(shadowField('ada'), HASH);
    assert.equal(modeAndOwner('/srv/ada/.ssh'), '700 4711:4711');
    assert.equal(modeAndOwner('/srv/ada/.ssh/authorized_keys'), '600 4711:4711');
    assert.match(
      text('/srv/ada/.ssh/authorized_keys'),
      /^# BEGIN machineadm.*\nssh-ed25519 .*\n# END machineadm[^\n]*\n$/,
    );
    assert.deepEqual(readdirSync('/srv/ada/.ssh'), ['authorized_keys']);
  });

  test('a user is changed to a changed document one attribute at a time', async () => {
    writeFileSync(
      '/srv/ada/.ssh/authorized_keys',
      `ssh-rsa AAAAhers her own\n${text('/srv/ada/.ssh/authorized_keys')}# last\n`,
    );
    const made = await provide(
      userModel({
        name: 'ada',
        uid: 4711,
        gecos: 'Countess',
        primaryGroup: 'nobility',
        groups: ['operators', 'writers'],
        shell: '/bin/sh',
        passwordHash: hash(HASH),
        inactive: true,
        sshAuthorizedKeys: [],
      }),
    );
    assert.deepEqual(made, [
      'groups/nobility',
      'groups/writers',
      'users/ada/shell',
      'users/ada/gecos',
      'users/ada/primary-group',
      'users/ada/groups',
      'users/ada/password',
      'users/ada/expiry',
      'users/ada/authorized-keys',
    ]);
    assert.equal(shadowField('ada'), `!${HASH}`);
    assert.equal(text('/srv/ada/.ssh/authorized_keys'), 'ssh-rsa AAAAhers her own\n# last\n');
    assert.match(getent('passwd', 'ada'), /:Countess:\/srv\/ada:\/bin\/sh$/);
    assert.match(getent('group', 'operators'), /:ada$/, 'groups that were there stay');
  });

  test('without a hash a lock keeps the password, and is taken back', async () => {
    execFileSync('chpasswd', ['-e'], { input: `ada:${HASH}\n` });
    assert.deepEqual(await provide(userModel({ name: 'ada' })), ['users/ada/lock', 'users/ada/expiry']);
    assert.equal(shadowField('ada'), `!${HASH}`);
    assert.deepEqual(await provide(userModel({ name: 'ada', locked: false })), ['users/ada/unlock']);
    assert.equal(shadowField('ada'), HASH);
  });

  test('a user without any password can be unlocked for keys, and has no empty password', async () => {
    assert.deepEqual(await provide(userModel({ name: 'bob', locked: false })), ['users/bob', 'users/bob/password']);
    assert.equal(shadowField('bob'), '*');
  });

  test('a system user has no home directory; a group of its name becomes its own', async () => {
    execFileSync('groupadd', ['--gid', '911', 'daemon9']);
    assert.deepEqual(await provide(userModel({ name: 'daemon9', system: true })), ['users/daemon9']);
    assert.equal(getent('passwd', 'daemon9').split(':')[3], '911');
    assert.ok(!existsSync('/home/daemon9'));
  });

  test('a home directory that a killed run did not make is made', async () => {
    rmSync('/home/bob', { recursive: true });
    assert.deepEqual(await provide(userModel({ name: 'bob', locked: false })), ['users/bob/home']);
    const { uid, gid } = statSync('/home/bob');
    assert.equal(modeAndOwner('/home/bob'), `700 ${uid}:${gid}`);
    assert.notEqual(uid, 0);
  });

  describe('a conflict with another account is AccountConflict', () => {
    for (const [what, different, names] of [
      ['another user id', { uid: 4712 }, /4711.*4712/],
      ['another home directory', { home: '/home/ada' }, /\/srv\/ada.*\/home\/ada/],
    ] as const) {
      test(what, async () => {
        await assert.rejects(provide(userModel({ name: 'ada', ...different })), {
          reason: 'AccountConflict',
          message: names,
        });
      });
    }

    test('an id that another has', async () => {
      await assert.rejects(provide(userModel({ name: 'eve', uid: 4711 })), {
        reason: 'AccountConflict',
        message: /ada/,
      });
      const model = hostModel({ groups: [{ name: 'eves', gid: 911, system: false }] });
      await assert.rejects(runStep(groups, host, model), { reason: 'AccountConflict', message: /daemon9/ });
      const other = hostModel({ groups: [{ name: 'daemon9', gid: 912, system: false }] });
      await assert.rejects(runStep(groups, host, other), { reason: 'AccountConflict', message: /911.*912/ });
    });
  });

  describe('a hostile home', () => {
    const home = '/srv/mallory';
    const mallory = userModel({ name: 'mallory', uid: 4800, home, sshAuthorizedKeys: [KEY] });

    async function refused(): Promise<void> {
      await assert.rejects(provide(mallory), { reason: 'AuthorizedKeysNotWritten' });
    }

    function restore(): void {
      rmSync(`${home}/.ssh`, { recursive: true, force: true });
      mkdirSync(`${home}/.ssh`);
      chmodSync(`${home}/.ssh`, 0o700);
      chownSync(`${home}/.ssh`, 4800, 4800);
    }

    test('with links instead of the directory or the file is refused', async () => {
      await provide(mallory);
      mkdirSync('/srv/precious', { mode: 0o700 });
      rmSync(`${home}/.ssh`, { recursive: true });
      symlinkSync('/srv/precious', `${home}/.ssh`);
      await refused();
      assert.deepEqual(readdirSync('/srv/precious'), []);
      rmSync(`${home}/.ssh`);
      restore();
      symlinkSync('/etc/shadow', `${home}/.ssh/authorized_keys`);
      await refused();
      assert.equal(modeAndOwner('/etc/shadow').split(' ')[0], '640');
      restore();
    });

    test('that replaces its directory between check and write gains nothing', async () => {
      writeFileSync('/srv/precious/authorized_keys', 'secret of root\n', { mode: 0o600 });
      const before = statSync('/srv/precious/authorized_keys').ino;
      let swapped = false;
      const racing = {
        ...host,
        // The moment after every check and before anything is done as the user.
        run: async (command: Parameters<typeof host.run>[0]) => {
          if (command.program === 'setpriv' && !swapped) {
            renameSync(`${home}/.ssh`, `${home}/aside`);
            symlinkSync('/srv/precious', `${home}/.ssh`);
            swapped = true;
          }
          return await host.run(command);
        },
      };
      await assert.rejects(runStep(users, racing, hostModel({ users: [mallory] })), {
        reason: 'AuthorizedKeysNotWritten',
      });
      assert.ok(swapped);
      assert.equal(text('/srv/precious/authorized_keys'), 'secret of root\n');
      assert.equal(statSync('/srv/precious/authorized_keys').ino, before);
      assert.deepEqual(readdirSync('/srv/precious'), ['authorized_keys']);
    });
  });
});
