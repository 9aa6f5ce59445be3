import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Kept } from '@machineadm/translator/handover/kept.ts';
import { validateReview } from '@machineadm/translator/provider/admission.ts';
import { configOf } from '@machineadm/translator/provider/objects.ts';
import * as z from 'zod';
import { DIRECT_CONVERSIONS } from '../../support/direct-conversions.ts';

const NEVER = new AbortController().signal;
const GROUP = 'bootstrap.cluster.x-k8s.io';
const Answer = z.strictObject({
  apiVersion: z.literal('admission.k8s.io/v1'),
  kind: z.literal('AdmissionReview'),
  response: z.strictObject({
    uid: z.literal('r-1'),
    allowed: z.boolean(),
    status: z
      .strictObject({
        status: z.literal('Failure'),
        code: z.literal(422),
        reason: z.literal('Invalid'),
        message: z.string(),
        details: z.strictObject({
          group: z.literal(GROUP),
          kind: z.string(),
          name: z.literal('a'),
          causes: z.array(
            z.strictObject({
              reason: z.literal('FieldValueInvalid'),
              field: z.string().min(1),
              message: z.string().min(1),
            }),
          ),
        }),
      })
      .optional(),
  }),
});

function reviewOf(kind: string, object: unknown, more: object = {}, group = GROUP): string {
  const request = { uid: 'r-1', namespace: 'clusters', kind: { group, version: 'v1alpha1', kind }, object, ...more };
  return JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request });
}
const config = (spec: object, metadata: object = {}) => ({ metadata: { name: 'a', ...metadata }, spec });
const template = (spec: object) => ({ metadata: { name: 'a' }, spec: { template: { spec } } });

/** The message of the refusal; undefined = it is allowed. */
async function refusal(body: string, conversions = DIRECT_CONVERSIONS): Promise<string | undefined> {
  const given = (await validateReview(body, conversions, '0.1.0', NEVER)) ?? assert.fail('no review of ours');
  const { response } = Answer.parse(given);
  assert.equal(response.allowed, response.status === undefined);
  return response.status?.message;
}

describe('the validation of a MachineadmConfig', () => {
  const good = {
    document: {
      host: { sysctl: { 'vm.max_map_count': 262144 }, users: [{ name: 'ops', passwordHash: { secret: 'hash' } }] },
      kubernetes: { node: { labels: { pool: 'general' } } },
    },
    secrets: [{ name: 'hash', secretRef: { name: 'ops', key: 'hash' } }],
  };

  test('allows what makes a machine, and its template', async () => {
    assert.equal(await refusal(reviewOf('MachineadmConfig', config(good))), undefined);
    assert.equal(await refusal(reviewOf('MachineadmConfigTemplate', template(good))), undefined);
    assert.equal(await refusal(reviewOf('MachineadmConfig', { metadata: { name: 'a' } })), undefined, 'without a spec');
  });

  for (const [what, spec, expected] of [
    [
      'an unknown field, with the one that was meant',
      { document: { host: { sysctls: {} } } },
      /^spec\.document\.host\.sysctls: unknown key \(hint: .*sysctl/,
    ],
    [
      'a wrong value',
      { document: { host: { files: [{ path: 'etc/a', content: '' }] } } },
      /^spec\.document\.host\.files\[0\]\.path: /,
    ],
    [
      'what Cluster API decides',
      { document: { kubernetes: { version: 'v1.35.0' } } },
      /^spec\.document\.kubernetes\.version: leave it out: it is decided by spec\.version of the Machine$/,
    ],
    [
      'a secret in clear text, whose value is not repeated',
      { document: { secrets: { a: { value: 'hunter-2-hunter' } } } },
      /^spec\.document\.secrets\.a: everyone who reads/,
    ],
    [
      'a secret that nobody defines',
      { document: { host: { users: [{ name: 'a', passwordHash: { secret: 'b' } }] } } },
      /passwordHash/,
    ],
    ['another format', { format: 'floppy' }, /^spec\.format: /],
    ['a document that is none', { document: [] }, /^spec\.document: /],
  ] as const) {
    test(`refuses ${what}`, async () => {
      const message = await refusal(reviewOf('MachineadmConfig', config(spec)));
      assert.match(message ?? 'allowed', expected);
      assert.ok(!message?.includes('hunter-2'));
      const inTemplate = await refusal(reviewOf('MachineadmConfigTemplate', template(spec)));
      assert.equal(inTemplate, message?.replaceAll(/(^|; )spec\./g, '$1spec.template.spec.'));
    });
  }

  test('takes the names that kubectl sent as booleans', async () => {
    const document = { host: { proxy: { false: ['10.0.0.0/8'], http: 'http://proxy.example:3128' } } };
    assert.equal(await refusal(reviewOf('MachineadmConfig', config({ document }))), undefined);
    assert.deepEqual(configOf(config({ document })).spec.document.host, {
      proxy: { no: ['10.0.0.0/8'], http: 'http://proxy.example:3128' },
    });
    const labels = { kubernetes: { node: { labels: { true: 'x' } } } };
    assert.deepEqual(configOf(config({ document: labels })).spec.document.kubernetes, labels.kubernetes);
  });

  test('names at most twenty problems', async () => {
    const files = Array.from({ length: 30 }, (_, index) => ({ path: `no-${index}`, content: '' }));
    const message = await refusal(reviewOf('MachineadmConfig', config({ document: { host: { files } } })));
    assert.match(message ?? '', /; and \d+ more$/);
  });

  test('leaves to the condition Ready what only some releases of Kubernetes refuse', async () => {
    const args = (value: string) => ({
      document: { kubernetes: { node: { kubelet: { args: [{ name: 'feature-gates', value }] } } } },
    });
    // Removed with 1.27, and came with 1.36.
    for (const gate of ['CSIMigration=true', 'DRAWorkloadResourceClaims=true']) {
      assert.equal(await refusal(reviewOf('MachineadmConfig', config(args(gate)))), undefined, gate);
    }
  });

  test('never stops the end of an object, or a change of something else than its spec', async () => {
    const bad = { document: { host: { sysctls: {} } } };
    const oldObject = config(bad, { finalizers: ['a'] });
    assert.equal(await refusal(reviewOf('MachineadmConfig', config(bad), { oldObject })), undefined);
    const leaving = config({ document: { host: { sysctl: [] } } }, { deletionTimestamp: '2026-11-29T00:00:00Z' });
    assert.equal(await refusal(reviewOf('MachineadmConfig', leaving, { oldObject })), undefined);
    assert.match(
      (await refusal(reviewOf('MachineadmConfig', config(bad), { oldObject: config(good) }))) ?? '',
      /sysctls/,
    );
    assert.equal(await refusal(reviewOf('MachineadmConfig', null, { oldObject })), undefined, 'a removal');
  });

  test('refuses a document that takes too long, and fails where the translator fails', async () => {
    const failing = (error: Error) => ({ ...DIRECT_CONVERSIONS, configProblems: () => Promise.reject(error) });
    const body = reviewOf('MachineadmConfig', config(good));
    assert.match((await refusal(body, failing(new Kept('TooExpensive', 'took more than 3 s')))) ?? '', /more than 3 s/);
    await assert.rejects(refusal(body, failing(new Kept('TimedOut', 'too slow'))), /too slow/);
  });

  for (const [what, body] of [
    ['no JSON', '{'],
    ['no review', '{}'],
    ['another kind', reviewOf('Secret', config(good))],
    ['another group', reviewOf('MachineadmConfig', config(good), {}, 'example.com')],
  ] as const) {
    test(`is none for ${what}`, async () => {
      assert.equal(await validateReview(body, DIRECT_CONVERSIONS, '0.1.0', NEVER), undefined);
    });
  }
});
