import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { GATEWAY } from '../../scripts/lab/host-changes.ts';
import { type DocumentTree, initDocument, merge, newSeeds } from '../support/documents.ts';
import { type KmsPlugin, startKmsPlugin } from '../support/kms-plugin.ts';
import { assertSucceeded, Fleet, KUBECTL, LAB, type Node } from '../support/lab.ts';
import { RELEASE } from '../support/lab-release.ts';
import { needs } from '../support/needs.ts';
import { readEtcd } from '../support/read-etcd.ts';
import { provisionTwice } from '../support/twice.ts';

const MINUTE = 60_000;
const SOCKET = '/run/kms/kms.sock';
/** The protocol v2 is on by default from 1.29 on. */
const withKms = RELEASE.minor < 29 ? 'needs MACHINEADM_LAB_KUBERNETES=v1.29 or newer' : false;

describe('encryption at rest by a KMS plug-in', {
  skip: needs(...LAB, 'MACHINEADM_E2E=all') || withKms,
  timeout: 40 * MINUTE,
}, () => {
  const seeds = newSeeds();
  let plugin: KmsPlugin;
  let node: Node;
  let document: DocumentTree;

  after(async () => await plugin?.[Symbol.asyncDispose]());
  const fleet = Fleet.ofSuite(async () => {
    node = await fleet.start({ name: 'e2e-kms1', ip: '10.99.0.78' });
    plugin = await startKmsPlugin(GATEWAY);
    document = merge(initDocument(node.site, seeds), {
      kubernetes: {
        controlPlane: {
          apiServer: {
            encryptionAtRest: {
              providers: [{ kms: { name: 'lab', endpoint: `unix://${SOCKET}` } }, { identity: {} }],
            },
          },
        },
      },
    });
  });

  test('what etcd stores can be read with its key alone', { timeout: 15 * MINUTE }, async () => {
    // The socket of the machine is relayed to the plug-in, which runs beside the test.
    await node.machine.write('/etc/systemd/system/kms.socket', `[Socket]\nListenStream=${SOCKET}\nSocketMode=0600\n`);
    await node.machine.write(
      '/etc/systemd/system/kms.service',
      `[Service]\nExecStart=/lib/systemd/systemd-socket-proxyd ${GATEWAY}:${plugin.port}\n`,
    );
    const started = merge(document, { host: { services: [{ name: 'kms.socket', state: 'Started' }] } });
    await provisionTwice(node, started, seeds);

    await node.machine.shell(`${KUBECTL} create secret generic one --from-literal=word=from-the-kms`);
    const stored = await readEtcd(node, '/registry/secrets/default/one');
    assert.match(stored, /^k8s:enc:kms:v2:lab:/);
    assert.doesNotMatch(stored, /from-the-kms/);
    assert.ok(plugin.calls().encrypted > 0, 'the plug-in encrypted');

    // A new API server has no keys in its memory: it must ask the plug-in.
    const before = plugin.calls().decrypted;
    await node.machine.shell('kill $(pgrep -x kube-apiserver)');
    await node.machine.shell(`until ${KUBECTL} get --raw /readyz; do sleep 1; done`, { timeoutMs: 5 * MINUTE });
    const read = await node.machine.shell(`${KUBECTL} get secret one -o jsonpath={.data.word} | base64 -d`);
    assert.equal(read, 'from-the-kms');
    assert.ok(plugin.calls().decrypted > before, 'the plug-in decrypted');
    await assertSucceeded(node, await node.provision());
  });
});
