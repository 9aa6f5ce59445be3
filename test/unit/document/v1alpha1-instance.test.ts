import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { revealInline } from '../../support/kubernetes-model.ts';

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a}\n';

/** @param values of the variables; without them nobody is asked, as in `validate` */
async function load(sections: string, values?: Readonly<Record<string, string>>) {
  const result = await loadDocument([{ name: 'd', bytes: Buffer.from(HEADER + sections) }], {
    agentVersion: '0.1.0',
    ...(values === undefined ? {} : { resolveVariables: async (name: string) => ({ value: values[name] }) }),
  });
  return result.ok ? result.document : assert.fail(result.problems.map(formatDiagnostic).join('\n'));
}

describe('variables in hooks', () => {
  const hooks = (expand: string) => `
variables: {rack: {instanceData: ds.meta_data.rack}}
host: {hooks: {beforeBootstrap: {${expand}commands: ['echo \${rack} $\${rack} \${other}']}}}`;

  test('are replaced where the group says so; $${name} stays the text of the shell', async () => {
    const { model } = await load(hooks('expand: true, ').replace(' ${other}', ''), { rack: 'r1' });
    assert.deepEqual(model.host.hooks.beforeBootstrap?.commands, ['echo r1 ${rack}']);
  });

  test('are otherwise text of the shell', async () => {
    const { model } = await load(hooks(''), { rack: 'r1' });
    assert.deepEqual(model.host.hooks.beforeBootstrap?.commands, ['echo ${rack} $${rack} ${other}']);
  });
});

describe("certificates of the cluster's PKI by variable", () => {
  const join = `
variables: {ca: {file: /run/secrets/ca.crt}, hash: {file: /run/secrets/hash}}
secrets: {token: {file: /run/secrets/token}, key: {file: /run/secrets/ca.key}}
kubernetes:
  version: v1.35.2
  role: JoinControlPlane
  pki: {ca: {certificate: '\${ca}', key: {secret: key}}}
  join: {discovery: {token: {token: {secret: token}, endpoint: 'a:6443', caCertHashes: ['\${hash}']}}}`;

  test('are not validated before their values are known', async () => {
    const { unresolved } = await load(join);
    assert.ok(unresolved.includes('kubernetes.join.discovery.token.caCertHashes[0]'));
  });

  test('are the value of the variable', async () => {
    const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
    const { model } = await load(join, { ca: pem, hash: `sha256:${'0'.repeat(64)}` });
    assert.equal(model.kubernetes?.pki.ca?.certificate, pem);
  });

  test('are validated once their values are known', async () => {
    await assert.rejects(load(join, { ca: 'rubbish', hash: `sha256:${'0'.repeat(64)}` }), /not a PEM certificate/);
  });
});

test('a component takes its environment from the pod it runs in', async () => {
  const { model } = await load(`
kubernetes:
  version: v1.35.2
  role: InitControlPlane
  controlPlane:
    apiServer:
      env:
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: CPUS, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: '1'}}}`);
  assert.ok(model.kubernetes);
  const kubeadm = parseVersion('v1.35.2');
  assert.ok(kubeadm);
  const { documents } = renderKubeadm({ kubernetes: model.kubernetes, kubeadm, secrets: revealInline });
  const [cluster] = documents as { apiServer?: { extraEnvs?: unknown } }[];
  assert.deepEqual(cluster?.apiServer?.extraEnvs, [
    { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    { name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1' } } },
  ]);
});
