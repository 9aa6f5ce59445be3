import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { collect } from '../../../src/diagnosis/collect.ts';
import { logFileLines, timeOfLine } from '../../../src/diagnosis/log-files.ts';
import { memoryHost } from '../../support/memory-host.ts';

const NOW = new Date(2026, 10, 20, 19, 30, 0).getTime();
const SINCE = new Date(2026, 10, 20, 19, 12, 20, 500).getTime();

describe('the time of a log line', () => {
  for (const [line, expected] of [
    ['time="2026-11-20T19:12:20.992906623Z" level=info msg="Start"', Date.UTC(2026, 10, 20, 19, 12, 20, 992)],
    ['2026-11-20T19:12:20+01:00 stdout F hello', Date.UTC(2026, 10, 20, 18, 12, 20)],
    ['E1120 19:12:20.123456   12 kubelet.go:1] no', new Date(2026, 10, 20, 19, 12, 20).getTime()],
    ['Nov 20 19:12:20 n1 kubelet[1]: x', new Date(2026, 10, 20, 19, 12, 20).getTime()],
    ['Dec 31 23:59:59 n1 kubelet[1]: x', new Date(2025, 11, 31, 23, 59, 59).getTime()],
    ['goroutine 1 [running]:', undefined],
    ['Xyz 20 19:12:20 n1', undefined],
  ] as const) {
    test(`in ${JSON.stringify(line)} is ${expected === undefined ? 'unknown' : 'known'}`, () =>
      assert.equal(timeOfLine(line, NOW), expected));
  }
});

describe('a machine without a journal', () => {
  const log = [
    'E1120 19:12:19.000000 1 old.go:1] of the run before',
    'goroutine 1 of the run before',
    'E1120 19:12:20.000000 1 run.go:1] failed to load kubelet config file',
    'goroutine 2 [running]:',
    '',
  ].join('\n');

  test('is diagnosed from its log files since the run began, including lines that carry no time', async () => {
    const host = memoryHost({ files: { '/var/log/kubelet.log': log } });
    const lines = await logFileLines(host, 'kubelet', SINCE, NOW);
    assert.deepEqual(
      lines.map(({ text }) => text),
      ['E1120 19:12:20.000000 1 run.go:1] failed to load kubelet config file', 'goroutine 2 [running]:'],
    );
    assert.deepEqual(
      { source: lines[0]?.source, origin: lines[0]?.origin },
      { source: 'kubelet', origin: 'log of kubelet' },
    );
  });

  test('uses them only where there is no journal', async () => {
    const files = { '/var/log/kubelet.log': log };
    const context = { since: { realTimeMs: SINCE }, role: 'Worker', criSocket: 'unix:///x', now: () => NOW } as const;
    const observe = async (host: ReturnType<typeof memoryHost>) =>
      (await collect(host, context)).filter(({ source }) => source === 'kubelet').length;
    assert.equal(await observe(memoryHost({ files })), 2);
    assert.equal(await observe(memoryHost({ files, programs: { journalctl: () => ({}) } })), 0);
  });
});
