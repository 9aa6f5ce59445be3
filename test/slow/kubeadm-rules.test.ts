import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { componentGates } from '@machineadm/document/kubernetes-releases/component-gates.ts';
import { includes } from '@machineadm/document/kubernetes-releases/minor.ts';
import { refusedByKubelet } from '@machineadm/document/kubernetes-releases/node-labels.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { stringify } from 'yaml';
import { LAB_DIRECTORY } from '../../scripts/lab/artefacts.ts';
import { load } from '../support/document.ts';
import { needs } from '../support/needs.ts';
import fc from '../support/property.ts';

/** What `validate` refuses, and what a real kubeadm and kubelet 1.20 refuse, are the same. Needs `npm run lab -- build`. */

const binary = (name: string): string | undefined =>
  globSync(join(LAB_DIRECTORY, 'kubernetes-*/bin', name)).find((path) => !path.includes('.partial'));
const [kubeadm, kubelet] = [binary('kubeadm'), binary('kubelet')];
const skip = needs('the Kubernetes of the lab (npm run lab -- build)');

function outputOf(
  program: string,
  args: readonly string[],
): Promise<{ readonly ended: boolean; readonly text: string }> {
  return new Promise((resolve) => {
    // Without a network of its own it could look for nothing elsewhere.
    execFile('unshare', ['--net', program, ...args], { timeout: 20_000 }, (error, stdout, stderr) =>
      resolve({ ended: error === null, text: stdout + stderr }),
    );
  });
}

interface Wish {
  readonly podSubnets: readonly string[];
  readonly serviceSubnets: readonly string[];
  readonly endpoint: string;
  readonly certSANs: readonly string[];
  readonly peerCertSANs: readonly string[];
  readonly groups: readonly string[];
  readonly ignore: readonly string[];
  readonly gates: Readonly<Record<string, boolean>>;
}

function documentOf(wish: Wish): string {
  const { endpoint, certSANs, peerCertSANs, groups, ignore, gates, ...subnets } = wish;
  return stringify({
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name: 'n1' },
    kubernetes: {
      version: 'v1.20.2',
      role: 'InitControlPlane',
      cluster: {
        ...subnets,
        controlPlaneEndpoint: endpoint,
        featureGates: { IPv6DualStack: true, ...gates },
        bootstrapTokens: [{ token: 'abcdef.0123456789abcdef', groups }],
      },
      controlPlane: {
        apiEndpoint: { advertiseAddress: '10.0.0.1' },
        apiServer: { certSANs },
        etcd: { local: { peerCertSANs } },
      },
      bootstrapper: { kubeadm: { ignorePreflightErrors: ignore } },
      node: { name: 'n1' },
    },
  });
}

/** The same for kubeadm, rendered as if nothing had been judged. */
function configurationOf(wish: Wish): string {
  const version = parseVersion('v1.20.2');
  assert.ok(version);
  const cluster = {
    apiVersion: 'kubeadm.k8s.io/v1beta2',
    kind: 'ClusterConfiguration',
    kubernetesVersion: 'v1.20.2',
    controlPlaneEndpoint: wish.endpoint,
    networking: { podSubnet: wish.podSubnets.join(','), serviceSubnet: wish.serviceSubnets.join(',') },
    apiServer: { certSANs: wish.certSANs },
    etcd: { local: { peerCertSANs: wish.peerCertSANs } },
    featureGates: { IPv6DualStack: true, ...wish.gates },
  };
  const init = {
    apiVersion: 'kubeadm.k8s.io/v1beta2',
    kind: 'InitConfiguration',
    bootstrapTokens: [{ token: 'abcdef.0123456789abcdef', groups: wish.groups }],
    localAPIEndpoint: { advertiseAddress: '10.0.0.1' },
    nodeRegistration: { name: 'n1', criSocket: '/run/containerd/containerd.sock' },
  };
  return [cluster, init].map((document) => `---\n${stringify(document)}`).join('');
}

const prefix = (longest: number) => fc.integer({ min: 0, max: longest + 2 });
const subnet = fc.oneof(
  fc.tuple(fc.constantFrom('10.0.0.0', '10.96.0.0', '192.168.300.0'), prefix(32)),
  fc.tuple(fc.constantFrom('fd00::', '2001:db8:1::', 'fd00:::'), prefix(128)),
  fc.tuple(fc.constantFrom('10.244.0.0', '172.16.0.0'), fc.constantFrom(12, 16, 24)),
  fc.tuple(fc.constantFrom('fd00:1::', 'fd00:2::'), fc.constantFrom(48, 56, 64, 108, 112)),
);
const subnets = fc
  .array(subnet, { maxLength: 3 })
  .map((list) => list.map(([address, length]) => `${address}/${length}`));
const names = fc.array(
  fc.constantFrom(
    'a',
    'A.example',
    'a.example',
    '*.example',
    '10.0.0.1',
    '::1',
    'fd00::1',
    'a b',
    'a_b',
    'a.*.b',
    '*',
    '-a',
    'a.',
    '999.1.1.1',
    'a:6443',
    'https://a',
    '1::2::3',
  ),
  { maxLength: 2 },
);
const usually = <T>(value: T, arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, { weight: 1, arbitrary });
const wish: fc.Arbitrary<Wish> = fc.record({
  podSubnets: usually(['10.244.0.0/16'], subnets),
  serviceSubnets: usually(['10.96.0.0/12'], subnets),
  endpoint: usually(
    'a.example:6443',
    fc.constantFrom('A:1', 'a:0', '[fd00::1]:6443', '[1:2]:1', '10.0.0.1:1', 'a..b:1', '999.0.0.0:1', 'a-:1'),
  ),
  certSANs: usually([], names),
  peerCertSANs: usually([], names),
  groups: usually(
    ['system:bootstrappers:kubeadm:default-node-token'],
    fc.array(fc.constantFrom('system:bootstrappers:a', 'system:bootstrappers:a-', 'system:bootstrappers:a:b'), {
      minLength: 1,
      maxLength: 2,
    }),
  ),
  ignore: fc.constant([]),
  gates: usually({}, fc.dictionary(fc.constantFrom('PublicKeysECDSA', 'EtcdLearnerMode', 'NoSuchGate'), fc.boolean())),
});

describe('kubeadm 1.20', { skip }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'kubeadm-rules-'));
  test.after(() => rmSync(directory, { recursive: true }));

  test('accepts what validate accepts, and refuses what validate refuses', { timeout: 300_000 }, async () => {
    const file = join(directory, 'kubeadm.yaml');
    let [taken, refused] = [0, 0];
    await fc.assert(
      fc.asyncProperty(wish, async (asked) => {
        const result = await load(documentOf(asked));
        writeFileSync(file, configurationOf(asked));
        const { ended, text } = await outputOf(kubeadm ?? '', ['config', 'images', 'list', '--config', file]);
        const problems = result.ok ? '' : result.problems.map(({ path, message }) => `${path}: ${message}`).join('\n');
        // kubeadm accepts what these say, and the cluster does not work.
        fc.pre(!/shares addresses with|no service would reach a pod/.test(problems));
        // A part that the schema already refuses is not put to kubeadm in the same words.
        assert.equal(result.ok, ended, `${text}\n${problems}`);
        if (ended) taken++;
        else refused++;
      }),
      { numRuns: Number(process.env.KUBEADM_RUNS ?? 60) },
    );
    assert.ok(taken > 5 && refused > 5, `${taken} taken, ${refused} refused`);
  });

  test('accepts the rendered configuration of every document that validate accepts', { timeout: 300_000 }, async () => {
    const file = join(directory, 'rendered.yaml');
    const version = parseVersion('v1.20.2');
    assert.ok(version);
    await fc.assert(
      fc.asyncProperty(wish, async (asked) => {
        const result = await load(documentOf(asked));
        fc.pre(result.ok);
        const { kubernetes } = result.ok ? result.document.model : {};
        assert.ok(kubernetes);
        const { text } = renderKubeadm({ kubernetes, kubeadm: version, secrets: () => 'abcdef.0123456789abcdef' });
        writeFileSync(file, text);
        const output = await outputOf(kubeadm ?? '', ['config', 'images', 'list', '--config', file]);
        assert.ok(output.ended, output.text);
      }),
      { numRuns: 10 },
    );
  });
});

describe('the kubelet 1.20', { skip }, () => {
  /** Ends before it does anything: at the flags, or at a configuration that is not there. */
  const refuses = async (flag: string, because: string): Promise<boolean> => {
    const { text } = await outputOf(kubelet ?? '', [flag, '--config=/nonexistent']);
    assert.match(text, /nonexistent|unrecognized feature gate|unknown 'kubernetes.io'/);
    return text.includes(because);
  };

  test('refuses the labels that validate refuses', { timeout: 120_000 }, async () => {
    for (const key of [
      'node-role.kubernetes.io/worker',
      'kubernetes.io/hostname',
      'kubernetes.io/x',
      'topology.kubernetes.io/zone',
      'topology.kubernetes.io/x',
      'node.kubernetes.io/x',
      'a.node.kubernetes.io/x',
      'kubelet.kubernetes.io/x',
      'node-restriction.kubernetes.io/x',
      'x.k8s.io/y',
      'xk8s.io/y',
      'example.org/x',
    ]) {
      assert.equal(await refuses(`--node-labels=${key}=a`, 'labels specified'), refusedByKubelet(key), key);
    }
  });

  test('knows every gate that the table gives to 1.20, but those whose beginning is not known', {
    timeout: 300_000,
  }, async () => {
    const gates = [...componentGates()].filter(([, { since = 0 }]) => since <= 22);
    for (const [name, gate] of gates.filter((_, index) => index % 7 === 0)) {
      const isRefused = await refuses(`--feature-gates=${name}=true`, 'unrecognized feature gate');
      assert.equal(isRefused, !includes(gate, 20), name);
    }
  });
});
