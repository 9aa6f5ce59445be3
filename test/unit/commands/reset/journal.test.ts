import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { madeIn } from '../../../../src/commands/reset/journal.ts';
import type { Host } from '../../../../src/host/seam/host.ts';
import { afterRecord, newJournalState } from '../../../../src/pipeline/journal.ts';
import type { JournalRecord } from '../../../../src/pipeline/journal-record.ts';
import { STEPS_BY_ID } from '../../../../src/pipeline/pipeline.ts';
import { recordingHost } from '../../../../src/pipeline/recording-host.ts';
import type { RunJournal } from '../../../../src/pipeline/run-journal.ts';
import { performReset } from '../../../../src/undo/reset/perform.ts';
import { describeReset, type Made, planReset, type ResetPlan } from '../../../../src/undo/reset/plan.ts';
import { type MemoryHost, type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { memoryJournal } from '../../pipeline/fake-steps.ts';
import { identity } from '../../pipeline/records.ts';

const CONTAINERD = '/etc/containerd/config.toml';
const ORIGINAL = `${CONTAINERD}.machineadm-orig`;
const UNDO = {
  criSocket: 'unix:///run/containerd/containerd.sock',
  certificatesDirectory: '/etc/kubernetes/pki',
  nodeName: 'node-1',
};

function wrote(path: string, before: 'absent' | 'present' = 'absent'): JournalRecord {
  return { is: 'wrote', step: 'files', path, before };
}

const LEFT_OF_A_NODE = [
  'leave the Node object in the cluster: kubectl delete node removes it',
  'leave the network of the pods (/etc/cni/net.d, interfaces, packet filter rules): it is of its plug-in and of kube-proxy',
];

const BOOTSTRAPPED: readonly JournalRecord[] = [
  { is: 'inventory', step: 'kubeadm', entries: [] },
  { is: 'started', step: 'kubeadm', change: 'kubeadm/init' },
  { is: 'note', step: 'kubeadm', change: 'kubeadm/init', note: { succeeded: true, undo: UNDO } },
  { is: 'done', step: 'kubeadm', change: 'kubeadm/init' },
];

/** As a reset reads it. */
function journalOf(...records: readonly JournalRecord[]): Made {
  return madeIn(records.reduce(afterRecord, newJournalState(identity(), false)));
}

async function resetOf(
  machine: MemoryMachine,
  records: readonly JournalRecord[],
  leaveFiles = false,
): Promise<{ readonly host: MemoryHost; readonly plan: ResetPlan; readonly error: unknown }> {
  const host = memoryHost(machine);
  const plan = await planReset(STEPS_BY_ID, host, journalOf(...records), { leaveFiles, osId: 'debian' });
  host.log.length = 0;
  let error: unknown;
  try {
    await performReset(host, plan, { signal: new AbortController().signal, line: () => {} });
  } catch (thrown) {
    error = thrown;
  }
  return { host, plan, error };
}

describe('what a step changes', () => {
  const recorded = async (machine: MemoryMachine, work: (host: Host) => Promise<void>) => {
    const host = memoryHost(machine);
    const kept = memoryJournal();
    const journal: RunJournal = {
      ...kept,
      append(record) {
        const path = record.is === 'before' ? record.of.replace(/^path:/, '') : '';
        assert.equal(host.text(path), machine.files?.[path], 'the record comes before the change');
        kept.append(record);
      },
    };
    await work(recordingHost(host, { id: 'files' }, journal));
    return kept.records.flatMap((record) => (record.is === 'before' ? [[record.of, record.was] as const] : []));
  };

  test('is recorded once, as it was before', async () => {
    const records = await recorded({ files: { '/etc/hosts': 'before' } }, async (host) => {
      for (const path of ['/etc/hosts', '/etc/new', '/etc/new', '/run/kubeadm/kubeadm.yaml']) {
        await host.writeFile({ path, content: 'x', mode: 0o644 });
      }
    });
    assert.deepEqual(
      records.map(([of, was]) => [of, was?.is]),
      [
        ['path:/etc/hosts', 'file'],
        ['path:/etc/new', undefined],
      ],
    );
  });

  test('may be a service', async () => {
    const services = { kubelet: {}, containerd: { enabled: true, active: true } };
    const records = await recorded({ services }, async (host) => {
      await host.services.enable('kubelet');
      await host.services.restart('containerd.service');
      await host.services.disable('kubelet');
    });
    const service = { is: 'service', exists: true, masked: false } as const;
    assert.deepEqual(records, [
      ['service:kubelet', { ...service, active: false, enabled: false }],
      ['service:containerd', { ...service, active: true, enabled: true }],
    ]);
  });
});

describe('a reset', () => {
  test('removes the node first, then what machineadm created, the latest first', async () => {
    const { host, error } = await resetOf(
      {
        files: { '/etc/a': 'a', '/etc/b': 'b', '/etc/hosts': 'changed', '/etc/others': 'of others' },
        services: { kubelet: { active: true, enabled: true }, containerd: { active: true } },
        programs: { kubeadm: () => ({}) },
      },
      [
        wrote('/etc/a'),
        wrote('/etc/hosts', 'present'),
        wrote('/etc/b'),
        { is: 'enabled', step: 'kubeadm', service: 'kubelet' },
        ...BOOTSTRAPPED,
      ],
    );
    assert.equal(error, undefined);
    assert.deepEqual(host.log, [
      'service stop kubelet',
      'service start containerd',
      'service stop kubelet',
      'remove pods of unix:///run/containerd/containerd.sock',
      'run kubeadm reset --force --cri-socket=unix:///run/containerd/containerd.sock --kubeconfig=/dev/null',
      'service disable kubelet',
      'remove /etc/b',
      'remove /etc/a',
      'sync /',
    ]);
    assert.equal(host.text('/etc/hosts'), 'changed', 'it was there before us');
    assert.equal(host.text('/etc/others'), 'of others');
  });

  test('restores the configuration of containerd, and makes containerd use it', async () => {
    const { host } = await resetOf(
      {
        files: { [CONTAINERD]: 'ours', [ORIGINAL]: { content: 'theirs', mode: 0o600 } },
        services: { containerd: { active: true } },
      },
      [wrote(ORIGINAL), wrote(CONTAINERD, 'present')],
    );
    assert.equal(host.text(CONTAINERD), 'theirs');
    assert.equal((await host.stat(CONTAINERD))?.mode, 0o600);
    assert.equal(host.text(ORIGINAL), undefined);
    assert.ok(host.log.includes('service restart containerd'));
  });

  test('restores a file of which an earlier version kept a copy', async () => {
    const [path, copy] = ['/etc/krb5.conf', '/etc/krb5.conf.machineadm-orig'];
    const files = { [path]: 'ours', [copy]: { content: 'theirs', mode: 0o644 } };
    const { host, plan } = await resetOf({ files }, [wrote(copy), wrote(path, 'present')]);
    assert.deepEqual(describeReset(plan), [`restore ${path} as it was`, `remove ${copy}`]);
    assert.deepEqual([host.text(path), host.text(copy)], ['theirs', undefined]);
  });

  test('makes hooks run again on the next node', async () => {
    const state = '/var/lib/machineadm/hooks/hooks-early';
    const machine = { files: { [state]: '{}' }, programs: { rm: () => ({}) } };
    const { host, plan } = await resetOf(machine, [wrote('/var/lib/machineadm/hooks'), wrote(state, 'present')]);
    assert.deepEqual(describeReset(plan), []);
    assert.deepEqual(host.log, ['run rm -r -f --one-file-system -- /var/lib/machineadm/hooks']);
  });

  test('removes what upgrades of the node left, the snapshot of etcd among it, and no other copy of kubeadm', async () => {
    const [kept, copies] = ['/var/lib/machineadm/upgrade', '/etc/kubernetes/tmp'];
    const files = {
      [`${kept}/etcd-snapshot.db`]: 'db',
      [`${kept}/kubeadm-copies.json`]: '{"ours":["kubeadm-backup-etcd-2026"]}',
      [`${copies}/kubeadm-backup-etcd-2026/etcd/member`]: 'm',
      [`${copies}/kubeadm-backup-etcd-2027/etcd/member`]: 'of a kubeadm that was run by hand',
      [`${copies}/kubeadm-init-dryrun1/admin.conf`]: 'of a dry run',
    };
    const machine = { files, programs: { kubeadm: () => ({}), rm: () => ({}) } };
    const { host, plan } = await resetOf(machine, BOOTSTRAPPED);
    const paths = [`${copies}/kubeadm-backup-etcd-2026`, kept];
    const lines = paths.map((path) => `remove ${path}, which an upgrade of the node left`);
    assert.deepEqual(describeReset(plan).slice(0, 3), ['kubeadm reset', ...lines]);
    const removals = host.log.filter((line) => line.startsWith('run rm '));
    assert.deepEqual(
      removals,
      paths.map((path) => `run rm -r -f --one-file-system -- ${path}`),
    );
  });

  test('leaves copies of a kubeadm that was run by hand', async () => {
    const files = { '/etc/kubernetes/tmp/kubeadm-backup-etcd-2026/etcd/member': 'm' };
    const { plan } = await resetOf({ files, programs: { kubeadm: () => ({}) } }, BOOTSTRAPPED);
    assert.deepEqual(plan.upgradeRemains, []);
  });

  test('keeps the files on request', async () => {
    const machine = { files: { '/etc/a': 'a' }, programs: { kubeadm: () => ({}) } };
    const { host, plan } = await resetOf(machine, [wrote('/etc/a'), ...BOOTSTRAPPED], true);
    assert.equal(host.text('/etc/a'), 'a');
    assert.deepEqual(describeReset(plan), ['kubeadm reset', 'leave /etc/a', ...LEFT_OF_A_NODE]);
  });

  test('takes the sentinel away before anything else', async () => {
    const note: JournalRecord = {
      is: 'note',
      step: 'sentinel',
      change: 'sentinel/file',
      note: { path: '/run/cluster-api/bootstrap-success.complete' },
    };
    const { host } = await resetOf({}, [note]);
    assert.equal(host.log[0], 'remove /run/cluster-api/bootstrap-success.complete');
  });

  test('undoes a program of the document by its own command', async () => {
    const note: JournalRecord = {
      is: 'note',
      step: 'exec-bootstrapper',
      change: 'exec-bootstrapper/run',
      note: { reset: ['k3s-uninstall', '--all'] },
    };
    const { host } = await resetOf({ programs: { 'k3s-uninstall': () => ({}) } }, [note]);
    assert.equal(host.log[0], 'run k3s-uninstall --all');
  });

  test('unmounts volumes of pods, and stops if one is in use', async () => {
    const mountinfo = '1 1 0:1 / / rw - ext4 a rw\n2 1 0:2 / /var/lib/kubelet/pods/1/volumes/v rw - nfs b rw\n';
    const { host, error } = await resetOf(
      {
        kernelFiles: { '/proc/self/mountinfo': mountinfo },
        services: { kubelet: { active: true } },
        programs: { umount: () => ({ status: 32, stderr: 'target is busy' }), kubeadm: () => ({}) },
      },
      BOOTSTRAPPED,
    );
    assert.equal(error instanceof Error && 'reason' in error ? error.reason : error, 'ResetFailed');
    assert.deepEqual(host.log, ['service stop kubelet', 'run umount -- /var/lib/kubelet/pods/1/volumes/v']);
  });

  const ENTRY = { path: '/etc/kubernetes/pki/ca.key', type: 'file', size: 5 } as const;

  test('keeps files from before the bootstrap, and says so', async () => {
    const files = { [ENTRY.path]: 'first', '/etc/kubernetes/admin.conf': 'x', '/etc/kubernetes/pki/ca.srl': 'new' };
    const { host, plan, error } = await resetOf({ files }, [
      ...BOOTSTRAPPED,
      { is: 'inventory', step: 'kubeadm', entries: [ENTRY] },
    ]);
    assert.equal(error, undefined);
    assert.deepEqual(describeReset(plan), [
      'remove what kubeadm and the kubelet wrote, the etcd member and the pods',
      `keep ${ENTRY.path}: it was there before the bootstrap`,
      ...LEFT_OF_A_NODE,
    ]);
    assert.equal(host.text(ENTRY.path), 'first');
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('remove') || line.startsWith('run')),
      [
        'remove pods of unix:///run/containerd/containerd.sock',
        'remove /etc/kubernetes/admin.conf',
        'remove /etc/kubernetes/pki/ca.srl',
      ],
    );
  });

  test('of a node that an older version made keeps what cannot be recreated, unless machineadm wrote it', async () => {
    const older = BOOTSTRAPPED.filter(({ is }) => is !== 'inventory');
    const files = {
      '/etc/kubernetes/pki/ca.crt': 'x',
      '/etc/kubernetes/pki/ca.key': 'x',
      '/etc/kubernetes/pki/sa.key': 'of the document',
      '/etc/kubernetes/pki/apiserver.key': 'x',
      '/etc/kubernetes/manifests/etcd.yaml': 'x',
      '/etc/kubernetes/manifests/agent.yaml': 'x',
      '/var/lib/kubelet/config.yaml': 'x',
      '/var/lib/kubelet/seccomp/audit.json': 'x',
      '/var/lib/etcd/member/snap/db': 'x',
    };
    const { plan } = await resetOf({ files }, [...older, wrote('/etc/kubernetes/pki/sa.key')]);
    assert.deepEqual(plan.keep, [
      '/etc/kubernetes/manifests/agent.yaml',
      '/var/lib/kubelet/seccomp/audit.json',
      '/etc/kubernetes/pki/ca.crt',
      '/etc/kubernetes/pki/ca.key',
      '/var/lib/etcd/member',
    ]);
  });

  test('lists fifty of the paths that it keeps, and how many more there are', async () => {
    const entries = Array.from({ length: 60 }, (_, index) => ({ ...ENTRY, path: `/etc/kubernetes/pki/${index}` }));
    const { plan } = await resetOf({}, [...BOOTSTRAPPED, { is: 'inventory', step: 'kubeadm', entries }]);
    const lines = describeReset(plan).slice(0, -LEFT_OF_A_NODE.length);
    assert.equal(lines.length, 51);
    assert.equal(lines.at(-1), 'keep 11 more paths that were there before');
  });

  test('may be run again after it was interrupted', async () => {
    const { error, plan } = await resetOf({ programs: { kubeadm: () => ({}) } }, [wrote('/etc/gone'), ...BOOTSTRAPPED]);
    assert.equal(error, undefined);
    assert.deepEqual(
      plan.restore,
      LEFT_OF_A_NODE.map((summary) => ({ summary })),
    );
  });
});

describe('a change that a reset cannot undo', () => {
  const done = (step: string, change: string, note?: unknown): readonly JournalRecord[] => [
    ...(note === undefined ? [] : [{ is: 'note', step, change, note } as const]),
    { is: 'step', step, changes: [change] },
  ];
  const member = { computer: 'NODE-1', domain: 'corp.example.com' };
  const CASES: readonly (readonly [readonly JournalRecord[], string])[] = [
    [
      done('hooks-early', 'hooks-early/0'),
      'the changes that the commands of host.hooks made: machineadm does not track them',
    ],
    [done('hooks-boot', 'x'), 'the changes that the commands of host.hooks made: machineadm does not track them'],
    [done('disks', 'disks/0'), 'the partitions, with the sizes that they have now: a reset never wipes a disk'],
    [
      done('filesystems', 'filesystems/0'),
      'the file systems, with all that is in them and the sizes that they have now: a reset never wipes a disk',
    ],
    [done('images', 'images/x'), 'the container images in the store of containerd: other containers may use them'],
    [
      done('registries', 'registries/x'),
      'the container images in the store of containerd: other containers may use them',
    ],
    [
      done('selinux', 'selinux/booleans', { values: ['container_manage_cgroup=on'] }),
      'the SELinux booleans container_manage_cgroup=on: setsebool -P changes them',
    ],
    [
      done('selinux', 'selinux/file-contexts', { paths: ['/srv(/.*)?'] }),
      'the SELinux labels of /srv(/.*)?: semanage fcontext --delete removes them',
    ],
    [
      done('active-directory', 'active-directory/join', { ...member, stays: 'host.activeDirectory.onReset is Keep' }),
      'the account NODE-1 in corp.example.com and its keys on this machine: host.activeDirectory.onReset is Keep',
    ],
    [
      done('active-directory', 'active-directory/join', member),
      'the account NODE-1 in corp.example.com and its keys on this machine: machineadm was not to leave the domain',
    ],
    [
      done('directory-address', 'directory-address/register', { server: 'dc1' }),
      'the address of this machine in the DNS of the domain: delete it there',
    ],
    [
      done('directory-logins', 'directory-logins/pam'),
      'what sssd remembers of the domain (/var/lib/sss): sss_cache --everything makes it stale',
    ],
    [
      done('exec-bootstrapper', 'exec-bootstrapper/run', { reset: [] }),
      'what the program of the document did: the document has no command that undoes it',
    ],
    [done('kubeadm', 'kubeadm/join'), 'the Node object in the cluster: kubectl delete node removes it'],
  ];
  for (const [records, left] of CASES) {
    test(`is left and listed: ${left}`, async () => {
      const { plan } = await resetOf({}, records);
      assert.ok(describeReset(plan).includes(`leave ${left}`), describeReset(plan).join('\n'));
    });
  }

  test('is not listed where a step changed something else', async () => {
    assert.deepEqual(describeReset((await resetOf({}, done('selinux', 'selinux/mode'))).plan), []);
    const left = done('active-directory', 'active-directory/join', { ...member, undo: { keytab: '/etc/krb5.keytab' } });
    const { plan } = await resetOf({ programs: { rm: () => ({}) } }, left);
    assert.ok(!describeReset(plan).some((line) => line.includes('the account')));
  });
});

describe("kubeadm's manifests", () => {
  test('are not reported as left when one of them was changed: kubeadm reset removes them', async () => {
    const manifest = '/etc/kubernetes/manifests/kube-apiserver.yaml';
    const machine = { files: { [manifest]: 'changed', '/etc/a': 'changed' }, programs: { kubeadm: () => ({}) } };
    const { plan } = await resetOf(machine, [...BOOTSTRAPPED, wrote(manifest, 'present'), wrote('/etc/a', 'present')]);
    assert.deepEqual(describeReset(plan), [
      'kubeadm reset',
      'leave /etc/a: it was there before, and how it was is not on record',
      ...LEFT_OF_A_NODE,
    ]);
  });
});
