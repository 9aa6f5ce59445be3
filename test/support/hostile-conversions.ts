const BOOTSTRAP = 'bootstrap.cluster.x-k8s.io/v1beta1';
const CORE = 'cluster.x-k8s.io/v1beta1';

/** Inputs of the converter that take a hostile author no effort, of a size. */
export const HOSTILE_INPUTS: Readonly<Record<string, (size: number) => string>> = {
  'line breaks in a command': (size) => command('\n'.repeat(50 * size)),
  'braces in a command': (size) => command('{'.repeat(50 * size)),
  'backticks in a command': (size) => command('`'.repeat(50 * size)),
  'openings of templates in a command': (size) => command('{{ '.repeat(20 * size)),
  'openings of substitutions in a command': (size) => command('$('.repeat(25 * size)),
  'here-documents in a command': (size) => command(`${'<<a '.repeat(50 * size)}\n${'a\n'.repeat(50 * size)}`),
  'calls of kubeadm in a command': (size) => command('kubeadm join '.repeat(5 * size)),
  'base64 in a command': (size) => command(`echo ${base64('kubeadm join '.repeat(10 * size))} | base64 -d | sh`),
  'many commands': (size) => objects(config({ preKubeadmCommands: many(size, (index) => `echo ${index}`) })),
  'many files': (size) => objects(config({ files: many(size, (index) => ({ path: `/f${index}`, content: 'x' })) })),
  'many secrets of one name in a document': (size) => objects(config({ files: many(size, privateFile) })),
  'many parts of one file': (size) =>
    objects(config({ files: many(size, (index) => ({ path: '/f', content: `${index}`, append: true })) })),
  'many users': (size) => objects(config({ users: many(size, (index) => ({ name: `u${index}` })) })),
  'a file of one word': (size) => objects(config({ files: [{ path: '/f', content: 'aB3'.repeat(20 * size) }] })),
  'many Secrets of one name': (size) =>
    objects(
      config({ files: many(size / 4, fileOfSecret) }),
      ...many(size, (index) => ({ ...secret('s'), metadata: { name: 's', namespace: `n${index}` } })),
    ),
  'a fleet with the same names in its namespaces': (size) =>
    objects(...many(size / 8, (index) => fleet(`n${index}`, 'c')).flat()),
  'a fleet in one namespace': (size) => objects(...many(size / 8, (index) => fleet('n', `c${index}`)).flat()),
  'a fleet with classes of the same names': (size) =>
    objects(...many(size / 8, (index) => classFleet(`n${index}`)).flat()),
  'a fleet of control planes': (size) => objects(...many(size / 16, (index) => controlPlane(`n${index}`)).flat()),
  'a template of many deployments': (size) =>
    objects(template('n', 't'), ...many(size / 8, (index) => deployment('n', `d${index}`, 't', 'c'))),
  'many other objects': (size) =>
    objects(
      config({}),
      ...many(size, (index) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: `n${index}` } })),
    ),
  'deep lists': (size) => `a: ${'['.repeat(2 * size)}${']'.repeat(2 * size)}`,
  aliases: (size) => `a: &a x\nb: [${many(50 * size, () => '*a').join(', ')}]\n`,
  'merges of merges': (size) => many(size, (index) => `a${index}: &a${index}\n  <<: ${before(index)}\n`).join(''),
  'aliases that double': () => `a0: &a0 x\n${many(30, doubled).join('\n')}`,
  'comments and empty documents': (size) => `${'# x\n---\n'.repeat(5 * size)}${objects(config({}))}`,
  'an unclosed flow': (size) => '{"a'.repeat(5 * size),
  'many expressions of jinja': (size) =>
    `## template: jinja\n#cloud-config\nruncmd:\n- "${'{{ ds.meta_data.hostname }}'.repeat(size)}"\n`,
  'openings of jinja': (size) => `## template: jinja\n#cloud-config\nruncmd:\n- "${'{{ {# {% '.repeat(5 * size)}"\n`,
  'many parts of MIME': (size) => `${MIME}${many(size, mimePart).join('')}--b--\n`,
  'many units': (size) => JSON.stringify({ ignition: { version: '2.3.0' }, systemd: { units: many(size, unit) } }),
  'patches of a class': (size) =>
    objects(template('n', 't'), cluster('n', 'c', { class: 'k', workers: WORKERS }), patchedClass(size)),
};

const WORKERS = { machineDeployments: [{ class: 'w', name: 'a' }] };
const CLASS_WORKERS = {
  machineDeployments: [
    {
      class: 'w',
      template: { bootstrap: { ref: { apiVersion: BOOTSTRAP, kind: 'KubeadmConfigTemplate', name: 't' } } },
    },
  ],
};
const JOIN = {
  discovery: {
    bootstrapToken: { token: 'abcdef.0123456789abcdef', apiServerEndpoint: 'a:6443', unsafeSkipCAVerification: true },
  },
};
const MIME = 'Content-Type: multipart/mixed; boundary="b"\nMIME-Version: 1.0\n\n';

function many<Item>(count: number, item: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => item(index));
}

function objects(...all: readonly object[]): string {
  return all.map((one) => JSON.stringify(one)).join('\n---\n');
}

function config(spec: object): object {
  const metadata = { name: 'a', namespace: 'n' };
  return { apiVersion: BOOTSTRAP, kind: 'KubeadmConfig', metadata, spec: { joinConfiguration: JOIN, ...spec } };
}

function command(text: string): string {
  return objects(config({ preKubeadmCommands: [text] }));
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function privateFile(index: number): object {
  return { path: `/etc/${index}/cloud.conf`, permissions: '0600', content: `password = "${index * 7919}xQ9z"` };
}

function fileOfSecret(index: number): object {
  return { path: `/f${index}`, contentFrom: { secret: { name: 's', key: 'a' } } };
}

function secret(name: string): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, data: { a: 'YQ==' } };
}

function cluster(namespace: string, name: string, topology?: object): object {
  const spec = { controlPlaneEndpoint: { host: 'h', port: 6443 }, ...(topology && { topology }) };
  return { apiVersion: CORE, kind: 'Cluster', metadata: { name, namespace }, spec };
}

function template(namespace: string, name: string): object {
  const spec = { template: { spec: { joinConfiguration: JOIN, preKubeadmCommands: ['a'] } } };
  return { apiVersion: BOOTSTRAP, kind: 'KubeadmConfigTemplate', metadata: { name, namespace }, spec };
}

function deployment(namespace: string, name: string, ofTemplate: string, clusterName: string): object {
  const bootstrap = { configRef: { apiVersion: BOOTSTRAP, kind: 'KubeadmConfigTemplate', name: ofTemplate } };
  const spec = { clusterName, template: { spec: { clusterName, bootstrap } } };
  return { apiVersion: CORE, kind: 'MachineDeployment', metadata: { name, namespace }, spec };
}

function fleet(namespace: string, name: string): readonly object[] {
  return [cluster(namespace, name), deployment(namespace, name, name, name), template(namespace, name)];
}

function classFleet(namespace: string): readonly object[] {
  return [
    cluster(namespace, 'c', { class: 'k', workers: WORKERS }),
    clusterClass(namespace, []),
    template(namespace, 't'),
  ];
}

function clusterClass(namespace: string, patches: readonly object[]): object {
  return {
    apiVersion: CORE,
    kind: 'ClusterClass',
    metadata: { name: 'k', namespace },
    spec: { patches, workers: CLASS_WORKERS },
  };
}

function patchedClass(size: number): object {
  const selector = {
    apiVersion: BOOTSTRAP,
    kind: 'KubeadmConfigTemplate',
    matchResources: { machineDeploymentClass: { names: ['w'] } },
  };
  const path = '/spec/template/spec/preKubeadmCommands/-';
  return clusterClass(
    'n',
    many(size / 2, (index) => ({
      name: `p${index}`,
      definitions: [{ selector, jsonPatches: [{ op: 'add', path, value: `echo ${index}` }] }],
    })),
  );
}

function controlPlane(namespace: string): readonly object[] {
  const apiVersion = 'controlplane.cluster.x-k8s.io/v1beta1';
  const reference = { apiVersion, kind: 'KubeadmControlPlane', name: 'p' };
  const metadata = { name: 'p', namespace };
  const spec = { version: 'v1.34.1', kubeadmConfigSpec: { clusterConfiguration: {}, initConfiguration: {} } };
  return [
    { apiVersion: CORE, kind: 'Cluster', metadata: { name: 'c', namespace }, spec: { controlPlaneRef: reference } },
    { apiVersion, kind: 'KubeadmControlPlane', metadata, spec },
  ];
}

function before(index: number): string {
  return index === 0 ? '{}' : `*a${index - 1}`;
}

function doubled(index: number): string {
  return `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]`;
}

function mimePart(index: number): string {
  return `--b\nContent-Type: text/cloud-config\n\n#cloud-config\nruncmd: [echo ${index}]\n`;
}

function unit(index: number): object {
  return {
    name: `u${index}.service`,
    enabled: true,
    contents: `[Unit]\nAfter=u${index - 1}.service\n[Service]\nExecStart=/bin/x\n[Install]\nWantedBy=multi-user.target\n`,
  };
}
