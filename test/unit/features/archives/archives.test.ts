import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { archives } from '../../../../src/features/archives/index.ts';
import { type TestMember, tarOf } from '../../../support/archives.ts';
import { loaded } from '../../../support/document.ts';
import { lifetime, summaries } from '../../../support/lifetime.ts';
import { type MemoryHost, type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';

const URL = 'https://files.example/cni.tgz';
const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const PLUGINS: readonly TestMember[] = [
  { name: './', type: '5' },
  { name: './bridge', content: 'bridge 1' },
  { name: './README.md', content: 'read me', mode: 0o664 },
  { name: './sub', type: '5' },
  { name: './sub/loopback', content: 'loopback 1' },
  { name: './latest', type: '2', target: 'sub/loopback' },
];
const ARCHIVE = gzipSync(tarOf(PLUGINS));

/** A machine with a server that has archives, by their names, and counts the requests. */
function served(archives: Readonly<Record<string, Uint8Array>>, machine: MemoryMachine = {}) {
  const asked: string[] = [];
  const http = ({ url }: { readonly url: string }) => {
    asked.push(url);
    const body = archives[url.split('/').at(-1) ?? ''];
    return body === undefined ? { status: 404 } : { body };
  };
  return { asked, host: memoryHost({ http, ...machine }) };
}

function entry(archive: Uint8Array, more = 'unpack: {}', { path = '/opt/cni/bin', url = URL } = {}): string {
  return `    - {path: ${path}, contentFrom: {http: {url: "${url}", sha256: ${digest(archive)}}}, ${more}}\n`;
}

const documentOf = (...entries: readonly string[]): string =>
  entries.length === 0 ? 'host: {}\n' : `host:\n  files:\n${entries.join('')}`;

/** Everything below /opt, without its times. */
const tree = (host: MemoryHost): readonly string[] => host.snapshot().filter((line) => line.includes('/opt'));

function assertUnchanged(story: readonly string[]): void {
  for (const line of story) assert.match(line, / Unchanged \[\]$/);
}

async function refusal(run: Promise<unknown>, reason: string, message: RegExp): Promise<void> {
  await assert.rejects(run, ({ cause }: { readonly cause: { readonly reason: string; readonly message: string } }) => {
    assert.equal(cause.reason, reason);
    assert.match(cause.message, message);
    return true;
  });
}

const DOCUMENT = documentOf(entry(ARCHIVE));

describe('an archive that is downloaded', () => {
  test('is unpacked with its directories, modes and links, and a second run asks nobody and changes nothing', async () => {
    const { host, asked } = served({ 'cni.tgz': ARCHIVE });
    const machine = lifetime(host);
    assert.deepEqual(summaries(await machine.plan(DOCUMENT)), [
      '/opt/cni/bin: unpack https://files.example/cni.tgz; what it holds is known once it is there',
    ]);
    assert.deepEqual(asked, []);
    assert.deepEqual(await machine.run(DOCUMENT), ['archives Succeeded [archives/opt/cni/bin]']);
    assert.equal(host.text('/opt/cni/bin/bridge'), 'bridge 1');
    assert.equal(host.text('/opt/cni/bin/sub/loopback'), 'loopback 1');
    assert.equal((await host.stat('/opt/cni/bin/bridge'))?.mode, 0o755);
    assert.equal((await host.stat('/opt/cni/bin/README.md'))?.mode, 0o644);
    assert.equal(await host.readLink('/opt/cni/bin/latest'), 'sub/loopback');
    assert.deepEqual(await host.list('/var/lib/machineadm/archives'), undefined);
    assert.deepEqual(await machine.plan(DOCUMENT), []);
    assertUnchanged(await machine.run(DOCUMENT));
    assert.deepEqual(asked, [URL]);
  });

  test('is found and repaired in every attribute, and downloaded again only for a content', async () => {
    const { host, asked } = served({ 'cni.tgz': ARCHIVE });
    const machine = lifetime(host);
    await machine.run(DOCUMENT);
    const whole = tree(host);
    const drifts: readonly (readonly [string, (host: MemoryHost) => unknown, number])[] = [
      ['bridge (content)', (machine) => machine.put('/opt/cni/bin/bridge', { content: 'evil', mode: 0o755 }), 1],
      ['bridge', (machine) => machine.take('/opt/cni/bin/bridge'), 1],
      ['bridge (mode 0777 -> 0755)', (machine) => machine.chmod('/opt/cni/bin/bridge', 0o777), 0],
      ['bridge (owner -> root:root)', (machine) => machine.chown('/opt/cni/bin/bridge', 5, 0), 0],
      ['bridge (owner -> root:root)', (machine) => machine.chown('/opt/cni/bin/bridge', 0, 5), 0],
      ['sub (mode 0700 -> 0755)', (machine) => machine.chmod('/opt/cni/bin/sub', 0o700), 0],
      ['sub (owner -> root:root)', (machine) => machine.chown('/opt/cni/bin/sub', 7, 0), 0],
      ['bin (mode 0711 -> 0755)', (machine) => machine.chmod('/opt/cni/bin', 0o711), 0],
      ['latest', (machine) => machine.take('/opt/cni/bin/latest'), 0],
      ['latest (link to bridge -> sub/loopback)', (machine) => machine.writeLink('/opt/cni/bin/latest', 'bridge'), 0],
    ];
    for (const [what, drift, downloads] of drifts) {
      await drift(host);
      asked.length = 0;
      const [planned, ...more] = summaries(await machine.plan(DOCUMENT));
      assert.equal(planned, `/opt/cni/bin: unpack ${what} from https://files.example/cni.tgz`);
      assert.deepEqual(more, []);
      await machine.run(DOCUMENT);
      assert.deepEqual(tree(host), whole, what);
      assert.equal(asked.length, downloads, what);
      assertUnchanged(await machine.run(DOCUMENT));
    }
  });

  test('goes with all that was unpacked, and nothing else, once the document does not name it', async () => {
    const { host } = served({ 'cni.tgz': ARCHIVE }, { files: { '/opt/cni/bin/theirs': 'theirs' } });
    const before = tree(host);
    const machine = lifetime(host);
    await machine.run(DOCUMENT);
    const changes = await machine.plan(documentOf());
    assert.deepEqual(
      changes.map(({ id, action }) => `${action} ${id}`).toSorted(),
      ['README.md', 'bridge', 'latest', 'sub', 'sub/loopback'].map((name) => `remove removals/opt/cni/bin/${name}`),
    );
    await machine.run(documentOf());
    assert.deepEqual(tree(host), before);
    assertUnchanged(await machine.run(documentOf()));
  });

  test('of another version removes what only the earlier one had', async () => {
    const newer = gzipSync(
      tarOf([
        { name: 'bridge', content: 'bridge 2' },
        { name: 'tuning', content: 'new' },
      ]),
    );
    const { host } = served({ 'cni.tgz': ARCHIVE, 'newer.tgz': newer });
    const machine = lifetime(host);
    await machine.run(DOCUMENT);
    const updated = documentOf(entry(newer, 'unpack: {}', { url: 'https://files.example/newer.tgz' }));
    await machine.run(updated);
    assert.deepEqual(await host.list('/opt/cni/bin'), ['bridge', 'tuning']);
    assert.equal(host.text('/opt/cni/bin/bridge'), 'bridge 2');
    assertUnchanged(await machine.run(updated));
  });

  test('keeps what a user changed when it goes, and with prune: Never everything', async () => {
    const newer = gzipSync(tarOf([{ name: 'bridge', content: 'bridge 2' }]));
    const { host } = served({ 'cni.tgz': ARCHIVE, 'newer.tgz': newer });
    const machine = lifetime(host);
    await machine.run(DOCUMENT);
    host.put('/opt/cni/bin/README.md', 'mine');
    const updated = documentOf(entry(newer, 'unpack: {}', { url: 'https://files.example/newer.tgz' }));
    await machine.run(`${updated}  prune: Never\n`);
    assert.deepEqual(await host.list('/opt/cni/bin'), ['README.md', 'bridge', 'latest', 'sub']);
    const story = await machine.run(updated);
    assert.match(
      story.join('\n'),
      /README\.md stays, although no archive of the document contains it any longer: it was changed since/,
    );
    assert.deepEqual(await host.list('/opt/cni/bin'), ['README.md', 'bridge']);
    assertUnchanged(await machine.run(updated));
  });

  test('shares its directory with another archive', async () => {
    const other = gzipSync(tarOf([{ name: 'linux/flannel', content: 'flannel' }]));
    const { host } = served({ 'cni.tgz': ARCHIVE, 'flannel.tgz': other });
    const both = documentOf(
      entry(ARCHIVE, 'unpack: {include: [bridge]}'),
      entry(other, 'unpack: {stripComponents: 1}', { url: 'https://files.example/flannel.tgz' }),
    );
    const machine = lifetime(host);
    assert.deepEqual(await machine.run(both), ['archives Succeeded [archives/opt/cni/bin archives/opt/cni/bin#2]']);
    assert.deepEqual(await host.list('/opt/cni/bin'), ['bridge', 'flannel']);
    const one = documentOf(entry(other, 'unpack: {stripComponents: 1}', { url: 'https://files.example/flannel.tgz' }));
    assert.deepEqual(summaries(await machine.plan(one)), [
      '/opt/cni/bin/bridge: remove the file, which is no longer in an archive',
    ]);
    await machine.run(one);
    assert.deepEqual(await host.list('/opt/cni/bin'), ['flannel']);
    assertUnchanged(await machine.run(one));
  });

  test('gives one member as the file of the path, with the owner and mode of the document', async () => {
    const { host } = served({ 'cni.tgz': ARCHIVE }, { users: { app: 5 }, groups: { app: 6 } });
    const more = 'owner: app, mode: "4750", unpack: {member: sub/loopback}';
    const document = documentOf(entry(ARCHIVE, more, { path: '/opt/bin/lo' }));
    const machine = lifetime(host);
    await machine.run(document);
    const { mode, uid, gid } = (await host.stat('/opt/bin/lo')) ?? {};
    assert.deepEqual([host.text('/opt/bin/lo'), mode, uid, gid], ['loopback 1', 0o4750, 5, 6]);
    assert.deepEqual(await host.list('/opt/bin'), ['lo']);
    assertUnchanged(await machine.run(document));
  });

  test('of another digest, or that holds what it must not, changes nothing', async () => {
    const evil = gzipSync(
      tarOf([
        { name: 'good', content: 'x' },
        { name: '../../etc/cron.d/evil', content: 'x' },
      ]),
    );
    const { host } = served(
      { 'cni.tgz': gzipSync('another'), 'evil.tgz': evil },
      { files: { '/var/lib/machineadm': { type: 'directory' } } },
    );
    const before = host.snapshot();
    await refusal(lifetime(host).run(DOCUMENT), 'DownloadFailed', /came with the SHA-256/);
    const document = documentOf(entry(evil, 'unpack: {}', { url: 'https://files.example/evil.tgz' }));
    await refusal(lifetime(host).run(document), 'ArchiveRefused', /leads out of the directory/);
    assert.deepEqual(host.snapshot(), before);
  });
});

describe('an archive on this machine', () => {
  const offline = `host:\n  files:\n    - {path: /opt/cni/bin, contentFrom: {file: /media/cni.tgz}, unpack: {exclude: ["*.md"]}}\n`;

  test('is planned with what it holds, and compared without being read again', async () => {
    const host = memoryHost({ files: { '/media/cni.tgz': ARCHIVE } });
    const machine = lifetime(host);
    assert.deepEqual(summaries(await machine.plan(offline)), [
      '/opt/cni/bin: unpack bridge, sub/loopback, latest from /media/cni.tgz',
    ]);
    await machine.run(offline);
    assert.deepEqual(await host.list('/opt/cni/bin'), ['bridge', 'latest', 'sub']);
    let reads = 0;
    const { model } = await loaded(offline);
    const counted = {
      ...host,
      openFile: async (path: string) => {
        reads += 1;
        return await host.openFile(path);
      },
    };
    const plan = archives.plan(model, await archives.inspect(counted, model, machine.journal.record('archives')));
    assert.deepEqual([plan, reads], [[], 0]);
  });

  test('that a file of the document brings is unpacked behind it', async () => {
    const host = memoryHost();
    const content = tarOf([{ name: 'tool', content: 'x' }]).toString('base64');
    const document = documentOf(
      `    - {path: /srv/tool.tar, encoding: base64, content: ${content}}\n`,
      '    - {path: /opt/tool, contentFrom: {file: /srv/tool.tar}, unpack: {}}\n',
    );
    const machine = lifetime(host);
    const [, unpack] = await machine.plan(document);
    assert.equal(unpack?.knownAfter, 'files');
    await machine.run(document);
    assert.equal(host.text('/opt/tool/tool'), 'x');
    assertUnchanged(await machine.run(document));
  });

  test('that is unchanged but for its owner becomes the new owner everywhere', async () => {
    const host = memoryHost({ files: { '/media/cni.tgz': ARCHIVE }, users: { app: 5 }, groups: { app: 6 } });
    const machine = lifetime(host);
    await machine.run(offline);
    await machine.run(offline.replace('unpack', 'owner: app, unpack'));
    for (const path of ['', '/bridge', '/sub', '/sub/loopback']) {
      const stat = await host.stat(`/opt/cni/bin${path}`);
      assert.deepEqual([path, stat?.uid, stat?.gid], [path, 5, 6]);
    }
  });

  /** What a preflight finds for an archive at /media/cni.tgz. */
  async function found(bytes: Uint8Array | undefined, machine: MemoryMachine = {}, document = offline) {
    const files = { ...(bytes === undefined ? {} : { '/media/cni.tgz': bytes }), ...machine.files };
    const host = memoryHost({ ...machine, files });
    const { model } = await loaded(document);
    return (await archives.preflight?.(host, model))?.map(({ reason, what }) => `${reason} ${what}`);
  }

  test('is checked before any change: missing, damaged, another format, an unknown owner', async () => {
    assert.deepEqual(await found(ARCHIVE), []);
    assert.match((await found(undefined))?.[0] ?? '', /^FileNotWritten .*its source \/media\/cni.tgz does not exist/);
    assert.match((await found(ARCHIVE.subarray(0, 100)))?.[0] ?? '', /^ArchiveUnreadable .*unexpected end of file/);
    assert.match(
      (await found(Buffer.from('#!/bin/sh\n'.repeat(99))))?.[0] ?? '',
      /^ArchiveUnreadable .*not a tar archive/,
    );
    const owner = offline.replace('unpack', 'owner: nobody-here, unpack');
    assert.match((await found(ARCHIVE, {}, owner))?.[0] ?? '', /^FileOwnerUnknown/);
    const refused = gzipSync(tarOf([{ name: 'x', type: '3' }]));
    assert.match((await found(refused))?.[0] ?? '', /^ArchiveRefused .*x is a device/);
  });

  test('is checked before any change: what is in the way, and too little space', async () => {
    const blocked = { files: { '/opt/cni/bin/bridge': { type: 'directory' as const } } };
    assert.match(
      (await found(ARCHIVE, blocked))?.[0] ?? '',
      /^FileNotWritten \/opt\/cni\/bin\/bridge: a directory is there/,
    );
    const link = { files: { '/opt/cni/bin/latest': { type: 'symlink' as const, content: '/etc' } } };
    assert.match((await found(ARCHIVE, link))?.[0] ?? '', /a link to \/etc is there, which machineadm did not make/);
    const away = {
      files: {
        '/opt/cni/bin/sub': { type: 'symlink' as const, content: '/etc' },
        '/etc': { type: 'directory' as const },
      },
    };
    const led = await found(ARCHIVE, away);
    assert.ok(
      led?.some((one) => /loopback: a link on this machine leads out of \/opt\/cni\/bin/.test(one)),
      String(led),
    );
    const full = { programs: { findmnt: () => ({ stdout: '17\n' }) } };
    assert.deepEqual(await found(ARCHIVE, full), [
      'DiskFull /opt/cni/bin: /media/cni.tgz needs 1 MiB, and 1 MiB are free',
    ]);
    assert.deepEqual(await found(ARCHIVE, { programs: { findmnt: () => ({ stdout: '18\n' }) } }), []);
  });

  test('is checked before any change: files that another part of the document manages', async () => {
    const document = `${offline}    - {path: /opt/cni/bin/sub/loopback, content: mine}\n`;
    assert.deepEqual(await found(ARCHIVE, {}, document), [
      'PathClaimedTwice /opt/cni/bin/sub/loopback is in an archive, and /opt/cni/bin/sub/loopback is managed by the step files (host)',
    ]);
    const twice = `${offline}    - {path: /opt/cni, contentFrom: {file: /media/cni.tgz}, unpack: {include: [bridge]}}\n    - {path: /opt/cni/bin, contentFrom: {file: /media/cni.tgz}, unpack: {include: [latest]}}\n`;
    assert.deepEqual(await found(ARCHIVE, {}, twice), [
      'PathClaimedTwice /opt/cni/bin/latest is in an archive, and /opt/cni/bin/latest is managed by another one',
    ]);
  });
});
