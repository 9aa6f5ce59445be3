import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { CATALOGUE } from '@machineadm/failures/catalogue.ts';

const root = resolve(import.meta.dirname, '../../..');
const schema: unknown = JSON.parse(readFileSync(join(root, 'contract/schema/v1alpha1.json'), 'utf8'));

/** `kubernetes.node.kubelet.args`, and what looks like a field path but does not begin at the document's root. */
const PATH =
  /(?<![\w./'"-])(?:host|kubernetes|images|containerRuntime|hardening|reporting|node|cluster|controlPlane|join|apiServer|storage)(?:\.[a-z][A-Za-z]*)+(?![\w/])/g;

function property(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

/** Every schema that a field of these schemas may have. */
function fieldsOf(schemas: readonly unknown[], name: string): readonly unknown[] {
  return schemas.flatMap((one) => {
    const inside = property(property(one, 'properties'), name);
    const branches = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => {
      const list = property(one, key);
      return Array.isArray(list) ? fieldsOf(list, name) : [];
    });
    const items = property(one, 'items');
    const reference = property(one, '$ref');
    const referred =
      typeof reference === 'string' ? property(property(schema, '$defs'), reference.slice(8)) : undefined;
    return [
      ...(inside === undefined ? [] : [inside]),
      ...branches,
      ...(items === undefined ? [] : fieldsOf([items], name)),
      ...(referred === undefined ? [] : fieldsOf([referred], name)),
    ];
  });
}

function exists(path: string): boolean {
  const steps = path.split('.');
  return steps.reduce<readonly unknown[]>(fieldsOf, [schema]).length > 0;
}

test('every field that a remedy names is one of the document', () => {
  const texts = [
    ...CATALOGUE.map(({ id, remedy }) => [id, remedy] as const),
    ...globSync('src/**/*.ts', { cwd: root }).map((file) => {
      const source = readFileSync(join(root, file), 'utf8');
      return [
        file,
        [...source.matchAll(/remedy:\s*(?:[^'"`]*?)(['"`])(.*?)\1,?$/gm)].map((match) => match[2]).join('\n'),
      ] as const;
    }),
  ];
  const paths = texts.flatMap(([where, text]) => (text.match(PATH) ?? []).map((path) => [where, path] as const));
  assert.ok(paths.length > 60, `${paths.length} paths were found`);
  assert.deepEqual(
    paths.filter(([, path]) => !exists(path)),
    [],
  );
});
