import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { loaded, problemsOf } from '../../support/document.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const PEM = '"-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----\\n"';
const WEBHOOK = 'server: "https://10.0.0.9:8443/x"';
const JWT =
  '{issuer: {url: "https://id.example", audiences: [a]}, claimMappings: {username: {claim: sub, prefix: ""}}}';

function init(apiServer: string, version = 'v1.35.2', more = ''): string {
  return `kubernetes: {version: ${version}, role: InitControlPlane, controlPlane: {apiServer: {${apiServer}}}${more}}`;
}

const audit = (rule: string, log = 'log: {}') => `audit: {policy: {rules: [${rule}]}, ${log}}`;
const encryption = (providers: string, more = '') => `encryptionAtRest: {providers: [${providers}]${more}}`;
const structured = (authorizers: string) => `authorization: {structured: [${authorizers}]}`;
const NODE_AND_RBAC = '{type: Node, name: node}, {type: RBAC, name: rbac}';

describe('configurations of admission plug-ins', () => {
  const config = (plugin: string, configuration: string) =>
    init(`admission: {config: [{plugin: ${plugin}, configuration: ${configuration}}]}`, 'v1.36.2');
  const security = (configuration: string) => config('PodSecurity', configuration);
  const EXEMPT = 'exemptions: {namespaces: [kube-system]}';
  const at = 'kubernetes.controlPlane.apiServer.admission';
  const refused: readonly (readonly [string, string, string])[] = [
    [
      'a level that does not exist',
      security(`{defaults: {enforce: baselin}, ${EXEMPT}}`),
      `${at}.config[0].configuration.defaults.enforce: not a level (hint: one of privileged, baseline, restricted)`,
    ],
    [
      'a version without its v',
      security(`{defaults: {enforce: baseline, enforce-version: "1.34"}, ${EXEMPT}}`),
      `${at}.config[0].configuration.defaults.enforce-version: not a version (hint: latest, or such as v1.34)`,
    ],
    [
      'a number as a version',
      security('{defaults: {audit-version: 1.34}}'),
      `${at}.config[0].configuration.defaults.audit-version: not a version (hint: latest, or such as v1.34)`,
    ],
    [
      'a key in another spelling',
      security('{defaults: {enforceVersion: latest}}'),
      `${at}.config[0].configuration.defaults.enforceVersion: unknown key (hint: did you mean "enforce-version"?)`,
    ],
    [
      'an exemption in the singular',
      security('{exemptions: {namespace: [kube-system]}}'),
      `${at}.config[0].configuration.exemptions.namespace: unknown key (hint: did you mean "namespaces"?)`,
    ],
    [
      'a namespace that is none',
      security('{exemptions: {namespaces: [Kube_System, a, a]}}'),
      `${at}.config[0].configuration.exemptions.namespaces[0]: not the name of a namespace\n${at}.config[0].configuration.exemptions.namespaces[2]: is given twice`,
    ],
    [
      'defaults that are a text',
      security('{defaults: baseline}'),
      `${at}.config[0].configuration.defaults: must be an object`,
    ],
    [
      'a limit without its numbers',
      config('EventRateLimit', '{limits: [{type: Cluster, qps: 0}]}'),
      `${at}.config[0].configuration.limits[0].burst: must be a positive whole number\n${at}.config[0].configuration.limits[0].type: not a type of limit (hint: one of Server, Namespace, User, SourceAndObject)\n${at}.config[0].configuration.limits[0].qps: must be a positive whole number`,
    ],
    [
      'no limits',
      config('EventRateLimit', '{}'),
      `${at}.config[0].configuration.limits: must be a list of limits (hint: such as limits: [{type: Server, qps: 5000, burst: 20000}])`,
    ],
    [
      'EventRateLimit without a configuration',
      init('admission: {enable: [EventRateLimit]}', 'v1.36.2'),
      `${at}.enable[0]: the API server does not start with EventRateLimit without its configuration (hint: add one for EventRateLimit to config)`,
    ],
    [
      'ImagePolicyWebhook without a configuration',
      init('admission: {enable: [ImagePolicyWebhook]}', 'v1.36.2'),
      `${at}.enable[0]: the API server does not start with ImagePolicyWebhook without its configuration (hint: add one for ImagePolicyWebhook to config)`,
    ],
    [
      'an image policy for an hour',
      config('ImagePolicyWebhook', '{imagePolicy: {kubeConfigFile: /a, allowTTL: 3600}}'),
      `${at}.config[0].configuration.imagePolicy.allowTTL: must be a whole number up to 1800`,
    ],
  ];
  for (const [what, body, expected] of refused)
    test(`${what} is refused`, async () => {
      assert.equal((await problemsOf(body)).map((problem) => problem.replace(/^\S+ +/, '')).join('\n'), expected);
    });

  test('a user name of claims.email needs claims.email_verified', async () => {
    const jwt = (expression: string, more = '') =>
      init(
        `authentication: {structured: {jwt: [{issuer: {url: "https://id.example", audiences: [a]}, claimMappings: {username: {expression: '${expression}'}}${more}}]}}`,
        'v1.36.2',
      );
    const [problem] = await problemsOf(jwt('claims.email'));
    assert.match(problem ?? '', /username\.expression: claims\.email needs claims\.email_verified, here or in/);
    for (const accepted of [
      jwt('claims.email_verified ? claims.email : ""'),
      jwt('claims.email', ', claimValidationRules: [{expression: "claims.?email_verified.orValue(true) == true"}]'),
      jwt('claims.sub + "claims.email"'),
      jwt('claims.emails[0]'),
    ]) {
      assert.deepEqual(await problemsOf(accepted), [], accepted);
    }
  });

  test('that exempt kube-system, or say nothing of it, are accepted', async () => {
    for (const configuration of [
      `{defaults: {enforce: baseline, enforce-version: v1.36}, ${EXEMPT}}`,
      '{defaults: {audit: restricted, warn: baseline}}',
      '{defaults: {enforce: privileged}}',
      '{defaults: {enforce: restricted}, exemptions: {usernames: ["system:node:cp-1"]}}',
    ]) {
      const { warnings } = await loaded(security(configuration));
      assert.deepEqual(warnings, [], configuration);
    }
  });

  test('that forbid what is in kube-system get a warning', async () => {
    for (const level of ['baseline', 'restricted']) {
      const { warnings } = await loaded(security(`{defaults: {enforce: ${level}}, exemptions: {namespaces: [a]}}`));
      assert.deepEqual(
        warnings.map(({ message }) => message),
        [
          `${level} forbids kube-proxy, pod networks and the mirror pods of the control plane, which are in kube-system`,
        ],
      );
    }
  });
});

describe("the API server's files: an invalid one is refused before any change", () => {
  const cases: readonly (readonly [what: string, body: string, problem: RegExp])[] = [
    ['a level that does not exist', init(audit('{level: Everything}')), /audit\.policy\.rules\[0\]\.level/],
    ['a rule without a level', init(audit('{users: [a]}')), /audit\.policy\.rules\[0\]\.level: expected one of None/],
    ['a policy without rules', init(audit('')), /audit\.policy\.rules: a policy without rules/],
    ['a stage that does not exist', init(audit('{level: None, omitStages: [Later]}')), /omitStages\[0\]/],
    [
      'a group with its version',
      init(audit('{level: None, resources: [{group: apps/v1}]}')),
      /resources\[0\]\.group: (?:".+" is )?not an API group/,
    ],
    [
      'names without the resources that have them',
      init(audit('{level: None, resources: [{resourceNames: [a]}]}')),
      /resources\[0\]: resourceNames need the resources/,
    ],
    [
      'a URL with a wildcard amid it',
      init(audit('{level: None, nonResourceURLs: ["/a*/b"]}')),
      /nonResourceURLs\[0\]: (?:".+" is )?not a URL path/,
    ],
    [
      'URLs together with resources',
      init(audit('{level: None, nonResourceURLs: ["/healthz*"], namespaces: [a]}')),
      /rules\[0\]: nonResourceURLs exclude resources and namespaces/,
    ],
    [
      'managed fields before 1.23',
      init(audit('{level: None, omitManagedFields: true}'), 'v1.22.3'),
      /omitManagedFields: needs Kubernetes 1\.23/,
    ],
    ['events that go nowhere', init('audit: {policy: {rules: [{level: None}]}}'), /audit: events would go nowhere/],
    ['half a day', init(audit('{level: None}', 'log: {maxAge: 12h}')), /log\.maxAge: the API server counts whole days/],
    ['half a Mi', init(audit('{level: None}', 'log: {maxSize: 100K}')), /log\.maxSize: the API server counts whole Mi/],
    [
      'a log in the root directory',
      init(audit('{level: None}', 'log: {path: /audit.log}')),
      /log\.path: its directory is mounted/,
    ],
    [
      'a webhook without TLS',
      init(audit('{level: None}', 'webhook: {server: "http://a.example"}')),
      /webhook\.server: (?:".+" is )?not an https URL/,
    ],

    [
      'a key of 16 bytes for secretbox',
      init(encryption(`{secretbox: {keys: [{name: a, key: ${Buffer.alloc(16, 7).toString('base64')}}]}}`)),
      /keys\[0\]\.key: a key of 16 bytes, and secretbox takes base64 of 32 random bytes/,
    ],
    [
      'a key that is not base64',
      init(encryption('{aescbc: {keys: [{name: a, key: "not base64!"}]}}')),
      /keys\[0\]\.key: not base64/,
    ],
    [
      'a key that is a secret of the document and too short',
      `secrets: {k: {value: ${Buffer.alloc(8, 7).toString('base64')}}}\n${init(encryption('{aescbc: {keys: [{name: a, key: {secret: k}}]}}'))}`,
      /keys\[0\]\.key: a key of 8 bytes/,
    ],
    [
      'a secret that does not exist',
      init(encryption('{secretbox: {keys: [{name: a, key: {secret: gone}}]}}')),
      /no secret of the name/,
    ],
    ['no key', init(encryption('{secretbox: {keys: []}}')), /secretbox\.keys: at least one key/],
    [
      'two keys of a name',
      init(encryption(`{secretbox: {keys: [{name: a, key: "${KEY}"}, {name: a, key: "${KEY}"}]}}`)),
      /keys\[1\]\.name: a second key "a"/,
    ],
    ['no provider', init('encryptionAtRest: {providers: []}'), /providers: at least one provider/],
    [
      'two kinds in one provider',
      init(encryption(`{identity: {}, secretbox: {keys: [{name: a, key: "${KEY}"}]}}`)),
      /providers\[0\]: secretbox and identity exclude each other/,
    ],
    [
      'a KMS that is no socket',
      init(encryption('{kms: {name: a, endpoint: "tcp://10.0.0.1:1"}}')),
      /kms\.endpoint: (?:".+" is )?not a socket/,
    ],
    [
      'KMS v2 before 1.27',
      init(encryption('{kms: {name: a, endpoint: "unix:///run/kms.sock"}}'), 'v1.26.1'),
      /kms: KMS v2 needs Kubernetes 1\.27/,
    ],
    [
      'KMS v1 since 1.29',
      init(encryption('{kms: {name: a, endpoint: "unix:///run/kms.sock", version: v1}}')),
      /kms\.version: KMS v1 is switched off/,
    ],
    [
      'resources in capitals',
      init(encryption('{identity: {}}', ', resources: [Secrets]')),
      /resources\[0\]: a resource is written in lower case/,
    ],
    [
      'resources that a wildcard masks',
      init(encryption('{identity: {}}', ', resources: ["*.", secrets]')),
      /resources\[1\]: secrets is named twice/,
    ],
    [
      'a wildcard before 1.27',
      init(encryption('{identity: {}}', ', resources: ["*.*"]'), 'v1.26.1'),
      /resources\[0\]: needs Kubernetes 1\.27/,
    ],

    [
      'structured authentication before 1.29',
      init(`authentication: {structured: {jwt: [${JWT}]}}`, 'v1.28.1'),
      /authentication\.structured: needs Kubernetes 1\.29/,
    ],
    [
      'structured authentication in 1.29 without its gate',
      init(`authentication: {structured: {jwt: [${JWT}]}}`, 'v1.29.1'),
      /needs the feature gate StructuredAuthenticationConfiguration/,
    ],
    [
      'rules for anonymous requests before 1.31',
      init('authentication: {structured: {anonymous: {enabled: true, paths: [/readyz]}}}', 'v1.30.1'),
      /anonymous: needs Kubernetes 1\.31/,
    ],
    [
      'a claim without its prefix',
      init(
        'authentication: {structured: {jwt: [{issuer: {url: "https://id.example", audiences: [a]}, claimMappings: {username: {claim: sub}}}]}}',
      ),
      /username: a claim needs its prefix/,
    ],
    [
      'a claim and an expression',
      init(
        'authentication: {structured: {jwt: [{issuer: {url: "https://id.example", audiences: [a]}, claimMappings: {username: {claim: sub, prefix: "", expression: x}}}]}}',
      ),
      /username: claim and expression exclude each other/,
    ],
    [
      'an issuer given twice',
      init(`authentication: {structured: {jwt: [${JWT}, ${JWT}]}}`),
      /jwt\[1\]\.issuer\.url: this issuer is given twice/,
    ],
    [
      'structured authentication beside its flags',
      init(`args: [{name: oidc-issuer-url, value: "https://a"}], authentication: {structured: {jwt: [${JWT}]}}`),
      /args\[0\]: oidc-issuer-url and .*authentication\.structured exclude each other/,
    ],
    [
      'two proofs of who asks',
      init(
        `authentication: {webhook: {${WEBHOOK}, token: abcdef, clientCertificate: {certificate: ${PEM}, key: abcdef}}}`,
      ),
      /authentication\.webhook: token and clientCertificate exclude each other/,
    ],

    [
      'structured authorization before 1.30',
      init(structured(NODE_AND_RBAC), 'v1.29.1'),
      /authorization\.structured: needs Kubernetes 1\.30/,
    ],
    [
      'authorizers without Node',
      init(structured('{type: RBAC, name: rbac}')),
      /authorization\.structured: Node must be among the authorizers/,
    ],
    [
      'a webhook that is none',
      init(structured(`${NODE_AND_RBAC}, {type: Webhook, name: a}`)),
      /structured\[2\]: the type Webhook needs "webhook"/,
    ],
    [
      'a webhook that takes too long',
      init(
        structured(
          `${NODE_AND_RBAC}, {type: Webhook, name: a, webhook: {${WEBHOOK}, failurePolicy: Deny, timeout: 31s}}`,
        ),
      ),
      /timeout: must be above 0s and at most 30s/,
    ],
    [
      'modes without RBAC',
      init(`authorization: {modes: [Node, Webhook], webhook: {${WEBHOOK}}}`),
      /authorization\.modes: RBAC must be among them/,
    ],
    [
      'structured and modes',
      init(`authorization: {modes: [Node, RBAC, Webhook], structured: [${NODE_AND_RBAC}]}`),
      /authorization: structured excludes webhook and modes/,
    ],
    [
      'an argument that says the same',
      init(`args: [{name: authorization-mode, value: RBAC}], authorization: {webhook: {${WEBHOOK}}}`),
      /args\[0\]: authorization-mode and .*authorization exclude each other/,
    ],

    [
      'a plugin that does not exist',
      init('admission: {enable: [PodSecurityy]}'),
      /enable\[0\]: no admission plugin of Kubernetes 1\.35 is called "PodSecurityy".*did you mean "PodSecurity"/,
    ],
    ['a plugin that is gone', init('admission: {enable: [PodSecurityPolicy]}'), /enable\[0\]: no admission plugin/],
    [
      'a plugin enabled and disabled',
      init('admission: {enable: [Priority], disable: [Priority]}'),
      /enable\[0\]: Priority is disabled, too/,
    ],
    [
      'a version of the plugin configuration',
      init('admission: {config: [{plugin: PodSecurity, configuration: {apiVersion: v1}}]}'),
      /configuration: apiVersion and kind are chosen/,
    ],
    [
      'a volume of our name',
      init(`volumes: [{name: encryption, hostPath: /a, mountPath: /a}], ${encryption('{identity: {}}')}`),
      /volumes\[0\]\.name: a volume of machineadm has the name/,
    ],
    [
      'files for a program of its own',
      init(audit('{level: None}'), 'v1.35.2', ', bootstrapper: {exec: {command: k3s, args: []}}'),
      /apiServer\.audit: has no effect/,
    ],
  ];
  for (const [what, body, problem] of cases) {
    test(what, async () => {
      const problems = await problemsOf(body);
      assert.match(problems.join('\n'), problem);
    });
  }

  test('a key is never shown', async () => {
    const key = Buffer.alloc(20, 'geheim').toString('base64');
    const problems = await problemsOf(init(encryption(`{secretbox: {keys: [{name: a, key: "${key}"}]}}`)));
    assert.equal(problems.length, 1);
    assert.doesNotMatch(problems.join(), new RegExp(key));
  });
});

describe("the API server's files in the model", () => {
  async function apiServerOf(apiServer: string): Promise<KubernetesModel['controlPlane']['apiServer']> {
    const { kubernetes } = (await loaded(init(apiServer))).model;
    assert.ok(kubernetes);
    return kubernetes.controlPlane.apiServer;
  }

  test('defaults: a log that is rotated, secrets, KMS v2, both built-in authorizers first', async () => {
    const asked = `${audit('{level: Metadata}')}, ${encryption('{kms: {name: a, endpoint: "unix:///run/kms.sock"}}')}, authorization: {webhook: {${WEBHOOK}}}`;
    const { audit: audited, encryptionAtRest, authorization } = await apiServerOf(asked);
    assert.deepEqual(audited?.log, {
      path: '/var/log/kubernetes/audit/audit.log',
      maxAgeDays: 30,
      maxBackups: 10,
      maxSizeMi: 100,
      mode: undefined,
    });
    assert.deepEqual(encryptionAtRest, {
      resources: ['secrets'],
      providers: [{ kind: 'kms', name: 'a', socket: '/run/kms.sock', timeoutMs: 3000, version: 'v2' }],
    });
    assert.deepEqual(authorization?.kind === 'webhook' && authorization.modes, ['Node', 'RBAC', 'Webhook']);
  });

  test('keys and tokens are secrets', async () => {
    const asked = `${encryption(`{secretbox: {keys: [{name: a, key: "${KEY}"}]}}`)}, authentication: {webhook: {${WEBHOOK}, token: a-token-of-mine}}`;
    const text = JSON.stringify(await apiServerOf(asked));
    assert.doesNotMatch(text, /BwcH|a-token-of-mine/);
    assert.match(text, /encryptionAtRest\.providers\[0\]\.secretbox\.keys\[0\]\.key/);
  });

  test('in 1.29 structured authentication is taken with its gate', async () => {
    const gate = 'args: [{name: feature-gates, value: "StructuredAuthenticationConfiguration=true"}]';
    assert.deepEqual(await problemsOf(init(`${gate}, authentication: {structured: {jwt: [${JWT}]}}`, 'v1.29.1')), []);
  });
});
