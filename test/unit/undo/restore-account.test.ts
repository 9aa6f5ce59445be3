import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { copyPath, sha256Of } from '../../../src/prior-state/copies.ts';
import { markOf, stateOf } from '../../../src/prior-state/state.ts';
import type { Marks, PriorState, UserState } from '../../../src/step/recorded-state.ts';
import { restoreGroup, restoreUser } from '../../../src/undo/restore-account.ts';
import { type MemoryHost, type MemoryProgram, memoryHost } from '../../support/memory-host.ts';

const fingerprint = (sha256: string): string => sha256.slice(0, 32);
const printOf = (text: string): string => fingerprint(sha256Of(text));
const ANSWERS: MemoryProgram = () => ({});
const PROGRAMS = Object.fromEntries(
  ['useradd', 'usermod', 'userdel', 'groupadd', 'groupdel', 'gpasswd', 'chpasswd'].map((name) => [name, ANSWERS]),
);

/** A machine with the users root and, if wanted, ada, in the groups `users` and `wheel`. */
function machine({ hasAda = true, shell = '/bin/sh', hash = '$6$now', groups = 'wheel' } = {}): MemoryHost {
  const ada = `ada:x:1000:1000:Ada:/home/ada:${shell}\n`;
  return memoryHost({
    files: {
      '/etc/passwd': `root:x:0:0:root:/root:/bin/bash\n${hasAda ? ada : ''}`,
      '/etc/group': `root:x:0:\nada:x:1000:\nwheel:x:10:${groups === 'wheel' ? 'ada' : ''}\nusers:x:100:${groups === 'users' ? 'ada' : ''}\n`,
      '/etc/shadow': `root:*:1::::::\n${hasAda ? `ada:${hash}:19000:0:99999:7:::\n` : ''}`,
      [copyPath(printOf('$6$before'))]: '$6$before',
      [copyPath(printOf(''))]: '',
    },
    programs: PROGRAMS,
  });
}

const WAS: UserState = {
  is: 'user',
  uid: 1000,
  home: '/home/ada',
  gid: 1000,
  gecos: 'Ada',
  shell: '/bin/sh',
  groups: ['wheel'],
  expires: '',
  password: printOf('$6$now'),
};

async function restored(host: MemoryHost, was: PriorState, marks: Marks) {
  const actions = await restoreUser(host, 'ada', was, marks, fingerprint);
  for (const action of actions) await action.perform?.(host, new AbortController().signal);
  return { said: actions.map(({ summary }) => summary), log: host.log };
}

describe('a user whom machineadm changed', () => {
  for (const [what, was, said, log] of [
    ['and who is as before needs nothing', {}, [], []],
    ['gets the shell back', { shell: '/bin/zsh' }, 'shell', ['usermod --shell /bin/zsh -- ada']],
    ['gets the full name back', { gecos: 'A. L.' }, 'full name', ['usermod --comment A. L. -- ada']],
    ['gets the primary group back', { gid: 100 }, 'primary group', ['usermod --gid 100 -- ada']],
    ['gets the expiry back', { expires: '20000' }, 'expiry', ['usermod --expiredate 20000 -- ada']],
    [
      'gets the groups back, those that are still there',
      { groups: ['users', 'gone'] },
      'groups',
      ['gpasswd --delete ada wheel', 'usermod --append --groups users -- ada'],
    ],
    ['gets the password back', { password: printOf('$6$before') }, 'password', ['chpasswd -e']],
    ['has no password again', { password: printOf('') }, 'password', ['usermod --password  [redacted] ada']],
    ['keeps the password of which no copy is left', { password: printOf('lost') }, 'password', []],
  ] as const) {
    test(what, async () => {
      const host = machine();
      const now = markOf(await stateOf(host, 'user:ada', fingerprint));
      const found = await restored(host, { ...WAS, ...was }, [now]);
      assert.deepEqual(found.said, typeof said === 'string' ? [`restore the user ada: ${said}`] : said);
      assert.deepEqual(
        found.log,
        log.map((line) => `run ${line}`),
      );
    });
  }

  test('gets the hash of the password, which is not printed', async () => {
    let input: unknown;
    const host = memoryHost({
      files: {
        '/etc/passwd': 'ada:x:1000:1000:Ada:/home/ada:/bin/sh\n',
        '/etc/group': 'wheel:x:10:ada\n',
        '/etc/shadow': 'ada:$6$now:19000::::::\n',
        [copyPath(printOf('$6$before'))]: '$6$before',
      },
      programs: {
        chpasswd: (command) => {
          input = command.input;
          return {};
        },
      },
    });
    await restored(host, { ...WAS, password: printOf('$6$before') }, undefined);
    assert.equal(input, 'ada:$6$before\n');
  });

  test('stays where another program changed more since', async () => {
    const found = await restored(machine(), { ...WAS, shell: '/bin/zsh' }, ['another mark']);
    assert.deepEqual(found.said, ['leave the user ada: it was changed since machineadm changed it']);
    assert.deepEqual(found.log, []);
  });

  test('stays where nothing is on record of how it was', async () => {
    assert.deepEqual((await restored(machine(), { is: 'unknown' }, undefined)).said, []);
  });

  test('that cannot be changed back is ResetFailed', async () => {
    const host = memoryHost({
      files: {
        '/etc/passwd': 'ada:x:1000:1000:Ada:/home/ada:/bin/sh\n',
        '/etc/group': '',
        '/etc/shadow': 'ada:x:1::::::',
      },
      programs: { usermod: () => ({ status: 8, stderr: 'usermod: a line\nusermod: user ada is used by process 7\n' }) },
    });
    await assert.rejects(restored(host, { ...WAS, groups: [], shell: '/bin/zsh', password: printOf('x') }, undefined), {
      reason: 'ResetFailed',
      message: 'usermod ended with status 8: usermod: user ada is used by process 7',
    });
  });
});

describe('a user that machineadm made', () => {
  test('goes, and the home is another matter', async () => {
    const { said, log } = await restored(machine(), null, []);
    assert.deepEqual([said, log], [['remove the user ada'], ['run userdel -- ada']]);
  });

  test('that is gone already needs nothing', async () => {
    assert.deepEqual((await restored(machine({ hasAda: false }), null, [])).said, []);
    const host = machine();
    const [action] = await restoreUser(host, 'ada', null, [], fingerprint);
    host.put('/etc/passwd', 'root:x:0:0:root:/root:/bin/bash\n');
    await action?.perform?.(host, new AbortController().signal);
    assert.deepEqual(host.log, []);
  });
});

describe('a user that machineadm removed', () => {
  test('is created again with the id and the home of before', async () => {
    const { said, log } = await restored(machine({ hasAda: false }), WAS, ['absent']);
    assert.deepEqual(said, ['create the user ada again']);
    assert.deepEqual(log, [
      'run useradd --uid 1000 --gid 1000 --home-dir /home/ada --no-create-home --shell /bin/sh --comment Ada -- ada',
    ]);
  });

  test('gets the groups and the password of before, where an interrupted reset had created it', async () => {
    const host = machine({ hasAda: false, groups: '' });
    const [action] = await restoreUser(
      host,
      'ada',
      { ...WAS, groups: ['users'], password: printOf('$6$before') },
      ['absent'],
      fingerprint,
    );
    host.put('/etc/passwd', 'ada:x:1000:1000:Ada:/home/ada:/bin/sh\n');
    host.put('/etc/shadow', 'ada:!:19000::::::\n');
    await action?.perform?.(host, new AbortController().signal);
    assert.deepEqual(host.log, ['run usermod --append --groups users -- ada', 'run chpasswd -e']);
  });

  test('is not created again where another program removed it, or an earlier version recorded no id', async () => {
    const { uid: _uid, ...early } = WAS;
    assert.deepEqual((await restored(machine({ hasAda: false }), WAS, ['a mark'])).said, []);
    assert.deepEqual((await restored(machine({ hasAda: false }), early, ['absent'])).said, []);
  });
});

describe('a group', () => {
  const run = async (host: MemoryHost, name: string, was: PriorState, marks: Marks) => {
    const actions = await restoreGroup(host, name, was, marks);
    for (const action of actions) await action.perform?.(host, new AbortController().signal);
    return { said: actions.map(({ summary }) => summary), log: host.log };
  };

  test('that machineadm made goes', async () => {
    const { said, log } = await run(machine(), 'wheel', null, []);
    assert.deepEqual([said, log], [['remove the group wheel'], ['run groupdel -- wheel']]);
  });

  test('that went with its user needs nothing', async () => {
    const host = machine();
    const [action] = await restoreGroup(host, 'wheel', null, []);
    host.put('/etc/group', '');
    await action?.perform?.(host, new AbortController().signal);
    assert.deepEqual(host.log, []);
    assert.deepEqual((await run(machine(), 'gone', null, [])).said, []);
  });

  test('that machineadm removed is created again with the members that are still there', async () => {
    const was = { is: 'group', gid: 77, members: ['ada', 'gone'] } as const;
    const { said, log } = await run(machine(), 'ops', was, ['absent']);
    assert.deepEqual(said, ['create the group ops again']);
    assert.deepEqual(log, ['run groupadd --gid 77 -- ops', 'run usermod --append --groups ops -- ada']);
  });

  test('stays as it is where it is there, where another program removed it, and where nothing is known of it', async () => {
    const was = { is: 'group', gid: 77 } as const;
    for (const [name, before, marks] of [
      ['wheel', was, ['absent']],
      ['ops', was, ['a mark']],
      ['ops', { is: 'group' }, ['absent']],
      ['ops', { is: 'unknown' }, ['absent']],
    ] as const)
      assert.deepEqual((await run(machine(), name, before, marks)).said, []);
  });
});
