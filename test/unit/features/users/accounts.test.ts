import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { readAccounts } from '../../../../src/accounts/databases.ts';
import { inspectKeys, withManagedKeys } from '../../../../src/features/users/authorized-keys.ts';
import { passwordChange } from '../../../../src/features/users/password.ts';
import { sudoersText } from '../../../../src/features/users/sudoers.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const HASH = '$6$salt$abcdefgh';

describe('the password field of shadow(5)', () => {
  /** hash of the document, locked, what is there -> what becomes of it. */
  const TABLE = [
    [undefined, true, HASH, { kind: 'lock' }],
    [undefined, true, `!${HASH}`, { kind: 'none' }],
    [undefined, true, '*', { kind: 'none' }],
    [undefined, true, '', { kind: 'lock' }],
    [undefined, false, `!${HASH}`, { kind: 'unlock' }],
    [undefined, false, HASH, { kind: 'none' }],
    [undefined, false, '!', { kind: 'set', field: '*' }],
    [undefined, false, '!!', { kind: 'set', field: '*' }],
    [undefined, false, `!!${HASH}`, { kind: 'set', field: HASH }],
    [HASH, true, '!', { kind: 'set', field: `!${HASH}` }],
    [HASH, true, `!${HASH}`, { kind: 'none' }],
    [HASH, true, HASH, { kind: 'set', field: `!${HASH}` }],
    [HASH, false, `!${HASH}`, { kind: 'set', field: HASH }],
    [HASH, false, HASH, { kind: 'none' }],
    ['!', true, '!', { kind: 'none' }],
    ['*', true, '!', { kind: 'set', field: '!*' }],
  ] as const;
  for (const [hash, locked, current, expected] of TABLE) {
    test(`${hash ?? 'no hash'}, ${locked ? 'locked' : 'not locked'}, over "${current}"`, () => {
      const given = hash === undefined ? undefined : new Secret(hash);
      assert.deepEqual(passwordChange({ name: 'ada', locked }, given, new Secret(current)), expected);
    });
  }

  for (const wrong of ['correct horse', 'ab1cdefghijkl', '$6$sa:lt$x', '', '$$x']) {
    test(`"${wrong}" is PasswordHashInvalid, and is not shown`, () => {
      assert.throws(
        () => passwordChange({ name: 'ada', locked: false }, new Secret(wrong), new Secret('!')),
        (error) => {
          assert.ok(error instanceof Error && 'reason' in error);
          assert.equal(error.reason, 'PasswordHashInvalid');
          assert.ok(wrong === '' || !JSON.stringify([error.message, error]).includes(wrong));
          return true;
        },
      );
    });
  }
});

describe('the managed block of authorized_keys', () => {
  const empty = '';
  const one = withManagedKeys(empty, ['ssh-ed25519 AAAA one']);

  test('is the whole of a new file', () => {
    assert.match(one, /^# BEGIN machineadm[^\n]*\nssh-ed25519 AAAA one\n# END machineadm[^\n]*\n$/);
  });

  test('is replaced where it stands, and gone without keys', () => {
    const mixed = `before\n${one}after\n`;
    assert.equal(
      withManagedKeys(mixed, ['ssh-rsa BBBB two']),
      `before\n${one.replace('ssh-ed25519 AAAA one', 'ssh-rsa BBBB two')}after\n`,
    );
    assert.equal(withManagedKeys(mixed, []), 'before\nafter\n');
    assert.equal(withManagedKeys(one, []), '');
  });

  test('a second time changes nothing', () => {
    assert.equal(withManagedKeys(one, ['ssh-ed25519 AAAA one']), one);
  });

  test('what stands behind a beginning without an end is kept', () => {
    const torn = one.replace(/# END.*\n/, 'ssh-rsa CCCC mine\n');
    assert.match(withManagedKeys(torn, ['ssh-rsa BBBB two']), /ssh-rsa CCCC mine\n# BEGIN.*\nssh-rsa BBBB two\n# END/);
  });
});

describe('the keys that a machine has', () => {
  const KEYS = ['ssh-ed25519 AAAA one'];
  const ada = { name: 'ada', uid: 1000, gid: 1000, gecos: '', home: '/home/ada', shell: '/bin/sh' };
  const own = { uid: 1000, gid: 1000 };
  const directory = { type: 'directory', mode: 0o700, ...own } as const;
  const file = { content: withManagedKeys('', KEYS), mode: 0o600, ...own } as const;
  const PATH = '/home/ada/.ssh/authorized_keys';

  for (const [what, files, expected] of [
    ['as they must be', { '/home/ada/.ssh': directory, [PATH]: file }, { kind: 'same' }],
    [
      'in a directory that others enter',
      { '/home/ada/.ssh': { ...directory, mode: 0o755 }, [PATH]: file },
      { kind: 'different', how: 'modes 0700 and 0600' },
    ],
    [
      'in a file that others read',
      { '/home/ada/.ssh': directory, [PATH]: { ...file, mode: 0o644 } },
      { kind: 'different', how: 'modes 0700 and 0600' },
    ],
    [
      'without the keys of the document',
      { '/home/ada/.ssh': directory, [PATH]: { ...file, content: 'ssh-rsa BBBB own\n' } },
      { kind: 'different', how: '1 keys of the document' },
    ],
    ['not there', { '/home/ada/.ssh': directory }, { kind: 'different', how: 'create' }],
    ['without their directory', {}, { kind: 'different', how: 'create' }],
    [
      'a directory',
      { '/home/ada/.ssh': directory, [PATH]: directory },
      { kind: 'unsafe', what: `${PATH} is a directory, not a file`, remedy: `Remove ${PATH}.` },
    ],
    [
      'of somebody else',
      { '/home/ada/.ssh': directory, [PATH]: { ...file, uid: 0 } },
      {
        kind: 'unsafe',
        what: `${PATH} belongs to the user id 0, not to ada`,
        remedy: `Run "chown -h 1000:1000 ${PATH}" if that is a mistake.`,
      },
    ],
    [
      'larger than is read',
      { '/home/ada/.ssh': directory, [PATH]: { ...file, content: 'x'.repeat(512 * 1024 + 1) } },
      { kind: 'unsafe', what: `${PATH} is larger than ${512 * 1024} bytes`, remedy: `Look at ${PATH}.` },
    ],
  ] as const) {
    test(`are ${what}: ${expected.kind}`, async () => {
      assert.deepEqual(await inspectKeys(memoryHost({ files }), ada, KEYS), expected);
    });
  }

  test('are none, and none are wanted', async () => {
    assert.deepEqual(await inspectKeys(memoryHost(), undefined, []), { kind: 'same' });
    assert.deepEqual(await inspectKeys(memoryHost(), undefined, KEYS), { kind: 'different', how: 'create' });
  });
});

test('sudo rules are written a line each behind the name; none is no file', () => {
  const text = sudoersText({ name: 'ada', sudo: ['ALL=(ALL) NOPASSWD:ALL', 'ALL=(root) /bin/ls'] });
  assert.equal(text, '# Written by machineadm.\nada ALL=(ALL) NOPASSWD:ALL\nada ALL=(root) /bin/ls\n');
  assert.equal(sudoersText({ name: 'ada', sudo: [] }), undefined);
});

test('the account files are read as getpwnam(3) reads them: the first line of a name wins, NIS lines are passed over', async () => {
  const host = memoryHost({
    files: {
      '/etc/passwd': 'root:x:0:0:root:/root:/bin/sh\n+::::::\nada:x:1000:1000:A:/home/ada:/bin/sh\nada:x:0:0::/:\n',
      '/etc/group': 'root:x:0:\nwheel:x:10:ada,bob\n',
      '/etc/shadow': 'root:*:1::::::\nada:!$6$x$y:1:0:99999:7::1:\n',
    },
  });
  const { users, groups, shadow } = await readAccounts(host, ['ada']);
  assert.deepEqual(users.get('ada'), {
    name: 'ada',
    uid: 1000,
    gid: 1000,
    gecos: 'A',
    home: '/home/ada',
    shell: '/bin/sh',
  });
  assert.equal(users.size, 2);
  assert.deepEqual(groups.get('wheel')?.members, ['ada', 'bob']);
  assert.deepEqual([...shadow.keys()], ['ada'], 'nobody else’s hash is read into memory');
  assert.equal(shadow.get('ada')?.expires, '1');
  assert.doesNotMatch(JSON.stringify([...shadow.values()]), /\$6/);
});
