import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CONTROLS } from '@machineadm/hardening/controls/index.ts';
import { editManifest, type ManifestEdit } from '@machineadm/hardening/manifest.ts';
import { remediationsFor } from '@machineadm/hardening/remediate.ts';
import { observe } from '../../../../src/kubernetes/hardening/observe.ts';
import { fixture, nodeOf } from '../../../support/hardened-machine.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import type { MemoryFile } from '../../../support/memory-host.ts';

/** What is done to the API server of kubeadm that was given these arguments. */
async function edits(
  id: string,
  args: Readonly<Record<string, string>>,
  files: Readonly<Record<string, MemoryFile>> = {},
): Promise<readonly ManifestEdit[]> {
  const controls = CONTROLS.filter((control) => control.id === id);
  const set = Object.entries(args).map(([name, value]) => ({ kind: 'set', name, value }) as const);
  const manifest = { content: await editManifest(fixture('kube-apiserver.yaml'), set), mode: 0o600 };
  const host = await nodeOf('control-plane', { '/etc/kubernetes/manifests/kube-apiserver.yaml': manifest, ...files });
  const wanted = { kubernetes: kubernetesModel({}), host: { hostname: undefined }, hostname: 'node-1' };
  return remediationsFor(controls, await observe(host, controls, 33), wanted).manifests.get('kube-apiserver') ?? [];
}

describe('what stands in a file of the API server', () => {
  const path = '/etc/kubernetes/pki/file.yaml';

  test('PodSecurity that was switched off is switched on, and its configuration stays', async () => {
    const args = {
      'admission-control-config-file': path,
      'disable-admission-plugins': 'DefaultIngressClass,PodSecurity',
    };
    const found = await edits('stig-V-254800', args, { [path]: { content: 'plugins: [{name: PodSecurity}]' } });
    assert.deepEqual(found, [{ kind: 'set', name: 'disable-admission-plugins', value: 'DefaultIngressClass' }]);
  });

  test('anonymous requests that the file decides on get no argument, which the API server would refuse', async () => {
    const args = { 'authentication-config': path };
    assert.deepEqual(await edits('cis-1.2.1', args, { [path]: { content: 'anonymous: {enabled: true}' } }), []);
    const silent = await edits('cis-1.2.1', args, { [path]: { content: 'jwt: []' } });
    assert.deepEqual(silent, [{ kind: 'set', name: 'anonymous-auth', value: 'false' }]);
  });
});
