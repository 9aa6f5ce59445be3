import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { PALETTES, terminalSvg } from '../../scripts/gallery/terminal-svg.ts';
import { capture, galleryPage, prepareScenes, SCENES, WIDTHS } from '../../scripts/gallery.ts';
import { needs } from '../support/needs.ts';

const DOCS = resolve(import.meta.dirname, '../../docs');

describe('the gallery', () => {
  test('has every picture that its page shows, and the page is that of its scenes', () => {
    const page = readFileSync(join(DOCS, 'gallery.md'), 'utf8');
    assert.equal(page, galleryPage(), 'npm run gallery');
    const files = [...page.matchAll(/(?:src|srcset)="([^"]+)"/g)].map(([, file = '']) => file);
    assert.equal(files.length, Object.keys(SCENES).length * WIDTHS.length * 2);
    for (const file of files) assert.ok(existsSync(join(DOCS, file)), file);
  });

  describe('can be made', { skip: needs('tmux', 'root', 'namespaces') }, () => {
    let directory = '';
    before(() => {
      directory = prepareScenes();
    });
    after(() => rmSync(directory, { recursive: true, force: true }));

    for (const [name, scene] of Object.entries(SCENES)) {
      test(`${name}: the command prints what fits the terminal`, { timeout: 300_000 }, async () => {
        const columns = 80;
        const { text, styled, wrapped } = await capture(scene, columns, directory);
        assert.ok(text.split('\n').length > 4, text);
        assert.doesNotMatch(text, /: not found|internal error, please|mount:/, text);
        // A word that cannot be broken, such as a digest, is a line of its own.
        assert.deepEqual(
          wrapped.filter(
            (line) =>
              line
                .trim()
                .split(' ')
                .filter((word) => word.length > 4).length > 1,
          ),
          [],
        );
        const svg = terminalSvg(styled, columns, PALETTES.dark, scene.title);
        assert.ok(!svg.includes('\u001b'));
        assert.equal(svg.match(/<text /g)?.length, svg.match(/<\/text>/g)?.length);
      });
    }
  });
});

describe('a picture of a screen', () => {
  const svg = terminalSvg('a\u001b[31mred\u001b[0m <b>&\n\u001b[1;4mbold\u001b[0m', 20, PALETTES.light, 'x "y"');

  test('has the colours and places of its text', () => {
    assert.match(svg, /<tspan x="20\.4" textLength="25\.2" fill="#a3111c">red<\/tspan>/);
    assert.match(svg, /font-weight="bold" text-decoration="underline">bold</);
  });
  test('has escaped text', () => assert.match(svg, /> &#60;b&#62;&#38;<\/tspan>/));
});
