import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { STEPS_BY_ID } from '../../../src/pipeline/pipeline.ts';
import type { FeatureStep } from '../../../src/step/feature-step.ts';
import { CASES } from '../../support/all-cases.ts';

const FEATURES = resolve(import.meta.dirname, '../../../src/features');

/** Changes what the steps of other features made. */
const OF_OTHERS = new Set(['upgrade']);

/** The features with a step whose changes a field of the host or of the container runtime causes. */
async function featuresOfTheHost(): Promise<ReadonlySet<string>> {
  const steps = new Set<unknown>(STEPS_BY_ID.values());
  const found = new Set<string>();
  for (const file of globSync('**/*.ts', { cwd: FEATURES })) {
    const exported: Readonly<Record<string, unknown>> = await import(join(FEATURES, file));
    const own = Object.values(exported).filter((one): one is FeatureStep => steps.has(one));
    const [feature = ''] = dirname(file).split('/');
    if (own.some(({ section = '' }) => /^(?:host|containerRuntime)\./.test(section))) found.add(feature);
  }
  return found;
}

test('a feature of the host has cases for the tests of all features (test/unit/features/NAME/cases.ts)', async () => {
  const features = [...(await featuresOfTheHost())].filter((feature) => !OF_OTHERS.has(feature));
  assert.deepEqual([...CASES.keys()].sort(), features.sort());
});
