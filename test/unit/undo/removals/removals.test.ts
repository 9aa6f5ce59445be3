import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { problemsOf } from '../../../support/document.ts';
import { lifetime, summaries } from '../../../support/lifetime.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const NOTHING = 'host: {}\n';
const EVERYTHING = `host:
  directories: [{path: /srv/app, mode: "0750"}]
  files:
    - {path: /srv/app/deep/er/a.conf, content: "a\\n"}
    - {path: /etc/b.conf, content: "b\\n"}
  links: [{path: /usr/local/bin/app, target: /srv/app/bin}]
`;

describe('what the document does not ask for any more', () => {
  test('is planned, removed with the directories that were made for it, and not looked for again', async () => {
    const host = memoryHost({ files: { '/etc': { type: 'directory' }, '/srv': { type: 'directory' } } });
    const machine = lifetime(host);
    await machine.run(EVERYTHING);
    assert.deepEqual(await machine.plan(EVERYTHING), []);
    const planned = await machine.plan(NOTHING);
    assert.deepEqual(
      planned.map(({ id, action, scope, summary }) => [id, action, scope, summary]),
      [
        ['/srv/app/deep/er/a.conf', 'file'],
        ['/etc/b.conf', 'file'],
        ['/usr/local/bin/app', 'link'],
        ['/srv/app/deep/er', 'directory'],
        ['/srv/app/deep', 'directory'],
        ['/srv/app', 'directory'],
      ].map(([path, type]) => [
        `removals${path}`,
        'remove',
        'node',
        `${path}: remove the ${type}, which is no longer in the document`,
      ]),
    );
    assert.deepEqual(await machine.run(NOTHING), [`removals Succeeded [${planned.map(({ id }) => id).join(' ')}]`]);
    for (const path of ['/srv/app', '/etc/b.conf', '/usr/local/bin/app'])
      assert.equal(await host.stat(path), undefined);
    assert.equal((await host.stat('/srv'))?.type, 'directory');
    assert.deepEqual(await machine.run(NOTHING), []);
    assert.deepEqual([...machine.journal.state().owned], []);
    assert.equal(machine.journal.state().before.has('path:/etc/b.conf'), false);
  });

  test('is not said to stay in the kernel where it is set back', async () => {
    const host = memoryHost({ kernelFiles: { '/proc/sys/vm/swappiness': '60\n' } });
    const machine = lifetime(host);
    await machine.run('host: {sysctl: {vm.swappiness: 10}}\n');
    const told = (await machine.plan(NOTHING)).map(({ summary }) => summary);
    assert.ok(
      told.some((one) => one.startsWith('set vm/swappiness to 60 again')),
      told.join('\n'),
    );
    assert.ok(!told.some((one) => one.includes('until the next boot')), told.join('\n'));
  });

  test('stays with prune: Never, and goes once that is not said any more', async () => {
    const host = memoryHost();
    const machine = lifetime(host);
    await machine.run(EVERYTHING);
    assert.deepEqual(await machine.run('host: {prune: Never}\n'), []);
    assert.equal(host.text('/etc/b.conf'), 'b\n');
    await machine.run(NOTHING);
    assert.equal(host.text('/etc/b.conf'), undefined);
  });

  test('stays where a user changed it since, which is reported once', async () => {
    const host = memoryHost();
    const machine = lifetime(host);
    await machine.run(EVERYTHING);
    host.put('/etc/b.conf', 'by hand\n');
    host.put('/usr/local/bin/app', { type: 'symlink', content: '/elsewhere' });
    host.put('/srv/app/of-others', 'x');
    const told = [
      '/etc/b.conf: no longer in the document, and kept: it was changed since',
      '/usr/local/bin/app: no longer in the document, and kept: it was changed since',
      '/srv/app: no longer in the document, and kept: it holds of-others, which no run of this document made',
    ];
    const planned = summaries(await machine.plan(NOTHING)).filter((summary) => summary.includes('kept'));
    for (const line of told) assert.ok(planned.includes(line), line);
    const said = (await machine.run(NOTHING)).join('\n');
    assert.match(said, /warning: \/etc\/b\.conf stays, although the document no longer lists it: it was changed since/);
    assert.equal(host.text('/etc/b.conf'), 'by hand\n');
    assert.equal(await host.readLink('/usr/local/bin/app'), '/elsewhere');
    assert.equal(host.text('/srv/app/of-others'), 'x');
    assert.equal(host.text('/srv/app/deep/er/a.conf'), undefined);
    assert.deepEqual(await machine.run(NOTHING), []);
    // It is not ours any more: neither a later run nor a reset takes it away.
    assert.equal(machine.journal.state().before.has('path:/etc/b.conf'), false);
  });

  test('is what was there before the first run again', async () => {
    const host = memoryHost({ files: { '/etc/b.conf': 'of the image\n', '/srv/app': { type: 'directory' } } });
    const machine = lifetime(host);
    await machine.run(EVERYTHING);
    await machine.run(NOTHING);
    assert.equal(host.text('/etc/b.conf'), 'of the image\n');
    assert.equal((await host.stat('/srv/app'))?.type, 'directory');
    assert.equal(host.text('/srv/app/deep/er/a.conf'), undefined);
  });

  test('is known by any spelling, and by the target of a directory that is a link', async () => {
    const host = memoryHost({
      files: { '/lib': { type: 'symlink', content: '/usr/lib' }, '/usr/lib/x': '', '/etc': { type: 'directory' } },
    });
    const machine = lifetime(host);
    const document = `host:
  directories: [{path: /srv/slash/}, {path: /srv/./dot}]
  files: [{path: /etc/./own, content: "x"}]
`;
    await machine.run(document);
    assert.deepEqual(await machine.plan(document), []);
    const other =
      'host: {directories: [{path: /srv/slash}, {path: /srv/dot}], files: [{path: /etc/own, content: "x"}]}\n';
    // The host in memory knows one spelling only, and plans them anew; what is to go is decided by the path that is meant.
    const isRemoval = ({ action }: { readonly action: string }) => action === 'remove';
    assert.deepEqual((await machine.plan(other)).filter(isRemoval), []);
    await machine.run('host: {files: [{path: /lib/unit, content: "x"}]}\n');
    const renamed = 'host: {files: [{path: /usr/lib/unit, content: "x"}]}\n';
    assert.equal(
      summaries(await machine.plan(renamed)).some((summary) => summary.includes('/lib/unit: remove')),
      false,
    );
  });

  test('stays where another document asked for it', async () => {
    const host = memoryHost();
    const machine = lifetime(host);
    await machine.run(EVERYTHING);
    assert.deepEqual(await machine.plan(NOTHING, ['/etc/machineadm/other.yaml']), []);
    assert.deepEqual(await machine.run(NOTHING, ['/etc/machineadm/other.yaml']), []);
    assert.equal(host.text('/etc/b.conf'), 'b\n');
  });

  test('goes after it was repaired by a run, which knows what it wrote last', async () => {
    const host = memoryHost();
    const machine = lifetime(host);
    await machine.run(EVERYTHING);
    host.put('/etc/b.conf', 'by hand\n');
    await machine.run(EVERYTHING);
    await machine.run(NOTHING);
    assert.equal(host.text('/etc/b.conf'), undefined);
  });

  test('is not removed where a later entry of another kind has its place', async () => {
    const host = memoryHost({ files: { '/etc': { type: 'directory' } } });
    const machine = lifetime(host);
    await machine.run('host: {files: [{path: /etc/x, content: ""}]}\n');
    await machine.run('host: {links: [{path: /etc/x, target: /etc/y, force: true}]}\n');
    assert.equal(await host.readLink('/etc/x'), '/etc/y');
    await machine.run('host: {directories: [{path: /etc/other}]}\n');
    assert.equal(await host.stat('/etc/x'), undefined);
  });

  test('restarts what read it, and what a drop-in belonged to, each once', async () => {
    const services = { ssh: { active: true }, web: { active: true }, idle: { active: false } };
    const host = memoryHost({ services });
    const machine = lifetime(host);
    await machine.run(`host:
  files:
    - {path: /etc/ssh/a.conf, content: a, restarts: [ssh.service]}
    - {path: /etc/ssh/b.conf, content: b, restarts: [ssh], reloads: [web.service, idle.service]}
  services:
    - {name: web, dropIns: [{name: 10-x.conf, content: "[Service]\\n"}]}
`);
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('service')),
      ['service reload', 'service restart web', 'service restart ssh.service', 'service reload web.service'],
    );
    host.log.length = 0;
    await machine.run('host: {services: [{name: web}]}\n');
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('service')),
      ['service reload', 'service restart ssh.service', 'service reload web.service', 'service restart web.service'],
    );
    assert.equal(host.text('/etc/systemd/system/web.service.d/10-x.conf'), undefined);
  });

  test('of a drop-in and a change of another restart the service once, whichever way the document writes its name', async () => {
    for (const name of ['web', 'web.service']) {
      const host = memoryHost({ services: { web: { active: true } } });
      const machine = lifetime(host);
      const document = (...dropIns: readonly string[]) =>
        `host: {services: [{name: ${name}, state: Started, dropIns: [${dropIns.join(', ')}]}]}\n`;
      await machine.run(document('{name: a.conf, content: "a"}', '{name: b.conf, content: "b"}'));
      host.log.length = 0;
      await machine.run(document('{name: b.conf, content: "c"}'));
      assert.equal(host.text('/etc/systemd/system/web.service.d/a.conf'), undefined);
      assert.deepEqual(
        host.log.filter((line) => line.startsWith('service restart')),
        [`service restart ${name}`],
      );
    }
  });

  test('below /etc is flushed to the disk once, after the last removal; elsewhere each one is flushed at once', async () => {
    const host = memoryHost({ files: { '/etc': { type: 'directory' }, '/srv': { type: 'directory' } } });
    const machine = lifetime(host);
    const files = ['/etc/a', '/etc/b', '/srv/c'].map((path) => `{path: ${path}, content: x}`);
    await machine.run(`host: {files: [${files.join(', ')}]}\n`);
    host.log.length = 0;
    await machine.run(NOTHING);
    assert.deepEqual(host.log, ['remove /etc/a', 'remove /etc/b', 'remove /srv/c', 'sync /srv', 'sync /etc']);
  });

  test('of a unit is stopped and not started at boot any more', async () => {
    const host = memoryHost();
    const machine = lifetime(host);
    await machine.run('host: {files: [{path: /etc/systemd/system/own.service, content: "[Service]\\n"}]}\n');
    host.setService('own', { active: true, enabled: true });
    host.log.length = 0;
    await machine.run(NOTHING);
    assert.deepEqual(
      host.log.filter((line) => !line.startsWith('sync')),
      [
        'service stop own.service',
        'service disable own.service',
        'remove /etc/systemd/system/own.service',
        'service reload',
      ],
    );
  });

  test('a run that was killed while it wrote writes again, and removes only what it finished', async () => {
    const host = memoryHost({ files: { '/etc': { type: 'directory' } } });
    const machine = lifetime(host);
    const document = 'host: {files: [{path: /etc/x, content: "x\\n"}]}\n';
    const written = host.writeFile.bind(host);
    host.writeFile = async (file) => {
      await written(file);
      if (file.path === '/etc/x') throw new Error('killed');
    };
    await assert.rejects(machine.run(document));
    host.writeFile = written;
    assert.deepEqual(summaries(await machine.plan(document)), ['/etc/x: write again, as a run was killed in it']);
    assert.match(summaries(await machine.plan(NOTHING))[0] ?? '', /kept: a run was killed while it wrote it/);
    assert.deepEqual(await machine.run(document), ['files Succeeded [files//etc/x]']);
    assert.deepEqual(await machine.run(document), ['files Unchanged []']);
    await machine.run(NOTHING);
    assert.equal(host.text('/etc/x'), undefined);
  });

  test('a run that was killed after a removal is finished by the next, with what it owes', async () => {
    const host = memoryHost({ services: { ssh: { active: true } }, files: { '/etc': { type: 'directory' } } });
    const machine = lifetime(host);
    await machine.run('host: {files: [{path: /etc/a, content: a, restarts: [ssh]}, {path: /etc/b, content: b}]}\n');
    const removed = host.removeFile.bind(host);
    host.removeFile = async (path) => {
      await removed(path);
      throw new Error('killed');
    };
    await assert.rejects(machine.run(NOTHING));
    host.removeFile = removed;
    host.log.length = 0;
    await machine.run(NOTHING);
    assert.equal(host.text('/etc/b'), undefined);
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('service')),
      ['service restart ssh.service'],
    );
    assert.deepEqual(await machine.plan(NOTHING), []);
  });
});

describe('absent: true', () => {
  test('removes files, links and directories, and is satisfied by their absence', async () => {
    const host = memoryHost({
      services: { crio: { active: true } },
      files: {
        '/etc/cni/net.d/87-podman.conflist': '{}',
        '/etc/alias': { type: 'symlink', content: '/etc/passwd' },
        '/etc/passwd': 'root\n',
        '/opt/old/bin/a': 'a',
        '/opt/old/link': { type: 'symlink', content: '/etc' },
        '/opt/empty': { type: 'directory' },
      },
    });
    const machine = lifetime(host);
    const document = `host:
  files: [{path: /etc/cni/net.d/87-podman.conflist, absent: true, restarts: [crio]}, {path: /etc/keep, content: ""}]
  links: [{path: /etc/alias, absent: true}]
  directories:
    - {path: /opt/old, absent: true, recursive: true}
    - {path: /opt/empty, absent: true}
`;
    const planned = await machine.plan(document);
    assert.deepEqual(
      planned.map(({ summary, action }) => [summary, action]),
      [
        ['/etc/cni/net.d/87-podman.conflist: remove', 'remove'],
        ['/opt/empty: remove', 'remove'],
        ['/etc/alias: remove', 'remove'],
        ['/opt/old: remove, with 3 entries in it', 'remove'],
        ['/etc/keep: create, 0644 root:root, 0 bytes of the document', 'add'],
        ['restart crio.service, for the changes above', 'restart'],
      ],
    );
    await machine.run(document);
    assert.equal(await host.stat('/opt/old'), undefined);
    assert.equal(host.text('/etc/passwd'), 'root\n');
    assert.deepEqual(await machine.plan(document), []);
    assert.deepEqual(await machine.run(document), [
      'removals Unchanged []',
      'files Unchanged []',
      'restarts Unchanged []',
    ]);
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('service')),
      ['service restart crio.service'],
    );
  });

  test('refuses, before anything is removed, what is something else, is not empty, or is mounted', async () => {
    const host = memoryHost({
      files: {
        '/etc/directory/x': '',
        '/etc/file': '',
        '/etc/other': '',
        '/etc/another': '',
        '/etc/true-link': { type: 'symlink', content: '/usr' },
        '/opt/full/x': '',
        '/srv/mounted/y': '',
        '/proc/self/mountinfo': '1 1 0:1 / / rw - ext4 x rw\n2 1 0:2 / /srv/mounted rw - ext4 y rw\n',
      },
    });
    const machine = lifetime(host);
    const document = `host:
  files: [{path: /etc/directory, absent: true}, {path: /etc/other, absent: true}]
  links: [{path: /etc/file, absent: true}]
  directories: [{path: /opt/full, absent: true}, {path: /srv/mounted, absent: true, recursive: true}, {path: /etc/another, absent: true}, {path: /etc/true-link, absent: true}]
`;
    await assert.rejects(machine.run(document), (failure: Error & { error: { message: string; reason: string } }) => {
      assert.equal(failure.error.reason, 'RemovalRefused');
      for (const why of [
        '/etc/directory is not removed: it is a directory',
        '/etc/file is not removed: it is a file, not a link',
        '/etc/another is not removed: it is a file, not a directory',
        '/etc/true-link is not removed: it is a symlink, not a directory',
        '/opt/full is not removed: it holds /opt/full/x',
        '/srv/mounted is not removed: /srv/mounted is mounted',
      ]) {
        assert.ok(failure.error.message.includes(why), failure.error.message);
      }
      return true;
    });
    assert.equal(host.text('/etc/other'), '');
  });

  test('is refused for what no machine can be without, and beside what says that something is there', async () => {
    const body = `host:
  files:
    - {path: /etc/passwd, absent: true}
    - {path: /etc/x, absent: true, content: ""}
  directories:
    - {path: /usr/lib, absent: true, recursive: true}
    - {path: /etc/, recursive: {mode: "0600"}}
    - {path: /srv/gone, absent: true}
    - {path: /srv/gone/kept}
  links: [{path: /etc/l}]
`;
    const problems = await problemsOf(body);
    for (const part of [
      '/etc/passwd is part of the system and never removed',
      'describes the path, but absent: true removes it',
      '/usr/lib is part of the system and never removed',
      '/etc/ is part of the system: its files have modes and owners that must stay',
      'the target is missing',
    ]) {
      assert.ok(
        problems.some((problem) => problem.includes(part)),
        `${part}: ${problems.join('\n')}`,
      );
    }
  });

  test('of a directory in which the same document puts something is refused', async () => {
    const problems = await problemsOf(`host:
  directories: [{path: /srv/gone, absent: true, recursive: true}]
  files: [{path: /srv/gone/kept, content: ""}]
`);
    assert.equal(problems.length, 1);
    assert.match(
      problems[0] ?? '',
      /host\.files\[0\]\.path: \/srv\/gone\/kept is to be there, and \/srv\/gone with all in it is removed by host\.directories\[0\]/,
    );
  });
});

describe('a block in a file of others', () => {
  const block = (content: string, comment = '#') =>
    `host: {files: [{path: /etc/app.conf, block: {name: app, comment: "${comment}"}, content: "${content}"}]}\n`;

  test('is added, corrected in its place, and removed with its entry; what others wrote stays', async () => {
    const host = memoryHost({ files: { '/etc/app.conf': { content: 'before\n', mode: 0o640, gid: 5 } } });
    const machine = lifetime(host);
    await machine.run(block('one\\ntwo\\n'));
    assert.equal(host.text('/etc/app.conf'), 'before\n# BEGIN machineadm: app\none\ntwo\n# END machineadm: app\n');
    assert.deepEqual(await machine.plan(block('one\\ntwo\\n')), []);
    host.put('/etc/app.conf', { content: `${host.text('/etc/app.conf')}behind\n`, mode: 0o640, gid: 5 });
    assert.deepEqual(await machine.plan(block('one\\ntwo\\n')), []);
    assert.deepEqual(summaries(await machine.plan(block('three'))), [
      '/etc/app.conf: block app from 5 bytes of the document differs',
    ]);
    await machine.run(block('three'));
    assert.equal(host.text('/etc/app.conf'), 'before\n# BEGIN machineadm: app\nthree\n# END machineadm: app\nbehind\n');
    assert.deepEqual(summaries(await machine.plan(NOTHING)), [
      '/etc/app.conf: remove the block app, which is no longer in the document',
    ]);
    await machine.run(NOTHING);
    assert.equal(host.text('/etc/app.conf'), 'before\nbehind\n');
    const { mode, gid } = (await host.stat('/etc/app.conf')) ?? {};
    assert.deepEqual([mode, gid], [0o640, 5]);
    assert.deepEqual(await machine.run(NOTHING), []);
  });

  test('is all that is removed, even where a run is killed in that', async () => {
    const host = memoryHost({ files: { '/etc/app.conf': 'of others\n' } });
    const machine = lifetime(host);
    await machine.run(block('one'));
    const append = machine.journal.append.bind(machine.journal);
    machine.journal.append = (record) => {
      if (record.is === 'released') throw new Error('killed');
      append(record);
    };
    await assert.rejects(machine.run(NOTHING));
    machine.journal.append = append;
    await machine.run(NOTHING);
    assert.equal(host.text('/etc/app.conf'), 'of others\n');
  });

  test('does not make the file ours that a later document writes as a whole', async () => {
    const host = memoryHost({ files: { '/etc/app.conf': 'of others\n' } });
    const machine = lifetime(host);
    await machine.run(block('one'));
    await machine.run('host: {files: [{path: /etc/app.conf, content: "whole"}]}\n');
    assert.deepEqual(summaries(await machine.plan(NOTHING)), [
      'restore /etc/app.conf as it was: the document no longer has it',
    ]);
    await machine.run(NOTHING);
    assert.equal(host.text('/etc/app.conf'), 'of others\n');
  });

  test('has the comments of the file, and is not taken for gone where a user cut it', async () => {
    const host = memoryHost({ files: { '/etc/app.conf': '<a/>\n' } });
    const machine = lifetime(host);
    await machine.run(block('<b/>\\n', '<!--'));
    assert.equal(
      host.text('/etc/app.conf'),
      '<a/>\n<!-- BEGIN machineadm: app -->\n<b/>\n<!-- END machineadm: app -->\n',
    );
    host.put('/etc/app.conf', '<a/>\n');
    assert.match(summaries(await machine.plan(NOTHING))[0] ?? '', /kept: it no longer has this block/);
    await machine.run(NOTHING);
    assert.equal(host.text('/etc/app.conf'), '<a/>\n');
  });
});
