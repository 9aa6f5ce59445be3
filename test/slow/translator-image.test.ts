import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { VERSION } from '@machineadm/translator/version.ts';
import { TRANSLATOR_DIRECTORY, TRANSLATOR_PROGRAMS } from '../../scripts/translator/image.ts';
import { buildTranslator } from '../../scripts/translator.ts';
import { needs } from '../support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../..');

describe('the image of the translator', { skip: needs('root'), timeout: 600_000 }, () => {
  let directory = '';
  let root = '';
  let written: readonly string[] = [];
  let config: { readonly User: string; readonly Entrypoint: readonly string[] };

  before(
    async () => {
      directory = mkdtempSync(join(tmpdir(), 'machineadm-translator-image-'));
      root = join(directory, 'root');
      written = await buildTranslator(ROOT, join(directory, 'dist'), false);
      const archive = written.find((name) => name.endsWith('.tar')) ?? assert.fail('no image');
      const layout = join(directory, 'layout');
      execFileSync('mkdir', [layout, root]);
      execFileSync('tar', ['-xf', join(directory, 'dist', archive), '-C', layout]);
      const json = (path: string) => JSON.parse(readFileSync(join(layout, path), 'utf8'));
      const [{ Config, Layers }] = json('manifest.json');
      config = json(Config).config;
      execFileSync('tar', ['-xzf', join(layout, Layers[0]), '-C', root]);
    },
    { timeout: 300_000 },
  );
  after(() => rmSync(directory, { recursive: true, force: true }));

  /** Runs the entrypoint as its user, with nothing but the files of the image. */
  const run = (...args: readonly string[]) =>
    spawnSync('chroot', [`--userspec=${config.User}`, root, ...config.Entrypoint, ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    });

  test('starts the program with nothing but its own files, as a user that is not root', () => {
    assert.deepEqual(config.User, '65532:65532');
    const { status, stdout, stderr } = run('--version');
    assert.deepEqual([status, stdout, stderr], [0, `machineadm-translator ${VERSION}\n`, '']);
  });

  test('loads the client of Kubernetes, and says why it cannot run outside of a pod', () => {
    const { status, stdout } = run('--namespace=a', '--identity=b');
    assert.equal(status, 1);
    assert.match(stdout, /"message":"cannot run"/);
  });

  test('has a program for the service and one for a conversion, and neither holds the code of the other', () => {
    const at = join(root, TRANSLATOR_DIRECTORY);
    assert.deepEqual(readdirSync(at).sort(), [...TRANSLATOR_PROGRAMS].sort());
    const [service, conversions] = TRANSLATOR_PROGRAMS.map((name) => readFileSync(join(at, name), 'utf8'));
    const ofClient = 'KUBERNETES_SERVICE_HOST';
    const ofDocument: Reason = 'KubeletUnknownFlag';
    assert.deepEqual([service?.includes(ofClient), service?.includes(ofDocument)], [true, false]);
    assert.deepEqual([conversions?.includes(ofClient), conversions?.includes(ofDocument)], [false, true]);
    // A thread runs it: alone it serves nobody, and ends.
    const program = config.Entrypoint[0] ?? '';
    const alone = spawnSync('chroot', [root, program, `/${TRANSLATOR_DIRECTORY}/${TRANSLATOR_PROGRAMS[1]}`]);
    assert.deepEqual([alone.status, String(alone.stderr)], [0, '']);
  });

  test('comes with manifests, a chart, licences and a bill of materials', () => {
    assert.equal(written.length, 7);
    const bill = written.find((name) => name.endsWith('.cdx.json')) ?? assert.fail('no bill');
    const { metadata, components } = JSON.parse(readFileSync(join(directory, 'dist', bill), 'utf8'));
    assert.equal(metadata.component.name, 'machineadm-translator');
    const names = components.map(({ name }: { name: string }) => name);
    for (const name of ['node', '@kubernetes/client-node', 'prom-client', 'undici'])
      assert.ok(names.includes(name), name);
  });
});

const QEMU = 'qemu-aarch64-static';
const emulator = spawnSync('sh', ['-c', `command -v ${QEMU}`], { encoding: 'utf8' }).stdout.trim();
const noArm = needs('root', 'MACHINEADM_E2E=all', QEMU);

describe('the image of the translator for two architectures', { skip: noArm, timeout: 900_000 }, () => {
  test('starts the program on arm64, with nothing but its own files', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'machineadm-translator-arm64-'));
    try {
      const written = await buildTranslator(ROOT, directory, true);
      const archive = written.find((name) => name.endsWith('-image-linux.tar')) ?? assert.fail('no image');
      const [layout, root] = [join(directory, 'layout'), join(directory, 'root')];
      execFileSync('mkdir', [layout, root]);
      execFileSync('tar', ['-xf', join(directory, archive), '-C', layout]);
      const blob = (digest: string): string => join(layout, 'blobs', digest.replace(':', '/'));
      const json = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
      const { manifests } = json(blob(json(join(layout, 'index.json')).manifests[0].digest));
      const isArm = ({ platform }: { platform: { architecture: string } }) => platform.architecture === 'arm64';
      const { config, layers } = json(blob(manifests.find(isArm).digest));
      execFileSync('tar', ['-xzf', blob(layers[0].digest), '-C', root]);
      const { User, Entrypoint } = json(blob(config.digest)).config;
      cpSync(emulator, join(root, 'emulator'));
      const { status, stdout, stderr } = spawnSync(
        'chroot',
        [`--userspec=${User}`, root, '/emulator', ...Entrypoint, '--version'],
        { encoding: 'utf8', env: { PATH: process.env.PATH } },
      );
      assert.deepEqual([status, stdout, stderr], [0, `machineadm-translator ${VERSION}\n`, '']);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
