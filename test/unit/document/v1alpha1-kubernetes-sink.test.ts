import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { documentSecrets } from '@machineadm/document/loading/secrets-of.ts';
import { newAuthority } from '../../support/api-server.ts';
import { loaded, problemsOf } from '../../support/document.ts';

const pem = JSON.stringify(newAuthority().certificate);
const CONFIG_MAP = 'configMap: {namespace: clusters, name: machineadm-report-m1}';
const SERVER = `server: https://10.0.0.1:6443, certificateAuthority: ${pem}`;

const sinks = (...fields: string[]) => `reporting: {sinks: [{type: Kubernetes, ${fields.join(', ')}}]}\n`;

describe('a sink of the type Kubernetes', () => {
  test('uses a token for the management cluster, and receives starts, ends and the findings of a watch', async () => {
    const document = await loaded(
      `secrets: {t: {file: /run/report-token}}\n${sinks(SERVER, 'token: {secret: t}', CONFIG_MAP)}`,
    );
    const [sink] = document.model.reporting.sinks;
    assert.ok(sink?.kind === 'Kubernetes' && 'server' in sink.access);
    assert.equal(sink.access.server, 'https://10.0.0.1:6443');
    assert.deepEqual(sink.configMap, { namespace: 'clusters', name: 'machineadm-report-m1' });
    assert.deepEqual(sink.events, ['started', 'concluded', 'readinessChanged']);
    assert.deepEqual(
      documentSecrets(document).map(({ name }) => name),
      ['secrets.t'],
    );
  });

  test('may authenticate with a certificate, whose key is a secret', async () => {
    const body = sinks(SERVER, `clientCertificate: {certificate: ${pem}, key: a-private-key}`, CONFIG_MAP);
    const document = await loaded(body);
    assert.deepEqual(
      documentSecrets(document).map(({ name }) => name),
      ['the key of the client certificate of the sink Kubernetes'],
    );
  });

  test('may get all of its settings from one kubeconfig', async () => {
    const document = await loaded(
      `secrets: {k: {systemdCredential: kc}}\n${sinks('kubeconfig: {secret: k}', CONFIG_MAP)}`,
    );
    const [sink] = document.model.reporting.sinks;
    assert.ok(sink?.kind === 'Kubernetes' && 'kubeconfig' in sink.access);
    assert.equal(sink.access.kubeconfig.name, 'secrets.k');
  });

  test('can be identical for every machine', async () => {
    const { model } = await loaded(
      `variables: {machine: {value: m7}}\n${sinks(SERVER, 'token: abcdef', 'configMap: {namespace: clusters, name: "machineadm-report-$' + '{machine}"}')}`,
    );
    const [sink] = model.reporting.sinks;
    assert.equal(sink?.kind === 'Kubernetes' ? sink.configMap.name : '', 'machineadm-report-m7');
  });

  for (const [what, body, says] of [
    ['without a server', sinks(`certificateAuthority: ${pem}`, 'token: abcdef', CONFIG_MAP), [/server is not given/]],
    [
      'without an authority: the system is not trusted in its place',
      sinks('server: https://10.0.0.1:6443', 'token: abcdef', CONFIG_MAP),
      [/certificateAuthority is not given/],
    ],
    ['without a credential', sinks(SERVER, CONFIG_MAP), [/neither token nor clientCertificate is given/]],
    [
      'with two credentials',
      sinks(SERVER, 'token: abcdef', `clientCertificate: {certificate: ${pem}, key: k}`, CONFIG_MAP),
      [/clientCertificate: token and clientCertificate exclude each other/],
    ],
    [
      'with a kubeconfig and what it says',
      sinks('kubeconfig: abcdef', 'server: https://10.0.0.1:6443', 'token: abcdef', CONFIG_MAP),
      [/\.server: the kubeconfig already has this/, /\.token: the kubeconfig already has this/],
    ],
    [
      'over plain HTTP',
      sinks('server: http://10.0.0.1:6443', `certificateAuthority: ${pem}`, 'token: abcdef', CONFIG_MAP),
      [/\.server: (?:".+" is )?not an https URL/],
    ],
    ['without a ConfigMap', sinks(SERVER, 'token: abcdef'), [/configMap/]],
    [
      'with a ConfigMap of an impossible name',
      sinks(SERVER, 'token: abcdef', 'configMap: {namespace: Clusters, name: ../secrets/x}'),
      [/configMap\.namespace/, /configMap\.name/],
    ],
  ] as const) {
    test(`is refused ${what}`, async () => {
      const problems = await problemsOf(body);
      assert.equal(problems.length, says.length, problems.join('\n'));
      for (const [index, expected] of says.entries()) assert.match(problems[index] ?? '', expected);
    });
  }
});

describe('a sink of the type Node', () => {
  test('needs nothing: the credential is the kubelet’s', async () => {
    const { model } = await loaded('reporting: {sinks: [{type: Node}]}\n');
    assert.deepEqual(model.reporting.sinks, [
      {
        kind: 'Node',
        name: 'Node',
        events: ['concluded', 'readinessChanged'],
        timeoutMs: 10_000,
        kubeconfig: undefined,
      },
    ]);
  });
});
