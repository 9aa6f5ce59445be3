import { readFileSync } from 'node:fs';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { editManifest, readManifest as readHardened } from '@machineadm/hardening/manifest.ts';
import { requireReadable } from '@machineadm/kubeadm/api-server/encryption-change.ts';
import { asAnotherPod, isSamePod, readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import { auditControls } from '../../../src/features/hardening/audit.ts';
import { skippedPhases } from '../../../src/kubernetes/kubeadm/configured.ts';
import { nodeOf } from '../../../test/support/hardened-machine.ts';
import { yaml } from '../mutators/yaml.ts';
import { CANARIES, type FuzzTarget } from '../target.ts';

const [, , KEY] = CANARIES;
const FIXTURES = new URL('../../../test/fixtures/hardening/kubeadm-1.20/', import.meta.url);
const MANIFEST = readFileSync(new URL('kube-apiserver.yaml', FIXTURES), 'utf8');

/** A manifest, the files that its flags name, and the configuration of the kubelet. */
const PARTS = [
  MANIFEST.replace(
    '    - kube-apiserver\n',
    '    - kube-apiserver\n    - --encryption-provider-config=/etc/kubernetes/pki/e.yaml\n    - --audit-policy-file=/etc/kubernetes/pki/a.yaml\n',
  ),
  `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets, configmaps]
    providers: [{secretbox: {keys: [{name: k, secret: "${KEY}"}]}}, {identity: {}}]
`,
  `apiVersion: audit.k8s.io/v1
kind: Policy
rules: [{level: Metadata, resources: [{group: "", resources: [secrets]}]}, {level: None, users: [u]}]
`,
  readFileSync(new URL('kubelet-config.yaml', FIXTURES), 'utf8'),
];

export const controlPlane: FuzzTarget = {
  name: 'control-plane',
  reads:
    'Manifests of static pods, configurations of API server and kubelet, as `audit` and a reconfiguration read them',
  seeds: [PARTS.join('---\n')],
  tokens: ['\n', ': ', '- ', '"', '{', '}', '[', ']', 'null', '&a ', '*a', '--', '=', '---\n', '? ', '!!binary '],
  grammar: [yaml],
  run: async (input) => {
    const [manifest = '', encryption = '', policy = '', ...kubelet] = input.split(/^---\n/m);
    const host = await nodeOf('control-plane', {
      '/etc/kubernetes/manifests/kube-apiserver.yaml': { content: PARTS[0] ?? '', mode: 0o600 },
      '/etc/kubernetes/pki/e.yaml': { content: encryption, mode: 0o600 },
      '/etc/kubernetes/pki/a.yaml': { content: policy, mode: 0o600 },
      '/var/lib/kubelet/config.yaml': { content: kubelet.join('---\n'), mode: 0o600 },
    });
    host.put('/etc/kubernetes/manifests/kube-apiserver.yaml', { content: manifest, mode: 0o600 });
    const words: string[] = [];
    const { controls } = await auditControls(host, { profiles: ['cis-level-2', 'stig'] }, undefined, 28);
    for (const { id, state, evidence } of controls)
      words.push(`${id} ${state} ${evidence.map(({ text }) => text).join(' ')}`);
    const read = await readManifest(manifest);
    words.push(`${read?.command.length} ${(await skippedPhases([], input)).length}`);
    if (read !== undefined)
      words.push(`${(await asAnotherPod(manifest, new Date(0))).length} ${await isSamePod(manifest, MANIFEST)}`);
    for (const work of [
      () => readHardened(manifest),
      () => editManifest(manifest, [{ kind: 'set', name: 'profiling', value: 'false' }]),
      () => requireReadable(encryption, PARTS[1]),
    ]) {
      try {
        await work();
      } catch (error) {
        // These functions document a SyntaxError for text that is not a manifest. Callers do not print its message.
        if (error instanceof MachineadmError) words.push(error.message, error.remedy);
        else if (!(error instanceof SyntaxError)) throw error;
      }
    }
    return words.join('\n');
  },
};
