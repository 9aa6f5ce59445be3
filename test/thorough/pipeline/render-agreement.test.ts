import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NEWEST_KNOWN_MINOR, OLDEST_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { completeModel } from '../../../src/pipeline/load.ts';

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n';

/** Parts of a document by section, many of which only some versions of kubeadm can express. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  node: [
    'imagePullPolicy: Never',
    'imagePullSerial: false',
    'labels: {rack: a}',
    'providerID: "x://1"',
    'taints: []',
    'kubelet: {args: [{name: v, value: "2"}, {name: v, value: "3"}]}',
    'kubelet: {args: [{name: provider-id, value: "x://2"}]}',
    'kubelet: {args: [{name: node-labels, value: "rack=b"}]}',
    'kubelet: {config: {maxPods: 50}}',
  ],
  timeouts: ['kubelet: 1m', 'api: 1m', 'etcd: 1m', 'tlsBootstrap: 1m', 'discovery: 1m', 'controlPlane: 2m'],
  cluster: [
    'encryptionAlgorithm: ECDSA-P256',
    'encryptionAlgorithm: RSA-3072',
    'certificateValidity: 8760h',
    'caCertificateValidity: 87600h',
    'featureGates: {EtcdLearnerMode: true}',
    'featureGates: {PublicKeysECDSA: true}',
    'featureGates: {RootlessControlPlane: true}',
    'podSubnets: [10.244.0.0/16]',
  ],
  controlPlane: [
    'apiServer: {args: [{name: v, value: "2"}, {name: v, value: "3"}]}',
    'apiServer: {env: [{name: A, value: b}]}',
    'scheduler: {env: [{name: A, value: b}]}',
    'etcd: {local: {env: [{name: A, value: b}]}}',
    'etcd: {external: {endpoints: ["http://10.0.0.1:2379"]}}',
  ],
  bootstrapper: [
    'kubeadm: {skipPhases: [addon/kube-proxy]}',
    'kubeadm: {skipPhases: [certs/all]}',
    'kubeadm: {patches: [{target: kubeletconfiguration, patch: "{maxPods: 3}"}]}',
    'kubeadm: {patches: [{target: corednsdeployment, patch: "{}"}]}',
  ],
  addons: ['proxy: {enabled: false}', 'dns: {enabled: false}'],
};

/** A small generator of numbers (Numerical Recipes), so that a failure can be repeated. */
function* numbers(seed: number): Generator<number, never> {
  let state = seed >>> 0;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

function documentFor(version: string, next: () => number): string {
  const sections = Object.entries(PARTS).flatMap(([name, parts]) => {
    if (next() < 0.5) return [];
    const first = parts[Math.floor(next() * parts.length)] ?? '';
    const second = parts[Math.floor(next() * parts.length)] ?? '';
    const isOther = first.split(':')[0] !== second.split(':')[0];
    return [`${name}: {${isOther && next() < 0.4 ? `${first}, ${second}` : first}}`];
  });
  const init = next() < 0.7;
  const join =
    'join: {discovery: {token: {token: abcdef.0123456789abcdef, endpoint: "10.0.0.9:6443", unsafeSkipCAVerification: true}}}';
  const kept = init ? sections : [...sections.filter((one) => !/^(?:cluster|controlPlane|addons)/.test(one)), join];
  return `kubernetes: {${[`version: ${version}`, `role: ${init ? 'InitControlPlane' : 'Worker'}`, ...kept].join(', ')}}\n`;
}

test('a document that validates renders for the version that it names, and one that does not render is refused by validate', async () => {
  const seed = 20261128;
  const random = numbers(seed);
  const next = () => random.next().value;
  const seen = { valid: 0, inexpressible: 0 };
  for (let minor = OLDEST_MINOR; minor <= NEWEST_KNOWN_MINOR; minor++) {
    for (let count = 0; count < 20; count++) {
      const version = `v1.${minor}.${Math.floor(next() * 4)}`;
      const text = HEADER + documentFor(version, next);
      const sources = [{ name: 'doc.yaml', bytes: new TextEncoder().encode(text) }];
      const plain = await loadDocument(sources, { agentVersion: '0.1.0' });
      if (!plain.ok) continue; // Refused for its own sake, with or without rendering.
      const { kubernetes, containerd } = plain.document.model;
      const kubeadm = parseVersion(version);
      assert.ok(kubernetes !== undefined && kubeadm !== undefined);
      let expressible = true;
      try {
        renderKubeadm({ kubernetes, kubeadm, cgroupDriver: containerd?.cgroupDriver, secrets: () => 'x' });
      } catch {
        expressible = false;
      }
      const validated = await loadDocument(sources, { agentVersion: '0.1.0', complete: completeModel });
      assert.equal(validated.ok, expressible, `seed ${seed}: ${text}`);
      seen[expressible ? 'valid' : 'inexpressible']++;
      if (validated.ok) continue;
      for (const { path, place, code } of validated.problems) {
        assert.equal(code, 'UnsupportedVersion');
        assert.match(path, /^kubernetes\./);
        assert.ok(place.line === 4 && place.column > 1, 'with its place');
      }
    }
  }
  assert.ok(seen.valid > 25 && seen.inexpressible > 25, JSON.stringify(seen));
});
