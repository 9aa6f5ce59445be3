import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { agent } from '../../support/agent.ts';
import { tarOf, zipOf } from '../../support/archives.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';

const DOCUMENT = '/srv/bootstrap.yaml';
const PLUGINS = zstdCompressSync(
  tarOf([
    { name: './bridge', content: 'b'.repeat(3_000_000) },
    { name: './deep/er/loopback', content: 'loopback' },
    { name: './latest', type: '2', target: 'deep/er/loopback' },
  ]),
);
const TOOLS = zipOf([{ name: 'linux-amd64/tool', content: 'the tool' }]);

/** Runs a command of machineadm with these entries of host.files. */
async function run(command: readonly string[], ...entries: readonly string[]) {
  const files = entries.length === 0 ? 'host: {}' : `host:\n  files:\n${entries.join('\n')}`;
  const head = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: node-1}\n';
  writeFileSync(DOCUMENT, `${head}${files}\n`);
  const done = await agent([...command, '-d', DOCUMENT, '-o', 'json']);
  return { ...done, answer: JSON.parse(done.stdout) };
}

inThrowAwayMachine(import.meta.filename, () => {
  test('archives are unpacked, repaired, and removed; one that is damaged refuses the run', async (t) => {
    mkdirSync('/srv/cni', { recursive: true });
    writeFileSync('/srv/cni/bridge', 'theirs', { mode: 0o600 });
    writeFileSync('/srv/tools.zip', TOOLS);
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end(PLUGINS);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/cni.tar.zst`;
    const sha256 = createHash('sha256').update(PLUGINS).digest('hex');
    const plugins = `    - {path: /srv/cni, contentFrom: {http: {url: "${url}", sha256: ${sha256}, allowInsecure: true}}, unpack: {}}`;
    const tool =
      '    - {path: /srv/bin/tool, mode: "0711", contentFrom: {file: /srv/tools.zip}, unpack: {member: linux-amd64/tool}}';

    const first = await run(['provision'], plugins, tool);
    assert.equal(first.status, 0, first.stderr);
    assert.equal(readFileSync('/srv/cni/bridge', 'latin1'), 'b'.repeat(3_000_000));
    assert.equal(readFileSync('/srv/cni/latest', 'utf8'), 'loopback');
    assert.equal(readFileSync('/srv/bin/tool', 'utf8'), 'the tool');
    assert.equal(lstatSync('/srv/bin/tool').mode & 0o7777, 0o711);
    assert.ok(!existsSync('/var/lib/machineadm/archives'));

    const again = await run(['plan'], plugins, tool);
    assert.deepEqual([again.status, again.answer.changes], [0, []], again.stderr);
    chmodSync('/srv/cni/deep/er/loopback', 0o666);
    writeFileSync('/srv/bin/tool', 'another');
    const drift = await run(['plan', '--exit-code'], plugins, tool);
    assert.equal(drift.status, 20);
    assert.deepEqual(
      drift.answer.changes.map(({ summary }: { readonly summary: string }) => summary),
      [
        `/srv/cni: unpack deep/er/loopback (mode 0666 -> 0755) from ${url}`,
        '/srv/bin/tool: unpack tool (content) from /srv/tools.zip',
      ],
    );
    assert.equal((await run(['provision'], plugins, tool)).status, 0);
    assert.equal(lstatSync('/srv/cni/deep/er/loopback').mode & 0o7777, 0o755);
    assert.equal(readFileSync('/srv/bin/tool', 'utf8'), 'the tool');
    assert.equal(asked.length, 1, 'what is downloaded is downloaded once');

    writeFileSync('/srv/tools.zip', TOOLS.subarray(0, 60));
    const damaged = await run(['provision'], plugins, tool);
    assert.equal(damaged.status, 4, damaged.stderr);
    assert.match(damaged.stdout, /ArchiveUnreadable/);
    writeFileSync('/srv/tools.zip', TOOLS);

    const dropped = await run(['provision'], plugins);
    assert.equal(dropped.status, 0, dropped.stderr);
    assert.deepEqual(readdirSync('/srv/cni').sort(), ['bridge', 'deep', 'latest']);
    assert.ok(!existsSync('/srv/bin'));

    const reset = await agent(['reset', '--yes']);
    assert.equal(reset.status, 0, reset.stderr);
    assert.deepEqual(readdirSync('/srv/cni'), ['bridge']);
    assert.equal(readFileSync('/srv/cni/bridge', 'utf8'), 'theirs');
    assert.equal(lstatSync('/srv/cni/bridge').mode & 0o7777, 0o600);
  });

  test('an archive of nothing but zeros ends with the timeout of the run, and leaves nothing', async () => {
    const member = tarOf([{ name: 'a', content: Buffer.alloc(16 * 1024 ** 2) }]).subarray(0, -1024);
    writeFileSync('/srv/bomb.tar.zst', Buffer.concat(Array<Buffer>(200).fill(zstdCompressSync(member))));
    const entry = '    - {path: /srv/bomb, contentFrom: {file: /srv/bomb.tar.zst}, unpack: {exclude: [a]}}';
    const bomb = await run(['provision', '--timeout', '1s'], entry);
    assert.equal(bomb.status, 13, bomb.stdout);
    assert.equal(bomb.answer.failure.reason, 'DeadlinePassed');
    assert.ok(!existsSync('/srv/bomb'));
  });

  test('a link of one archive leads out of the directory of another: refused, and nothing is written', async () => {
    writeFileSync('/srv/one.zip', zipOf([{ name: 'sub/up', type: '2', target: '..' }]));
    writeFileSync('/srv/two.zip', zipOf([{ name: 'out', type: '2', target: 'up/x' }]));
    const one = '    - {path: /srv/d, contentFrom: {file: /srv/one.zip}, unpack: {}}';
    const two = '    - {path: /srv/d/sub, contentFrom: {file: /srv/two.zip}, unpack: {}}';
    assert.equal((await run(['provision'], one)).status, 0);
    const refused = await run(['provision'], one, two);
    assert.equal(refused.status, 4, refused.stdout);
    assert.match(refused.stderr, /a link on this machine turns this link.*FileNotWritten/s);
    assert.ok(!existsSync('/srv/d/sub/out'));
  });

  test('a hundred directories in each other are unpacked and removed', async () => {
    const deep = Array.from({ length: 100 }, (_, depth) => ({ name: 'a/'.repeat(depth + 1).slice(0, -1), type: '5' }));
    writeFileSync('/srv/deep.zip', zipOf(deep));
    const entry = '    - {path: /srv/deep, contentFrom: {file: /srv/deep.zip}, unpack: {}}';
    const unpacked = await run(['provision'], entry);
    assert.equal(unpacked.status, 0, unpacked.stderr);
    assert.ok(existsSync(`/srv/deep/${'a/'.repeat(100)}`));
    const reset = await agent(['reset', '--yes']);
    assert.equal(reset.status, 0, reset.stderr);
    assert.ok(!existsSync('/srv/deep'));
  });
});
