import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { initDocument, merge, newSeeds } from '../support/documents.ts';
import { Fleet, LAB, type Node } from '../support/lab.ts';
import { findLeaks } from '../support/leaks.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;

describe('before, during and after a failure', { skip: needs(...LAB), timeout: 12 * MINUTE }, () => {
  const seeds = newSeeds();
  let node: Node;

  const fleet = Fleet.ofSuite(async () => {
    node = await fleet.start({ name: 'e2e-g1', ip: '10.99.0.33' });
    await node.lay(
      merge(initDocument(node.site, seeds), {
        kubernetes: {
          controlPlane: { etcd: { local: { args: [{ name: 'no-such-flag', value: '1' }] } } },
          timeouts: { controlPlane: '25s' },
        },
      }),
    );
  });

  const machineadm = (...args: string[]) => node.machine.exec(['/usr/local/bin/machineadm', ...args]);

  test('doctor finds no problem, and changes nothing', async () => {
    const { status, stdout } = await machineadm('doctor', '-d', '/root/document.yaml', '-o', 'json');
    assert.equal(status, 0, stdout);
    const report: { failed: number } = JSON.parse(stdout);
    assert.equal(report.failed, 0);
    assert.equal((await node.machine.exec(['test', '-e', '/var/lib/machineadm'])).status, 1);
  });

  test('doctor reports a port that is in use', async () => {
    await node.machine.shell(
      'socat TCP-LISTEN:6443,fork /dev/null >/dev/null 2>&1 & echo $! > /run/socat.pid; sleep 1',
    );
    const { status, stdout } = await machineadm('doctor', '-d', '/root/document.yaml');
    await node.machine.shell('kill $(cat /run/socat.pid)');
    assert.equal(status, 20);
    assert.match(stdout, /FAIL port 6443, which kube-apiserver needs, is in use \[PortInUse\]/);
  });

  test('diagnose on the machine gives the same reason as the run', { timeout: 6 * MINUTE }, async () => {
    const run = await node.provision();
    assert.equal(run.exitCode, 11);
    assert.equal(run.status.failure?.reason, 'ComponentUnknownFlag');
    const { status, stdout } = await machineadm('diagnose', '-o', 'json');
    assert.equal(status, 0);
    const verdict: { outcome: string; reason: string; cleanup: string; evidence: { text: string }[] } =
      JSON.parse(stdout);
    assert.equal(verdict.outcome, 'failure');
    assert.equal(verdict.reason, 'ComponentUnknownFlag');
    assert.equal(verdict.cleanup, 'reset');
    assert.match(verdict.evidence[0]?.text ?? '', /flag provided but not defined: -no-such-flag/);
  });

  test('bundle contains none of the seeded secrets, with and without the document', async () => {
    for (const [name, args] of [
      ['with', ['-d', '/root/document.yaml']],
      ['without', []],
    ] as const) {
      assert.equal((await machineadm('bundle', ...args, '--output-file', `/root/${name}.tar.gz`)).status, 0);
      assert.equal((await node.machine.exec(['stat', '-c', '%a', `/root/${name}.tar.gz`])).stdout.trim(), '600');
      const { stdout } = await node.machine.exec(['tar', '-xzOf', `/root/${name}.tar.gz`]);
      assert.match(stdout, /"kind": "MachineadmBundle"/);
      assert.match(stdout, /flag provided but not defined/);
      assert.deepEqual(await findLeaks(node.machine, seeds, { [`the bundle ${name} the document`]: stdout }), []);
    }
  });
});
