import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { page as pageOf } from '@machineadm/status/page/index.ts';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { openBrowser } from '../support/chromium.ts';
import { needs } from '../support/needs.ts';
import { PAGES, WHOLE } from '../support/pages.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const WIDTHS = [360, 768, 1600];
const SCHEMES = ['light', 'dark'] as const;

/** Markup that would run, load or cover something, as a step, a name and evidence. */
const ATTACK = `</pre></figure><script>alert(1)</script><img src="https://evil.invalid/x" onerror="alert(2)"><style>body{display:none}</style><a href="javascript:alert(3)">x</a>`;
const ATTACKED = {
  ...WHOLE,
  verdict: {
    outcome: 'failure',
    reason: ATTACK,
    summary: ATTACK,
    remedy: ATTACK,
    causes: [ATTACK],
    evidence: [{ source: ATTACK, text: ATTACK }],
  },
  checks: [{ state: 'failed', text: ATTACK, remedy: ATTACK }],
  files: [ATTACK],
  titleOf: () => ATTACK,
} as const;

describe('the page of a run, in a browser', { skip: needs('chromium') }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-page-'));
  let browser: Browser;

  before(async () => {
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  for (const [what, content] of Object.entries({ ...PAGES, 'markup in its fields': ATTACKED })) {
    for (const colorScheme of SCHEMES) {
      test(`of ${what}, ${colorScheme}: fits, is accessible, and works offline`, { timeout: 300_000 }, async () => {
        const file = join(directory, 'index.html');
        writeFileSync(file, pageOf(content));
        const url = pathToFileURL(file).href;
        const context = await browser.newContext({ colorScheme });
        try {
          const view = await context.newPage();
          const said = listen(view);
          await view.goto(url);
          for (const width of WIDTHS) {
            await view.setViewportSize({ width, height: 900 });
            const wide = await view.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(wide <= width, `${wide} px in ${width} px`);
          }
          assert.notEqual(await view.evaluate(() => document.body.innerText.trim()), '');
          // Evaluated through the debugger, which no policy of the page binds.
          await view.evaluate(AXE);
          const { violations } = (await view.evaluate('axe.run()')) as AxeResults;
          const found = violations.map(({ id, impact, nodes }) => `${impact}: ${id}: ${nodes[0]?.html}`);
          assert.deepEqual(found, []);
          assert.deepEqual(said, [url]);
        } finally {
          await context.close();
        }
      });
    }
  }

  test('has other colours in the dark scheme', { timeout: 300_000 }, async () => {
    const backgrounds = [];
    for (const colorScheme of SCHEMES) {
      const context = await browser.newContext({ colorScheme, viewport: { width: 1024, height: 768 } });
      const view = await context.newPage();
      await view.setContent(pageOf(WHOLE));
      backgrounds.push(await view.evaluate(() => getComputedStyle(document.body).backgroundColor));
      const picture = await view.screenshot();
      assert.ok(picture.length > 10_000, `${picture.length} bytes are hardly a page`);
      await context.close();
    }
    assert.equal(new Set(backgrounds).size, 2, backgrounds.join());
  });
});

/** Requests, messages of the console, errors and dialogs, as they come. */
function listen(view: Page): readonly string[] {
  const said: string[] = [];
  view.on('request', (request) => said.push(request.url()));
  view.on('console', (message) => said.push(`console: ${message.text()}`));
  view.on('pageerror', (error) => said.push(`error: ${error.message}`));
  view.on('dialog', (dialog) => {
    said.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return said;
}
