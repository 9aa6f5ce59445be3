import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HardeningProfile } from '@machineadm/document/model/index.ts';
import { auditPolicyFor, findUncovered } from '@machineadm/hardening/audit-policy.ts';
import { ADMISSION_MOUNT, AUDIT_LOG_MOUNT, AUDIT_POLICY_MOUNT } from '@machineadm/hardening/controls/build.ts';
import { CONTROLS } from '@machineadm/hardening/controls/index.ts';
import { evaluateControl } from '@machineadm/hardening/evaluate.ts';
import { matchesPattern } from '@machineadm/hardening/harden-host.ts';
import { argumentsOf, editManifest, hostPathOf, readManifest } from '@machineadm/hardening/manifest.ts';
import { auditControls } from '../../../../src/features/hardening/audit.ts';
import { FileError, UnsafePath } from '../../../../src/host/files/file-error.ts';
import { expandPattern } from '../../../../src/kubernetes/hardening/found-files.ts';
import { withoutFlag } from '../../../../src/kubernetes/hardening/kubelet-flags.ts';
import { observe } from '../../../../src/kubernetes/hardening/observe.ts';
import { fixture, nodeOf } from '../../../support/hardened-machine.ts';
import { type MemoryFile, memoryHost } from '../../../support/memory-host.ts';

const APISERVER = '/etc/kubernetes/manifests/kube-apiserver.yaml';

function control(id: string) {
  const found = CONTROLS.find((one) => one.id === id);
  assert.ok(found !== undefined, id);
  return found;
}

/** The API server of kubeadm with more arguments, which see the whole of /etc/kubernetes. */
async function apiServerWith(args: Readonly<Record<string, string>>): Promise<MemoryFile> {
  const edits = Object.entries(args).map(([name, value]) => ({ kind: 'set', name, value }) as const);
  return { content: await editManifest(fixture('kube-apiserver.yaml'), edits), mode: 0o600 };
}

async function judged(
  id: string,
  files: Readonly<Record<string, MemoryFile>>,
  role: 'control-plane' | 'worker' = 'control-plane',
) {
  const host = await nodeOf(role, files);
  return evaluateControl(control(id), await observe(host, [control(id)], 28)).state;
}

describe('encryption at rest', () => {
  const config = (providers: string) =>
    `kind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n${providers}`;
  for (const [what, text, state] of [
    ['secretbox first', config('  - secretbox: {}\n  - identity: {}\n'), 'holds'],
    ['identity first', config('  - identity: {}\n  - secretbox: {}\n'), 'fails'],
    ['aesgcm', config('  - aesgcm: {}\n'), 'fails'],
    ['other resources only', config('  - kms: {}\n').replace('secrets', 'configmaps'), 'fails'],
    ['every resource', config('  - kms: {}\n').replace('secrets', '"*.*"'), 'holds'],
    ['no YAML', ': :\n  - [', 'fails'],
  ] as const) {
    test(`${what}: ${state}`, async () => {
      const path = '/etc/kubernetes/encryption/config.yaml';
      const manifest = await apiServerWith({ 'encryption-provider-config': path });
      assert.equal(await judged('cis-1.2.28', { [APISERVER]: manifest, [path]: { content: text } }), state);
    });
  }

  test('not asked for: fails', async () => assert.equal(await judged('cis-1.2.28', {}), 'fails'));
});

describe('audit policies', () => {
  test('those of the profiles cover what they are for', () => {
    assert.deepEqual(findUncovered(auditPolicyFor('key-concerns'), 'key-concerns'), []);
    assert.deepEqual(findUncovered(auditPolicyFor('everything'), 'everything'), []);
    assert.deepEqual(findUncovered(auditPolicyFor('everything'), 'key-concerns'), []);
    assert.ok(findUncovered(auditPolicyFor('key-concerns'), 'everything').length > 0);
  });

  test('that of the key concerns has a rule for each of them, and logs no other body', () => {
    const { rules, omitStages } = auditPolicyFor('key-concerns');
    assert.deepEqual(findUncovered({ rules: rules.slice(0, -1) }, 'key-concerns'), []);
    assert.deepEqual(rules.at(-1), { level: 'Metadata' });
    assert.deepEqual(omitStages, ['RequestReceived']);
    const bodies = rules.filter(({ level }) => level !== 'Metadata');
    assert.deepEqual(
      bodies.map(({ resources }) => resources),
      [
        [
          { group: '', resources: ['pods'] },
          { group: 'apps', resources: ['deployments'] },
        ],
      ],
    );
    assert.deepEqual(bodies[0]?.verbs, ['create', 'update', 'patch', 'delete', 'deletecollection']);
  });

  for (const [verb, group, resource, least] of [
    ['get', '', 'secrets', 'Metadata'],
    ['update', '', 'configmaps', 'Metadata'],
    ['create', 'authentication.k8s.io', 'tokenreviews', 'Metadata'],
    ['create', '', 'serviceaccounts/token', 'Metadata'],
    ['create', '', 'pods', 'Request'],
    ['update', 'apps', 'deployments', 'Request'],
    ['create', '', 'pods/exec', 'Metadata'],
    ['create', '', 'pods/portforward', 'Metadata'],
    ['get', '', 'pods/proxy', 'Metadata'],
    ['get', '', 'services/proxy', 'Metadata'],
  ] as const) {
    test(`a policy that leaves out only ${verb} ${resource} has that gap`, () => {
      const rule = { level: 'None', verbs: [verb], resources: [{ group, resources: [resource] }] };
      const rules = [rule, { level: 'RequestResponse' }];
      assert.deepEqual(findUncovered({ rules }, 'key-concerns'), [
        `${verb} ${resource} is logged at None, not at ${least}`,
      ]);
      const enough = { ...rule, level: least };
      assert.deepEqual(findUncovered({ rules: [enough, ...rules] }, 'key-concerns'), []);
      assert.deepEqual(findUncovered({ rules: [enough, { level: 'RequestResponse' }] }, 'everything'), [
        `${verb} ${resource} is logged at ${least}, not at RequestResponse`,
      ]);
    });
  }

  for (const [what, rule] of [
    ['groups', { level: 'None', userGroups: ['a'] }],
    ['namespaces', { level: 'None', namespaces: ['a'] }],
    ['objects', { level: 'None', resources: [{ group: '', resources: ['secrets'], resourceNames: ['a'] }] }],
    ['URLs', { level: 'None', nonResourceURLs: ['/healthz'] }],
    ['verbs', { level: 'None', verbs: ['list'] }],
  ] as const) {
    test(`a rule for some ${what} leaves out nothing that counts`, () => {
      assert.deepEqual(findUncovered({ rules: [rule, { level: 'RequestResponse' }] }, 'everything'), []);
    });
  }

  for (const entry of [
    { group: '', resources: ['*'] },
    { group: '' },
    { resources: ['pods/exec'] },
    { group: '', resources: ['pods/*'] },
    { group: '', resources: ['*/exec'] },
  ]) {
    test(`${JSON.stringify(entry)} applies to pods/exec`, () => {
      for (const verbs of [['*'], ['create', 'get'], undefined]) {
        const rules = [{ level: 'None', verbs, resources: [entry] }, { level: 'RequestResponse' }];
        const gaps = findUncovered({ rules }, 'key-concerns');
        assert.ok(gaps.includes('create pods/exec is logged at None, not at Metadata'), gaps.join('; '));
      }
    });
  }

  for (const [what, rules, gap] of [
    ['no rules', [], /no rules/],
    [
      'Secrets left out first',
      [{ level: 'None', resources: [{ group: '', resources: ['secrets'] }] }, { level: 'Request' }],
      /get secrets is logged at None/,
    ],
    ['metadata of everything', [{ level: 'Metadata' }], /create pods is logged at Metadata, not at Request/],
    ['everything, of some users only', [{ level: 'RequestResponse', users: ['a'] }], /get secrets is logged at None/],
    [
      'a wildcard of subresources',
      [{ level: 'None', resources: [{ group: '', resources: ['pods/*'] }] }, { level: 'Request' }],
      /pods\/exec is logged at None/,
    ],
  ] as const) {
    test(`${what} is not enough`, () => assert.match(findUncovered({ rules }, 'key-concerns').join('; '), gap));
  }
});

test('each file that hardening mounts into the API server has a volume with a name of its own', async () => {
  const mounts = [AUDIT_LOG_MOUNT, AUDIT_POLICY_MOUNT, ADMISSION_MOUNT];
  assert.equal(new Set(mounts.map(({ name }) => name)).size, mounts.length);
  for (const { name, path } of mounts) {
    assert.match(name, /^[a-z][a-z0-9-]*[a-z0-9]$/, 'a DNS label, as Kubernetes requires');
    assert.match(path, /^\/(?:etc\/kubernetes|var\/log\/kubernetes)\//);
  }
  assert.deepEqual(
    mounts.map(({ readOnly }) => readOnly),
    [false, true, true],
  );
});

describe('a control that no argument decides', () => {
  const admission = '/etc/kubernetes/admission/config.yaml';
  for (const [mode, state] of [
    ['Node,RBAC', 'holds'],
    ['RBAC,Node', 'holds'],
    ['Node', 'fails'],
    ['Node,RBAC,AlwaysAllow', 'fails'],
  ] as const) {
    test(`authorization by ${mode}: ${state}`, async () => {
      const manifest = await apiServerWith({ 'authorization-mode': mode });
      assert.equal(await judged('stig-V-242382', { [APISERVER]: manifest }), state);
    });
  }

  for (const [id, what, files, state, role] of [
    ['stig-V-254800', 'no configuration', {}, 'fails', 'control-plane'],
    ['cis-4.3.1', 'no kube-proxy', {}, 'not-applicable', 'worker'],
    ['stig-V-242393', 'no ssh', {}, 'holds', 'worker'],
    ['stig-V-242393', 'a control plane', {}, 'not-applicable', 'control-plane'],
    ['cis-1.1.9', 'no pod network yet', {}, 'not-applicable', 'worker'],
    ['cis-2.1', 'a worker', {}, 'not-applicable', 'worker'],
    ['cis-4.2.9', "the kubelet's own certificate", {}, 'fails', 'worker'],
    ['stig-V-242397', 'a directory of static pods', {}, 'fails', 'worker'],
    [
      'stig-V-242459',
      'files of etcd',
      { '/var/lib/etcd/member/snap': { content: '', mode: 0o666 } },
      'fails',
      'control-plane',
    ],
    ['cis-3.1.2', 'people', {}, 'not-applicable', 'control-plane'],
  ] as const) {
    test(`${id}: ${what}: ${state}`, async () => assert.equal(await judged(id, files, role), state));
  }

  test('authorizers in a file, in the place of the argument', async () => {
    const path = '/etc/kubernetes/pki/authorization.yaml';
    const content = (await apiServerWith({ 'authorization-config': path })).content ?? '';
    const manifest = { content: String(content).replace(/^ +- --authorization-mode=.*\n/m, ''), mode: 0o600 };
    const has = (id: string, types: string) =>
      judged(id, { [APISERVER]: manifest, [path]: { content: `authorizers: [${types}]` } });
    assert.equal(await has('cis-1.2.7', '{type: Node}, {type: RBAC}'), 'holds');
    assert.equal(await has('cis-1.2.8', '{type: Node}, {type: Webhook}'), 'fails');
    assert.equal(await has('cis-1.2.6', '{type: AlwaysAllow}'), 'fails');
  });

  test('anonymous requests that a file decides on, in the place of the argument', async () => {
    const path = '/etc/kubernetes/pki/authentication.yaml';
    const manifest = await apiServerWith({ 'authentication-config': path });
    const has = (text: string) => judged('cis-1.2.1', { [APISERVER]: manifest, [path]: { content: text } });
    assert.equal(await has('anonymous: {enabled: false}'), 'holds');
    assert.equal(await has('anonymous: {enabled: true}'), 'fails');
    assert.equal(await has('jwt: []'), 'fails', 'it says nothing, and the default lets them in');
  });

  test('an admission configuration with, and without, PodSecurity', async () => {
    const manifest = await apiServerWith({ 'admission-control-config-file': admission });
    const has = (text: string) => judged('stig-V-254800', { [APISERVER]: manifest, [admission]: { content: text } });
    assert.equal(await has('plugins: [{name: PodSecurity}]'), 'holds');
    assert.equal(await has('plugins: [{name: EventRateLimit}]'), 'fails');
    const off = { 'admission-control-config-file': admission, 'disable-admission-plugins': 'PodSecurity' };
    const files = { [APISERVER]: await apiServerWith(off), [admission]: { content: 'plugins: [{name: PodSecurity}]' } };
    assert.equal(await judged('stig-V-254800', files), 'fails', 'a plugin that is off does nothing with it');
  });
});

describe('the kernel', () => {
  const seen = async (id: string, kernelFiles: Readonly<Record<string, string>>, modprobe = '') => {
    const host = memoryHost({ kernelFiles, programs: { modprobe: () => ({ stdout: modprobe }) } });
    return evaluateControl(control(id), await observe(host, [control(id)], undefined)).state;
  };
  const v4 = {
    '/proc/sys/net/ipv4/conf/all/accept_redirects': '0\n',
    '/proc/sys/net/ipv4/conf/default/accept_redirects': '0\n',
  };

  test('a key that a kernel without IPv6 lacks is not required; a wrong value fails', async () => {
    assert.equal(await seen('cis-os-3.3.5', v4), 'holds');
    assert.equal(await seen('cis-os-3.3.5', { ...v4, '/proc/sys/net/ipv6/conf/all/accept_redirects': '1\n' }), 'fails');
    assert.equal(await seen('cis-os-3.3.10', {}), 'fails');
    assert.equal(await seen('cis-os-1.5.2', {}), 'not-applicable');
  });

  test('a module is denied, and not there', async () => {
    assert.equal(await seen('cis-os-1.1.1.9', {}, 'install usb-storage /bin/false\n'), 'holds');
    assert.equal(await seen('cis-os-1.1.1.9', {}, 'blacklist usb_storage\n'), 'fails');
    assert.equal(await seen('cis-os-1.1.1.3', { '/proc/modules': 'hfs 1 0 -\n' }, 'install hfs /bin/true\n'), 'fails');
  });
});

describe('a process that runs with something else than its manifest says', () => {
  test('fails, and the evidence names the process', async () => {
    const host = await nodeOf('control-plane');
    host.put('/proc/102/cmdline', 'kube-scheduler\0--bind-address=0.0.0.0');
    const verdict = evaluateControl(control('cis-1.4.2'), await observe(host, [control('cis-1.4.2')], 20));
    assert.deepEqual(verdict, {
      state: 'fails',
      evidence: [{ source: 'the running kube-scheduler', text: '--bind-address=0.0.0.0; it must be "127.0.0.1"' }],
    });
  });
});

describe('the other profiles on a control plane of kubeadm', () => {
  const failing = async (profile: HardeningProfile) => {
    const { controls } = await auditControls(await nodeOf('control-plane'), { profiles: [profile] }, undefined, 20);
    return controls.filter(({ state }) => state === 'fail').map(({ id }) => id.replace(/^stig-V-242|^stig-V-/, ''));
  };

  test('the STIG finds what the reference of kubeadm says it does', async () => {
    const expected = [
      '376',
      '377',
      '378',
      '379',
      '380',
      '390',
      '401',
      '402',
      '403',
      '409',
      '418',
      '424',
      '425',
      '434',
      '438',
      '445',
      '461',
      '462',
      '463',
      '464',
      '465',
      '468',
      '245541',
      'k8s-protect-kernel-defaults',
    ];
    assert.deepEqual((await failing('stig')).toSorted(), expected.toSorted());
  });
});

describe('manifests', () => {
  test('an edit changes what it names and nothing else', async () => {
    const before = fixture('kube-apiserver.yaml');
    const after = await editManifest(before, [
      { kind: 'set', name: 'insecure-port', value: '1' },
      { kind: 'remove', name: 'allow-privileged' },
      { kind: 'mount', mount: { name: 'm', path: '/m', readOnly: true, pathType: 'File' } },
      { kind: 'mount', mount: { name: 'm', path: '/m', readOnly: true, pathType: 'File' } },
    ]);
    const [old, now] = [await readManifest(before), await readManifest(after)];
    const expected = new Map(old.args);
    expected.set('insecure-port', '1');
    expected.delete('allow-privileged');
    assert.deepEqual(now.args, expected);
    assert.deepEqual(now.mounts.length, old.mounts.length + 1, 'the same mount once');
    assert.equal(hostPathOf(now, '/m'), '/m');
    assert.equal(hostPathOf(now, '/etc/kubernetes/pki/etcd/ca.crt'), '/etc/kubernetes/pki/etcd/ca.crt');
    assert.equal(hostPathOf(now, '/elsewhere'), undefined);
  });

  for (const text of ['', '- a', 'kind: Pod', 'spec: {containers: [{image: x}]}', 'a: [']) {
    test(`${JSON.stringify(text)} is not a manifest`, async () =>
      await assert.rejects(readManifest(text), SyntaxError));
  }

  test('arguments of every form', () => {
    assert.deepEqual(
      [...argumentsOf(['--a=1', '--b', '2', '-c', '--d', '--a=3=4'])],
      [
        ['a', '3=4'],
        ['b', '2'],
        ['c', 'true'],
        ['d', 'true'],
      ],
    );
  });
});

describe('patterns of paths', () => {
  const host = memoryHost({
    files: { '/p/a.crt': '', '/p/e/b.crt': '', '/p/e/b.key': '', '/p/l': { type: 'symlink' } },
  });
  for (const [pattern, found] of [
    ['/p/a.crt', ['/p/a.crt']],
    ['/p/*', ['/p/a.crt', '/p/e']],
    ['/p/**', ['/p/a.crt', '/p/e', '/p/e/b.crt', '/p/e/b.key']],
    ['/p/**/*.crt', ['/p/a.crt', '/p/e/b.crt']],
    ['/q/*', []],
  ] as const) {
    test(pattern, async () => {
      assert.deepEqual((await expandPattern(host, pattern)).map(({ path }) => path).sort(), found);
      for (const path of found) assert.ok(matchesPattern(pattern, path), path);
      assert.ok(!matchesPattern(pattern, '/other'));
    });
  }
});

describe("kube-proxy's metrics are judged by where they are served", () => {
  const running = (args = '') => ({
    '/proc/77/cmdline': { content: `/usr/local/bin/kube-proxy\0--config=/var/lib/kube-proxy/config.conf\0${args}` },
    '/proc/77/status': { content: 'Name:\tkube-proxy\nNSpid:\t77\t1\n' },
  });
  const listening = (address: string, state = '0A') => ({
    '/proc/net/tcp': {
      content: `  sl  local_address rem_address   st\n   0: ${address}:2809 00000000:0000 ${state} 00000000:00000000\n`,
    },
  });
  for (const [what, files, state] of [
    ['on the loopback address', { ...running(), ...listening('0100007F') }, 'holds'],
    ['on all addresses', { ...running(), ...listening('00000000') }, 'fails'],
    ['on an address of the machine', { ...running(), ...listening('0500A8C0') }, 'fails'],
    ['by a connection only', { ...running(), ...listening('00000000', '01') }, 'holds'],
    ['by a flag', running('--metrics-bind-address=0.0.0.0:10249\0'), 'fails'],
    [
      'on all addresses of IPv6',
      { ...running(), '/proc/net/tcp6': { content: `   0: ${'0'.repeat(32)}:2809 ${'0'.repeat(32)}:0000 0A 0\n` } },
      'fails',
    ],
  ] as const)
    test(`${what}: ${state}`, async () => assert.equal(await judged('cis-4.3.1', files, 'worker'), state));
});

test('the files that host-local makes for each pod are protected by their directory', async () => {
  const file = { '/var/lib/cni/networks/pods/10.244.0.2': { content: '', mode: 0o644 } };
  const directory = (mode: number) => ({ '/var/lib/cni/networks': { type: 'directory' as const, mode }, ...file });
  assert.equal(await judged('cis-1.1.9', directory(0o755), 'worker'), 'fails');
  assert.equal(await judged('cis-1.1.9', directory(0o700), 'worker'), 'holds');
});

test("what is in a directory of another user is not looked at, and is closed by the directory's own mode", async () => {
  const machine = async (mode: number) => {
    const host = await nodeOf('control-plane', {
      '/var/lib/etcd': { type: 'directory', mode: 0o700, uid: 998, gid: 998 },
      '/var/lib/etcd/member': { type: 'directory', mode },
      '/var/lib/etcd/member/snap/db': { content: '', mode: 0o600 },
    });
    const list: typeof host.list = async (path) => {
      if (path.startsWith('/var/lib/etcd/'))
        throw new FileError(
          'read',
          path,
          new UnsafePath(path, 'belongs to the user 0, in a directory of the user 998'),
        );
      return await host.list(path);
    };
    return { ...host, list };
  };
  const controls = ['cis-1.1.11', 'stig-V-242459', 'stig-V-242445'].map(control);
  const of = async (mode: number) => {
    const seen = await observe(await machine(mode), controls, 28);
    return controls.map((one) => evaluateControl(one, seen).state);
  };
  assert.deepEqual(await of(0o700), ['holds', 'holds', 'fails']);
  assert.deepEqual(await of(0o755), ['holds', 'fails', 'fails']);
});

test('a flag is taken out of a file of flags, and no other', () => {
  const text = 'KUBELET_KUBEADM_ARGS="--a=1 --hostname-override=n --hostname-override-x=2"\n';
  assert.equal(withoutFlag(text, 'hostname-override'), 'KUBELET_KUBEADM_ARGS="--a=1 --hostname-override-x=2"\n');
  assert.equal(withoutFlag('A="--x=1"\n', 'x'), 'A=""\n');
});
