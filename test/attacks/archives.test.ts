import assert from 'node:assert/strict';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { membersOf } from '@machineadm/archives/archive.ts';
import { LIMITS, manifestOf } from '@machineadm/archives/manifest.ts';
import { ArchiveRefusal } from '@machineadm/archives/member.ts';
import { storedBytes } from '@machineadm/archives/stored-bytes.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { type TestMember, tarOf, zipOf } from '../support/archives.ts';
import { ATTACK_TRIES, attack } from '../support/attacks.ts';

const ALL = { exclude: [], stripComponents: 0 };
const MIB = 1024 ** 2;
const KIND = 'Archives';

/** Compressed on the way, so that the whole is never in memory: `count` times the same text. */
function repeated(text: Buffer, count: number): Buffer {
  const frame = zstdCompressSync(text);
  return Buffer.concat(Array<Buffer>(count).fill(frame));
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => assert.fail('the archive was accepted'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ArchiveRefusal || error instanceof RangeError, String(error));
  return error.message;
}

/** A member without the blocks that end an archive. */
function record(...members: readonly TestMember[]): Buffer {
  return tarOf(members).subarray(0, -1024);
}

const padded = (text: string): string => `${text.length + 4} a=${text}`.slice(0, text.length);

describe('a small archive that takes long to read', () => {
  test(
    'of extended headers, which are no members and have no content',
    attack(KIND, 'a small archive of gigabytes of pax records', async () => {
      const records = `${MIB / 2} comment=${'x'.repeat(MIB / 2 - 16)}\n`;
      const archive = repeated(record({ name: 'x', type: 'x', content: records }), 2048);
      assert.ok(archive.length < 4 * MIB);
      assert.match(await refusal(manifestOf(storedBytes(archive), ALL)), /extended headers are too large together/);
    }),
  );

  test(
    'of a global header that is longer than the limit of the contents',
    attack(KIND, 'gigabytes in a global header', async () => {
      const header = record({ name: 'g', type: 'g', content: 'x' });
      header.write('77777777777\0', 124);
      header.write('        ', 148);
      const sum = header.subarray(0, 512).reduce((total, byte) => total + byte, 0);
      header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
      const archive = Buffer.concat([zstdCompressSync(header), repeated(Buffer.alloc(16 * MIB), 4)]);
      assert.match(await refusal(manifestOf(storedBytes(archive), ALL)), /an extended header is too large/);
    }),
  );

  test(
    'of contents and of members that nothing selects',
    attack(KIND, 'gigabytes in members that are not selected', async () => {
      const limits = { ...LIMITS, bytes: 16 * MIB };
      const files = record({ name: 'a', content: Buffer.alloc(4 * MIB) });
      const archive = Buffer.concat([zstdCompressSync(record({ name: 'wanted' })), repeated(files, 8)]);
      const selection = { ...ALL, include: ['wanted'] };
      assert.match(await refusal(manifestOf(storedBytes(archive), selection, limits)), /more than 16777216 bytes/);
      const links = repeated(record(...Array<TestMember>(64).fill({ name: 'l', type: '2', target: 'x' })), 640);
      assert.match(await refusal(manifestOf(storedBytes(links), selection, limits)), /more than 16777216 bytes/);
    }),
  );

  test(
    'ends when the run does',
    attack(KIND, 'an archive that is read on after the timeout of the run', async () => {
      const files = record({ name: 'a', content: Buffer.alloc(16 * MIB) });
      const zip = zipOf([{ name: 'a', content: Buffer.alloc(32 * MIB) }]);
      for (const archive of [repeated(files, 256), zip]) {
        const stop = new AbortController();
        const reason = new MachineadmError({ reason: 'DeadlinePassed', summary: 'late', remedy: 'none' });
        setTimeout(() => stop.abort(reason), 5);
        const selection = { ...ALL, exclude: archive === zip ? [] : ['a'] };
        await assert.rejects(
          manifestOf(storedBytes(archive), selection, { ...LIMITS, signal: stop.signal }),
          (error) => error === reason,
        );
      }
    }),
  );

  test(
    'of directories in directories, and of patterns that fit in many ways',
    attack(KIND, 'deeply nested directories, or names that fit a pattern in many ways', async () => {
      const deep = (length: number) =>
        storedBytes(
          zipOf(Array.from({ length }, (_, depth) => ({ name: 'a/'.repeat(depth + 1).slice(0, -1), type: '5' }))),
        );
      const started = process.cpuUsage().user;
      assert.equal((await manifestOf(deep(100), ALL)).length, 100);
      assert.match(await refusal(manifestOf(deep(1000), ALL)), /is below more than 99 directories/);
      const selection = { ...ALL, exclude: [`${'*a'.repeat(20)}*b`, `${'**a'.repeat(20)}b`] };
      const names = Array.from({ length: 50 }, (_, index) => ({ name: `${'a'.repeat(200)}${index}` }));
      assert.equal((await manifestOf(storedBytes(zipOf(names)), selection)).length, 50);
      const spentMs = (process.cpuUsage().user - started) / 1000;
      assert.ok(spentMs < 2000, `${spentMs} ms of processor time`);
    }),
  );
});

describe('links of an archive', () => {
  const link = (name: string, target: string): TestMember => ({ name, type: '2', target });
  const leading: readonly (readonly TestMember[])[] = [
    [link('a/b', '..'), link('out', 'a/b/../..')],
    [link('out', 'a/b/../..'), link('a/b', '..')],
    [link('a/b/c/d', '../../..'), link('x', 'a/b/c/d/../x')],
    [link('a/one', '..'), link('b/two', '../a/one'), link('out', 'b/two/../etc/passwd')],
    [link('A/b', '..'), link('out', 'a/B/../..')],
    [link('l', './/a/./../..')],
  ];
  const staying: readonly (readonly TestMember[])[] = [
    [link('a/b', '..'), link('in', 'a/b/a/../x')],
    [link('a/b/c', '../../x'), link('loop', 'loop/../loop')],
    [link('current', 'v1'), link('bin/tool', '../current/bin/../tool')],
  ];

  test(
    'are refused where they lead out through each other, in any order, and accepted where they do not',
    attack(KIND, 'links that lead out of the directory together', async () => {
      for (const members of leading)
        assert.match(await refusal(manifestOf(storedBytes(tarOf(members)), ALL)), /out of the directory$/);
      for (const members of staying) await manifestOf(storedBytes(tarOf(members)), ALL);
      return leading.length + staying.length;
    }),
  );

  test(
    'never lead out on a machine, whatever they are',
    attack(KIND, 'random links, unpacked and followed by the kernel', async () => {
      using tree = new Tree();
      let accepted = 0;
      for (let trial = 0; trial < ATTACK_TRIES; trial += 1) {
        const members = randomLinks(trial);
        const made = await manifestOf(storedBytes(tarOf(members)), ALL).catch((error: unknown) => {
          assert.ok(error instanceof ArchiveRefusal, String(error));
          return undefined;
        });
        if (made === undefined) continue;
        accepted += 1;
        for (const entry of made) if (entry.type === 'symlink') tree.link(entry.path, entry.target);
        for (const entry of made) {
          assert.ok(!tree.leadsOut(entry.path), `${entry.path} leads out: ${JSON.stringify(members)}`);
        }
        tree.clear();
      }
      assert.ok(accepted > ATTACK_TRIES / 20, `only ${accepted} archives were accepted`);
      return ATTACK_TRIES;
    }),
  );
});

test(
  'what an archive says of a file is kept: one that nobody may read stays so',
  attack(KIND, 'a file without rights that becomes readable', async () => {
    for (const archive of [tarOf([{ name: 'a', mode: 0 }]), zipOf([{ name: 'a', mode: 0 }])]) {
      const [file] = await manifestOf(storedBytes(archive), ALL);
      assert.equal(file?.type === 'file' && file.mode, 0);
    }
  }),
);

test('a name that hides another one is read as it is written', async () => {
  const names: string[] = [];
  const text = padded('11 path=b\n');
  const archive = gzipSync(tarOf([{ name: 'x', type: 'g', content: text }, { name: 'a' }]));
  for await (const { name } of membersOf(storedBytes(archive), LIMITS)) names.push(name);
  assert.deepEqual(names, ['a']);
});

/** A directory in a directory, so that one link leads from it to a place that is still ours. */
class Tree {
  readonly #top = join(tmpdir(), `machineadm-links-${process.pid}`);
  readonly #root = join(this.#top, 'up', 'root');

  constructor() {
    mkdirSync(this.#root, { recursive: true });
  }

  link(path: string, target: string): void {
    mkdirSync(join(this.#root, path, '..'), { recursive: true });
    symlinkSync(target, join(this.#root, path));
  }

  /** By a mark that only the directory itself has: a path through a link is resolved by the kernel alone. */
  leadsOut(path: string): boolean {
    const at = `${this.#root}/${path}`;
    if (!existsSync(at)) return false;
    const found = readlinkOfOpen(at);
    return found !== this.#root && !found.startsWith(`${this.#root}/`);
  }

  clear(): void {
    for (const name of readdirSync(this.#root)) rmSync(join(this.#root, name), { recursive: true });
  }

  [Symbol.dispose](): void {
    rmSync(this.#top, { recursive: true });
  }
}

/** Where the kernel is after it followed all links. */
function readlinkOfOpen(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY);
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } finally {
    closeSync(descriptor);
  }
}

/** Links and directories with few names, so that they meet each other. */
function randomLinks(seed: number): readonly TestMember[] {
  let state = seed + 1;
  const pick = <Item>(items: readonly Item[]): Item => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return items[(state >>> 16) % items.length] as Item;
  };
  const path = (parts: readonly string[], most: number): string =>
    Array.from({ length: 1 + pick([0, 1, 2, 3].slice(0, most)) }, () => pick(parts)).join('/');
  const count = pick([2, 3, 4]);
  const names = new Set(Array.from({ length: count }, () => path(['a', 'b', 'c'], 3)));
  return [...names].map((name) => ({ name, type: '2', target: path(['a', 'b', 'c', '..', '.'], 4) }));
}
