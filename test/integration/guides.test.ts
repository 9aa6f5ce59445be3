import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { MAIN } from '../support/agent.ts';
import { needs } from '../support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const NODE = `'${process.execPath}' --disable-warning=ExperimentalWarning`;

/** The commands of a page that contain a text. */
function commandsOf(page: string, text: string): string {
  const blocks = [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^ *```(?:sh|text)\n([\s\S]*?)^ *```$/gm)];
  const found = blocks.map(([, block = '']) => block).filter((block) => block.includes(text));
  assert.equal(found.length, 1, `${page} has one block with ${text}`);
  return found[0] ?? '';
}

/** The guides whose commands need a key, a medium and a second machine: all of these are directories here. */
describe('the commands of docs/how-to/air-gap.md', { skip: needs('openssl') }, () => {
  let directory = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-guides-'));
    writeFileSync(join(directory, 'machineadm'), `#!/bin/sh\nexec ${NODE} '${MAIN}' "$@"\n`);
    chmodSync(join(directory, 'machineadm'), 0o755);
    for (const name of ['usb', 'release', 'site']) mkdirSync(join(directory, name));
    // What docker and curl would bring.
    writeFileSync(join(directory, 'control-plane.tar.zst'), 'an archive of images\n');
    writeFileSync(join(directory, 'kube-flannel.yml'), 'kind: List\n');
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  /** Runs commands as the page has them, but for the places and the network. */
  const run = (commands: string): { readonly status: number | null; readonly output: string } => {
    const here = commands
      .replaceAll('/mnt/usb', `${directory}/usb`)
      .replaceAll(
        '--output-dir /opt/site',
        `--output-dir ${directory}/site --key publisher.pem --memory ${directory}/memory`,
      )
      .replaceAll('npm run release --', `${NODE} '${ROOT}/scripts/release.ts'`)
      .replace(/^curl .*$/m, '');
    const env = { ...process.env, PATH: `${directory}:${process.env.PATH}` };
    const { status, stdout } = spawnSync('sh', ['-euc', `exec 2>&1\n${here}`], {
      cwd: directory,
      env,
      encoding: 'utf8',
    });
    return { status, output: stdout };
  };

  test('make a key, sign the directory and carry it to the medium', () => {
    const made = run(commandsOf('docs/trust.md', 'openssl genpkey'));
    assert.equal(made.status, 0, made.output);
    const signed = run(commandsOf('docs/how-to/air-gap.md', '--place site/images'));
    assert.equal(signed.status, 0, signed.output);
    for (const file of ['SHA256SUMS', 'SHA256SUMS.signatures.json', 'directory.json', 'kube-flannel.yml'])
      assert.ok(existsSync(join(directory, 'usb/site/images', file)), file);
  });

  const fetching = () =>
    commandsOf('docs/how-to/air-gap.md', 'machineadm fetch images/')
      .split('\n')
      .find((line) => line.includes('machineadm fetch images/'))
      ?.replace(/^sudo /, '') ?? '';

  test('take it on a machine that trusts the key', () => {
    const fetched = run(fetching());
    assert.equal(fetched.status, 0, fetched.output);
    assert.match(fetched.output, /^fetched \S+\/site\/images\/control-plane\.tar\.zst {2}[0-9a-f]{64}$/m);
    assert.match(fetched.output, /^verified, from \S+\/usb\/site, signed by \S+=$/m);
    assert.equal(readFileSync(join(directory, 'site/images/kube-flannel.yml'), 'utf8'), 'kind: List\n');
  });

  test('refuse a file that was changed on the way, and a directory at another place', () => {
    rmSync(join(directory, 'site'), { recursive: true });
    mkdirSync(join(directory, 'site'));
    writeFileSync(join(directory, 'usb/site/images/kube-flannel.yml'), 'kind: Liar\n');
    const changed = run(fetching());
    assert.equal(changed.status, 21, changed.output);
    assert.match(changed.output, /\[DigestMismatch\]/);
    const moved = run(
      `mkdir other && cp -r usb/site/images other/images\n${fetching().replace('/usb/site', '/usb/../other')}`,
    );
    assert.equal(moved.status, 21, moved.output);
    assert.match(moved.output, /\[WrongPlace\]/);
  });
});
