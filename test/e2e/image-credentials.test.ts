import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { GATEWAY } from '../../scripts/lab/host-changes.ts';
import { initDocument, merge, newSeeds } from '../support/documents.ts';
import { type ImageRegistry, startRegistry } from '../support/image-registry.ts';
import { Fleet, LAB, type Node } from '../support/lab.ts';
import { RELEASE } from '../support/lab-release.ts';
import { needs } from '../support/needs.ts';
import { provisionTwice } from '../support/twice.ts';

const MINUTE = 60_000;
const PROGRAMS = '/usr/local/libexec/credential-providers';
const CONFIG = '/etc/kubernetes/credential-providers.yaml';
/** The API of credential providers is v1 from 1.26 on. */
const withProviders = RELEASE.minor < 26 ? 'needs MACHINEADM_LAB_KUBERNETES=v1.26 or newer' : false;

/** A provider as clouds have it: asked on stdin for an image, it answers with credentials of its registry. */
const PROVIDER = `#!/bin/sh
image=$(sed 's/.*"image":"\\([^"/]*\\).*/\\1/')
printf '{"apiVersion":"credentialprovider.kubelet.k8s.io/v1","kind":"CredentialProviderResponse","cacheKeyType":"Registry",'
printf '"cacheDuration":"1h","auth":{"%s":{"username":"puller","password":"%s"}}}' "$image" "$(cat /etc/registry-password)"
`;

describe('credentials for images by a provider of the kubelet', {
  skip: needs(...LAB, 'MACHINEADM_E2E=all') || withProviders,
  timeout: 40 * MINUTE,
}, () => {
  const seeds = newSeeds();
  let registry: ImageRegistry;
  let node: Node;

  after(async () => await registry?.[Symbol.asyncDispose]());
  const fleet = Fleet.ofSuite(async () => {
    node = await fleet.start({ name: 'e2e-ic1', ip: '10.99.0.79' });
    registry = await startRegistry({ address: GATEWAY, credentials: `puller:${seeds.certificateKey}` });
  });

  test('the kubelet pulls an image that nobody else may pull', { timeout: 15 * MINUTE }, async () => {
    const host = new URL(registry.url).host;
    const image = `${host}/private/app:1`;
    const document = merge(initDocument(node.site, seeds), {
      host: {
        directories: [{ path: PROGRAMS }],
        files: [
          { path: `${PROGRAMS}/lab`, content: PROVIDER, mode: '0755' },
          { path: '/etc/registry-password', contentFrom: { secret: 'certificateKey' } },
          {
            path: CONFIG,
            content: JSON.stringify({
              apiVersion: 'kubelet.config.k8s.io/v1',
              kind: 'CredentialProviderConfig',
              providers: [
                {
                  name: 'lab',
                  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
                  matchImages: [host],
                  defaultCacheDuration: '1h',
                },
              ],
            }),
          },
        ],
      },
      containerRuntime: { containerd: { registries: [{ host, mirrors: [{ url: registry.url }] }] } },
      kubernetes: {
        node: {
          imagePullPolicy: 'IfNotPresent',
          kubelet: {
            args: [
              { name: 'image-credential-provider-config', value: CONFIG },
              { name: 'image-credential-provider-bin-dir', value: PROGRAMS },
            ],
          },
        },
        controlPlane: {
          staticPods: [
            {
              name: 'app',
              manifest: JSON.stringify({
                apiVersion: 'v1',
                kind: 'Pod',
                metadata: { name: 'app', namespace: 'kube-system' },
                spec: { hostNetwork: true, containers: [{ name: 'app', image, imagePullPolicy: 'Always' }] },
              }),
            },
          ],
        },
      },
    });
    await provisionTwice(node, document, seeds);
    const pulled = `until ctr --namespace k8s.io images list --quiet | grep -qF ${image}; do sleep 1; done`;
    await node.machine.shell(pulled, { timeoutMs: 3 * MINUTE });
    assert.ok(registry.requests.some((request) => request.startsWith('GET /v2/private/app/blobs/')));
  });
});
