import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { problemsOf } from '../../../support/document.ts';
import { lifetime, summaries } from '../../../support/lifetime.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const ACCOUNTS = { users: { app: 1000 }, groups: { app: 1000, ops: 1001 } };

/** Asserts that a change by hand is planned with this summary, repaired by a run, and gone from the next plan. */
async function assertRepaired(machine: ReturnType<typeof lifetime>, document: string, summary: string) {
  assert.deepEqual(summaries(await machine.plan(document)), [summary]);
  await machine.run(document);
  assert.deepEqual(await machine.plan(document), []);
}

describe('directories', () => {
  const document = `host:
  directories:
    - {path: /srv/app/data, owner: "app:ops", mode: "2770"}
    - {path: /srv/plain}
`;

  test('are made with owner and mode, and a second run changes nothing', async () => {
    const host = memoryHost(ACCOUNTS);
    const machine = lifetime(host);
    assert.deepEqual(summaries(await machine.plan(document)), [
      '/srv/app/data: create, 2770 app:ops',
      '/srv/plain: create, 0755 root:root',
    ]);
    await machine.run(document);
    const { mode, uid, gid } = (await host.stat('/srv/app/data')) ?? {};
    assert.deepEqual([mode, uid, gid], [0o2770, 1000, 1001]);
    assert.equal((await host.stat('/srv/app'))?.mode, 0o755);
    assert.equal((await host.stat('/srv/plain'))?.mode, 0o755);
    assert.deepEqual(await machine.run(document), ['directories Unchanged []']);
  });

  test('that were changed by hand get mode and owner back', async () => {
    const host = memoryHost(ACCOUNTS);
    const machine = lifetime(host);
    await machine.run(document);
    await host.chmod('/srv/app/data', 0o755);
    await assertRepaired(machine, document, '/srv/app/data: mode 0755 -> 2770');
    await host.chown('/srv/app/data', 0, 1001);
    await assertRepaired(machine, document, '/srv/app/data: owner 0:1001 -> 1000:1001');
    host.take('/srv/plain');
    await assertRepaired(machine, document, '/srv/plain: create, 0755 root:root');
  });

  test('that are there keep what the document does not name', async () => {
    const host = memoryHost({
      files: { '/srv/plain': { type: 'directory', mode: 0o1777, uid: 7, gid: 8 } },
      ...ACCOUNTS,
    });
    const machine = lifetime(host);
    assert.deepEqual(await machine.plan('host: {directories: [{path: /srv/plain}]}\n'), []);
    await assertRepaired(
      machine,
      'host: {directories: [{path: /srv/plain, mode: "0700"}]}\n',
      '/srv/plain: mode 1777 -> 0700',
    );
    assert.equal((await host.stat('/srv/plain'))?.uid, 7);
  });

  test('give modes and owner to what is in them, but for links and what the document names itself', async () => {
    const host = memoryHost({
      ...ACCOUNTS,
      files: {
        '/srv/app/a': { content: 'a', mode: 0o644 },
        '/srv/app/sub/b': { content: 'b', mode: 0o600, uid: 1000, gid: 1000 },
        '/srv/app/link': { type: 'symlink', content: '/etc/shadow', mode: 0o777 },
        '/srv/app/mounted/c': 'c',
        '/etc/shadow': { content: 's', mode: 0o600 },
        '/proc/self/mountinfo': '1 1 0:1 / / rw - ext4 x rw\n2 1 0:2 / /srv/app/mounted rw - ext4 y rw\n',
      },
    });
    const machine = lifetime(host);
    const recursive = `host:
  directories:
    - {path: /srv/app, recursive: {owner: app, mode: "0640", directoryMode: "0750"}}
  files: [{path: /srv/app/own, content: "", mode: "0600"}]
`;
    assert.deepEqual(summaries(await machine.plan(recursive)), [
      '/srv/app/a: mode 0644 -> 0640, owner 0:0 -> 1000:1000; /srv/app/sub: mode 0755 -> 0750, owner 0:0 -> 1000:1000; /srv/app/sub/b: mode 0600 -> 0640',
      '/srv/app/own: create, 0600 root:root, 0 bytes of the document',
    ]);
    await machine.run(recursive);
    assert.deepEqual(await machine.plan(recursive), []);
    assert.deepEqual(await machine.run(recursive), ['directories Unchanged []', 'files Unchanged []']);
    assert.equal((await host.stat('/etc/shadow'))?.mode, 0o600);
    assert.equal((await host.stat('/srv/app/mounted/c'))?.mode, 0o644);
    assert.equal((await host.stat('/srv/app/own'))?.mode, 0o600);
    await host.chmod('/srv/app/sub/b', 0o666);
    await assertRepaired(machine, recursive, '/srv/app/sub/b: mode 0666 -> 0640');
  });

  test('are refused where something else is, or the owner is unknown, before one is made', async () => {
    const host = memoryHost({ files: { '/etc/file': 'x', '/etc/link': { type: 'symlink', content: '/srv' } } });
    const machine = lifetime(host);
    const bad = `host:
  directories: [{path: /srv/new}, {path: /etc/file}, {path: /etc/link}, {path: /etc/file/below}, {path: /srv/x, owner: nobody-here}]
`;
    await assert.rejects(machine.run(bad), ({ error }: { error: Error }) => {
      for (const why of [
        '/etc/file: a file is there',
        '/etc/link: a symbolic link is there',
        '/etc/file/below: a parent of it is not a directory',
        '/srv/x: the user nobody-here does not exist',
      ]) {
        assert.ok(error.message.includes(why), error.message);
      }
      return true;
    });
    assert.equal(await host.stat('/srv/new'), undefined);
  });

  test('of the system keep what is in them, by whatever name', async () => {
    const host = memoryHost({ files: { '/srv/etc': { type: 'symlink', content: '/etc' }, '/etc/ssh/key': 'k' } });
    const [problem] = await problemsOf('host: {directories: [{path: /etc/./ssh, recursive: {mode: "0644"}}]}\n');
    assert.match(problem ?? '', /\/etc\/\.\/ssh is part of the system/);
    await assert.rejects(
      lifetime(host).run('host: {directories: [{path: /srv/etc/ssh, recursive: {mode: "0644"}}]}\n'),
      ({ error }: { error: Error }) => error.message.includes('it is /etc/ssh, which is part of the system'),
    );
  });

  test('restart what reads them', async () => {
    const host = memoryHost({ services: { app: { active: true } } });
    const machine = lifetime(host);
    const restarting = 'host: {directories: [{path: /srv/x, mode: "0700", restarts: [app]}]}\n';
    assert.deepEqual(summaries(await machine.plan(restarting)), [
      '/srv/x: create, 0700 root:root',
      'restart app.service, for the changes above',
    ]);
    await machine.run(restarting);
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('service')),
      ['service restart app.service'],
    );
    assert.deepEqual(await machine.run(restarting), ['directories Unchanged []', 'restarts Unchanged []']);
  });
});

describe('links', () => {
  const document = 'host: {links: [{path: /usr/local/bin/tool, target: ../tool/bin}]}\n';

  test('are made, kept, and led elsewhere where the document says so', async () => {
    const host = memoryHost();
    const machine = lifetime(host);
    assert.deepEqual(summaries(await machine.plan(document)), ['/usr/local/bin/tool: link -> ../tool/bin']);
    await machine.run(document);
    assert.equal(await host.readLink('/usr/local/bin/tool'), '../tool/bin');
    assert.deepEqual(await machine.run(document), ['links Unchanged []']);
    const other = 'host: {links: [{path: /usr/local/bin/tool, target: /opt/tool}]}\n';
    await assertRepaired(machine, other, '/usr/local/bin/tool: ../tool/bin -> /opt/tool');
    host.put('/usr/local/bin/tool', { type: 'symlink', content: '/tmp/evil', mode: 0o777 });
    await assertRepaired(machine, other, '/usr/local/bin/tool: /tmp/evil -> /opt/tool');
    host.take('/usr/local/bin/tool');
    await assertRepaired(machine, other, '/usr/local/bin/tool: link -> /opt/tool');
  });

  test('take the place of what is there only by force, and never that of a directory', async () => {
    const there = {
      '/usr/local/bin/tool': 'a program',
      '/etc/alternative': { type: 'symlink', content: '/etc/one' },
      '/etc/directory/x': '',
    } as const;
    const links = (force: boolean) => `host:
  links:
    - {path: /usr/local/bin/tool, target: /opt/tool, force: ${force}}
    - {path: /etc/alternative, target: /etc/two, force: ${force}}
`;
    const host = memoryHost({ files: there });
    const machine = lifetime(host);
    await assert.rejects(machine.run(links(false)), ({ error }: { error: Error }) => {
      assert.ok(error.message.includes('/usr/local/bin/tool: a file is there'), error.message);
      assert.ok(error.message.includes('/etc/alternative: a link to /etc/one is there, which machineadm did not make'));
      return true;
    });
    assert.equal(host.text('/usr/local/bin/tool'), 'a program');
    await machine.run(links(true));
    assert.equal(await host.readLink('/etc/alternative'), '/etc/two');
    await assert.rejects(
      machine.run('host: {links: [{path: /etc/directory, target: /opt, force: true}]}\n'),
      ({ error }: { error: Error }) => error.message.includes('/etc/directory: a directory is there'),
    );
  });

  test('collide with what else the document has at their path', async () => {
    const [problem] = await problemsOf(`host:
  directories: [{path: /srv/x}]
  links: [{path: /srv/x, target: /srv/y}]
`);
    assert.match(problem ?? '', /host\.links\[0\]\.path: \/srv\/x and \/srv\/x cannot both exist/);
  });
});
