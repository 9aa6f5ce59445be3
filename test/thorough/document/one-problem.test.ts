import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PathSegment } from '@machineadm/document/diagnostics/index.ts';
import { formatPath } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import fc from '../../support/property.ts';
import { changedDocuments } from '../../support/schema-arbitrary.ts';

/** How often one field is damaged: in different documents, but not in all of them. */
const MOST_OF_A_FIELD = 3;
/** What each document needs, and what the others refer to. */
const NOT_DAMAGED = new Set<PathSegment>(['apiVersion', 'kind', 'metadata', 'secrets', 'variables']);

const load = (document: unknown) =>
  loadDocument([{ name: 'd', bytes: new TextEncoder().encode(JSON.stringify(document)) }], { agentVersion: '0.1.0' });

function* places(value: unknown, path: readonly PathSegment[] = []): Generator<readonly PathSegment[]> {
  if (path.length > 1) yield path;
  if (value === null || typeof value !== 'object') return;
  const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [key, inner] of entries)
    if (path.length > 0 || !NOT_DAMAGED.has(key)) yield* places(inner, [...path, key]);
}

/** Without references of two places to one value, which structuredClone keeps. */
const copy = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const at = (value: unknown, path: readonly PathSegment[]): unknown =>
  path.reduce<unknown>((part, key) => (part as Readonly<Record<PathSegment, unknown>>)[key], value);

function withValue(document: unknown, path: readonly PathSegment[], value: unknown): unknown {
  const changed = copy(document);
  (at(changed, path.slice(0, -1)) as Record<PathSegment, unknown>)[path.at(-1) ?? ''] = value;
  return changed;
}

/** The problems of a document that was valid, without those at or below the place that was damaged. */
async function problemsElsewhere(document: unknown, path: readonly PathSegment[]): Promise<readonly string[]> {
  const result = await load(document);
  const place = formatPath(path);
  const problems = result.ok ? [] : result.problems.map((problem) => `${problem.path}: ${problem.message}`);
  // Not `host.proxy.https` for `host.proxy.http`.
  return problems.filter((problem) => !problem.startsWith(place) || !/^[.:[]/.test(problem.slice(place.length)));
}

/** A valid document of each kind, and the places of it that were not damaged often enough yet. */
async function* damaged(
  numRuns: number,
): AsyncGenerator<{ readonly document: unknown; readonly path: readonly PathSegment[] }> {
  const counts = new Map<string, number>();
  for (const document of fc.sample(changedDocuments(jsonSchema() ?? {}), { numRuns })) {
    const result = await load(document);
    if (!result.ok || result.document.unresolved.length > 0) continue;
    for (const path of places(document)) {
      const field = path.filter((segment) => typeof segment === 'string').join('/');
      const count = counts.get(field) ?? 0;
      counts.set(field, count + 1);
      if (count < MOST_OF_A_FIELD) yield { document, path };
    }
  }
}

test('a value of a wrong type, and a value that only the machine knows, cause no problem at another place', async () => {
  let count = 0;
  for await (const { document, path } of damaged(6000)) {
    count++;
    const place = formatPath(path);
    assert.deepEqual(await problemsElsewhere(withValue(document, path, { zz: 1 }), path), [], place);
    if (typeof at(document, path) !== 'string') continue;
    assert.deepEqual(await problemsElsewhere(withValue(document, path, '${v}'), path), [], `${place}, from a variable`);
  }
  assert.ok(count > 900, `${count}`);
});
