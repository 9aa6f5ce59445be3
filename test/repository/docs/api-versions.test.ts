import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { CONFIGS } from '../../../packages/translator/src/provider/objects.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** A string of the sources that is an apiVersion of ours, whole. */
const API_VERSION = /'((?:[a-z]+\.)*machineadm\.dev\/(?:[a-z]+\/)?v\d[a-z0-9]*)'/g;
const found = (text: string): readonly string[] => [...text.matchAll(API_VERSION)].map(([, version = '']) => version);

describe('every apiVersion', () => {
  const listed = [...read('docs/versions.md').matchAll(/^\| `([^`]+\/v\d[a-z0-9]*)` \|/gm)].map(
    ([, name = '']) => name,
  );

  test('that the sources write or read is in docs/versions.md with the reason why it is as it is, and no other', () => {
    const sources = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: ROOT }).flatMap((path) =>
      found(read(path)),
    );
    assert.ok(sources.length >= 7, `${sources.length} found`);
    const provider = CONFIGS.replace('/apis/', '');
    assert.deepEqual([...new Set([...sources, provider])].sort(), listed.toSorted());
  });

  test('of a schema is in docs/versions.md', () => {
    const schemas = globSync('contract/**/*.json', { cwd: ROOT }).flatMap((path) =>
      [...read(path).matchAll(/"const": "([^"]*machineadm\.dev\/[^"]*)"/g)].map(([, version = '']) => version),
    );
    assert.ok(schemas.length >= 20, `${schemas.length} found`);
    assert.deepEqual(
      [...new Set(schemas)].filter((version) => !listed.includes(version)),
      [],
    );
  });
});
