import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { STEP_IDS, type StepId, stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import { publishedStepIds } from '../../../scripts/generate/tables.ts';
import { ALL_STEPS, PIPELINE, pipelineFor, stepsFor } from '../../../src/pipeline/pipeline.ts';
import type { FollowUp } from '../../../src/step/index.ts';

const PUBLISHED = readFileSync(resolve(import.meta.dirname, '../../fixtures/step-ids.txt'), 'utf8');
const SOURCES = resolve(import.meta.dirname, '../../../src');

/** The steps in the order of the pipeline, each with the text of the files that are its own. */
function stepSources(): { readonly id: string; readonly file: string; readonly text: string }[] {
  const story = readFileSync(join(SOURCES, 'pipeline/pipeline.ts'), 'utf8');
  const files = [...story.matchAll(/from '\.\.\/((?:features|undo)\/[^']+)'/g)].map(([, file]) => file ?? '');
  return files
    .flatMap((file) => {
      const folder = file.endsWith('/index.ts') ? globSync(`${dirname(file)}/**/*.ts`, { cwd: SOURCES }) : [file];
      const own = folder.filter((part) => part === file || !files.includes(part));
      const text = own.map((part) => readFileSync(join(SOURCES, part), 'utf8')).join('\n');
      const ids = [...text.matchAll(/^ {2,4}id: '([^']+)'|hooksStep\(\s*'([^']+)'/gm)];
      return ids.flatMap(([, id, hook]) => [{ id: id ?? hook ?? '', file, text }]);
    })
    .filter(({ id }) => ALL_STEPS.some((step) => step.id === id));
}

describe('the pipeline', () => {
  test('names each step once', () => {
    const ids = ALL_STEPS.map((step) => step.id);
    assert.deepEqual([...new Set(ids)], ids);
    for (const id of ids) assert.match(id, /^[a-z][a-z-]*$/);
  });

  test('of Windows has the name before the domain, and proves the node before the sentinel', () => {
    const order = stepsFor('all', 'windows').map((step) => step.id);
    assert.equal(new Set(order).size, order.length);
    const inOrder = (...ids: string[]) =>
      assert.deepEqual(
        order.filter((id) => ids.includes(id)),
        ids,
      );
    inOrder('hooks-early', 'hostname', 'time', 'clock', 'files', 'active-directory', 'services');
    inOrder('kubeadm-config', 'hooks-before-bootstrap', 'kubeadm', 'readiness', 'sentinel', 'hooks-after-bootstrap');
    assert.deepEqual(stepsFor('base', 'windows'), pipelineFor('windows').host);
  });

  test('has a title for each step, and shows the id of one that it does not know', () => {
    for (const id of STEP_IDS) assert.notEqual(stepTitle(id).trim(), '', id);
    assert.equal(stepTitle('sysctl'), 'kernel settings');
    assert.equal(stepTitle('step-of-a-later-version'), 'step-of-a-later-version');
  });

  test('is for an image what it is for the host', () => {
    assert.deepEqual(stepsFor('base', 'linux'), PIPELINE.host);
    assert.deepEqual(stepsFor('all', 'linux'), ALL_STEPS);
  });

  test('has the steps that are published, each once, and no other', () => {
    const ids = [...stepsFor('all', 'windows'), ...ALL_STEPS].map(({ id }) => id);
    assert.deepEqual([...new Set(ids)].sort(), [...STEP_IDS]);
    assert.equal(new Set(ALL_STEPS.map(({ id }) => id)).size, ALL_STEPS.length);
  });

  test('never lost a step that was published (test/fixtures/step-ids.txt)', () => {
    const known = new Set<string>(STEP_IDS);
    assert.deepEqual(
      PUBLISHED.split('\n').filter((id) => id !== '' && !known.has(id)),
      [],
    );
    assert.equal(publishedStepIds(PUBLISHED), PUBLISHED, 'npm run generate records new ones');
  });

  test('proves readiness before the sentinel, and lays the configuration before kubeadm', () => {
    const order = ALL_STEPS.map((step) => step.id);
    const before = (a: StepId, b: StepId) => {
      assert.ok(order.includes(a) && order.includes(b), `${a} and ${b} are steps`);
      assert.ok(order.indexOf(a) < order.indexOf(b), `${a} comes before ${b}`);
    };
    before('readiness', 'sentinel');
    before('kubeadm', 'readiness');
    before('kubeadm-config', 'kubeadm');
    before('kubeadm-reset', 'files');
    before('sentinel', 'hooks-after-bootstrap');
  });
});

/** Whether the step for services by the full names of their units settles it. */
const byFullName = (followUp = ''): boolean =>
  ALL_STEPS.find(({ id }) => id === 'restarts')?.followUps?.settlesFor?.(true, new Set([followUp as FollowUp]))
    .length === 1;

// What a change owes is data that plan() makes, so no type tells it. But a follow-up is a literal, and it can only come
// from the files of the step that owes it: each literal there must be settled by that step or by a later one.
test('every step has a place in the document, except those that follow from others', () => {
  const without = ALL_STEPS.filter(({ section }) => section === undefined).map(({ id }) => id);
  assert.deepEqual([...new Set(without)].sort(), ['removals', 'restarts', 'sentinel']);
});

describe('every follow-up that a step can create', () => {
  const sources = stepSources();

  test('is searched for in the files of every step', () => {
    assert.deepEqual(
      ALL_STEPS.map((step) => step.id).filter((id) => !sources.some((source) => source.id === id)),
      [],
    );
  });

  for (const { id, file, text } of sources) {
    const literals = new Set(
      [...text.matchAll(/'(daemon-reload|update-ca-certificates|restart:[^']+)'/g)].map(([, name]) => name),
    );
    if (literals.size === 0) continue;
    test(`by ${id} is settled by it or by a later step`, () => {
      const index = ALL_STEPS.findIndex((step) => step.id === id);
      const settled = new Set<FollowUp>(ALL_STEPS.slice(index).flatMap((step) => step.followUps?.settles ?? []));
      for (const literal of literals)
        assert.ok([...settled].some((one) => one === literal) || byFullName(literal), `${file}: ${literal}`);
    });
  }

  test('is a literal, but where a step settles the services that it computes by itself', () => {
    for (const { id, file, text } of sources) {
      // By full names of units, which a step of its own settles.
      if (!text.includes('`restart:${') || (id === 'removals' && byFullName('restart:any.service'))) continue;
      // Steps of one folder share its files: one of them settles what is computed there.
      const beside = sources.filter((other) => other.file === file).flatMap((other) => other.id);
      const settledBeside = ALL_STEPS.some(
        ({ id: other, followUps: { settles = [], settlesFor } = {} }) =>
          beside.includes(other) && (settlesFor !== undefined || settles.some((one) => one.startsWith('restart:'))),
      );
      assert.ok(settledBeside, `${file}: ${id}`);
    }
  });
});
