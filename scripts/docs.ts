/**
 * Builds the documentation as a site: `npm run docs [-- --output DIR] [--base PATH] [--serve]`, see docs/site.md. Each
 * version has its directory (`dist/site/0.1.0/`); those of other versions stay, the first page leads to the newest one, and
 * `versions.html` lists all.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join, relative, resolve } from 'node:path';
import * as z from 'zod';
import { addressOf, HOME, pagesOf } from '../site/pages.ts';
import { readOptions } from './options.ts';

const root = resolve(import.meta.dirname, '..');
const site = join(root, 'site');

export interface SiteOptions {
  /** Directory of all versions. */
  readonly output: string;
  /** Path of that directory on its server, with a slash at both ends. */
  readonly base: string;
}

/** Builds the site of this version into `output`, and returns the directory of the version. Throws for a broken link. */
export async function buildSite({ output, base }: SiteOptions): Promise<string> {
  installSite();
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  const directory = join(output, version);
  rmSync(directory, { recursive: true, force: true });
  run('types of the site', join(root, 'node_modules/typescript/bin/tsc'), ['--project', join(site, 'tsconfig.json')]);
  run('the site', join(site, 'node_modules/vitepress/bin/vitepress.js'), ['build', site], {
    SITE_OUTPUT: directory,
    SITE_BASE: `${base}${version}/`,
  });
  const versions = versionsIn(output);
  writeFileSync(join(output, 'versions.html'), versionsPage(versions));
  publishStable(output, versions[0] ?? version);
  const broken = brokenLinksIn(output, base);
  if (broken.length > 0) throw new Error(`broken links:\n${broken.join('\n')}`);
  return directory;
}

/** Whether the packages in the lock of the site are installed. `npm ci` in the project does not install them. */
function isSiteInstalled(): boolean {
  const [written, installed] = [join(site, 'package-lock.json'), join(site, 'node_modules/.package-lock.json')];
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(written).mtimeMs;
}

function installSite(): void {
  if (isSiteInstalled()) return;
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: site, stdio: 'inherit' });
  if (status !== 0) throw new Error('the packages of the site cannot be installed');
}

function run(what: string, script: string, args: readonly string[], environment: Record<string, string> = {}): void {
  const { status } = spawnSync(process.execPath, [script, ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  if (status !== 0) throw new Error(`${what} cannot be built`);
}

/**
 * Writes what has an address without a version: each schema at its `$id`, which documents and editors name, and for each page
 * one that leads to the same page of the newest version.
 */
export function publishStable(output: string, newest: string): void {
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(output, path)), { recursive: true });
    writeFileSync(join(output, path), text);
  };
  for (const file of globSync('contract/**/*.json', { cwd: root })) {
    const text = readFileSync(join(root, file), 'utf8');
    const [, path] = /^\{\s*(?:"\$schema": "[^"]*",\s*)?"\$id": "https:\/\/machineadm\.dev\/([^"]+)"/.exec(text) ?? [];
    if (path !== undefined) write(path, text);
  }
  for (const address of [HOME, ...pagesOf(root)].map(addressOf)) {
    const target = `${'../'.repeat(address.split('/').length - 1)}${newest}/${address}`;
    write(
      address,
      `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="robots" content="noindex">\n` +
        // The script keeps the anchor, which the refresh without scripts loses.
        `<script>location.replace('${target}' + location.hash)</script>\n` +
        `<meta http-equiv="refresh" content="1; url=${target}">\n<title>machineadm</title>\n<a href="${target}">${address}</a>\n</html>\n`,
    );
  }
}

/** The versions in a directory of sites, newest first. */
export function versionsIn(output: string): readonly string[] {
  const versions = readdirSync(output).filter((name) => /^\d+\.\d+\.\d+/.test(name));
  return versions.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
}

/** The page that lists all versions. It links to the newest release first. */
export function versionsPage(versions: readonly string[]): string {
  const [newest = ''] = versions;
  const items = versions.map((version) => `<li><a href="${version}/index.html">machineadm ${version}</a></li>`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<title>machineadm: documentation by version</title>
<main>
<h1>machineadm</h1>
<p>The documentation of each version. The newest is <a href="${newest}/index.html">${newest}</a>.</p>
<ul>${items.join('')}</ul>
</main>
</html>
`;
}

/** Links in the built pages whose file or anchor does not exist: `PAGE: LINK`. */
export function brokenLinksIn(output: string, base: string): readonly string[] {
  const pages = new Map(
    globSync('**/*.html', { cwd: output }).map((page) => {
      // Scripts hold the code of the page, not its links.
      const html = readFileSync(join(output, page), 'utf8').replace(/<script\b[^>]*>[\s\S]*?<\/script>/g, '');
      return [page, { links: valuesOf(html, 'href|src|srcset'), ids: new Set(valuesOf(html, 'id')) }] as const;
    }),
  );
  const leadsNowhere = (page: string, link: string): boolean => {
    const url = new URL(link, `http://site.invalid${base}${page}`);
    if (url.host !== 'site.invalid') return false;
    if (!url.pathname.startsWith(base)) return true;
    const path = decodeURIComponent(url.pathname.slice(base.length)).replace(/(^|\/)$/, '$1index.html');
    const anchor = decodeURIComponent(url.hash.slice(1));
    const target = pages.get(path) ?? pages.get(`${path}.html`);
    if (target === undefined) return !existsSync(join(output, path)) || anchor !== '';
    return anchor !== '' && !target.ids.has(anchor);
  };
  return [...pages].flatMap(([page, { links }]) =>
    links
      .filter((link) => !/^(?:data|mailto):/.test(link) && leadsNowhere(page, link))
      .map((link) => `${page}: ${link}`),
  );
}

function valuesOf(html: string, attributes: string): readonly string[] {
  const found = html.matchAll(new RegExp(`<[a-z][^>]*?\\s(?:${attributes})="([^"]*)"`, 'g'));
  return Array.from(found, ([, value = '']) => value.replaceAll('&amp;', '&'));
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** Serves a directory on loopback. Port 0 selects a free port. */
export async function serveSite({ output, base }: SiteOptions, port = 0): Promise<{ server: Server; url: string }> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const path = join(output, relative(base, decodeURIComponent(pathname)));
    const file = [path, join(path, 'index.html'), `${path}.html`].find(
      (one) => existsSync(one) && statSync(one).isFile(),
    );
    if (!pathname.startsWith(base) || relative(output, path).startsWith('..') || file === undefined) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('not found\n');
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'text/plain; charset=utf-8' });
    response.end(readFileSync(file));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  return { server, url: `http://127.0.0.1:${taken}${base}` };
}

if (import.meta.main) {
  const { values } = readOptions(import.meta.filename, {
    options: {
      output: { type: 'string', default: join(root, 'dist/site') },
      base: { type: 'string', default: '/' },
      serve: { type: 'boolean', default: false },
      port: { type: 'string', default: '8080' },
    },
  });
  const options = { output: resolve(values.output), base: `/${values.base}/`.replace(/\/+/g, '/') };
  console.log(`built ${relative(process.cwd(), await buildSite(options))}`);
  if (values.serve) console.log(`serving ${(await serveSite(options, Number(values.port))).url}`);
}
