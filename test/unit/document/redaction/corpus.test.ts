import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Redactor } from '@machineadm/document/redaction/redactor.ts';
import { type Part, redactionFigures } from '../../../support/redaction-corpus.ts';

/** The goals of each part. */
const PARTS: Readonly<Record<Part, { readonly recall: number; readonly touched: number }>> = {
  tuned: { recall: 0.97, touched: 0.03 },
  stranger: { recall: 0.97, touched: 0.03 },
  'held-out': { recall: 0.97, touched: 0.03 },
  'second-stranger': { recall: 0.97, touched: 0.03 },
  'third-stranger': { recall: 0.945, touched: 0.035 },
};
const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;

describe('the redactor on the labelled corpus', () => {
  const parts = Object.entries(PARTS) as [Part, (typeof PARTS)[Part]][];
  const figures = parts.map(([part, limits]) => ({ part, limits, ...redactionFigures(part) }));
  for (const { part, limits, secret, caught, missed, innocent, touched } of figures) {
    test(`${part}: recall and lines touched`, (context) => {
      const precision = percent(caught, caught + touched.length);
      context.diagnostic(
        `${part}: recall ${caught} of ${secret} (${percent(caught, secret)}), innocent lines touched ${touched.length} of ${innocent} (${percent(touched.length, innocent)}), precision ${precision}`,
      );
      assert.ok(caught / secret >= limits.recall, missed.join('\n'));
      assert.ok(touched.length / innocent <= limits.touched, touched.join('\n'));
    });
  }
  test('has 1,200 lines or more', () => {
    assert.ok(figures.reduce((sum, { secret, innocent }) => sum + secret + innocent, 0) >= 1200);
  });
});

test('our own messages about a field stay readable', () => {
  const message = 'spec.host.users[0].password: there is no field "password" below spec.host.users';
  assert.equal(new Redactor().redact(message), message);
});
