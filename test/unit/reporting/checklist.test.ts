import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ChecklistView, formatChecklist, SPIN_MS } from '@machineadm/status/checklist.ts';
import { BEGAN, statusAfter } from './runs.ts';

const VIEW: ChecklistView = { color: false, columns: 80, rows: 24, unicode: true };
const NOW = BEGAN + 65_000;

const RUNNING = statusAfter(
  { kind: 'planned', steps: ['sysctl', 'files', 'containerd', 'kubeadm'] },
  { kind: 'stepDone', step: 'sysctl', end: { state: 'Unchanged', changes: [], durationMs: 1 } },
  { kind: 'stepDone', step: 'files', end: { state: 'Succeeded', changes: ['a', 'b'], durationMs: 1200 } },
  { kind: 'stepStarted', step: 'containerd' },
  { kind: 'waiting', step: 'containerd', waitingFor: 'containerd to answer' },
);
/** A run with many steps, the one at `at` running. */
function long(at: number): typeof RUNNING {
  const names = Array.from({ length: 30 }, (_, index) => `step-${index}`);
  return statusAfter(
    { kind: 'planned', steps: names },
    ...names.slice(0, at).map((step) => ({
      kind: 'stepDone' as const,
      step,
      end: { state: 'Unchanged' as const, changes: [], durationMs: 1 },
    })),
    { kind: 'stepStarted', step: names[at] ?? '' },
  );
}

describe('the checklist of a run', () => {
  test('has each step with its state, and the running one with its time and what it waits for', () => {
    assert.deepEqual(formatChecklist(RUNNING, BEGAN + SPIN_MS * 300, VIEW), [
      'provision of node-1  [2/4]  1 m 00 s',
      '  ✓ sysctl      already so',
      '  ✓ files       2 changes  1.2 s',
      '  ⠋ containerd  56 s  waiting for containerd to answer',
      '  · kubeadm',
    ]);
  });

  test('shows the last line that a child of the running step printed, below it', () => {
    const lines = formatChecklist(RUNNING, NOW, { ...VIEW, output: 'kubeadm: [preflight] pulling images' });
    assert.equal(lines[4], '      kubeadm: [preflight] pulling images');
    assert.equal(lines[5], '  · kubeadm');
  });

  test('shows below the step what it waits for, where the line has no room for it', () => {
    const lines = formatChecklist(RUNNING, NOW, { ...VIEW, columns: 40 });
    assert.deepEqual(lines.slice(3, 5), [
      `  ${lines[3]?.[2]} containerd  1 m 01 s`,
      '      waiting for containerd to answer',
    ]);
  });

  test('turns its spinner', () => {
    const spinners = Array.from(
      { length: 10 },
      (_, index) => formatChecklist(RUNNING, NOW + index * SPIN_MS, VIEW)[3]?.[2],
    );
    assert.equal(new Set(spinners).size, 10);
  });

  test('shows the phase where no step runs, and nothing more when the run is over', () => {
    assert.match(formatChecklist(statusAfter(), NOW, VIEW).at(-1) ?? '', / loading$/);
    const over = statusAfter(
      { kind: 'planned', steps: ['a', 'b'] },
      { kind: 'stepDone', step: 'a', end: { state: 'Failed', changes: [], durationMs: 3000 } },
      { kind: 'stepDone', step: 'b', end: { state: 'Skipped', changes: [], durationMs: 0 } },
      { kind: 'concluded', conclusion: { outcome: 'Failed', exitCode: 10 } },
    );
    assert.deepEqual(
      formatChecklist(over, NOW, VIEW),
      ['provision of node-1  [2/2]  4 s', '  ✗ a  failed  3.0 s', '  - b  skipped  0 ms'].map((line) =>
        line.replace('  0 ms', ''),
      ),
    );
  });

  test('is ASCII where the terminal may have no more', () => {
    const text = formatChecklist(RUNNING, NOW, { ...VIEW, unicode: false }).join('\n');
    assert.match(text, /^[\n\x20-\x7e]*$/);
    assert.match(text, /^ {2}\* files/m);
  });

  test('fits every width from 20 to 200 columns', () => {
    for (let columns = 20; columns <= 200; columns += 1) {
      for (const line of formatChecklist(RUNNING, NOW, { ...VIEW, columns, output: 'x'.repeat(300) }))
        assert.ok(line.length <= columns, line);
    }
  });

  test('fits every height, with the step that runs', () => {
    for (let rows = 3; rows <= 40; rows += 1) {
      for (const at of [0, 1, 14, 28, 29]) {
        for (const output of [undefined, 'a line']) {
          const lines = formatChecklist(long(at), NOW, { ...VIEW, rows, output });
          assert.ok(lines.length <= rows, `${rows} rows, step ${at}:\n${lines.join('\n')}`);
          assert.ok(
            lines.some((line) => line.includes(`step-${at} `)),
            `${rows} rows:\n${lines.join('\n')}`,
          );
        }
      }
    }
    const lines = formatChecklist(long(14), NOW, { ...VIEW, rows: 8 });
    assert.deepEqual([lines[1], lines.at(-1)], ['  ✓ 12 steps before', '  · 13 steps more']);
  });
});
