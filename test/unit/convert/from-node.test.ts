import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { stringify } from 'yaml';
import { readNodeFiles } from '../../../src/commands/convert/node-files.ts';
import { needs } from '../../support/needs.ts';
import { CONTROL_PLANE, converted, kubeconfig, pem, WORKER } from '../../support/node-files.ts';

describe('a worker becomes a document that joins it again', () => {
  test('with its name, version, runtime, arguments and files', async () => {
    const { document, errors, decisions } = await converted(WORKER);
    assert.deepEqual(errors, []);
    const { metadata, kubernetes, host, secrets } = document;
    assert.equal(metadata.name, 'node-7');
    const { token } = kubernetes.join.discovery;
    assert.deepEqual(
      [token.endpoint, token.token, token.caCertHashes.length],
      ['api.example:6443', { secret: 'join-token' }, 1],
    );
    assert.deepEqual(secrets['join-token'], { file: '/run/secrets/join-token' });
    assert.deepEqual(
      { version: kubernetes.version, role: kubernetes.role, node: kubernetes.node },
      {
        version: 'v1.34.2',
        role: 'Worker',
        node: {
          criSocket: 'unix:///run/crio/crio.sock',
          kubelet: {
            config: { maxPods: 200 },
            args: [
              { name: 'node-labels', value: 'rack=r7' },
              { name: 'node-ip', value: '10.0.0.7' },
            ],
          },
        },
      },
    );
    assert.equal(kubernetes.pki, undefined);
    const contents = new Map(
      host.files.map((file: { path: string; content?: string; contentFrom?: object }) => [
        file.path,
        file.content ?? file.contentFrom,
      ]),
    );
    assert.deepEqual(
      [...contents.keys()],
      [
        '/etc/containerd/config.toml',
        '/etc/modules-load.d/k8s.conf',
        '/etc/sysctl.d/90-kubernetes.conf',
        '/etc/systemd/system/containerd.service.d/proxy.conf',
        '/etc/containerd/certs.d/docker.io/hosts.toml',
        '/etc/containerd/certs.d/private.example/hosts.toml',
      ],
    );
    assert.equal(contents.get('/etc/sysctl.d/90-kubernetes.conf'), 'net.ipv4.ip_forward = 1\n');
    for (const path of [
      '/etc/systemd/system/containerd.service.d/proxy.conf',
      '/etc/containerd/certs.d/private.example/hosts.toml',
    ]) {
      assert.ok('secret' in (contents.get(path) as object), path);
      assert.ok(
        decisions.some((one) => one.startsWith(`SecretReferenced node: ${path}`)),
        path,
      );
    }
    assert.ok(decisions.some((one) => /^NodeUnknown node: not read: accounts/.test(one)));
  });

  test('--structure makes fields of it', async () => {
    const { document, decisions } = await converted(WORKER, { structure: true });
    assert.ok(document, decisions.join('\n'));
    assert.deepEqual(document.host.sysctl, { 'net.ipv4.ip_forward': '1' });
    assert.deepEqual(document.host.kernelModules, ['overlay', 'br_netfilter']);
    assert.equal(document.containerRuntime, undefined, 'one of the registries stays a file');
    const {
      '/etc/containerd/config.toml': _config,
      '/etc/containerd/certs.d/private.example/hosts.toml': _hosts,
      ...plain
    } = WORKER;
    const { document: whole } = await converted(plain, { structure: true });
    assert.equal(whole.containerRuntime.containerd.registries[0].host, 'docker.io');
  });

  test("with the cluster's ConfigMaps only what differs from them is its own", async () => {
    const map = (name: string, data: object): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'kube-system' },
      data,
    });
    const kubelet = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      maxPods: 200,
      cgroupDriver: 'cgroupfs',
    };
    const cluster = {
      apiVersion: 'kubeadm.k8s.io/v1beta4',
      kind: 'ClusterConfiguration',
      clusterName: 'prod',
      controlPlaneEndpoint: 'lb.example:6443',
      kubernetesVersion: 'v1.35.0',
    };
    const { document, count } = await converted(WORKER, {}, [
      map('kubeadm-config', { ClusterConfiguration: stringify(cluster) }),
      map('kubelet-config', { kubelet: stringify(kubelet) }),
    ]);
    assert.equal(count, 1);
    const { node, version, cluster: named, join: joined } = document.kubernetes;
    assert.deepEqual(Object.keys(node.kubelet.config).sort(), [
      'authentication',
      'cgroupDriver',
      'logging',
      'rotateCertificates',
    ]);
    assert.deepEqual(
      [version, named, joined.discovery.token.endpoint],
      ['v1.34.2', { name: 'prod' }, 'lb.example:6443'],
    );
  });

  test('without a version, without kubelet.conf, and as a control plane', async () => {
    const { '/var/lib/dpkg/status': _status, ...unversioned } = WORKER;
    assert.deepEqual((await converted(unversioned)).errors, ['VersionMissing']);
    assert.deepEqual(
      (await converted(unversioned, { kubernetesVersion: 'v1.33.1' })).document.kubernetes.version,
      'v1.33.1',
    );
    const { '/etc/kubernetes/kubelet.conf': _conf, ...none } = WORKER;
    const { decisions, errors } = await converted(none);
    assert.deepEqual(errors, ['InputUnknown']);
    assert.match(decisions.join('\n'), /kubelet\.conf does not exist: no node that kubeadm has made/);
    assert.deepEqual((await converted(WORKER, { role: 'InitControlPlane' })).errors, ['RoleUnclear']);
  });
});

describe('a machine of the control plane', () => {
  test('joins it again, with its authorities and their keys by reference', async () => {
    const { document, errors, decisions } = await converted(CONTROL_PLANE);
    assert.deepEqual(errors, [], decisions.join('\n'));
    const { kubernetes, secrets, host } = document;
    assert.deepEqual([kubernetes.role, kubernetes.version], ['JoinControlPlane', 'v1.35.2']);
    assert.deepEqual(kubernetes.controlPlane.apiEndpoint, { advertiseAddress: '10.0.0.5', bindPort: 6443 });
    assert.equal(kubernetes.pki.ca.certificate, pem('ca.crt'));
    const files = Object.values(secrets).map((one) => (one as { file: string }).file);
    assert.deepEqual(files.sort(), [
      '/run/secrets/containerd/certs.d/private.example/hosts.toml',
      '/run/secrets/join-token',
      '/run/secrets/kubernetes/manifests/kube-vip.yaml',
      '/run/secrets/pki/ca.key',
      '/run/secrets/pki/etcd/ca.key',
      '/run/secrets/pki/front-proxy-ca.key',
      '/run/secrets/pki/sa.key',
      '/run/secrets/systemd/system/containerd.service.d/proxy.conf',
    ]);
    assert.ok(host.files.some(({ path }: { path: string }) => path === '/etc/kubernetes/manifests/kube-vip.yaml'));
    assert.ok(!host.files.some(({ path }: { path: string }) => path.endsWith('kube-apiserver.yaml')));
    assert.ok(decisions.some((one) => one.includes('names this machine itself')));
    assert.ok(decisions.some((one) => one.includes('the API server mounts /etc/kubernetes/audit')));
    for (const [files, options] of [
      [{ ...CONTROL_PLANE, '/etc/kubernetes/admin.conf': kubeconfig('https://lb.example:6443') }, {}],
      [CONTROL_PLANE, { endpoint: 'lb.example:6443' }],
    ] as const) {
      const told = await converted(files, options);
      assert.equal(told.document.kubernetes.join.discovery.token.endpoint, 'lb.example:6443');
      assert.ok(!told.decisions.some((one) => one.includes('names this machine itself')));
    }
  });

  test('creates the cluster again with --role', async () => {
    const { document, errors, decisions } = await converted(CONTROL_PLANE, { role: 'InitControlPlane' });
    assert.deepEqual(errors, [], decisions.join('\n'));
    const { cluster, join: joined, pki } = document.kubernetes;
    assert.deepEqual(cluster, {
      name: 'prod',
      podSubnets: ['10.244.0.0/16'],
      serviceSubnets: ['10.96.0.0/12'],
      dnsDomain: 'cluster.local',
    });
    assert.deepEqual([joined, pki.serviceAccount.publicKey], [undefined, pem('sa.pub')]);
    assert.ok(decisions.some((one) => one.includes('get configmap kubeadm-config')));
  });
});

describe('odd and hostile files', () => {
  test('links that leave the root, devices, large files and no text are told, not followed', async () => {
    const { document, decisions } = await converted(WORKER, {}, [], (root) => {
      symlinkSync('/etc/passwd', join(root, 'etc/sysctl.d/a.conf'));
      symlinkSync('../../../../../../../etc/passwd', join(root, 'etc/sysctl.d/b.conf'));
      mkdirSync(join(root, 'etc/sysctl.d/c.conf'));
      writeFileSync(join(root, 'etc/sysctl.d/d.conf'), Buffer.alloc(2 * 1024 * 1024, 'x'));
      writeFileSync(join(root, 'etc/sysctl.d/e.conf'), Buffer.from([0xff, 0xfe]));
      symlinkSync('f.conf', join(root, 'etc/sysctl.d/f.conf'));
    });
    const paths = document.host.files.map(({ path }: { path: string }) => path);
    assert.ok(!paths.some((path: string) => /sysctl\.d\/[a-f]\.conf/.test(path)), paths.join());
    const told = decisions.filter((one) => one.startsWith('NodeUnknown node: /etc/sysctl.d/'));
    assert.deepEqual(told, [
      'NodeUnknown node: /etc/sysctl.d/c.conf: no regular file',
      'NodeUnknown node: /etc/sysctl.d/d.conf: larger than 1 MiB',
      'NodeUnknown node: /etc/sysctl.d/e.conf: no text',
    ]);
  });

  test('many files end', async () => {
    const { decisions } = await converted(WORKER, {}, [], (root) => {
      for (let index = 0; index < 600; index++) writeFileSync(join(root, `etc/sysctl.d/${index}.conf`), 'a.b = 1\n');
    });
    assert.ok(decisions.some((one) => one.includes('one of more than 500 files')));
  });

  test('a file of a package that nobody has changed is left to the package', async () => {
    const content = 'kernel.printk = 4 4 1 7\n';
    const digest = 'b6ab5e8d4a4d1b9d9b8b5b1b0c0e0d4e';
    const status = (md5: string): string =>
      `${WORKER['/var/lib/dpkg/status']}Conffiles:\n /etc/sysctl.d/10-console.conf ${md5}\n`;
    const { createHash } = await import('node:crypto');
    const own = { ...WORKER, '/etc/sysctl.d/10-console.conf': content };
    const has = async (md5: string): Promise<boolean> => {
      const { document } = await converted({ ...own, '/var/lib/dpkg/status': status(md5) });
      return document.host.files.some(({ path }: { path: string }) => path === '/etc/sysctl.d/10-console.conf');
    };
    assert.equal(await has(createHash('md5').update(content).digest('hex')), false);
    assert.equal(await has(digest), true);
  });

  test('a private key in the place of a certificate stays there', async () => {
    const { document } = await converted({
      ...CONTROL_PLANE,
      '/etc/kubernetes/pki/ca.crt': `${pem('ca.crt')}-----BEGIN PRIVATE KEY-----\na2V5LXNlY3JldC03Snc=\n-----END PRIVATE KEY-----\n`,
    });
    assert.equal(document.kubernetes.pki.ca.certificate, pem('ca.crt'));
  });

  test('what cannot be read is told', {
    // Root reads everything.
    skip: needs('another user than root'),
  }, async () => {
    const { decisions } = await converted(WORKER, {}, [], (root) =>
      chmodSync(join(root, 'etc/containerd/config.toml'), 0),
    );
    assert.ok(decisions.includes('NodeUnknown node: /etc/containerd/config.toml: it cannot be read: run as root'));
  });

  test('no directory', () => {
    assert.throws(() => readNodeFiles('/etc/hostname'), { reason: 'UsageInvalid', message: /is not a directory/ });
    assert.ok(readFileSync('/etc/hostname').length > 0);
  });
});
