import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type ClockReading,
  chronyReading,
  ntpReading,
  timespanMs,
  timesyncdReading,
} from '../../../../src/features/time/readings.ts';
import type { CommandResult } from '../../../../src/host/seam/host.ts';
import { type MemoryHost, memoryHost } from '../../../support/memory-host.ts';

type Answers = Readonly<Record<string, Partial<CommandResult>>>;

/** A reading where a program gives the first answer whose key is among its arguments. */
async function read(
  reading: (host: MemoryHost) => Promise<ClockReading>,
  program: string,
  answers: Answers,
): Promise<ClockReading & { readonly queries: readonly string[] }> {
  const host = memoryHost({
    programs: { [program]: ({ args }) => Object.entries(answers).find(([key]) => args.includes(key))?.[1] ?? {} },
  });
  const found = await reading(host);
  return { ...found, errorMs: Math.round(found.errorMs * 1000) / 1000, queries: host.queries };
}

describe('chronyd says of the clock', () => {
  const SOURCES = [
    '^,*,10.0.0.1,2,6,377,12,-0.000010,0.000020,0.000300',
    '^,x,10.0.0.2,3,6,17,40,0.5,-1.5,0.1',
    '^,!,10.0.0.3,0,6,0,-,0,0,0',
    '',
  ].join('\n');
  const tracking = (over: Readonly<Record<number, string>> = {}): string =>
    ['0A000001', '10.0.0.1', '3', '1795168800.1', '-0.002', '0', '0', '0', '0', '1.5', '0.010', '0.001', '64', 'Normal']
      .map((field, index) => over[index] ?? field)
      .join(',');
  const of = (answer: Partial<CommandResult>, sources = SOURCES) =>
    read(chronyReading, 'chronyc', { tracking: answer, sources: { stdout: sources } });

  test('how far it is off at most, and how each source is', async () => {
    assert.deepEqual(await of({ stdout: `${tracking()}\n` }), {
      synchronized: true,
      // |-2 ms| + 1 ms + 10 ms / 2
      errorMs: 8,
      sources: [
        { source: 'chrony source 10.0.0.1', text: 'selected, stratum 2, reach 377, offset 0.000020 s' },
        { source: 'chrony source 10.0.0.2', text: 'wrong time, stratum 3, reach 17, offset -1.5 s' },
        { source: 'chrony source 10.0.0.3', text: '!, stratum 0, reach 0, offset 0 s' },
      ],
      queries: ['chronyc -c -n tracking', 'chronyc -c -n sources'],
    });
  });

  for (const [state, word] of [
    ['+', 'combined'],
    ['-', 'not combined'],
    ['?', 'unusable'],
    ['~', 'too variable'],
  ] as const)
    test(`that a source marked ${state} is ${word}`, async () => {
      const { sources } = await of({ stdout: tracking() }, `^,${state},a,1,6,1,1,0,0,0\n`);
      assert.equal(sources[0]?.text, `${word}, stratum 1, reach 1, offset 0 s`);
    });

  const UNSYNCHRONIZED = [
    ['says so', { 13: 'Not synchronised' }],
    ['does not say how the next leap second is', { 13: '' }],
    ['serves its own clock', { 0: '7F7F0101' }],
    ['has no reference', { 0: '00000000' }],
    ['has an empty reference', { 0: '' }],
    ['measured only once', { 9: '1000000' }],
    ['is at the largest skew', { 9: '100000' }],
    ['says no skew', { 9: 'none' }],
  ] as const;
  for (const [what, over] of UNSYNCHRONIZED)
    test(`that it is not synchronised where it ${what}`, async () => {
      assert.equal((await of({ stdout: tracking(over) })).synchronized, false);
    });

  test('that it is synchronised with the skew just below that, and before a leap second', async () => {
    assert.equal((await of({ stdout: tracking({ 9: '99999.9' }) })).synchronized, true);
    assert.equal((await of({ stdout: tracking({ 13: 'Insert second' }) })).synchronized, true);
  });

  for (const [what, answer, text] of [
    ['stderr', { stderr: '\n506 Cannot talk to daemon\nmore\n', stdout: 'other' }, '506 Cannot talk to daemon'],
    ['stdout', { stdout: '506 Cannot talk to daemon\n' }, '506 Cannot talk to daemon'],
    ['nothing', {}, 'no answer'],
  ] as const)
    test(`nothing where it fails, and its message is evidence (${what})`, async () => {
      assert.deepEqual(await of({ status: 1, ...answer }, ''), {
        synchronized: false,
        errorMs: Number.POSITIVE_INFINITY,
        sources: [{ source: 'chronyc', text }],
        queries: ['chronyc -c -n tracking', 'chronyc -c -n sources'],
      });
    });
});

describe('ntpd says of the clock', () => {
  const PEERS =
    '     remote           refid      st t when poll reach   delay   offset  jitter\n' +
    '==============================================================================\n' +
    '*10.0.0.1        .GPS.            1 u    3   64  377    0.500   -0.020   0.010\n';
  const rv = (leap: string, stratum: string) =>
    `leap=${leap}, stratum=${stratum},\nrootdelay=10.0, rootdisp=3.5, offset=-1.25\n`;
  const of = (answer: Partial<CommandResult>) =>
    read(ntpReading, 'ntpq', { 'rv 0 leap,stratum,rootdelay,rootdisp,offset': answer, '-p': { stdout: PEERS } });
  const SOURCE = {
    source: 'ntpq -n -p',
    text: '*10.0.0.1 .GPS. 1 u 3 64 377 0.500 -0.020 0.010',
  };

  test('how far it is off at most, and its peers without their heading', async () => {
    assert.deepEqual(await of({ stdout: rv('00', '2') }), {
      synchronized: true,
      errorMs: 9.75,
      sources: [SOURCE],
      queries: ['ntpq -n -c rv 0 leap,stratum,rootdelay,rootdisp,offset', 'ntpq -n -p'],
    });
  });

  for (const [leap, stratum, synchronized] of [
    ['00', '15', true],
    ['01', '2', true],
    ['00', '16', false],
    ['11', '2', false],
    ['3', '2', false],
    ['0x3', '2', false],
  ] as const)
    test(`that it is ${synchronized ? '' : 'not '}synchronised with leap ${leap} at stratum ${stratum}`, async () => {
      assert.equal((await of({ stdout: rv(leap, stratum) })).synchronized, synchronized);
    });

  for (const [what, answer, text] of [
    [
      'fails',
      { status: 1, stdout: rv('00', '2'), stderr: 'ntpq: read: Connection refused\n' },
      'ntpq: read: Connection refused',
    ],
    ['answers without these variables', { stdout: 'associd=0 status=c016\n' }, 'associd=0 status=c016'],
  ] as const)
    test(`nothing where it ${what}`, async () => {
      const { synchronized, errorMs, sources } = await of(answer);
      assert.deepEqual(
        [synchronized, errorMs, sources],
        [false, Number.POSITIVE_INFINITY, [SOURCE, { source: 'ntpq', text }]],
      );
    });
});

describe('systemd-timesyncd says of the clock', () => {
  const status = (offset: string) =>
    `       Server: 10.0.0.1 (ntp.example.com)\nPoll interval: 64s\n       Offset: ${offset}\n`;
  const of = (shown: string, answer: Partial<CommandResult>) =>
    read(timesyncdReading, 'timedatectl', { show: { stdout: shown }, 'timesync-status': answer });
  const SERVER = 'server 10.0.0.1 (ntp.example.com)';

  test('how far it is off, and by which server', async () => {
    assert.deepEqual(await of('yes\n', { stdout: status('-12.5ms') }), {
      synchronized: true,
      errorMs: 12.5,
      sources: [{ source: 'systemd-timesyncd', text: `${SERVER}, offset -12.5ms` }],
      queries: ['timedatectl show --property=NTPSynchronized --value', 'timedatectl timesync-status --no-pager'],
    });
  });

  for (const [offset, errorMs] of [
    ['+400ms', 400],
    ['+400.5ms', 0],
    ['-3.2s', 0],
    ['0', 0],
  ] as const)
    test(`that an offset of ${offset} leaves ${errorMs} ms: it steps the clock by more than 0.4 s`, async () => {
      assert.equal((await of('yes\n', { stdout: status(offset) })).errorMs, errorMs);
    });

  test('that it is not synchronised while the kernel says so, whatever the server answered', async () => {
    assert.equal((await of('no\n', { stdout: status('1ms') })).synchronized, false);
  });

  test('nothing before the first answer of the server, though the kernel keeps its mark', async () => {
    const { synchronized, errorMs, sources } = await of('yes\n', { stdout: 'Server: 10.0.0.1\nPoll interval: 32s\n' });
    assert.deepEqual(
      [synchronized, errorMs, sources],
      [false, Number.POSITIVE_INFINITY, [{ source: 'systemd-timesyncd', text: 'server 10.0.0.1, no answer yet' }]],
    );
  });

  test('nothing where it does not run, with the message of timedatectl', async () => {
    const { sources } = await of('yes\n', { status: 1, stderr: 'Failed to query server: not found\n' });
    assert.deepEqual(sources, [
      { source: 'systemd-timesyncd', text: 'server none, no answer yet' },
      { source: 'timedatectl', text: 'Failed to query server: not found' },
    ]);
  });
});

describe('a time span of systemd', () => {
  const TABLE: readonly (readonly [string, number])[] = [
    ['7us', 0.007],
    ['7µs', 0.007],
    ['7μs', 0.007],
    ['2.5ms', 2.5],
    ['3s', 3_000],
    ['2min', 120_000],
    ['1h', 3_600_000],
    ['1d', 86_400_000],
    ['1day', 86_400_000],
    ['2days', 172_800_000],
    ['1w', 604_800_000],
    ['1month', 2_629_800_000],
    ['2months', 5_259_600_000],
    ['1y', 31_557_600_000],
    ['-1min 2.5s', -62_500],
    [' -1 s', -1_000],
    ['+1h 30min', 5_400_000],
    ['0', 0],
    ['-0', 0],
    ['5', Number.POSITIVE_INFINITY],
    ['', Number.POSITIVE_INFINITY],
    ['3fortnights', Number.POSITIVE_INFINITY],
    ['1s 3fortnights', Number.POSITIVE_INFINITY],
    ['1constructor', Number.POSITIVE_INFINITY],
  ];
  for (const [text, expected] of TABLE)
    test(`"${text}" is ${expected} ms`, () => {
      const found = timespanMs(text);
      assert.ok(found === expected || Math.abs(found - expected) < 1e-9, `${found}`);
    });
});
