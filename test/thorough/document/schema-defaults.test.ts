import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';

type Schema = Readonly<Record<string, unknown>>;
type Value = Readonly<Record<string, unknown>>;

const root = jsonSchema() ?? {};
const definitions = root.$defs as Readonly<Record<string, Schema>>;

const names = [...JSON.stringify(root).matchAll(/"secret":"(\w+)"/g)].map(([, name = '']) => [name, { env: 'S' }]);
const HEADER = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name: 'node-1' } };
const SECRETS = { secrets: Object.fromEntries(names) as Value };

function resolved(schema: Schema): Schema {
  return typeof schema.$ref === 'string' ? { ...definitions[schema.$ref.replace('#/$defs/', '')], ...schema } : schema;
}

/** Passed on as they are: the default is that of the program that reads them, and absent there as well. */
const OF_THE_READER =
  /^kubernetes\.controlPlane\.apiServer\.(?:audit|authentication\.structured|authorization\.webhook)\.|^kubernetes\.node\.taints\[\]\.value$|^host\.hooks\.\w+\.environment$|^reporting\.sinks\[\]\.(?:kubeconfig|inboxPrefix)$/;

interface Default {
  readonly path: string;
  readonly without: Value;
  readonly written: Value;
}

/** Each field with a default, in a document made of the examples around it: without it, and with the default written. */
function* defaults(
  given: Schema,
  path: string,
  example: unknown,
  put: (value: unknown) => Value,
  depth = 0,
): Generator<Default> {
  const schema = resolved(given);
  if (depth > 12) return;
  for (const part of (schema.anyOf as Schema[] | undefined) ?? []) {
    const own = (resolved(part).examples as unknown[] | undefined)?.[0] ?? example;
    yield* defaults(part, path, own, put, depth + 1);
  }
  if (schema.type === 'array') {
    const [item] = Array.isArray(example) ? example : [];
    yield* defaults(schema.items as Schema, `${path}[]`, item, (value) => put([value]), depth + 1);
  }
  if (schema.type !== 'object' || schema.properties === undefined) return;
  const around = (typeof example === 'object' && example !== null ? example : {}) as Value;
  for (const [name, declared] of Object.entries(schema.properties as Readonly<Record<string, Schema>>)) {
    const field = resolved(declared);
    const { [name]: _written, ...others } = around;
    const at = path === '' ? name : `${path}.${name}`;
    if ('default' in declared) {
      yield { path: at, without: put(others), written: put({ ...others, [name]: declared.default }) };
    }
    const [inner] = (declared.examples as unknown[] | undefined) ?? [];
    yield* defaults(field, at, inner, (value) => put({ ...others, [name]: value }), depth + 1);
  }
}

async function modelOf(document: Value): Promise<Model | undefined> {
  const bytes = new TextEncoder().encode(JSON.stringify({ ...HEADER, ...SECRETS, ...document }));
  const result = await loadDocument([{ name: 'd', bytes }], { agentVersion: '0.1.0' });
  return result.ok ? result.document.model : undefined;
}

test('a default that is written out means the same as no field at all', async () => {
  const { metadata: _metadata, secrets: _secrets, variables: _variables, ...sections } = root.properties as Value;
  const different: string[] = [];
  const compared = new Set<string>();
  for (const { path, without, written } of defaults(
    { type: 'object', properties: sections },
    '',
    {},
    (value) => value as Value,
  )) {
    const [absent, explicit] = [await modelOf(without), await modelOf(written)];
    // Not every example stands alone.
    if (absent === undefined || explicit === undefined || OF_THE_READER.test(path)) continue;
    compared.add(path);
    if (!isDeepStrictEqual(JSON.parse(JSON.stringify(absent)), JSON.parse(JSON.stringify(explicit))))
      different.push(path);
  }
  assert.deepEqual([...new Set(different)], []);
  assert.ok(compared.size > 100, `only ${compared.size} defaults were compared`);
});
