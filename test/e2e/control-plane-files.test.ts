import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { has } from '@machineadm/document/kubernetes-releases/features.ts';
import { GATEWAY } from '../../scripts/lab/host-changes.ts';
import { controlPlaneDocument, type DocumentTree, initDocument, merge, newSeeds } from '../support/documents.ts';
import { countedRecords, countingRecords, killAtRecord } from '../support/interrupt.ts';
import { assertFailed, assertSucceeded, Fleet, KUBECTL, LAB, type Node, provisionOnce, told } from '../support/lab.ts';
import { RELEASE } from '../support/lab-release.ts';
import { needs } from '../support/needs.ts';
import { readEtcd } from '../support/read-etcd.ts';
import { startTokenWebhook, type TokenWebhook } from '../support/token-webhook.ts';
import { assertNoLeaks, failTwice, provisionTwice } from '../support/twice.ts';

const MINUTE = 60_000;
const MANIFEST = '/etc/kubernetes/manifests/kube-apiserver.yaml';
const AUDIT_LOG = '/var/log/kubernetes/audit/audit.log';
const FILES = ['/etc/kubernetes/audit-policy.yaml', '/etc/kubernetes/encryption/config.yaml'];
const notOfCore = needs('MACHINEADM_E2E=all');

/** What is asked of the API server, laid over the document. */
function asking(apiServer: object): DocumentTree {
  return { kubernetes: { controlPlane: { apiServer } } };
}

describe('the files of the API server on a running control plane', {
  skip: needs(...LAB),
  timeout: 40 * MINUTE,
}, () => {
  // The password of the seeds is what is looked for on the machine afterwards: here it is a key.
  const seeds = newSeeds({ password: randomBytes(32).toString('base64') });
  const token = randomBytes(16).toString('hex');
  let webhook: TokenWebhook;
  let node: Node;
  let document: DocumentTree;

  after(async () => await webhook?.[Symbol.asyncDispose]());
  const fleet = Fleet.ofSuite(async () => {
    node = await fleet.start({ name: 'e2e-cf1', ip: '10.99.0.83' });
    webhook = await startTokenWebhook(GATEWAY, { token, user: 'alice' });
    // After many restarts of the API server, the kubelet waits 5 minutes before it starts the controller manager again.
    const patient = { kubernetes: { ready: { timeout: '7m' } } };
    document = merge(merge(initDocument(node.site, seeds), patient), asking(apiServerOf()));
  });

  const apiServerOf = () => ({
    audit: {
      policy: { rules: [{ level: 'Metadata', resources: [{ resources: ['secrets'] }] }, { level: 'None' }] },
      log: {},
    },
    encryptionAtRest: {
      providers: [{ secretbox: { keys: [{ name: 'key1', key: { secret: 'password' } }] } }, { identity: {} }],
    },
    authentication: {
      webhook: { server: webhook.url, certificateAuthority: webhook.certificate, cacheTTL: '1s' },
    },
  });

  const shell = (command: string) => node.machine.shell(command);
  const log = async () => (await node.read(AUDIT_LOG)) ?? '';
  /** Everything that a reconfiguration changes, as it is now. */
  const state = async () =>
    await shell(`cat ${FILES.join(' ')}; stat -c '%n %a %U' ${FILES.join(' ')}; grep -v configured-at ${MANIFEST}`);

  test('a configuration that cannot work is refused before kubeadm', { timeout: 6 * MINUTE }, async (t) => {
    const untouched = async () => {
      assert.equal(await node.read(MANIFEST), undefined);
      assert.equal(await node.read('/etc/kubernetes/admin.conf'), undefined);
    };
    await t.test('an invalid audit policy: exit 3', async () => {
      await node.lay(merge(document, asking({ audit: { policy: { rules: [{ level: 'Everything' }] }, log: {} } })));
      const run = await node.provision();
      assert.deepEqual([run.exitCode, run.status.failure?.reason], [3, 'DocumentInvalid'], told(run));
      assert.match(JSON.stringify(run.status.failure), /audit\.policy\.rules\[0\]\.level/);
      await untouched();
    });
    await t.test('an encryption key that is not there', async () => {
      const wrong = merge(document, {
        secrets: { gone: { file: '/run/secrets/gone' } },
        ...asking({
          encryptionAtRest: { providers: [{ secretbox: { keys: [{ name: 'a', key: { secret: 'gone' } }] } }] },
        }),
      });
      await node.lay(wrong);
      await assertFailed(node, await node.provision(), 10, 'control-plane-files', 'SecretUnavailable');
      await untouched();
    });
    await t.test('the socket of a KMS that does not exist', async () => {
      const version = has('kmsV2', RELEASE.minor) ? 'v2' : 'v1';
      const kms = { name: 'vault', endpoint: 'unix:///run/kms/wrong.sock', version };
      const wrong = merge(document, asking({ encryptionAtRest: { providers: [{ kms }, { identity: {} }] } }));
      await failTwice(node, wrong, seeds, (run) =>
        assertFailed(node, run, 10, 'control-plane-files', 'KMSSocketMissing'),
      );
      await untouched();
    });
  });

  test('audit log, encryption at rest and an authentication webhook take effect, and a second run has nothing to do', {
    timeout: 6 * MINUTE,
  }, async (t) => {
    const run = await provisionTwice(node, document, seeds);
    assert.ok(run.changes.includes('api-server/configuration'), told(run));
    assert.equal(
      await shell(`stat -c '%n %a %U' ${FILES.join(' ')} /etc/kubernetes/encryption /var/log/kubernetes/audit`),
      `${FILES[0]} 600 root\n${FILES[1]} 600 root\n/etc/kubernetes/encryption 700 root\n/var/log/kubernetes/audit 700 root\n`,
    );
    await t.test('a secret read from etcd is ciphertext', async () => {
      const value = 'a-value-that-must-not-be-seen';
      await shell(`${KUBECTL} create secret generic probe --from-literal=a=${value}`);
      const stored = await readEtcd(node, '/registry/secrets/default/probe');
      assert.match(stored, /^k8s:enc:secretbox:v1:key1:/);
      assert.doesNotMatch(stored, new RegExp(value));
      const read = await shell(`${KUBECTL} get secret probe -o jsonpath={.data.a} | base64 -d`);
      assert.equal(read, value);
    });
    await t.test('the audit log has the request, and not its secret', async () => {
      const text = await log();
      assert.match(text, /"verb":"create".*"name":"probe"/);
      assert.doesNotMatch(text, /a-value-that-must-not-be-seen|"resource":"pods"/);
    });
    await t.test('the webhook authenticates a user', async () => {
      const as = (bearer: string) =>
        shell(
          `curl --silent --cacert /etc/kubernetes/pki/ca.crt -H 'Authorization: Bearer ${bearer}' https://${node.machine.ip}:6443/api/v1/secrets`,
        );
      assert.match(await as(token), /User \\"alice\\" cannot list/);
      assert.match(await as('another'), /"code": 401/);
      assert.ok(webhook.asked() >= 2);
    });
  });

  test('a changed document changes the running API server', { skip: notOfCore, timeout: 6 * MINUTE }, async () => {
    const everything = [
      { level: 'Metadata', resources: [{ resources: ['secrets', 'configmaps'] }] },
      { level: 'None' },
    ];
    document = merge(
      document,
      asking({ audit: { policy: { rules: everything } }, args: [{ name: 'profiling', value: 'false' }] }),
    );
    await node.lay(document);
    assert.deepEqual(
      (await node.plan()).map(({ id }) => id),
      ['api-server/configuration'],
    );
    const run = await node.provision();
    await assertSucceeded(node, run);
    assert.deepEqual(run.changes, ['api-server/configuration']);
    assert.match(await shell("tr '\\0' ' ' < /proc/$(pgrep -n -x kube-apiserver)/cmdline"), /--profiling=false/);
    await shell(`${KUBECTL} create configmap probe --from-literal=a=b`);
    assert.match(await log(), /"verb":"create".*"resource":"configmaps"/);
    const recorded = await shell(`${KUBECTL} -n kube-system get configmap kubeadm-config -o yaml`);
    // A list since v1beta4 of kubeadm's configuration.
    assert.match(recorded, /profiling(?::|\n\s+value:) "false"/, 'an upgrade will keep it');
    assert.match(recorded, /audit-policy-file/);
    const again = await node.provision();
    await assertSucceeded(node, again);
    assert.deepEqual(again.changes, []);
    await assertNoLeaks(node, seeds, { run, again });
  });

  test('a change that the API server refuses is reported and undone', {
    skip: notOfCore,
    timeout: 8 * MINUTE,
  }, async () => {
    const before = await state();
    const wrong = merge(
      document,
      asking({
        args: [{ name: 'no-such-argument', value: '1' }],
        audit: { policy: { rules: [{ level: 'RequestResponse' }] } },
      }),
    );
    await node.lay(wrong);
    const run = await node.provision();
    assert.deepEqual(
      [run.exitCode, run.status.failure?.step, run.status.failure?.reason],
      [11, 'api-server', 'APIServerNotReconfigured'],
      told(run),
    );
    assert.match(JSON.stringify(run.status.failure?.evidence), /unknown flag: --no-such-argument/);
    assert.match(run.status.failure?.summary ?? '', /previous configuration is restored/);
    assert.equal(await state(), before);
    assert.match(await shell(`${KUBECTL} get --raw /readyz`), /ok/);
    await node.lay(document);
    const mended = await node.provision();
    await assertSucceeded(node, mended);
    assert.equal(await state(), before);
    await assertNoLeaks(node, seeds, { run, mended });
  });

  test('a key that is in use cannot be taken away', { timeout: 4 * MINUTE }, async () => {
    const before = await state();
    await node.lay(merge(document, asking({ encryptionAtRest: undefined })));
    const run = await node.provision();
    assert.deepEqual(
      [run.exitCode, run.status.failure?.step, run.status.failure?.reason],
      [10, 'api-server', 'EncryptionKeyNeeded'],
      told(run),
    );
    assert.equal(await state(), before);
  });

  test('a change that is killed at any journal record is completed by the next run', {
    skip: notOfCore,
    timeout: 25 * MINUTE,
  }, async () => {
    const profiling = (value: string) => merge(document, asking({ args: [{ name: 'profiling', value }] }));
    await node.lay(profiling('true'));
    await assertSucceeded(node, await node.provision(countingRecords()));
    const records = await countedRecords(node);
    assert.ok(records >= 4, `${records} records`);
    for (let nth = 1; nth <= records; nth += 1) {
      const value = nth % 2 === 1 ? 'false' : 'true';
      await node.lay(profiling(value));
      await killAtRecord(node, nth);
      const run = await node.provision();
      await assertSucceeded(node, run);
      assert.match(await shell(`cat ${MANIFEST}`), new RegExp(`--profiling=${value}`), `record ${nth}`);
      assert.match(
        await shell("tr '\\0' ' ' < /proc/$(pgrep -n -x kube-apiserver)/cmdline"),
        new RegExp(`profiling=${value}`),
      );
      assert.equal(await node.read('/etc/kubernetes/api-server.before.json'), undefined);
      assert.deepEqual((await node.provision()).changes, [], `record ${nth}`);
    }
  });

  test('a control plane that joins has the same files', { skip: notOfCore, timeout: 12 * MINUTE }, async () => {
    await provisionOnce(node, document);
    const second = await fleet.start({ name: 'e2e-cf2', ip: '10.99.0.84' });
    const joining = merge(controlPlaneDocument(second.site, seeds, node.machine.ip), asking(apiServerOf()));
    await provisionTwice(second, joining, seeds);
    assert.equal(await second.read(FILES[1] ?? ''), await node.read(FILES[1] ?? ''));
    assert.match(
      await second.machine.shell(`${KUBECTL} get secret probe -o jsonpath={.data.a} | base64 -d`),
      /a-value-that-must-not-be-seen/,
    );
    await fleet.remove(second);
  });
});
