import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, mkdtempDisposableSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type ConvertOptions, convert } from '@machineadm/convert/index.ts';
import { parse, stringify } from 'yaml';
import { readNodeFiles } from '../../src/commands/convert/node-files.ts';
import { goldenUserData } from './capi.ts';

const GOLDEN: readonly { readonly path: string; readonly content: string }[] = parse(
  goldenUserData('01-controlplane-kube-vip', 'init'),
).write_files;
/** The content of a file of the golden PKI. */
export const pem = (path: string): string =>
  GOLDEN.find((one) => one.path === `/etc/kubernetes/pki/${path}`)?.content ?? '';

type Files = Readonly<Record<string, string>>;

/** A kubeconfig with secrets in it. */
export const kubeconfig = (server: string): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': btoa(pem('ca.crt')) } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'default-auth' } }],
    'current-context': 'x',
    users: [{ name: 'default-auth', user: { 'client-key-data': 'a2V5LXNlY3JldC03Snc=', token: 'secret-7Jw' } }],
  });

/** The files of a worker that kubeadm joined, by path. */
export const WORKER: Files = {
  '/etc/hostname': 'Node-7\n',
  '/etc/kubernetes/kubelet.conf': kubeconfig('https://api.example:6443'),
  '/etc/kubernetes/pki/ca.crt': pem('ca.crt'),
  '/var/lib/kubelet/config.yaml': stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { cacheTTL: '0s', enabled: true },
      x509: { clientCAFile: '/etc/kubernetes/pki/ca.crt' },
    },
    cgroupDriver: 'systemd',
    clusterDNS: ['10.96.0.10'],
    clusterDomain: 'cluster.local',
    maxPods: 200,
    rotateCertificates: true,
    syncFrequency: '0s',
    logging: {
      flushFrequency: 0,
      options: { json: { infoBufferSize: '0' }, text: { infoBufferSize: '0' } },
      verbosity: 0,
    },
  }),
  '/var/lib/kubelet/kubeadm-flags.env':
    'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/crio/crio.sock --node-labels=rack=r7 --pod-infra-container-image=registry.k8s.io/pause:3.10"\n',
  '/etc/default/kubelet': 'KUBELET_EXTRA_ARGS=--node-ip=10.0.0.7\n',
  '/etc/sysctl.d/90-kubernetes.conf': 'net.ipv4.ip_forward = 1\n',
  '/etc/sysctl.d/README': 'not read\n',
  '/etc/modules-load.d/k8s.conf': 'overlay\nbr_netfilter\n',
  '/etc/containerd/config.toml': 'version = 2\n',
  '/etc/containerd/certs.d/docker.io/hosts.toml':
    'server = "https://docker.io"\n[host."https://mirror.example"]\n  capabilities = ["pull"]\n',
  '/etc/containerd/certs.d/private.example/hosts.toml':
    '[host."https://private.example".header]\n  Authorization = "Basic c2VjcmV0OnNlY3JldC03SncK"\n',
  '/etc/systemd/system/containerd.service.d/proxy.conf':
    '[Service]\nEnvironment="HTTPS_PROXY=http://user:secret-7Jw@proxy.example:3128"\n',
  '/etc/systemd/system/kubelet.service.d/10-kubeadm.conf': '[Service]\nExecStart=\n',
  '/var/lib/dpkg/status':
    'Package: kubelet\nStatus: install ok installed\nVersion: 1.34.2-1.1\n\nPackage: other\nVersion: 9.9.9-1\n',
};

const pod = (name: string, args: readonly string[], volumes: readonly string[] = []): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'kube-system' },
    spec: {
      containers: [{ name, image: `registry.k8s.io:443/${name}:v1.35.2`, command: [name, ...args] }],
      volumes: volumes.map((path) => ({ name: 'v', hostPath: { path } })),
    },
  });

/** The files of a control plane. */
export const CONTROL_PLANE: Files = {
  ...WORKER,
  '/etc/kubernetes/kubelet.conf': kubeconfig('https://10.0.0.5:6443'),
  '/etc/kubernetes/manifests/kube-apiserver.yaml': pod(
    'kube-apiserver',
    [
      '--advertise-address=10.0.0.5',
      '--secure-port=6443',
      '--service-cluster-ip-range=10.96.0.0/12',
      '--etcd-servers=https://127.0.0.1:2379',
    ],
    ['/etc/kubernetes/pki', '/etc/ssl/certs', '/etc/kubernetes/audit'],
  ),
  '/etc/kubernetes/manifests/kube-controller-manager.yaml': pod('kube-controller-manager', [
    '--cluster-name=prod',
    '--cluster-cidr=10.244.0.0/16',
  ]),
  '/etc/kubernetes/manifests/etcd.yaml': pod('etcd', []),
  '/etc/kubernetes/manifests/kube-vip.yaml': pod('kube-vip', ['--password=secret-7Jw']),
  '/etc/kubernetes/pki/ca.key': 'key-secret-7Jw',
  '/etc/kubernetes/pki/sa.pub': pem('sa.pub'),
  '/etc/kubernetes/pki/sa.key': 'key-secret-7Jw',
  '/etc/kubernetes/pki/etcd/ca.crt': pem('etcd/ca.crt'),
  '/etc/kubernetes/pki/etcd/ca.key': 'key-secret-7Jw',
  '/etc/kubernetes/pki/front-proxy-ca.crt': pem('front-proxy-ca.crt'),
  '/etc/kubernetes/pki/front-proxy-ca.key': 'key-secret-7Jw',
};

function write(root: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), content, { mode: path.includes('/manifests/') ? 0o600 : 0o644 });
  }
}

/** Writes the files to a directory, converts it, and checks that no secret comes out and nothing in it changes. */
export async function converted(
  files: Files,
  options: ConvertOptions = {},
  beside: readonly object[] = [],
  odd?: (root: string) => void,
) {
  using directory = mkdtempDisposableSync(join(tmpdir(), 'machineadm-node-'));
  const root = directory.path;
  write(root, files);
  odd?.(root);
  const before = snapshot(root);
  const node = readNodeFiles(root);
  assert.deepEqual(snapshot(root), before);
  const texts = beside.map((object, index) => ({ name: `beside-${index}`, text: stringify(object) }));
  const { documents, decisions } = await convert(texts, { node: { ...node, root: 'node' }, ...options });
  const all = documents.map(({ yaml }) => yaml).join() + JSON.stringify(decisions);
  assert.ok(!all.includes('secret-7Jw') && !all.includes('a2V5LXNlY3JldC03Snc'), 'a secret of the node came out');
  return {
    document: documents[0] === undefined ? undefined : parse(documents[0].yaml),
    count: documents.length,
    decisions: decisions.map(({ code, at, message }) => `${code} ${at}: ${message}`),
    errors: decisions.filter(({ severity }) => severity === 'error').map(({ code }) => code),
  };
}

function snapshot(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => `${name} ${lstatSync(join(root, name)).mtimeMs}`);
}
