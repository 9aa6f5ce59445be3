import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProblemCode } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import fc from '../../support/property.ts';
import { publishedSchema } from '../../support/published-schema.ts';
import { changedDocuments } from '../../support/schema-arbitrary.ts';

/** What only the whole document or the agent shows: other entries, other sections, versions of Kubernetes and its own rules. */
const BEYOND_A_SCHEMA: readonly ProblemCode[] = [
  'Collision',
  'Duplicate',
  'RequiresNewerAgent',
  'UnknownReference',
  'UnsupportedVersion',
  'RefusedByKubernetes',
];

/** Refusals of one value or across two fields that no schema can compute, by how their message begins. */
const NOT_COMPUTED =
  /^(?:no runtime of the name|root and state must be different|not one Pod|not YAML|is an image of|a place in another domain|the percentages add up|environment sets|must differ from url|[\w.-]+ is (?:disabled|among the exceptions), too|must be above 0s|the API server counts whole|not (?:an? )?(?:URL|http|https|IP|base64|gzip)|no admission plugin|the year|.* is already the [ug]id of|not a file that|the soft limit is above|limits of sessions count|not shorter than the validity|an address of another IP family)/;

test('validate and the JSON Schema agree on documents made of examples, wherever a schema can judge', async () => {
  const judge = publishedSchema();
  const counts = { valid: 0, invalid: 0, invalidToBoth: 0 };
  await fc.assert(
    fc.asyncProperty(changedDocuments(jsonSchema() ?? {}), async (document) => {
      const text = JSON.stringify(document);
      const result = await loadDocument([{ name: 'd', bytes: new TextEncoder().encode(text) }], {
        agentVersion: '0.1.0',
      });
      const accepted = judge(JSON.parse(text));
      if (result.ok) {
        counts.valid++;
        // What stands beside a value that only the machine knows is judged there; a schema judges it at once.
        const isJudged = result.document.unresolved.length === 0;
        assert.ok(
          accepted || !isJudged,
          `the schema refuses what validate takes: ${JSON.stringify(judge.errors?.slice(0, 3))}`,
        );
      } else {
        counts.invalid++;
        if (!accepted) counts.invalidToBoth++;
        else {
          const judgeable = result.problems.filter(
            ({ code, message }) => !BEYOND_A_SCHEMA.includes(code) && !NOT_COMPUTED.test(message),
          );
          assert.deepEqual(judgeable, [], 'only validate refuses it');
        }
      }
    }),
    { numRuns: 400 },
  );
  assert.ok(counts.valid > 80 && counts.invalidToBoth > 80, JSON.stringify(counts));
});

/** Parts that are too rare among the documents above, with whether they are valid. */
const RARE: readonly (readonly [part: Readonly<Record<string, unknown>>, isValid: boolean])[] = [
  [{ host: { hooks: { early: { commands: [['printf', 'a\n']] } } } }, true],
  [{ host: { hooks: { early: { commands: ['a'], environment: { TEXT: 'two\nlines\n' } } } } }, true],
  ...(['10.0.0.1', 'fd00::1', 'Default'] as const).map((routeTo) => [nodeAddresses(routeTo), true] as const),
  ...(['a', '1:2', '10.0.0.300'] as const).map((routeTo) => [nodeAddresses(routeTo), false] as const),
  [registry({ server: 'http://a.example', credentials: { username: 'a', password: { secret: 's' } } }), false],
  [registry({ mirrors: [{ url: 'http://a.example', headers: { TOKEN: { secret: 's' } } }] }), false],
  [
    registry({ mirrors: [{ url: 'http://a.example', headers: { TOKEN: { secret: 's' } }, allowInsecure: true }] }),
    true,
  ],
  [registry({ mirrors: [{ url: 'https://a.example' }], fallback: false, allowInsecure: true }), false],
];

function nodeAddresses(routeTo: string): Readonly<Record<string, unknown>> {
  return { kubernetes: { version: 'v1.35.2', role: 'InitControlPlane', node: { addresses: { routeTo } } } };
}

function registry(rest: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { containerRuntime: { containerd: { registries: [{ host: 'a.example', ...rest }] } } };
}

for (const [part, isValid] of RARE) {
  test(`both ${isValid ? 'take' : 'refuse'} ${JSON.stringify(part)}`, async () => {
    const header = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name: 'a' } };
    const document = { ...header, secrets: { s: { env: 'S' } }, ...part };
    const bytes = new TextEncoder().encode(JSON.stringify(document));
    const { ok } = await loadDocument([{ name: 'd', bytes }], { agentVersion: '0.1.0' });
    assert.deepEqual({ ok, accepted: publishedSchema()(document) }, { ok: isValid, accepted: isValid });
  });
}
