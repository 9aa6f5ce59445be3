import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { initDocument, merge, newSeeds } from '../support/documents.ts';
import { assertSucceeded, Fleet, LAB, type Node, type Provisioned } from '../support/lab.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;

interface Told {
  readonly reason: string;
  readonly retryable: boolean;
  readonly remedy: string;
  readonly evidence: readonly { readonly source: string; readonly text: string }[];
  readonly causes: readonly string[];
}

describe('all commands agree on the cause', { skip: needs(...LAB), timeout: 20 * MINUTE }, () => {
  const seeds = newSeeds();
  let node: Node;

  const fleet = Fleet.ofSuite(async () => {
    node = await fleet.start({ name: 'e2e-v1', ip: '10.99.0.59' });
    await node.lay(
      merge(initDocument(node.site, seeds), { kubernetes: { ready: { require: 'NodeRegistered', timeout: '30s' } } }),
    );
  });

  const shell = (command: string) => node.machine.shell(command);

  async function diagnosed(): Promise<Told & { readonly outcome: string }> {
    return JSON.parse((await node.agent(['diagnose', '-o', 'json'])).stdout);
  }

  async function examined() {
    const { exitCode, stdout } = await node.agent(['doctor', '-o', 'json']);
    const report: { verdict: Told; checks: { id: string; state: string; reason?: string }[] } = JSON.parse(stdout);
    return { exitCode, ...report };
  }

  /** status, diagnose and doctor after a run that failed: what the run itself reported. */
  async function assertAgreement(run: Provisioned, exitCode: number, step: string, reason: string): Promise<void> {
    const { failure } = run.status;
    assert.deepEqual([run.exitCode, failure?.step, failure?.reason], [exitCode, step, reason], JSON.stringify(failure));
    assert.equal((await node.status()).failure?.reason, reason);
    const { verdict, checks, exitCode: doctor } = await examined();
    assert.equal(doctor, 20);
    assert.deepEqual(
      checks.filter(({ id }) => id === 'node').map((check) => [check.state, check.reason]),
      [['failed', reason]],
    );
    for (const told of [await diagnosed(), verdict]) {
      assert.equal(told.reason, reason);
      assert.equal(told.retryable, failure?.retryable);
      assert.equal(told.remedy, failure?.remedy);
      assert.deepEqual(told.causes, failure?.causes ?? [reason]);
      assert.deepEqual(
        told.evidence.map(({ source, text }) => ({ source, text })),
        failure?.evidence,
      );
    }
  }

  test("a kubelet without kubeadm's drop-in is named before kubeadm is run", { timeout: 5 * MINUTE }, async () => {
    const dropIn = (await shell('systemctl show kubelet --property=DropInPaths --value')).trim();
    assert.match(dropIn, /^\/\S+\.conf$/);
    await shell(`mv ${dropIn} /root/drop-in && systemctl daemon-reload`);
    const run = await node.provision();
    await shell(`mv /root/drop-in ${dropIn} && systemctl daemon-reload`);
    // Judged after the hooks, which may bring one.
    assert.deepEqual([run.exitCode, run.status.failure?.reason], [10, 'KubeletDropInMissing'], run.stderr);
  });

  test('programs that cannot be executed are not called missing', { timeout: 5 * MINUTE }, async () => {
    for (const [program, sabotage] of [
      ['kubeadm', 'echo v1.20.2 > $P && chmod 755 $P'],
      ['kubelet', 'head -c 1000000 /root/whole > $P && chmod 755 $P'],
    ] as const) {
      const path = (await shell(`command -v ${program}`)).trim();
      await shell(`systemctl stop kubelet; P=${path}; mv $P /root/whole && ${sabotage}`);
      const run = await node.provision();
      await shell(`rm ${path} && mv /root/whole ${path}`);
      assert.deepEqual([run.exitCode, run.status.failure?.reason], [4, 'ProgramNotExecutable'], run.stderr);
      assert.ok(run.status.failure?.summary.includes(path), run.status.failure?.summary);
    }
  });

  test('the same machine bootstraps once that is corrected; doctor then confirms the node', {
    timeout: 6 * MINUTE,
  }, async () => {
    await assertSucceeded(node, await node.provision());
    assert.deepEqual(await node.plan(), []);
    const { exitCode, checks } = await examined();
    assert.deepEqual(
      checks.filter(({ state }) => state === 'failed'),
      [],
    );
    assert.equal(exitCode, 0);
    assert.equal((await diagnosed()).outcome, 'success');
  });

  test('a kubelet that was stopped: diagnose and doctor say so, plan shows its start, provision starts it', async () => {
    await shell('systemctl stop kubelet');
    const { verdict, exitCode } = await examined();
    assert.deepEqual([exitCode, verdict.reason, verdict.retryable], [20, 'KubeletStopped', true]);
    const { reason, retryable } = await diagnosed();
    assert.deepEqual([reason, retryable], ['KubeletStopped', true]);
    assert.ok((await node.plan()).some(({ id }) => id === 'kubeadm/start-kubelet'));
    const run = await node.provision();
    assert.equal(run.exitCode, 0, run.stderr);
    assert.ok(run.changes.includes('kubeadm/start-kubelet'));
    assert.equal((await diagnosed()).outcome, 'success');
  });

  test('a kubelet that was masked: every command gives the same reason', { timeout: 12 * MINUTE }, async (t) => {
    const unit = (await shell('systemctl show kubelet --property=FragmentPath --value')).trim();
    t.after(() => shell(`rm -f ${unit}; mv /root/unit ${unit}; systemctl daemon-reload; systemctl start kubelet`));
    // `systemctl mask` refuses where the unit itself is below /etc.
    await shell(`systemctl stop kubelet; mv ${unit} /root/unit && ln -s /dev/null ${unit} && systemctl daemon-reload`);
    await assertAgreement(await node.provision(), 12, 'kubeadm', 'KubeletServiceMissing');
  });

  test('an API server that is killed again and again is named, and no success is reported', {
    timeout: 5 * MINUTE,
  }, async (t) => {
    await shell("systemd-run --unit=e2e-killer sh -c 'while :; do pkill -9 -x kube-apiserver; sleep 2; done'");
    t.after(() => shell('systemctl stop e2e-killer'));
    const run = await node.provision();
    assert.deepEqual([run.exitCode, run.status.failure?.step], [12, 'readiness'], run.stderr);
    await assertAgreement(run, 12, 'readiness', 'StaticPodCrashLoop');
    assert.match(run.status.failure?.summary ?? '', /kube-apiserver/);
  });
});
