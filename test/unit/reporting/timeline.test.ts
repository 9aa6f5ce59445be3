import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatTimeline } from '@machineadm/status/timeline-chart.ts';
import { bootEntries, bootTimeline, processStartMs } from '../../../src/reporting/timeline.ts';
import { memoryHost } from '../../support/memory-host.ts';

describe('what happened before machineadm', () => {
  test('is reported by systemd: kernel, initrd, user space', () => {
    const show = 'InitRDTimestampMonotonic=1500000\nUserspaceTimestampMonotonic=4000400\n';
    assert.deepEqual(bootEntries(show, 12_000), [
      { name: 'kernel', sinceBootMs: 0, durationMs: 1500 },
      { name: 'initrd', sinceBootMs: 1500, durationMs: 2500 },
      { name: 'userspace', sinceBootMs: 4000, durationMs: 8000 },
    ]);
  });

  test('has no initrd where there was none', () => {
    const names = bootEntries('InitRDTimestampMonotonic=0\nUserspaceTimestampMonotonic=4000000', 5000).map(
      ({ name }) => name,
    );
    assert.deepEqual(names, ['kernel', 'userspace']);
  });

  const booted = memoryHost({ files: { '/run/systemd/system': { type: 'directory' } } });
  const whole = [{ name: 'boot', sinceBootMs: 0, durationMs: 12_000 }];
  test('is one span where there is no systemd', async () => {
    assert.deepEqual(await bootTimeline(memoryHost(), 12_000), whole);
  });
  test('is one span where systemctl cannot be asked', async () => {
    assert.deepEqual(await bootTimeline({ ...booted, query: () => Promise.reject(new Error('no')) }, 12_000), whole);
  });
  test('is one span where the clock of systemd is another one', () => {
    assert.deepEqual(bootEntries('UserspaceTimestampMonotonic=99000000', 12_000), whole);
  });

  test('ends where this process began', () => {
    const now = Number(process.hrtime.bigint() / 1_000_000n);
    assert.ok(processStartMs() > 0 && processStartMs() <= now);
  });
});

describe('the chart', () => {
  const timeline = [
    { name: 'kernel', sinceBootMs: 0, durationMs: 2000 },
    { name: 'userspace', sinceBootMs: 2000, durationMs: 8000 },
    { name: 'sysctl', sinceBootMs: 10_000, durationMs: 5 },
    { name: 'a-step-with-a-name-that-is-far-too-long', sinceBootMs: 10_005, durationMs: 89_995 },
    { name: 'concluded', sinceBootMs: 100_000, durationMs: 0 },
  ];
  const lines = formatTimeline({ timeline }).split('\n');

  test('has a line for each span, none longer than 100 columns, bars aligned', () => {
    assert.equal(lines.length, timeline.length);
    assert.deepEqual(new Set(lines.map((line) => line.indexOf('|'))).size, 1);
    assert.deepEqual(new Set(lines.map((line) => line.lastIndexOf('|'))).size, 1);
    for (const line of lines) assert.ok(line.length <= 100, line);
  });

  for (const columns of [60, 80, 120]) {
    test(`fits a terminal of ${columns} columns`, () => {
      for (const line of formatTimeline({ timeline }, { columns }).split('\n')) assert.ok(line.length <= columns, line);
    });
  }

  test('draws each span where and as long as it was, and at least one mark', () => {
    const bars = lines.map((line) => line.slice(line.indexOf('|') + 1, line.lastIndexOf('|')));
    const width = bars[0]?.length ?? 0;
    assert.match(bars[0] ?? '', /^=+ +$/);
    assert.equal(bars[2]?.trim(), '=');
    assert.equal(bars[2]?.indexOf('='), Math.floor(width / 10));
    assert.ok((bars[3]?.trim().length ?? 0) >= Math.floor(width * 0.88));
    assert.equal(bars[4], `${' '.repeat(width - 1)}*`);
  });

  test('is empty without entries', () => assert.equal(formatTimeline({ timeline: [] }), ''));
});

describe('the chart of a run on a machine that was up for long', () => {
  const bootedMs = 43 * 60_000;
  const timeline = [
    { name: 'kernel', sinceBootMs: 0, durationMs: 1800 },
    { name: 'userspace', sinceBootMs: 1800, durationMs: bootedMs - 1800 },
    { name: 'containerd', sinceBootMs: bootedMs + 100, durationMs: 2000 },
    { name: 'kubeadm', sinceBootMs: bootedMs + 2100, durationMs: 27_900 },
    { name: 'concluded', sinceBootMs: bootedMs + 30_000, durationMs: 0 },
  ];
  const lines = formatTimeline({ timeline }).split('\n');
  const bars = lines.map((line) => line.slice(line.indexOf('|') + 1, line.lastIndexOf('|')));
  const width = bars[0]?.length ?? 0;

  test('cuts the time before the run visibly, and no other', () => {
    assert.deepEqual(
      bars.map((bar) => bar.includes('//')),
      [false, true, false, false, false],
    );
    assert.match(bars[1] ?? '', /^ +=+\/\/ +$/);
  });

  test('gives the run two thirds of the width, in one scale', () => {
    const lengthOf = (index: number): number => bars[index]?.trim().length ?? 0;
    assert.ok(lengthOf(3) > width * 0.58 && lengthOf(3) < width * 0.68, lines.join('\n'));
    assert.ok(Math.abs(lengthOf(3) / lengthOf(2) - 27.9 / 2) < 3, lines.join('\n'));
    assert.equal(bars[4], `${' '.repeat(width - 1)}*`);
  });

  test('keeps the true numbers, aligned, within 100 columns', () => {
    assert.match(lines[1] ?? '', /^userspace +1\.8 s /);
    assert.match(lines[1] ?? '', / 42 m 58 s$/);
    assert.match(lines[3] ?? '', /^kubeadm +43 m 02 s /);
    assert.deepEqual(new Set(lines.map((line) => line.lastIndexOf('|'))).size, 1);
    for (const line of lines) assert.ok(line.length <= 100, line);
  });

  test('shows even a very short run', () => {
    const blink = [
      { name: 'boot', sinceBootMs: 0, durationMs: bootedMs },
      { name: 'sysctl', sinceBootMs: bootedMs + 40, durationMs: 30 },
      { name: 'concluded', sinceBootMs: bootedMs + 80, durationMs: 0 },
    ];
    const [boot, sysctl] = formatTimeline({ timeline: blink }).split('\n');
    assert.match(boot ?? '', /\|=+\/\/ +\|/);
    assert.ok((/=+/.exec(sysctl ?? '')?.[0].length ?? 0) > 10, sysctl);
  });

  test('cuts nothing after a fresh boot, when the run is the most of it', () => {
    const fresh = [
      { name: 'kernel', sinceBootMs: 0, durationMs: 2000 },
      { name: 'userspace', sinceBootMs: 2000, durationMs: 6000 },
      { name: 'kubeadm', sinceBootMs: 8000, durationMs: 24_000 },
    ];
    assert.doesNotMatch(formatTimeline({ timeline: fresh }), /\/\//);
  });

  test('cuts nothing where the process told of no run yet', () => {
    assert.doesNotMatch(formatTimeline({ timeline: timeline.slice(0, 2) }), /\/\//);
  });
});
