import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';
import { parse } from 'yaml';
import * as z from 'zod';

/**
 * The pages of the site and their order. The Markdown files stay where they are in the repository; every path here is
 * relative to its root.
 */

const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'docs/**/*.md', 'contract/**/*.md'];
const SIDEBAR = 'docs/sidebar.yaml';

const Sidebar = z.record(z.string(), z.array(z.union([z.string(), z.record(z.string(), z.array(z.string()))])));

export interface SidebarPage {
  readonly page: string;
  /** Its first heading. */
  readonly title: string;
}

export interface SidebarGroup {
  readonly title: string;
  readonly entries: readonly (SidebarPage | SidebarGroup)[];
}

/** Every page of the site except its first page and its playground. */
export function pagesOf(root: string): readonly string[] {
  return globSync(PAGES, { cwd: root })
    .map((page) => page.replaceAll('\\', '/'))
    .sort();
}

/** The sidebar of docs/sidebar.yaml. Throws where it names a page that does not exist, or one page twice. */
export function sidebarOf(root: string): readonly SidebarGroup[] {
  const written = Sidebar.parse(parse(readFileSync(join(root, SIDEBAR), 'utf8')));
  const pages = pagesOf(root);
  const named = new Set<string>();
  const claim = (page: string): string => {
    if (!pages.includes(page)) throw new Error(`${SIDEBAR}: there is no page ${page}`);
    if (named.has(page)) throw new Error(`${SIDEBAR}: ${page} is named twice`);
    named.add(page);
    return page;
  };
  for (const path of pathsOf(written)) if (!path.endsWith('/')) claim(path);
  const paged = (page: string): SidebarPage => ({ page, title: titleOf(root, page) });
  const entry = (path: string): readonly SidebarPage[] => {
    if (!path.endsWith('/')) return [paged(path)];
    const inside = pages.filter((page) => page.startsWith(path) && !named.has(page));
    return inside
      .sort((a, b) => Number(isIndex(b)) - Number(isIndex(a)) || (a < b ? -1 : 1))
      .map((page) => paged(claim(page)));
  };
  return Object.entries(written)
    .map(([title, entries]) => ({
      title,
      entries: entries.flatMap((one): readonly (SidebarPage | SidebarGroup)[] =>
        typeof one === 'string'
          ? entry(one)
          : Object.entries(one).map(([name, paths]) => ({ title: name, entries: paths.flatMap(entry) })),
      ),
    }))
    .filter(({ entries }) => entries.length > 0);
}

/** The pages of a sidebar, from top to bottom. */
export function pagesInSidebar(groups: readonly SidebarGroup[]): readonly string[] {
  return groups.flatMap(({ entries }) =>
    entries.flatMap((entry) => ('page' in entry ? [entry.page] : pagesInSidebar([entry]))),
  );
}

function pathsOf(written: z.infer<typeof Sidebar>): readonly string[] {
  return Object.values(written)
    .flat()
    .flatMap((entry) => (typeof entry === 'string' ? [entry] : Object.values(entry).flat()));
}

function isIndex(page: string): boolean {
  return /(?:^|\/)(?:README|index)\.md$/.test(page);
}

function titleOf(root: string, page: string): string {
  const [heading] = headingsOf(readFileSync(join(root, page), 'utf8'));
  return heading?.text ?? page;
}

/** The first page of the site. The README of the repository is its overview. */
export const HOME = 'site/home.md';

/** The path of a page in the site, without the site's base: `docs/first-boot.html`. */
export function addressOf(page: string): string {
  if (page === HOME) return 'index.html';
  if (page === 'README.md') return 'overview.html';
  return page.replace(/(^|\/)README\.md$/, '$1index.md').replace(/\.md$/, '.html');
}

/** Where the site has a file of the repository that is no page: browsers show it as text. */
export function fileAddressOf(path: string): string {
  return `files/${path}${/\.(?:json|svg|png|ya?ml|txt)$/.test(path) ? '' : '.txt'}`;
}

/** What a relative link of a page leads to; undefined for a link to another site. */
export interface LinkTarget {
  /** In the repository; the page itself for `#heading`. */
  readonly path: string;
  /** Without its `#`; empty for a link without one. */
  readonly anchor: string;
}

export function targetOf(page: string, link: string): LinkTarget | undefined {
  if (/^(?:[a-z][a-z+.-]*:|\/\/)/i.test(link)) return undefined;
  const [path = '', anchor = ''] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), decodeURI(path)));
  return { path: target.replace(/\/$/, ''), anchor: decodeURIComponent(anchor) };
}

export interface Heading {
  /** Without markup. */
  readonly text: string;
  /** The anchor that GitHub and the site give it. */
  readonly anchor: string;
}

/** The headings of a page in Markdown, outside of its code blocks. */
export function headingsOf(text: string): readonly Heading[] {
  const headings: Heading[] = [];
  const used = new Map<string, number>();
  for (const [, , written] of withoutCodeBlocks(text).matchAll(/^(#{1,6}) +(.+?)(?: +#+)? *$/gm)) {
    const plain = (written ?? '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]|<[^>]*>/g, '');
    const slug = slugOf(plain);
    const times = used.get(slug) ?? 0;
    used.set(slug, times + 1);
    headings.push({ text: plain, anchor: times === 0 ? slug : `${slug}-${times}` });
  }
  return headings;
}

/** What a link to a page can name after `#`: its headings, and elements with an id. */
export function anchorsOf(text: string): ReadonlySet<string> {
  const ids = Array.from(withoutCodeBlocks(text).matchAll(/<a id="([^"]+)">/g), ([, id = '']) => id);
  return new Set([...headingsOf(text).map(({ anchor }) => anchor), ...ids]);
}

/** As GitHub does it, so that a link to a heading works in both places. */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

/** The links of a page in Markdown, pictures included. */
export function linksOf(text: string): readonly string[] {
  const prose = withoutCodeBlocks(text).replace(/`[^`\n]*`/g, '');
  const markdown = Array.from(prose.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)/g), ([, link = '']) => link);
  const html = Array.from(prose.matchAll(/\b(?:href|src|srcset)="([^"]+)"/g), ([, link = '']) => link);
  return [...markdown, ...html];
}

function withoutCodeBlocks(text: string): string {
  return text.replace(/^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1\2[ \t]*$/gm, '').replace(/<!--[\s\S]*?-->/g, '');
}

/** The links of a page that lead nowhere: to no file, or to no heading of a page. */
export function brokenLinksOf(root: string, page: string): readonly string[] {
  return linksOf(readFileSync(join(root, page), 'utf8')).filter((link) => {
    const target = targetOf(page, link);
    if (target === undefined) return false;
    if (!existsSync(join(root, target.path))) return true;
    if (target.anchor === '') return false;
    if (!target.path.endsWith('.md')) return true;
    return !anchorsOf(readFileSync(join(root, target.path), 'utf8')).has(target.anchor);
  });
}
