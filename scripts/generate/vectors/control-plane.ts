import { beyond, init, invalid, PEM, type Source, valid } from './source.ts';

const controlPlane = (more: string): string => init(`controlPlane: {${more}}`);
const apiServer = (more: string): string => controlPlane(`apiServer: {${more}}`);
const audit = (rule: string, where = 'log: {}'): string => apiServer(`audit: {policy: {rules: [${rule}]}, ${where}}`);
const provider = (text: string): string => apiServer(`encryptionAtRest: {providers: [${text}]}`);
const jwt = (more: string): string =>
  apiServer(`authentication: {structured: {jwt: [{issuer: {url: "https://i.example", audiences: [a]}, ${more}}]}}`);
const NAME = 'claimMappings: {username: {claim: sub, prefix: ""}}';
const KEY = `${'A'.repeat(43)}=`;
const POD = '"apiVersion: v1\\nkind: Pod\\nmetadata: {name: a}\\nspec: {containers: []}\\n"';
const EXTERNAL = 'external: {endpoints: ["https://10.0.0.20:2379"], caFile: /a, certFile: /b, keyFile: /c}';

/** `kubernetes.controlPlane`. */
export const CONTROL_PLANE_VECTORS: readonly Source[] = [
  valid('an external etcd', controlPlane(`etcd: {${EXTERNAL}}`)),
  invalid('two kinds of etcd', 'Conflict', controlPlane(`etcd: ¦{local: {}, ${EXTERNAL}}`)),
  invalid(
    'no endpoint',
    'InvalidValue',
    controlPlane('etcd: {external: {endpoints: ¦[], caFile: /a, certFile: /b, keyFile: /c}}'),
  ),
  invalid('an invalid address', 'InvalidValue', controlPlane('apiEndpoint: {advertiseAddress: ¦10.0.0}')),
  valid('an address of IPv6', controlPlane('apiEndpoint: {advertiseAddress: "2001:db8::1"}')),
  invalid('an invalid certificate key', 'Conflict', controlPlane('certificateKey: ¦abc')),
  valid('a static pod', controlPlane(`staticPods: [{name: a, manifest: ${POD}}]`)),
  invalid("a static pod of kubeadm's", 'Conflict', controlPlane(`staticPods: [{name: ¦etcd, manifest: ${POD}}]`)),
  beyond(
    'a static pod twice',
    'Duplicate',
    controlPlane(`staticPods: [{name: a, manifest: ${POD}}, {name: ¦a, manifest: ${POD}}]`),
  ),
  beyond(
    'a static pod that is no Pod',
    'InvalidValue',
    controlPlane('staticPods: [{name: a, manifest: ¦"kind: Job"}]'),
  ),
  valid(
    'variables of a pod',
    controlPlane(
      'scheduler: {env: [{name: A, value: b}, {name: IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}]}',
    ),
  ),
  invalid(
    'a variable of two sources',
    'InvalidType',
    controlPlane('scheduler: {env: [¦{name: A, value: b, valueFrom: {fieldRef: {fieldPath: a}}}]}'),
  ),
  invalid(
    'a volume of an unknown kind',
    'InvalidValue',
    controlPlane('scheduler: {volumes: [{name: a, hostPath: /a, mountPath: /a, pathType: ¦Any}]}'),
  ),

  valid(
    'an audit log',
    audit('{level: None, nonResourceURLs: ["/healthz*"]}, {level: Metadata}', 'log: {maxAge: 7d, maxSize: 200Mi}'),
  ),
  valid('an audit webhook', audit('{level: Metadata}', 'webhook: {server: "https://a.example"}')),
  invalid('events that go nowhere', 'Conflict', apiServer('audit: ¦{policy: {rules: [{level: None}]}}')),
  invalid('no rules', 'InvalidValue', apiServer('audit: {policy: {rules: ¦[]}, log: {}}')),
  invalid(
    'a rule about paths and resources',
    'Conflict',
    audit('¦{level: None, nonResourceURLs: [/a], resources: [{group: ""}]}'),
  ),
  invalid(
    'a rule about paths and namespaces',
    'Conflict',
    audit('¦{level: None, nonResourceURLs: [/a], namespaces: [b]}'),
  ),
  invalid('names without resources', 'Conflict', audit('{level: None, resources: [¦{resourceNames: [a]}]}')),
  invalid('a log in the root', 'Conflict', audit('{level: None}', 'log: {path: ¦/audit.log}')),
  beyond(
    'a number that JavaScript rounds',
    'InvalidValue',
    audit('{level: None}', 'log: {maxBackups: ¦18446744073692774399}'),
  ),
  beyond('half a day', 'Conflict', audit('{level: None}', 'log: {maxAge: ¦12h}')),
  beyond('half a Mi', 'Conflict', audit('{level: None}', 'log: {maxSize: ¦512Ki}')),
  invalid(
    'two credentials',
    'Conflict',
    audit(
      '{level: None}',
      `webhook: ¦{server: "https://a.example", token: x, clientCertificate: {certificate: ${PEM}, key: y}}`,
    ),
  ),
  invalid(
    'an argument that audit sets',
    'Conflict',
    apiServer('audit: {policy: {rules: [{level: None}]}, log: {}}, args: [¦{name: audit-log-path, value: /a}]'),
  ),
  invalid(
    'a volume that audit brings',
    'Conflict',
    apiServer(
      'audit: {policy: {rules: [{level: None}]}, log: {}}, volumes: [{name: ¦audit-log, hostPath: /a, mountPath: /a}]',
    ),
  ),

  valid('encryption', provider(`{secretbox: {keys: [{name: a, key: "${KEY}"}]}}, {identity: {}}`)),
  valid('encryption by a service', provider('{kms: {name: a, endpoint: "unix:///run/a.sock"}}')),
  invalid('a provider of no kind', 'Conflict', provider('¦{}')),
  invalid(
    'a provider of two kinds',
    'Conflict',
    provider(`¦{identity: {}, secretbox: {keys: [{name: a, key: "${KEY}"}]}}`),
  ),
  invalid('a short key', 'Conflict', provider('{secretbox: {keys: [{name: a, key: ¦QUJD}]}}')),
  invalid('no key', 'InvalidValue', provider('{secretbox: {keys: ¦[]}}')),
  invalid(
    'a socket that leaves its directory',
    'InvalidValue',
    provider('{kms: {name: a, endpoint: ¦"unix:///run/../a"}}'),
  ),
  invalid(
    'a resource in capitals',
    'Conflict',
    apiServer('encryptionAtRest: {resources: [¦Secrets], providers: [{identity: {}}]}'),
  ),
  invalid(
    'all resources by a star',
    'Conflict',
    apiServer('encryptionAtRest: {resources: [¦"*"], providers: [{identity: {}}]}'),
  ),
  beyond(
    'a resource twice',
    'Duplicate',
    apiServer('encryptionAtRest: {resources: [secrets, ¦secrets], providers: [{identity: {}}]}'),
  ),
  beyond(
    'a service before its version',
    'Conflict',
    'kubernetes: {version: v1.26.0, role: InitControlPlane, controlPlane: {apiServer: {encryptionAtRest: {providers: [{kms: ¦{name: a, endpoint: "unix:///run/a.sock"}}]}}}}',
  ),

  valid('authentication', apiServer('authentication: {webhook: {server: "https://a.example", version: v1beta1}}')),
  valid('an issuer', jwt(NAME)),
  valid('anonymous requests', apiServer('authentication: {structured: {anonymous: {enabled: true, paths: [/livez]}}}')),
  invalid('authentication by nothing', 'Conflict', apiServer('authentication: ¦{}')),
  invalid('a claim without a prefix', 'Conflict', jwt('claimMappings: {username: ¦{claim: sub}}')),
  invalid(
    'a claim and an expression',
    'Conflict',
    jwt('claimMappings: {username: ¦{claim: sub, prefix: "", expression: claims.sub}}'),
  ),
  invalid('neither of them', 'Conflict', jwt('claimMappings: {username: ¦{}}')),
  invalid(
    'a prefix of an expression',
    'Conflict',
    jwt('claimMappings: {username: {expression: claims.sub, prefix: ¦a}}'),
  ),
  invalid(
    'an attribute without its domain',
    'Conflict',
    jwt('claimMappings: {username: {claim: a, prefix: ""}, extra: [{key: ¦team, valueExpression: a}]}'),
  ),
  invalid(
    'an attribute of Kubernetes',
    'Conflict',
    jwt('claimMappings: {username: {claim: a, prefix: ""}, extra: [{key: ¦a.k8s.io/b, valueExpression: a}]}'),
  ),
  invalid('a message of a claim', 'Conflict', jwt(`${NAME}, claimValidationRules: [{claim: a, message: ¦b}]`)),
  invalid(
    'a value of an expression',
    'Conflict',
    jwt(`${NAME}, claimValidationRules: [{expression: a, requiredValue: ¦b}]`),
  ),
  invalid(
    'paths of no requests',
    'Conflict',
    apiServer('authentication: {structured: {anonymous: {enabled: false, paths: ¦[/livez]}}}'),
  ),
  invalid(
    'a path that begins elsewhere',
    'InvalidValue',
    apiServer('authentication: {structured: {anonymous: {enabled: true, paths: [¦livez]}}}'),
  ),
  beyond(
    'an issuer twice',
    'Duplicate',
    apiServer(
      `authentication: {structured: {jwt: [{issuer: {url: "https://i.example", audiences: [a]}, ${NAME}}, {issuer: {url: ¦"https://i.example", audiences: [b]}, ${NAME}}]}}`,
    ),
  ),
  beyond(
    'issuers before their version',
    'UnsupportedVersion',
    'kubernetes: {version: v1.28.0, role: InitControlPlane, controlPlane: {apiServer: {authentication: {structured: ¦{}}}}}',
  ),

  valid(
    'authorization',
    apiServer('authorization: {modes: [Node, RBAC, Webhook], webhook: {server: "https://a.example"}}'),
  ),
  valid('authorizers', apiServer('authorization: {structured: [{type: Node, name: a}, {type: RBAC, name: b}]}')),
  invalid('authorization by nothing', 'Conflict', apiServer('authorization: ¦{}')),
  invalid(
    'two kinds of authorization',
    'Conflict',
    apiServer(
      'authorization: ¦{webhook: {server: "https://a.example"}, structured: [{type: Node, name: a}, {type: RBAC, name: b}]}',
    ),
  ),
  invalid(
    'modes without RBAC',
    'Conflict',
    apiServer('authorization: {modes: ¦[Node, Webhook], webhook: {server: "https://a.example"}}'),
  ),
  invalid('authorizers without Node', 'Conflict', apiServer('authorization: {structured: ¦[{type: RBAC, name: b}]}')),
  invalid(
    'an authorizer twice',
    'Duplicate',
    apiServer('authorization: {structured: [{type: Node, name: a}, {type: RBAC, name: b}, {type: ¦RBAC, name: c}]}'),
  ),
  invalid(
    'a webhook without a server',
    'Conflict',
    apiServer('authorization: {structured: [{type: Node, name: a}, {type: RBAC, name: b}, ¦{type: Webhook, name: c}]}'),
  ),
  invalid(
    'a server of Node',
    'Conflict',
    apiServer(
      'authorization: {structured: [¦{type: Node, name: a, webhook: {server: "https://a.example", failurePolicy: Deny}}, {type: RBAC, name: b}]}',
    ),
  ),

  valid(
    'admission',
    apiServer(
      'admission: {enable: [AlwaysPullImages], config: [{plugin: PodSecurity, configuration: {defaults: {}}}]}',
    ),
  ),
  invalid(
    'a version that we choose',
    'Conflict',
    apiServer('admission: {config: [{plugin: PodSecurity, configuration: ¦{apiVersion: a}}]}'),
  ),
  invalid('no configuration', 'InvalidValue', apiServer('admission: {config: ¦[]}')),
  beyond('an unknown plug-in', 'Conflict', apiServer('admission: {enable: [¦Nothing]}')),
  beyond(
    'a plug-in that is on and off',
    'Conflict',
    apiServer('admission: {enable: [¦AlwaysPullImages], disable: [AlwaysPullImages]}'),
  ),
];
