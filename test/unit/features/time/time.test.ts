import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TimeModel } from '@machineadm/document/model/index.ts';
import { clock } from '../../../../src/features/time/clock.ts';
import { time } from '../../../../src/features/time/index.ts';
import { timespanMs } from '../../../../src/features/time/readings.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const RUNNING = { active: true, enabled: true };
const DEBIAN = `confdir /etc/chrony/conf.d
pool 2.debian.pool.ntp.org iburst
sourcedir /run/chrony-dhcp
sourcedir /etc/chrony/sources.d
driftfile /var/lib/chrony/chrony.drift
`;
const RHEL = 'pool 2.rhel.pool.ntp.org iburst\nsourcedir /run/chrony-dhcp\nmakestep 1.0 3\n';

function documentOf(different: Partial<TimeModel> = {}) {
  return hostModel({ time: { enabled: true, servers: [], synchronized: undefined, ...different } });
}

const TO = documentOf({ servers: ['10.0.0.1', 'ntp.example.com'] });

const idsOf = (changes: readonly { readonly id: string }[]) => changes.map(({ id }) => id);

describe('the time service', () => {
  test('is left alone if the document has no section for it', () => {
    assert.equal(time.desired(hostModel(), facts()), undefined);
  });

  /** What is installed -> what is done for a document without servers. */
  const CHOICE = [
    [{ chrony: RUNNING }, []],
    [{ chrony: {}, 'systemd-timesyncd': RUNNING }, []],
    [{ chrony: {}, 'systemd-timesyncd': {} }, ['time/chrony/enable', 'time/chrony/start']],
    [{ chronyd: {}, ntpd: { enabled: true } }, ['time/ntpd/disable', 'time/chronyd/enable', 'time/chronyd/start']],
    [
      { chrony: RUNNING, 'systemd-timesyncd': RUNNING },
      ['time/systemd-timesyncd/stop', 'time/systemd-timesyncd/disable'],
    ],
    [{ chrony: RUNNING, chronyd: RUNNING }, []],
    [{ chrony: { masked: true }, ntp: { active: true } }, ['time/ntp/enable']],
    [{ ntpsec: {}, ntp: {} }, ['time/ntpsec/enable', 'time/ntpsec/start']],
  ] as const;
  for (const [services, does] of CHOICE) {
    test(`of ${JSON.stringify(services)}: ${does.join(', ') || 'nothing to do'}`, async () => {
      const run = await runStep(time, memoryHost({ services }), documentOf());
      assert.deepEqual(idsOf(run.changes), does);
      assert.deepEqual(run.left, []);
    });
  }

  test('is TimeServiceMissing where none is installed or all are masked: nothing is downloaded', async () => {
    const reasons = async (services: NonNullable<MemoryMachine['services']>, model = documentOf()) => {
      const desired = time.desired(model, facts());
      assert.ok(desired !== undefined && time.preflight !== undefined);
      return (await time.preflight(memoryHost({ services }), desired)).map(({ reason }) => reason);
    };
    assert.deepEqual(await reasons({}), ['TimeServiceMissing']);
    assert.deepEqual(await reasons({ chrony: { masked: true } }), ['TimeServiceMissing']);
    assert.deepEqual(await reasons({ ntpd: {} }), []);
    assert.deepEqual(await reasons({}, documentOf({ enabled: false })), []);
  });

  test('switched off is stopped and disabled, whichever it is', async () => {
    const host = memoryHost({ services: { chrony: RUNNING, ntp: { enabled: true } } });
    const run = await runStep(time, host, documentOf({ enabled: false }));
    assert.deepEqual(idsOf(run.changes), ['time/chrony/stop', 'time/chrony/disable', 'time/ntp/disable']);
    assert.deepEqual(run.left, []);
  });
});

describe('time servers of the document', () => {
  test('on Debian go into a file that chrony includes; the others give way, and come back without them', async () => {
    const host = memoryHost({
      services: { chrony: RUNNING },
      files: {
        '/etc/chrony/chrony.conf': { content: DEBIAN, mode: 0o640 },
        '/etc/chrony/sources.d/site.sources': 'server old.example.com iburst\n',
        '/etc/chrony/sources.d/README': 'server in prose\n',
        '/etc/chrony/conf.d/serve.conf': 'allow 10.0.0.0/8\n',
      },
    });
    const run = await runStep(time, host, TO);
    assert.deepEqual(idsOf(run.changes), [
      'time/file//etc/chrony/chrony.conf',
      'time/file//etc/chrony/conf.d/90-machineadm.conf',
      'time/file//etc/chrony/sources.d/site.sources',
    ]);
    assert.deepEqual(host.log, [
      'write /etc/chrony/chrony.conf 0640 0:0',
      'write /etc/chrony/conf.d/90-machineadm.conf 0644 0:0',
      'write /etc/chrony/sources.d/site.sources 0644 0:0',
      'service restart chrony',
      'sync /etc',
    ]);
    assert.equal(
      host.text('/etc/chrony/conf.d/90-machineadm.conf'),
      '# Written by machineadm.\nserver 10.0.0.1 iburst\nserver ntp.example.com iburst\n',
    );
    assert.match(host.text('/etc/chrony/chrony.conf') ?? '', /^#machineadm# pool 2\.debian/m);
    assert.deepEqual(run.left, []);
    assert.deepEqual(await planned(time, host, TO), []);

    const back = await runStep(time, host, documentOf());
    assert.deepEqual(back.left, []);
    assert.equal(host.text('/etc/chrony/chrony.conf'), DEBIAN);
    assert.equal(host.text('/etc/chrony/conf.d/90-machineadm.conf'), undefined);
    assert.equal(host.text('/etc/chrony/sources.d/site.sources'), 'server old.example.com iburst\n');
  });

  test('on openSUSE go beside the pool file that is included, which gives way', async () => {
    const host = memoryHost({
      services: { chronyd: RUNNING },
      files: {
        '/etc/chrony.conf': 'include /etc/chrony.d/*.conf\nmakestep 1.0 3\n',
        '/etc/chrony.d/pool.conf': 'pool 2.opensuse.pool.ntp.org iburst\n',
      },
    });
    assert.deepEqual((await runStep(time, host, TO)).left, []);
    assert.match(host.text('/etc/chrony.d/90-machineadm.conf') ?? '', /^server 10\.0\.0\.1 iburst$/m);
    assert.equal(host.text('/etc/chrony.d/pool.conf'), '#machineadm# pool 2.opensuse.pool.ntp.org iburst\n');
  });

  for (const [where, service, path, text] of [
    ['on RHEL', 'chronyd', '/etc/chrony.conf', RHEL],
    [
      'for ntpd',
      'ntpd',
      '/etc/ntp.conf',
      'driftfile /var/lib/ntp/drift\nserver 0.pool.ntp.org iburst\nrestrict default nomodify\n',
    ],
    ['for ntpsec', 'ntpsec', '/etc/ntpsec/ntp.conf', 'pool 0.debian.pool.ntp.org iburst\n'],
  ] as const) {
    test(`${where} stand in a block of ${path}, changed in place and taken back`, async () => {
      const host = memoryHost({ services: { [service]: RUNNING }, files: { [path]: text } });
      assert.deepEqual((await runStep(time, host, TO)).left, []);
      assert.match(
        host.text(path) ?? '',
        /#machineadm# (?:pool|server) [\s\S]*# BEGIN[^\n]*\nserver 10\.0\.0\.1 iburst\n/,
      );
      assert.deepEqual((await runStep(time, host, documentOf({ servers: ['10.0.0.2'] }))).left, []);
      assert.doesNotMatch(host.text(path) ?? '', /10\.0\.0\.1/);
      assert.deepEqual((await runStep(time, host, documentOf())).left, []);
      assert.equal(host.text(path), text);
    });
  }

  test('for timesyncd are a drop-in that forgets the lists before it', async () => {
    const host = memoryHost({ services: { 'systemd-timesyncd': RUNNING } });
    await runStep(time, host, TO);
    assert.equal(
      host.text('/etc/systemd/timesyncd.conf.d/90-machineadm.conf'),
      '# Written by machineadm.\n[Time]\nNTP=\nNTP=10.0.0.1 ntp.example.com\nFallbackNTP=\n',
    );
    assert.ok(host.log.includes('service restart systemd-timesyncd'));
  });

  test('start a service that does not run only after they are in place', async () => {
    const host = memoryHost({ services: { chrony: {} }, files: { '/etc/chrony.conf': RHEL } });
    const run = await runStep(time, host, TO);
    assert.deepEqual(idsOf(run.changes), ['time/file//etc/chrony.conf', 'time/chrony/enable']);
    assert.deepEqual(host.log.slice(1), ['service enable chrony', 'service restart chrony', 'sync /etc']);
    assert.deepEqual(run.left, []);
  });

  test('belong into an image, what runs now does not', async () => {
    const host = memoryHost({ services: { chrony: {} }, files: { '/etc/chrony.conf': RHEL } });
    const scopes = (await planned(time, host, documentOf())).map(({ id, scope }) => `${id} ${scope}`);
    assert.deepEqual(scopes, ['time/chrony/enable base', 'time/chrony/start node']);
  });
});

/** As chronyd 4.3 answered in a lab machine. */
const CHRONY = {
  synchronized:
    '0A630011,10.99.0.17,6,1795202750.132723691,-0.000001315,-0.000000940,0.000000940,-0.146,-0.000,12.442,0.000034157,0.000019580,2.0,Normal\n',
  early:
    '0A630011,10.99.0.17,6,1795202748.746185435,-0.000002366,0.000002366,0.000002366,0.000,0.315,1000000.000,0.000035521,0.770028114,0.0,Normal\n',
  waiting:
    '00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.000000000,1.000000000,0.0,Not synchronised\n',
  itself:
    '7F7F0101,,5,1795202742.154963231,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,0.000000000,0.000000000,0.0,Normal\n',
  far: '0A630011,10.99.0.17,6,1795202750.1,-3600.5,0,0,0,0,0,0.00003,0.00001,2.0,Normal\n',
};
const SOURCES = '^,?,10.0.0.9,0,6,0,4294967295,0.000000000,0.000000000,0.000000000\n';

describe('the clock', () => {
  const waiting = (timeoutMs = 0) => documentOf({ synchronized: { withinMs: 5_000, timeoutMs } });

  /** A machine whose chrony answers these in turn, the last for ever. */
  function chronyd(...answers: readonly string[]) {
    let asked = 0;
    return memoryHost({
      services: { chrony: RUNNING },
      programs: {
        chronyc: ({ args }) => {
          if (args.includes('sources')) return { stdout: SOURCES };
          asked += 1;
          return { stdout: answers[Math.min(asked, answers.length) - 1] ?? '' };
        },
      },
    });
  }

  test('is waited for only where the document says so', () => {
    assert.equal(clock.desired(documentOf(), facts()), undefined);
    assert.notEqual(clock.desired(waiting(), facts()), undefined);
  });

  test('that is right needs no wait', async () => {
    assert.deepEqual(await planned(clock, chronyd(CHRONY.synchronized), waiting()), []);
  });

  test('is waited for until it is right', async () => {
    const host = chronyd(CHRONY.waiting, CHRONY.early, CHRONY.synchronized);
    const run = await runStep(clock, host, waiting(10_000));
    assert.deepEqual(idsOf(run.changes), ['clock/synchronized']);
    assert.deepEqual(run.waits, ['the clock to be synchronised', undefined]);
    assert.deepEqual(run.left, []);
  });

  for (const [what, answer] of [
    ['without an answer', CHRONY.waiting],
    ['after a single measurement, whose bound grows', CHRONY.early],
    ['with its own clock as the reference', CHRONY.itself],
    ['an hour off', CHRONY.far],
    ['from a daemon that says nothing', ''],
  ] as const) {
    test(`${what} is ClockNotSynchronized, with the sources as evidence`, async () => {
      await assert.rejects(runStep(clock, chronyd(answer), waiting()), {
        reason: 'ClockNotSynchronized',
        retryable: true,
        evidence: [{ source: 'chrony source 10.0.0.9', text: 'unusable, stratum 0, reach 0, offset 0.000000000 s' }],
      });
    });
  }

  test('is not known before the service has its new servers', async () => {
    const host = chronyd(CHRONY.synchronized);
    host.put('/etc/chrony.conf', RHEL);
    const model = documentOf({ servers: ['10.0.0.1'], synchronized: { withinMs: 1, timeoutMs: 0 } });
    const [change] = await planned(clock, host, model);
    assert.equal(change?.knownAfter, 'time');
    assert.equal(change?.scope, 'node');
  });

  describe('of ntpd', () => {
    const ntpd = (variables: string) =>
      memoryHost({
        services: { ntpd: RUNNING },
        programs: { ntpq: ({ args }) => ({ stdout: args[1] === '-c' ? variables : '' }) },
      });

    for (const [variables, right] of [
      ['leap=00, stratum=3, rootdelay=12.345, rootdisp=30.1, offset=-0.512', true],
      ['leap=3, stratum=16, rootdelay=0.000, rootdisp=0.210, offset=0.000', false],
      ['leap=11, stratum=3, rootdelay=0, rootdisp=0, offset=0', false],
      ['leap=00, stratum=3, rootdelay=12.345, rootdisp=15937.5, offset=-0.512', false],
      ['', false],
    ] as const) {
      test(`"${variables}" is ${right ? 'right' : 'not right'}`, async () => {
        assert.equal((await planned(clock, ntpd(`${variables}\n`), waiting())).length === 0, right);
      });
    }
  });

  describe('of systemd-timesyncd', () => {
    const timesyncd = (kernel: string, status: string) =>
      memoryHost({
        services: { 'systemd-timesyncd': RUNNING },
        programs: { timedatectl: ({ args }) => ({ stdout: args[0] === 'show' ? kernel : status }) },
      });
    const answered = (offset: string) =>
      `       Server: 10.0.0.1 (10.0.0.1)\n       Offset: ${offset}\n        Delay: 1ms\n`;

    for (const [what, kernel, status, right] of [
      ['answered and near', 'yes\n', answered('+1.215ms'), true],
      ['answered and stepped', 'yes\n', answered('-1h 2min 3.5s'), true],
      ['the kernel is not synchronised', 'no\n', answered('+1.215ms'), false],
      ['no answer of this server yet', 'yes\n', '       Server: 10.0.0.1 (10.0.0.1)\n', false],
    ] as const) {
      test(what, async () => {
        assert.equal((await planned(clock, timesyncd(kernel, status), waiting())).length === 0, right);
      });
    }
  });
});

test('time spans are read as systemd prints them', () => {
  assert.deepEqual(
    ['+1.215ms', '-304us', '0', '+1min 2.5s', '-1h'].map(timespanMs),
    [1.215, -0.304, 0, 62_500, -3_600_000],
  );
  assert.equal(timespanMs('soon'), Number.POSITIVE_INFINITY);
});
