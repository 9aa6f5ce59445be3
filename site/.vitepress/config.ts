import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type DefaultTheme, defineConfig, type MarkdownRenderer } from 'vitepress';
import {
  addressOf,
  fileAddressOf,
  HOME,
  linksOf,
  pagesInSidebar,
  pagesOf,
  type SidebarGroup,
  type SidebarPage,
  sidebarOf,
  slugOf,
  targetOf,
} from '../pages.ts';

const root = resolve(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
const base = process.env.SITE_BASE ?? '/';
const pages = pagesOf(root);
const PLAYGROUND = 'site/playground.md';
const DEVELOPMENT = 'Development';

const groups = sidebarOf(root);
/** The pages for developers of machineadm have a sidebar of their own, and the search leaves them out. */
const isDevelopment = ({ title }: SidebarGroup): boolean => title === DEVELOPMENT;
const developmentPages = pagesInSidebar(groups.filter(isDevelopment));
const sidebarWith = (some: readonly SidebarGroup[]): DefaultTheme.SidebarItem[] =>
  some.map(({ title, entries }) => ({ text: title, items: itemsOf(entries) }));

/** Tags that the pages use on purpose. Any other `<WORD>` in their prose is a placeholder, not HTML. */
const TAG = /^<(?:!--|\/?(?:a|br|details|img|kbd|picture|source|sub|summary|sup)\b)/;

/**
 * No page of the site connects to anything: not even the playground could send what is pasted into it. Styles are inline
 * where the editor and the highlighter of the code blocks compute them.
 */
function policyFor(html: string): string {
  const inline = Array.from(html.matchAll(/<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g), ([, script = '']) => {
    return `'sha256-${createHash('sha256').update(script).digest('base64')}'`;
  });
  return [
    "default-src 'self'",
    `script-src 'self' ${[...new Set(inline)].join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'none'",
    "object-src 'none'",
    "frame-src 'none'",
    "form-action 'none'",
    "base-uri 'none'",
  ].join('; ');
}

function itemsOf(entries: readonly (SidebarPage | SidebarGroup)[]): DefaultTheme.SidebarItem[] {
  return entries.map((entry) =>
    'page' in entry
      ? { text: entry.page === 'README.md' ? 'Overview' : entry.title, link: `/${addressOf(entry.page)}` }
      : { text: entry.title, items: itemsOf(entry.entries) },
  );
}

/** Links lead to the pages of the site; files of the repository that are no page are copied to it. */
function addressIn(page: string, link: string): string {
  const target = targetOf(page, link);
  if (target === undefined) return link;
  const anchor = target.anchor === '' ? '' : `#${target.anchor}`;
  if (target.path === page && anchor !== '') return anchor;
  if (target.path === PLAYGROUND) return '/playground.html';
  if (pages.includes(target.path)) return `/${addressOf(target.path)}${anchor}`;
  return `/${isDirectory(target.path) ? `files/${target.path}/index.html` : fileAddressOf(target.path)}`;
}

function isDirectory(path: string): boolean {
  return statSync(join(root, path)).isDirectory();
}

/** The path of the page that is rendered, in the repository. */
function pageOf(env: { realPath?: string; path?: string; relativePath?: string }): string {
  const path = env.realPath ?? env.path;
  return path === undefined ? String(env.relativePath) : path.slice(root.length + 1);
}

function configureMarkdown(md: MarkdownRenderer): void {
  md.core.ruler.push('repository', (state) => {
    // A title of the front matter.
    if (state.inlineMode) return;
    const page = pageOf(state.env);
    if (page === PLAYGROUND) return;
    for (const token of state.tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.attrGet('href');
      if (token.type === 'link_open' && href !== null) token.attrSet('href', addressIn(page, href));
      const source = token.attrGet('src');
      if (token.type === 'image' && source !== null) token.attrSet('src', `${base}${addressIn(page, source).slice(1)}`);
      if (token.type === 'html_inline' && !TAG.test(token.content)) token.type = 'text';
    }
    for (const token of [...state.tokens, ...state.tokens.flatMap(({ children }) => children ?? [])]) {
      if (!/^html_/.test(token.type)) continue;
      token.content = token.content.replace(/\b(href|src|srcset)="([^"]+)"/g, (_, name: string, link: string) => {
        const address = addressIn(page, link);
        return `${name}="${address.startsWith('/') ? `${base}${address.slice(1)}` : address}"`;
      });
    }
    // The text of the pages is not a template: `{{ ds.meta_data }}` stays as it is.
    const begin = new state.Token('html_block', '', 0);
    begin.content = '<div v-pre>\n';
    const end = new state.Token('html_block', '', 0);
    end.content = '</div>\n';
    state.tokens.unshift(begin);
    state.tokens.push(end);
  });
}

/** Copies the files that the pages link to and that are no pages. */
function copyLinkedFiles(outDir: string): void {
  for (const page of [HOME, ...pages]) {
    for (const link of linksOf(readFileSync(join(root, page), 'utf8'))) {
      const target = targetOf(page, link);
      if (target === undefined || pages.includes(target.path)) continue;
      if (isDirectory(target.path)) copyDirectory(outDir, target.path);
      else copy(outDir, target.path);
    }
  }
}

function copy(outDir: string, path: string): void {
  const output = join(outDir, fileAddressOf(path));
  mkdirSync(dirname(output), { recursive: true });
  copyFileSync(join(root, path), output);
}

/** The files of a directory, and a list of them. */
function copyDirectory(outDir: string, path: string): void {
  const files = readdirSync(join(root, path)).filter((name) => !isDirectory(join(path, name)));
  for (const name of files) copy(outDir, join(path, name));
  const items = files.map((name) => `<li><a href="${base}${fileAddressOf(join(path, name))}">${name}</a></li>`);
  writeFileSync(
    join(outDir, 'files', path, 'index.html'),
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>${path}</title><main><h1>${path}</h1><ul>${items.join('')}</ul></main></html>\n`,
  );
}

export default defineConfig({
  lang: 'en',
  title: 'machineadm',
  description: 'Turns a machine that has an operating system into a Kubernetes node.',
  base,
  srcDir: '..',
  outDir: process.env.SITE_OUTPUT ?? join(root, 'dist/site'),
  cacheDir: join(root, 'node_modules/.cache/site'),
  // Everything else in the repository is no page.
  srcExclude: ['{.*,build,dist,node_modules,packages,packaging,release,scripts,src,test}/**', 'site/node_modules/**'],
  rewrites: (page) => (page === PLAYGROUND ? 'playground.md' : addressOf(page).replace(/html$/, 'md')),
  // The built pages are checked as a whole, with their anchors: scripts/docs.ts.
  ignoreDeadLinks: true,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    config: configureMarkdown,
    anchor: { slugify: slugOf },
    // The plain themes of GitHub have comments that are too pale to read.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  vue: { template: { transformAssetUrls: false } },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        _render: (text, env, md) => (developmentPages.includes(pageOf(env)) ? '' : md.render(text, env)),
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Documentation', link: '/docs/index.html', activeMatch: '^/(?:docs|contract|overview)' },
      { text: 'Playground', link: '/playground.html' },
      { text: 'Development', link: `/${addressOf('CONTRIBUTING.md')}` },
      {
        text: version,
        items: [{ text: 'Other versions', link: '/../versions.html', target: '_self' }],
      },
    ],
    sidebar: {
      ...Object.fromEntries(
        developmentPages.map((page) => [
          `/${addressOf(page).replace(/html$/, 'md')}`,
          sidebarWith(groups.filter(isDevelopment)),
        ]),
      ),
      // Last: of two prefixes of the same depth, the first one wins.
      '/': sidebarWith(groups.filter((group) => !isDevelopment(group))),
    },
    externalLinkIcon: true,
  },
  vite: {
    // The packages of the library are linked into node_modules; their own dependencies are found from there.
    resolve: {
      alias: [{ find: /^.*\/VPSidebarItem\.vue$/, replacement: join(import.meta.dirname, 'theme/sidebar-item.ts') }],
    },
    build: {
      target: 'es2022',
      chunkSizeWarningLimit: 4096,
      // zod's own comments, which rollup reads as annotations.
      rollupOptions: { onwarn: (warning, warn) => warning.code !== 'INVALID_ANNOTATION' && warn(warning) },
    },
    plugins: [
      {
        // The pages are above this directory, where no Vue is installed.
        name: 'vue-of-the-site',
        enforce: 'pre',
        async resolveId(source, importer) {
          if (!/^vue(?:\/|$)/.test(source) || importer?.startsWith(resolve(import.meta.dirname, '..'))) return null;
          return await this.resolve(source, join(import.meta.dirname, 'config.ts'), { skipSelf: true });
        },
      },
    ],
    server: { fs: { allow: [root] } },
  },
  transformHtml: (code) =>
    code.replace('<head>', `<head>\n    <meta http-equiv="Content-Security-Policy" content="${policyFor(code)}">`),
  buildEnd: ({ outDir }) => copyLinkedFiles(outDir),
});
