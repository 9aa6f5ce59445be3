import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { evaluateJsonPath } from '../../../src/cli/jsonpath.ts';

const DATA = {
  kind: 'Status',
  phase: 'Concluded',
  'dotted.name': 7,
  steps: [
    { id: 'swap', state: 'Done', changes: ['a', 'b'], durationMs: 5 },
    { id: 'files', state: 'Failed', changes: [], durationMs: 12, failure: { reason: 'X', summary: 'it "failed"' } },
    { id: 'kubeadm', state: 'Skipped', changes: ['c'] },
  ],
};

/** As `kubectl -o jsonpath` prints it. */
describe('a JSONPath template', () => {
  for (const [template, printed] of [
    ['{.kind}', 'Status'],
    ['.kind', 'Status'],
    ['{$.kind}/{@.phase}', 'Status/Concluded'],
    ['{.steps[0].id} {.steps[-1].id}', 'swap kubeadm'],
    ['{.steps[3].id}', ''],
    ['{.steps.id}', ''],
    ['{.steps[*].id}', 'swap files kubeadm'],
    ['{.steps[1].failure}', '{"reason":"X","summary":"it \\"failed\\""}'],
    ['{.steps[0].durationMs}', '5'],
    ['{.steps[0].*}', 'swap Done ["a","b"] 5'],
    ["{['kind']}", 'Status'],
    ['{["dotted.name"]}', '7'],
    ['{.dotted\\.name}', '7'],
    ['{..id}', 'swap files kubeadm'],
    ['{..reason}', 'X'],
    ['{.steps[?(@.state=="Failed")].id}', 'files'],
    ["{.steps[?(@.state!='Failed')].id}", 'swap kubeadm'],
    ['{.steps[?(@.durationMs==12)].id}', 'files'],
    ['{.steps[?(@.failure)].id}', 'files'],
    ['{range .steps[*]}{.id}={.state}{"\\n"}{end}', 'swap=Done\nfiles=Failed\nkubeadm=Skipped\n'],
    ['{range .steps[*]}{range .changes[*]}<{@}>{end};{end}', '<a><b>;;<c>;'],
    ['{range .steps[*]}{$.kind},{end}', 'Status,Status,Status,'],
    ["{'a\\tb\\\\c'}", 'a\tb\\c'],
    ['{.missing}{.missing.too}', ''],
    ['plain {.kind} text', 'plain Status text'],
  ] as const) {
    test(`${template} gives ${JSON.stringify(printed)}`, () => {
      assert.equal(evaluateJsonPath(template, DATA), printed);
    });
  }

  for (const [template, why] of [
    ['{.kind', /a brace is not closed/],
    ['{end}', /\{end\} without \{range\}/],
    ['{range .steps[*]}{.id}', /\{range\} without \{end\}/],
    ['{.steps[0}', /"\[0" is not a field, index or filter/],
    ['{.steps[0:2]}', /"\[0:2\]" is not a field/],
  ] as const) {
    test(`${template} is refused`, () => {
      assert.throws(
        () => evaluateJsonPath(template, DATA),
        (error) => error instanceof MachineadmError && error.reason === 'UsageInvalid' && why.test(error.message),
      );
    });
  }
});
