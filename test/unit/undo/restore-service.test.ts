import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Resource } from '../../../src/host/seam/resource.ts';
import type { FollowUp } from '../../../src/step/index.ts';
import type { BeforeRecord } from '../../../src/step/memory.ts';
import type { ServiceBefore } from '../../../src/step/recorded-state.ts';
import { planServices } from '../../../src/undo/restore-service.ts';
import { type MemoryService, memoryHost } from '../../support/memory-host.ts';

interface Case {
  readonly was?: Partial<ServiceBefore>;
  readonly now?: MemoryService;
  /** What our changes did, as verbs; absent: an earlier version did not record it. */
  readonly marks?: readonly string[];
  readonly owed?: readonly FollowUp[];
  readonly gone?: readonly string[];
  readonly unmounts?: readonly string[];
  readonly first?: readonly string[];
  readonly last?: readonly string[];
}

async function planned({ was, now = {}, marks, owed = [], gone = [], unmounts = [] }: Case) {
  const host = memoryHost({ services: { app: { exists: true, ...now } } });
  const before = new Map<Resource, BeforeRecord>();
  if (was !== undefined) {
    const state = { is: 'service', exists: true, active: false, enabled: false, masked: false, ...was } as const;
    before.set('service:app', { step: 'services', was: state, isMarked: marks !== undefined, document: '' });
  }
  const after = new Map<Resource, readonly string[]>(marks === undefined ? [] : [['service:app', marks]]);
  const plan = await planServices(
    host,
    { before, after },
    { owed: new Set(owed), gone: new Set(gone), unmounts: new Set(unmounts) },
  );
  return { host, ...plan };
}

describe('a service becomes again what it was', () => {
  for (const [what, one] of Object.entries<Case>({
    'it was stopped, and we started it': { was: {}, now: { active: true }, marks: ['start'], first: ['stop app'] },
    'it ran, and we stopped it': { was: { active: true }, marks: ['stop'], last: ['start app'] },
    'it was enabled, and we disabled it': { was: { enabled: true }, marks: ['disable'], last: ['enable app'] },
    'it was disabled, and we enabled it': {
      was: {},
      now: { enabled: true },
      marks: ['enable'],
      first: ['disable app'],
    },
    'it was masked, and we unmasked it': { was: { masked: true }, marks: ['unmask'], last: ['mask app'] },
    'it was not masked, and we masked it': { was: {}, now: { masked: true }, marks: ['mask'], last: ['unmask app'] },
    'an earlier version did not record what it did': { was: {}, now: { active: true }, first: ['stop app'] },
    'a change of ours was interrupted': { was: {}, now: { active: true }, marks: ['?'], first: ['stop app'] },
    'it is as it was': { was: { active: true, enabled: true }, now: { active: true, enabled: true }, marks: ['start'] },
    'it did not exist': { was: { exists: false }, now: { active: true }, marks: [], first: ['stop app'] },
    'its unit goes': {
      gone: ['/etc/systemd/system/app.service'],
      now: { active: true, enabled: true },
      marks: [],
      first: ['stop app', 'disable app'],
    },
    'its script of OpenRC goes': { gone: ['/etc/init.d/app'], now: { active: true }, marks: [], first: ['stop app'] },
    'a drop-in of it goes': {
      gone: ['/etc/systemd/system/app.conf', '/etc/systemd/system/app.d'],
      now: { active: true },
    },
    'a file goes that is no unit': { gone: ['/opt/app'], now: { active: true } },
    'all of it was masked, stopped and disabled by us': {
      was: { active: true, enabled: true },
      now: { masked: true },
      marks: ['stop', 'disable', 'mask'],
      last: ['unmask app', 'enable app', 'start app'],
    },
    'somebody else started it': {
      was: {},
      now: { active: true },
      marks: [],
      last: ['leave app running: that was not machineadm'],
    },
    'somebody else stopped it': {
      was: { active: true },
      marks: [],
      last: ['leave app stopped: that was not machineadm'],
    },
    'somebody else masked it after we stopped and disabled it': {
      was: { active: true, enabled: true },
      now: { masked: true },
      marks: ['stop', 'disable'],
      last: [
        'leave app masked: that was not machineadm',
        'leave app stopped: it is masked',
        'leave app disabled: it is masked',
      ],
    },
    'it is static: it is never enabled': { was: {}, now: { enabled: true, fixed: true }, marks: ['enable'] },
    'it reads its files again where it runs': { now: { active: true }, owed: ['restart:app'], last: ['restart app'] },
    'it reads nothing where it does not run': { owed: ['restart:app.service'] },
    'it owes systemd, and not the service, something': { now: { active: true }, owed: ['daemon-reload'] },
    'it is stopped, and not restarted': {
      was: {},
      now: { active: true },
      marks: ['start'],
      owed: ['restart:app'],
      first: ['stop app'],
    },
    'it works in what is unmounted': {
      now: { active: true },
      unmounts: ['app'],
      first: ['stop app'],
      last: ['start app'],
    },
    'it works in what is unmounted, and goes': {
      was: {},
      now: { active: true },
      marks: ['start'],
      unmounts: ['app'],
      first: ['stop app'],
    },
    'it does not run in what is unmounted': { unmounts: ['app'] },
  })) {
    test(what, async () => {
      const { first, last } = await planned(one);
      assert.deepEqual(
        [first.map(({ summary }) => summary), last.map(({ summary }) => summary)],
        [one.first ?? [], one.last ?? []],
      );
    });
  }

  test('by the service manager, unless it is gone by then', async () => {
    const signal = new AbortController().signal;
    const { host, first } = await planned({ was: {}, now: { active: true }, marks: ['start'] });
    for (const action of first) {
      assert.equal(action.resource, 'service:app');
      assert.equal(action.unsettles, undefined);
      await action.perform?.(host, signal);
    }
    assert.deepEqual(host.log, ['service stop app']);
    host.setService('app', undefined);
    for (const action of first) await action.perform?.(host, signal);
    assert.equal(host.log.length, 1);
    const masked = await planned({ was: { masked: true }, marks: ['unmask'] });
    masked.host.setService('app', undefined);
    for (const action of masked.last) await action.perform?.(masked.host, signal);
    assert.deepEqual(masked.host.log, ['service mask app']);
  });

  test('so that a reset that was killed in between completes it', async () => {
    const { first } = await planned({ now: { active: true }, unmounts: ['app'] });
    assert.deepEqual(first[0]?.unsettles, [['service:app', 'stop']]);
  });
});
