import { diagnosticRecord, formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { type LoadOptions, loadDocument } from '@machineadm/document/loading/load.ts';
import { json } from '../mutators/json.ts';
import { yaml } from '../mutators/yaml.ts';
import { CANARIES, type FuzzTarget } from '../target.ts';

const [SECRET, TOKEN, KEY] = CANARIES;

const HOST = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: n, labels: {rack: "7"}}
variables:
  v: {value: word}
secrets:
  a: {value: ${SECRET}}
  b: {http: {url: "https://a.example/b", headers: {Authorization: {secret: a}}}}
host:
  sysctl: {kernel.shmmax: 18446744073692774399, net.ipv4.ip_forward: 1}
  kernelModules: [overlay]
  users:
    - {name: u, passwordHash: {secret: a}}
  files:
    - path: /a
      content: |
        text \${v}
          more
      expand: true
    - {path: /b, contentFrom: {secret: b}, mode: "0600"}
`;

const KUBERNETES = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata:
  name: &name n
containerRuntime:
  containerd:
    registries:
      - host: r.example
        credentials: {username: u, password: "${KEY}"}
    settings: {a: 1.0, b: [1e21, 0x10, .inf]}
kubernetes:
  version: v1.35.2
  role: JoinControlPlane
  node: {name: *name, kubelet: {config: {maxPods: 110}}}
  join:
    discovery: {token: {token: ${TOKEN}, endpoint: "10.0.0.1:6443", unsafeSkipCAVerification: true}}
  controlPlane: {certificateKey: {secret: k}}
secrets:
  k: {value: "${KEY}"}
`;

const YAML_TOKENS = [
  ...[
    ' ',
    '  ',
    '\n',
    ': ',
    ':',
    '- ',
    '"',
    "'",
    '#',
    ' # ',
    '[',
    ']',
    '{',
    '}',
    ', ',
    '|\n',
    '>-\n',
    '&a ',
    '*a',
    '!!str ',
    '? ',
  ],
  ...[
    '...\n',
    '---\n',
    '\t',
    '\\',
    '%',
    'null',
    'true',
    '1.0',
    '0x1f',
    '${v}',
    '$${v}',
    '${',
    'secret: ',
    'value: ',
    'host:\n',
    '\r\n',
  ],
];

async function validate(texts: readonly string[], options: Partial<LoadOptions> = {}): Promise<string> {
  const sources = texts.map((text, index) => ({ name: `${index}.yaml`, bytes: new TextEncoder().encode(text) }));
  const result = await loadDocument(sources, { agentVersion: '0.1.0', ...options });
  const problems = result.ok ? result.document.warnings : result.problems;
  for (const { place } of problems) {
    const line = texts[Number(place.file.split('.')[0])]?.split('\n')[place.line - 1];
    if (line === undefined || place.column < 1 || place.column > Math.max(1, line.length)) {
      throw new RangeError(`a place outside of the text: ${JSON.stringify(place)}`);
    }
  }
  return problems
    .map((problem) => `${formatDiagnostic(problem)} ${JSON.stringify(diagnosticRecord(problem))}`)
    .join('\n');
}

export const documentYaml: FuzzTarget = {
  name: 'document-yaml',
  reads: 'Bootstrap documents in YAML',
  seeds: [HOST, KUBERNETES],
  tokens: YAML_TOKENS,
  grammar: [yaml],
  run: (input) => validate([input]),
};

export const documentJson: FuzzTarget = {
  name: 'document-json',
  reads: 'Bootstrap documents in JSON',
  seeds: [
    `{"apiVersion":"machineadm.dev/v1alpha1","kind":"MachineBootstrap","metadata":{"name":"n"},\n"secrets":{"a":{"value":"${SECRET}"}},"host":{"files":[{"path":"/a","contentFrom":{"secret":"a"}}],"sysctl":{"kernel.shmmax":18446744073692774399}}}\n`,
  ],
  tokens: ['{', '}', '[', ']', '"', ':', ',', '\\u', '\\ud800', '\\"', '1e21', '-0', 'null', ' ', '\n', '\\'],
  grammar: [json],
  run: (input) => validate([input]),
};

/** Two sources in one input, with a line of `=` between them. */
export const merge: FuzzTarget = {
  name: 'merge',
  reads: 'Documents and drop-ins, merged',
  seeds: [
    `${HOST}====\nhost: {files: [{path: /a, content: y}], kernelModules: [b]}\nsecrets: {a: {value: "${KEY}"}}\n`,
    `${KUBERNETES}====\nkubernetes: {node: {taints: []}, join: null}\nhost: {swap: null}\n`,
  ],
  tokens: [...YAML_TOKENS, '====\n', 'null', '{path: /a}', '[]'],
  run: (input) => validate(input.split(/^====\n/m)),
};

export const variables: FuzzTarget = {
  name: 'variables',
  reads: 'Variables in documents',
  seeds: [
    `apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: "n-\${a}"}\nvariables: {a: {env: A}, b: {value: ${SECRET}}, c: {file: /c}}\nhost: {hostname: "\${a}", files: [{path: /x, expand: true, content: "\${a} \${b} $\${c} \${d}"}]}\n`,
  ],
  tokens: ['${', '}', '${a}', '$${a}', '$', '${b}', ' ', '"', '\n', '{env: A}', 'expand: true'],
  grammar: [yaml],
  run: (input) =>
    validate([input], {
      resolveVariables: async (name) => ({ value: name === 'c' ? undefined : `${KEY}-${name}`, known: ['x'] }),
    }),
};
