import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { formatConformance } from '../../../../src/cli/conformance.ts';
import { CONTRACT_VERSION, type Subject } from '../../../../src/diagnosis/conformance/clause.ts';
import { CLAUSES, type Judgement, judge } from '../../../../src/diagnosis/conformance/index.ts';
import type { Facts } from '../../../../src/host/seam/facts.ts';
import { parseVersion } from '../../../../src/host/seam/version.ts';
import { facts } from '../../../support/facts.ts';
import {
  type MemoryHost,
  type MemoryMachine,
  type MemoryProgram,
  memoryHost,
  queryOnly,
} from '../../../support/memory-host.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const unit = (name: string): string => readFileSync(join(ROOT, 'packaging/systemd', name), 'utf8');

const PROGRAMS =
  'lsblk mount umount sync sh useradd usermod groupadd chpasswd getent setpriv visudo sfdisk partx wipefs blkid udevadm ' +
  'mkfs.ext4 modprobe swapon swapoff update-ca-certificates chronyd logger ip nsenter iptables conntrack ebtables ethtool socat tc touch';

/** Answers `findmnt -n -o WHAT -T PATH`. */
function mounts(different: Readonly<Record<string, string>> = {}): MemoryProgram {
  const found: Readonly<Record<string, string>> = {
    'FSTYPE /run': 'tmpfs',
    'FSTYPE /var/lib/machineadm': 'ext4',
    'OPTIONS /etc': 'rw,relatime',
    ...different,
  };
  return ({ args }) => ({ stdout: `${found[`${args[2]} ${args[4]}`] ?? ''}\n` });
}

/** Answers `systemctl is-enabled UNIT`. */
function enabled(different: Readonly<Record<string, string>> = {}): MemoryProgram {
  const states: Readonly<Record<string, string>> = {
    'containerd.service': 'enabled',
    'kubelet.service': 'enabled',
    'machineadm-resume.service': 'enabled',
    'machineadm-provision.service': 'disabled',
    'machineadm-sentinel.service': 'enabled',
    ...different,
  };
  return ({ args }) => ({ stdout: `${states[args[1] ?? ''] ?? 'not-found'}\n` });
}

const BOOTSTRAPPED = {
  apiVersion: 'machineadm.dev/status/v1',
  kind: 'BootstrapStatus',
  runId: 'r',
  command: 'provision',
  phase: 'Concluded',
  outcome: 'Succeeded',
  startedAt: 't',
  updatedAt: 't',
  steps: [{ id: 'sentinel', state: 'Unchanged' }],
  document: {},
  exitCode: 0,
  conditions: [{ type: 'machineadm.dev/BootstrapSucceeded', status: 'True' }],
};

const SUMMARY = JSON.stringify({ runId: BOOTSTRAPPED.runId, phase: 'Concluded', outcome: 'Succeeded', exitCode: 0 });

const KUBELET_DROP_IN = `[Service]
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS
`;

interface Difference {
  readonly files?: MemoryMachine['files'];
  readonly programs?: Readonly<Record<string, MemoryProgram>>;
  readonly without?: readonly string[];
  readonly facts?: Partial<Facts>;
  readonly subject?: Partial<Subject>;
  readonly change?: (host: MemoryHost) => void;
}

/** A node that keeps every clause, after its bootstrap, and what a test changes of it. */
function subject(different: Difference = {}): Subject {
  const names = PROGRAMS.split(' ').filter((name) => different.without?.includes(name) !== true);
  const host = memoryHost({
    files: {
      '/usr/local/bin/machineadm': { mode: 0o755 },
      '/etc/systemd/system/kubelet.service': '[Service]\nExecStart=/usr/bin/kubelet\n',
      '/etc/systemd/system/kubelet.service.d/10-kubeadm.conf': KUBELET_DROP_IN,
      '/usr/lib/systemd/system/containerd.service': '[Service]\n',
      '/etc/systemd/system/machineadm-provision.service': unit('machineadm-provision.service'),
      '/etc/systemd/system/machineadm-resume.service': unit('machineadm-resume.service'),
      '/proc/self/fd': { type: 'directory' },
      '/sys/module/overlay': { type: 'directory' },
      '/sys/module/br_netfilter': { type: 'directory' },
      '/etc/group': 'root:x:0:\nmachineadm:x:998:\n',
      '/run/machineadm/status.json': { mode: 0o640, gid: 998 },
      '/run/machineadm/summary.json': SUMMARY,
      '/run/cluster-api/bootstrap-success.complete': 'success\n',
      '/var/lib/machineadm/journal': { mode: 0o600 },
      '/var/lib/machineadm/status.json': { mode: 0o640, gid: 998 },
      '/var/lib/machineadm/summary.json': SUMMARY,
      '/etc/machineadm/bootstrap.yaml': { mode: 0o600 },
      ...different.files,
    },
    programs: {
      ...Object.fromEntries(names.map((name) => [name, () => ({})])),
      findmnt: mounts(),
      systemctl: enabled(),
      ...different.programs,
    },
  });
  different.change?.(host);
  return {
    host: queryOnly(host),
    facts: facts(different.facts),
    isBooted: true,
    program: '/usr/local/bin/machineadm',
    status: BOOTSTRAPPED,
    ...different.subject,
  };
}

async function judgements(different?: Difference): Promise<readonly Judgement[]> {
  return await judge(subject(different));
}

async function brokenBy(different: Difference): Promise<readonly string[]> {
  return (await judgements(different)).filter(({ state }) => state === 'broken').map(({ id }) => id);
}

test('a node that keeps the contract keeps every clause of it', async () => {
  const other = (await judgements()).filter(({ state }) => state !== 'kept');
  assert.deepEqual(other, []);
});

describe('a clause that is broken is named, and no other', () => {
  const STICKY: Difference = { change: (host) => host.put('/usr/local/bin', { type: 'directory', mode: 0o777 }) };
  const cases: readonly (readonly [string, string, Difference])[] = [
    ['IMG-01', 'an old kernel', { facts: { kernel: '4.14.330-1.amzn2' } }],
    ['IMG-03', 'no init system', { facts: { serviceManager: 'none' } }],
    ['IMG-04', 'no lsblk', { without: ['lsblk'] }],
    ['IMG-05', 'a directory of the program that all can write', STICKY],
    ['IMG-06', '/var in memory', { programs: { findmnt: mounts({ 'FSTYPE /var/lib/machineadm': 'tmpfs' }) } }],
    ['IMG-07', '/run on the disk', { programs: { findmnt: mounts({ 'FSTYPE /run': 'ext4' }) } }],
    ['IMG-08', 'a read-only /etc', { programs: { findmnt: mounts({ 'OPTIONS /etc': 'ro,relatime' }) } }],
    ['IMG-10', 'no useradd', { without: ['useradd'] }],
    ['IMG-11', 'no visudo', { without: ['visudo'] }],
    ['IMG-12', 'no sfdisk', { without: ['sfdisk'] }],
    ['IMG-13', 'no modprobe', { without: ['modprobe'] }],
    ['IMG-14', 'no swapoff', { without: ['swapoff'] }],
    ['IMG-15', 'neither program for authorities', { without: ['update-ca-certificates'] }],
    ['IMG-16', 'no time service', { without: ['chronyd'] }],
    ['IMG-17', 'no logger', { without: ['logger'] }],
    ['IMG-18', 'no /proc', { change: (host) => host.take('/proc/self/fd') }],
    ['KUB-01', 'a kubelet newer than kubeadm', { facts: { kubelet: parseVersion('v1.36.0') } }],
    ['KUB-01', 'no kubeadm', { facts: { kubeadm: undefined } }],
    ['KUB-02', "no drop-in of kubeadm's", { files: { '/etc/systemd/system/kubelet.service.d/10-kubeadm.conf': '' } }],
    ['KUB-05', 'an old containerd', { facts: { containerd: parseVersion('1.5.11') } }],
    ['KUB-06', 'CRI off', { files: { '/etc/containerd/config.toml': 'disabled_plugins = ["cri"]\n' } }],
    ['KUB-07', 'no iptables', { without: ['iptables'] }],
    ['KUB-08', 'no conntrack', { without: ['conntrack'] }],
    [
      'KUB-09',
      'no module br_netfilter',
      { programs: { modprobe: () => ({ status: 1 }) }, change: (host) => host.take('/sys/module/br_netfilter') },
    ],
    [
      'UNIT-01',
      'no order after the network',
      changed('machineadm-provision.service', 'After=network-online.target ', 'After='),
    ],
    [
      'UNIT-02',
      'a deadline',
      changed('machineadm-provision.service', 'TimeoutStartSec=infinity', 'TimeoutStartSec=90s'),
    ],
    ['UNIT-03', "the caller's NODE_OPTIONS", changed('machineadm-provision.service', '=NODE_OPTIONS ', '=')],
    [
      'UNIT-04',
      'no order after the network',
      changed('machineadm-resume.service', 'After=network-online.target ', 'After='),
    ],
    ['UNIT-02', 'a run at every boot', changed('machineadm-provision.service', ' --boot', '')],
    ['UNIT-05', 'a run that does not ask first', changed('machineadm-resume.service', ' --resume', '')],
    [
      'UNIT-05',
      'the sentinel as a condition',
      changed(
        'machineadm-resume.service',
        '[Service]',
        'ConditionPathExists=!/run/cluster-api/bootstrap-success.complete\n[Service]',
      ),
    ],
    ['UNIT-06', "the caller's OPENSSL_CONF", changed('machineadm-resume.service', ' OPENSSL_CONF', '')],
    [
      'UNIT-07',
      'both units enabled',
      { programs: { systemctl: enabled({ 'machineadm-provision.service': 'enabled' }) } },
    ],
    ['RUN-01', 'a status that its group cannot read', { files: { '/run/machineadm/status.json': { mode: 0o600 } } }],
    ['RUN-01', 'a status for all', { files: { '/run/machineadm/status.json': { mode: 0o644 } } }],
    ['RUN-01', 'a status of another group', { files: { '/run/machineadm/status.json': { mode: 0o640, gid: 27 } } }],
    ['RUN-01', 'a status of a group that is gone', { change: (host) => host.put('/etc/group', 'root:x:0:\n') }],
    ['RUN-01', 'a status of another kind', { subject: { status: { ...BOOTSTRAPPED, kind: 'Other' } } }],
    ['RUN-02', 'a sentinel of another content', { files: { '/run/cluster-api/bootstrap-success.complete': 'ok' } }],
    [
      'RUN-02',
      'a closed directory',
      { change: (host) => host.put('/run/cluster-api', { type: 'directory', mode: 0o700 }) },
    ],
    ['RUN-03', 'a journal for all', { files: { '/var/lib/machineadm/journal': { mode: 0o644 } } }],
    ['RUN-03', 'a copy of the status for all', { files: { '/var/lib/machineadm/status.json': { mode: 0o644 } } }],
    ['RUN-03', 'a report for all', { files: { '/var/lib/machineadm/spool/a': { mode: 0o640 } } }],
    ['RUN-04', 'a document for all', { files: { '/etc/machineadm/bootstrap.yaml': { mode: 0o644 } } }],
    ['RUN-06', 'no summary', { change: (host) => host.take('/run/machineadm/summary.json') }],
    [
      'RUN-06',
      'a summary that users cannot read',
      { files: { '/run/machineadm/summary.json': { mode: 0o640, content: SUMMARY } } },
    ],
    [
      'RUN-06',
      'a summary that users cannot reach',
      { change: (host) => host.put('/run/machineadm', { type: 'directory', mode: 0o700 }) },
    ],
    ['RUN-06', 'a damaged summary', { files: { '/run/machineadm/summary.json': SUMMARY.slice(1) } }],
    [
      'RUN-06',
      'a summary of another outcome',
      { files: { '/run/machineadm/summary.json': SUMMARY.replace('Succeeded', 'Failed') } },
    ],
    [
      'RUN-05',
      'a unit that a preset disabled',
      { programs: { systemctl: enabled({ 'machineadm-sentinel.service': 'disabled' }) } },
    ],
  ];
  for (const [id, what, different] of cases) {
    test(`${id}: ${what}`, async () => assert.deepEqual(await brokenBy(different), [id]));
  }

  test('KUB-03 and KUB-04: a masked kubelet', async () => {
    const programs = { systemctl: enabled({ 'kubelet.service': 'masked' }) };
    assert.deepEqual(await brokenBy({ programs }), ['KUB-03', 'KUB-04']);
  });

  test('RUN-02: a sentinel in the image, before any run', async () => {
    assert.deepEqual(await brokenBy({ subject: { status: undefined } }), ['RUN-02']);
  });

  test('every clause that can be broken is broken by one of these', () => {
    const ids = new Set([...cases.map(([id]) => id), 'KUB-03', 'KUB-04']);
    // Without its libraries the program says nothing at all.
    ids.add('IMG-02');
    assert.deepEqual(
      CLAUSES.map(({ id }) => id).filter((id) => !ids.has(id)),
      [],
    );
  });
});

describe('what does not apply is said, and breaks nothing', () => {
  test('the group of the status on a machine that has none, and a group that was made after the last run', async () => {
    const files = { '/run/machineadm/status.json': { mode: 0o640 } };
    for (const groups of ['root:x:0:\n', 'root:x:0:\nmachineadm:x:998:\n']) {
      assert.deepEqual(await brokenBy({ files: { ...files, '/etc/group': groups } }), []);
    }
  });

  test('a summary that was read while a run went on', async () => {
    const files = { '/run/machineadm/summary.json': SUMMARY.replace('Concluded', 'Host') };
    const found = (await judgements({ files })).find(({ id }) => id === 'RUN-06');
    assert.equal(found?.state, 'unchecked');
  });

  test('an image without Kubernetes', async () => {
    const found = await judgements({ facts: { kubeadm: undefined, kubelet: undefined } });
    const states = found.filter(({ id }) => id.startsWith('KUB-')).map(({ state }) => state);
    assert.deepEqual([...new Set(states)], ['unchecked']);
  });

  test('an image that was not booted', async () => {
    const found = await judgements({
      subject: { isBooted: false, status: undefined },
      facts: { serviceManager: 'none' },
      files: { '/usr/lib/systemd/systemd': '' },
      change: (host) => host.take('/run/cluster-api/bootstrap-success.complete'),
    });
    const state = (id: string) => found.find((one) => one.id === id)?.state;
    assert.deepEqual([state('IMG-03'), state('IMG-06'), state('IMG-07')], ['kept', 'unchecked', 'unchecked']);
    assert.deepEqual(
      found.filter((one) => one.state === 'broken'),
      [],
    );
  });

  test('a machine whose document is for the host alone: it earns no sentinel', async () => {
    const found = await judgements({
      subject: { status: { ...BOOTSTRAPPED, steps: [{ id: 'files', state: 'Succeeded' }] } },
      programs: { systemctl: enabled({ 'machineadm-sentinel.service': 'not-found' }) },
      change: (host) => host.take('/run/cluster-api/bootstrap-success.complete'),
    });
    const state = (id: string) => found.find((one) => one.id === id)?.state;
    assert.deepEqual([state('RUN-02'), state('RUN-05')], ['kept', 'unchecked']);
  });

  test('a look that throws', async () => {
    const [first] = await judge(subject(), [
      { id: 'IMG-99', level: 'MUST', title: 't', look: async () => Promise.reject(new Error('EIO')) },
    ]);
    assert.deepEqual([first?.state, first?.text], ['unchecked', 'it could not be looked at: EIO']);
  });
});

test('the report ends with the clauses that are broken', async () => {
  const clauses = await judgements({ without: ['lsblk', 'visudo'] });
  const report = { contract: CONTRACT_VERSION, conforms: false, os: { id: 'debian', version: '13' }, clauses };
  const lines = formatConformance(report).split('\n');
  assert.equal(
    lines.at(-1),
    `debian 13 does not keep contract ${CONTRACT_VERSION}: IMG-04; ${CLAUSES.length - 2} kept, 2 broken, 0 not checked [ContractBroken]`,
  );
  assert.match(lines.at(-5) ?? '', /^FAIL IMG-04 MUST .*: missing: lsblk$/);
  assert.match(lines.at(-3) ?? '', /^warn IMG-11 SHOULD .*: missing: visudo$/);
});

describe('contract/CONTRACT.md', () => {
  const text = readFileSync(join(ROOT, 'contract/CONTRACT.md'), 'utf8');
  const ids = [...text.matchAll(/^(?:\| |- )([A-Z]+-\d\d)\b/gm)].map(([, id = '']) => id);

  test('gives each id to one clause only', () => {
    assert.ok(ids.length > CLAUSES.length + 20);
    assert.deepEqual(ids, [...new Set(ids)]);
  });

  test('has every clause of the suite, in the version that the suite tells', () => {
    assert.deepEqual(
      CLAUSES.map(({ id }) => id).filter((id) => !ids.includes(id)),
      [],
    );
    assert.match(text, new RegExp(`^Version ${CONTRACT_VERSION}\\.`, 'm'));
  });
});

/** The machine with a unit in which one thing is replaced. */
function changed(name: string, before: string, after: string): Difference {
  const text = unit(name);
  assert.ok(text.includes(before), `${name} has no ${before}`);
  return { files: { [`/etc/systemd/system/${name}`]: text.replace(before, after) } };
}
