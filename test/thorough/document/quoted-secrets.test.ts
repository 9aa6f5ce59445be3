import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import fc from '../../support/property.ts';
import { changedDocuments } from '../../support/schema-arbitrary.ts';

const CANARY = 'kanarienvogel-7f3a';

test('no problem and no warning quotes the value of a field that takes a secret', async () => {
  let problems = 0;
  await fc.assert(
    fc.asyncProperty(changedDocuments(jsonSchema() ?? {}), fc.boolean(), async (document, isWritten) => {
      // A secret in its field, or in the place of the name of one.
      const secret = isWritten ? JSON.stringify(CANARY) : JSON.stringify({ secret: CANARY });
      const text = JSON.stringify(document).replace(/\{"secret":"[^"]*"\}/g, secret);
      const withValues = text.replaceAll('"abcdef.0123456789abcdef"', JSON.stringify(CANARY));
      const sources = [{ name: 'd', bytes: new TextEncoder().encode(withValues) }];
      const result = await loadDocument(sources, { agentVersion: '0.1.0' });
      const reported = result.ok ? result.document.warnings : result.problems;
      problems += reported.length;
      for (const one of reported) assert.ok(!formatDiagnostic(one).includes('kanarien'), formatDiagnostic(one));
    }),
    { numRuns: 300 },
  );
  assert.ok(problems > 300, `${problems} problems`);
});
