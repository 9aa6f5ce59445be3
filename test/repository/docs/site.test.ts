import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { brokenLinksIn, publishStable, versionsIn, versionsPage } from '../../../scripts/docs.ts';
import { anchorsOf, brokenLinksOf, headingsOf, pagesInSidebar, pagesOf, sidebarOf } from '../../../site/pages.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

const directories: string[] = [];
after(() => {
  for (const directory of directories) rmSync(directory, { recursive: true });
});

/** A directory with these files. */
function directoryOf(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-site-'));
  directories.push(directory);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return directory;
}

describe('the sidebar of the site', () => {
  test('has every page exactly once', () => {
    assert.deepEqual(pagesInSidebar(sidebarOf(ROOT)).toSorted(), pagesOf(ROOT));
  });

  test('is sorted by the kinds of documentation, none of them empty', () => {
    const titles = sidebarOf(ROOT).map(({ title }) => title);
    assert.deepEqual(titles, ['Tutorials', 'How-to guides', 'Reference', 'Explanation', 'Project', 'Development']);
  });

  test('takes the pages of a folder, the README first, without those named elsewhere', () => {
    const root = directoryOf({
      'docs/sidebar.yaml': 'A:\n  - docs/a/\n  - More: [docs/a/c.md]\nEmpty: [docs/none/]\n',
      'docs/a/c.md': '# C\n',
      'docs/a/b.md': '```\n# no heading\n```\n# `B` of [d](d.md)\n',
      'docs/a/deep/d.md': '# D\n',
      'docs/a/README.md': '# Read\n',
    });
    const page = (name: string, title: string) => ({ page: `docs/a/${name}`, title });
    const entries = [page('README.md', 'Read'), page('b.md', 'B of d'), page('deep/d.md', 'D')];
    assert.deepEqual(sidebarOf(root), [
      { title: 'A', entries: [...entries, { title: 'More', entries: [page('c.md', 'C')] }] },
    ]);
  });

  test('refuses a page that is not there, and one that is named twice', () => {
    assert.throws(() => sidebarOf(directoryOf({ 'docs/sidebar.yaml': 'A: [docs/a.md]\n' })), /no page docs\/a\.md/);
    const twice = { 'docs/sidebar.yaml': 'A: [docs/a.md]\nB: [docs/a.md]\n', 'docs/a.md': '# A\n' };
    assert.throws(() => sidebarOf(directoryOf(twice)), /docs\/a\.md is named twice/);
  });
});

describe('the links of the pages', () => {
  for (const page of pagesOf(ROOT)) {
    test(`${page}: lead to files and headings of this repository`, () => {
      assert.deepEqual(brokenLinksOf(ROOT, page), []);
    });
  }

  test('are reported where they lead nowhere', () => {
    const links = ['b.md', 'b.md#second--part', 'b.md#again-1', '#here', 'https://example.com/x', '../c.json'];
    const broken = ['none.md', 'b.md#no-such', '#nowhere', '../c.json#x', 'picture.svg'];
    const text = [...links, ...broken].map((link) => `[x](${link})`).join('\n');
    const root = directoryOf({
      'docs/a.md': `# Here\n\n${text}\n\n<img src="b.png">\n\n\`\`\`\n[x](code.md)\n\`\`\`\n`,
      'docs/b.md': '# Second & "part"\n\n## Again\n\n## `Again`\n',
      'c.json': '{}',
    });
    assert.deepEqual(brokenLinksOf(root, 'docs/a.md'), [...broken, 'b.png']);
  });

  test('have the anchors of GitHub', () => {
    const anchors = headingsOf('# A `b` c: d, e\n## Größe_1 (x-y) #\n## A b c d e\n').map(({ anchor }) => anchor);
    assert.deepEqual(anchors, ['a-b-c-d-e', 'größe_1-x-y', 'a-b-c-d-e-1']);
  });
});

describe('the built site', () => {
  test('is refused for a link to no page, no file and no element', () => {
    const good = '<a href="/docs/1.0.0/b.html#part">b</a><a href="b#part">b</a><img src="c.svg"><a href="#top">a</a>';
    const bad = '<a href="/b.html">b</a><a href="none.html">n</a><a class="x" href="b.html#no">n</a><img src="d.svg">';
    const output = directoryOf({
      '1.0.0/a.html': `<p id="top">${good}${bad}<a href="https://example.com/">x</a><script>'<a href="y">'</script>`,
      '1.0.0/b.html': '<p class="x" id="part">',
      '1.0.0/c.svg': '<svg/>',
    });
    assert.deepEqual(
      brokenLinksIn(output, '/docs/'),
      ['/b.html', 'none.html', 'b.html#no', 'd.svg'].map((link) => `1.0.0/a.html: ${link}`),
    );
  });

  test('has the schemas and the pages at addresses without a version, as schemas and editors name them', () => {
    const output = directoryOf({});
    publishStable(output, '9.8.7');
    const editor = JSON.parse(readFileSync(join(ROOT, 'contract/editor/v1alpha1.json'), 'utf8'));
    const published = (url: string): string => join(output, url.replace(/^https:\/\/machineadm\.dev\//, ''));
    assert.deepEqual(JSON.parse(readFileSync(published(editor.$id), 'utf8')), editor);
    const links = [...JSON.stringify(editor).matchAll(/https:\/\/machineadm\.dev\/[^)"]+/g)].map(([url]) => url);
    assert.ok(links.length > 500, `${links.length} links`);
    for (const link of new Set(links)) {
      const [address = '', anchor] = link.split('#');
      const text = readFileSync(published(address), 'utf8');
      if (!address.endsWith('.html')) continue;
      const [, page = ''] = /url=(?:\.\.\/)*9\.8\.7\/(docs\/[\w./-]+)\.html"/.exec(text) ?? [];
      const source = join(ROOT, `${page.replace(/(^|\/)index$/, '$1README')}.md`);
      assert.ok(anchor === undefined || anchorsOf(readFileSync(source, 'utf8')).has(anchor), link);
    }
    assert.match(readFileSync(join(output, 'index.html'), 'utf8'), /url=9\.8\.7\/index\.html"/, 'the first page');
    assert.match(
      readFileSync(join(output, 'docs/reference/reasons.html'), 'utf8'),
      /href="\.\.\/\.\.\/9\.8\.7\/docs\/reference\/reasons\.html"/,
    );
  });

  test('lists its versions, the newest first', () => {
    const output = directoryOf({ '0.9.0/a': '', '0.10.0/a': '', 'other/a': '', 'index.html': '' });
    assert.deepEqual(versionsIn(output), ['0.10.0', '0.9.0']);
    const links = Array.from(versionsPage(versionsIn(output)).matchAll(/<li><a href="([^"]*)"/g), ([, link]) => link);
    assert.deepEqual(links, ['0.10.0/index.html', '0.9.0/index.html']);
  });
});
