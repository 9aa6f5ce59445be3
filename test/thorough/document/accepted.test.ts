import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { validateDocument } from '@machineadm/document/library.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { documentSecrets } from '@machineadm/document/loading/secrets-of.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { leaves, toPlain } from '@machineadm/document/trees/tree.ts';
import { VERBATIM_TAG } from '@machineadm/document/values/verbatim.ts';
import { exampleDocument } from '@machineadm/document/versions/example.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import { sections } from '@machineadm/document/versions/v1alpha1/sections.ts';
import { parseYaml } from '@machineadm/document/yaml/parse.ts';
import { renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { CARRIERS, wrapDocument } from '@machineadm/user-data/index.ts';
import { stringify } from 'yaml';
import type * as z from 'zod';
import { stepsFor } from '../../../src/pipeline/pipeline.ts';
import { planStep } from '../../../src/pipeline/plan-step.ts';
import { EMPTY_RECORD, type Step } from '../../../src/step/index.ts';
import { problemsOf } from '../../support/document.ts';
import { facts } from '../../support/facts.ts';
import { type MemoryProgram, memoryHost, queryOnly } from '../../support/memory-host.ts';
import fc from '../../support/property.ts';
import { changedDocuments } from '../../support/schema-arbitrary.ts';

const MINORS = [20, 21, 22, 25, 28, 30, 31, 33, 35, 37];
const ROLES = ['InitControlPlane', 'JoinControlPlane', 'Worker'] as const;

/** All that is done with an accepted document without its machine. Only errors with a reason may end any of it. */
async function useEverywhere(text: string): Promise<boolean> {
  const result = await loadDocument([{ name: 'd', bytes: new TextEncoder().encode(text) }], { agentVersion: '0.1.0' });
  if (!result.ok) {
    result.problems.map(formatDiagnostic);
    return false;
  }
  const { model, tree } = result.document;
  const attempts: (() => unknown)[] = [
    () => JSON.stringify(redactDeep(leaves(tree))),
    () => JSON.stringify(redactDeep(toPlain(tree))),
    () => stringify(redactDeep(toPlain(tree)), { customTags: [VERBATIM_TAG] }),
    () => documentSecrets(result.document),
  ];
  for (const format of Object.keys(CARRIERS) as (keyof typeof CARRIERS)[]) {
    attempts.push(() => wrapDocument(text, result.document, { format }));
  }
  for (const minor of MINORS) {
    const kubeadm = parseVersion(`v1.${minor}.2`);
    const { kubernetes, containerd, host } = model;
    if (kubeadm === undefined || kubernetes === undefined) continue;
    attempts.push(() =>
      renderKubeadm({
        kubernetes,
        kubeadm,
        secrets: () => 'x',
        nodeName: host.hostname,
        cgroupDriver: containerd?.cgroupDriver,
      }),
    );
  }
  for (const step of stepsFor('all', model.host.platform)) attempts.push(() => planned(step, model));
  for (const attempt of attempts) {
    try {
      await attempt();
    } catch (error) {
      if (!(error instanceof MachineadmError)) throw error;
    }
  }
  return true;
}

/** What a step would change on a machine that has every tool, and nothing else. */
async function planned(step: Step, model: Model): Promise<unknown> {
  const desired = step.desired(model, facts({ platform: model.host.platform }));
  if (desired === undefined) return undefined;
  const host = queryOnly(memoryHost({ programs: ANY_PROGRAM }));
  await step.preflight?.(host, desired);
  const changes = await planStep(step, desired, host, EMPTY_RECORD, 'all');
  return changes.map(({ id, summary, diff }) => ({ id, summary, diff }));
}

const ANY_PROGRAM = new Proxy<Readonly<Record<string, MemoryProgram>>>({}, { get: () => () => ({}), has: () => true });

const WORDS = [
  ...[
    'a',
    'node-1',
    '/srv/a',
    '/',
    '10.0.0.1',
    '10.0.0.0/16',
    '::1',
    '[::1]:5000/x',
    'Upper/Case',
    'registry.example:5000/k',
    'a.b:6443',
  ],
  ...[
    '90s',
    '365d',
    '20Gi',
    '0644',
    'root:root',
    'https://a.example/x',
    'http://[::1]/',
    'v1.35.2',
    '${v}',
    '$${v}',
    '${',
    '',
    ' ',
    '-',
    '.',
    '..',
  ],
  ...[
    '\u{1f600}',
    'é',
    'a\nb',
    'x'.repeat(300),
    'aGVsbG8=',
    'abcdef.0123456789abcdef',
    '0'.repeat(64),
    'sha256:00',
    'system:bootstrappers:a',
  ],
  ...[
    'unix:///run/x.sock',
    'constructor',
    '__proto__',
    'toString',
    'kubelet',
    'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n',
  ],
  '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----',
];
const word = fc.constantFrom(...WORDS);

/** Values that a schema may take: each alternative, each enumerated word, texts that tempt what comes after. */
function valuesOf(schema: z.core.$ZodType, depth = 0): fc.Arbitrary<unknown> {
  const { def } = schema._zod;
  switch (def.type) {
    case 'optional':
      return valuesOf((def as z.core.$ZodOptionalDef).innerType, depth);
    case 'union':
      return fc.oneof(...(def as z.core.$ZodUnionDef).options.map((option) => valuesOf(option, depth)));
    case 'enum':
      return fc.constantFrom(...Object.values((def as z.core.$ZodEnumDef).entries));
    case 'literal':
      return fc.constantFrom(...(def as z.core.$ZodLiteralDef<string>).values);
    case 'boolean':
      return fc.boolean();
    case 'number':
    case 'int' as 'number':
      return fc.oneof(fc.integer({ min: 0, max: 70_000 }), fc.constantFrom(0, -1, 1.5));
    case 'array': {
      const item = valuesOf((def as z.core.$ZodArrayDef).element, depth + 1);
      return fc.array(item, { maxLength: depth > 6 ? 0 : 2 });
    }
    case 'record':
      return fc.dictionary(word, valuesOf((def as z.core.$ZodRecordDef).valueType, depth + 1), {
        maxKeys: depth > 6 ? 0 : 2,
      });
    case 'object': {
      const shape = Object.entries((def as z.core.$ZodObjectDef).shape);
      const required = shape.filter(([, part]) => part._zod.def.type !== 'optional').map(([key]) => key);
      return fc.record(Object.fromEntries(shape.map(([key, part]) => [key, valuesOf(part, depth + 1)])), {
        requiredKeys: required,
      });
    }
    case 'lazy':
      return depth > 6 ? fc.constant({}) : valuesOf((def as z.core.$ZodLazyDef).getter(), depth + 1);
    case 'string':
      return word;
    default:
      return fc.oneof(word, fc.integer(), fc.constant(null));
  }
}

/** One part of the document at a random place of the schema, set in a document that is right without it. */
function change(
  schema: z.core.$ZodType,
  path: readonly string[],
): fc.Arbitrary<{ path: readonly string[]; value: unknown }> {
  const { def } = schema._zod;
  const whole = valuesOf(schema, 4).map((value) => ({ path, value }));
  if (def.type === 'optional') return change((def as z.core.$ZodOptionalDef).innerType, path);
  if (def.type !== 'object') return whole;
  const parts = Object.entries((def as z.core.$ZodObjectDef).shape).map(([key, part]) => change(part, [...path, key]));
  return fc.oneof(...parts);
}

const changes = fc.oneof(...Object.entries(sections).map(([name, { schema }]) => change(schema, [name])));

function set(document: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key = '', ...rest] = path;
  const part = document[key];
  // The value belongs to whoever made it, and a later change reaches into this one.
  if (rest.length === 0) document[key] = structuredClone(value);
  else if (part !== null && typeof part === 'object' && !Array.isArray(part))
    set(part as Record<string, unknown>, rest, value);
  else {
    const made = {};
    document[key] = made;
    set(made, rest, value);
  }
}

const BASES = ROLES.map((role) => {
  const tree = parseYaml('d', exampleDocument(role), []);
  assert.ok(tree !== undefined);
  return toPlain(tree) as Record<string, unknown>;
});

describe('a document that is accepted', () => {
  test('is rendered, wrapped, planned and shown without an internal error, whatever its fields hold', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...BASES),
        fc.array(changes, { minLength: 1, maxLength: 3 }),
        async (base, made) => {
          const document = structuredClone(base);
          for (const { path, value } of made) set(document, path, value);
          if (await useEverywhere(JSON.stringify(document))) accepted++;
        },
      ),
      { numRuns: 400 },
    );
    assert.ok(accepted > 20, `${accepted} were accepted: too few to prove anything`);
  });

  test('is planned, too, where it is made of the examples of the schema', async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(changedDocuments(jsonSchema() ?? {}), async (document) => {
        if (await useEverywhere(JSON.stringify(document))) accepted++;
      }),
      { numRuns: 150 },
    );
    assert.ok(accepted > 40, `${accepted} were accepted: too few to prove anything`);
  });

  const base = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n}\n';
  const init = 'kubernetes: {version: v1.35.2, role: InitControlPlane, cluster: ';
  for (const [what, body] of [
    ['an IPv6 literal as image repository', `${init}{imageRepository: "[fd00::1]:5000/k8s"}}\n`],
    [
      'base64 with a variable that only the machine knows',
      'variables: {v: {env: V}}\nhost: {files: [{path: /a, encoding: base64, expand: true, content: "${v}!"}]}\n',
    ],
    [
      'compressed content with one',
      'variables: {v: {env: V}}\nhost: {files: [{path: /a, encoding: gzip+base64, expand: true, content: "${v}"}]}\n',
    ],
    [
      'a secret in the headers of another',
      'secrets: {a: {value: x}, b: {http: {url: "https://a/b", headers: {A: {secret: a}}}}}\nhost: {files: [{path: /a, contentFrom: {secret: b}}]}\n',
    ],
  ] as const) {
    test(`with ${what} is used everywhere`, async () => {
      assert.equal(await useEverywhere(base + body), true);
    });
  }

  for (const [what, body, expected] of [
    [
      'capitals in an image repository',
      `${init}{imageRepository: Registry.example/K8S}}\n`,
      'kubernetes.cluster.imageRepository: "Registry.example/K8S" is not an image repository',
    ],
    [
      'a blank in an image repository',
      `${init}{imageRepository: "a b"}}\n`,
      'kubernetes.cluster.imageRepository: "a b" is not an image repository',
    ],
    [
      'a feature gate with a dash',
      `${init}{featureGates: {a-b: true}}}\n`,
      'kubernetes.cluster.featureGates: "a-b" is not the name of a feature gate',
    ],
    ['a surrogate alone', 'secrets: {a: {value: "\\ud800"}}\n', 'half of a character'],
    [
      'a header that is no secret',
      'secrets: {b: {http: {url: "https://a/b", headers: {A: {secret: other}}}}}\n',
      'secrets.b.http.headers.A.secret: no secret of the name "other"',
    ],
    [
      'secrets that need each other',
      'secrets: {a: {http: {url: "https://a/b", headers: {A: {secret: b}}}}, b: {http: {url: "https://a/b", headers: {A: {secret: a}}}}}\n',
      'needs a secret that is fetched with this one',
    ],
    [
      'a chain of secrets',
      `secrets: {${Array.from({ length: 5000 }, (_, at) => `s${at}: {http: {url: "https://a/b", headers: {A: {secret: s${at + 1}}}}}`).join(', ')}, s5000: {value: x}}\n`,
      'needs a chain of too many other secrets',
    ],
  ] as const) {
    test(`does not have ${what}`, async () => {
      const problems = await problemsOf(body);
      assert.equal(problems.length, 1, problems.slice(0, 5).join('\n'));
      assert.ok(problems[0]?.includes(expected), problems[0]);
    });
  }
});

test('the library refuses, and never throws', async () => {
  for (const content of [
    'a: &a [*a]\n',
    'a: &a {b: *a}\n',
    'a: *b\n',
    '\u0000',
    '{"a":',
    '"\\ud800"',
    '[['.repeat(10_000),
    new Uint8Array([0x1f, 0x8b, 1]),
    new Uint8Array([0xff]),
  ]) {
    const result = await validateDocument([{ name: 'd', content }], { agentVersion: '0.1.0' });
    assert.equal(result.valid, false);
  }
});
