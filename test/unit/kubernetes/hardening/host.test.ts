import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { FileModel, HostModel, ServiceModel } from '@machineadm/document/model/index.ts';
import type { Check, Control } from '@machineadm/hardening/controls/control.ts';
import { hardenHost } from '@machineadm/hardening/harden-host.ts';
import type { ManifestEdit } from '@machineadm/hardening/manifest.ts';
import type { FoundFile, Observed } from '@machineadm/hardening/observed.ts';
import { type Remediations, remediationsFor } from '@machineadm/hardening/remediate.ts';
import { changesFor } from '../../../../src/features/hardening/changes.ts';
import { fileModel, hostModel } from '../../../support/host-model.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';

const control = (check: Check): Control => ({
  id: 'own-1',
  level: 1,
  profiles: [],
  applies: 'node',
  since: undefined,
  until: undefined,
  kubeadmLeavesIt: false,
  off: undefined,
  check,
});

const SSH = { kind: 'services', services: ['ssh', 'sshd'] } as const;
const MODES: Check = { kind: 'mode', paths: ['/etc/a.conf', '/etc/b/*'], atMost: 0o640 };
const OWNER: Check = { kind: 'owner', paths: ['/etc/a.conf', '/etc/b/*'], user: 'etcd', group: 'keepers' };

describe('the remedy of a machine', () => {
  const found = (path: string, different: Partial<FoundFile> = {}): FoundFile => ({
    path,
    type: 'file',
    mode: 0o644,
    uid: 0,
    gid: 0,
    ...different,
  });

  function mended(check: Check, different: Partial<Observed>) {
    const seen: Observed = {
      isNode: true,
      isControlPlane: true,
      minor: 34,
      manifests: new Map(),
      processes: new Map(),
      kubeletConfig: undefined,
      kubeletFlags: [],
      files: new Map(),
      users: new Map([['etcd', 52]]),
      groups: new Map([['keepers', 53]]),
      kernel: new Map(),
      modules: { loaded: new Set(), denied: new Set() },
      proxyMetrics: [],
      auditPolicy: undefined,
      encryption: undefined,
      admission: undefined,
      authentication: undefined,
      authorization: undefined,
      services: new Map(),
      ...different,
    };
    const wanted = { kubernetes: kubernetesModel({}), host: { hostname: undefined }, hostname: 'node-1' };
    return remediationsFor([control(check)], seen, wanted);
  }

  test('takes away the bits that a mode may not have, and leaves others', () => {
    const files = new Map([
      ['/etc/a.conf', [found('/etc/a.conf', { mode: 0o755 })]],
      ['/etc/b/*', [found('/etc/b/c', { mode: 0o600 }), found('/etc/b/d', { mode: 0o777, type: 'directory' })]],
    ]);
    const { modes, controls } = mended(MODES, { files });
    assert.deepEqual([[...modes], [...controls]], [[['/etc/a.conf', 0o640]], [['modes', ['own-1']]]]);
  });

  test('gives files to their owner, where user and group exist', () => {
    const files = new Map([
      ['/etc/a.conf', [found('/etc/a.conf', { uid: 52, gid: 0 })]],
      ['/etc/b/*', [found('/etc/b/c', { uid: 52, gid: 53 }), found('/etc/b/d', { gid: 53 })]],
    ]);
    const { owners, controls } = mended(OWNER, { files });
    const owner = { uid: 52, gid: 53 };
    assert.deepEqual(
      [...owners],
      [
        ['/etc/a.conf', owner],
        ['/etc/b/d', owner],
      ],
    );
    assert.deepEqual([...controls.keys()], ['owners']);
    assert.equal(mended(OWNER, { files, users: new Map() }).owners.size, 0);
    assert.equal(mended(OWNER, { files, groups: new Map() }).owners.size, 0);
  });

  for (const [must, state, act] of [
    ['not run', { active: true, enabled: false }, 'stop'],
    ['not be enabled', { active: false, enabled: true }, 'disable'],
  ] as const) {
    test(`for a service that must ${must} is to ${act} it, and not for one that does not`, () => {
      const other = { active: !state.active, enabled: !state.enabled };
      const services = new Map<string, typeof other>([
        ['ssh', state],
        ['sshd', other],
      ]);
      const { services: mends, controls } = mended({ ...SSH, must }, { services });
      assert.deepEqual([mends, [...controls]], [[{ name: 'ssh', act }], [['services', ['own-1']]]]);
    });
  }
});

describe('the host of a document that is hardened', () => {
  const file = (path: string, different: Partial<FileModel> = {}) => fileModel(path, '', different);

  /** What contradicts the control, as `host.files.0`. */
  function against(check: Check, different: Partial<HostModel>) {
    const { findings, host } = hardenHost({ ...hostModel().host, ...different }, [control(check)]);
    for (const { message } of findings) assert.match(message, /own-1/);
    return { findings: findings.map(({ path }) => path.join('.')), host };
  }

  test('gets the user and the group that files must have, unless they are there or are root', () => {
    const { host } = against(OWNER, {});
    assert.deepEqual(host.groups, [{ name: 'keepers', gid: undefined, system: true }]);
    const [user, ...more] = host.users;
    assert.deepEqual(more, []);
    assert.deepEqual(
      [user?.name, user?.primaryGroup, user?.home, user?.shell, user?.system, user?.locked, user?.inactive],
      ['etcd', 'keepers', '/nonexistent', '/usr/sbin/nologin', true, true, false],
    );
    const again = against(OWNER, { users: host.users, groups: host.groups }).host;
    assert.deepEqual([again.users.length, again.groups.length], [1, 1]);
    const ofRoot = against({ ...OWNER, user: 'root', group: 'root' }, {}).host;
    assert.deepEqual([ofRoot.users, ofRoot.groups], [[], []]);
  });

  test('may not write files of another owner or of a wider mode', () => {
    const files = [
      file('/etc/a.conf'),
      file('/etc/b/c', { user: 'etcd', group: 'keepers', mode: 0o640 }),
      file('/etc/b/d', { keepsOwner: true, keepsMode: true, mode: 0o777 }),
      file('/etc/other', { mode: 0o777 }),
      file('/etc/b/e', { user: 'etcd', group: 'root', mode: 0o600 }),
    ];
    assert.deepEqual(against(OWNER, { files }).findings, ['host.files.0', 'host.files.4']);
    assert.deepEqual(against(MODES, { files }).findings, ['host.files.0']);
    const byNumber = [file('/etc/a.conf', { user: '0', group: '0' })];
    assert.deepEqual(against({ ...OWNER, user: 'root', group: 'root' }, { files: byNumber }).findings, []);
  });

  test('may not start or enable services that must not run', () => {
    const service = (name: string, different: Partial<ServiceModel>): ServiceModel => ({
      ...{ name, state: undefined, enabled: undefined, masked: undefined, dropIns: [] },
      ...different,
    });
    const services = [
      service('ssh', { state: 'Started' }),
      service('sshd', { enabled: true, at: 7 }),
      service('cron', { state: 'Started', enabled: true }),
      service('ssh', { state: 'Stopped', enabled: false }),
    ];
    assert.deepEqual(against({ ...SSH, must: 'not run' }, { services }).findings, ['host.services.0']);
    assert.deepEqual(against({ ...SSH, must: 'not be enabled' }, { services }).findings, ['host.services.7']);
  });

  test('gets kernel settings that it lacks, and may not have others', () => {
    const check: Check = { kind: 'sysctl', values: { 'vm/a': '1', 'vm/b': '2', 'vm/c': '3' }, optional: ['vm/c'] };
    const sysctl = [
      { key: 'vm/a', value: ' 1 ', optional: false },
      { key: 'vm/b', value: '9', optional: false },
    ];
    const { findings, host } = against(check, { sysctl });
    assert.deepEqual(findings, ['host.sysctl.vm/b']);
    assert.deepEqual(host.sysctl, [...sysctl, { key: 'vm/c', value: '3', optional: true }]);
  });

  test('loads modules, and denies others in one file', () => {
    const loaded = against({ kind: 'modules-loaded', modules: ['overlay', 'br'] }, { kernelModules: ['br'] }).host;
    assert.deepEqual(loaded.kernelModules, ['br', 'overlay']);
    const denied = against({ kind: 'module-denied', module: 'usb' }, {}).host.files;
    assert.deepEqual(
      denied.map(({ mode, content }) => [mode, 'bytes' in content && new TextDecoder().decode(content.bytes)]),
      [[0o644, '# Written by machineadm.\ninstall usb /bin/false\nblacklist usb\n']],
    );
    const both = against({ kind: 'module-denied', module: 'usb' }, { kernelModules: ['br', 'usb'] });
    assert.deepEqual([both.findings, both.host.files], [['host.kernelModules.1'], []]);
  });
});

describe('the changes of a hardened node', () => {
  const nothing = { manifests: new Map(), kubeletFields: new Map(), kubeletFlags: new Map(), modes: new Map() };
  const none: Remediations = { ...nothing, owners: new Map(), services: [], controls: new Map() };
  const summaries = (different: Partial<Remediations>) =>
    changesFor({ ...none, ...different }).map(({ id, summary, owes = [] }) => [id, summary, ...owes]);

  test('are none where nothing has drifted', () => assert.deepEqual(summaries({}), []));

  test('name the modes and owners of files together, and each control once', () => {
    const modes = new Map([['/a', 0o600]]);
    const owners = new Map([['/b', { uid: 1, gid: 2 }]]);
    const controls: Remediations['controls'] = new Map([
      ['modes', ['c-1', 'c-2']],
      ['owners', ['c-2']],
    ]);
    assert.deepEqual(summaries({ modes, owners, controls }), [['hardening/files', '/a 0600, /b 1:2: c-1, c-2']]);
    assert.deepEqual(summaries({ owners, controls }), [['hardening/files', '/b 1:2: c-1, c-2']]);
  });

  test('of the kubelet name the files that are written, and restart it', () => {
    const kubeletFields = new Map([['a.b', true]]);
    const kubeletFlags = new Map([['/etc/default/kubelet', ['x', 'y']]]);
    const controls: Remediations['controls'] = new Map([['kubeletFields', ['c-1']]]);
    const config = '/var/lib/kubelet/config.yaml';
    assert.deepEqual(summaries({ kubeletFields, controls }), [
      ['hardening/kubelet', `${config}: a.b: c-1`, 'restart:kubelet'],
    ]);
    assert.deepEqual(summaries({ kubeletFlags, controls }), [
      ['hardening/kubelet', '/etc/default/kubelet: --x, --y: c-1', 'restart:kubelet'],
    ]);
    assert.deepEqual(summaries({ kubeletFields, kubeletFlags, controls }), [
      ['hardening/kubelet', `${config}, /etc/default/kubelet: a.b, --x, --y: c-1`, 'restart:kubelet'],
    ]);
  });

  test('of a component wait until it runs so; of the API server after the step that restores it', () => {
    const edits: readonly ManifestEdit[] = [{ kind: 'set', name: 'profiling', value: 'false' }];
    const manifests: Remediations['manifests'] = new Map([
      ['kube-apiserver', []],
      ['kube-scheduler', edits],
    ]);
    const controls: Remediations['controls'] = new Map([['kube-apiserver', ['c-1']]]);
    const [server, scheduler] = changesFor({ ...none, manifests, controls });
    assert.deepEqual(
      [server?.id, server?.knownAfter, server?.summary],
      ['hardening/kube-apiserver', 'api-server', 'wait until kube-apiserver runs with what its manifest says: c-1'],
    );
    assert.deepEqual(
      [scheduler?.id, scheduler?.knownAfter, scheduler?.scope, scheduler?.ineffective],
      ['hardening/kube-scheduler', undefined, 'node', 'HardeningNotEffective'],
    );
    assert.match(scheduler?.summary ?? '', /^\/etc\/kubernetes\/manifests\/kube-scheduler\.yaml, and wait until/);
    assert.deepEqual(scheduler?.payload, { kind: 'component', component: 'kube-scheduler', edits });
  });

  test('of services say what becomes of each', () => {
    const services = [
      { name: 'ssh', act: 'stop' },
      { name: 'sshd', act: 'disable' },
    ] as const;
    const controls: Remediations['controls'] = new Map([['services', ['c-1']]]);
    assert.deepEqual(summaries({ services, controls }), [['hardening/services', 'stop ssh, disable sshd: c-1']]);
  });
});
