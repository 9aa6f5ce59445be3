import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { pictures } from '../../../scripts/pictures.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
/** Wider pictures are too small to read on a page of 760 pixels, the text column of GitHub and of the site. */
const MOST_PIXELS = 760;

describe('the pictures of the documentation', () => {
  let drawn: ReadonlyMap<string, string> = new Map();
  before(async () => {
    drawn = await pictures(ROOT);
  });

  test('are those that their sources describe: npm run pictures', () => {
    assert.ok(drawn.size >= 6);
    for (const [path, content] of drawn) assert.ok(readFileSync(join(ROOT, path), 'utf8') === content, path);
    assert.deepEqual([...drawn.keys()], globSync('docs/pictures/*.svg', { cwd: ROOT }).sort());
  });

  test('have a title and a description, and colours for dark pages', () => {
    for (const [path, content] of drawn) {
      assert.match(
        content,
        /role="img"[\s\S]*<title id="[^"]+">[^<]{10,}<\/title>\n<desc id="[^"]+">[^<]{80,}<\/desc>/,
        path,
      );
      assert.match(content, /prefers-color-scheme: dark/, path);
      // Every colour is the style's, so that it has a counterpart for dark pages.
      assert.doesNotMatch(content, / (?:fill|stroke)="/, path);
    }
  });

  test('fit into the text column', () => {
    const wide = [...drawn].filter(([, content]) => Number(/ width="(\d+)"/.exec(content)?.[1]) > MOST_PIXELS);
    assert.deepEqual(
      wide.map(([path]) => path),
      [],
    );
  });

  test('are each on a page, with a text for those who cannot see them', () => {
    const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })].map((page) =>
      readFileSync(join(ROOT, page), 'utf8'),
    );
    for (const path of drawn.keys()) {
      const name = path.slice('docs/pictures/'.length);
      assert.ok(
        pages.some((page) => new RegExp(`!\\[[^\\]]{10,}\\]\\([^)]*pictures/${name}\\)`).test(page)),
        `no page shows ${name}`,
      );
    }
  });
});
