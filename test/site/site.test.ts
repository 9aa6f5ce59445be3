import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { buildSite, serveSite } from '../../scripts/docs.ts';
import { addressOf, pagesInSidebar, pagesOf, sidebarOf } from '../../site/pages.ts';
import { BROWSER_SKIP, openBrowser } from '../support/chromium.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const OPTIONS = { output: join(ROOT, 'dist/site'), base: '/' };
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** For hangs only: browsers on a busy machine take their time. */
const TIMEOUT = 300_000;
const WIDTHS = [360, 1400];
const SCHEMES = ['light', 'dark'] as const;
/** One page of each kind; the links of all pages are checked by the build. */
const SHOWN = ['README.md', 'docs/first-boot.md', 'docs/gallery.md', 'contract/CONTRACT.md'];

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
    }
  });

  test('loads nothing from another place, on any page, by its own policy', () => {
    for (const page of pagesOf(ROOT)) {
      const html = readFileSync(join(directory, addressOf(page)), 'utf8');
      assert.match(html, /<meta http-equiv="Content-Security-Policy" content="[^"]*connect-src 'none'/, page);
      const loaded = Array.from(html.matchAll(/<(?:script|img|source|link)\b[^>]*?\b(?:src|srcset|href)="([^"]*)"/g));
      assert.ok(loaded.length > 0, page);
      for (const [, address = ''] of loaded) assert.match(address, /^(?:\/|data:)/, `${page}: ${address}`);
    }
  });

  describe('in a browser', { skip: BROWSER_SKIP }, () => {
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

    for (const page of SHOWN) {
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

    test('the sidebar leads from page to page, and shows where one is', { timeout: TIMEOUT }, async () => {
      const [, page = ''] = pagesInSidebar(sidebarOf(ROOT).filter(({ title }) => title === 'Reference'));
      await visit('', { viewport: { width: 1400, height: 900 } }, async (view) => {
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

    test('the number of the version leads to the list of versions', { timeout: TIMEOUT }, async () => {
      const context = await browser.newContext();
      try {
        const view = await context.newPage();
        await view.goto(new URL('/', url).href, { timeout: TIMEOUT });
        const version = directory.slice(OPTIONS.output.length + 1);
        await view.getByRole('link', { name: `machineadm ${version}` }).click();
        await view.waitForURL((address) => address.href.startsWith(url), { timeout: TIMEOUT });
      } finally {
        await context.close();
      }
    });
  });
});
