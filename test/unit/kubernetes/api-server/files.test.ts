import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiServerFilesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { parse } from 'yaml';
import { apiServerFiles, apiServerPaths, apiServerSecrets } from '../../../../src/kubernetes/api-server/files.ts';
import { apiServerModel, WEBHOOK } from '../../../support/api-server-model.ts';
import { inlineSecret, revealInline } from '../../../support/kubernetes-model.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');

function files(asked: Partial<ApiServerFilesModel>, version?: string): Record<string, ReturnType<typeof parse>> {
  const model = apiServerModel(asked, version === undefined ? {} : { version });
  const rendered = apiServerFiles(model, revealInline);
  return Object.fromEntries(rendered.map(({ path, content }) => [path, parse(String(content))]));
}

const jwt = (audiences: string[]) => ({ issuer: { url: 'https://id.example', audiences }, claimMappings: {} });

describe("the API server's files", () => {
  test('a worker has none, and a joining control plane has the same as the first', () => {
    const audit = { policy: { rules: [{ level: 'None' }] }, log: undefined, webhook: undefined };
    assert.deepEqual(apiServerPaths(apiServerModel({ audit }, { role: 'Worker' })), []);
    assert.deepEqual(
      apiServerFiles(apiServerModel({ audit }, { role: 'JoinControlPlane' }), revealInline),
      apiServerFiles(apiServerModel({ audit }), revealInline),
    );
  });

  test('are for root alone, and so are their directories', () => {
    const structured = { jwt: [], anonymous: undefined };
    const model = apiServerModel({
      audit: { policy: { rules: [{ level: 'None' }] }, log: undefined, webhook: undefined },
      authentication: { webhook: undefined, structured },
    });
    assert.deepEqual(
      apiServerFiles(model, revealInline).map(({ path, mode, directoryMode }) => [path, mode, directoryMode]),
      [
        ['/etc/kubernetes/audit-policy.yaml', 0o600, 0o755],
        ['/etc/kubernetes/authentication/config.yaml', 0o600, 0o700],
      ],
    );
  });

  test('an audit policy gets the type that it is of', () => {
    const policy = { rules: [{ level: 'Metadata', users: ['a'] }], omitStages: ['RequestReceived'] };
    assert.deepEqual(files({ audit: { policy, log: undefined, webhook: undefined } }), {
      '/etc/kubernetes/audit-policy.yaml': { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', ...policy },
    });
  });

  test('encryption: keys in the order given, KMS in the protocol asked for', () => {
    const keys = [{ name: 'new', key: inlineSecret(KEY) }];
    const kms = { kind: 'kms', name: 'k', socket: '/run/kms.sock', timeoutMs: 3000 } as const;
    const rendered = files({
      encryptionAtRest: {
        resources: ['secrets'],
        providers: [
          { ...kms, version: 'v2' },
          { kind: 'aescbc', keys },
          { ...kms, name: 'old', version: 'v1' },
          { kind: 'identity' },
        ],
      },
    });
    assert.deepEqual(rendered['/etc/kubernetes/encryption/config.yaml'], {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: [
        {
          resources: ['secrets'],
          providers: [
            { kms: { apiVersion: 'v2', name: 'k', endpoint: 'unix:///run/kms.sock', timeout: '3s' } },
            { aescbc: { keys: [{ name: 'new', secret: KEY }] } },
            { kms: { name: 'old', endpoint: 'unix:///run/kms.sock', timeout: '3s' } },
            { identity: {} },
          ],
        },
      ],
    });
  });

  test('a key that is found out late is checked then, and not shown', () => {
    const short = Buffer.alloc(15, 'geheim').toString('base64');
    const encryptionAtRest = {
      resources: ['secrets'],
      providers: [{ kind: 'secretbox', keys: [{ name: 'a', key: inlineSecret(short) }] } as const],
    };
    assert.throws(
      () => files({ encryptionAtRest }),
      (error) =>
        error instanceof MachineadmError &&
        error.reason === 'EncryptionConfigInvalid' &&
        error.exit === 'HostStepFailed' &&
        /key secret cannot be used: a key of 15 bytes/.test(error.message) &&
        !error.message.includes(short),
    );
    const model = apiServerModel({ encryptionAtRest });
    assert.deepEqual(apiServerPaths(model), ['/etc/kubernetes/encryption/config.yaml'], 'the path needs no key');
    assert.deepEqual(apiServerSecrets(model).map(revealInline), [short]);
  });

  test('a webhook is a kubeconfig with all of it in place', () => {
    const webhook = {
      ...WEBHOOK,
      tlsServerName: 'auth.example',
      certificateAuthority: 'CA',
      clientCertificate: { certificate: 'CERT', key: inlineSecret('KEY') },
      version: 'v1' as const,
      cacheTTLMs: undefined,
    };
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    assert.deepEqual(files({ authentication: { webhook, structured: undefined } }), {
      '/etc/kubernetes/authentication/webhook.conf': {
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          {
            name: 'webhook',
            cluster: {
              server: WEBHOOK.server,
              'tls-server-name': 'auth.example',
              'certificate-authority-data': base64('CA'),
            },
          },
        ],
        users: [
          {
            name: 'api-server',
            user: { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') },
          },
        ],
        contexts: [{ name: 'webhook', context: { cluster: 'webhook', user: 'api-server' } }],
        'current-context': 'webhook',
      },
    });
  });

  for (const [version, expected] of [
    ['v1.29.1', 'v1alpha1'],
    ['v1.30.0', 'v1beta1'],
    ['v1.33.9', 'v1beta1'],
    ['v1.34.0', 'v1'],
    ['v1.37.0', 'v1'],
  ] as const) {
    test(`structured authentication for ${version}: ${expected}`, () => {
      const structured = { jwt: [jwt(['a', 'b'])], anonymous: { enabled: true, paths: ['/readyz'] } };
      const rendered = files({ authentication: { webhook: undefined, structured } }, version);
      assert.deepEqual(rendered['/etc/kubernetes/authentication/config.yaml'], {
        apiVersion: `apiserver.config.k8s.io/${expected}`,
        kind: 'AuthenticationConfiguration',
        jwt: [
          {
            issuer: { url: 'https://id.example', audiences: ['a', 'b'], audienceMatchPolicy: 'MatchAny' },
            claimMappings: {},
          },
        ],
        anonymous: { enabled: true, conditions: [{ path: '/readyz' }] },
      });
    });
  }

  for (const [version, expected] of [
    ['v1.30.0', 'v1beta1'],
    ['v1.31.9', 'v1beta1'],
    ['v1.32.0', 'v1'],
  ] as const) {
    test(`structured authorization for ${version}: ${expected}, the webhook before what names it`, () => {
      const webhook = {
        ...WEBHOOK,
        version: 'v1' as const,
        authorizedTTLMs: 300_000,
        unauthorizedTTLMs: 30_000,
        timeoutMs: 3000,
        failurePolicy: 'Deny' as const,
        matchConditions: ['has(request.resourceAttributes)'],
      };
      const authorizers = [
        { type: 'Node' as const, name: 'node', webhook: undefined },
        { type: 'RBAC' as const, name: 'rbac', webhook: undefined },
        { type: 'Webhook' as const, name: 'team', webhook },
      ];
      const rendered = files({ authorization: { kind: 'structured', authorizers } }, version);
      assert.deepEqual(Object.keys(rendered), [
        '/etc/kubernetes/authorization/team.conf',
        '/etc/kubernetes/authorization/config.yaml',
      ]);
      const config = rendered['/etc/kubernetes/authorization/config.yaml'];
      assert.equal(config.apiVersion, `apiserver.config.k8s.io/${expected}`);
      assert.deepEqual(config.authorizers.slice(0, 2), [
        { type: 'Node', name: 'node' },
        { type: 'RBAC', name: 'rbac' },
      ]);
      assert.deepEqual(config.authorizers[2].webhook.connectionInfo, {
        type: 'KubeConfigFile',
        kubeConfigFile: '/etc/kubernetes/authorization/team.conf',
      });
      assert.deepEqual(config.authorizers[2].webhook.matchConditions, [
        { expression: 'has(request.resourceAttributes)' },
      ]);
    });
  }

  for (const [version, expected] of [
    ['v1.22.0', 'v1alpha1'],
    ['v1.23.0', 'v1beta1'],
    ['v1.25.0', 'v1'],
  ] as const) {
    test(`PodSecurity for ${version}: ${expected}`, () => {
      const config = [{ plugin: 'PodSecurity', configuration: { defaults: { enforce: 'baseline' } } }];
      const rendered = files({ admission: { enable: [], disable: [], config } }, version);
      assert.deepEqual(rendered['/etc/kubernetes/admission/config.yaml'].plugins, [
        {
          name: 'PodSecurity',
          configuration: {
            apiVersion: `pod-security.admission.config.k8s.io/${expected}`,
            kind: 'PodSecurityConfiguration',
            defaults: { enforce: 'baseline' },
          },
        },
      ]);
    });
  }
});
