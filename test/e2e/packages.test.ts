import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunStatus } from '@machineadm/status/status.ts';
import { billOfMaterialsFile, nativeTarget } from '../../scripts/build/runtime.ts';
import { packageInto } from '../../scripts/package.ts';
import { buildInfo } from '../../src/cli/build-info.ts';
import { initDocument, merge, newSeeds, toYaml } from '../support/documents.ts';
import { Fleet, KUBECTL, LAB, type Node, SENTINEL } from '../support/lab.ts';
import { archiveOf } from '../support/lab-release.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
const ROOT = resolve(import.meta.dirname, '../..');
const AGENT = '/usr/bin/machineadm';
const RECEIVED = '/root/received';
const skip = needs(...LAB, 'MACHINEADM_E2E=all');

/** A document for an image: a file, and one of the lab's image archives. */
const image = (archive: string, path: string): string => `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: image}
host:
  files: [{path: ${path}, content: "laid\\n"}]
images:
  archives: [{path: ${archiveOf(archive)}}]
`;

describe('the deb of the real binary', { skip, timeout: 40 * MINUTE }, () => {
  const { version } = buildInfo();
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-deb-e2e-'));
  let node: Node;
  let deb = '';

  const fleet = Fleet.ofSuite(async () => {
    const built = ['machineadm', nativeTarget().file, 'LICENSES.txt', billOfMaterialsFile(nativeTarget())];
    for (const name of built) symlinkSync(join(ROOT, 'dist', name), join(directory, name));
    const options = { root: ROOT, targets: [nativeTarget()], version, epoch: 1_700_000_000, level: 0 };
    [deb = ''] = await packageInto(directory, options);
    node = await fleet.startBare({ name: 'e2e-deb', ip: '10.99.0.77' });
    await node.machine.copyIn(deb, '/root/machineadm.deb');
  });
  after(() => rmSync(directory, { recursive: true }));

  const shell = async (script: string): Promise<string> => (await node.machine.shell(script)).trim();
  const property = (unit: string, name: string) => shell(`systemctl show ${unit} --property=${name} --value`);

  /** Starts a unit and waits for its end, as enabling it before a boot would; gives its exit status. */
  async function start(unit: string): Promise<string> {
    const { status } = await node.machine.exec(['systemctl', 'start', unit], { timeoutMs: 10 * MINUTE });
    const code = await property(unit, 'ExecMainStatus');
    assert.equal(status === 0, code === '0', `${unit} ended with ${code}, systemctl with ${status}`);
    return code;
  }

  /** A unit whose conditions do not hold is not started, which is no failure. */
  async function isLeftAlone(unit: string): Promise<void> {
    await node.machine.shell(`systemctl stop ${unit}; systemctl start ${unit}`);
    assert.equal(await property(unit, 'ConditionResult'), 'no', unit);
  }

  async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
    for (let left = 240; left > 0; left -= 1) {
      if (await holds()) return;
      await sleep(500);
    }
    assert.fail(`${what}: not within two minutes`);
  }

  test('passes lintian, with an explanation for every tag', { timeout: 5 * MINUTE }, (context) => {
    const missing = needs('lintian');
    if (missing !== false) return context.skip(missing);
    const args = ['--allow-root', '--fail-on', 'error,warning', '--no-tag-display-limit', deb];
    const { status, stdout } = spawnSync('lintian', args, { encoding: 'utf8' });
    assert.deepEqual([status, stdout.match(/^[EW]: .*$/gm)], [0, null]);
  });

  test('is installed, and systemd finds no mistake in its units', { timeout: 3 * MINUTE }, async () => {
    await shell('dpkg --install /root/machineadm.deb');
    assert.ok((await shell(`${AGENT} version`)).startsWith(`machineadm ${version} `));
    // The manual page is there; the program that shows it need not be.
    assert.equal(await shell('systemd-analyze verify --man=no /usr/lib/systemd/system/machineadm-* 2>&1'), '');
    assert.equal(await shell("find /etc/systemd/system -name 'machineadm-*'"), '', 'no unit is enabled');
  });

  test('machineadm-prepare.service prepares the machine that bakes, once', { timeout: 5 * MINUTE }, async () => {
    await node.machine.write('/etc/machineadm/base.yaml', image('pause', '/etc/baked'), '600');
    assert.equal(await start('machineadm-prepare.service'), '0');
    assert.equal(await node.read('/etc/baked'), 'laid\n');
    const { steps }: Pick<RunStatus, 'steps'> = JSON.parse(
      (await node.read('/var/lib/machineadm/prepared.json')) ?? '',
    );
    assert.ok(steps.some(({ changes }) => changes.length > 0));
    await isLeftAlone('machineadm-prepare.service');
  });

  test('machineadm-prefetch.service imports images before the bootstrap', { timeout: 5 * MINUTE }, async () => {
    const images = () => shell('ctr --namespace k8s.io images list --quiet');
    assert.doesNotMatch(await images(), /kube-proxy/);
    await node.machine.write('/etc/machineadm/prefetch.yaml', image('kube-proxy', '/etc/prefetched'), '600');
    assert.equal(await start('machineadm-prefetch.service'), '0');
    assert.match(await images(), /kube-proxy/);
  });

  test('machineadm-provision.service makes the machine a node, once', { timeout: 15 * MINUTE }, async () => {
    const sink = `[ -e /root/repaired ] || exit 75; cat >>${RECEIVED}`;
    const document = merge(initDocument(node.site, newSeeds()), {
      hardening: { profiles: ['cis-level-1'] },
      reporting: { deadline: '5s', sinks: [{ type: 'Journal' }, { type: 'Exec', command: ['sh', '-c', sink] }] },
    });
    await node.machine.write('/etc/machineadm/bootstrap.yaml', toYaml(document), '600');
    assert.equal(await start('machineadm-provision.service'), '0');
    assert.equal(await node.read(SENTINEL), 'success\n');
    const status: RunStatus = JSON.parse(await shell(`${AGENT} status -o json`));
    assert.equal(status.outcome, 'Succeeded');
    // The unit runs at every boot; a document that was applied is left at that.
    await shell('systemctl restart machineadm-provision.service');
    const { runId }: RunStatus = JSON.parse((await node.read('/run/machineadm/status.json')) ?? '');
    assert.equal(runId, status.runId);
    await isLeftAlone('machineadm-prepare.service');
    await isLeftAlone('machineadm-prefetch.service');
  });

  test('machineadm-report-flush.timer sends what could not be sent', { timeout: 5 * MINUTE }, async () => {
    const unit = 'machineadm-report-flush';
    await until('the deliverer of the run has given up', async () => {
      const { reports }: RunStatus = JSON.parse(await shell(`${AGENT} status -o json`));
      return reports?.some(({ state, pending }) => state === 'Pending' && pending > 0) ?? false;
    });
    assert.equal(await node.read(RECEIVED), undefined);
    await shell('touch /root/repaired');
    // At a moment of its own within minutes, but for the test.
    const soon = '[Timer]\nOnBootSec=\nOnActiveSec=1s\nRandomizedDelaySec=0\nAccuracySec=1s\n';
    await shell(`mkdir -p /etc/systemd/system/${unit}.timer.d`);
    await node.machine.write(`/etc/systemd/system/${unit}.timer.d/soon.conf`, soon);
    await shell(`systemctl daemon-reload; systemctl enable --now ${unit}.timer`);
    await until('the reports are delivered', async () => ((await node.read(RECEIVED)) ?? '').includes('concluded'));
    await until('the unit has ended', async () => (await property(`${unit}.service`, 'ActiveState')) === 'inactive');
    assert.equal(await property(`${unit}.service`, 'Result'), 'success');
    await isLeftAlone(`${unit}.service`);
  });

  test('machineadm-audit.timer audits the node against its profiles', { timeout: 5 * MINUTE }, async () => {
    const unit = 'machineadm-audit';
    await shell(`mkdir -p /etc/systemd/system/${unit}.timer.d`);
    const soon = '[Timer]\nOnCalendar=\nOnActiveSec=1s\nRandomizedDelaySec=0\nAccuracySec=1s\n';
    await node.machine.write(`/etc/systemd/system/${unit}.timer.d/soon.conf`, soon);
    await shell(`systemctl daemon-reload; systemctl enable --now ${unit}.timer`);
    await until('the audit ran', async () => /\bcis-1\.1\.1\b/.test(await shell(`journalctl -u ${unit} -o cat`)));
    await until('it has ended', async () => (await property(`${unit}.service`, 'ActiveState')) === 'inactive');
    assert.equal(await property(`${unit}.service`, 'Result'), 'success');

    await shell('chmod 0666 /etc/kubernetes/manifests/kube-apiserver.yaml');
    assert.equal(await start(`${unit}.service`), '20', 'a control that fails fails the unit');
    assert.equal(await property(`${unit}.service`, 'ActiveState'), 'failed');
    await shell('chmod 0600 /etc/kubernetes/manifests/kube-apiserver.yaml');
    assert.equal(await start(`${unit}.service`), '0');
  });

  test('is removed: no unit stays enabled, and the node keeps running', { timeout: 3 * MINUTE }, async () => {
    await shell('dpkg --remove machineadm');
    assert.equal(
      await shell("find /etc/systemd/system -name 'machineadm-*' -type l ! -name 'machineadm-sentinel.service'"),
      '',
    );
    assert.equal((await node.machine.exec(['test', '-e', AGENT])).status, 1);
    assert.notEqual(await node.read('/var/lib/machineadm/journal'), undefined);
    await shell(`${KUBECTL} get nodes`);
  });

  test('keeps its sentinel over a reboot without the package, and no unit fails', { timeout: 5 * MINUTE }, async () => {
    await node.machine.reboot();
    assert.equal(await node.read(SENTINEL), 'success\n');
    assert.equal(await shell(`stat -c %a ${SENTINEL}`), '644');
    assert.equal(await shell("systemctl list-units --all --failed --plain --no-legend 'machineadm-*'"), '');
    await shell('dpkg --install /root/machineadm.deb');
    assert.equal(await shell("find /etc/systemd/system -name 'package-removed.conf'"), '');
    await node.machine.reboot();
    assert.equal(await node.read(SENTINEL), 'success\n', 'the program restores it again');
  });
});
