import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiServerFilesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { apiServerComponent } from '@machineadm/kubeadm/api-server-component.ts';
import { renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { apiServerPaths } from '../../../../src/kubernetes/api-server/files.ts';
import { apiServerModel, WEBHOOK } from '../../../support/api-server-model.ts';
import { load } from '../../../support/document.ts';
import { inlineSecret, kubeadmOf, revealInline } from '../../../support/kubernetes-model.ts';

const kms = (name: string, socket: string) => ({ kind: 'kms', name, socket, timeoutMs: 3000, version: 'v2' }) as const;

/** Everything that can be asked for at once, but for what excludes something else. */
const EVERYTHING: ApiServerFilesModel = {
  audit: {
    policy: { rules: [{ level: 'None' }] },
    log: { path: '/srv/audit/a.log', maxAgeDays: 30, maxBackups: 10, maxSizeMi: 100, mode: 'BlockingStrict' },
    webhook: { ...WEBHOOK, mode: 'Batch' },
  },
  encryptionAtRest: {
    resources: ['secrets'],
    providers: [kms('a', '/run/kms/a.sock'), kms('b', '/run/kms/b.sock'), kms('c', '/srv/kms/c.sock')],
  },
  authentication: {
    webhook: { ...WEBHOOK, version: 'v1', cacheTTLMs: 90_000 },
    structured: { jwt: [], anonymous: undefined },
  },
  authorization: {
    kind: 'webhook',
    modes: ['Node', 'RBAC', 'Webhook'],
    webhook: { ...WEBHOOK, version: 'v1', authorizedTTLMs: 60_000, unauthorizedTTLMs: undefined },
  },
  admission: {
    enable: ['EventRateLimit'],
    disable: ['Priority'],
    config: [{ plugin: 'PodSecurity', configuration: {} }],
  },
};

function component(files: Partial<ApiServerFilesModel>) {
  return apiServerComponent(apiServerModel(files).controlPlane.apiServer);
}

describe("the API server's arguments and volumes", () => {
  test('are empty without a section in the document', () => {
    assert.deepEqual(component({}), { args: [], env: [], volumes: [] });
  });

  test('every section has its arguments', () => {
    const { args } = component(EVERYTHING);
    assert.deepEqual(
      args.map(({ name, value }) => `${name}=${value}`),
      [
        'audit-policy-file=/etc/kubernetes/audit-policy.yaml',
        'audit-log-path=/srv/audit/a.log',
        'audit-log-maxage=30',
        'audit-log-maxbackup=10',
        'audit-log-maxsize=100',
        'audit-log-mode=blocking-strict',
        'audit-webhook-config-file=/etc/kubernetes/audit-webhook.conf',
        'audit-webhook-mode=batch',
        'encryption-provider-config=/etc/kubernetes/encryption/config.yaml',
        'authentication-token-webhook-config-file=/etc/kubernetes/authentication/webhook.conf',
        'authentication-token-webhook-version=v1',
        'authentication-token-webhook-cache-ttl=1m30s',
        'authentication-config=/etc/kubernetes/authentication/config.yaml',
        'authorization-mode=Node,RBAC,Webhook',
        'authorization-webhook-config-file=/etc/kubernetes/authorization/webhook.conf',
        'authorization-webhook-version=v1',
        'authorization-webhook-cache-authorized-ttl=1m0s',
        'enable-admission-plugins=NodeRestriction,EventRateLimit',
        'disable-admission-plugins=Priority',
        'admission-control-config-file=/etc/kubernetes/admission/config.yaml',
      ],
    );
  });

  test('each file that is written is mounted; only the log may be written', () => {
    const { volumes } = component(EVERYTHING);
    for (const path of apiServerPaths(apiServerModel(EVERYTHING))) {
      assert.ok(
        volumes.some(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`)),
        path,
      );
    }
    assert.deepEqual(
      volumes.filter(({ readOnly }) => !readOnly).map(({ hostPath }) => hostPath),
      ['/srv/audit'],
    );
    assert.deepEqual(
      volumes.filter(({ name }) => name.startsWith('kms-')).map(({ hostPath }) => hostPath),
      ['/run/kms', '/srv/kms'],
      'a directory with two sockets is mounted once',
    );
    assert.equal(new Set(volumes.map(({ name }) => name)).size, volumes.length);
  });

  test('a section wins over what others add to the arguments and volumes', () => {
    const { controlPlane } = apiServerModel({ audit: EVERYTHING.audit });
    const { args, volumes } = apiServerComponent({
      ...controlPlane.apiServer,
      args: [
        { name: 'audit-log-maxage', value: '7' },
        { name: 'profiling', value: 'false' },
      ],
      volumes: [{ name: 'x', hostPath: '/x', mountPath: '/srv/audit', readOnly: true, pathType: undefined }],
    });
    assert.deepEqual(
      args.filter(({ name }) => name === 'audit-log-maxage' || name === 'profiling').map(({ value }) => value),
      ['30', 'false'],
    );
    assert.ok(!volumes.some(({ name }) => name === 'x'));
  });

  test('what the sections set is refused as an argument beside them', async () => {
    const key = Buffer.alloc(32, 7).toString('base64');
    const sections = `audit: {policy: {rules: [{level: None}]}, log: {mode: Batch}, webhook: {server: "https://a.example", mode: Batch}},
      encryptionAtRest: {providers: [{secretbox: {keys: [{name: a, key: "${key}"}]}}]},
      authentication: {webhook: {server: "https://a.example"}, structured: {jwt: []}},
      authorization: {webhook: {server: "https://a.example"}},
      admission: {enable: [AlwaysPullImages], disable: [Priority], config: [{plugin: PodSecurity, configuration: {}}]}`;
    for (const { name } of component(EVERYTHING).args) {
      const result = await load(
        `apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a}\nkubernetes: {version: v1.35.2, role: InitControlPlane, controlPlane: {apiServer: {args: [{name: ${name}, value: x}], ${sections}}}}`,
      );
      assert.ok(!result.ok, name);
      // The value is none that the argument takes; that is another problem.
      const others = result.problems.filter(({ path }) => !path.endsWith('.value'));
      assert.deepEqual(
        others.map(({ path }) => path),
        ['kubernetes.controlPlane.apiServer.args[0]'],
        name,
      );
    }
  });

  test('kubeadm says them in the words of each version, and holds no key', () => {
    const key = Buffer.alloc(32, 7).toString('base64');
    const providers = [{ kind: 'secretbox', keys: [{ name: 'a', key: inlineSecret(key) }] } as const];
    const kubernetes = apiServerModel({ encryptionAtRest: { resources: ['secrets'], providers } });
    for (const [version, words] of [
      ['1.20.2', 'encryption-provider-config: /etc/kubernetes/encryption/config.yaml'],
      ['1.30.0', 'encryption-provider-config: /etc/kubernetes/encryption/config.yaml'],
      ['1.31.0', '- name: encryption-provider-config\n      value: /etc/kubernetes/encryption/config.yaml'],
    ] as const) {
      const { text } = renderKubeadm({ kubernetes, kubeadm: kubeadmOf(version), secrets: revealInline });
      assert.ok(text.includes(words), text);
      assert.ok(!text.includes(key));
    }
  });

  test('structured authorization needs a kubeadm that leaves the modes out', () => {
    const authorizers = [{ type: 'Node' as const, name: 'node', webhook: undefined }];
    const kubernetes = apiServerModel({ authorization: { kind: 'structured', authorizers } });
    const render = (version: string) =>
      renderKubeadm({ kubernetes, kubeadm: kubeadmOf(version), secrets: revealInline }).text;
    assert.throws(
      () => render('1.29.9'),
      (error) =>
        error instanceof MachineadmError &&
        error.reason === 'NotExpressible' &&
        /apiServer\.authorization\.structured/.test(error.message),
    );
    assert.match(render('1.30.0'), /authorization-config: \/etc\/kubernetes\/authorization\/config\.yaml/);
    assert.doesNotMatch(render('1.30.0'), /authorization-mode/);
  });
});
