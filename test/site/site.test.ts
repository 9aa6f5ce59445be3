import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { example } from '@machineadm/document/library.ts';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { buildSite, serveSite } from '../../scripts/docs.ts';
import { addressOf, HOME, headingsOf, pagesInSidebar, pagesOf, sidebarOf } from '../../site/pages.ts';
import { openBrowser } from '../support/chromium.ts';
import { LanguageServer } from '../support/language-server.ts';
import { needs } from '../support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const OPTIONS = { output: join(ROOT, 'dist/site'), base: '/' };
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** For hangs only: browsers on a busy machine take their time. */
const TIMEOUT = 300_000;
const WIDTHS = [360, 1400];
const SCHEMES = ['light', 'dark'] as const;
/** One page of each kind; the links of all pages are checked by the build. */
const SHOWN = ['README.md', 'docs/first-boot.md', 'docs/gallery.md', 'contract/CONTRACT.md'];

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a}\n';

function titleOf(html: string): string {
  return (/<title>(.*)<\/title>/.exec(html)?.[1] ?? '').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}

describe('the site', () => {
  let directory = '';
  before(
    async () => {
      // Also checks the types of the site, and every link and anchor of the built pages.
      directory = await buildSite(OPTIONS);
    },
    { timeout: 1_200_000 },
  );

  test('has every page of the repository', () => {
    for (const page of pagesOf(ROOT)) {
      const html = readFileSync(join(directory, addressOf(page)), 'utf8');
      assert.match(html, /<h1\b/, page);
      const [heading] = headingsOf(readFileSync(join(ROOT, page), 'utf8'));
      assert.ok(titleOf(html).startsWith(heading?.text ?? ''), `${page}: ${titleOf(html)}`);
    }
    assert.equal(titleOf(readFileSync(join(directory, 'playground.html'), 'utf8')), 'Playground | machineadm');
  });

  test('loads nothing from another server, on any page, by its own policy', () => {
    for (const page of [HOME, 'playground.md', ...pagesOf(ROOT)]) {
      const html = readFileSync(join(directory, addressOf(page)), 'utf8');
      assert.match(html, /<meta http-equiv="Content-Security-Policy" content="[^"]*connect-src 'none'/, page);
      const loaded = Array.from(html.matchAll(/<(?:script|img|source|link)\b[^>]*?\b(?:src|srcset|href)="([^"]*)"/g));
      assert.ok(loaded.length > 0, page);
      for (const [, address = ''] of loaded) assert.match(address, /^(?:\/|data:)/, `${page}: ${address}`);
    }
  });

  describe('in a browser', { skip: needs('chromium') }, () => {
    let browser: Browser;
    let server: Server;
    let url = '';

    before(
      async () => {
        browser = await openBrowser();
        const serving = await serveSite(OPTIONS);
        server = serving.server;
        url = `${serving.url}${directory.slice(OPTIONS.output.length + 1)}/`;
      },
      { timeout: TIMEOUT },
    );
    after(async () => {
      await browser?.close();
      server?.close();
      server?.closeAllConnections();
    });

    /** Runs `use` on a page of the site, and fails where the page asked another place or reported an error. */
    async function visit(
      address: string,
      options: NonNullable<Parameters<Browser['newContext']>[0]>,
      use: (view: Page) => Promise<void>,
    ): Promise<void> {
      const context: BrowserContext = await browser.newContext({ reducedMotion: 'reduce', ...options });
      try {
        const view = await context.newPage();
        const said: string[] = [];
        view.on('request', (request) => {
          if (!request.url().startsWith(url) && !request.url().startsWith('data:')) said.push(request.url());
        });
        view.on('response', (response) => {
          if (!response.ok() && response.status() !== 304) said.push(`${response.status()}: ${response.url()}`);
        });
        view.on('console', (message) => said.push(`console: ${message.text()}`));
        view.on('pageerror', (error) => said.push(`error: ${error.message}`));
        await view.goto(`${url}${address}`, { waitUntil: 'networkidle', timeout: TIMEOUT });
        await use(view);
        assert.deepEqual(said, []);
      } finally {
        await context.close();
      }
    }

    for (const page of [HOME, ...SHOWN, 'playground.md']) {
      for (const colorScheme of SCHEMES) {
        test(`${page}, ${colorScheme}: fits, and is accessible`, { timeout: TIMEOUT }, async () => {
          await visit(addressOf(page), { colorScheme }, async (view) => {
            for (const width of WIDTHS) {
              await view.setViewportSize({ width, height: 900 });
              const wide = await view.evaluate(() => document.documentElement.scrollWidth);
              assert.ok(wide <= width, `${wide} px in ${width} px`);
              // Evaluated through the debugger, which no policy of the page binds.
              await view.evaluate(AXE);
              const { violations } = (await view.evaluate('axe.run()')) as AxeResults;
              const found = violations
                .filter(({ impact }) => impact !== 'minor')
                .map(({ id, impact, nodes }) => `${impact}: ${id}: ${nodes[0]?.html}`);
              assert.deepEqual(found, [], `${width} px`);
            }
          });
        });
      }
    }

    test('the search finds "sysctl" and leads to the page', { timeout: TIMEOUT }, async () => {
      await visit('', { viewport: { width: 1400, height: 900 } }, async (view) => {
        await view.getByRole('button', { name: 'Search' }).click();
        await view.getByRole('searchbox').fill('sysctl');
        const first = view.locator('.VPLocalSearchBox .result').first();
        await first.waitFor({ timeout: TIMEOUT });
        await first.click();
        await view.waitForURL((address) => address.href.length > url.length, { timeout: TIMEOUT });
        await view.locator('main', { hasText: /sysctl/i }).waitFor({ timeout: TIMEOUT });
      });
    });

    test('the search for a symptom finds troubleshooting first', { timeout: TIMEOUT }, async () => {
      await visit('', { viewport: { width: 1400, height: 900 } }, async (view) => {
        await view.getByRole('button', { name: 'Search' }).click();
        await view.getByRole('searchbox').fill('bad token');
        const first = view.locator('.VPLocalSearchBox .result').first();
        await first.waitFor({ timeout: TIMEOUT });
        assert.match((await first.getAttribute('href')) ?? '', /docs\/troubleshooting\.html#bad-token/);
      });
    });

    test('pages for developers have a sidebar of their own', { timeout: TIMEOUT }, async () => {
      const wide = { viewport: { width: 1400, height: 900 } };
      const links = (view: Page) =>
        view.locator('.VPSidebar a').evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
      const development = pagesInSidebar(sidebarOf(ROOT).filter(({ title }) => title === 'Development')).map(addressOf);
      await visit(addressOf('docs/troubleshooting.md'), wide, async (view) => {
        const shown = await links(view);
        assert.deepEqual(
          development.filter((address) => shown.some((link) => link.endsWith(`/${address}`))),
          [],
        );
      });
      for (const page of ['docs/fuzzing.md', 'CONTRIBUTING.md']) {
        await visit(addressOf(page), wide, async (view) => {
          assert.equal((await links(view)).length, development.length, page);
        });
      }
    });

    test('the sidebar leads from page to page, and shows where one is', { timeout: TIMEOUT }, async () => {
      const [, page = ''] = pagesInSidebar(sidebarOf(ROOT).filter(({ title }) => title === 'Reference'));
      await visit(addressOf('README.md'), { viewport: { width: 1400, height: 900 } }, async (view) => {
        const link = view.locator(`.VPSidebar a[href$="${addressOf(page)}"]`);
        await link.click();
        await view.waitForURL((address) => address.pathname.endsWith(addressOf(page)), { timeout: TIMEOUT });
        await view
          .locator(`.VPSidebar a[aria-current="page"][href$="${addressOf(page)}"]`)
          .waitFor({ timeout: TIMEOUT });
        const [heading] = readFileSync(join(ROOT, page), 'utf8').split('\n');
        assert.equal(`# ${(await view.locator('main h1').innerText()).replace(/\s*\u200b$/, '')}`, heading);
      });
    });

    test('the switch of the theme makes it dark', { timeout: TIMEOUT }, async () => {
      await visit('', { colorScheme: 'light', viewport: { width: 1400, height: 900 } }, async (view) => {
        const background = () => view.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const light = await background();
        await view.locator('.VPNavBarAppearance .VPSwitchAppearance').click();
        assert.notEqual(await background(), light);
      });
    });

    describe('the playground', () => {
      const evaluations = (view: Page) => view.evaluate(() => performance.getEntriesByName('playground').length);
      /** Waits until one more text was evaluated and is shown. */
      async function evaluated(view: Page, act: () => Promise<unknown>): Promise<void> {
        const before = await evaluations(view);
        await act();
        await view.waitForFunction((count) => performance.getEntriesByName('playground').length > count, before, {
          timeout: TIMEOUT,
        });
      }
      const open = (view: Page, text: string) =>
        evaluated(view, () => {
          const file = { name: 'input.yaml', mimeType: 'application/yaml', buffer: Buffer.from(text) };
          return view.locator('.playground input[type=file]').setInputFiles(file);
        });
      const output = (view: Page) => view.locator('.playground .panes section').nth(1);

      async function inPlayground(use: (view: Page) => Promise<void>): Promise<void> {
        await visit('playground.html', { viewport: { width: 1400, height: 1000 } }, async (view) => {
          await view.waitForFunction(() => performance.getEntriesByName('playground').length > 0, undefined, {
            timeout: TIMEOUT,
          });
          await use(view);
        });
      }

      test('converts what is typed, once for a burst of keys', { timeout: TIMEOUT }, async () => {
        await inPlayground(async (view) => {
          assert.match(await view.locator('.playground .summary').innerText(), /^Converted to 2 documents/);
          assert.match(await output(view).locator('.cm-content').innerText(), /kind: MachineBootstrap/);
          await open(view, HEADER);
          const before = await evaluations(view);
          const input = view.locator('.cm-content').first();
          await input.press('Control+End');
          await evaluated(view, () =>
            view.evaluate((text) => {
              for (const key of text) document.execCommand('insertText', false, key);
            }, 'host: {hostnam: b}'),
          );
          await view.locator('.findings-of-line', { hasText: 'hostname' }).first().waitFor({ timeout: TIMEOUT });
          assert.equal(await evaluations(view), before + 1);
        });
      });

      test('marks a mistake at its line, and leads to it', { timeout: TIMEOUT }, async () => {
        await inPlayground(async (view) => {
          await open(view, `${HEADER}host:\n  hostnam: b\n`);
          assert.equal(await view.locator('.playground .summary').innerText(), 'A document with 1 problem.');
          assert.match(await output(view).locator('.cm-content').innerText(), /^# There is no output until/);
          const below = view.locator('.cm-line:has-text("hostnam") + .findings-of-line');
          assert.match(await below.innerText(), /^error UnknownField .*hostname/);
          await view.locator('.cm-lint-marker-error').waitFor({ timeout: TIMEOUT });
          await view.getByRole('button', { name: 'Line 5' }).click();
          assert.ok(await view.evaluate(() => document.activeElement?.classList.contains('cm-content')));
        });
      });

      test("renders kubeadm's configuration for a version, and wraps for a format", { timeout: TIMEOUT }, async () => {
        await inPlayground(async (view) => {
          await open(view, example('Worker'));
          const shows = (text: string) =>
            output(view).locator('.cm-content', { hasText: text }).waitFor({ timeout: TIMEOUT });
          await shows('kind: MachineBootstrap');
          await view.getByRole('combobox', { name: 'Show', exact: true }).selectOption('kubeadm');
          await shows('kubeadm.k8s.io/v1beta4');
          await view.getByRole('combobox', { name: 'kubeadm', exact: true }).selectOption('v1.25.0');
          await shows('kubeadm.k8s.io/v1beta3');
          await view.getByRole('combobox', { name: 'Show', exact: true }).selectOption('user-data');
          await shows('#cloud-config');
          await view.getByRole('combobox', { name: 'Format', exact: true }).selectOption('ignition');
          await shows('"ignition"');
        });
      });

      test('opens its examples, fixtures and published templates, and connects to nothing', {
        timeout: TIMEOUT,
      }, async (context) => {
        const directories = ['test/fixtures/capi', 'test/fixtures/capi/golden', process.env.MACHINEADM_CAPI_TEMPLATES];
        const files = directories.flatMap((directory) =>
          directory === undefined
            ? []
            : globSync('*.{yaml,yml,user-data}', { cwd: resolve(ROOT, directory) }).map((name) =>
                resolve(ROOT, directory, name),
              ),
        );
        await inPlayground(async (view) => {
          const select = view.getByRole('combobox', { name: 'Example', exact: true });
          const names = await select.locator('option').allInnerTexts();
          for (const name of names.slice(1)) await evaluated(view, () => select.selectOption({ label: name }));
          // `visit` fails for an exception, and for a request that is not for the site itself.
          const requests: string[] = [];
          view.on('request', (request) => requests.push(request.url()));
          for (const file of files) await open(view, readFileSync(file, 'utf8'));
          assert.deepEqual(requests, []);
          const times = await view.evaluate(() =>
            performance.getEntriesByName('playground').map(({ duration }) => duration),
          );
          const [first = 0, ...others] = times;
          const median = others.toSorted((a, b) => a - b)[Math.floor(others.length / 2)] ?? 0;
          context.diagnostic(
            `${times.length} texts: the first ${first.toFixed()} ms, then ${median.toFixed()} ms (median)`,
          );
        });
      });
    });

    test('a script of the site could not connect to anything', { timeout: TIMEOUT }, async () => {
      const context = await browser.newContext();
      try {
        const view = await context.newPage();
        await view.goto(`${url}playground.html`, { waitUntil: 'networkidle', timeout: TIMEOUT });
        const requests: string[] = [];
        view.on('request', (request) => requests.push(request.url()));
        const refused = await view.evaluate(async (address) => {
          const socket = new Promise((done) => {
            const violated = ({ blockedURI }: SecurityPolicyViolationEvent) =>
              blockedURI.startsWith('ws') && done('refused');
            document.addEventListener('securitypolicyviolation', violated);
            new WebSocket(address.replace('http', 'ws'));
          });
          const fetched = fetch(address).then(
            () => 'sent',
            () => 'refused',
          );
          return await Promise.all([fetched, socket]);
        }, `${url}hashmap.json`);
        assert.deepEqual(refused, ['refused', 'refused']);
        assert.deepEqual(requests, []);
      } finally {
        await context.close();
      }
    });

    test('an editor takes the schema from the site, and its links lead to the field', {
      timeout: TIMEOUT,
    }, async () => {
      const origin = new URL(url).origin;
      const { $id } = JSON.parse(readFileSync(join(ROOT, 'contract/editor/v1alpha1.json'), 'utf8')) as { $id: string };
      const here = (link: string): string => link.replace('https://machineadm.dev', origin);
      const text = `# yaml-language-server: $schema=${here($id)}\n${HEADER}host:\n  swap: Off\n`;
      await using editor = new LanguageServer();
      await editor.initialize();
      const uri = 'file:///tmp/site.yaml';
      const [problem, ...others] = await editor.open(uri, text);
      assert.deepEqual(others, []);
      assert.match(problem?.message ?? '', /"Disabled"/);
      const position = { line: 5, character: 4 };
      const hover = (await editor.request('textDocument/hover', { textDocument: { uri }, position })) as {
        contents: { value: string };
      };
      const links = Array.from(
        hover.contents.value.matchAll(/\]\((https:\/\/machineadm\.dev\/[^)]+)\)/g),
        ([, link = '']) => link,
      );
      assert.equal(links.length, 2, hover.contents.value);
      const context = await browser.newContext();
      try {
        const view = await context.newPage();
        for (const link of links) {
          const { hash, pathname } = new URL(link);
          await view.goto(here(link), { timeout: TIMEOUT });
          await view.waitForURL((address) => address.href.startsWith(url), { timeout: TIMEOUT });
          assert.ok(view.url().endsWith(`${pathname}${hash}`), view.url());
          if (hash !== '') await view.locator(hash).waitFor({ timeout: TIMEOUT });
        }
      } finally {
        await context.close();
      }
    });

    test('the number of the version leads to the list of versions', { timeout: TIMEOUT }, async () => {
      const context = await browser.newContext();
      try {
        const view = await context.newPage();
        await view.goto(new URL('/versions.html', url).href, { timeout: TIMEOUT });
        const version = directory.slice(OPTIONS.output.length + 1);
        await view.getByRole('link', { name: `machineadm ${version}` }).click();
        await view.waitForURL((address) => address.href.startsWith(url), { timeout: TIMEOUT });
      } finally {
        await context.close();
      }
    });
  });
});
