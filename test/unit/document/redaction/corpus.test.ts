import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Redactor } from '@machineadm/document/redaction/redactor.ts';
import { type Part, redactionFigures } from '../../../support/redaction-corpus.ts';

const PARTS: readonly Part[] = ['tuned', 'stranger', 'held-out'];
const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;

describe('the redactor on the labelled corpus', () => {
  const figures = PARTS.map((part) => ({ part, ...redactionFigures(part) }));
  for (const { part, secret, caught, missed, innocent, touched } of figures) {
    test(`${part}: recall and lines touched`, (context) => {
      const precision = percent(caught, caught + touched.length);
      context.diagnostic(
        `${part}: recall ${caught} of ${secret} (${percent(caught, secret)}), innocent lines touched ${touched.length} of ${innocent} (${percent(touched.length, innocent)}), precision ${precision}`,
      );
      assert.ok(caught / secret >= 0.97, missed.join('\n'));
      assert.ok(touched.length / innocent <= 0.03, touched.join('\n'));
    });
  }
  test('has 800 lines or more', () => {
    assert.ok(figures.reduce((sum, { secret, innocent }) => sum + secret + innocent, 0) >= 800);
  });
});

test('our own messages about a field stay readable', () => {
  const message = 'spec.host.users[0].password: there is no field "password" below spec.host.users';
  assert.equal(new Redactor().redact(message), message);
});
