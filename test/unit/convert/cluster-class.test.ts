import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { codesOf, converting } from '../../support/capi.ts';

const BOOTSTRAP = 'bootstrap.cluster.x-k8s.io/v1beta2';
const CONTROL_PLANE = 'controlplane.cluster.x-k8s.io/v1beta2';
const CORE = 'cluster.x-k8s.io/v1beta2';

const WORKER_TEMPLATE = {
  apiVersion: BOOTSTRAP,
  kind: 'KubeadmConfigTemplate',
  metadata: { name: 'worker' },
  spec: {
    template: { spec: { joinConfiguration: { nodeRegistration: {} }, files: [], preKubeadmCommands: ['a', 'b'] } },
  },
};
const CONTROL_PLANE_TEMPLATE = {
  apiVersion: CONTROL_PLANE,
  kind: 'KubeadmControlPlaneTemplate',
  metadata: { name: 'cp' },
  spec: {
    template: { spec: { kubeadmConfigSpec: { clusterConfiguration: { apiServer: {} }, preKubeadmCommands: [] } } },
  },
};

interface Patch {
  readonly name: string;
  readonly enabledIf?: string;
  readonly definitions?: readonly object[];
  readonly external?: object;
}

function definition(kind: 'worker' | 'cp', jsonPatches: readonly object[], matchResources?: object): object {
  const worker = { apiVersion: BOOTSTRAP, kind: 'KubeadmConfigTemplate' };
  const selector = kind === 'worker' ? worker : { apiVersion: CONTROL_PLANE, kind: 'KubeadmControlPlaneTemplate' };
  const matches = kind === 'worker' ? { machineDeploymentClass: { names: ['default'] } } : { controlPlane: true };
  return { selector: { ...selector, matchResources: matchResources ?? matches }, jsonPatches };
}

function clusterClass(patches: readonly Patch[], variables: readonly object[] = []): object {
  const templateRef = { apiVersion: BOOTSTRAP, kind: 'KubeadmConfigTemplate', name: 'worker' };
  const controlPlane = { apiVersion: CONTROL_PLANE, kind: 'KubeadmControlPlaneTemplate', name: 'cp' };
  return {
    apiVersion: CORE,
    kind: 'ClusterClass',
    metadata: { name: 'class', namespace: 'clusters' },
    spec: {
      controlPlane: { templateRef: controlPlane },
      workers: {
        machineDeployments: [{ class: 'default', bootstrap: { templateRef } }],
        machinePools: [{ class: 'pool', bootstrap: { templateRef } }],
      },
      variables,
      patches,
    },
  };
}

function variable(name: string, schema: object): object {
  return { name, required: false, schema: { openAPIV3Schema: schema } };
}

interface Topology {
  readonly variables?: readonly object[];
  readonly controlPlane?: object;
  readonly machineDeployments?: readonly object[];
  readonly machinePools?: readonly object[];
}

function cluster({ variables, controlPlane = { replicas: 3 }, ...workers }: Topology = {}): object {
  const machineDeployments = workers.machineDeployments ?? [{ class: 'default', name: 'md-0', replicas: 2 }];
  return {
    apiVersion: CORE,
    kind: 'Cluster',
    metadata: { name: 'c', namespace: 'clusters', labels: { site: 'r7' } },
    spec: {
      controlPlaneEndpoint: { host: 'api.example', port: 6443 },
      clusterNetwork: { pods: { cidrBlocks: ['10.1.0.0/16'] }, serviceDomain: 'cluster.local' },
      topology: {
        classRef: { name: 'class' },
        version: 'v1.34.3',
        variables,
        controlPlane,
        workers: { machineDeployments, machinePools: workers.machinePools },
      },
    },
  };
}

/** The commands before kubeadm by name and role, after the patches. */
async function commands(objects: readonly object[]) {
  const conversion = await converting([...objects, WORKER_TEMPLATE, CONTROL_PLANE_TEMPLATE]);
  const found = conversion.documents.map(({ name, role, yaml }): [string, unknown] => [
    `${name} ${role}`,
    parse(yaml).host?.hooks?.beforeBootstrap?.commands ?? [],
  ]);
  const about = (code: string) =>
    conversion.decisions.filter((one) => one.code === code).map(({ at, message }) => `${at}: ${message}`);
  return {
    conversion,
    found: Object.fromEntries(found),
    left: about('PatchesNotApplied'),
    done: about('PatchesApplied'),
  };
}

const COMMANDS = '/spec/template/spec/preKubeadmCommands';
const CP_COMMANDS = '/spec/template/spec/kubeadmConfigSpec/preKubeadmCommands';

function echo(template: string, path = `${COMMANDS}/-`): object {
  return { op: 'add', path, valueFrom: { template } };
}

describe('patches of a ClusterClass, for the topology of a Cluster', () => {
  test('change the templates in their order, by value, variable and template', async () => {
    const patches: Patch[] = [
      {
        name: 'first',
        definitions: [
          definition('worker', [
            { op: 'replace', path: `${COMMANDS}/0`, value: 'first' },
            { op: 'add', path: `${COMMANDS}/-`, valueFrom: { variable: 'proxy.url' } },
          ]),
        ],
      },
      {
        name: 'second',
        definitions: [
          definition('worker', [echo('echo {{ .proxy.url | upper }}'), { op: 'remove', path: `${COMMANDS}/1` }]),
          definition('cp', [echo('{{ .builtin.controlPlane.replicas }} {{ index .list 0 }}', `${CP_COMMANDS}/0`)]),
        ],
      },
    ];
    const variables = [
      variable('proxy', { type: 'object', properties: { url: { type: 'string', default: 'none' } } }),
      variable('list', { type: 'array', items: { type: 'string' }, default: ['x'] }),
    ];
    const given = cluster({ variables: [{ name: 'proxy', value: {} }] });
    const { conversion, found, left, done } = await commands([given, clusterClass(patches, variables)]);
    assert.deepEqual(left, []);
    assert.deepEqual(codesOf(conversion, 'error'), []);
    assert.deepEqual(found, {
      'worker Worker': ['first', 'none', 'echo NONE'],
      'cp InitControlPlane': ['3 x'],
      'cp JoinControlPlane': ['3 x'],
    });
    assert.deepEqual(done, ['KubeadmConfigTemplate worker: first, second', 'KubeadmControlPlaneTemplate cp: second']);
  });

  test('an entry of the topology overrides variables, and each entry of a class becomes a document', async () => {
    const patches: Patch[] = [
      {
        name: 'taint',
        enabledIf: '{{ .taint.enabled }}',
        definitions: [
          definition('worker', [echo('{{ .taint.effect }} {{ .builtin.machineDeployment.topologyName }}')]),
          definition('worker', [echo('pool {{ .builtin.machinePool.class }}')], {
            machinePoolClass: { names: ['p*'] },
          }),
        ],
      },
    ];
    const taint = {
      type: 'object',
      default: {},
      properties: { enabled: { type: 'boolean', default: true }, effect: { type: 'string', default: 'NoSchedule' } },
    };
    const overrides = (value: object) => ({ variables: { overrides: [{ name: 'taint', value }] } });
    const given = cluster({
      machineDeployments: [
        { class: 'default', name: 'a' },
        { class: 'default', name: 'b', ...overrides({ effect: 'NoExecute' }) },
        { class: 'default', name: 'c', ...overrides({ enabled: false }) },
      ],
      machinePools: [{ class: 'pool', name: 'p' }],
    });
    const { found, left } = await commands([given, clusterClass(patches, [variable('taint', taint)])]);
    assert.deepEqual(left, []);
    assert.deepEqual(found, {
      'c-a Worker': ['a', 'b', 'NoSchedule a'],
      'c-b Worker': ['a', 'b', 'NoExecute b'],
      'c-c Worker': ['a', 'b'],
      'c-p Worker': ['a', 'b', 'pool pool'],
      'cp InitControlPlane': [],
      'cp JoinControlPlane': [],
    });
  });

  test('builtin variables of the Cluster, the control plane and the MachineDeployment', async () => {
    const paths = [
      'cluster.name',
      'cluster.namespace',
      'cluster.topology.version',
      'cluster.topology.class',
      'cluster.topology.classNamespace',
      'cluster.metadata.labels.site',
      'cluster.network.serviceDomain',
      'cluster.network.pods',
      'machineDeployment.version',
      'machineDeployment.class',
      'machineDeployment.topologyName',
      'machineDeployment.replicas',
    ];
    const definitions = [
      definition(
        'worker',
        paths.map((path) => echo(`"{{ .builtin.${path} }}"`)),
      ),
    ];
    const { found, left } = await commands([cluster(), clusterClass([{ name: 'builtins', definitions }])]);
    assert.deepEqual(left, []);
    assert.deepEqual(found['worker Worker'], [
      ...['a', 'b', 'c', 'clusters', 'v1.34.3', 'class', 'clusters', 'r7', 'cluster.local', '[10.1.0.0/16]'],
      ...['v1.34.3', 'default', 'md-0', '2'],
    ]);
  });

  test('a template that gives a whole list, with a condition, a loop and functions of Sprig', async () => {
    const template = `
{{- range $index, $line := splitList "," .lines }}
- {{ printf "%d %s" $index ($line | trim) | quote }}
{{- end }}
{{- if semverCompare ">= 1.34" .builtin.machineDeployment.version }}
- new
{{- else }}
- old
{{- end }}
- {{ regexReplaceAll "v([0-9]+)\\\\..*" .builtin.machineDeployment.version "major $1" }}
`;
    const patches = [
      {
        name: 'lines',
        definitions: [definition('worker', [{ op: 'replace', path: COMMANDS, valueFrom: { template } }])],
      },
    ];
    const variables = [variable('lines', { type: 'string', default: 'x, y' })];
    const { found, left } = await commands([cluster(), clusterClass(patches, variables)]);
    assert.deepEqual(left, []);
    assert.deepEqual(found['worker Worker'], ['0 x', '1 y', 'new', 'major 1']);
  });

  const patch = (jsonPatch: object): readonly Patch[] => [
    { name: 'p', definitions: [definition('worker', [jsonPatch])] },
  ];
  const LEFT: Readonly<Record<string, readonly [patches: readonly Patch[], why: RegExp]>> = {
    'a name that the controller makes up': [
      patch(echo('{{ .builtin.machineDeployment.infrastructureRef.name }}-azure-json')),
      /gives builtin\.machineDeployment\.infrastructureRef\.name/,
    ],
    'the same as a variable': [
      patch({ op: 'add', path: `${COMMANDS}/-`, valueFrom: { variable: 'builtin.machineDeployment.name' } }),
      /gives builtin\.machineDeployment\.name/,
    ],
    'the whole of what holds such a name': [
      patch({ op: 'add', path: `${COMMANDS}/-`, valueFrom: { variable: 'builtin.machineDeployment' } }),
      /the controller gives/,
    ],
    'a variable without a value': [
      patch({ op: 'add', path: `${COMMANDS}/-`, valueFrom: { variable: 'nothing' } }),
      /nothing has no value/,
    ],
    'a template of a variable without a value': [patch(echo('{{ .nothing }}')), /no value/],
    'a function that is not known': [patch(echo('{{ genCA "a" 1 }}')), /the function genCA is not known here/],
    'a path that is not there': [patch(echo('x', '/spec/template/spec/users/-')), /there is no such path/],
    'an item that is not there': [patch({ op: 'remove', path: `${COMMANDS}/7` }), /there is no such path/],
    'a template that does not give YAML': [patch(echo('{ {{ .builtin.cluster.name }}')), /not YAML/],
    'neither a value nor where it is from': [patch({ op: 'add', path: `${COMMANDS}/-` }), /is expected/],
    'an extension': [
      [{ name: 'p', external: { generatePatchesExtension: 'generate.ext' } }],
      /an extension of Cluster API makes it/,
    ],
  };
  for (const [what, [patches, why]] of Object.entries(LEFT)) {
    test(`${what}: a decision names the patch, and the rest is applied`, async () => {
      const other: Patch = { name: 'other', definitions: [definition('worker', [echo('other')])] };
      const { conversion, found, left, done } = await commands([cluster(), clusterClass([...patches, other])]);
      const [first = '', ...others] = left;
      assert.match(first, /^KubeadmConfigTemplate worker: p: /);
      assert.match(first, why);
      // An extension may change any template.
      assert.equal(others.length, what === 'an extension' ? 1 : 0);
      assert.deepEqual(codesOf(conversion, 'error'), []);
      assert.deepEqual(found['worker Worker'], ['a', 'b', 'other']);
      assert.deepEqual(done, ['KubeadmConfigTemplate worker: other']);
    });
  }

  test('those of other templates, of other classes, and those that are not enabled change nothing', async () => {
    const none = { controlPlane: false, machineDeploymentClass: { names: ['other', 'x*', '*x'] } };
    const patches: Patch[] = [
      { name: 'other class', definitions: [definition('worker', [echo('x')], none)] },
      { name: 'pools', definitions: [definition('worker', [echo('x')], { machinePoolClass: { names: ['*'] } })] },
      {
        name: 'not enabled',
        enabledIf: '{{ eq .builtin.cluster.name "d" }}',
        definitions: [definition('worker', [echo('x')])],
      },
      { name: 'validates', external: { validateTopologyExtension: 'validate.ext' } },
      {
        name: 'another version',
        definitions: [
          {
            selector: {
              apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta1',
              kind: 'KubeadmConfigTemplate',
              matchResources: { machineDeploymentClass: { names: ['*'] } },
            },
            jsonPatches: [echo('x')],
          },
        ],
      },
    ];
    const { found, left, done } = await commands([cluster(), clusterClass(patches)]);
    assert.deepEqual([found['worker Worker'], left, done], [['a', 'b'], [], []]);
  });

  test('without a Cluster, or for a class that it does not use, the patches are a decision', async () => {
    const patches = patch(echo('x'));
    for (const objects of [[clusterClass(patches)], [cluster({ machineDeployments: [] }), clusterClass(patches)]]) {
      const conversion = await converting([...objects, WORKER_TEMPLATE], { kubernetesVersion: 'v1.34.3' });
      assert.ok(codesOf(conversion, 'decision').includes('PatchesNotApplied'));
      assert.deepEqual(parse(conversion.documents[0]?.yaml ?? '').host.hooks.beforeBootstrap.commands, ['a', 'b']);
    }
  });

  test('are those of the class in the namespace that the Cluster names, which is its own by default', async () => {
    const other = { metadata: { name: 'class', namespace: 'shared' } };
    const classes = [
      clusterClass([{ name: 'own', definitions: [definition('worker', [echo('own')])] }]),
      { ...clusterClass([{ name: 'shared', definitions: [definition('worker', [echo('shared')])] }]), ...other },
    ];
    const inOwn = cluster();
    const inShared = structuredClone(inOwn) as { spec: { topology: { classRef: object } } };
    inShared.spec.topology.classRef = { name: 'class', namespace: 'shared' };
    const by = async (given: object) => (await commands([given, ...classes])).found['worker Worker'];
    assert.deepEqual(
      [await by(inOwn), await by(inShared)],
      [
        ['a', 'b', 'own'],
        ['a', 'b', 'shared'],
      ],
    );
  });

  test('never print what a variable holds', async () => {
    const patches = [
      ...patch(echo('{{ .password.x }}')),
      ...patch(echo('{ {{ .password }}')),
      ...patch(echo('{{ lt .password 1 }}')),
      ...patch({ op: 'add', path: '/spec/template/spec/x/y', valueFrom: { variable: 'password' } }),
    ];
    const given = cluster({ variables: [{ name: 'password', value: 'hunter2-canary' }] });
    const { conversion, left } = await commands([
      given,
      clusterClass(patches, [variable('password', { type: 'string' })]),
    ]);
    assert.equal(left.length, 4);
    assert.doesNotMatch(JSON.stringify(conversion.decisions), /canary/);
  });
});
