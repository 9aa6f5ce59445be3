import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
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
import { ALL_CASES, assertSucceeded, Fleet, LAB, type Node, SENTINEL, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';
import { assertNoLeaks } from '../support/twice.ts';

const MINUTE = 60_000;
/** An init waits more than it computes: so many machines are no slower than one after the other, on two cores. */
const RECORDS_AT_ONCE = 3;

describe('a run that is killed at any moment is completed by the next', {
  skip: needs(...LAB),
  timeout: 90 * MINUTE,
  concurrency: 2,
}, () => {
  const seeds = newSeeds();
  const hostSite = { name: 'e2e-k1', ip: '10.99.0.51' };
  const initSite = { name: 'e2e-k2', ip: '10.99.0.52' };
  const notOfCore = needs('MACHINEADM_E2E=all');
  const signalSites = { TERM: { name: 'e2e-k6', ip: '10.99.0.56' }, INT: { name: 'e2e-k7', ip: '10.99.0.57' } };
  const recordsSite = (index: number) => ({ name: `e2e-k${3 + index}`, ip: `10.99.0.${53 + index}` });

  const fleet = Fleet.ofSuite();

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

  /** The run said Interrupted in this step, in one message and in its status, and left none of its programs behind. */
  async function assertInterrupted(
    node: Node,
    run: { readonly exitCode: number; readonly stdout: string; readonly stderr: string },
    step: string,
  ) {
    assert.equal(run.exitCode, 14, told(run));
    const status = await node.status();
    assert.deepEqual(
      [status.outcome, status.exitCode, status.failure?.reason, status.failure?.step],
      ['Interrupted', 14, 'Interrupted', step],
      told(run),
    );
    assert.equal(run.stderr.split('What to do:').length, 2, `one message:\n${run.stderr}`);
    assert.deepEqual(await processes(node, '^(/usr/bin/)?(kubeadm|ctr|sleep 4242)\\b'), []);
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
            assert.notEqual(JSON.parse(told.stdout).outcome, 'Succeeded', 'a killed run is not told as a success');
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
        // The kubelet has no configuration yet and comes and goes.
        const { containerd } = await node.daemons();
        const killed = await killAfterRename(node, '/etc/containerd/config.toml');
        assert.deepEqual(
          (await node.daemons()).containerd,
          containerd,
          'containerd still runs on the old configuration',
        );
        const changes = await finish(node, killed);
        assert.ok(changes.includes('follow-up/restart:containerd'), `the restart was owed: ${changes.join(', ')}`);
        assert.notDeepEqual((await node.daemons()).containerd, containerd);
      }),
    );
  });

  describe('while kubeadm runs', { concurrency: 1 }, () => {
    const inKubeadm = '/etc/kubernetes/manifests/etcd.yaml';

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

  for (const signal of ['TERM', 'INT'] as const) {
    const skip = signal === 'TERM' ? false : notOfCore;
    test(`SIG${signal} in each phase of an init in turn; then a control plane`, { skip, timeout: 10 * MINUTE }, () =>
      onFreshMachine(signalSites[signal], async (node) => {
        const slow = (file: string, seconds: number) =>
          `touch /run/e2e-in-${file}; [ -e /root/past-${file} ] || sleep ${seconds}`;
        const hook = (name: string) => ({ commands: [slow(name, 4242), `echo ${name} >> ${HOOK_TRACE}`] });
        const document = merge(initDocument(node.site, seeds), {
          host: { hooks: { early: hook('early'), afterBootstrap: hook('afterBootstrap') } },
          // not before the network of the pods is configured, which is done by hand below
          kubernetes: { ready: { require: 'NodeReady' } },
        });
        await node.lay(document);
        const containerd = '/etc/systemd/system/containerd.service.d/e2e.conf';
        await node.machine.write(containerd, `[Service]\nExecStartPre=/bin/sh -c "${slow('containerd', 4343)}"\n`);
        await node.machine.shell('systemctl daemon-reload');

        const step = (id: string) => async () => (await node.status()).step === id;
        const phases: readonly (readonly [step: string, reached: () => Promise<boolean>])[] = [
          ['hooks-early', exists(node, '/run/e2e-in-early')],
          ['containerd', exists(node, '/run/e2e-in-containerd')],
          ['images', step('images')],
          ['kubeadm', exists(node, '/etc/kubernetes/manifests/etcd.yaml')],
          ['readiness', step('readiness')],
          ['hooks-after-bootstrap', exists(node, '/run/e2e-in-afterBootstrap')],
        ];
        for (const [id, reached] of phases) {
          const run = await signalWhen(node, signal, id, reached);
          await assertInterrupted(node, run, id);
          // What comes after the proof cannot unmake it.
          const isProven = id === 'hooks-after-bootstrap';
          assert.equal(await node.read(SENTINEL), isProven ? 'success\n' : undefined);
          await assertNoLeaks(node, seeds, { [id]: run });
          if (id === 'hooks-early') await node.machine.write('/root/past-early', '');
          if (id === 'containerd') await node.machine.shell('touch /root/past-containerd; pkill -f "^sleep 4343" || :');
          if (id === 'readiness') await configurePodNetwork(node);
        }
        await node.machine.write('/root/past-afterBootstrap', '');
        const changes = await finish(node, { stdout: '', stderr: '' });
        assert.deepEqual(
          changes.filter((change) => change.startsWith('kubeadm')),
          [],
          'kubeadm was done',
        );
        const hooks = (await node.read(HOOK_TRACE))?.split('\n').filter((line) => line !== 'beforeBootstrap');
        assert.deepEqual(hooks, ['early', 'afterBootstrap', '']);
      }),
    );
  }

  test('kill -9 at the journal records of an init', {
    skip: notOfCore,
    timeout: 80 * MINUTE,
    concurrency: RECORDS_AT_ONCE,
  }, async (t) => {
    let records = 0;
    let undisturbed: readonly string[] = [];
    await t.test('undisturbed, for comparison', () =>
      onFreshMachine(recordsSite(0), async (node) => {
        await node.lay(initDocument(node.site, seeds));
        await assertSucceeded(node, await node.provision(countingRecords()));
        records = await countedRecords(node);
        undisturbed = settledPaths(node);
      }),
    );
    // The last records are those of kubeadm, readiness and the sentinel; the first are those of the host steps.
    const points = sample(records, records);
    const free = Array.from({ length: RECORDS_AT_ONCE }, (_, index) => recordsSite(index));
    await Promise.all(
      points.map((nth) =>
        t.test(`record ${nth} of ${records}`, { timeout: 6 * MINUTE }, async () => {
          const site = free.pop();
          assert.ok(site !== undefined, 'there is a machine for each case that runs at a time');
          try {
            await onFreshMachine(site, async (node) => {
              await node.lay(initDocument(node.site, seeds));
              const killed = await killAtRecord(node, nth);
              await finish(node, killed);
              assert.equal(await node.read(SENTINEL), 'success\n');
              // The hook before kubeadm belongs to an attempt of kubeadm: a new attempt runs it again.
              assert.match((await node.read(HOOK_TRACE)) ?? '', /^early\n(beforeBootstrap\n){1,2}afterBootstrap\n$/);
              assert.deepEqual(settledPaths(node), undisturbed);
            });
          } finally {
            free.push(site);
          }
        }),
      ),
    );
  });
});

/** A network for pods, as far as a node is asked for one: containerd reports it ready where it is configured. */
async function configurePodNetwork(node: Node): Promise<void> {
  const network = { cniVersion: '0.4.0', name: 'e2e', plugins: [{ type: 'loopback' }] };
  await node.machine.write('/etc/cni/net.d/10-e2e.conflist', JSON.stringify(network));
}

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
