import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loaded, problemsOf } from '../../support/document.ts';

describe('accounts in a document', () => {
  test('names and ids are given once', async () => {
    const body = `host:
  groups: [{name: a, gid: 1500}, {name: b, gid: 1500}]
  users: [{name: ada, uid: 2000}, {name: ada}, {name: bob, uid: 2000}]
`;
    assert.deepEqual(await problemsOf(body), [
      'doc.yaml:5:49  host.groups[1].gid: 1500 is already the gid of a (hint: use a different one for each)',
      'doc.yaml:6:42  host.users[1].name: ada is already host.users[0] (doc.yaml:6:11) (hint: keep one of them)',
      'doc.yaml:6:65  host.users[2].uid: 2000 is already the uid of ada (hint: use a different one for each)',
    ]);
  });

  for (const hash of ['$6$salt$hash', '$y$j9T$salt$hash', '$2b$10$abcdefg', '$argon2id$v=19$x', '*', '!']) {
    test(`${hash} may be a password hash`, async () => {
      assert.deepEqual(await problemsOf(`host: {users: [{name: ada, passwordHash: '${hash}'}]}\n`), []);
    });
  }

  test('an invalid hash is refused without being shown, as a reference or not', async () => {
    const problems = await problemsOf(`secrets: {p: {value: hunter2!}}
host:
  users: [{name: ada, passwordHash: correct horse}, {name: bob, passwordHash: {secret: p}}]
`);
    assert.equal(problems.length, 2);
    for (const problem of problems)
      assert.match(problem, /passwordHash: not a password hash in a format of crypt\(5\)/);
    assert.doesNotMatch(problems.join(), /horse|hunter/);
  });

  test('a password hash refers to a secret that exists', async () => {
    assert.match(
      (await problemsOf('host: {users: [{name: ada, passwordHash: {secret: nope}}]}\n')).join(),
      /no secret of the name/,
    );
  });

  test('a sudo rule is one line', async () => {
    assert.match(
      (await problemsOf('host: {users: [{name: ada, sudo: "ALL=(ALL) ALL\\nbob ALL=(ALL) ALL"}]}\n')).join(),
      /one line/,
    );
  });

  test('are locked and not expired unless it says otherwise', async () => {
    const { model } = await loaded('host: {users: [{name: ada}]}\n');
    const [ada] = model.host.users;
    assert.deepEqual([ada?.locked, ada?.inactive, ada?.sudo, ada?.sshAuthorizedKeys], [true, false, [], undefined]);
  });
});

describe('services in a document', () => {
  test('a masked service cannot be started', async () => {
    assert.deepEqual(await problemsOf('host: {services: [{name: a, masked: true, state: Started}]}\n'), [
      'doc.yaml:4:19  host.services[0]: a masked service neither runs nor starts (hint: keep one of them)',
    ]);
  });

  test('drop-ins are unique, and have names that systemd reads', async () => {
    const drop = (name: string) => `{name: ${name}, content: x}`;
    assert.match(
      (await problemsOf(`host: {services: [{name: a, dropIns: [${drop('a.conf')}, ${drop('a.conf')}]}]}\n`)).join(),
      /dropIns\[1\]\.name: another drop-in of this service has this name/,
    );
    assert.match(
      (await problemsOf(`host: {services: [{name: a, dropIns: [${drop('a.txt')}]}]}\n`)).join(),
      /it ends in "\.conf"/,
    );
  });
});

test('a time service that is disabled has no servers and no wait', async () => {
  assert.equal((await problemsOf('host: {time: {enabled: false, servers: [a], synchronized: {}}}\n')).length, 2);
});

describe('the reboot policy of a document', () => {
  test('allows a reboot for a change that needs it by default', async () => {
    assert.equal((await loaded('host: {}\n')).model.host.rebootPolicy, 'IfRequired');
    assert.equal((await loaded('host: {rebootPolicy: Never}\n')).model.host.rebootPolicy, 'Never');
  });

  test('has two values', async () => {
    assert.match((await problemsOf('host: {rebootPolicy: Always}\n')).join(), /host\.rebootPolicy/);
  });
});
