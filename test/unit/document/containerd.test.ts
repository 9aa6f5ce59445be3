import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { documentSecrets } from '@machineadm/document/loading/secrets-of.ts';
import type { ContainerdModel } from '@machineadm/document/model/index.ts';
import { containerdModel, registryEndpoint, runtimeModel } from '../../support/containerd-model.ts';
import { load, loaded, problemsOf } from '../../support/document.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

const body = (containerd: object): string => `containerRuntime: ${JSON.stringify({ containerd })}\n`;
const registry = (entry: object): string => body({ registries: [entry] });

async function model(containerd: object): Promise<ContainerdModel> {
  const { model } = await loaded(body(containerd));
  assert.ok(model.containerd);
  return model.containerd;
}

/** The only problem of a section: its path below `containerd` and what is said. */
async function problem(containerd: object): Promise<string> {
  const problems = await problemsOf(body(containerd));
  assert.equal(problems.length, 1, problems.join('\n'));
  return (problems[0] ?? '').replace(/^.*?containerRuntime\.containerd\.?/, '');
}

async function warnings(text: string): Promise<readonly string[]> {
  const result = await load(
    `apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n${text}`,
  );
  assert.ok(result.ok);
  return result.document.warnings.map(({ path, message, hint }) => `${path}: ${message} (${hint ?? ''})`);
}

describe('the cgroup driver', () => {
  const both = (containerd: object, kubelet: object): string =>
    `${body(containerd)}kubernetes: {version: v1.33.2, role: InitControlPlane, node: {kubelet: ${JSON.stringify(kubelet)}}}\n`;

  test('of the kubelet that is not the one of containerd is refused, wherever it stands', async () => {
    for (const [containerd, kubelet, path] of [
      [{}, { config: { cgroupDriver: 'cgroupfs' } }, /kubelet\.config\.cgroupDriver: .* gets systemd/],
      [{ cgroupDriver: 'cgroupfs' }, { config: { cgroupDriver: 'systemd' } }, /config\.cgroupDriver: .* gets cgroupfs/],
      [{}, { args: [{ name: 'cgroup-driver', value: 'cgroupfs' }] }, /kubelet\.args\[0\]: .* gets systemd/],
    ] as const) {
      const problems = await problemsOf(both(containerd, kubelet));
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', path);
    }
  });

  test('that is given twice with the same value is no conflict', async () => {
    assert.deepEqual(await problemsOf(both({}, { config: { cgroupDriver: 'systemd' } })), []);
  });
});

describe('containerRuntime.containerd', () => {
  test('an empty section means the defaults', async () => {
    assert.deepEqual(await model({}), containerdModel());
  });

  test('sizes, CDI and CNI', async () => {
    const given = await model({
      mode: 'Merge',
      maxContainerLogLineSize: '32Ki',
      cdi: { specDirectories: ['/etc/cdi'] },
      cni: { binaryDirectories: ['/opt/cni/bin'] },
      root: '/data/containerd',
    });
    assert.deepEqual(
      given,
      containerdModel({
        mode: 'Merge',
        maxContainerLogLineSize: 32_768,
        cdi: { enabled: true, specDirectories: ['/etc/cdi'] },
        cni: { binaryDirectories: ['/opt/cni/bin'], configurationDirectory: undefined },
        root: '/data/containerd',
      }),
    );
    assert.equal((await model({ maxContainerLogLineSize: 'Unlimited' })).maxContainerLogLineSize, -1);
    assert.match(await problem({ maxContainerLogLineSize: 16_384 }), /a size with its unit/);
  });

  test('runtimes by the names that their projects give; runc is always there', async () => {
    const runtimes = { crun: {}, nvidia: {}, 'nvidia-cdi': {}, 'kata-qemu': {}, gvisor: {}, mine: { binary: 'mine' } };
    assert.deepEqual((await model({ runtimes })).runtimes, [
      runtimeModel('runc'),
      runtimeModel('crun', { binary: 'crun' }),
      runtimeModel('nvidia', { binary: '/usr/bin/nvidia-container-runtime' }),
      runtimeModel('nvidia-cdi', { binary: '/usr/bin/nvidia-container-runtime.cdi' }),
      runtimeModel('kata-qemu', {
        type: 'io.containerd.kata-qemu.v2',
        podAnnotations: ['io.katacontainers.*'],
        privilegedWithoutHostDevices: true,
      }),
      runtimeModel('gvisor', { type: 'io.containerd.runsc.v1' }),
      runtimeModel('mine', { binary: 'mine' }),
    ]);
    const katacomb = await model({ runtimes: { katacomb: {} } });
    assert.equal(katacomb.runtimes.at(-1)?.type, 'io.containerd.runc.v2');
  });

  test('the settings of a runtime override those that its name implies, and runc can be configured, too', async () => {
    const runtimes = {
      runc: { root: '/run/mine' },
      'kata-fc': { type: 'io.containerd.kata.v2', podAnnotations: [], privilegedWithoutHostDevices: false },
      nvidia: { type: 'io.containerd.nvidia.v1' },
    };
    assert.deepEqual((await model({ runtimes })).runtimes, [
      runtimeModel('runc', { root: '/run/mine' }),
      runtimeModel('kata-fc', { type: 'io.containerd.kata.v2', privilegedWithoutHostDevices: false }),
      // Only the shim of runc has a program behind it.
      runtimeModel('nvidia', { type: 'io.containerd.nvidia.v1' }),
    ]);
  });

  test('conflicts are reported at their place', async () => {
    assert.match(await problem({ root: '/a', state: '/a/' }), /^state: .*different/);
    assert.match(await problem({ defaultRuntime: 'nvida', runtimes: { nvidia: {} } }), /^defaultRuntime: .*"nvidia"/);
    assert.match(
      await problem({ runtimes: { kata: { type: 'io.containerd.kata.v2', binary: '/x' } } }),
      /^runtimes\.kata\.binary: only the shim of runc/,
    );
    assert.match(
      await problem({ runtimes: { crun: { options: { SystemdCgroup: false } } } }),
      /^runtimes\.crun\.options\.SystemdCgroup: is decided by cgroupDriver/,
    );
    assert.match(await problem({ runtimes: { x: { options: { BinaryName: '/x' } } } }), /BinaryName: .*hint: binary/);
    assert.match(await problem({ settings: { version: 4 } }), /^settings\.version: .*chosen by the containerd found/);
    assert.match(await problem({ settings: { disabled_plugins: ['cri'] } }), /disabled_plugins: switches off cri/);
    const cri = { 'io.containerd.grpc.v1.cri': { systemd_cgroup: true } };
    assert.match(await problem({ settings: { plugins: cri } }), /systemd_cgroup: is the key of containerd 1\.2/);
    assert.match(await problem({ runtimes: { Runc: {} } }), /lower-case letters/);
    // What is merged into may define it.
    assert.equal((await model({ mode: 'Merge', defaultRuntime: 'theirs' })).defaultRuntime, 'theirs');
  });
});

describe('containerRuntime.containerd.registries', () => {
  test('mirrors, their certificates and credentials', async () => {
    const { model: document, ...rest } = await loaded(
      `secrets: {password: {file: /run/p}}\n${registry({
        host: 'docker.io',
        fallback: false,
        verify: 'busybox:1',
        mirrors: [
          {
            url: 'https://m.example:5000/hub',
            capabilities: ['resolve', 'pull'],
            overridePath: true,
            ca: PEM,
            dialTimeout: '3s',
            headers: { 'X-Site': 'a' },
            credentials: { username: 'u', password: { secret: 'password' } },
          },
        ],
      })}`,
    );
    const [entry] = document.containerd?.registries ?? [];
    const { headers, credentials, ...mirror } = entry?.mirrors[0] ?? registryEndpoint('');
    assert.deepEqual(
      { ...entry, mirrors: undefined },
      {
        host: 'docker.io',
        fallback: false,
        verify: 'busybox:1',
        server: registryEndpoint(undefined),
        mirrors: undefined,
      },
    );
    const {
      headers: _h,
      credentials: _c,
      ...plain
    } = registryEndpoint('https://m.example:5000/hub', {
      capabilities: ['resolve', 'pull'],
      ca: { kind: 'pem', pem: PEM },
      overridePath: true,
      dialTimeoutMs: 3000,
    });
    assert.deepEqual(mirror, plain);
    assert.deepEqual(credentials?.password, { name: 'secrets.password', source: { kind: 'file', path: '/run/p' } });
    assert.deepEqual(Object.keys(headers), ['X-Site']);
    const names = documentSecrets({ model: document, tree: rest.tree }).map(({ name }) => name);
    assert.ok(names.includes('secrets.password'));
    assert.ok(names.some((name) => name.endsWith('mirrors[0] header X-Site')));
  });

  test('a mirror pulls and resolves unless the document says otherwise; a CA may be a file of the machine', async () => {
    const { registries } = await model({
      registries: [{ host: 'r.example:5000', mirrors: [{ url: 'https://m.example', ca: { file: '/etc/ca.pem' } }] }],
    });
    assert.deepEqual(registries[0]?.mirrors, [
      registryEndpoint('https://m.example', { ca: { kind: 'file', path: '/etc/ca.pem' } }),
    ]);
    assert.equal(registries[0]?.fallback, true);
  });

  test('settings that containerd would ignore or misunderstand are reported at their place', async () => {
    const mirror = { url: 'https://m.example' };
    const cases: readonly (readonly [entry: object, expected: RegExp])[] = [
      [{ host: 'https://docker.io', mirrors: [mirror] }, /host: (?:".+" is )?not a registry as image names begin/],
      [{ host: 'registry-1.docker.io', mirrors: [mirror] }, /host: .*hint: .*docker\.io\)$/],
      [{ host: 'docker.io' }, /configures nothing for this registry/],
      [{ host: '_default', ca: PEM }, /_default is not a server/],
      [{ host: 'docker.io', fallback: false }, /fallback: without mirrors/],
      [{ host: 'docker.io', fallback: false, ca: PEM, mirrors: [mirror] }, /ca: .*excludes/],
      [
        { host: 'docker.io', fallback: false, mirrors: [{ ...mirror, capabilities: ['pull'] }] },
        /mirrors: no mirror may both resolve and pull/,
      ],
      [{ host: 'docker.io', mirrors: [mirror, mirror] }, /mirrors\[1\]\.url: .*already/],
      [{ host: 'docker.io', mirrors: [{ url: 'm.example' }] }, /url: (?:".+" is )?not an http or https URL/],
      [
        { host: 'docker.io', mirrors: [{ url: 'https://u:p@m.example' }] },
        /url: (?:".+" is )?not an http or https URL without user/,
      ],
      [{ host: 'docker.io', mirrors: [{ url: 'http://m.example', ca: PEM }] }, /ca: is about TLS/],
      [{ host: 'docker.io', mirrors: [{ ...mirror, ca: PEM, skipVerify: true }] }, /skipVerify: makes ca meaningless/],
      [
        {
          host: 'docker.io',
          mirrors: [{ ...mirror, headers: { authorization: 'x' }, credentials: { username: 'u', password: 'p' } }],
        },
        /credentials: headers has an Authorization/,
      ],
      [
        { host: 'docker.io', mirrors: [{ ...mirror, clientCertificate: { certificate: PEM, key: 'nonsense' } }] },
        /clientCertificate\.key: not a PEM private key/,
      ],
      [{ host: 'quay.io', mirrors: [mirror], verify: 'busybox' }, /verify: is an image of docker\.io/],
      [{ host: 'docker.io', mirrors: [mirror], verify: 'quay.io/a/b' }, /verify: is an image of quay\.io/],
      [{ host: 'docker.io', mirrors: [{ ...mirror, capabilities: ['fetch'] }] }, /capabilities/],
    ];
    for (const [entry, expected] of cases) {
      assert.match(await problem({ registries: [entry] }), expected, JSON.stringify(entry));
    }
    const twice = {
      registries: [
        { host: 'a.example', mirrors: [mirror] },
        { host: 'a.example', mirrors: [mirror] },
      ],
    };
    assert.match(await problem(twice), /^registries\[1\]\.host: a\.example is already/);
    const unknown = { host: 'a.example', credentials: { username: 'u', password: { secret: 'nowhere' } } };
    assert.match(await problem({ registries: [unknown] }), /credentials\.password\.secret: no secret of the name/);
  });

  test('a problem never shows a secret', async () => {
    const key = 'not-a-key-but-secret-all-the-same';
    const entry = { host: 'a.example', clientCertificate: { certificate: PEM, key } };
    assert.doesNotMatch((await problemsOf(registry(entry))).join('\n'), new RegExp(key));
  });

  test('a mirror that is reached through the proxy is a warning', async () => {
    const proxied = (no: string) => registry({ host: 'docker.io', mirrors: [{ url: 'https://m.example' }] }) + no;
    const proxy = (no: readonly string[]) => `host: {proxy: {http: "http://p:3128", no: ${JSON.stringify(no)}}}\n`;
    assert.match(
      (await warnings(proxied(proxy([])))).join('\n'),
      /asks this mirror through the proxy \(add m\.example/,
    );
    for (const no of ['m.example', '.example', '*.example', 'm.example:443', '*']) {
      assert.deepEqual(await warnings(proxied(proxy([no]))), [], no);
    }
  });

  test('variables are allowed in hosts and URLs', async () => {
    const { model: document } = await loaded(
      `variables: {site: {value: north}}\n${registry({ host: 'docker.io', mirrors: [{ url: 'https://${site}.example' }] })}`,
    );
    assert.equal(document.containerd?.registries[0]?.mirrors[0]?.url, 'https://north.example');
  });
});
