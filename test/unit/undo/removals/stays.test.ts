import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HostModel, Model } from '@machineadm/document/model/index.ts';
import type { Resource } from '../../../../src/host/seam/resource.ts';
import { STEPS_BY_ID } from '../../../../src/pipeline/pipeline.ts';
import type { StepRecord } from '../../../../src/step/index.ts';
import type { BeforeRecord, Memory } from '../../../../src/step/memory.ts';
import { notReported, staysOf } from '../../../../src/undo/removals/stays.ts';
import { hostModel, userModel } from '../../../support/host-model.ts';

/** A machine on which an earlier run made the group `operators`. */
const MEMORY: Memory = {
  before: new Map([['group:operators', { step: 'groups', was: null, isMarked: true, document: '' }]]),
  after: new Map(),
  everOwed: new Map(),
  acted: new Map(),
  note: () => undefined,
  isResetting: false,
  isAdopted: false,
  others: () => false,
};

const KUBERNETES = {} as NonNullable<Model['kubernetes']>;
/** Whatever it was, it was there. */
const WAS = {} as NonNullable<BeforeRecord['was']>;

describe('a group that an earlier run made', () => {
  const told = (host: Partial<HostModel>) => staysOf(STEPS_BY_ID, hostModel(host), MEMORY).map(({ id }) => id);

  test('stays, which is reported, where the document does not name it any more', () => {
    assert.deepEqual(told({}), ['removals/stays/group:operators']);
  });

  test('belongs to the document where a user is a member of it, or has it as the primary group', () => {
    assert.deepEqual(told({ users: [userModel({ groups: ['operators'] })] }), []);
    assert.deepEqual(told({ users: [userModel({ primaryGroup: 'operators' })] }), []);
    assert.deepEqual(told({ groups: [{ name: 'operators', gid: undefined, system: false }] }), []);
  });
});

describe('a change that no run reverts', () => {
  const before = (step: string, was: BeforeRecord['was'] = null): BeforeRecord => ({
    step,
    was,
    isMarked: true,
    document: '',
  });
  const dropped = (model: Model, memory: Partial<Memory>) =>
    staysOf(STEPS_BY_ID, model, { ...MEMORY, before: new Map(), ...memory }).map(({ id, summary }) => [
      id.replace('removals/stays/', ''),
      summary.replace('no longer in the document: ', ''),
    ]);
  const MOUNT = { path: '/data' } as HostModel['storage']['mounts'][number];
  const mounts = (...list: HostModel['storage']['mounts']): Model =>
    hostModel({ storage: { disks: [], filesystems: [], mounts: list } });
  const asNode = (host: Partial<HostModel>): Model => ({ ...hostModel(host), kubernetes: KUBERNETES });

  const RESOURCES: readonly (readonly [
    resource: Resource,
    step: string,
    told: readonly [id: string, what: string],
    forgets: Model,
    keeps: readonly Model[],
  ])[] = [
    [
      'kernel:kernel/hostname',
      'hostname',
      ['hostname', 'the host name stays: certificates, logs and the cluster use it'],
      hostModel(),
      [hostModel({ hostname: 'node-1' })],
    ],
    [
      'user:ada',
      'users',
      ['user:ada', 'the user ada stays, with its files: absent: true removes it'],
      hostModel({ users: [userModel({ name: 'bob' })] }),
      [
        hostModel({ users: [userModel()] }),
        hostModel({ absentNames: [{ kind: 'user', name: 'ada', field: ['host', 'users', 0] }] }),
      ],
    ],
    [
      'mount:/data',
      'mounts',
      ['mount:/data', '/data stays mounted, as programs may use it: absent: true unmounts it'],
      mounts({ ...MOUNT, path: '/other' }),
      [mounts(MOUNT), hostModel({ absentNames: [{ kind: 'mount', name: '/data', field: ['host'] }] })],
    ],
    [
      'swap:/swapfile',
      'mounts',
      ['swap:/swapfile', 'swap on /swapfile stays on, as the kernel may need the memory: swapoff turns it off'],
      mounts(MOUNT),
      [mounts({ ...MOUNT, path: 'none' })],
    ],
    [
      'swap:/dev/sdb1',
      'swap',
      ['swap', 'swap stays off: a kubelet does not start with it unless it is configured so'],
      asNode({ swap: 'Unmanaged' }),
      [asNode({ swap: 'Disabled' }), hostModel()],
    ],
    [
      'path:/etc/containerd/config.toml',
      'containerd',
      ['containerd', 'the configuration of containerd stays: the node works with it'],
      asNode({}),
      [hostModel()],
    ],
  ];
  for (const [resource, step, told, forgets, keeps] of RESOURCES) {
    test(`${step}: ${told[1]}`, () => {
      const made = { before: new Map([[resource, before(step)]]) };
      assert.deepEqual(dropped(forgets, made), [told]);
      for (const model of keeps) assert.deepEqual(dropped(model, made), []);
      assert.deepEqual(dropped({ ...forgets, host: { ...forgets.host, prune: 'Never' } }, made), []);
      // Of another step it is restored as the files are.
      assert.deepEqual(dropped(forgets, { before: new Map([[resource, before('files')]]) }), []);
    });
  }

  test('is no user and no group that was there before', () => {
    const were = new Map<Resource, BeforeRecord>([
      ['user:ada', before('users', WAS)],
      ['group:operators', before('groups', WAS)],
    ]);
    assert.deepEqual(dropped(hostModel(), { before: were }), []);
  });

  test('are kernel modules that were loaded, however their names are written', () => {
    const acted = new Map([['kernel-modules', new Set(['kernel-modules/load/br_netfilter', 'kernel-modules/file'])]]);
    const what = 'the kernel module br_netfilter stays loaded until the next boot: programs may use it unnoticed';
    assert.deepEqual(dropped(hostModel({ kernelModules: ['overlay'] }), { acted }), [
      ['kernel-modules/load/br_netfilter', what],
    ]);
    assert.deepEqual(dropped(hostModel({ kernelModules: ['br-netfilter'] }), { acted }), []);
  });

  const ACTED: readonly (readonly [step: string, what: string])[] = [
    ['disks', 'partitions stay: no run deletes data'],
    ['filesystems', 'file systems stay: no run deletes data'],
    ['active-directory', 'the machine stays in the domain: a reset leaves it'],
    ['hooks-early', 'the effects of early hooks stay: machineadm does not know them'],
    ['hooks-before-bootstrap', 'the effects of hooks before the bootstrap stay: machineadm does not know them'],
    ['hooks-after-bootstrap', 'the effects of hooks after the bootstrap stay: machineadm does not know them'],
  ];
  test('is what these steps did, where the document asks for nothing of theirs', () => {
    const acted = new Map(ACTED.map(([step]) => [step, new Set([`${step}/x`])]));
    assert.deepEqual(dropped(hostModel(), { acted }), ACTED);
    const ASKED = [] as unknown;
    const all = hostModel({
      storage: { disks: [ASKED], filesystems: [ASKED], mounts: [] } as unknown as HostModel['storage'],
      activeDirectory: ASKED as NonNullable<HostModel['activeDirectory']>,
      hooks: { early: ASKED, beforeBootstrap: ASKED, afterBootstrap: ASKED } as HostModel['hooks'],
    });
    assert.deepEqual(dropped(all, { acted }), []);
    assert.deepEqual(dropped(hostModel(), {}), []);
  });

  test('are SELinux booleans that were set', () => {
    const acted = new Map([['selinux', new Set(['selinux/booleans'])]]);
    const told = [['selinux/booleans', 'SELinux booleans keep their values: setsebool -P changes them']];
    assert.deepEqual(dropped(hostModel(), { acted }), told);
    assert.deepEqual(dropped(hostModel(), { acted: new Map([['selinux', new Set(['selinux/mode'])]]) }), []);
    const selinux = { booleans: { x: true } } as unknown as HostModel['selinux'];
    assert.deepEqual(dropped(hostModel({ selinux }), { acted }), []);
  });
});

test('what stays is reported once, and again when its message changes', () => {
  const dropped = { id: 'removals/stays/hostname', summary: 'it stays' };
  const record = (...notes: readonly (readonly [string, string])[]): StepRecord =>
    ({ notes: new Map(notes) }) as unknown as StepRecord;
  assert.deepEqual(notReported([dropped], record()), [dropped]);
  assert.deepEqual(notReported([dropped], record([dropped.id, dropped.summary])), []);
  assert.deepEqual(notReported([dropped], record([dropped.id, 'otherwise'])), [dropped]);
  const performed = { ...dropped, perform: () => Promise.resolve() };
  assert.deepEqual(notReported([performed], record([dropped.id, dropped.summary])), [performed]);
});
