import assert from 'node:assert/strict';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { stepsFor } from '../../../src/pipeline/pipeline.ts';
import { APPLY_FAILURES, OF_APPLY, planAndApplyPage } from '../../support/apply-failures/index.ts';
import { SITUATIONS } from '../../support/apply-failures/situations.ts';
import { loaded } from '../../support/document.ts';
import { facts } from '../../support/facts.ts';
import { Transcript } from '../../support/machine-in-memory.ts';
import { memoryHost } from '../../support/memory-host.ts';
import { runStep } from '../../support/run-step.ts';

const ROOT = join(import.meta.dirname, '../../..');
const HEAD = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: vm}\n';

describe('every reason with which the changes of a run can fail', () => {
  test('has a row: where plan and doctor name it, or why they cannot', () => {
    const expected = Object.entries(REASONS).flatMap(([name, { exit }]) => (OF_APPLY.has(exit) ? [name] : []));
    assert.deepEqual(Object.keys(APPLY_FAILURES).sort(), expected.sort());
    for (const reason of Object.keys(SITUATIONS)) assert.ok(reason in REASONS, reason);
  });

  test('that another test shows is asserted there', () => {
    for (const [reason, row] of Object.entries(APPLY_FAILURES)) {
      if (!('shown' in row)) continue;
      const text = readFileSync(join(ROOT, 'test', row.shown), 'utf8');
      assert.match(text, new RegExp(`\\b${reason}\\b`), `${row.shown}: ${reason}`);
      assert.match(text, /preflight|requirements|refused|obstacle/i, row.shown);
    }
  });

  test('is on the page', () => {
    assert.equal(readFileSync(join(ROOT, 'docs/plan-and-apply.md'), 'utf8'), planAndApplyPage());
  });
});

for (const [reason, situations] of Object.entries(SITUATIONS))
  describe(`${reason} is known before a run`, () => {
    for (const { what, document, machine = {}, facts: different = {}, step, isWarning = false } of situations) {
      test(`${what}: plan, doctor and provision name it, and nothing is changed`, async () => {
        using story = new Transcript(machine, different);
        chmodSync(story.file('vm.yaml', `${HEAD}${document}\n`), 0o600);
        const proof = `[${reason}]`;
        const plan = await story.run('plan -f DIR/vm.yaml');
        // The text of plan has the reason of what refuses a run; a warning has it in JSON.
        const told = isWarning ? (await story.run('plan -f DIR/vm.yaml -o json')).stdout : plan.stdout;
        assert.ok(told.includes(isWarning ? `"${reason}"` : proof), `plan: ${told}${plan.stderr}`);
        assert.equal(plan.status, isWarning ? 0 : 4, plan.stdout);
        const doctor = await story.run('doctor -f DIR/vm.yaml');
        assert.ok(doctor.stdout.includes(proof), `doctor: ${doctor.stdout}${doctor.stderr}`);
        if (!isWarning) assert.equal(doctor.status, 20, doctor.stdout);
        assert.deepEqual(story.machine.host.log, []);
      });

      if (step !== undefined)
        test(`${what}: the step ${step} fails with it if it is applied all the same`, async () => {
          const { model } = await loaded(`${document}\n`);
          const found = stepsFor('all', 'linux').find(({ id }) => id === step);
          assert.ok(found);
          const options = { facts: facts(different) };
          await assert.rejects(runStep(found, memoryHost(machine), model, options), { reason });
        });
    }
  });
