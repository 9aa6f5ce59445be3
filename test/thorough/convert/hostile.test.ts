import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderTemplate } from '@machineadm/convert/go-template/content.ts';
import { Report } from '@machineadm/convert/report/report.ts';
import { Expressions, markExpressions } from '@machineadm/convert/texts/jinja.ts';
import { yamlDocuments, yamlValue } from '@machineadm/convert/texts/yaml.ts';
import { assertLinear } from '../../support/cost.ts';
import fc from '../../support/property.ts';

const TEXTS: Readonly<Record<string, (size: number) => string>> = {
  'open braces': (size) => '{{'.repeat(size / 2),
  'open braces with blanks': (size) => `${'{{ '.repeat(size / 3)}}}`,
  'a trim marker before blanks': (size) => `{{- ${' '.repeat(size)}x`,
  'open conditions': (size) => '{{if .controlPlane}}'.repeat(size / 20),
  'raw blocks without an end': (size) => '{% raw %}'.repeat(size / 9),
  'blocks without an end': (size) => '{%'.repeat(size / 2),
  'blanks in a block': (size) => `{%${' '.repeat(size)}`,
  'many variables': (size) => Array.from({ length: size / 12 }, (_, index) => `{{ v.a${index} }}`).join(''),
  'a long path': (size) => `{{ v${'.a'.repeat(size / 2)}! }}`,
  'quotation marks': (size) => '"'.repeat(size * 4),
  'aliases of a list': (size) => `a: &a [${'1,'.repeat(50)}]\nb:\n${'- *a\n'.repeat(size / 5)}`,
  keys: (size) => Array.from({ length: size / 8 }, (_, index) => `k${index}: 1`).join('\n'),
};

/** Those that the library yaml would spend its time on. */
const YAML = new Set(['quotation marks', 'aliases of a list', 'keys']);

describe('texts of an input that could take more than linear time', () => {
  for (const [what, make] of Object.entries(TEXTS)) {
    test(what, async () => {
      await assertLinear('a template of Go', (size) => renderTemplate(make(size), 'v1.35.2'), 10_000);
      await assertLinear(
        'a template of jinja',
        (size) => {
          markExpressions(make(size), 'place', new Expressions(), new Report());
        },
        10_000,
      );
      if (!YAML.has(what)) return;
      await assertLinear(
        'YAML',
        async (size) => {
          await yamlValue(make(size), 'place', new Report());
          await yamlDocuments(make(size), 'place', new Report());
        },
        5000,
      );
    });
  }

  test('nested conditions end at a depth limit', () => {
    const nested = (depth: number) => `${'{{if .controlPlane}}'.repeat(depth)}x${'{{end}}'.repeat(depth)}`;
    assert.equal(renderTemplate(nested(40), 'v1.35.2'), 'x');
    assert.equal(renderTemplate(nested(100_000), 'v1.35.2'), undefined);
  });
});

describe('templates', () => {
  const bits = fc.constantFrom(
    '{{',
    '}}',
    '{{- ',
    ' -}}',
    ' ',
    '\n',
    '.controlPlane.version',
    'if .controlPlane',
    'else',
    'end',
    '/* x */',
    'text',
    '{%',
    '%}',
    '{#',
    '#}',
    'raw',
    'endraw',
    'v.a',
    '"',
  );
  const texts = fc.array(bits, { maxLength: 14 }).map((parts) => parts.join(''));

  test('of Go keep text that is no action', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const rendered = renderTemplate(text, 'V');
        if (!text.includes('{{')) assert.equal(rendered, text);
        // Go refuses an action that is not closed.
        else if (!text.includes('}}')) assert.equal(rendered, undefined);
      }),
      { numRuns: 500 },
    );
    assert.equal(renderTemplate('a {{- .controlPlane.version -}} b', 'V'), 'aVb');
    assert.equal(renderTemplate('{{ if .controlPlane }}x{{ else }}y{{ end }}', undefined), 'y');
    assert.equal(renderTemplate('{{/* nothing */}}x', 'V'), 'x');
    assert.equal(renderTemplate('{{}}', 'V'), undefined);
    assert.equal(renderTemplate('{{ .other }}', 'V'), undefined);
  });

  test('of jinja keep every character that is no expression', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const expressions = new Expressions();
        const marked = markExpressions(text, 'place', expressions, new Report());
        const without = (whole: string) => whole.replace(/\{%[-+]?\s*(?:end)?raw\s*[-+]?%\}/g, '');
        // An expression that is a text in quotes is replaced by it.
        const told = text.replace(/\{\{[-+]?\s*(?:"([^"]*)"|'([^']*)')\s*[-+]?\}\}/g, '$1$2');
        const back = expressions.replace(marked, (path) => `{{${path}}}`);
        assert.equal(without(back).replace(/[-\s]/g, ''), without(told).replace(/[-\s]/g, ''));
      }),
      { numRuns: 500 },
    );
  });
});

test('a key that is given twice in an object is reported with its line', async () => {
  const report = new Report();
  const text = 'apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\nkind: C\n';
  assert.equal((await yamlDocuments(text, 'f', report)).length, 2);
  assert.deepEqual(
    report.decisions.map(({ code, at, message }) => [code, at, message]),
    [['InputInvalid', 'f', 'the key is given twice in line 6']],
  );
});
