import { leaves } from '@machineadm/document/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { REDACTED } from '@machineadm/document/redaction/redactor.ts';
import { sensitiveTexts, withoutSensitiveTexts } from '@machineadm/document/redaction/sensitive.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { toPlain } from '@machineadm/document/trees/tree.ts';
import { VERBATIM_TAG } from '@machineadm/document/values/verbatim.ts';
import { exampleDocument } from '@machineadm/document/versions/example.ts';
import { hardenModel } from '@machineadm/hardening/harden-model.ts';
import { renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { CARRIERS, type CarrierName } from '@machineadm/user-data/carriers.ts';
import { wrapDocument } from '@machineadm/user-data/index.ts';
import { stringify } from 'yaml';
import { stepsFor } from '../../../src/pipeline/pipeline.ts';
import { facts } from '../../../test/support/facts.ts';
import { json } from '../mutators/json.ts';
import { yaml } from '../mutators/yaml.ts';
import { CANARIES, type FuzzTarget, refusal } from '../target.ts';

const [SECRET, TOKEN] = CANARIES;
const KEY = 'a'.repeat(64);

const EVERYTHING = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: n, namespace: ns, cluster: c, labels: {rack: "7"}}
secrets:
  a: {value: ${SECRET}}
  k: {value: "${KEY}"}
  t: {value: ${TOKEN}}
  e: {exec: {command: [/bin/x, y]}}
  h: {value: "$6$saltsalt$${SECRET}"}
host:
  hostname: n
  proxy: {http: "http://proxy.example:3128", no: [10.0.0.0/8], for: [agent, containerd, kubelet]}
  time: {servers: [ntp.example], synchronized: {timeout: 60s, within: 1s}}
  kernelModules: [overlay]
  sysctl: {net.ipv4.ip_forward: 1, vm.overcommit_memory: 1}
  swap: Disabled
  groups: [{name: g, gid: 998, system: true}]
  users: [{name: u, groups: [g], passwordHash: {secret: h}, sudo: ["ALL=(ALL) ALL"], sshAuthorizedKeys: [ssh-ed25519 AAAAC3Nza u]}]
  files:
    - {path: /etc/a, content: "a", mode: "0640", owner: "u:g"}
    - {path: /etc/b, contentFrom: {secret: a}}
  storage:
    disks: [{device: {path: /dev/sdb}, table: gpt, partitions: [{size: 1Gi, label: a}]}]
    filesystems: [{device: {path: /dev/sdb, partition: 1}, type: ext4, label: b}]
    mounts: [{device: {path: /dev/sdb, partition: 1}, path: /var/lib/b}]
  services: [{name: chrony, state: Started, enabled: true}]
  hooks:
    early: {commands: ["true"], environment: {A: b}}
    afterBootstrap: {commands: ["echo"], onError: Continue}
containerRuntime:
  containerd:
    cgroupDriver: systemd
    registries: [{host: r.example, mirrors: [{url: "https://m.example"}]}]
    settings: {oom_score: -999}
images: {required: [registry.k8s.io/pause:3.10]}
kubernetes:
  version: v1.35.2
  role: InitControlPlane
  cluster:
    name: c
    controlPlaneEndpoint: "api.example:6443"
    podSubnets: [10.244.0.0/16]
    serviceSubnets: [10.96.0.0/12]
    dnsDomain: cluster.local
    featureGates: {}
    bootstrapTokens: [{token: {secret: t}, ttl: 24h, usages: [signing, authentication]}]
  controlPlane:
    certificateKey: {secret: k}
    apiEndpoint: {advertiseAddress: 10.0.0.1, bindPort: 6443}
    apiServer: {certSANs: [api.example], args: [{name: v, value: "2"}]}
    controllerManager: {args: [{name: v, value: "3"}]}
    etcd: {local: {dataDirectory: /var/lib/etcd, args: [{name: quota-backend-bytes, value: "1"}]}}
  node: {name: n, labels: {a: b}, taints: [{key: k, effect: NoSchedule}], kubelet: {config: {maxPods: 110}}}
  addons: {proxy: {config: {mode: ipvs}}}
  timeouts: {controlPlane: 4m}
hardening: {profiles: [cis-level-1], exceptions: [{id: cis-1.2.1, reason: none}]}
reporting:
  deadline: 10s
  sinks:
    - {type: Journal}
    - {type: Webhook, name: w, url: "https://hooks.example/a", headers: {X-Token: {secret: a}}}
`;

const VERSIONS = ['v1.20.15', 'v1.23.17', 'v1.28.9', 'v1.31.4', 'v1.35.2'];
const FORMATS = Object.keys(CARRIERS) as CarrierName[];

/** Runs the code of every command on a valid document. None may end with an internal error. */
export const accepted: FuzzTarget = {
  name: 'accepted',
  reads: 'Valid documents: rendered for kubeadm 1.20 to 1.35, wrapped, printed, and planned by every step',
  seeds: [EVERYTHING, ...(['InitControlPlane', 'JoinControlPlane', 'Worker'] as const).map(exampleDocument)],
  tokens: ['\n', ': ', '- ', '"', '{', '}', '[', ']', 'null', '${a}', '  ', '0', 'true', "'", '|\n'],
  grammar: [yaml, json],
  isGrammatical: true,
  run: async (input) => {
    const result = await loadDocument([{ name: 'd.yaml', bytes: new TextEncoder().encode(input) }], {
      agentVersion: '0.1.0',
      complete: async (model) => (model.hardening === undefined ? { model, findings: [] } : await hardenModel(model)),
    });
    if (!result.ok) return `refused ${result.problems[0]?.message}`;
    const { model, tree } = result.document;
    const words: string[] = [];
    const document = toPlain(tree);
    const hidden = sensitiveTexts(document).length;
    words.push(`${hidden} ${leaves(tree).length}`);
    words.push(stringify(redactDeep(withoutSensitiveTexts(document, REDACTED)), { customTags: [VERBATIM_TAG] }));
    const { kubernetes } = model;
    for (const version of VERSIONS) {
      if (kubernetes !== undefined) words.push(await refusal(() => rendered(kubernetes, version)));
    }
    for (const format of FORMATS) words.push(await refusal(() => wrapDocument(input, result.document, { format })));
    for (const step of stepsFor('all', model.host.platform)) {
      for (const version of [undefined, parseVersion('v1.35.2')])
        words.push(await refusal(() => step.desired(model, facts({ kubeadm: version, kubelet: version }))));
    }
    return words.join('\n');
  },
};

function rendered(kubernetes: KubernetesModel, version: string) {
  const kubeadm = parseVersion(version);
  if (kubeadm === undefined) throw new RangeError(`${version} is no version`);
  const input = { kubernetes, kubeadm, secrets: () => '[redacted]' };
  const [one, other] = [renderKubeadm(input), renderKubeadm(input)];
  if (one.text !== other.text) throw new TypeError('rendering the same document twice gives different results');
  return one;
}
