import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatPlan, type PlanView } from '../../../../src/commands/plan/text.ts';
import type { PlannedChange, PlanWithProblems } from '../../../../src/pipeline/plan.ts';

const VIEW: PlanView = {
  diff: false,
  ids: false,
  positions: false,
  width: undefined,
  paint: (_, text) => text,
  order: ['hooks-early', 'files', 'containerd'],
};

function change(id: string, action: PlannedChange['action'], more: Partial<PlannedChange> = {}): PlannedChange {
  const [step = ''] = id.split('/');
  return { id, step, action, summary: `summary of ${id}`, scope: 'base', ...more };
}

function plan(changes: readonly PlannedChange[], more: Partial<PlanWithProblems> = {}): PlanWithProblems {
  return { changes, remarks: [], problems: [], findings: [], ...more };
}

const SEVERAL = [
  change('files/a', 'add', { diff: '@@ -0,0 +1,1 @@\n+one' }),
  change('files/b', 'change', { reboots: true, knownAfter: 'secrets' }),
  change('files/c', 'remove'),
  change('follow-up/daemon-reload', 'run', { step: 'files' }),
  change('follow-up/restart:containerd', 'restart', { step: 'containerd' }),
  change('follow-up/restart:ssh', 'restart', { step: 'containerd' }),
  change('hooks-early/run', 'run', { step: 'hooks-early', commands: ['echo one\necho two', 'true'] }),
];

describe('a plan for people', () => {
  test('groups changes by step in the order of a run, marks what each does, and sums up', () => {
    assert.deepEqual(formatPlan(plan(SEVERAL), [], VIEW).split('\n'), [
      'early hooks',
      '  > summary of hooks-early/run',
      'files',
      '  + summary of files/a',
      '  ~ summary of files/b, then reboot (known after secrets)',
      '  - summary of files/c',
      '  > summary of follow-up/daemon-reload',
      'container runtime',
      '  ↻ summary of follow-up/restart:containerd',
      '  ↻ summary of follow-up/restart:ssh',
      '',
      'Plan: 1 to add, 1 to change, 1 to remove; runs daemon-reload, early hooks; restarts containerd, ssh; reboots. Nothing was changed.',
    ]);
  });

  test('shows diffs, commands, ids and places on request', () => {
    const position = { file: 'a.yaml', line: 3, column: 5 };
    const [first, ...rest] = SEVERAL;
    assert.ok(first !== undefined);
    const changes = [{ ...first, field: 'host.files[0]', position }, ...rest];
    const text = formatPlan(plan(changes), [], { ...VIEW, diff: true, ids: true, positions: true });
    assert.match(
      text,
      /^ {2}\+ summary of files\/a {2}\[files\/a\]\n {6}a\.yaml:3:5 {2}host\.files\[0\]\n {6}@@ .*\n {6}\+one$/m,
    );
    assert.match(text, /^ {6}\$ echo one\n {8}echo two\n {6}\$ true$/m);
  });

  test('is as wide as its terminal, but for lines of diffs, which are whole', () => {
    const long = 'word '.repeat(60).trim();
    const changes = [change('files/a', 'add', { summary: long, diff: `@@ -0,0 +1,1 @@\n+${'x'.repeat(500)}` })];
    const problems = [{ step: 'files', code: 'PreflightFailed' as const, message: long, hint: long }];
    const shown = plan(changes, { problems, remarks: [{ step: 'files', message: long }] });
    for (const width of [60, 80, 120, 200]) {
      const lines = formatPlan(shown, [], { ...VIEW, width, diff: true }).split('\n');
      assert.equal(lines.filter((line) => line.length > width && !line.includes('xxx')).length, 0);
      assert.equal(lines.filter((line) => line.endsWith(`+${'x'.repeat(500)}`)).length, 1);
    }
  });

  test('lists what is missing with its remedy, remarks, and parts that a later source replaced', () => {
    const at = { file: 'b.yaml', line: 1, column: 1 };
    const text = formatPlan(
      plan([], {
        problems: [{ step: 'containerd', code: 'ContainerRuntimeMissing', message: 'containerd', hint: 'Install it.' }],
        remarks: [{ step: 'hooks-early', message: 'the commands changed' }],
      }),
      [{ path: ['host', 'files'], what: 'list', isRemoved: false, at, previous: { ...at, file: 'a.yaml' } }],
      { ...VIEW, command: 'upgrade' },
    );
    assert.match(text, /^upgrade would refuse to start$/m);
    assert.match(text, /^early hooks\n {2}! the commands changed$/m);
    assert.match(text, /^note: b\.yaml:1:1 {2}host\.files: replaces the list at a\.yaml:1:1$/m);
    assert.match(text, /^ {2}! containerd \[ContainerRuntimeMissing\]\n {4}Install it\.$/m);
    assert.match(text, /^Plan: 0 to add, 0 to change, 0 to remove; 1 in the way\. Nothing was changed\.$/m);
  });

  test('says so if there is nothing to do, and shows no terminal control characters', () => {
    assert.equal(formatPlan(plan([]), [], VIEW), 'nothing to change');
    const hostile = change('files/a', 'add', {
      summary: 'a\u001b[2Jb',
      diff: '+a\u001b]0;x\u0007b',
      commands: ['\u001bcx'],
    });
    assert.ok(!formatPlan(plan([hostile]), [], { ...VIEW, diff: true }).includes('\u001b'));
  });
});
