import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { exampleDocument } from '@machineadm/document/versions/example.ts';
import { parse } from 'yaml';
import * as z from 'zod';

/**
 * The mistakes that a newcomer made in an hour, with what `validate` says of each and how a reader judged it: `good` names the
 * place, what is wrong and what to write; otherwise the sentence says what is poor.
 */
const MISTAKES = z
  .array(
    z.strictObject({
      mistake: z.string(),
      /** The example that was changed; absent: `text` is the document. */
      example: z.enum(['Worker', 'InitControlPlane', 'JoinControlPlane']).optional(),
      change: z.array(z.strictObject({ from: z.string(), to: z.string() })).default([]),
      text: z.string().optional(),
      says: z.array(z.string()),
      judged: z.string(),
    }),
  )
  .parse(parse(readFileSync(join(import.meta.dirname, '../../fixtures/mistakes.yaml'), 'utf8')));

const MOST_POOR = 3;

describe('the mistakes of a newcomer', () => {
  for (const { mistake, example, change, text, says } of MISTAKES) {
    test(`${mistake}: one problem for each mistake, with its place and what to do`, async () => {
      let document = text ?? (example === undefined ? '' : exampleDocument(example));
      for (const { from, to } of change) {
        assert.equal(document.split(from).length, 2, `the document has once: ${from}`);
        document = document.replace(from, () => to);
      }
      const bytes = new TextEncoder().encode(document);
      const result = await loadDocument([{ name: 'a.yaml', bytes }], { agentVersion: '0.1.0' });
      const found = result.ok ? result.document.warnings : result.problems;
      assert.deepEqual(found.map(formatDiagnostic), says);
    });
  }

  test(`have at most ${MOST_POOR} poor answers`, () => {
    assert.ok(MISTAKES.length >= 62, `${MISTAKES.length} mistakes`);
    const poor = MISTAKES.filter(({ judged }) => judged !== 'good').map(({ mistake }) => mistake);
    assert.ok(poor.length <= MOST_POOR, poor.join(', '));
  });
});
