import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Code, ConvertOptions } from '@machineadm/convert/index.ts';
import { CODES, convert } from '@machineadm/convert/index.ts';
import { parse } from 'yaml';
import { codesOf, converting, EXAMPLES, example, goldenUserData, withRelatedObjects } from '../../support/capi.ts';
import fc from '../../support/property.ts';

const VERSION = { kubernetesVersion: 'v1.35.2' };

function config(spec: object, version = 'v1beta2'): object {
  return {
    apiVersion: `bootstrap.cluster.x-k8s.io/${version}`,
    kind: 'KubeadmConfig',
    metadata: { name: 'a', namespace: 'clusters' },
    spec: { initConfiguration: {}, ...spec },
  };
}

async function converted(spec: object, options: ConvertOptions = {}, beside: readonly (string | object)[] = []) {
  const conversion = await converting([config(spec), ...beside], { ...VERSION, ...options });
  const [document] = conversion.documents;
  return { conversion, document: document === undefined ? undefined : parse(document.yaml) };
}

describe('known mistakes of the provider are corrected or reported', () => {
  test('a content that begins with a tab, or holds control characters, stays what it is', async () => {
    for (const content of ['a\u0007b\n', '\ttab\n', '---\n', '# c\n']) {
      const { document } = await converted({ files: [{ path: '/a', content }] });
      assert.equal(document.host.files[0].content, content);
    }
  });

  test('each spelling of an encoding that cloud-init knows is the one of the document', async () => {
    for (const [spellings, expected] of [
      [['', 'text/plain'], undefined],
      [['base64', 'b64'], 'base64'],
      [['gzip+base64', 'gz+base64', 'gzip+b64', 'gz+b64'], 'gzip+base64'],
    ] as const) {
      const bytes = expected === 'gzip+base64' ? gzipSync('a') : Buffer.from('a');
      for (const encoding of spellings) {
        const files = [{ path: '/a', content: bytes.toString('base64'), encoding }];
        const { document } = await converted({ files });
        assert.equal(document.host.files[0].encoding, expected, encoding);
      }
    }
    for (const encoding of ['gz', 'gzip']) {
      const { conversion } = await converted({ files: [{ path: '/a', content: 'a', encoding }] });
      assert.ok(conversion.decisions.some(({ code }) => code === 'GzipAlone'));
    }
  });

  test('an external etcd keeps its HTTP endpoints', async () => {
    const files = { caFile: '/a', certFile: '/b', keyFile: '/c' };
    const external = { endpoints: ['https://a:2379'], httpEndpoints: ['https://a:2378'], ...files };
    const { document } = await converted({ clusterConfiguration: { etcd: { external } } });
    assert.deepEqual(document.kubernetes.controlPlane.etcd.external, external);
  });

  test('a socket without a scheme has the one that kubeadm prepends', async () => {
    const nodeRegistration = { criSocket: '/var/run/containerd/containerd.sock' };
    const { document } = await converted({ initConfiguration: { nodeRegistration } });
    assert.equal(document.kubernetes.node.criSocket, 'unix:///var/run/containerd/containerd.sock');
  });

  test('any content ends in one line break, without carriage returns, as the provider writes it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom('a', ' ', '\n', '\r\n', '$', '{', '"', "'", '#', ':') }),
        async (content) => {
          const { document } = await converted({ files: [{ path: '/a', content: `x${content}` }] });
          // A YAML block of the provider's, as cloud-init reads it.
          const body = `x${content}`.replaceAll('\r\n', '\n').replace(/\n+$/, '');
          assert.equal(document.host.files[0].content, `${body}\n`);
        },
      ),
      { numRuns: 60 },
    );
  });

  for (const [what, user] of [
    ['a gecos with a colon', { name: 'a', gecos: 'Ops: team' }],
    ['a name of digits', { name: '007' }],
  ] as const) {
    test(`${what} is refused, not misread`, async () => {
      assert.deepEqual(codesOf((await converted({ users: [user] })).conversion, 'error'), ['DocumentRefused']);
    });
  }

  test('groups called yes are groups', async () => {
    const { document } = await converted({ users: [{ name: 'a', groups: 'yes' }] });
    assert.deepEqual(document.host.users[0].groups, ['yes']);
  });

  test('the right GPT types; what a table cannot have is an error', async () => {
    const disk = (tableType: string, partitionType: string) => ({
      diskSetup: {
        partitions: [
          { device: '/dev/sdb', tableType, diskLayout: [{ percentage: 60, partitionType }, { percentage: 20 }] },
        ],
      },
    });
    const { conversion, document } = await converted(disk('gpt', 'NTFS'));
    assert.deepEqual(document.host.storage.disks[0].partitions, [{ size: '60%', type: 'ntfs' }, { size: 'Rest' }]);
    assert.ok(codesOf(conversion, 'warning').includes('PartitionTypeCorrected'));
    assert.ok(codesOf(conversion, 'note').includes('LastPartitionTakesRest'));
    for (const [table, type] of [
      ['gpt', 'LinuxExtended'],
      ['mbr', 'LinuxExtended'],
      ['mbr', '0FC63DAF-8483-4772-8E79-3D69D8477DE4'],
    ]) {
      const refused = await converted(disk(table ?? '', type ?? ''));
      assert.ok(codesOf(refused.conversion, 'error').includes('PartitionTypeUnsupported'), `${table} ${type}`);
    }
  });

  test('the hash of a password in user data has either name that cloud-init reads; the first wins', async () => {
    const hashOf = async (user: object): Promise<unknown> => {
      const users = JSON.stringify([{ name: 'ada', ...user }]);
      const text = `#cloud-config\nusers: ${users}\nruncmd: ["kubeadm init --config /k && echo success > /s"]\nwrite_files: [{path: /k, content: "kind: InitConfiguration"}]\n`;
      const { documents } = await converting([text], VERSION);
      return parse(documents[0]?.yaml ?? '').secrets?.['password-ada']?.value;
    };
    assert.equal(await hashOf({ hashed_passwd: '$6$a$b' }), '$6$a$b');
    assert.equal(await hashOf({ hashed_passwd: '$6$a$b', passwd: '$6$c$d' }), '$6$c$d');
    assert.equal(await hashOf({}), undefined);
  });

  test('passwords of another kind than hashes are refused', async () => {
    for (const passwd of ['secret', '*!']) {
      const { conversion } = await converted({ users: [{ name: 'a', passwd }] });
      assert.deepEqual(codesOf(conversion, 'error'), ['PasswordNotHash']);
      assert.ok(!JSON.stringify(conversion.decisions).includes(passwd));
    }
  });
});

describe('jinja', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['echo {{ ds.meta_data.rack }}', 'echo ${ds_meta_data_rack}'],
    ['echo {{ds["meta_data"]["rack"]}}-{{ v1.region }}', 'echo ${ds_meta_data_rack}-${v1_region}'],
    ['echo {{- local_hostname -}}', 'echo ${local_hostname}'],
    ['{% raw %}{{ .Names }}{% endraw %} {{ local_hostname }}', '{{ .Names }} ${local_hostname}'],
    ['echo {{ local_hostname }} ${HOME} ${x%.y}', 'echo ${local_hostname} $${HOME} ${x%.y}'],
    ['echo ${HOME}', 'echo ${HOME}'],
    ['echo {{ v1.local_hostname.split(".")[0] }}', 'echo ${v1_local_hostname}'],
    ["echo {{ local_hostname.split('.') | first }}", 'echo ${v1_local_hostname}'],
    ['echo {{ ds.meta_data.rack | string }}', 'echo ${ds_meta_data_rack}'],
    [`docker ps --format {{ '{{' }}.Names{{ "}}" }}`, 'docker ps --format {{.Names}}'],
  ];
  for (const [command, expected] of cases) {
    test(`${command} becomes ${expected}`, async () => {
      const { document } = await converted({ preKubeadmCommands: [command] });
      const { commands, expand } = document.host.hooks.beforeBootstrap;
      assert.deepEqual(commands, [expected]);
      assert.equal(expand, /\{\{ ?[dlv-]/.test(command) ? true : undefined);
    });
  }

  for (const command of [
    '{{ a | upper }}',
    '{% if a %}b{% endif %}',
    '{{ 1 + 1 }}',
    '{# no #}',
    '{{ .DefaultNetworkInterfaceName }}',
    '{{ f() }}',
  ]) {
    test(`${command} is refused`, async () => {
      assert.deepEqual(codesOf((await converted({ preKubeadmCommands: [command] })).conversion, 'error'), [
        'JinjaUnsupported',
      ]);
    });
  }

  for (const [expression, way] of [
    ["ds.meta_data.name.replace('secret-7Jw','-')", /let the shell do it; for the name of a node leave it out/],
    ['local_hostname | lower', /let the shell do it/],
    ['ds.meta_data["x"].upper()', /let the shell do it/],
    ["x.split('secret-7Jw')[1]", /use a variable with file/],
    ["'a' + b", /\{% raw %\}/],
    ["'secret-7Jw' if a else 'b'", /\{% raw %\}/],
  ] as const) {
    test(`{{ ${expression} }} is an error that says what to do, without its texts`, async () => {
      const { conversion } = await converted({ preKubeadmCommands: [`echo {{ ${expression} }}`] });
      const told = conversion.decisions.filter(({ code }) => code === 'JinjaUnsupported');
      assert.equal(told.length, 1);
      assert.match(told[0]?.message ?? '', way);
      assert.ok(!told[0]?.message.includes('secret-7Jw'));
    });
  }

  test('no text makes it fail otherwise', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom('{', '}', '%', '#', ' ', 'a', '.', 'raw', 'endraw', '"', '|') }),
        async (text) => {
          const { conversion } = await converted({ preKubeadmCommands: [`x${text}`] });
          assert.ok(
            codesOf(conversion, 'error').every((code) => code === 'JinjaUnsupported'),
            text,
          );
        },
      ),
      { numRuns: 100 },
    );
  });

  test('in a place without variables is refused', async () => {
    const { conversion } = await converted({ users: [{ name: '{{ local_hostname }}' }] });
    assert.ok(codesOf(conversion, 'error').includes('VariableNotAllowed'));
  });

  test('is nothing special without the header of a template', async () => {
    const text =
      '#cloud-config\nruncmd: ["echo {{ a | b }}", "kubeadm init --config /k && echo success > /s"]\nwrite_files: [{path: /k, content: "kind: InitConfiguration"}]\n';
    const { documents } = await converting([text], VERSION);
    assert.deepEqual(parse(documents[0]?.yaml ?? '').host.hooks.beforeBootstrap.commands, ['echo {{ a | b }}']);
  });
});

describe('Go templates of files', () => {
  const template = '{{ if .controlPlane }}{{ .controlPlane.version }}{{ else }}unknown{{ end }}\n';
  for (const [content, version, expected] of [
    [template, 'v1.35.2', 'v1.35.2\n'],
    [template, undefined, 'unknown\n'],
    ['a {{- /* c */ -}} b\n', undefined, 'ab\n'],
  ] as const) {
    test(`${content.trim()} with ${version ?? 'no version'}`, async () => {
      const { document } = await converted(
        { files: [{ path: '/a', contentFormat: 'Template', content }] },
        { controlPlaneVersion: version },
      );
      assert.equal(document.host.files[0].content, expected);
    });
  }
  for (const content of ['{{ .controlPlane.version }}', '{{ template "a" }}', '{{ if .controlPlane }}']) {
    test(`${content} without a version is refused`, async () => {
      const { conversion } = await converted({ files: [{ path: '/a', contentFormat: 'Template', content }] });
      assert.deepEqual(codesOf(conversion, 'error'), ['TemplateUnsupported']);
    });
  }
});

describe('secrets', () => {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 's', namespace: 'clusters' },
    stringData: { k: 'hush-hush-hush' },
    data: { b: '/w==' },
  };
  const files = [{ path: '/a', contentFrom: { secret: { name: 's', key: 'k' } } }];

  test('of a Secret are references to files, whether or not it is in the input', async () => {
    for (const beside of [[], [secret]]) {
      const { document } = await converted({ files }, { references: '/srv/secrets/' }, beside);
      assert.deepEqual(document.secrets, { 's-k': { file: '/srv/secrets/s-k' } });
      assert.deepEqual(document.host.files[0].contentFrom, { secret: 's-k' });
      assert.equal(document.host.files[0].mode, '0644');
    }
  });

  test('become values where that is asked for, and are in no report', async () => {
    const { conversion, document } = await converted({ files }, { inlineSecrets: true }, [secret]);
    assert.deepEqual(document.secrets, { 's-k': { value: 'hush-hush-hush\n' } });
    assert.ok(conversion.documents[0]?.holdsSecrets);
    assert.ok(!JSON.stringify(conversion.decisions).includes('hush'));
    assert.ok(codesOf(conversion, 'warning').includes('SecretInDocument'));
  });

  test('of other namespaces are not used', async () => {
    const other = { ...secret, metadata: { name: 's', namespace: 'other' } };
    const { document } = await converted({ files }, { inlineSecrets: true }, [other]);
    assert.deepEqual(document.secrets, { 's-k': { file: '/run/secrets/s-k' } });
  });

  test('that are not text are content, and a decision', async () => {
    const binary = [{ path: '/a', contentFrom: { secret: { name: 's', key: 'b' } } }];
    const { conversion, document } = await converted({ files: binary }, { inlineSecrets: true }, [secret]);
    assert.deepEqual(codesOf(conversion, 'decision'), ['ClusterUnknown', 'SecretNotText']);
    assert.deepEqual([document.host.files[0].content, document.host.files[0].encoding], ['/w==', 'base64']);
  });

  test('of golden user data are in no report', async () => {
    for (const { name, golden } of EXAMPLES) {
      for (const kind of golden) {
        const { decisions } = await converting([goldenUserData(name, kind)], VERSION);
        const told = JSON.stringify(decisions);
        assert.ok(!/PRIVATE KEY|9vr73a|a8uxyaju799qwdjv|REPLACE-WITH|MII/.test(told), name);
      }
    }
  });
});

describe('kubeadm before 1.31', () => {
  test('has no field for some settings: a decision, and then the converter omits them as the provider does', async () => {
    const spec = {
      clusterConfiguration: {
        certificateValidityPeriodDays: 180,
        encryptionAlgorithm: 'RSA-4096',
        apiServer: {
          extraEnvs: [{ name: 'A', value: 'b' }],
          extraArgs: [
            { name: 'v', value: '1' },
            { name: 'v', value: '2' },
          ],
        },
      },
      initConfiguration: { nodeRegistration: { imagePullSerial: false }, timeouts: { kubeletHealthCheckSeconds: 60 } },
    };
    const { conversion, document } = await converted(spec, { kubernetesVersion: 'v1.30.9' });
    assert.deepEqual(codesOf(conversion, 'decision').sort(), ['ClusterUnknown', 'NotInThisKubeadm']);
    assert.equal(conversion.decisions.filter(({ code }) => code === 'NotInThisKubeadm').length, 6);
    assert.deepEqual(document.kubernetes, {
      version: 'v1.30.9',
      role: 'InitControlPlane',
      controlPlane: { apiServer: { args: [{ name: 'v', value: '2' }] } },
    });
    const newer = await converted(spec);
    assert.deepEqual(codesOf(newer.conversion, 'decision'), ['ClusterUnknown']);
  });
});

describe('a problem of the input is reported', () => {
  const unknown = { files: [{ path: '/a', content: 'b', immutable: true }] };
  const cases: readonly (readonly [string, readonly (string | object)[], Code, ConvertOptions?])[] = [
    ['a field that nobody knows', [config(unknown)], 'UnknownField'],
    ['a value of the wrong type', [config({ files: [{ path: '/a', content: 7 }] })], 'InputInvalid'],
    ['a version of the API that is gone', [config({}, 'v1alpha4')], 'InputInvalid'],
    ['text that is no YAML', ['a: [b'], 'InputInvalid'],
    ['aliases of nothing', ['apiVersion: v1\nkind: *a\n'], 'InputInvalid'],
    ['user data that is no YAML', ['#cloud-config\nruncmd: [a\n'], 'InputInvalid'],
    [
      'an additionalConfig that is no YAML',
      [config({ format: 'ignition', ignition: { containerLinuxConfig: { additionalConfig: 'a: [b' } } })],
      'InputInvalid',
    ],
    ['nothing to convert', [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }], 'InputUnknown'],
    ['no version of Kubernetes', [config({})], 'VersionMissing', { kubernetesVersion: undefined }],
    ['an inexact version', [config({})], 'VersionMissing', { kubernetesVersion: 'v1.35' }],
    ['a configuration that is for nothing', [config({ initConfiguration: undefined })], 'RoleUnclear'],
    [
      'a role that it cannot have',
      [
        {
          ...config({}),
          apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
          kind: 'KubeadmControlPlane',
          spec: { kubeadmConfigSpec: {} },
        },
      ],
      'RoleUnclear',
      { role: 'Worker' },
    ],
    ['gzip without base64', [config({ files: [{ path: '/a', content: 'b', encoding: 'gzip' }] })], 'GzipAlone'],
    [
      'a file twice',
      [
        config({
          files: [
            { path: '/a', content: 'b' },
            { path: '/a', content: btoa('c'), encoding: 'base64', append: true },
          ],
        }),
      ],
      'InputInvalid',
    ],
    [
      'a file system that the document has not',
      [config({ diskSetup: { filesystems: [{ device: '/dev/sdb', filesystem: 'ext3' }] } })],
      'FilesystemUnsupported',
    ],
    [
      'an alias that means another disk with every provider',
      [config({ mounts: [['ephemeral0', '/mnt']] })],
      'DeviceUnknown',
    ],
    [
      'a mount of a type that the document has not',
      [config({ mounts: [['//s/x', '/mnt', 'cifs']] })],
      'MountUnsupported',
    ],
    [
      'a bind mount with the mounts below it',
      [config({ mounts: [['/a', '/mnt', 'none', 'rbind']] })],
      'MountUnsupported',
    ],
    ['a swap file of an unknown size', [config({ mounts: [['/swapfile', 'none', 'swap', 'sw']] })], 'MountUnsupported'],
    [
      'permissions that are no number',
      [config({ files: [{ path: '/a', content: 'b', permissions: 'rwx' }] })],
      'PermissionsInvalid',
    ],
    [
      'kubeadm run by a command',
      [config({ preKubeadmCommands: ['kubeadm init phase certs all'] })],
      'CommandRunsKubeadm',
    ],
    ['a key of user data', ['#cloud-config\npackages: [a]\n'], 'UserDataKey'],
    ['user data without kubeadm', ['#cloud-config\nruncmd: [a]\n'], 'UserDataWithoutKubeadm'],
    ['an endpoint that nobody names', [{ ...config({}), spec: { joinConfiguration: {} } }], 'ControllerValueMissing'],
  ];
  for (const [what, inputs, code, options] of cases) {
    test(`${what}: ${code}`, async () => {
      const conversion = await converting(inputs, { ...VERSION, ...options });
      assert.ok(
        conversion.decisions.some((one) => one.code === code),
        JSON.stringify(conversion.decisions),
      );
      if (CODES[code].severity === 'error') assert.deepEqual(conversion.documents, []);
    });
  }
});

describe('a difference on the machine, or something the operator should know, is reported', () => {
  const disk = (fields: object) => ({ diskSetup: { partitions: [{ device: '/dev/sdb', layout: true, ...fields }] } });
  const file = (fields: object) => ({ files: [{ path: '/etc/a', content: 'b\n', ...fields }] });
  const tokens = (fields: object) => ({
    initConfiguration: { bootstrapTokens: [{ token: 'abcdef.0123456789abcdef', ...fields }] },
  });
  const two = {
    partitions: [{ device: '/dev/sdb', tableType: 'gpt', diskLayout: [{ percentage: 50 }, { percentage: 50 }] }],
  };
  const cases: readonly (readonly [Code, object, ConvertOptions?])[] = [
    ['CertificatesByKubeadm', {}],
    ['RetryJoin', { useExperimentalRetryJoin: true }],
    ['FileIsSecret', file({ permissions: '0600' })],
    ['FileBelowMount', { ...file({ path: '/data/a' }), mounts: [['/dev/sdb', '/data']] }],
    ['PrivateFileReadable', file({ path: '/etc/kubernetes/azure.json' })],
    ['DefaultUserKept', { users: [{ name: 'ada' }] }],
    ['TimeServiceNotInstalled', { ntp: {} }],
    ['TableTypeMbr', disk({})],
    ['UsedDiskRefused', disk({})],
    ['LayoutFalse', disk({ layout: false })],
    ['PartitionChosen', { diskSetup: { ...two, filesystems: [{ device: '/dev/sdb', filesystem: 'ext4' }] } }],
    ['WholeDisk', { diskSetup: { filesystems: [{ device: '/dev/sdb', filesystem: 'ext4' }] } }],
    ['MountColumns', { mounts: [['/dev/sdb', '/a', 'ext4', 'ro', '0', '2']] }],
    ['MountRemoved', { mounts: [['ephemeral0']] }],
    ['HookTimeout', { preKubeadmCommands: ['a'] }],
    ['CommandOnce', { bootCommands: ['cloud-init-per once scan sh -c a'] }],
    ['CommandUsesKubeadmFile', { preKubeadmCommands: ['cat /etc/kubeadm.yml'] }],
    ['VerbosityLowered', { verbosity: 9 }],
    ['TokenForEver', tokens({ ttlSeconds: 0 })],
    ['TokenUsages', tokens({ usages: ['signing'] })],
    ['EndpointPort', { clusterConfiguration: { controlPlaneEndpoint: 'api.example' } }],
    [
      'LabelRefused',
      {
        initConfiguration: {
          nodeRegistration: { kubeletExtraArgs: [{ name: 'node-labels', value: 'node-role.kubernetes.io/a=' }] },
        },
      },
    ],
    ['ClusterValue', {}, { endpoint: 'api.example:6443' }],
  ];
  for (const [code, spec, options] of cases) {
    test(`as ${code}`, async () => {
      const { conversion } = await converted(spec, options);
      assert.ok(
        conversion.decisions.some((one) => one.code === code),
        JSON.stringify(conversion.decisions),
      );
      assert.deepEqual(codesOf(conversion, 'error'), []);
    });
  }

  test('the taint that Cluster API removes is added to workers, unless nothing is there to remove it', async () => {
    const joinConfiguration = {
      discovery: {
        bootstrapToken: {
          token: 'abcdef.0123456789abcdef',
          apiServerEndpoint: 'a:6443',
          unsafeSkipCAVerification: true,
        },
      },
    };
    const worker = { ...config({}), spec: { joinConfiguration } };
    const taints = async (options: ConvertOptions) => {
      const { documents } = await converting([worker], { ...VERSION, ...options });
      return parse(documents[0]?.yaml ?? '').kubernetes.node?.taints;
    };
    assert.deepEqual(await taints({}), [{ key: 'node.cluster.x-k8s.io/uninitialized', effect: 'NoSchedule' }]);
    assert.equal(await taints({ standalone: true }), undefined);
  });

  test('a jinja expression in a Secret is text', async () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      stringData: { k: '{{ local_hostname }}' },
    };
    const from = { files: [{ path: '/a', contentFrom: { secret: { name: 's', key: 'k' } } }] };
    const { conversion, document } = await converted(from, { inlineSecrets: true }, [secret]);
    assert.ok(codesOf(conversion, 'warning').includes('JinjaInSecret'));
    assert.equal(document.secrets['s-k'].value, '{{ local_hostname }}\n');
  });
});

test('the converter imports nothing that only Node has', () => {
  const room = join(import.meta.dirname, '../../../packages/convert/src');
  const files = globSync('**/*.ts', { cwd: room });
  assert.ok(files.length > 30);
  const wrong = files.filter((file) =>
    /from 'node:|\b(?:Buffer|process)\./.test(readFileSync(join(room, file), 'utf8')),
  );
  assert.deepEqual(wrong, []);
});

describe('objects find each other', () => {
  test('the Machine gives a configuration its name, version and cluster', async () => {
    const machine = {
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Machine',
      metadata: { name: 'm-0', namespace: 'clusters', uid: '42' },
      spec: { clusterName: 'prod', version: 'v1.34.1', bootstrap: { configRef: { name: 'a' } } },
    };
    const { document } = await converted({}, { kubernetesVersion: undefined }, [machine]);
    assert.deepEqual(document.metadata, { name: 'm-0', namespace: 'clusters', uid: '42', cluster: 'prod' });
    assert.equal(document.kubernetes.version, 'v1.34.1');
  });

  test('a data Secret takes the place of the configuration that it was made of, and of no other', async () => {
    const one = EXAMPLES[1];
    const secret = (namespace: string, uid?: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'cluster.x-k8s.io/secret',
      metadata: {
        name: 'prod-b-md-0',
        namespace,
        ...(uid === undefined
          ? {}
          : {
              ownerReferences: [
                { apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2', kind: 'KubeadmConfig', name: 'prod-b-md-0', uid },
              ],
            }),
      },
      data: { format: btoa('cloud-config'), value: btoa(goldenUserData(one.name, 'join-worker')) },
    });
    const config = {
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
      kind: 'KubeadmConfig',
      metadata: { name: 'prod-b-md-0', namespace: 'clusters', uid: 'u-1' },
      spec: { joinConfiguration: {} },
    };
    for (const [data, isIts] of [
      [secret('clusters'), true],
      [secret('clusters', 'u-1'), true],
      [secret('clusters', 'u-2'), false],
      [secret('elsewhere'), false],
    ] as const) {
      const { documents, decisions } = await converting([config, example(one.name), data], VERSION);
      const ignored = decisions.filter(({ code, at }) => code === 'ObjectIgnored' && at.startsWith('KubeadmConfig'));
      assert.deepEqual([documents.length, ignored.length], isIts ? [2, 1] : [3, 0]);
    }
  });

  test('a List is what it holds', async () => {
    const { documents } = await converting([{ apiVersion: 'v1', kind: 'List', items: [config({})] }], VERSION);
    assert.equal(documents.length, 1);
  });

  test('a control plane becomes two documents, or the one that is asked for', async () => {
    const texts = withRelatedObjects(EXAMPLES[0]);
    const roles = (options: ConvertOptions) =>
      convert(texts, options).then(({ documents }) => documents.map(({ role }) => role));
    assert.deepEqual(await roles({}), ['InitControlPlane', 'JoinControlPlane']);
    assert.deepEqual(await roles({ role: 'JoinControlPlane' }), ['JoinControlPlane']);
  });
});

describe('a report quotes no value', () => {
  const SECRET = 'q7fh8e0zkxnbky1l1siia1bi';
  const slipped: Readonly<Record<string, object>> = {
    'that became a key': { unknown: { [`ops:${SECRET}`]: 1 }, ntp: { [SECRET]: true } },
    'that slid into the mount point': { mounts: [['/dev/sdb', `/mnt - defaults,password=${SECRET}`, 'ext4', 'ro']] },
    'that is the password of a share': { mounts: [[`https://ops:${SECRET}@dav.example/a`, '/mnt', 'davfs']] },
    'behind the options of a mount': { mounts: [['/dev/sdb', '/a', 'ext4', 'ro', `password=${SECRET}`, '2']] },
  };
  for (const [what, spec] of Object.entries(slipped)) {
    test(what, async () => {
      const { decisions } = await converting([config(spec)], VERSION);
      assert.notEqual(decisions.length, 0);
      assert.ok(!JSON.stringify(decisions).includes(SECRET), JSON.stringify(decisions));
    });
  }

  test('that became a key of a Secret, or of an object that only the controllers read', async () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'b' },
      data: { [SECRET]: '%', [`${SECRET}0`]: '' },
    };
    const controlPlane = {
      apiVersion: 'controlplane.cluster.x-k8s.io/v1beta2',
      kind: 'KubeadmControlPlane',
      metadata: { name: 'a' },
      spec: { version: 'v1.35.2', kubeadmConfigSpec: { initConfiguration: {} }, [`ops:${SECRET}`]: 1 },
    };
    const { decisions } = await converting([controlPlane, secret]);
    const codes = decisions.map(({ code }) => code);
    for (const code of ['ControllerField', 'ObjectIgnored'] as const) assert.ok(codes.includes(code), code);
    assert.ok(!JSON.stringify(decisions).includes(SECRET), JSON.stringify(decisions));
  });
});
