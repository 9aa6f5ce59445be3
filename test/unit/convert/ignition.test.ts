import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { hookReasonIn } from '@machineadm/document/outcomes/hook-reasons.ts';
import { parse, stringify } from 'yaml';
import { codesOf, converting } from '../../support/capi.ts';

/** As cluster-api's pkg/ignition/clc/clc.go has it; composed from its templates, not captured. */
function file(path: string, content: string, mode: number): object {
  return {
    filesystem: 'root',
    path,
    mode,
    contents: { source: `data:,${encodeURIComponent(content)}`, verification: {} },
  };
}

const JOIN = `---
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken: {token: abcdef.0123456789abcdef, apiServerEndpoint: 'api:6443', caCertHashes: ['sha256:${'0'.repeat(64)}']}
nodeRegistration: {name: '\${COREOS_CUSTOM_HOSTNAME}', taints: null}
`;

const SCRIPT = `#!/bin/bash
set -e

envsubst < /etc/kubeadm.yml > /etc/kubeadm.yml.tmp
mv /etc/kubeadm.yml.tmp /etc/kubeadm.yml
systemctl stop locksmithd

kubeadm join --config /etc/kubeadm.yml --v 3
mkdir -p /run/cluster-api && echo success > /run/cluster-api/bootstrap-success.complete
mv /etc/kubeadm.yml /tmp/

echo joined > /etc/motd
`;

const CONFIG = {
  ignition: { config: {}, security: { tls: {} }, timeouts: {}, version: '2.3.0' },
  networkd: {},
  passwd: { users: [{ name: 'core', groups: ['wheel'], sshAuthorizedKeys: ['ssh-ed25519 AAAA a'] }] },
  storage: {
    disks: [{ device: '/dev/sdb', wipeTable: true, partitions: [{}] }],
    filesystems: [
      { name: 'etcd', mount: { device: '/dev/sdb1', format: 'ext4', label: 'etcd', wipeFilesystem: true } },
    ],
    files: [
      file('/etc/sudoers.d/core', 'core ALL=(ALL) NOPASSWD:ALL\n', 0o600),
      file('/etc/kubeadm.sh', SCRIPT, 0o700),
      file('/etc/kubeadm.yml', JOIN, 0o600),
      file('/etc/ntp.conf', 'server ntp.example\nrestrict default\n', 0o644),
      {
        ...file('/etc/app', '', 0o640),
        contents: { source: 'data:;base64,YXBw' },
        user: { name: 'core' },
        group: { id: 0 },
      },
    ],
  },
  systemd: {
    units: [
      {
        name: 'kubeadm.service',
        enabled: true,
        contents: '[Unit]\nConditionPathExists=/etc/kubeadm.yml\n',
        dropins: [
          {
            name: '10-flatcar.conf',
            contents: '[Unit]\nAfter=network-online.target\n[Service]\nEnvironmentFile=/run/metadata/flatcar\n',
          },
        ],
      },
      { name: 'ntpd.service', enabled: true },
      { name: 'etcd.mount', enabled: true, contents: '[Mount]\nWhat=/dev/sdb1\nWhere=/var/lib/etcd-disk\n' },
      { name: 'agent.service', enabled: true, contents: '[Service]\nExecStart=/opt/bin/agent\n' },
      { name: 'update-engine.service', mask: true },
    ],
  },
};

async function convertIgnition(config: object = CONFIG) {
  const conversion = await converting([JSON.stringify(config)], { kubernetesVersion: 'v1.35.2' });
  const [document] = conversion.documents;
  return { conversion, document: document === undefined ? undefined : parse(document.yaml) };
}

describe("the provider's Ignition config", () => {
  test('has mount units of bind mounts, tmpfs and NFS, which become mounts with what fstab orders by itself', async () => {
    const unit = (where: string, text: string) => ({ name: `${where}.mount`, enabled: true, contents: text });
    const units = [
      unit(
        'var-lib-kubelet',
        '[Unit]\nRequiresMountsFor=/data\nBefore=kubelet.service\n[Mount]\nWhat=/data/kubelet\nWhere=/var/lib/kubelet\nType=none\nOptions=bind\n[Install]\nWantedBy=local-fs.target\n',
      ),
      unit('srv-memory', '[Mount]\nWhat=tmpfs\nWhere=/srv/memory\nType=tmpfs\nOptions=size=1g\n'),
      unit(
        'srv-share',
        '[Unit]\nAfter=network-online.target\nWants=network-online.target\n[Mount]\nWhat=s:/e\nWhere=/srv/share\nType=nfs\n[Install]\nWantedBy=remote-fs.target\n',
      ),
    ];
    const { document } = await convertIgnition({
      ...CONFIG,
      systemd: { units: [...CONFIG.systemd.units.filter(({ name }) => name !== 'etcd.mount'), ...units] },
    });
    assert.deepEqual(document.host.storage.mounts, [
      { source: '/data/kubelet', type: 'bind', path: '/var/lib/kubelet' },
      { type: 'tmpfs', path: '/srv/memory', options: ['size=1g'] },
      { source: 's:/e', type: 'nfs', path: '/srv/share' },
    ]);
  });

  test('becomes a document: kubeadm, commands, users, files, storage, units', async () => {
    const { conversion, document } = await convertIgnition();
    assert.deepEqual(codesOf(conversion, 'error'), []);
    assert.deepEqual(
      conversion.decisions.filter(({ at }) => /ignition\.(?:config|security|timeouts)|networkd|verification/.test(at)),
      [],
      'empty structs of the provider are nothing to decide',
    );
    // The commands write the name into the file of kubeadm, from the environment that its unit had.
    assert.equal(document.kubernetes.node, undefined);
    const { commands } = document.host.hooks.beforeBootstrap;
    assert.equal(commands[0], 'set -e');
    assert.match(commands[1], /name: "\$\{COREOS_CUSTOM_HOSTNAME\}"\|' \/run\/kubeadm\/kubeadm-join-config\.yaml$/);
    assert.match(commands[2], /network-online\.target|^for file in \/run\/metadata\/flatcar; do[\s\S]*does not exist/);
    document.host.hooks.beforeBootstrap.commands = commands.slice(3);
    assert.deepEqual(
      [document.kubernetes.role, document.kubernetes.bootstrapper],
      ['Worker', { kubeadm: { verbosity: 3 } }],
    );
    assert.deepEqual(document.host, {
      storage: {
        disks: [{ device: { path: '/dev/sdb' }, table: 'gpt', wipe: true, partitions: [{ size: 'Rest' }] }],
        filesystems: [{ device: { path: '/dev/sdb1' }, type: 'ext4', label: 'etcd', overwrite: true }],
        mounts: [{ device: { path: '/dev/sdb1' }, path: '/var/lib/etcd-disk' }],
      },
      users: [
        {
          name: 'core',
          groups: ['wheel'],
          locked: false,
          sudo: 'ALL=(ALL) NOPASSWD:ALL',
          sshAuthorizedKeys: ['ssh-ed25519 AAAA a'],
        },
      ],
      files: [
        { path: '/etc/app', content: 'app\n', mode: '0640', owner: 'core:0' },
        {
          path: '/etc/systemd/system/agent.service',
          content: '[Service]\nExecStart=/opt/bin/agent\n',
          mode: '0644',
          owner: 'root:root',
        },
      ],
      time: { enabled: true, servers: ['ntp.example'] },
      services: [
        { name: 'agent.service', enabled: true, state: 'Started' },
        { name: 'update-engine.service', masked: true },
      ],
      hooks: {
        beforeBootstrap: {
          shell: 'bash',
          commands: [
            'envsubst < /run/kubeadm/kubeadm-join-config.yaml > /run/kubeadm/kubeadm-join-config.yaml.tmp',
            'mv /run/kubeadm/kubeadm-join-config.yaml.tmp /run/kubeadm/kubeadm-join-config.yaml',
            'systemctl stop locksmithd',
          ],
        },
        afterBootstrap: { commands: ['echo joined > /etc/motd'] },
        singleScript: true,
      },
    });
  });

  test('keeps a script of compound commands as one command, on the file that machineadm has', async () => {
    const script = SCRIPT.replace('systemctl stop locksmithd', 'if true; then\n  sed -i s/a/b/ /etc/kubeadm.yml\nfi');
    const files = CONFIG.storage.files.map((one) =>
      'path' in one && one.path === '/etc/kubeadm.sh' ? file('/etc/kubeadm.sh', script, 0o700) : one,
    );
    const { conversion, document } = await convertIgnition({ ...CONFIG, storage: { files } });
    const commands: string[] = document.host.hooks.beforeBootstrap.commands;
    assert.match(
      commands.at(-1) ?? '',
      /if true; then\n {2}sed -i s\/a\/b\/ \/run\/kubeadm\/kubeadm-join-config\.yaml\nfi/,
    );
    assert.ok(codesOf(conversion, 'note').includes('CommandMovedFile'));
  });

  for (const [what, change, code] of [
    ['an unknown version', { ignition: { version: '4.0.0' } }, 'InputInvalid'],
    [
      'a download',
      { storage: { files: [{ path: '/a', filesystem: 'root', mode: 420, contents: { source: 'https://x/a' } }] } },
      'ContainerLinuxConfigDropped',
    ],
    [
      'a data URL that is none',
      { storage: { files: [{ path: '/a', filesystem: 'root', mode: 420, contents: { source: 'data:,%zz' } }] } },
      'ContainerLinuxConfigDropped',
    ],
    ['networkd units', { networkd: { units: [{ name: 'a.network' }] } }, 'ContainerLinuxConfigDropped'],
  ] as const) {
    test(`${what} is reported as ${code}`, async () => {
      const { conversion } = await convertIgnition({ ...CONFIG, ...change });
      assert.ok(conversion.decisions.some((one) => one.code === code));
    });
  }
});

describe('a KubeadmConfig with the format ignition', () => {
  const config = (spec: object) => ({
    apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
    kind: 'KubeadmConfig',
    metadata: { name: 'a' },
    spec: { format: 'ignition', initConfiguration: { nodeRegistration: { name: '${COREOS_EC2_HOSTNAME}' } }, ...spec },
  });
  const additionalConfig = `
systemd:
  units:
    - name: kubeadm.service
      enabled: true
      dropins:
        - {name: 10-flatcar.conf, contents: "[Service]\\nEnvironmentFile=/run/metadata/coreos\\n"}
storage:
  files: [{path: /etc/b, filesystem: root, mode: 0600, contents: {inline: secret}}]
etcd: {version: 3}
`;

  test('merges its additionalConfig, and reports what has no place', async () => {
    const spec = {
      ignition: { containerLinuxConfig: { additionalConfig } },
      preKubeadmCommands: [
        'envsubst < /etc/kubeadm.yml > /etc/kubeadm.yml.tmp',
        'mv /etc/kubeadm.yml.tmp /etc/kubeadm.yml',
      ],
    };
    const conversion = await converting([config(spec)], { kubernetesVersion: 'v1.35.2' });
    const document = parse(conversion.documents[0]?.yaml ?? '');
    assert.equal(document.kubernetes.node, undefined);
    assert.deepEqual(
      codesOf(conversion, 'note').filter((code) => code === 'NameByCommand'),
      ['NameByCommand'],
    );
    assert.deepEqual(document.host.files, [
      { path: '/etc/b', contentFrom: { secret: 'b' }, mode: '0600', owner: 'root:root' },
    ]);
    assert.equal(document.secrets.b.value, 'secret\n');
    const { commands } = document.host.hooks.beforeBootstrap;
    assert.match(commands[1], /COREOS_EC2_HOSTNAME/);
    assert.match(commands[2], /^for file in \/run\/metadata\/coreos; do$/m);
    assert.deepEqual(
      conversion.decisions.filter(({ code }) => code === 'ContainerLinuxConfigDropped').map(({ at }) => at),
      ['KubeadmConfig a: spec.ignition.containerLinuxConfig.additionalConfig: etcd.version'],
    );
  });

  test('a drop-in of kubeadm.service that cannot be satisfied names what it lacks, with a reason of its own', async () => {
    using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-drop-in-'));
    const starts = (status: number) =>
      writeFileSync(join(directory.path, 'systemctl'), `#!/bin/sh\nexit ${status}\n`, { mode: 0o755 });
    const text = `[Unit]\nRequires=coreos-metadata.service\n[Service]\nEnvironmentFile=${directory.path}/flatcar\n`;
    const dropins = [{ name: 'a.conf', contents: text }];
    const units = stringify({ systemd: { units: [{ name: 'kubeadm.service', dropins }] } });
    const spec = { initConfiguration: {}, ignition: { containerLinuxConfig: { additionalConfig: units } } };
    const { documents } = await converting([config(spec)], { kubernetesVersion: 'v1.35.2' });
    const { commands } = parse(documents[0]?.yaml ?? '').host.hooks.beforeBootstrap;
    const run = () => {
      const env = { PATH: `${directory.path}:/usr/bin:/bin` };
      const done = spawnSync('bash', ['-c', `${commands.join('\n')}\necho "$A"`], { env, encoding: 'utf8' });
      return { ...hookReasonIn(done.stderr.split('\n')), status: done.status, printed: done.stdout };
    };
    starts(1);
    assert.deepEqual(run(), {
      reason: 'RequiredUnitNotStarted',
      text: 'kubeadm.service requires coreos-metadata.service, which did not start within 300 seconds',
      status: 1,
      printed: '',
    });
    starts(0);
    assert.deepEqual(run(), {
      reason: 'EnvironmentFileMissing',
      text: `the environment file ${directory.path}/flatcar of kubeadm.service does not exist`,
      status: 1,
      printed: '',
    });
    writeFileSync(join(directory.path, 'flatcar'), 'A="b c"\n');
    assert.deepEqual(run(), { status: 0, printed: 'b c\n' });
  });

  test('is no jinja template', async () => {
    const conversion = await converting([config({ initConfiguration: {}, preKubeadmCommands: ['echo {{ x | y }}'] })], {
      kubernetesVersion: 'v1.35.2',
    });
    assert.deepEqual(parse(conversion.documents[0]?.yaml ?? '').host.hooks.beforeBootstrap.commands, [
      'set -e',
      'echo {{ x | y }}',
    ]);
  });

  test('reports where Ignition behaves differently with the same fields', async () => {
    const spec = {
      users: [{ name: 'ada', groups: 'wheel,docker', lockPassword: false }],
      files: [{ path: '/etc/a', content: 'a', append: true, permissions: '0644' }],
    };
    const conversion = await converting([config(spec)], { kubernetesVersion: 'v1.35.2' });
    assert.deepEqual(codesOf(conversion, 'decision'), ['ClusterUnknown', 'PasswordLogin']);
    // Ignition locks no account; cloud-init locks one without a password, whatever lockPassword says.
    const lockedOf = async (format: string, user: object): Promise<unknown> => {
      const { documents } = await converting(
        [config({ format, initConfiguration: {}, users: [{ name: 'ada', ...user }] })],
        {
          kubernetesVersion: 'v1.35.2',
        },
      );
      return parse(documents[0]?.yaml ?? '').host.users[0].locked;
    };
    const passwd = '$6$a$b';
    assert.deepEqual(
      [await lockedOf('ignition', {}), await lockedOf('ignition', { passwd, lockPassword: true })],
      [false, false],
    );
    assert.equal(await lockedOf('cloud-config', { lockPassword: false }), undefined);
    assert.equal(await lockedOf('cloud-config', { passwd }), undefined);
    assert.equal(await lockedOf('cloud-config', { passwd, lockPassword: false }), false);
    for (const code of ['GroupsInIgnition', 'AppendInIgnition'])
      assert.ok(codesOf(conversion, 'warning').includes(code), code);
  });
});
