import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ConvertOptions } from '@machineadm/convert/index.ts';
import { parse } from 'yaml';
import { codesOf, converting } from '../../support/capi.ts';

async function converted(spec: object, options: ConvertOptions = {}, beside: readonly object[] = []) {
  const config = {
    apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
    kind: 'KubeadmConfig',
    metadata: { name: 'a', namespace: 'n' },
    spec: {
      joinConfiguration: {
        discovery: {
          bootstrapToken: {
            token: 'abcdef.0123456789abcdef',
            apiServerEndpoint: 'api:6443',
            unsafeSkipCAVerification: true,
          },
        },
      },
      ...spec,
    },
  };
  const conversion = await converting([config, ...beside], { kubernetesVersion: 'v1.34.2', ...options });
  const [first] = conversion.documents;
  return {
    conversion,
    document: first === undefined ? undefined : parse(first.yaml),
    errors: codesOf(conversion, 'error'),
  };
}

describe('files', () => {
  test('with contentFormat Raw are files', async () => {
    const { document, errors } = await converted({ files: [{ path: '/etc/a', content: 'x', contentFormat: 'Raw' }] });
    assert.deepEqual([errors, document.host.files[0].content], [[], 'x\n']);
  });

  test('of a Secret with contentFormat Template are rendered where they are inlined, and refused where not', async () => {
    const files = [{ path: '/etc/a', contentFormat: 'Template', contentFrom: { secret: { name: 's', key: 'k' } } }];
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'n' },
      data: { k: btoa('v={{ .controlPlane.version }}') },
    };
    const options = { controlPlaneVersion: 'v1.34.2' };
    assert.deepEqual((await converted({ files }, options, [secret])).errors, ['TemplateUnsupported']);
    const { document } = await converted({ files }, { ...options, inlineSecrets: true }, [secret]);
    assert.deepEqual(document.secrets['s-k'], { value: 'v=v1.34.2\n' });
  });

  for (const encoding of ['base64', 'b64']) {
    test(`for their owner alone are secret also in ${encoding}`, async () => {
      const { document, conversion } = await converted({
        files: [{ path: '/etc/site/token', permissions: '0600', encoding, content: btoa('hunter2') }],
      });
      assert.deepEqual(document.host.files[0].contentFrom, { secret: 'site-token' });
      assert.deepEqual(document.secrets['site-token'], { value: 'hunter2' });
      assert.ok(codesOf(conversion, 'warning').includes('SecretInDocument'));
    });
  }

  test('of private bytes make the document private', async () => {
    const { conversion } = await converted({
      files: [{ path: '/etc/k', permissions: '0600', encoding: 'base64', content: '//79/A==' }],
    });
    assert.equal(conversion.documents[0]?.holdsSecrets, true);
  });

  test('lose the blanks before all their lines, as in the YAML of the provider', async () => {
    const { document, conversion } = await converted({
      files: [{ path: '/a.sh', content: '\n  #!/bin/sh\n    echo\n\n  x\n' }],
    });
    assert.equal(document.host.files[0].content, '\n#!/bin/sh\n  echo\n\nx\n');
    assert.ok(codesOf(conversion, 'note').includes('IndentationRemoved'));
    assert.deepEqual((await converted({ files: [{ path: '/a', content: '    a\n  b\n' }] })).errors, ['InputInvalid']);
  });

  test('of one path are written one after the other', async () => {
    const { document, conversion, errors } = await converted({
      files: [
        { path: '/etc/hosts', append: true, content: 'a' },
        { path: '/etc/x', content: 'old' },
        { path: '/etc/hosts', append: true, content: 'b' },
        { path: '/etc/x', content: 'new', permissions: '0640' },
        { path: '/etc/x', content: 'more', append: true },
      ],
    });
    assert.deepEqual(errors, []);
    const [hosts, x, ...others] = document.host.files;
    assert.deepEqual(
      [hosts.content, hosts.append, x.content, x.append, others],
      ['a\nb\n', true, 'new\nmore\n', undefined, []],
    );
    assert.ok(codesOf(conversion, 'note').includes('WithoutEffect'));
  });
});

test("the first label of the host name is cloud-init's v1.local_hostname", async () => {
  for (const name of [
    '{{ ds.meta_data.local_hostname.split(".")[0] }}',
    "{{ ds.meta_data['local-hostname'].split('.')[0] }}",
  ]) {
    const discovery = {
      bootstrapToken: {
        token: 'abcdef.0123456789abcdef',
        apiServerEndpoint: 'api:6443',
        unsafeSkipCAVerification: true,
      },
    };
    const { document, errors } = await converted({ joinConfiguration: { discovery, nodeRegistration: { name } } });
    assert.deepEqual([errors, Object.values(document.variables)], [[], [{ instanceData: 'v1.local_hostname' }]]);
  }
});

test('names of users that useradd takes', async () => {
  const { document, errors } = await converted({
    users: [{ name: 'ada.lovelace', sudo: 'ALL=(ALL) ALL' }, { name: 'Ops' }],
  });
  assert.deepEqual(
    [errors, document.host.users.map(({ name }: { name: string }) => name)],
    [[], ['ada.lovelace', 'Ops']],
  );
});

test('the socket of the runtime is that of the kubelet', async () => {
  const discovery = {
    bootstrapToken: { token: 'abcdef.0123456789abcdef', apiServerEndpoint: 'api:6443', unsafeSkipCAVerification: true },
  };
  const kubeletExtraArgs = [{ name: 'container-runtime-endpoint', value: 'unix:///var/run/crio/crio.sock' }];
  const { document } = await converted({ joinConfiguration: { discovery, nodeRegistration: { kubeletExtraArgs } } });
  assert.equal(document.kubernetes.node.criSocket, 'unix:///var/run/crio/crio.sock');
});

describe('what only the provider or cloud-init makes is reported where it is named', () => {
  for (const [text, named] of [
    ['sed -i s/x/y/ /tmp/kubeadm.yml', '/tmp/kubeadm.yml'],
    ['cat /tmp/kubeadm-join-config.yaml', '/tmp/kubeadm-join-config.yaml'],
    ['bash -x /etc/kubeadm.sh', '/etc/kubeadm.sh'],
    ['grep -q a /var/lib/cloud/instance/user-data.txt', '/var/lib/cloud/instance/user-data'],
    ['cp /var/lib/cloud/instances/i-1/cloud-config.txt /root', '/var/lib/cloud/instances/i-1/cloud-config'],
    ['cloud-init query userdata | grep x', 'cloud-init query userdata'],
    ['jq .v1 /run/cloud-init/instance-data.json', '/run/cloud-init/instance-data'],
    ['grep join /var/log/cloud-init-output.log', '/var/log/cloud-init-output.log'],
  ] as const) {
    for (const spec of [
      { preKubeadmCommands: [text] },
      { postKubeadmCommands: [text] },
      { bootCommands: [text] },
      { files: [{ path: '/opt/a.sh', content: `#!/bin/sh\n${text}\n` }] },
    ]) {
      test(`${named} in ${Object.keys(spec)[0]}`, async () => {
        const { conversion } = await converted(spec);
        const told = conversion.decisions.filter(({ code }) => code === 'ProviderFileNamed');
        assert.equal(told.length, 1);
        assert.ok(told[0]?.message.startsWith(`${named}: `), told[0]?.message);
      });
    }
  }

  test('not where machineadm has it, too', async () => {
    const { conversion } = await converted({
      preKubeadmCommands: ['cat /run/kubeadm/kubeadm-join-config.yaml', 'cloud-init query ds.meta_data.hostname'],
      postKubeadmCommands: ['test -e /run/cluster-api/bootstrap-success.complete'],
    });
    assert.deepEqual(
      codesOf(conversion, 'warning').filter((code) => code === 'ProviderFileNamed'),
      [],
    );
  });
});
