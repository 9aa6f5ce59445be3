import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import type { PageContent } from '@machineadm/status/page/content.ts';
import { page } from '@machineadm/status/page/index.ts';
import { FAILED, PAGES, WHOLE } from '../../support/pages.ts';

/** What tells the renderer what to draw; all else is text that it quotes. */
const DISCRIMINATORS = new Set(['kind', 'outcome', 'state']);

/** The content with every text replaced, wherever it stands. */
function rewritten(content: PageContent, change: (text: string) => string): PageContent {
  const walk = (value: unknown, key = ''): unknown => {
    if (typeof value === 'string') return DISCRIMINATORS.has(key) ? value : change(value);
    if (Array.isArray(value)) return value.map((item) => walk(item));
    if (value === null || typeof value !== 'object' || value instanceof Date) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, walk(item, name)]));
  };
  return { ...(walk(content) as PageContent), titleOf: (step) => change(step) };
}

/** The markup of a page without its text: tags with their attributes, in order. */
function markup(text: string): readonly string[] {
  return text.match(/<[^>]*>/g) ?? [];
}

const SECTIONS = [
  'Evidence',
  'Timeline',
  'Steps and changes',
  'Warnings',
  'Checks of the machine',
  'What another run would change',
  'Conditions and reports',
  'Machine',
  'Files of this bundle',
];

const ATTACKS = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</pre></figure></style><style>*{display:none}</style>',
  '--><!--',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '&lt;b&gt;&#60;script&#62;',
  '\u001b[2J\u001b]0;title\u0007<b>',
  '\u202e<i>gpj.exe',
  '\ud800<u>',
];

describe('the page of a run', () => {
  for (const [what, content] of Object.entries(PAGES)) {
    test(`of ${what} is one file that loads nothing`, () => {
      const text = page(content);
      assert.match(text, /^<!doctype html>/);
      assert.doesNotMatch(text, /<(?:script|link|img|iframe|object|embed|form|base|video|audio)\b/i);
      assert.doesNotMatch(
        text,
        / (?:src|href|style|on\w+)=/i,
        'markup refers to nothing, and styles nothing by itself',
      );
      assert.doesNotMatch(text, /@import|url\(/i);
    });
  }

  for (const [what, content] of Object.entries(PAGES)) {
    test(`of ${what} is what is recorded; RECORD=1 records it anew, to be read in a browser`, () => {
      const path = join(import.meta.dirname, `../../fixtures/pages/${what.replaceAll(/\W+/g, '-')}.html`);
      const text = page(content).replace(/<meta http-equiv[^\n]*\n|<style>[\s\S]*<\/style>\n/g, '');
      if (process.env.RECORD === '1') writeFileSync(path, text);
      assert.equal(text, readFileSync(path, 'utf8'));
    });
  }

  test('has no section of what a run has none of', () => {
    const headings = (content: PageContent) =>
      [...page(content).matchAll(/<h2[^>]*>([^<]*)</g)].map(([, text]) => text);
    assert.deepEqual(headings({ ...WHOLE, status: FAILED }), SECTIONS);
    const nothing = { steps: [], timeline: [], warnings: [], conditions: [], reports: [] };
    const { verdict: _, ...rest } = WHOLE;
    const { failure: _failure, ...succeeded } = FAILED;
    assert.deepEqual(headings({ ...rest, status: { ...succeeded, ...nothing }, checks: [], plan: [], files: [] }), [
      'What another run would change',
      'Machine',
    ]);
  });

  test('has a policy that allows its own style sheet and nothing else', () => {
    const text = page(WHOLE);
    const style = /<style>([\s\S]*?)<\/style>/.exec(text)?.[1] ?? '';
    const digest = createHash('sha256').update(style).digest('base64');
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(text)?.[1];
    assert.equal(policy, `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'`);
    assert.ok(
      text.indexOf('Content-Security-Policy') < text.indexOf('<style>'),
      'a policy counts from where it stands',
    );
  });

  for (const attack of ATTACKS) {
    test(`takes ${JSON.stringify(attack)} in any field as text`, () => {
      // `x` is added to both, so that no field is empty in one of them.
      const harmless = page(rewritten(WHOLE, (text) => `${text}x`));
      const attacked = page(rewritten(WHOLE, (text) => `${text}x${attack}`));
      assert.deepEqual(markup(attacked), markup(harmless));
    });
  }

  const { status: _, ...findings } = WHOLE;
  const { agentVersion, titleOf } = WHOLE;
  for (const [what, content] of Object.entries({ status: { agentVersion, titleOf, status: FAILED }, findings })) {
    test(`shows every text of the ${what} but those that only programs read`, () => {
      const texts: string[] = [];
      const marked = page(rewritten(content, (text) => `${text}~${texts.push(text)}~`));
      const unseen = new Set(texts.filter((_, index) => !marked.includes(`~${index + 1}~`)));
      const { apiVersion, document, phase, updatedAt, failedAttempts = [], reports = [] } = FAILED;
      const ofAttempts = failedAttempts.flatMap(({ step, endedAt }) => [step ?? '', endedAt]);
      const ofReports = reports.flatMap(({ type, updatedAt: at }) => [type, at]);
      const ofChecks = ['/dev/sda1 has 12 GiB free'];
      const known = [apiVersion, document.sha256, phase, updatedAt, 'linux', ...ofAttempts, ...ofReports, ...ofChecks];
      assert.deepEqual(
        [...unseen].filter((text) => !known.includes(text)),
        [],
      );
    });
  }

  test('holds no secret, whatever it is quoted by', () => {
    const value = 'canary <&"\'> Wolfram-Lutz';
    new Secret(value);
    const forms = [
      value,
      encodeURIComponent(value),
      Buffer.from(value).toString('base64'),
      // Only without the escape sequence it is the secret.
      `${value.slice(0, 6)}\u001b[1m${value.slice(6)}`,
    ];
    for (const form of forms) {
      const text = page(rewritten(WHOLE, (field) => `${field} ${form}`));
      for (const part of ['Wolfram', ...forms]) assert.ok(!text.includes(part), `${form}: ${part}`);
    }
  });

  test('shows the reason once if status and diagnosis have the same', () => {
    const text = page(WHOLE);
    assert.equal(text.split('<strong class="bad">SwapEnabled</strong>').length, 2);
    assert.match(text, /journal of kubelet, line 812/);
    assert.match(text, /Led to: KubeletNotHealthy/);
  });

  test('says if a node that was proved no longer works', () => {
    const { status, verdict } = { ...WHOLE, ...PAGES['a run that succeeded'] };
    assert.match(page({ ...WHOLE, status, verdict }), /The run succeeded, but the node does not work now\./);
  });

  test('has no time where none is given: the same bundle has the same bytes', () => {
    const { madeAt: _, ...content } = WHOLE;
    assert.equal(page(content), page(content));
    assert.match(page(content), /Made by machineadm 0\.1\.0\. /);
  });
});
