import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { UserModel } from '@machineadm/document/model/index.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { groups } from '../../../../src/features/groups/index.ts';
import { withManagedKeys } from '../../../../src/features/users/authorized-keys.ts';
import { users } from '../../../../src/features/users/index.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel, userModel } from '../../../support/host-model.ts';
import { type MemoryMachine, type MemoryProgram, memoryHost, queryOnly } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const KEY = 'ssh-ed25519 AAAAC3Nza ada';

/** A machine with the user ada, locked, and these other files. */
function withAda(more: MemoryMachine['files'] = {}, programs: MemoryMachine['programs'] = {}): MemoryMachine {
  return {
    files: {
      '/etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n',
      '/etc/group': 'root:x:0:\nada:x:1000:\nwheel:x:10:\n',
      '/etc/shadow': 'ada:!:19000:0:99999:7:::\n',
      '/home/ada': { type: 'directory', uid: 1000, gid: 1000 },
      ...more,
    },
    users: { ada: 1000 },
    groups: { ada: 1000, wheel: 10 },
    programs,
  };
}

async function planOf(machine: MemoryMachine, ...list: UserModel[]) {
  return await planned(users, memoryHost(machine), hostModel({ users: list }));
}

async function missing(machine: MemoryMachine, ...list: UserModel[]) {
  const desired = users.desired(hostModel({ users: list }), facts());
  assert.ok(desired !== undefined && users.preflight !== undefined);
  return await users.preflight(memoryHost(machine), desired);
}

const reasonsOf = (list: readonly { readonly reason: string }[]) => list.map(({ reason }) => reason);

describe('groups', () => {
  test('are those of the document and those that its users need, once each', () => {
    const model = hostModel({
      groups: [{ name: 'wheel', gid: 10, system: true }],
      users: [userModel({ primaryGroup: 'people', groups: ['wheel', 'docker'] })],
    });
    assert.deepEqual(
      groups.desired(model, facts())?.map(({ name, gid }) => [name, gid]),
      [
        ['wheel', 10],
        ['people', undefined],
        ['docker', undefined],
      ],
    );
  });

  test('none is asked for without any', () => {
    assert.equal(groups.desired(hostModel({ users: [userModel()] }), facts()), undefined);
  });

  test('that a directory knows are not made again', async () => {
    const host = memoryHost({ groups: { staff: 70001 } });
    assert.deepEqual(await planned(groups, host, hostModel({ users: [userModel({ groups: ['staff'] })] })), []);
  });

  test('are created with id and kind, which belongs into an image', async () => {
    const host = memoryHost({ programs: { groupadd: () => ({}) } });
    const run = await runStep(groups, host, hostModel({ groups: [{ name: 'etcd', gid: 998, system: true }] }));
    assert.deepEqual(
      run.changes.map(({ id, scope }) => [id, scope]),
      [['groups/etcd', 'base']],
    );
    assert.equal(host.log[0], 'run groupadd --gid 998 --system -- etcd');
  });

  test('without groupadd are AccountToolMissing, before anything is changed', async () => {
    const desired = groups.desired(hostModel({ groups: [{ name: 'x', gid: undefined, system: false }] }), facts());
    assert.ok(desired !== undefined);
    assert.deepEqual(reasonsOf((await groups.preflight?.(memoryHost(), desired)) ?? []), ['AccountToolMissing']);
  });

  test('that could not be created are AccountNotChanged, with what the tool said', async () => {
    const host = memoryHost({ programs: { groupadd: () => ({ status: 10, stderr: 'groupadd: cannot lock\n' }) } });
    await assert.rejects(runStep(groups, host, hostModel({ groups: [{ name: 'x', gid: undefined, system: false }] })), {
      reason: 'AccountNotChanged',
      evidence: [{ source: 'groupadd', text: 'groupadd: cannot lock' }],
    });
  });
});

describe('users', () => {
  test('none asks for nothing; one that is as wanted needs nothing', async () => {
    assert.equal(users.desired(hostModel(), facts()), undefined);
    assert.deepEqual(await planOf(withAda(), userModel()), []);
  });

  test('a new one is created in one command, with the group of its name where that exists', async () => {
    const machine = { files: { '/etc/group': 'ada:x:7:\n' }, groups: { ada: 7 }, programs: { useradd: () => ({}) } };
    const host = memoryHost(machine);
    await runStep(
      users,
      host,
      hostModel({ users: [userModel({ uid: 7, shell: '/bin/bash', gecos: 'A L', system: true })] }),
    ).catch(() => undefined);
    assert.equal(
      host.log[0],
      'run useradd --uid 7 --gid ada --no-create-home --shell /bin/bash --comment A L --system -- ada',
    );
  });

  test('the password belongs to this machine, the rest into an image', async () => {
    const passwordHash = {
      name: 'secrets.p',
      source: { kind: 'value', secret: new Secret('$6$salt$hashhash') },
    } as const;
    const changes = await planOf({}, userModel({ passwordHash, sudo: ['ALL=(ALL) ALL'], sshAuthorizedKeys: [KEY] }));
    assert.deepEqual(
      changes.map(({ id, scope }) => `${id} ${scope}`),
      ['users/ada base', 'users/ada/password node', 'users/ada/sudo base', 'users/ada/authorized-keys base'],
    );
    assert.doesNotMatch(JSON.stringify(changes), /hashhash/);
  });

  test('a hash that only a run may find out is known after it, and its absence is no error of a plan', async () => {
    const passwordHash = { name: 'secrets.p', source: { kind: 'exec', command: ['/bin/p'], timeoutMs: 1000 } } as const;
    const desired = users.desired(hostModel({ users: [userModel({ passwordHash })] }), facts());
    assert.ok(desired !== undefined);
    const host = queryOnly(memoryHost(withAda()));
    const actual = await users.inspect(host, desired, EMPTY_RECORD);
    assert.deepEqual(
      users.plan(desired, actual).map(({ id, knownAfter }) => [id, knownAfter]),
      [['users/ada/password', 'secrets']],
    );
  });

  test('a password goes to chpasswd on standard input only', async () => {
    const inputs: unknown[] = [];
    const chpasswd: MemoryProgram = ({ input }) => {
      inputs.push(input);
      return {};
    };
    const host = memoryHost(withAda({}, { chpasswd }));
    const passwordHash = { name: 'p', source: { kind: 'value', secret: new Secret('$6$salt$hashhash') } } as const;
    await runStep(users, host, hostModel({ users: [userModel({ passwordHash, locked: false })] }));
    assert.deepEqual(inputs, ['ada:$6$salt$hashhash\n']);
    assert.equal(host.log[0], 'run chpasswd -e');
  });

  test('expiry is set, and only its own mark is taken back', async () => {
    const shadow = (expires: string) => withAda({ '/etc/shadow': `ada:!:19000:0:99999:7::${expires}:\n` });
    const ids = async (expires: string, inactive: boolean) =>
      (await planOf(shadow(expires), userModel({ inactive }))).map(({ summary }) => summary);
    assert.deepEqual(await ids('', true), ['ada: expire the account']);
    assert.deepEqual(await ids('1', true), []);
    assert.deepEqual(await ids('1', false), ['ada: let the account live']);
    assert.deepEqual(await ids('21000', false), []);
  });

  describe('sudo', () => {
    const SUDOERS = { '/etc/sudoers': 'root ALL=(ALL:ALL) ALL\n@includedir /etc/sudoers.d\n' };
    const path = '/etc/sudoers.d/90-machineadm-ada';
    const grant = userModel({ sudo: ['ALL=(ALL) NOPASSWD:ALL'] });

    test('is written for root only, and a second run changes nothing', async () => {
      const host = memoryHost(withAda(SUDOERS, { visudo: () => ({}) }));
      const run = await runStep(users, host, hostModel({ users: [grant] }));
      assert.deepEqual(host.log, [`write ${path} 0440 0:0`, 'sync /etc']);
      assert.equal(host.text(path), '# Written by machineadm.\nada ALL=(ALL) NOPASSWD:ALL\n');
      assert.deepEqual(run.left, []);
    });

    test('that the document grants no more is taken away', async () => {
      const host = memoryHost(withAda({ [path]: { content: 'ada ALL=(ALL) ALL\n', mode: 0o440 } }));
      await runStep(users, host, hostModel({ users: [userModel()] }));
      assert.deepEqual(host.log, [`remove ${path}`, 'sync /etc']);
    });

    test('a wider mode is narrowed', async () => {
      const text = '# Written by machineadm.\nada ALL=(ALL) NOPASSWD:ALL\n';
      const machine = withAda({ ...SUDOERS, [path]: { content: text, mode: 0o644 } }, { visudo: () => ({}) });
      assert.deepEqual(
        (await planOf(machine, grant)).map(({ id }) => id),
        ['users/ada/sudo'],
      );
    });

    test('without sudo is SudoMissing', async () => {
      assert.deepEqual(reasonsOf(await missing(withAda(SUDOERS), grant)), ['SudoMissing']);
    });

    test('that sudo would not read or not understand is SudoersInvalid, before it is in place', async () => {
      const visudo = () => ({ status: 1, stderr: 'stdin:2:9: syntax error\n' });
      const host = memoryHost(withAda({ '/etc/sudoers': 'root ALL=(ALL:ALL) ALL\n' }, { visudo }));
      const found = await missing(withAda({ '/etc/sudoers': '' }, { visudo }), grant);
      assert.deepEqual(reasonsOf(found), ['SudoersInvalid', 'SudoersInvalid']);
      assert.match(found[1]?.what ?? '', /ada: stdin:2:9: syntax error/);
      await assert.rejects(runStep(users, host, hostModel({ users: [grant] })), { reason: 'SudoersInvalid' });
      assert.deepEqual(host.log, []);
    });
  });

  describe('before anything is changed', () => {
    test('each tool that a change will run must be there', async () => {
      const found = await missing({}, userModel({ locked: false, sshAuthorizedKeys: [KEY] }));
      assert.deepEqual(
        found.map(({ what }) => what),
        ['useradd is not installed', 'chpasswd is not installed', 'setpriv is not installed'],
      );
      assert.deepEqual([...new Set(reasonsOf(found))], ['AccountToolMissing']);
    });

    test('none where nothing is to change', async () => {
      assert.deepEqual(await missing(withAda(), userModel()), []);
    });

    test('a user or group of a directory is AccountConflict', async () => {
      assert.deepEqual(reasonsOf(await missing({ users: { ada: 70001 } }, userModel())), ['AccountConflict']);
      const machine = withAda();
      const found = await missing({ ...machine, groups: { staff: 70002 } }, userModel({ groups: ['staff'] }));
      assert.deepEqual(reasonsOf(found), ['AccountConflict']);
    });

    test('what an early hook may bring is checked after it', async () => {
      const early = { shell: 'sh', onError: 'Fail', timeoutMs: 1, commands: ['true'], frequency: 'Once' } as const;
      const hooks = { early, beforeBootstrap: undefined, afterBootstrap: undefined };
      const desired = users.desired(hostModel({ users: [userModel()], hooks }), facts());
      assert.ok(desired !== undefined);
      assert.deepEqual(await users.preflight?.(memoryHost(), desired), []);
    });
  });

  describe('authorized keys', () => {
    const ssh = (file: Parameters<typeof withAda>[0]) =>
      withAda({ '/home/ada/.ssh': { type: 'directory', mode: 0o700, uid: 1000, gid: 1000 }, ...file });

    for (const [what, files, summary] of [
      ['a link', { '/home/ada/.ssh/authorized_keys': { type: 'symlink' } }, /is a symlink, not a file/],
      ['a file of another', { '/home/ada/.ssh/authorized_keys': { uid: 0 } }, /belongs to the user id 0, not to ada/],
      [
        'a directory that is a link',
        { '/home/ada/.ssh': { type: 'symlink', uid: 1000 } },
        /is a symlink, not a directory/,
      ],
    ] as const) {
      test(`${what} in the way is reported by the plan and is AuthorizedKeysNotWritten`, async () => {
        const machine = ssh(files);
        const [change] = await planOf(machine, userModel({ sshAuthorizedKeys: [KEY] }));
        assert.match(change?.summary ?? '', summary);
        await assert.rejects(
          runStep(users, memoryHost(machine), hostModel({ users: [userModel({ sshAuthorizedKeys: [KEY] })] })),
          {
            reason: 'AuthorizedKeysNotWritten',
          },
        );
      });
    }

    for (const [what, directory, file, changes] of [
      ['that others may read', 0o700, 0o644, ['users/ada/authorized-keys']],
      ['in a directory that others may enter', 0o755, 0o600, ['users/ada/authorized-keys']],
      ['that only their owner may read', 0o700, 0o600, []],
    ] as const) {
      test(`a file ${what}: ${changes.length === 0 ? 'nothing is changed' : 'its modes are put right'}`, async () => {
        const machine = withAda({
          '/home/ada/.ssh': { type: 'directory', mode: directory, uid: 1000, gid: 1000 },
          '/home/ada/.ssh/authorized_keys': { content: withManagedKeys('', [KEY]), mode: file, uid: 1000, gid: 1000 },
        });
        const planned = await planOf(machine, userModel({ sshAuthorizedKeys: [KEY] }));
        assert.deepEqual(
          planned.map(({ id }) => id),
          changes,
        );
        if (changes.length > 0) assert.match(planned[0]?.summary ?? '', /modes 0700 and 0600/);
      });
    }

    test('nothing is asked of them where the document does not name any', async () => {
      assert.deepEqual(await planOf(ssh({ '/home/ada/.ssh/authorized_keys': { type: 'symlink' } }), userModel()), []);
    });
  });
});

describe('the home of a user with keys', () => {
  const KEYS = { sshAuthorizedKeys: [KEY] } as const;
  const SELINUX = { '/sys/fs/selinux/enforce': '1' };
  const restored = async (files: MemoryMachine['files'], status = 0, list = [userModel(KEYS)]) => {
    const restorecon: MemoryProgram = () => ({ status, stderr: 'a line\nrestorecon: no room\n' });
    const host = memoryHost(withAda(files, { restorecon }));
    const desired = users.desired(hostModel({ users: list }), facts());
    assert.ok(desired !== undefined && users.settled !== undefined);
    const warnings: string[] = [];
    await users.settled(host, desired, {
      signal: new AbortController().signal,
      waitingFor: () => undefined,
      output: () => undefined,
      warn: (message) => warnings.push(message),
      release: () => undefined,
      remember: () => undefined,
    });
    return { log: host.log, warnings };
  };
  const SYNCED = ['sync /etc', 'sync /home/ada'];

  test('is flushed, and gets its labels where SELinux is there', async () => {
    assert.deepEqual(await restored({}), { log: SYNCED, warnings: [] });
    assert.deepEqual(await restored(SELINUX), {
      log: [...SYNCED, 'run restorecon -i -- /home/ada/.ssh /home/ada/.ssh/authorized_keys'],
      warnings: [],
    });
  });

  test('has a warning where the labels could not be set', async () => {
    assert.deepEqual((await restored(SELINUX, 1)).warnings, ['restorecon: restorecon: no room']);
  });

  test('is left alone for a user without keys, and for one that is not there', async () => {
    for (const list of [[userModel()], [userModel({ ...KEYS, name: 'gone' })]])
      assert.deepEqual((await restored(SELINUX, 0, list)).log, ['sync /etc']);
  });
});
