import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HOOK_TRACE, hostDocument, initDocument, merge, newSeeds } from '../support/documents.ts';
import {
  assertContainerdIsCurrent,
  countedRecords,
  countingRecords,
  endState,
  exists,
  killAfterRename,
  killAtRecord,
  processes,
  signalWhen,
} from '../support/interrupt.ts';
import { ALL_CASES, assertSucceeded, Fleet, labUnavailable, type Node, SENTINEL, told } from '../support/lab.ts';
import { assertNoLeaks } from '../support/twice.ts';

const MINUTE = 60_000;

describe('a run that is ended at any instant is finished by the next', {
  skip: labUnavailable() ?? false,
  timeout: 90 * MINUTE,
  concurrency: 2,
}, () => {
  const seeds = newSeeds();
  const hostSite = { name: 'e2e-k1', ip: '10.99.0.51' };
  const initSite = { name: 'e2e-k2', ip: '10.99.0.52' };
  const recordsSite = { name: 'e2e-k3', ip: '10.99.0.53' };
  let fleet: Fleet;

  before(
    async () => {
      fleet = await Fleet.open();
    },
    { timeout: 30 * MINUTE },
  );
  after(async () => fleet?.close());

  /** Runs a case on a machine of its own: each starts from nothing. */
  async function onFreshMachine(site: typeof hostSite, work: (node: Node) => Promise<void>): Promise<void> {
    const node = await fleet.start(site);
    try {
      await work(node);
    } finally {
      await fleet.remove(node);
    }
  }

  /** The run after: it must end well, and a third must find nothing to do. */
  async function finish(
    node: Node,
    interrupted: { readonly stdout: string; readonly stderr: string },
  ): Promise<readonly string[]> {
    const second = await node.provision();
    await assertSucceeded(node, second);
    await assertContainerdIsCurrent(node);
    const third = await node.provision();
    await assertSucceeded(node, third);
    assert.deepEqual(third.changes, [], 'nothing is left to do');
    await assertNoLeaks(node, seeds, { interrupted, second, third });
    return second.changes;
  }

  async function assertInterrupted(
    node: Node,
    run: { readonly exitCode: number; readonly stdout: string; readonly stderr: string },
  ) {
    assert.equal(run.exitCode, 14, told(run));
    const status = await node.status();
    assert.equal(status.outcome, 'Interrupted');
    assert.equal(status.exitCode, 14);
    assert.equal(status.failure?.reason, 'Interrupted');
    assert.equal(await node.read(SENTINEL), undefined);
  }

  describe('while it prepares the host', { concurrency: 1 }, () => {
    test('kill -9 at the journal records of the host steps', { timeout: 20 * MINUTE }, async (t) => {
      let records = 0;
      let undisturbed: ReadonlyMap<string, string> = new Map();
      const document = hostDocument(hostSite, seeds);
      await t.test('undisturbed, for comparison', () =>
        onFreshMachine(hostSite, async (node) => {
          await node.lay(document);
          await assertSucceeded(node, await node.provision(countingRecords()));
          records = await countedRecords(node);
          undisturbed = endState(node);
          assert.ok(records > 5, `${records} records`);
        }),
      );
      for (const nth of sample(records, ALL_CASES ? records : 4)) {
        await t.test(`record ${nth} of ${records}`, () =>
          onFreshMachine(hostSite, async (node) => {
            await node.lay(document);
            const killed = await killAtRecord(node, nth);
            const told = await node.agent(['status', '-o', 'json']);
            assert.doesNotMatch(told.stdout, /"outcome": *"Succeeded"/, 'a killed run is not told as a success');
            await finish(node, killed);
            assert.deepEqual(endState(node), undisturbed);
            assert.equal(await node.read(HOOK_TRACE), 'early\n', 'the hook ran once');
          }),
        );
      }
    });

    test("kill -9 between containerd's new configuration and its restart", { timeout: 3 * MINUTE }, () =>
      onFreshMachine(hostSite, async (node) => {
        await node.lay(hostDocument(hostSite, seeds));
        const daemons = await node.daemons();
        const killed = await killAfterRename(node, '/etc/containerd/config.toml');
        assert.deepEqual(await node.daemons(), daemons, 'containerd still runs on the old configuration');
        const changes = await finish(node, killed);
        assert.ok(changes.includes('follow-up/restart:containerd'), `the restart was owed: ${changes.join(', ')}`);
        assert.notDeepEqual((await node.daemons()).containerd, daemons.containerd);
      }),
    );

    for (const signal of ['TERM', 'INT'] as const) {
      test(`SIG${signal} while a hook runs: Interrupted, its children are gone`, { timeout: 3 * MINUTE }, () =>
        onFreshMachine(hostSite, async (node) => {
          const hook = `touch /run/e2e-in-hook; [ -e /root/quick ] || sleep 4242; echo early >> ${HOOK_TRACE}`;
          await node.lay(merge(hostDocument(hostSite, seeds), { host: { hooks: { early: { commands: [hook] } } } }));
          const run = await signalWhen(node, signal, 'the hook runs', exists(node, '/run/e2e-in-hook'));
          await assertInterrupted(node, run);
          assert.deepEqual(await processes(node, '^sleep 4242'), []);
          await node.machine.write('/root/quick', '');
          await finish(node, run);
        }),
      );
    }
  });

  describe('while kubeadm runs', { concurrency: 1 }, () => {
    const inKubeadm = '/etc/kubernetes/manifests/etcd.yaml';

    test(
      'SIGTERM while kubeadm runs: Interrupted, kubeadm is gone; again: a control plane',
      { timeout: 6 * MINUTE },
      () =>
        onFreshMachine(initSite, async (node) => {
          await node.lay(initDocument(initSite, seeds));
          const run = await signalWhen(node, 'TERM', 'kubeadm wrote its manifests', exists(node, inKubeadm));
          await assertInterrupted(node, run);
          assert.deepEqual(await processes(node, '^(/usr/bin/)?kubeadm '), []);
          await finish(node, run);
          assert.equal(await node.read(SENTINEL), 'success\n');
        }),
    );

    test('kill -9 while kubeadm runs; again: a control plane', { timeout: 6 * MINUTE }, () =>
      onFreshMachine(initSite, async (node) => {
        await node.lay(initDocument(initSite, seeds));
        const run = await signalWhen(node, 'KILL', 'kubeadm wrote its manifests', exists(node, inKubeadm));
        assert.equal(await node.read(SENTINEL), undefined);
        await finish(node, run);
        assert.equal(await node.read(SENTINEL), 'success\n');
      }),
    );
  });

  test('kill -9 at the journal records of an init', { timeout: 60 * MINUTE }, async (t) => {
    let records = 0;
    let undisturbed: readonly string[] = [];
    const document = initDocument(recordsSite, seeds);
    await t.test('undisturbed, for comparison', () =>
      onFreshMachine(recordsSite, async (node) => {
        await node.lay(document);
        await assertSucceeded(node, await node.provision(countingRecords()));
        records = await countedRecords(node);
        undisturbed = settledPaths(node);
      }),
    );
    // The last records are those of kubeadm, readiness and the sentinel; the first are those of the host steps.
    const points = ALL_CASES ? sample(records, records) : [records - 2];
    for (const nth of points) {
      await t.test(`record ${nth} of ${records}`, { timeout: 6 * MINUTE }, () =>
        onFreshMachine(recordsSite, async (node) => {
          await node.lay(document);
          const killed = await killAtRecord(node, nth);
          await finish(node, killed);
          assert.equal(await node.read(SENTINEL), 'success\n');
          // The hook before kubeadm belongs to an attempt of kubeadm: a new attempt runs it again.
          assert.match((await node.read(HOOK_TRACE)) ?? '', /^early\n(beforeBootstrap\n){1,2}afterBootstrap\n$/);
          assert.deepEqual(settledPaths(node), undisturbed);
        }),
      );
    }
  });
});

/** `count` of the numbers 1..`total`, spread evenly, the first and the last among them. */
function sample(total: number, count: number): number[] {
  if (count >= total) return Array.from({ length: total }, (_, index) => index + 1);
  const step = (total - 1) / (count - 1);
  return Array.from({ length: count }, (_, index) => 1 + Math.round(index * step));
}

/** What an init leaves, but for what the running cluster writes by itself. */
function settledPaths(node: Node): string[] {
  return [...endState(node).keys()].filter((path) => !path.startsWith('/var/lib/') && !path.startsWith('/opt/cni'));
}
