import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newAuthority } from '../../support/api-server.ts';
import { type DocumentTree, hostDocument, merge, newSeeds } from '../../support/documents.ts';
import { assertSucceeded, Fleet, LAB, type Node, provisionOnce, told } from '../../support/lab.ts';
import { needs } from '../../support/needs.ts';

const MINUTE = 60_000;
/** What a shell, systemd's units and URLs each would read in their own way. */
const PASSWORD = "s3cr%65t'99$x&~";
const URL = `http://kr4y:${PASSWORD}@proxy.example:3128`;

describe('proxy and trust on a real systemd', { skip: needs(...LAB), timeout: 8 * MINUTE }, () => {
  const authority = newAuthority('machineadm proxy test');
  let node: Node;
  let document: DocumentTree;

  const fleet = Fleet.ofSuite(
    async () => {
      node = await fleet.start({ name: 'e2e-px', ip: '10.99.0.72' });
      // Without a configuration it ends and is started again: plan and run might see it in different states.
      await node.machine.shell('systemctl stop kubelet');
      document = merge(hostDocument(node.site, newSeeds()), {
        host: {
          proxy: { http: URL, https: URL, no: ['mirror.example'] },
          certificateAuthorities: [{ name: 'corp', pem: authority.certificate }],
        },
      });
    },
    { kind: 'host' },
  );

  const show = (property: string) => node.machine.shell(`systemctl show containerd --property=${property}`);
  const environment = async (): Promise<readonly string[]> => {
    const pid = (await show('MainPID')).trim().split('=')[1];
    return (await node.machine.shell(`tr '\\0' '\\n' < /proc/${pid}/environ`)).split('\n');
  };

  test('reach containerd by one restart, and a second run changes nothing', async () => {
    await node.lay(document);
    const planned = (await node.plan()).map(({ id }) => id);
    const run = await node.provision();
    await assertSucceeded(node, run);
    assert.deepEqual([...run.changes].sort(), [...planned].sort());
    assert.equal(run.changes.filter((id) => id === 'follow-up/restart:containerd').length, 1, told(run));
    assert.deepEqual((await node.provision()).changes, []);
  });

  test('are read by systemd as intended, and are not shown to unprivileged users', async () => {
    const variables = await environment();
    for (const name of ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy']) {
      assert.ok(variables.includes(`${name}=${URL.replace("'", '%27')}`), name);
    }
    assert.ok(variables.some((line) => /^no_proxy=.*169\.254\.169\.254.*10\.99\.0\.72.*mirror\.example$/.test(line)));
    assert.doesNotMatch(await node.machine.shell('systemctl show containerd kubelet'), /s3cr/);
    assert.doesNotMatch(await node.machine.shell('journalctl -b --no-pager; systemctl cat containerd'), /s3cr/);
  });

  test('restart containerd when the password changes', async () => {
    const changed = merge(document, { host: { proxy: { http: URL.replace('99', '77') } } });
    await node.lay(changed);
    const run = await node.provision();
    await assertSucceeded(node, run);
    assert.deepEqual(
      run.changes.filter((id) => id.includes('proxy') || id.includes('containerd')),
      ['proxy/variables', 'follow-up/restart:containerd'],
    );
    assert.ok((await environment()).some((line) => line.includes('%2777$x&~@')));
  });

  test('are removed from containerd when the document gives them to other services only', async () => {
    await provisionOnce(node, merge(document, { host: { proxy: { for: ['agent'] } } }));
    assert.ok(!(await environment()).some((line) => /^https?_proxy=/i.test(line)));
    assert.equal(await node.read('/etc/machineadm/proxy.env'), undefined);
  });
});
