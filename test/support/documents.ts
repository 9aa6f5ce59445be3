import { spawnSync } from 'node:child_process';
import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { BALANCER_CONFIGURATION, balancerConfiguration, SOURCES } from '../../scripts/quickstart/documents.ts';
import { archiveOf, imageOf, KUBELET_ON_CGROUP_V1, RELEASE } from './lab-release.ts';

/** Secret values that a test sows, to look for them afterwards wherever they must not be. */
export interface Seeds {
  /** `abcdef.0123456789abcdef` */
  readonly token: string;
  readonly certificateKey: string;
  /** Content of a file that the document writes. */
  readonly password: string;
  readonly caCertificate: string;
  readonly caKey: string;
  /** `sha256:<hex>` of the CA's public key, as a joining machine pins it. */
  readonly caHash: string;
}

const seeded: Seeds[] = [];

/** The secrets that the tests of this process have sown. */
export const seededSecrets = (): readonly Seeds[] => seeded;

/**
 * New secrets, and a cluster CA of our own so that its key is one of them.
 * @param chosen secrets that the test gives
 */
export function newSeeds(chosen: Partial<Seeds> = {}): Seeds {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-e2e-'));
  try {
    const key = join(directory, 'ca.key');
    const certificate = join(directory, 'ca.crt');
    const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '30', '-subj', '/CN=kubernetes'];
    const extensions = ['-addext', 'keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign'];
    const { status, stderr } = spawnSync('openssl', [...request, ...extensions, '-keyout', key, '-out', certificate], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`openssl: ${stderr}`);
    const pem = readFileSync(certificate, 'utf8');
    const publicKey = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
    const seeds: Seeds = {
      token: `${randomToken(6)}.${randomToken(16)}`,
      certificateKey: randomBytes(32).toString('hex'),
      // what JSON escapes, what a URL encodes, and what base64 pads
      password: `p4ss "${randomToken(12)}" & ünïcode/+`,
      caCertificate: pem,
      caKey: readFileSync(key, 'utf8'),
      caHash: `sha256:${createHash('sha256').update(publicKey).digest('hex')}`,
      ...chosen,
    };
    seeded.push(seeds);
    return seeds;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function randomToken(length: number): string {
  const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
  return Array.from(randomBytes(length), (byte) => alphabet[byte % alphabet.length]).join('');
}

/** A document as a tree, before it becomes text. */
export interface DocumentTree {
  readonly [key: string]: unknown;
}

export interface NodeSite {
  readonly name: string;
  readonly ip: string;
}

/** Where the hooks of these documents leave one line each time they run. */
export const HOOK_TRACE = '/var/lib/e2e-hooks';

/** The host's part: something of every host step. `label` is what changes a document without changing its sense. */
export function hostDocument({ name }: NodeSite, seeds: Seeds): DocumentTree {
  return {
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name, namespace: 'e2e', cluster: 'lab' },
    secrets: { password: { value: seeds.password } },
    host: {
      hostname: name,
      kernelModules: ['overlay', 'br_netfilter'],
      sysctl: { 'net.ipv4.ip_forward': 1, 'net.bridge.bridge-nf-call-iptables': 1 },
      swap: 'Disabled',
      files: [
        { path: '/etc/e2e/plain.conf', content: 'colour = blue\n', mode: '0640' },
        { path: '/etc/e2e/secret.conf', contentFrom: { secret: 'password' } },
      ],
      hooks: { early: { commands: [`echo early >> ${HOOK_TRACE}`] } },
    },
    containerRuntime: {
      containerd: { cgroupDriver: 'cgroupfs', sandboxImage: imageOf('pause'), restrictOomScoreAdj: true },
    },
    reporting: { sinks: [{ type: 'Journal' }, { type: 'Console', device: '/dev/console' }] },
  };
}

const CONTROL_PLANE_IMAGES = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd', 'coredns'];

/** A first control plane with a CA of ours, a token of ours and certificates to share. */
export function initDocument(site: NodeSite, seeds: Seeds): DocumentTree {
  return merge(kubernetesDocument(site, seeds, ['pause', 'kube-proxy', ...CONTROL_PLANE_IMAGES]), {
    secrets: { caKey: { value: seeds.caKey }, certificateKey: { value: seeds.certificateKey } },
    kubernetes: {
      role: 'InitControlPlane',
      cluster: {
        name: 'lab',
        controlPlaneEndpoint: `${site.ip}:6443`,
        podSubnets: ['10.244.0.0/16'],
        serviceSubnets: ['10.96.0.0/16'],
        bootstrapTokens: [{ token: seeds.token, ttl: '24h' }],
      },
      pki: { ca: { certificate: seeds.caCertificate, key: { secret: 'caKey' } } },
      controlPlane: {
        apiEndpoint: { advertiseAddress: site.ip, bindPort: 6443 },
        certificateKey: { secret: 'certificateKey' },
      },
      addons: { dns: { enabled: false }, proxy: { enabled: false } },
    },
  });
}

/** A worker that joins the control plane at `endpoint` (an address). */
export function workerDocument(site: NodeSite, seeds: Seeds, endpoint: string): DocumentTree {
  return merge(kubernetesDocument(site, seeds, ['pause']), joinSection('Worker', seeds, endpoint));
}

/** A second control plane: stacked etcd, certificates fetched with the certificate key. */
export function controlPlaneDocument(site: NodeSite, seeds: Seeds, endpoint: string): DocumentTree {
  const images = kubernetesDocument(site, seeds, ['pause', 'kube-proxy', ...CONTROL_PLANE_IMAGES]);
  return merge(merge(images, joinSection('JoinControlPlane', seeds, endpoint)), {
    secrets: { certificateKey: { value: seeds.certificateKey } },
    kubernetes: {
      controlPlane: {
        apiEndpoint: { advertiseAddress: site.ip, bindPort: 6443 },
        certificateKey: { secret: 'certificateKey' },
      },
    },
  });
}

function joinSection(role: string, seeds: Seeds, endpoint: string): DocumentTree {
  return {
    secrets: { joinToken: { value: seeds.token } },
    kubernetes: {
      role,
      join: {
        discovery: {
          token: { token: { secret: 'joinToken' }, endpoint: `${endpoint}:6443`, caCertHashes: [seeds.caHash] },
        },
      },
    },
  };
}

function kubernetesDocument(site: NodeSite, seeds: Seeds, images: readonly string[]): DocumentTree {
  return merge(hostDocument(site, seeds), {
    host: {
      hooks: {
        beforeBootstrap: { commands: [`echo beforeBootstrap >> ${HOOK_TRACE}`] },
        afterBootstrap: { commands: [`echo afterBootstrap >> ${HOOK_TRACE}`] },
      },
    },
    images: {
      archives: images.map((name) => ({ path: archiveOf(name) })),
      required: [imageOf('pause')],
    },
    kubernetes: {
      version: RELEASE.version,
      // the kernel of a nested machine has no configuration that kubeadm could read
      bootstrapper: { kubeadm: { ignorePreflightErrors: ['SystemVerification'] } },
      cluster: { imageRepository: RELEASE.repository },
      node: {
        name: site.name,
        labels: { 'e2e.machineadm.dev/site': 'lab' },
        kubelet: { config: KUBELET_ON_CGROUP_V1 },
      },
      timeouts: { overall: '8m' },
      ready: { require: 'NodeRegistered', timeout: '2m' },
    },
  });
}

/** haproxy of the quick start, in front of the API servers of these machines. */
export function balancerDocument({ name }: NodeSite, servers: readonly NodeSite[]): DocumentTree {
  const base: DocumentTree = parse(readFileSync(join(SOURCES, 'balancer.yaml'), 'utf8'));
  const { host } = base as { host: { files: readonly object[] } };
  const configuration = { path: BALANCER_CONFIGURATION, content: balancerConfiguration(servers) };
  return merge(base, { metadata: { name }, host: { files: [...host.files, configuration] } });
}

/**
 * Attempts within a run, in the place of three by default: a case that fails tells of each attempt by itself. With a
 * short pause, for the cases that are about the attempts.
 */
export function attempts(count: number): DocumentTree {
  return { kubernetes: { bootstrapper: { kubeadm: { retry: { attempts: count, backoff: '1s' } } } } };
}

/** `over` laid over `base`: objects key by key, anything else replaced; undefined removes a key. */
export function merge(base: DocumentTree, over: DocumentTree): DocumentTree {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    if (value === undefined) delete merged[key];
    else merged[key] = isTree(value) && isTree(below) ? merge(below, value) : value;
  }
  return merged;
}

/** The document as its users write it. */
export function toYaml(document: DocumentTree): string {
  return stringify(document, { lineWidth: 0 });
}

function isTree(value: unknown): value is DocumentTree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
