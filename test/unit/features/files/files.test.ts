import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FileModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { files } from '../../../../src/features/files/index.ts';
import { mountPointsOf } from '../../../../src/host/files/paths.ts';
import { NO_ACCOUNTS } from '../../../../src/owned-files/obstacles.ts';
import { fileModel, hostModel } from '../../../support/host-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const EARLY = { shell: 'sh', onError: 'Fail', timeoutMs: 1000, frequency: 'Once', commands: ['true'] } as const;

function secret(path: string, value: string): FileModel {
  const source = { kind: 'value', secret: new Secret(value) } as const;
  return fileModel(path, '', { content: { kind: 'secret', secret: { name: 'token', source } }, mode: 0o600 });
}

function documentOf(...list: FileModel[]) {
  return hostModel({ files: list });
}

describe('files', () => {
  test('are written in order with owner and mode, and a second run changes nothing', async () => {
    const host = memoryHost({ users: { app: 1000 }, groups: { app: 1001 } });
    const model = documentOf(
      fileModel('/etc/a', 'one\n'),
      fileModel('/opt/b', 'two', { mode: 0o4750, user: 'app', group: 'app' }),
    );
    const run = await runStep(files, host, model);
    assert.deepEqual(host.log.slice(0, 2), ['write /etc/a 0644 0:0', 'write /opt/b 4750 1000:1001']);
    assert.equal(host.text('/opt/b'), 'two');
    assert.deepEqual(run.left, []);
    assert.deepEqual(await planned(files, host, model), []);
  });

  test('the plan says what differs, and shows a text that every user may read', async () => {
    const host = memoryHost({ files: { '/etc/motd': { content: 'old\n', mode: 0o664, gid: 5 } } });
    const [change] = await planned(files, host, documentOf(fileModel('/etc/motd', 'new\n')));
    assert.equal(change?.id, 'files//etc/motd');
    assert.equal(
      change?.summary,
      '/etc/motd: content from 4 bytes of the document differs, mode 0664 -> 0644, owner 0:5 -> root:root',
    );
    assert.equal(change?.diff, '@@ -1,1 +1,1 @@\n-old\n+new');
    assert.equal(change?.scope, 'base');
  });

  test('a long file is compared whole, and one that is too long for it says so', async () => {
    const present = (bytes: number) =>
      memoryHost({ files: { '/etc/long': { content: '1234567\n'.repeat(bytes / 8) } } });
    const model = documentOf(fileModel('/etc/long', `${'1234567\n'.repeat(20_000)}last\n`));
    assert.equal(
      (await planned(files, present(160_000), model))[0]?.diff,
      '@@ -19998,3 +19998,4 @@\n 1234567\n 1234567\n 1234567\n+last',
    );
    assert.match(
      (await planned(files, present(5_000_000), model))[0]?.diff ?? '',
      /^5000000 bytes are there: too many/,
    );
  });

  test('nothing is shown of a file that not every user may read, before or after', async () => {
    const host = memoryHost({ files: { '/etc/was': { content: 'hunter2\n', mode: 0o600 } } });
    const model = documentOf(
      fileModel('/etc/was', 'public\n'),
      fileModel('/etc/becomes', 'hunter3\n', { mode: 0o640 }),
    );
    for (const change of await planned(files, host, model)) {
      assert.equal(change.diff, undefined);
      assert.doesNotMatch(change.summary, /hunter/);
    }
  });

  test('a secret is of the node, compared in memory and never shown', async () => {
    const host = memoryHost();
    const model = documentOf(secret('/etc/token', 'correct horse battery'));
    const [change] = await planned(files, host, model);
    assert.equal(change?.scope, 'node');
    assert.equal(change?.diff, undefined);
    assert.doesNotMatch(JSON.stringify(change), /correct horse/);
    await runStep(files, host, model);
    assert.equal(host.text('/etc/token'), 'correct horse battery');
    assert.ok(host.log.includes('write /etc/token 0600 0:0'));
    assert.deepEqual(await planned(files, host, model), []);
  });

  test('a file below /run is of the node: an image cannot hold it', async () => {
    assert.deepEqual(await planned(files, memoryHost(), documentOf(fileModel('/run/x', '')), { scope: 'base' }), []);
  });

  test('a file is copied from this machine, and again when its source changes', async () => {
    const host = memoryHost({ files: { '/srv/source': 'one' } });
    const model = documentOf(fileModel('/etc/copy', '', { content: { kind: 'file', path: '/srv/source' } }));
    await runStep(files, host, model);
    assert.equal(host.text('/etc/copy'), 'one');
    host.put('/srv/source', 'two');
    assert.equal((await planned(files, host, model)).length, 1);
  });

  test('a copy of a file that the same document changes is planned with it', async () => {
    const host = memoryHost({ files: { '/etc/first': 'old', '/etc/copy': 'old' } });
    const copy = fileModel('/etc/copy', '', { content: { kind: 'file', path: '/etc/first' } });
    const run = await runStep(files, host, documentOf(fileModel('/etc/first', 'new'), copy));
    assert.equal(run.changes.length, 2);
    assert.equal(host.text('/etc/copy'), 'new');
    assert.deepEqual(run.left, []);
  });

  test('a source that an early hook may bring is known after the hooks', async () => {
    const list = [fileModel('/etc/copy', '', { content: { kind: 'file', path: '/srv/source' } })];
    const model = hostModel({
      files: list,
      hooks: { early: EARLY, beforeBootstrap: undefined, afterBootstrap: undefined },
    });
    const [change] = await planned(files, memoryHost(), model);
    assert.equal(change?.knownAfter, 'hooks-early');
    assert.deepEqual(
      await files.preflight?.(memoryHost(), { files: list, afterHooks: true, made: NO_ACCOUNTS, mounted: [] }),
      [],
    );
  });

  test('all that stands in the way is reported before the first file is written', async () => {
    const host = memoryHost({
      files: {
        '/etc/link': { type: 'symlink' },
        '/etc/directory': { type: 'directory' },
        '/etc/file': 'x',
      },
    });
    const list = [
      fileModel('/etc/fine', ''),
      fileModel('/etc/mine', '', { user: 'nobody-here', group: 'no-group' }),
      fileModel('/etc/link', ''),
      fileModel('/etc/directory', ''),
      fileModel('/etc/file/below', ''),
      fileModel('/etc/copy', '', { content: { kind: 'file', path: '/srv/absent' } }),
    ];
    const found = [
      ['FileOwnerUnknown', '/etc/mine: the user nobody-here does not exist'],
      ['FileOwnerUnknown', '/etc/mine: the group no-group does not exist'],
      ['FileNotWritten', '/etc/link: a symbolic link is there'],
      ['FileNotWritten', '/etc/directory: a directory is there'],
      ['FileNotWritten', '/etc/file/below: a parent of it is not a directory'],
      ['FileNotWritten', '/etc/copy: its source /srv/absent does not exist'],
    ];
    const missing = await files.preflight?.(host, { files: list, afterHooks: false, made: NO_ACCOUNTS, mounted: [] });
    assert.deepEqual(
      missing?.map(({ reason, what }) => [reason, what]),
      found,
    );

    await assert.rejects(runStep(files, host, documentOf(...list)), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'FileOwnerUnknown');
      // The last is of the node alone, and the change that fails is one of the image.
      for (const [, what] of found.slice(0, -1)) assert.ok(error.message.includes(what ?? ''));
      return true;
    });
    assert.deepEqual(host.log, []);
  });

  test('an image bake is not held up by what only files of the node lack', async () => {
    const list = [
      fileModel('/etc/a', ''),
      fileModel('/etc/copy', '', { content: { kind: 'file', path: '/srv/absent' } }),
    ];
    const missing = await files.preflight?.(memoryHost(), {
      files: list,
      afterHooks: false,
      made: NO_ACCOUNTS,
      mounted: [],
    });
    assert.deepEqual(
      missing?.map(({ scope }) => scope),
      ['node'],
    );
    const host = memoryHost();
    const run = await runStep(files, host, documentOf(...list), { scope: 'base' });
    assert.deepEqual([run.changes.map(({ id }) => id), run.left], [['files//etc/a'], []]);
  });

  test('a secret that is not there is SecretUnavailable', async () => {
    const content = { kind: 'secret', secret: { name: 'token', source: { kind: 'file', path: '/run/none' } } } as const;
    await assert.rejects(runStep(files, memoryHost(), documentOf(fileModel('/etc/token', '', { content }))), {
      reason: 'SecretUnavailable',
    });
  });

  test('each file system is flushed once', async () => {
    const host = memoryHost({
      files: {
        '/proc/self/mountinfo': '22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 8:2 / /var/li\\040b rw - xfs /dev/sdb rw\n',
      },
    });
    await runStep(
      files,
      host,
      documentOf(fileModel('/etc/a', ''), fileModel('/etc/b/c', ''), fileModel('/var/li b/x', '')),
    );
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('sync')),
      ['sync /', 'sync /var/li b'],
    );
  });

  test('mount points are read from mountinfo', () => {
    assert.deepEqual(mountPointsOf('22 1 8:1 / / rw - ext4 /dev/sda1 rw\n'), ['/']);
  });
});
