import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { copyPath, secondName, sha256Of } from '../../../src/prior-state/copies.ts';
import type { Marks, PriorState } from '../../../src/step/recorded-state.ts';
import { restoreModeAndOwner, restorePath } from '../../../src/undo/restore-path.ts';
import { type MemoryMachine, memoryHost } from '../../support/memory-host.ts';

const PATH = '/etc/app.conf';
const fingerprint = (sha256: string): string => sha256.slice(0, 32);
const printOf = (content: string): string => fingerprint(sha256Of(content));
/** What a file is, as the journal has it, and the mark of a change that made it so. */
const fileOf = (content: string, mode = 0o644, uid = 0, kept = true) =>
  ({ is: 'file', mode, uid, gid: uid, fingerprint: printOf(content), kept }) as const;
const markOf = (content: string, mode = 0o644, uid = 0): string =>
  `${printOf(content)} ${mode.toString(8)} ${uid}:${uid}`;

const COPY = { [copyPath(printOf('before'))]: 'before' };
const OURS: Marks = [markOf('ours')];
const MOUNTED = { '/proc/self/mountinfo': `36 35 98:0 / ${PATH} rw - ext4 /dev/vdb rw\n` };

interface Case {
  readonly files?: NonNullable<MemoryMachine['files']>;
  readonly was: PriorState;
  readonly marks?: Marks;
  readonly original?: boolean;
  readonly gone?: readonly string[];
  /** What is said. */
  readonly says: readonly string[];
  /** What is done to the machine; absent: nothing. */
  readonly does?: readonly string[];
}

async function check({ files = {}, was, marks, original = false, gone = [], says, does = [] }: Case): Promise<void> {
  const host = memoryHost({ files, programs: { setfattr: () => ({}) } });
  const actions = await restorePath(host, { path: PATH, was, marks, original }, fingerprint, new Set(gone));
  assert.deepEqual(
    actions.map(({ summary }) => summary),
    says,
  );
  for (const action of actions) {
    assert.equal(action.resource, `path:${PATH}`);
    await action.perform?.(host, new AbortController().signal);
  }
  assert.deepEqual(host.log, does);
}

const REMOVE = [`remove ${PATH}`];
const RESTORE = [`restore ${PATH} as it was`];
const leave = (why: string): readonly string[] => [`leave ${PATH}: ${why}`];
const DIRECTORY = { type: 'directory' } as const;
const LINK = { type: 'symlink', content: '/opt/a' } as const;

describe('a path that was not there before', () => {
  for (const [what, one] of Object.entries<Omit<Case, 'was'>>({
    'and is not there now needs nothing': { says: [] },
    'goes where it is ours': { files: { [PATH]: 'ours' }, marks: OURS, says: REMOVE, does: [`remove ${PATH}`] },
    'goes where an earlier version did not record what it wrote': {
      files: { [PATH]: 'any' },
      marks: undefined,
      says: REMOVE,
      does: [`remove ${PATH}`],
    },
    'stays where somebody else changed it': {
      files: { [PATH]: 'theirs' },
      marks: OURS,
      says: leave('its content was changed since machineadm wrote it'),
    },
    'goes as an empty directory': { files: { [PATH]: DIRECTORY }, marks: [], says: REMOVE, does: [`rmdir ${PATH}`] },
    'goes as a directory in which only what goes is left, if that is gone by then': {
      files: { [`${PATH}/a`]: '' },
      marks: [],
      gone: [`${PATH}/a`],
      says: REMOVE,
    },
    'stays as a directory with files of others, three of which are named': {
      files: Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`${PATH}/${name}`, ''])),
      marks: [],
      says: [`remove ${PATH} unless it still holds what is not ours (now a, b, c, …)`],
    },
    'stays as a directory with three files of others, all of which are named': {
      files: Object.fromEntries(['a', 'b', 'c'].map((name) => [`${PATH}/${name}`, ''])),
      marks: [],
      says: [`remove ${PATH} unless it still holds what is not ours (now a, b, c)`],
    },
    'stays while something is mounted there': {
      files: { [PATH]: DIRECTORY, ...MOUNTED },
      marks: [],
      says: leave('something stays mounted there'),
    },
    'goes where what is mounted there goes first': {
      files: { [PATH]: DIRECTORY, ...MOUNTED },
      marks: [],
      gone: [`mount:${PATH}`],
      says: REMOVE,
      does: [`rmdir ${PATH}`],
    },
  }))
    test(what, async () => await check({ ...one, was: null }));

  test('is known to be gone to the directory above it, a file and an empty directory alike', async () => {
    const gone = new Set<string>();
    const host = memoryHost({ files: { [PATH]: 'ours', '/etc/empty': DIRECTORY, '/etc/full/x': '' } });
    for (const path of [PATH, '/etc/empty', '/etc/full'])
      await restorePath(host, { path, was: null, marks: undefined, original: false }, fingerprint, gone);
    assert.deepEqual([...gone], [PATH, '/etc/empty']);
  });

  test('is full as a directory with files of others', async () => {
    const host = memoryHost({ files: { [`${PATH}/a`]: '' } });
    const record = { path: PATH, was: null, marks: [], original: false };
    assert.equal((await restorePath(host, record, fingerprint, new Set()))[0]?.isFull, true);
    assert.equal((await restorePath(host, record, fingerprint, new Set([`${PATH}/a`])))[0]?.isFull, false);
  });
});

describe('a path that was a directory', () => {
  const was = { is: 'directory', mode: 0o750, uid: 5, gid: 6 } as const;
  for (const [what, one] of Object.entries<Omit<Case, 'was'>>({
    'and is as it was needs nothing': {
      files: { [PATH]: { ...DIRECTORY, mode: 0o750, uid: 5, gid: 6 } },
      marks: ['755 0:0'],
      says: [],
    },
    'gets its mode and its owner back where ours are there': {
      files: { [PATH]: DIRECTORY },
      marks: ['755 0:0'],
      says: RESTORE,
      does: [`mkdir ${PATH} 0750`, `chown ${PATH} 5:6`, `chmod ${PATH} 0750`],
    },
    'gets its mode alone back where the owner is the same': {
      files: { [PATH]: { ...DIRECTORY, mode: 0o700, uid: 5, gid: 6 } },
      marks: ['700 5:6'],
      says: RESTORE,
      does: [`mkdir ${PATH} 0750`, `chmod ${PATH} 0750`],
    },
    'stays where somebody else changed its mode': {
      files: { [PATH]: DIRECTORY },
      marks: ['700 0:0'],
      says: leave('it was changed since machineadm changed it'),
    },
    'is made again where we removed it': {
      marks: ['absent'],
      says: RESTORE,
      does: [`mkdir ${PATH} 0750`, `chown ${PATH} 5:6`, `chmod ${PATH} 0750`],
    },
    'is not made again where somebody else removed it': {
      marks: ['700 0:0'],
      says: leave('it was changed since machineadm changed it'),
    },
    'stays as the file that it is now': {
      files: { [PATH]: 'ours' },
      marks: OURS,
      says: leave('it was a directory, and is a file now'),
    },
  }))
    test(what, async () => await check({ ...one, was }));
});

describe('a path that was a link', () => {
  const was = { is: 'symlink', target: '/opt/a' } as const;
  const left = leave('it was a link to /opt/a, and was changed since');
  for (const [what, one] of Object.entries<Omit<Case, 'was'>>({
    'and leads to the same needs nothing': { files: { [PATH]: LINK }, marks: OURS, says: [] },
    'is a link again where our file is there': {
      files: { [PATH]: 'ours' },
      marks: OURS,
      says: RESTORE,
      does: [`link ${PATH} -> /opt/a`],
    },
    'leads there again where our link is there': {
      files: { [PATH]: { ...LINK, content: '/opt/ours' } },
      marks: ['link to /opt/ours'],
      says: RESTORE,
      does: [`link ${PATH} -> /opt/a`],
    },
    'stays what somebody else made of it': { files: { [PATH]: 'theirs' }, marks: OURS, says: left },
    'stays a directory': { files: { [PATH]: DIRECTORY }, marks: undefined, says: left },
  }))
    test(what, async () => await check({ ...one, was }));
});

describe('a path that was a file', () => {
  const was = fileOf('before', 0o640, 7);
  const written = [`write ${PATH} 0640 7:7`, `chmod ${PATH} 0640`];
  for (const [what, one] of Object.entries<Omit<Case, 'was'> & { readonly was?: PriorState }>({
    'and is as it was needs nothing': {
      files: { [PATH]: { content: 'before', mode: 0o640, uid: 7, gid: 7 } },
      marks: OURS,
      says: [],
    },
    'gets its content, its mode and its owner back': {
      files: { [PATH]: 'ours', ...COPY },
      marks: OURS,
      says: RESTORE,
      does: written,
    },
    'comes back where we removed it': { files: COPY, marks: ['absent'], says: RESTORE, does: written },
    'takes the place of our link, and is not written through it': {
      files: { [PATH]: { ...LINK, content: '/opt/ours' }, ...COPY },
      marks: ['link to /opt/ours'],
      says: RESTORE,
      does: [`remove ${PATH}`, ...written],
    },
    'gets its mode back where only that was changed, by us': {
      files: { [PATH]: { content: 'before', mode: 0o600, uid: 7, gid: 7 } },
      marks: [markOf('before', 0o600, 7)],
      says: [`restore mode and owner of ${PATH}`],
      does: [`chmod ${PATH} 0640`],
    },
    'keeps the mode that somebody else gave it': {
      files: { [PATH]: { content: 'before', mode: 0o600, uid: 7, gid: 7 } },
      marks: [markOf('before', 0o644, 7)],
      says: [
        `leave ${PATH}: its mode or owner was changed since machineadm changed it; what was there before is in ${copyPath(printOf('before'))}`,
      ],
    },
    'is what somebody else wrote, and the copy is named': {
      files: { [PATH]: 'theirs', ...COPY },
      marks: OURS,
      says: [
        `leave ${PATH}: its content was changed since machineadm wrote it; what was there before is in ${copyPath(printOf('before'))}`,
      ],
    },
    'is not made again where somebody else removed it': {
      was: fileOf('before', 0o640, 7, false),
      marks: OURS,
      says: leave('it was removed since machineadm wrote it'),
    },
    'and is a directory now stays one': {
      was: fileOf('before', 0o640, 7, false),
      files: { [PATH]: DIRECTORY },
      marks: undefined,
      says: leave('it was a file, and is a directory now'),
    },
    'and was too large for a copy stays ours': {
      was: fileOf('before', 0o640, 7, false),
      files: { [PATH]: 'ours' },
      marks: OURS,
      says: leave('what was there before was too large for a copy'),
    },
    'and was too large for a copy comes back from its second name': {
      was: fileOf('before', 0o640, 7, false),
      files: { [PATH]: 'ours', [secondName(PATH)]: { content: 'before', mode: 0o640, uid: 7, gid: 7 } },
      marks: OURS,
      says: RESTORE,
    },
    'is not taken from a second name to which somebody has written since': {
      files: { [PATH]: 'ours', ...COPY, [secondName(PATH)]: { content: 'since', mode: 0o640, uid: 7, gid: 7 } },
      marks: OURS,
      says: RESTORE,
      does: written,
    },
    'is not taken from a second name whose mode was changed since': {
      files: { [PATH]: 'ours', ...COPY, [secondName(PATH)]: { content: 'before', mode: 0o600, uid: 7, gid: 7 } },
      marks: OURS,
      says: RESTORE,
      does: written,
    },
    'has its extended attributes again': {
      was: { ...was, extended: { 'security.capability': '0x01' } },
      files: { [PATH]: 'ours', ...COPY },
      marks: OURS,
      says: RESTORE,
      does: [...written, `run setfattr --no-dereference --name=security.capability --value=0x01 -- ${PATH}`],
    },
    'whose copy is lost stays as it is': { files: { [PATH]: 'ours' }, marks: OURS, says: RESTORE },
  }))
    test(what, async () => await check({ was, ...one }));

  test('names the copy that is kept of a file that stays changed', async () => {
    const host = memoryHost({ files: { [PATH]: 'theirs' } });
    const [action] = await restorePath(host, { path: PATH, was, marks: OURS, original: false }, fingerprint, new Set());
    assert.equal(action?.keeps, printOf('before'));
    assert.equal(action.perform, undefined);
  });

  test('is the same file as before where its second name is there', async () => {
    const host = memoryHost({
      files: { [PATH]: 'ours', [secondName(PATH)]: { content: 'before', mode: 0o640, uid: 7, gid: 7 } },
    });
    const [action] = await restorePath(host, { path: PATH, was, marks: OURS, original: false }, fingerprint, new Set());
    await action?.perform?.(host, new AbortController().signal);
    assert.equal(host.text(PATH), 'before');
  });
});

describe('a path of which an earlier version kept a copy beside it', () => {
  const was = { is: 'unknown' } as const;
  for (const [what, one] of Object.entries<Omit<Case, 'was'>>({
    'comes back with the mode of the copy': {
      files: { [PATH]: 'ours', [`${PATH}.machineadm-orig`]: { content: 'before', mode: 0o600, uid: 7, gid: 8 } },
      original: true,
      says: RESTORE,
      does: [`write ${PATH} 0600 7:8`],
    },
    'stays where there is no such copy': {
      files: { [PATH]: 'ours' },
      says: leave('it was there before, and how it was is not on record'),
    },
    'needs nothing where neither is there': { says: [] },
  }))
    test(what, async () => await check({ ...one, was }));
});

describe('the mode and the owner of a path', () => {
  const was = { is: 'attributes', mode: 0o755, uid: 0, gid: 0 } as const;
  for (const [what, file, marks, says, does] of [
    ['of a path that is gone need nothing', undefined, ['700 0:0'], [], []],
    ['that are as they were need nothing', { mode: 0o755 }, ['700 0:0'], [], []],
    [
      'come back where ours are there',
      { mode: 0o700, gid: 4 },
      ['700 0:4'],
      [`restore mode and owner of ${PATH}`],
      [`chown ${PATH} 0:0`, `chmod ${PATH} 0755`],
    ],
    [
      'stay where somebody else changed them',
      { mode: 0o711 },
      ['700 0:0'],
      [`leave ${PATH}: its mode or owner was changed since machineadm changed it`],
      [],
    ],
  ] as const) {
    test(what, async () => {
      const host = memoryHost({ files: file === undefined ? {} : { [PATH]: { content: 'x', ...file } } });
      const actions = await restoreModeAndOwner(host, PATH, was, marks);
      assert.deepEqual(
        actions.map(({ summary }) => summary),
        says,
      );
      for (const action of actions) await action.perform?.(host, new AbortController().signal);
      assert.deepEqual(host.log, does);
    });
  }
});
