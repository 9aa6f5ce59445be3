import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { buildLab } from '../../scripts/lab/artefacts.ts';
import { debianContainerd } from '../support/debian-containerd.ts';
import { type DocumentTree, initDocument, merge, newSeeds } from '../support/documents.ts';
import { assertSucceeded, Fleet, LAB, type Node, progress, provisionOnce, told } from '../support/lab.ts';
import { RELEASE } from '../support/lab-release.ts';
import { needs } from '../support/needs.ts';
import { killUpgrade, networked, planUpgrade, upgrade } from '../support/upgrades.ts';

const MINUTE = 60_000;
const NEXT = '/opt/next';
const PROGRAMS = ['containerd', 'containerd-shim-runc-v2', 'ctr'];
const CONFIGURATION = '/etc/containerd/config.toml';
/** The kubelet 1.20 of the lab speaks a CRI that containerd 2 does not have. */
const PAIR =
  RELEASE.minor <= 22
    ? ({ old: undefined, next: 'trixie', from: '1.6.20', to: '1.7.24', formats: [2, 2] } as const)
    : ({ old: 'trixie', next: 'sid', from: '1.7.24', to: '2.1.9', formats: [2, 3] } as const);
const [OLD, NEW] = [PAIR.old === undefined ? undefined : debianContainerd(PAIR.old), debianContainerd(PAIR.next)];

describe(`containerd ${PAIR.from} of a node becomes ${PAIR.to}`, {
  skip: needs(...LAB, ...[OLD ?? NEW, NEW].map((one) => ('unavailable' in one ? one : 'root')), 'MACHINEADM_E2E=all'),
  timeout: 40 * MINUTE,
}, () => {
  const seeds = newSeeds();
  let node: Node;
  let first: string;

  const fleet = Fleet.ofSuite(async () => {
    await buildLab(progress);
    assert.ok('root' in NEW);
    const lower = OLD !== undefined && 'root' in OLD ? [OLD.root] : [];
    node = await fleet.start({ name: 'e2e-ctd5', ip: '10.99.0.95', lower });
    await node.machine.shell(`mkdir -p ${NEXT} /opt/broken`);
    for (const name of PROGRAMS) {
      await node.machine.copyIn(join(NEW.root, 'usr/bin', name), `${NEXT}/${name}`);
      await node.machine.shell(`cp ${NEXT}/${name} /opt/broken/`);
    }
    first = await programs();
    await provisionOnce(node, document());
  });

  const document = (containerd: object = {}, from?: string): DocumentTree => {
    const tree = networked(initDocument(node.site, seeds), 0);
    const { host } = tree as { host: { files: readonly object[] } };
    const files = PROGRAMS.map((name) => ({
      path: `/usr/bin/${name}`,
      contentFrom: { file: `${from}/${name}` },
      mode: '0755',
    }));
    return merge(tree, {
      host: { files: [...host.files, ...(from === undefined ? [] : files)] },
      containerRuntime: { containerd },
    });
  };
  const next = (from = NEXT) => document({ version: PAIR.to }, from);
  const programs = () =>
    node.machine.shell(`sha256sum ${PROGRAMS.map((name) => `/usr/bin/${name}`).join(' ')} /usr/sbin/runc`);
  const version = async () =>
    (await node.machine.shell(`ctr version | awk '/Server/ {s=1} s && /Version:/ {print $2; exit}'`)).trim();
  /** The containers that run, with the starts of their processes: the API server may be restarted by nobody. */
  const tasks = async () =>
    (
      await node.machine.shell(
        `ctr -n k8s.io tasks ls | awk '$3 == "RUNNING" {print $1, $2}' | while read id pid; do echo "$id $pid $(cut -d' ' -f22 /proc/$pid/stat)"; done | sort`,
      )
    ).trim();
  const format = async () => /^version = (\d)$/m.exec((await node.read(CONFIGURATION)) ?? '')?.[1];

  test('provision refuses the document, and names the command', async () => {
    await node.lay(next());
    const refused = await node.agent(['provision', '-f', '/root/document.yaml']);
    assert.equal(refused.exitCode, 4, told(refused));
    assert.match(refused.stderr, /DocumentChanged/);
    assert.match(refused.stderr, /machineadm upgrade/);
    assert.equal(await programs(), first);
  });

  test('the dry run says what it would do, and changes nothing', async () => {
    const before = [await tasks(), await programs(), await node.daemons()];
    const { exitCode, changes, problems } = await planUpgrade(node);
    assert.deepEqual([exitCode, problems], [0, []]);
    const summaries = new Map(changes.map(({ id, summary }) => [id, summary]));
    const migrated = PAIR.formats[0] === PAIR.formats[1] ? '' : 'configuration migrated from version 2 to 3, ';
    assert.equal(
      summaries.get('upgrade-containerd/prove'),
      `containerd ${PAIR.from} -> ${PAIR.to}: ${migrated}restart; containers keep running, with the shims of ${PAIR.from}`,
    );
    assert.deepEqual(
      changes.map(({ id }) => id).filter((id) => !id.startsWith('files/')),
      ['upgrade-containerd-state/keep', 'containerd', 'upgrade-containerd/prove'],
    );
    assert.deepEqual([await tasks(), await programs(), await node.daemons()], before);
  });

  test('a containerd that the kubelet cannot use, and an older one, are refused before any change', async () => {
    const refusals = async (asked: string) => {
      await node.lay(document({ version: asked }, NEXT));
      return (await planUpgrade(node)).problems.map(({ code }) => code);
    };
    assert.ok((await refusals('1.6.4')).includes('UpgradeVersionSkew'));
    if (RELEASE.minor <= 22) assert.ok((await refusals('2.1.9')).includes('ContainerRuntimeUnsupported'));
    assert.equal(await programs(), first);
  });

  test('one that does not start leaves the previous one, with all containers and one verdict', {
    timeout: 8 * MINUTE,
  }, async () => {
    const script = `#!/bin/sh
case "$*" in *--version*|*config*) exec ${NEXT}/containerd "$@" ;; esac
echo 'level=fatal msg="this one is broken"' >&2
exit 3
`;
    await node.machine.write('/opt/broken/containerd', script, '755');
    const before = await tasks();
    await node.lay(next('/opt/broken'));
    const failed = await upgrade(node);
    assert.equal(failed.status.outcome, 'Failed', told(failed));
    assert.equal(failed.status.failure?.step, 'containerd', told(failed));
    assert.match(
      failed.status.failure?.summary ?? '',
      /^(?:The new containerd does not work|containerd could not be restarted): /,
    );
    assert.match(
      failed.status.failure?.summary ?? '',
      new RegExp(`containerd ${PAIR.from} runs with its previous configuration, and no container was lost\\.`),
    );
    assert.equal(await programs(), first);
    assert.match(await version(), new RegExp(`^v?${PAIR.from.replaceAll('.', '\\.')}`));
    assert.equal(await tasks(), before, 'no container was restarted');
    assert.equal(await format(), '2');
    await node.lay(document());
    assert.deepEqual(await node.plan(), []);
  });

  test('it is replaced although runs are killed at one record after the other; containers run on, and a second run does nothing', {
    timeout: 15 * MINUTE,
  }, async () => {
    const before = await tasks();
    await node.lay(next());
    // Each run continues, and is killed one record later than the one before it.
    let kills = 0;
    let last = await killUpgrade(node, 1);
    while (last.exitCode === 137) {
      kills += 1;
      last = await killUpgrade(node, kills + 1);
    }
    assert.equal(last.exitCode, 0, told(last));
    assert.ok(kills >= 5, `it was killed ${kills} times`);
    assert.match(await version(), new RegExp(`^v?${PAIR.to.replaceAll('.', '\\.')}`));
    assert.equal(await format(), String(PAIR.formats[1]));
    assert.equal(await tasks(), before, 'the same processes with the same starts');
    const ready = await node.kubectl(`get node -o jsonpath='{.items[0].status.conditions[?(@.type=="Ready")].status}'`);
    assert.equal(ready, 'True');
    assert.equal((await node.read('/var/lib/machineadm/upgrade/containerd.json')) ?? '', '');
    const again = await upgrade(node);
    await assertSucceeded(node, again);
    assert.deepEqual(again.changes, []);
    assert.deepEqual(await node.plan(), []);
    assert.deepEqual((await node.provision()).changes, []);
  });

  test('a reset brings back the containerd that was there before the bootstrap', { timeout: 8 * MINUTE }, async () => {
    const reset = await node.agent(['reset', '--yes']);
    assert.equal(reset.exitCode, 0, told(reset));
    assert.equal(await programs(), first);
    assert.match(await version(), new RegExp(`^v?${PAIR.from.replaceAll('.', '\\.')}`));
  });
});
