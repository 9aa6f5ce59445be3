import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HardeningReport } from '../../src/commands/audit/hardening.ts';
import type { AuditedControl } from '../../src/features/hardening/audit.ts';
import { type DocumentTree, initDocument, merge, newSeeds, workerDocument } from '../support/documents.ts';
import { type Breakage, breakages, WORKER_BREAKAGES } from '../support/hardening-breakages.ts';
import { assertSucceeded, DOCUMENT, Fleet, LAB, type Node, provisionOnce } from '../support/lab.ts';
import { RELEASE } from '../support/lab-release.ts';
import { needs } from '../support/needs.ts';
import { provisionTwice } from '../support/twice.ts';

const MINUTE = 60_000;
const skip = needs(...LAB, 'MACHINEADM_E2E=all');

const CIS: DocumentTree = { hardening: { profiles: ['cis-level-1'] } };

/** The kubelet's default seccomp profile is a setting from 1.25 on. */
const OF_CURRENT_KUBELETS = RELEASE.minor >= 25 ? ['4.2.14'] : [];

/** What passes on a control plane without a pod network. */
const PASS_ON_CONTROL_PLANE = [
  ...['1', '2', '3', '4', '5', '6', '7', '8', '11', '12', '13', '14', '15', '16', '17', '18', '19', '20', '21'].map(
    (number) => `1.1.${number}`,
  ),
  ...['2', '4', '6', '7', '8', '10', '12', '13', '14', '15', '16', '17', '18', '19', '20', '21', '22', '23'].map(
    (number) => `1.2.${number}`,
  ),
  ...['24', '25', '26', '29', '30'].map((number) => `1.2.${number}`),
  ...['1.3.1', '1.3.2', '1.3.3', '1.3.4', '1.3.5', '1.3.7', '1.4.1', '1.4.2'],
  ...['2.1', '2.2', '2.3', '2.4', '2.5', '2.6', '3.2.1'],
  ...['4.1.1', '4.1.2', '4.1.5', '4.1.6', '4.1.7', '4.1.8', '4.1.9', '4.1.10'],
  ...['4.2.1', '4.2.2', '4.2.3', '4.2.4', '4.2.5', '4.2.6', '4.2.7', '4.2.10', '4.2.11', '4.2.12', '4.2.13'],
  ...OF_CURRENT_KUBELETS,
].map((number) => `cis-${number}`);

/** DenyServiceExternalIPs exists from 1.21 on. */
const OF_EXTERNAL_IPS = RELEASE.minor >= 21 ? ['1.2.3'] : [];

const EXCEPTED_ON_CONTROL_PLANE = [
  '1.2.1',
  ...OF_EXTERNAL_IPS,
  '1.2.5',
  '1.2.9',
  '1.2.11',
  '1.2.27',
  '1.2.28',
  '4.2.9',
].map((number) => `cis-${number}`);

/** What kubeadm leaves wrong, besides what is excepted. */
const MENDED_ON_CONTROL_PLANE = [
  ...['1.1.12', '1.2.15', '1.2.16', '1.2.17', '1.2.18', '1.2.19', '1.2.29', '1.2.30', '1.3.1', '1.3.2', '1.4.1'],
  ...['3.2.1', '4.1.1', '4.1.9', '4.2.12', '4.2.13'],
  ...OF_CURRENT_KUBELETS,
].map((number) => `cis-${number}`);

/** Sets one thing wrong as another program would. */
async function setWrong({ machine }: Node, { path, change, mode, uid, create }: Breakage): Promise<void> {
  if (create !== undefined) await machine.write(path, create);
  if (change !== undefined) {
    const present = await machine.shell(`cat ${path}`);
    const wrong = change(present);
    assert.notEqual(wrong, present, `${path} has nothing to set wrong`);
    // In place: mode and owner are those of other controls.
    await machine.exec(['sh', '-c', 'cat > "$1"', 'sh', path], { input: wrong });
  }
  if (mode !== undefined) await machine.shell(`chmod ${mode.toString(8)} ${path}`);
  if (uid !== undefined) await machine.shell(`chown ${uid} ${path}`);
}

async function audit(node: Node, args: readonly string[]): Promise<HardeningReport & { readonly exitCode: number }> {
  const run = await node.agent(['audit', '-o', 'json', ...args]);
  const report: HardeningReport = JSON.parse(run.stdout);
  return { ...report, exitCode: run.exitCode };
}

function ids({ controls }: HardeningReport, state: AuditedControl['state']): readonly string[] {
  return controls.filter((control) => control.state === state).map(({ id }) => id);
}

describe('cis-level-1 on nodes of kubeadm', { skip, timeout: 60 * MINUTE }, () => {
  const seeds = newSeeds();
  let controlPlane: Node;
  let worker: Node;

  const fleet = Fleet.ofSuite(async () => {
    controlPlane = await fleet.start({ name: 'e2e-h1', ip: '10.99.0.91' });
    worker = await fleet.start({ name: 'e2e-h2', ip: '10.99.0.92' });
  });

  test('a machine that is no node is not audited', async () => {
    const run = await controlPlane.agent(['audit', '--profile', 'cis-level-1', '-o', 'json']);
    assert.equal(run.exitCode, 4);
    assert.equal(JSON.parse(run.stdout).error.reason, 'NotANode');
  });

  test('a control plane: provisioned twice, every control passes or is excepted', {
    timeout: 12 * MINUTE,
  }, async () => {
    await provisionTwice(controlPlane, merge(initDocument(controlPlane.site, seeds), CIS), seeds);
    for (const args of [[], ['-d', DOCUMENT], ['--profile', 'cis-level-1']]) {
      const report = await audit(controlPlane, args);
      assert.deepEqual(ids(report, 'fail'), []);
      assert.equal(report.exitCode, 0);
      assert.deepEqual(ids(report, 'pass'), PASS_ON_CONTROL_PLANE);
      assert.deepEqual(ids(report, 'exception'), EXCEPTED_ON_CONTROL_PLANE);
    }
    const log = await controlPlane.machine.shell('stat -c %s /var/log/kubernetes/audit/audit.log');
    assert.ok(Number(log) > 0, 'the API server writes the audit log');
  });

  test('a worker: provisioned twice, every control passes or is excepted', { timeout: 6 * MINUTE }, async () => {
    const document = merge(workerDocument(worker.site, seeds, controlPlane.machine.ip), CIS);
    await provisionTwice(worker, document, seeds);
    const report = await audit(worker, []);
    assert.deepEqual(ids(report, 'fail'), []);
    assert.deepEqual(ids(report, 'exception'), ['cis-4.2.9']);
    assert.deepEqual(
      ids(report, 'pass'),
      PASS_ON_CONTROL_PLANE.filter((id) => id.startsWith('cis-4.')),
    );
  });

  const eachMended = (node: () => Node, all: Readonly<Record<string, Breakage>>) => {
    for (const [number, breakage] of Object.entries(all)) {
      const id = `cis-${number}`;
      test(`${id} violated: the audit fails this control alone, and the next run corrects it`, {
        timeout: 8 * MINUTE,
      }, async () => {
        await setWrong(node(), breakage);
        const broken = await audit(node(), []);
        assert.deepEqual(ids(broken, 'fail'), [id]);
        assert.equal(broken.exitCode, 20);
        await assertSucceeded(node(), await node().provision());
        assert.deepEqual(ids(await audit(node(), []), 'fail'), []);
      });
    }
  };
  eachMended(() => controlPlane, breakages('e2e-h1'));
  eachMended(() => worker, WORKER_BREAKAGES);

  test('without the profile, the same audit fails the defaults of kubeadm', { timeout: 12 * MINUTE }, async () => {
    const node = await fleet.start({ name: 'e2e-h3', ip: '10.99.0.93' });
    await provisionOnce(node, initDocument(node.site, seeds));
    const report = await audit(node, ['--profile', 'cis-level-1']);
    assert.equal(report.exceptionsOf, 'nobody');
    assert.deepEqual(
      ids(report, 'fail').toSorted(),
      [...MENDED_ON_CONTROL_PLANE, ...EXCEPTED_ON_CONTROL_PLANE].toSorted(),
    );
    assert.equal(report.exitCode, 20);
    await fleet.remove(node);
  });
});
