import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type ConvertOptions, convert } from '@machineadm/convert/index.ts';
import { parse } from 'yaml';

/**
 * What people have, one file of each shape, written for this test. Of each: the errors and decisions, and what the
 * documents say.
 */
interface Shape {
  readonly text: string;
  /** Codes that stop a conversion until somebody corrects or accepts them, without repetition. */
  readonly asks?: readonly string[];
  /** Of each document, a value at a path. */
  readonly says?: Readonly<Record<string, readonly unknown[]>>;
  readonly options?: ConvertOptions;
  /** Codes of notes and warnings that must be there. */
  readonly tells?: readonly string[];
}

const TOKEN = 'abcdef.0123456789abcdef';
const HASH = `sha256:${'c3'.repeat(32)}`;
const DISCOVERY = `discovery: {bootstrapToken: {token: ${TOKEN}, apiServerEndpoint: "api.example:6443", caCertHashes: ["${HASH}"]}}`;
const config = (spec: string, metadata = 'name: a, namespace: n', version = 'v1beta1'): string =>
  `apiVersion: bootstrap.cluster.x-k8s.io/${version}
kind: KubeadmConfig
metadata: {${metadata}}
spec:
  joinConfiguration: {${DISCOVERY}}
${spec.replace(/^/gm, '  ')}
`;
const json = (text: string): string => JSON.stringify(parse(text));
const cloud = (body: string): string => `#cloud-config\n${body}`;
const JOIN = `kubeadm join api.example:6443 --token ${TOKEN} --discovery-token-ca-cert-hash ${HASH}`;
const mime = (...parts: readonly (readonly [type: string, body: string, encoding?: 'base64'])[]): string =>
  `Content-Type: multipart/mixed; boundary="=b="\nMIME-Version: 1.0\n\n${parts
    .map(
      ([type, body, encoding]) =>
        `--=b=\nContent-Type: ${type}\nContent-Transfer-Encoding: ${encoding ?? '7bit'}\n\n${encoding === undefined ? body : btoa(body)}\n`,
    )
    .join('')}--=b=--\n`;
const cluster = (namespace: string, host: string, pods: string): string => `---
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: main, namespace: ${namespace}}
spec: {controlPlaneEndpoint: {host: ${host}, port: 6443}, clusterNetwork: {pods: {cidrBlocks: [${pods}]}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: main, namespace: ${namespace}, labels: {cluster.x-k8s.io/cluster-name: main}}
spec: {version: v1.34.2, kubeadmConfigSpec: {initConfiguration: {}, joinConfiguration: {}}}
`;
const deployment = (name: string, version: string): string => `---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: ${name}, namespace: n}
spec:
  clusterName: main
  template: {spec: {clusterName: main, version: ${version}, bootstrap: {configRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta1, kind: KubeadmConfigTemplate, name: t, namespace: n}}}}
`;
const TEMPLATE = `---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {name: t, namespace: n}
spec: {template: {spec: {joinConfiguration: {nodeRegistration: {}}}}}
`;
const unit = (name: string, contents: string): string =>
  `{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"name":"${name}","enabled":true,"contents":${JSON.stringify(contents)}}]}}`;
const ENDPOINT = 'kubernetes.join.discovery.token.endpoint';
const ROLE = 'kubernetes.role';
const NODE = { [ENDPOINT]: ['api.example:6443'] };

const SHAPES: Readonly<Record<string, Shape>> = {
  'one object': { text: config(''), says: { ...NODE, [ROLE]: ['Worker'] } },
  'one object of v1beta2': { text: config('', 'name: a', 'v1beta2'), says: NODE },
  'JSON of kubectl': { text: json(config('')), says: NODE },
  'JSON objects one after the other': {
    text: `${json(config('', 'name: a'))}\n${json(config('', 'name: b'))}`,
    says: { 'metadata.name': ['a', 'b'] },
  },
  'a List': {
    text: JSON.stringify({
      apiVersion: 'v1',
      kind: 'List',
      items: [parse(config('')), { apiVersion: 'v1', kind: 'Pod' }],
    }),
    says: NODE,
  },
  'a KubeadmConfigList whose items have no kind': {
    text: JSON.stringify({
      apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta1',
      kind: 'KubeadmConfigList',
      items: [{ metadata: { name: 'a' }, spec: parse(config('')).spec }],
    }),
    says: NODE,
  },
  'a trailing separator and a document of comments': { text: `# a\n---\n${config('')}---\n# end\n---\n`, says: NODE },
  'words of YAML 1.1 and a merge key': {
    text: config(
      'ntp: {enabled: yes}\nfiles:\n  - &f {path: /etc/a, content: x, owner: "root:root"}\n  - {<<: *f, path: /etc/b}',
    ),
    says: { 'host.time.ntp.enabled': [undefined], 'host.files.1.content': ['x\n'] },
  },
  'a Secret of SOPS beside it': {
    text: `${config('')}---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: "ENC[AES256_GCM,data:x]"}\nsops: {version: 3.9.0}\n`,
    says: NODE,
    tells: ['ObjectIgnored'],
  },
  'two clusters of one name': {
    text: cluster('red', 'red.example', '10.1.0.0/16') + cluster('blue', 'blue.example', '10.2.0.0/16'),
    options: { role: 'InitControlPlane' },
    says: {
      'kubernetes.cluster.controlPlaneEndpoint': ['red.example:6443', 'blue.example:6443'],
      'kubernetes.cluster.podSubnets.0': ['10.1.0.0/16', '10.2.0.0/16'],
    },
  },
  'a template of two deployments': {
    text:
      cluster('n', 'n.example', '10.1.0.0/16') + TEMPLATE + deployment('old', 'v1.33.1') + deployment('new', 'v1.34.2'),
    asks: ['ControllerValueMissing'],
    options: { role: 'Worker' },
    says: { 'kubernetes.version': ['v1.33.1', 'v1.34.2'], 'metadata.name': ['old', 'new'] },
  },
  'a name that leaves the directory': { text: config('', 'name: ../../etc/x'), asks: ['InputInvalid'], says: {} },
  'variables of clusterctl': {
    text: config('preKubeadmCommands: [echo]', "name: '${CLUSTER}-md-0'"),
    asks: ['TemplateUnrendered'],
    says: NODE,
  },
  'a file with contentFormat Raw': {
    text: config('files: [{path: /a, content: x, contentFormat: Raw}]'),
    says: { 'host.files.0.content': ['x\n'] },
  },
  'a file for its owner in base64': {
    text: config(`files: [{path: /etc/k, content: ${btoa('hunter2')}, encoding: base64, permissions: "0600"}]`),
    says: { 'secrets.k.value': ['hunter2'] },
    tells: ['SecretInDocument'],
  },
  'a script with leading blanks': {
    text: config('files: [{path: /a.sh, content: "  #!/bin/sh\\n  true\\n"}]'),
    says: { 'host.files.0.content': ['#!/bin/sh\ntrue\n'] },
    tells: ['IndentationRemoved'],
  },
  'several entries for one file': {
    text: config('files: [{path: /etc/hosts, append: true, content: a}, {path: /etc/hosts, append: true, content: b}]'),
    says: { 'host.files.length': [1] },
  },
  'a user with a dot and a capital letter': {
    text: config('users: [{name: jane.Doe, sshAuthorizedKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEFiYw==]}]'),
    says: { 'host.users.0.name': ['jane.Doe'] },
  },
  'the first label of a host name in jinja': {
    text: config('', 'name: a').replace(
      'joinConfiguration: {',
      `joinConfiguration: {nodeRegistration: {name: "{{ ds.meta_data.local_hostname.split('.')[0] }}"}, `,
    ),
    says: NODE,
  },
  'a template expression that nothing can say': {
    text: config('preKubeadmCommands: ["echo {% for x in y %}"]'),
    asks: ['JinjaUnsupported'],
    says: {},
  },
  'a machine with CRI-O and no socket': {
    text: config('preKubeadmCommands: [systemctl start crio]'),
    says: { 'kubernetes.node.criSocket': [undefined] },
  },
  'a socket without a scheme': {
    text: config('', 'name: a').replace(
      'joinConfiguration: {',
      'joinConfiguration: {nodeRegistration: {criSocket: /run/crio/crio.sock}, ',
    ),
    says: { 'kubernetes.node.criSocket': ['unix:///run/crio/crio.sock'] },
  },
  'a command that reads the files of the provider': {
    text: config('postKubeadmCommands: [cat /var/lib/cloud/instance/user-data.txt]'),
    says: NODE,
    tells: ['ProviderFileNamed'],
  },
  'a bind mount': {
    text: config('mounts: [[/data/containerd, /var/lib/containerd, none, bind]]'),
    says: { 'host.storage.mounts.0.type': ['bind'], 'host.storage.mounts.0.source': ['/data/containerd'] },
  },
  'a cloud-config with kubeadm and flags': { text: cloud(`runcmd: [${JSON.stringify(JOIN)}]`), says: NODE },
  'a cloud-config with a list of words': { text: cloud(`runcmd: [${JSON.stringify(JOIN.split(' '))}]`), says: NODE },
  'a cloud-config with a host name': {
    text: cloud(`hostname: n7\nruncmd: [${JSON.stringify(JOIN)}]`),
    says: { 'host.hostname': ['n7'] },
  },
  'a loop around kubeadm': {
    text: cloud(`runcmd: ["until ${JOIN}; do sleep 5; done"]`),
    asks: ['KubeadmInCommand'],
    says: { [ROLE]: [undefined] },
    tells: ['SecretInDocument'],
  },
  'kubeadm in base64': {
    text: cloud(`runcmd: ["echo ${btoa(JOIN)} | base64 -d | sh"]`),
    asks: ['KubeadmHidden'],
    says: {},
  },
  'kubeadm by a variable': {
    text: cloud(`runcmd: [K=kubeadm, "$K join --config /x; true"]`),
    asks: ['KubeadmHidden'],
    says: {},
  },
  'kubeadm in a bootcmd': { text: cloud(`bootcmd: [${JSON.stringify(JOIN)}]`), asks: ['KubeadmHidden'], says: {} },
  'a cloud-config of a host': {
    text: cloud('runcmd: [apt-get install -y kubeadm]'),
    asks: ['UserDataWithoutKubeadm'],
    says: { kubernetes: [undefined] },
  },
  'a cloud-config without its first line': {
    text: `runcmd: [${JSON.stringify(JOIN)}]\n`,
    asks: ['ToolFirst'],
    says: {},
  },
  'MIME parts': {
    text: mime(
      ['text/cloud-config', cloud(`runcmd: [${JSON.stringify(JOIN)}]`)],
      ['text/x-shellscript', '#!/bin/sh\ntrue\n'],
    ),
    says: NODE,
  },
  'a MIME part in base64': {
    text: mime(['text/cloud-config', cloud(`runcmd: [${JSON.stringify(JOIN)}]`), 'base64']),
    says: NODE,
  },
  'a bootstrap data Secret': {
    text: `apiVersion: v1\nkind: Secret\ntype: cluster.x-k8s.io/secret\nmetadata: {name: a, namespace: n}\ndata: {format: ${btoa('cloud-config')}, value: ${btoa(cloud(`runcmd: [${JSON.stringify(JOIN)}]`))}}\n`,
    says: NODE,
  },
  'a bootstrap data Secret that is compressed': {
    text: `apiVersion: v1\nkind: Secret\ntype: cluster.x-k8s.io/secret\nmetadata: {name: a, namespace: n}\ndata: {value: ${gzipSync(cloud(`runcmd: [${JSON.stringify(JOIN)}]`)).toString('base64')}}\n`,
    says: NODE,
  },
  'kubeadm v1beta3': {
    text: `apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\n${DISCOVERY}\nnodeRegistration: {kubeletExtraArgs: {node-labels: a=b}}\n`,
    says: { ...NODE, [ROLE]: ['Worker'] },
  },
  'kubeadm v1beta4 with the kubelet beside it': {
    text: `apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n${DISCOVERY}\n---\napiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 50\n`,
    says: NODE,
  },
  'kubeadm init': {
    text: 'apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.34.2\nnetworking: {podSubnet: 10.1.0.0/16}\n---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nnodeRegistration: {name: cp}\n',
    says: { [ROLE]: ['InitControlPlane'], 'kubernetes.cluster.podSubnets.0': ['10.1.0.0/16'] },
  },
  'Ignition 3 of a host': {
    text: unit('a.service', '[Service]\nExecStart=/bin/true\n'),
    asks: ['UserDataWithoutKubeadm'],
    says: { kubernetes: [undefined] },
  },
  'Ignition 3 with kubeadm in a unit': {
    text: unit('join.service', `[Service]\nExecStart=/usr/bin/${JOIN}\n`),
    asks: ['KubeadmHidden'],
    says: {},
  },
  'Ignition that names another config': {
    text: '{"ignition":{"version":"3.4.0","config":{"replace":{"source":"https://example.com/c.ign"}}}}',
    asks: ['ToolFirst', 'UserDataWithoutKubeadm'],
    says: {},
  },
  Butane: { text: 'variant: flatcar\nversion: 1.1.0\nsystemd: {units: []}\n', asks: ['ToolFirst'], says: {} },
  EKS: {
    text: 'apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {cluster: {name: a}}\n',
    asks: ['NotKubeadm'],
    says: {},
  },
  kops: {
    text: 'apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: nodes}\nspec: {role: Node}\n',
    asks: ['NotKubeadm'],
    says: {},
  },
  Talos: {
    text: 'version: v1alpha1\nmachine: {type: worker}\ncluster: {controlPlane: {endpoint: "https://a:6443"}}\n',
    asks: ['NotKubeadm'],
    says: {},
  },
  RKE2: {
    text: 'server: https://10.0.0.1:9345\ntoken: K10secret::server:abc\nnode-label: [a=b]\n',
    asks: ['NotKubeadm'],
    says: {},
  },
};

describe('a file of every shape that people have', () => {
  assert.ok(Object.keys(SHAPES).length >= 45);
  for (const [what, { text, asks = [], says = {}, tells = [], options = {} }] of Object.entries(SHAPES)) {
    test(what, async () => {
      const { documents, decisions } = await convert([{ name: 'input.yaml', text }], {
        kubernetesVersion: 'v1.34.2',
        ...options,
      });
      const open = decisions.filter(({ severity }) => severity === 'error' || severity === 'decision');
      assert.deepEqual([...new Set(open.map(({ code }) => code))], asks, JSON.stringify(open, null, 1));
      const parsed = documents.map(({ yaml }): unknown => parse(yaml));
      if (Object.keys(says).length === 0) assert.deepEqual(parsed, []);
      for (const [path, values] of Object.entries(says)) {
        assert.deepEqual(
          parsed.map((document) => at(document, path.split('.'))),
          values,
          path,
        );
      }
      const codes = new Set<string>(decisions.map(({ code }) => code));
      for (const code of tells) assert.ok(codes.has(code), [...codes].join());
      assert.ok(!JSON.stringify(decisions).includes('0123456789abcdef'));
    });
  }
});

function at(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  return typeof value === 'object' && value !== null ? at(Reflect.get(value, key), rest) : undefined;
}
