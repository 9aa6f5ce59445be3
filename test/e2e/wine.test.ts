import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { agent } from '../support/agent.ts';
import { startServer } from '../support/http-servers.ts';
import { needs } from '../support/needs.ts';
import { flipped, newKey, type TestRelease, testRelease } from '../support/release.ts';
import { openWine, type Wine } from '../support/wine.ts';

const VERSION = '1.4.2';
const DOCUMENT = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: windows-1}
host:
  hostname: windows-1
`;

const opened = await openWine();
if ('unavailable' in opened) test('the binary for Windows, under Wine', { skip: needs(opened) }, () => {});
else underWine(opened);

function underWine(wine: Wine): void {
  describe('the binary for Windows, under Wine', { timeout: 600_000 }, () => {
    const scratch = mkdtempSync(join(tmpdir(), 'machineadm-wine-'));
    const key = newKey();
    let release: TestRelease;
    const lay = (directory: string, change: (name: string, bytes: Buffer) => Buffer = (_, bytes) => bytes): string[] =>
      [...release.files].map(([name, bytes]) => {
        const path = `${directory}\\${VERSION}\\${name}`;
        wine.write(path, change(name, bytes));
        return path;
      });

    before(async () => {
      release = await testRelease(scratch, VERSION, key);
      wine.write('C:\\site\\publisher.pem', key.pem);
      wine.write('C:\\site\\bootstrap.yaml', DOCUMENT);
    });
    after(() => {
      wine.close();
      rmSync(scratch, { recursive: true });
    });

    test('prints its version', async () => {
      const { status, stdout, stderr } = await wine.agent(['version']);
      assert.deepEqual([status, stderr], [0, '']);
      assert.match(
        stdout,
        /^machineadm \d+\.\d+\.\d+ \(commit wine, Node 24\.\d+\.\d+, reads machineadm\.dev\/v1alpha1\)\n$/,
      );
    });

    test('accepts a good document from a path of Windows and from standard input', async () => {
      const { status, stdout } = await wine.agent(['validate', '-d', 'C:\\site\\bootstrap.yaml', '-o', 'json']);
      assert.deepEqual([status, JSON.parse(stdout).valid], [0, true]);
      const piped = await wine.agent(['validate', '-d', '-'], { input: DOCUMENT });
      assert.equal(piped.status, 0, piped.stderr);
      assert.match(piped.stdout, /^valid: - /);
    });

    test('reports a mistake with its place and a remedy', async () => {
      wine.write('C:\\site\\wrong.yaml', DOCUMENT.replace('hostname:', 'hostnam:'));
      const { status, stdout } = await wine.agent(['validate', '-d', 'C:\\site\\wrong.yaml']);
      assert.equal(status, 3);
      assert.match(
        stdout,
        /^C:\\site\\wrong\.yaml:5:3 {2}host\.hostnam: unknown key \(hint: did you mean "hostname"\?\)\n/,
      );
    });

    for (const format of ['cloudbase-init', 'unattend', 'cloud-init', 'ignition']) {
      test(`wraps for ${format} what Linux wraps, byte for byte`, async () => {
        const to = `C:\\site\\${format}`;
        const onWindows = /^(?:cloudbase-init|unattend)$/.test(format);
        const document = onWindows ? `${DOCUMENT}  platform: Windows\n` : DOCUMENT;
        wine.write('C:\\site\\wrapped.yaml', document);
        const { status, stderr } = await wine.agent([
          ...['wrap', '-d', 'C:\\site\\wrapped.yaml', '--format', format, '--to', to],
        ]);
        assert.equal(status, 0, stderr);
        const linux = await agent(['wrap', '-d', '-', '--format', format], { input: document });
        assert.equal(linux.status, 0, linux.stderr);
        assert.ok(linux.stdout.length > 200);
        assert.equal(wine.read(to)?.toString(), linux.stdout);
      });
    }

    test('verifies a release, file by file', async () => {
      const paths = lay('C:\\good');
      const { status, stdout, stderr } = await wine.agent(['verify', '--key', 'C:\\site\\publisher.pem', ...paths]);
      assert.equal(status, 0, stderr);
      const verified = stdout.split('\n').filter((line) => line.startsWith('verified C:\\good\\'));
      assert.equal(verified.length, paths.length);
    });

    test('refuses a file with a flipped bit, and a list that an unknown key signed', async () => {
      const archive = `machineadm-${VERSION}-linux-amd64.gz`;
      lay('C:\\flipped', (name, bytes) => (name === archive ? flipped(bytes) : bytes));
      const words = ['verify', '--key', 'C:\\site\\publisher.pem'];
      const changed = await wine.agent([...words, `C:\\flipped\\${VERSION}\\${archive}`]);
      assert.deepEqual([changed.status, changed.stdout], [21, '']);
      assert.match(changed.stderr, /\[DigestMismatch\]/);
      wine.write('C:\\site\\stranger.pem', newKey().pem);
      const list = `C:\\flipped\\${VERSION}\\SHA256SUMS`;
      const foreign = await wine.agent(['verify', '--key', 'C:\\site\\stranger.pem', list]);
      assert.deepEqual([foreign.status, foreign.stdout], [21, '']);
      assert.match(foreign.stderr, /\[SignatureInvalid\]/);
    });

    test('fetches a release over http, and downloads nothing again the second time', async () => {
      await using server = await startServer(({ url = '' }) => {
        const body = release.files.get(url.slice(`/${VERSION}/`.length));
        return { status: body === undefined ? 404 : 200, body: body ?? '' };
      });
      const fetch = () =>
        wine.agent(
          [
            ...['fetch', '--release', VERSION, '--from', server.url, '--to', 'C:\\mirror'],
            ...['--key', 'C:\\site\\publisher.pem', '-o', 'json'],
          ],
          { sharesNetwork: true },
        );
      const changes: boolean[] = [];
      for (const _ of ['first', 'second']) {
        const { status, stdout, stderr } = await fetch();
        assert.equal(status, 0, stderr);
        const { files }: { files: { changed: boolean }[] } = JSON.parse(stdout);
        assert.equal(files.length, release.files.size);
        changes.push(files.some(({ changed }) => changed));
      }
      assert.deepEqual(changes, [true, false]);
      for (const [name, bytes] of release.files) {
        assert.deepEqual(wine.read(`C:\\mirror\\${VERSION}\\${name}`), bytes, name);
      }
    });
  });
}
