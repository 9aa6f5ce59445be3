import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { contentsOf, LIMITS, manifestOf, type Selection } from '@machineadm/archives/manifest.ts';
import { ArchiveRefusal } from '@machineadm/archives/member.ts';
import { joined, storedBytes } from '@machineadm/archives/stored-bytes.ts';
import { type TestMember, tarOf, zipOf } from '../../support/archives.ts';

const ALL: Selection = { exclude: [], stripComponents: 0 };

const manifest = async (members: readonly TestMember[], selection: Partial<Selection> = {}, limits = LIMITS) =>
  await manifestOf(storedBytes(tarOf(members)), { ...ALL, ...selection }, limits);

const paths = async (members: readonly TestMember[], selection: Partial<Selection> = {}) =>
  (await manifest(members, selection)).map(({ path }) => path);

const file = (name: string, content = name): TestMember => ({ name, content });

/** Asserts that an archive is refused, and why. */
async function refused(
  why: RegExp,
  members: readonly TestMember[],
  selection: Partial<Selection> = {},
  limits = LIMITS,
): Promise<void> {
  await assert.rejects(manifest(members, selection, limits), (error) => {
    assert.ok(error instanceof ArchiveRefusal, String(error));
    assert.match(error.message, why);
    return true;
  });
}

describe('what unpacking an archive makes', () => {
  const helm = [
    { name: 'linux-amd64', type: '5' },
    file('linux-amd64/helm'),
    file('linux-amd64/README.md'),
    file('linux-amd64/docs/a.md'),
    file('LICENSE'),
  ];

  test('is everything, directories first and links last, each by its path', async () => {
    const made = await manifest([
      { name: 'b-link', type: '2', target: './a' },
      file('./z'),
      file('a', 'content'),
      { name: './', type: '5' },
      { name: 'dir/', type: '5' },
    ]);
    assert.deepEqual(
      made.map(({ path, type }) => `${type} ${path}`),
      ['directory dir', 'file a', 'file z', 'symlink b-link'],
    );
    assert.deepEqual(made[1], {
      path: 'a',
      type: 'file',
      size: 7,
      mode: 0o755,
      sha256: 'ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73',
    });
  });

  test('has no leading directories that are stripped, and leaves out what has fewer', async () => {
    assert.deepEqual(await paths(helm, { stripComponents: 1 }), ['README.md', 'docs/a.md', 'helm']);
    assert.deepEqual(await paths(helm, { stripComponents: 2 }), ['a.md']);
  });

  test('is what is included and not excluded, by the path without what is stripped', async () => {
    assert.deepEqual(await paths(helm, { stripComponents: 1, include: ['helm'] }), ['helm']);
    assert.deepEqual(await paths(helm, { stripComponents: 1, exclude: ['*.md'] }), ['docs/a.md', 'helm']);
    assert.deepEqual(await paths(helm, { stripComponents: 1, exclude: ['**.md'] }), ['helm']);
    assert.deepEqual(await paths(helm, { include: ['linux-*/h*'] }), ['linux-amd64/helm']);
    assert.deepEqual(await paths(helm, { include: ['linux-amd64/**'], exclude: ['*/docs/*'] }), [
      'linux-amd64/README.md',
      'linux-amd64/helm',
    ]);
    assert.deepEqual(await paths([file('a+b'), file('aab')], { include: ['a+b'] }), ['a+b']);
  });

  test('is one member by its name in the archive, as the path itself', async () => {
    assert.deepEqual(await paths(helm, { member: './linux-amd64/helm' }), ['']);
    await refused(/has no member helm: it holds linux-amd64, linux-amd64\/helm, .*, LICENSE$/, helm, {
      member: 'helm',
    });
    await refused(/linux-amd64 is no file/, helm, { member: 'linux-amd64' });
    await refused(/l is no file/, [{ name: 'l', type: '2', target: 'x' }], { member: 'l' });
  });

  test('reports at most five of the names that exist instead', async () => {
    const files = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => file(name));
    await refused(/no member is called x: it holds a, b, c, d, e$/, files.slice(0, 5), { include: ['x'] });
    await refused(/no member is called x: it holds a, b, c, d, e, …$/, files, { include: ['x'] });
  });

  test('contains every entry that the document names', async () => {
    await refused(/no member is called tool: it holds/, helm, { include: ['LICENSE', 'tool'] });
    await refused(/linux-amd64 is a directory: linux-amd64\/\*\* is all that is in it/, helm, {
      include: ['linux-amd64'],
    });
    await refused(/it has no member that is selected: it holds/, helm, { stripComponents: 5 });
    await refused(/it has no member that is selected: it is empty/, []);
  });

  test('has modes as with a umask of 022, and one for files of archives without modes', async () => {
    const made = await manifestOf(
      storedBytes(
        tarOf([
          { name: 'a', mode: 0o777 },
          { name: 'b', mode: 0o640 },
          { name: 'c', mode: 0 },
        ]),
      ),
      ALL,
    );
    assert.deepEqual(
      made.map((entry) => entry.type === 'file' && entry.mode),
      [0o755, 0o640, 0],
    );
    const [windows] = await manifestOf(storedBytes(zipOf([{ name: 'a' }], { system: 0 })), ALL);
    assert.equal(windows?.type === 'file' && windows.mode, 0o644);
  });
});

describe('an archive is refused as a whole', () => {
  test('where a name leads out of the directory, taken or not', async () => {
    for (const name of ['../x', 'a/../../x', 'a/..', '..'])
      await refused(/leads out of the directory/, [file('ok'), file(name)]);
    await refused(/"\/etc\/passwd" is an absolute path/, [file('/etc/passwd')]);
    await refused(/leads out of the directory/, [file('ok'), file('../x')], { include: ['ok'] });
  });

  test('where a name is no name', async () => {
    await refused(/is not a valid name/, [file('a\nb')]);
    await refused(/is not a valid name/, [file('a\x1b[31m')]);
    await refused(/is not a valid name/, [file('a\uFFFD')]);
    const long = 'x'.repeat(256);
    await assert.rejects(
      manifestOf(storedBytes(zipOf([file(long)])), ALL),
      (error) => error instanceof ArchiveRefusal && /is too long/.test(error.message),
    );
    assert.equal((await manifestOf(storedBytes(zipOf([file(long.slice(1))])), ALL)).length, 1);
  });

  test('where a link leads out of the directory', async () => {
    const link = (name: string, target: string): TestMember => ({ name, type: '2', target });
    for (const [name, target] of [
      ['l', '/etc'],
      ['l', '..'],
      ['l', '../x'],
      ['a/l', '../../x'],
      ['a/l', 'b/../../../x'],
      ['l', 'a/../..'],
    ] as const) {
      await refused(/is a link to .*, out of the directory/, [link(name, target)]);
    }
    await refused(/is a link whose target is not a valid name/, [link('l', 'a\nb')]);
    await refused(/l is a link without a target/, [link('l', '')]);
    assert.deepEqual(await paths([link('a/l', '../x'), link('m', '.')]), ['a/l', 'm']);
  });

  test('where something would be written through a link or below a file', async () => {
    await refused(/d\/x is below d, which is a symlink/, [{ name: 'd', type: '2', target: 'e' }, file('d/x')]);
    await refused(/d\/e\/x is below d, which is a file/, [file('d/e/x'), file('d')]);
    await refused(/D\/x is below d, which is a directory/, [{ name: 'd', type: '5' }, file('D/x')]);
  });

  test('where two members may be one file', async () => {
    await refused(/b: another member is called b/, [file('b'), file('./b')]);
    await refused(/README: another member is called readme, which may be the same file/, [
      file('readme'),
      file('README'),
    ]);
    await refused(/another member is called/, [file('\u00e9'), file('e\u0301')]);
    await refused(/another member is called d/, [{ name: 'd', type: '5' }, file('d')]);
    await refused(/another member is called d/, [file('d'), { name: 'd', type: '5' }]);
    await refused(/another member is called a/, [file('x/a'), file('y/a')], { stripComponents: 1 });
    assert.deepEqual(await paths([{ name: 'd', type: '5' }, { name: 'd/', type: '5' }, file('d/x')]), ['d', 'd/x']);
  });

  test('where it holds what is no plain file, unless that is left out', async () => {
    for (const type of ['3', '4', '6']) await refused(/x is a device, a FIFO/, [{ name: 'x', type }]);
    await refused(/x is a hard link/, [file('a'), { name: 'x', type: '1', target: 'a' }]);
    assert.deepEqual(await paths([file('a'), { name: 'x', type: '3' }], { exclude: ['x'] }), ['a']);
  });

  test('where a file is setuid, setgid or sticky, unless the document gives the mode', async () => {
    for (const mode of [0o4755, 0o2755, 0o1755]) {
      await refused(/x has the mode [124]755, with a bit for setuid, setgid or sticky/, [{ name: 'x', mode }]);
      const [made] = await manifest([{ name: 'x', mode }], { ignoresModes: true });
      assert.equal(made?.type === 'file' && made.mode, 0o755);
    }
    assert.deepEqual(await paths([{ name: 'd', type: '5', mode: 0o2755 }]), ['d']);
  });

  test('where it is too large, however small it is compressed', async () => {
    const limits = { members: 3, entries: 2, bytes: 4000 };
    const four = ['a', 'b', 'c', 'd'].map((name) => file(name));
    await refused(/it has more than 3 members/, four, { include: ['a'] }, limits);
    await refused(/more than 2 members are taken of it/, four.slice(1), {}, limits);
    assert.equal((await manifest(four.slice(1), { exclude: ['b'] }, limits)).length, 2);
    // Two headers, the padded contents and a block of the end.
    const sized = (size: number) => [file('a', 'x'.repeat(1000)), file('b', 'x'.repeat(size))];
    await refused(/it has more than 4000 bytes when/, sized(1025), { include: ['a'] }, limits);
    assert.equal((await manifest(sized(1024), {}, limits)).length, 2);
    const bomb = gzipSync(tarOf([file('a', 'x'.repeat(100_000))]));
    assert.ok(bomb.length < 1000);
    await assert.rejects(manifestOf(storedBytes(bomb), ALL, limits), ArchiveRefusal);
  });
});

describe('the contents of an archive', () => {
  const members = [file('a', 'one'), { name: 'b', type: '5' }, file('b/c', 'two'), file('d', 'three')];

  test('are those that are wanted, in the order of the archive', async () => {
    const stored = storedBytes(tarOf(members));
    const made = await manifestOf(stored, ALL);
    const wanted = new Map(
      made.flatMap((entry) => (entry.type === 'file' && entry.path !== 'a' ? [[entry.path, entry]] : [])),
    );
    const found = [];
    for await (const { entry, content } of contentsOf(stored, ALL, wanted))
      found.push(`${entry.path} ${await joined(content)}`);
    assert.deepEqual(found, ['b/c two', 'd three']);
  });

  test('are refused where they are not what the manifest says', async () => {
    const made = await manifestOf(storedBytes(tarOf(members)), ALL);
    const wanted = new Map(made.flatMap((entry) => (entry.type === 'file' ? [[entry.path, entry]] : [])));
    for (const other of ['eno', 'on', 'longer']) {
      const stored = storedBytes(tarOf([file('a', other)]));
      await assert.rejects(async () => {
        for await (const { content } of contentsOf(stored, ALL, wanted)) await joined(content);
      }, /the archive changed while it was read/);
    }
  });
});
