/**
 * Draws the pictures of the documentation from their sources, `docs/pictures/*.dot`: `npm run pictures`.
 * `test/repository/docs/pictures.test.ts` fails if one of them is out of date.
 *
 * A source begins with two comments, `// title:` and `// description:`, for screen readers. It has no colours: nodes and
 * edges have classes, and the style below defines their colours for light and dark pages. Graphviz is compiled to
 * WebAssembly, so that the layout is the same on every machine.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { Graphviz } from '@hpcc-js/wasm-graphviz';
import { readOptions } from './options.ts';

const FOLDER = 'docs/pictures';

/**
 * Default attributes of every source. Graphviz has built-in metrics for Helvetica. The font size of the layout is larger
 * than that of the style, because the browser may substitute a wider font.
 */
const DEFAULTS = `
  graph [fontname="Helvetica", fontsize=15, bgcolor="transparent", pad=0.2, nodesep=0.3, ranksep=0.4]
  node [fontname="Helvetica", fontsize=15, shape=box, margin="0.12,0.08", height=0.4]
  edge [fontname="Helvetica", fontsize=13, arrowsize=0.7]
`;

/** Contrast of text and background is at least 4.5 in both schemes (WCAG 2.2, 1.4.3). */
const STYLE = `
  .page { fill: #ffffff; stroke: none }
  text { font: 13px Helvetica, Arial, sans-serif; fill: #1c2128 }
  .node polygon, .node path, .node ellipse { fill: #f6f8fa; stroke: #59636e }
  .edge path { stroke: #59636e; fill: none }
  .edge polygon { stroke: #59636e; fill: #59636e }
  .edge text { font-size: 11px; fill: #424a53 }
  .cluster polygon, .cluster path { fill: none; stroke: #8c959f; stroke-dasharray: 4 3 }
  .ours polygon, .ours path { fill: #ddf4ff; stroke: #0969da }
  .good polygon, .good path { fill: #dafbe1; stroke: #1a7f37 }
  .bad polygon, .bad path { fill: #ffebe9; stroke: #cf222e }
  .question polygon, .question path { fill: #fff8c5; stroke: #9a6700 }
  .plain polygon, .plain path { fill: none; stroke: none }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 }
    text { fill: #e6edf3 }
    .node polygon, .node path, .node ellipse { fill: #21262d; stroke: #8b949e }
    .edge path { stroke: #8b949e }
    .edge polygon { stroke: #8b949e; fill: #8b949e }
    .edge text { fill: #b1bac4 }
    .cluster polygon, .cluster path { stroke: #6e7681 }
    .ours polygon, .ours path { fill: #0c2d6b; stroke: #58a6ff }
    .good polygon, .good path { fill: #033a16; stroke: #3fb950 }
    .bad polygon, .bad path { fill: #67060c; stroke: #ff7b72 }
    .question polygon, .question path { fill: #4b2900; stroke: #d29922 }
    .plain polygon, .plain path { fill: none; stroke: none }
  }
`;

/** The content of every picture, by its path below `root`. */
export async function pictures(root: string): Promise<ReadonlyMap<string, string>> {
  const graphviz = await Graphviz.load();
  const sources = globSync(`${FOLDER}/*.dot`, { cwd: root }).sort();
  return new Map(
    sources.map((path) => [
      `${path.slice(0, -'.dot'.length)}.svg`,
      picture(basename(path, '.dot'), readFileSync(join(root, path), 'utf8'), (source) => graphviz.dot(source)),
    ]),
  );
}

function picture(name: string, source: string, layOut: (source: string) => string): string {
  const title = comment(name, source, 'title');
  const description = comment(name, source, 'description');
  const drawn = layOut(source.replace('{', `{${DEFAULTS}`));
  const body = /<svg width="(\d+)pt" height="(\d+)pt"[\s\S]*?(<g id="graph0"[\s\S]*<\/g>)\s*<\/svg>/.exec(drawn);
  const [, width = '', height = '', groups = ''] = body ?? [];
  if (groups === '') throw new Error(`${name}.dot: Graphviz drew nothing`);
  const shapes = groups
    // Graphviz writes the ids of nodes as titles, which a browser would show as tooltips.
    .replaceAll(/<title>[^<]*<\/title>\n/g, '')
    .replaceAll(/<!--[^>]*-->\n/g, '')
    // The style defines the colours and fonts.
    .replaceAll(/ (?:fill|stroke|font-family|font-size)="[^"]*"/g, '');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="${name}-title ${name}-description">
<title id="${name}-title">${escaped(title)}</title>
<desc id="${name}-description">${escaped(description)}</desc>
<style>${STYLE}</style>
<rect class="page" width="${width}" height="${height}" rx="6"/>
${shapes}
</svg>
`;
}

function comment(name: string, source: string, key: string): string {
  const text = new RegExp(`^// ${key}: (.+)$`, 'm').exec(source)?.[1];
  if (text === undefined) throw new Error(`${name}.dot: no line "// ${key}: …"`);
  return text;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

if (import.meta.main) {
  readOptions(import.meta.filename, {});
  const root = resolve(import.meta.dirname, '..');
  for (const [path, content] of await pictures(root)) writeFileSync(join(root, path), content);
}
