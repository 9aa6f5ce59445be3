import { beyond, init, invalid, PEM, type Source, TOKEN, valid, worker } from './source.ts';

const V = '\nvariables: {v: {env: V}}';

/** Fields that accept variables, with a variable whose value is known only on the machine. */
const TAKING: readonly string[] = [
  'host: {hostname: "${v}"}',
  'host: {hostname: "node-${v}"}',
  'host: {storage: {filesystems: [{device: {path: "${v}"}, type: ext4, label: "a-label-that-is-longer-${v}"}]}}',
  'host: {storage: {mounts: [{device: {id: "${v}"}, path: "${v}"}]}}',
  'host: {time: {servers: ["${v}"]}}',
  'host: {proxy: {http: "${v}", no: ["${v}"]}}',
  'host: {files: [{path: "${v}/a", content: x}]}',
  'host: {hooks: {early: {commands: [a], environment: {A: "${v}"}}}}',
  'containerRuntime: {containerd: {sandboxImage: "${v}"}}',
  'containerRuntime: {containerd: {registries: [{host: "${v}", server: "https://${v}"}]}}',
  init('cluster: {controlPlaneEndpoint: "${v}"}'),
  init('cluster: {controlPlaneEndpoint: "${v}:6443", name: "${v}"}'),
  init('controlPlane: {apiEndpoint: {advertiseAddress: "${v}"}}'),
  init('controlPlane: {apiServer: {certSANs: ["${v}"]}}'),
  init('node: {name: "${v}", providerID: "aws:///${v}"}'),
  init('node: {labels: {rack: "${v}"}}'),
  init('node: {kubelet: {config: {clusterDNS: ["${v}"]}}}'),
  init('pki: {ca: {certificate: "${v}"}}'),
  worker(`join: {discovery: {token: {token: ${TOKEN}, endpoint: "\${v}", caCertHashes: ["\${v}"]}}}`),
  worker('join: {discovery: {file: {kubeconfig: {server: "${v}", certificateAuthority: "${v}", user: {token: x}}}}}'),
  'reporting: {sinks: [{type: Kubernetes, kubeconfig: x, configMap: {namespace: "${v}", name: "${v}"}}]}',
  `reporting: {sinks: [{type: Kubernetes, server: "\${v}", certificateAuthority: ${PEM}, token: x, configMap: {namespace: a, name: b}}]}`,
];

export const VARIABLE_VECTORS: readonly Source[] = [
  ...TAKING.map((text) => valid(`a variable in ${text}`, text + V)),
  valid('a value', 'host: {hostname: "${v}"}\nvariables: {v: {value: node-1}}'),
  valid(
    'every source',
    'variables: {a: {value: x}, b: {env: B}, c: {envFile: {path: /a, key: B}}, d: {file: /a}, e: {instanceData: ds.a}, f: {metadata: {provider: aws, path: a}}}',
  ),
  valid(
    'such text where no variable is replaced',
    'host: {kernelModules: [a], hooks: {early: {commands: ["echo ${HOME}"]}}}',
  ),
  invalid('a variable where none is replaced', 'InvalidValue', `host: {kernelModules: [¦"\${v}"]}${V}`),
  invalid('the text of a reference', 'InvalidValue', `host: {hostname: ¦"$\${v}"}${V}`),
  invalid('two sources', 'InvalidType', 'variables: {v: ¦{value: a, env: B}}'),
  invalid('no source', 'MissingField', 'variables: {v: ¦{}}'),
  invalid('a text as source', 'InvalidType', 'variables: {v: ¦node-1}'),
  invalid('a name with a dash', 'InvalidValue', 'variables: {¦a-b: {value: x}}'),
  invalid('an unknown provider', 'InvalidValue', 'variables: {v: {metadata: {provider: ¦ibm, path: a}}}'),
  invalid('a metadata path that is missing', 'MissingField', 'variables: {v: {metadata: ¦{provider: aws}}}'),
  beyond('a missing variable', 'UnknownReference', 'host: {hostname: ¦"${w}"}'),
  beyond('a value that does not fit', 'InvalidValue', 'host: {hostname: ¦"${v}"}\nvariables: {v: {value: Node_1}}'),
  valid(
    'secrets of every source',
    'secrets: {a: {value: x}, b: {file: /a}, c: {env: C}, d: {systemdCredential: d}, e: {exec: {command: [a]}}, f: {http: {url: "https://a.example"}}, g: {awsSecretsManager: {secretId: a}}, h: {awsParameter: {name: a}}}',
  ),
  valid('a secret over http from this machine', 'secrets: {a: {http: {url: "http://127.0.0.1:820/x"}}}'),
  invalid(
    'a secret over http from a port of this machine on which any user can listen',
    'Conflict',
    'secrets: {a: {http: {url: ¦"http://127.0.0.1:8200/x"}}}',
  ),
  valid(
    'a secret over http that is permitted',
    'secrets: {a: {http: {url: "http://a.example/x", allowInsecure: true}}}',
  ),
  invalid('a secret over http', 'Conflict', 'secrets: {a: {http: {url: ¦"http://a.example/x"}}}'),
  invalid(
    'a secret over http whose host only begins like this machine',
    'Conflict',
    'secrets: {a: {http: {url: ¦"http://127.0.0.1.example/x"}}}',
  ),
  invalid(
    'an endpoint without TLS',
    'Conflict',
    'secrets: {a: {awsParameter: {name: a, endpoint: ¦"http://a.example"}}}',
  ),
  invalid('an empty secret', 'InvalidValue', 'secrets: {a: {value: ¦""}}'),
  invalid('a secret without a source', 'MissingField', 'secrets: {a: ¦{}}'),
  invalid('two sources of a secret', 'InvalidType', 'secrets: {a: ¦{value: x, env: A}}'),
  invalid('a program without a name', 'InvalidValue', 'secrets: {a: {exec: {command: ¦[]}}}'),
  invalid('an invalid region', 'InvalidValue', 'secrets: {a: {awsParameter: {name: a, region: ¦Europe}}}'),
  invalid('the name of a secret with a dot', 'InvalidValue', 'secrets: {¦a.b: {value: x}}'),
  invalid('headers that are a list', 'InvalidType', 'secrets: {a: {http: {url: "https://a.example", headers: ¦[a]}}}'),
  beyond(
    'a header that names no secret',
    'UnknownReference',
    'secrets: {a: {http: {url: "https://a.example", headers: {X-A: {secret: ¦b}}}}}',
  ),
  beyond(
    'secrets that need each other',
    'UnknownReference',
    'secrets: {a: {http: {url: "https://a.example", headers: {X-A: {secret: b}}}}, b: {http: {url: "https://a.example", headers: ¦{X-A: {secret: a}}}}}',
  ),
];
