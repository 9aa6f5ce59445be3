import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { buildLayer } from '../../scripts/lab/artefacts.ts';
import { Fleet, LAB, type Node, progress, told } from '../support/lab.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;
const ROOT = resolve(import.meta.dirname, '../..');
const skip = needs(...LAB, 'MACHINEADM_E2E=all');

const BASE = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: image}
host:
  kernelModules: [overlay, br_netfilter]
  files: [{path: /etc/e2e/base.conf, content: "baked = true\\n"}]
images:
  archives: [{path: /opt/images/pause.tar}]
  required: [k8s.gcr.io/pause:3.2]
`;

/** What a build takes away before the role verifies: as packaging/image-builder/packer/prepare.sh does. */
const SYSPREP = `rm -f /etc/ssh/ssh_host_*_key /var/lib/dbus/machine-id
systemctl stop systemd-random-seed.service
rm -f /var/lib/systemd/random-seed
: > /etc/machine-id`;

describe("image-builder's Ansible", { skip, timeout: 30 * MINUTE }, () => {
  const checkout = mkdtempSync(join(tmpdir(), 'machineadm-image-builder-e2e-'));
  let node: Node;

  const fleet = Fleet.ofSuite(async () => {
    const ansible = await buildLayer('ansible-core', progress);
    cpSync(resolve(ROOT, 'packaging'), join(checkout, 'root/checkout/packaging'), { recursive: true });
    node = await fleet.startBare({ name: 'e2e-ansible', ip: '10.99.0.78', lower: [checkout, ansible] });
    await node.machine.copyIn(resolve(ROOT, 'dist/machineadm'), '/root/machineadm');
    await node.machine.write('/root/base.yaml', BASE);
  });
  after(() => rmSync(checkout, { recursive: true }));

  /** Runs the playbook on the machine itself; gives Ansible's recap of it. */
  async function play(binary = '/root/machineadm'): Promise<Readonly<Record<string, number>>> {
    const run = await node.machine.exec(
      [
        ...['ansible-playbook', '-i', 'localhost,', '-c', 'local'],
        ...['-e', `machineadm_binary=${binary}`, '-e', 'machineadm_document=/root/base.yaml'],
        '/root/checkout/packaging/image-builder/ansible/playbook.yml',
      ],
      { timeoutMs: 5 * MINUTE },
    );
    assert.equal(run.status, 0, told(run));
    const recap = /^localhost .*$/m.exec(run.stdout)?.[0] ?? '';
    return Object.fromEntries([...recap.matchAll(/(\w+)=(\d+)/g)].map(([, name, count]) => [name, Number(count)]));
  }

  test('prepares a machine with the role, and verifies it', { timeout: 8 * MINUTE }, async () => {
    await node.machine.shell(SYSPREP);
    const recap = await play();
    assert.deepEqual([recap.failed, recap.unreachable], [0, 0]);
    // The binary, the group, the unit, its preset with the directory, its enablement, and what the document asks for.
    assert.equal(recap.changed, 7);
    assert.equal(await node.read('/etc/e2e/base.conf'), 'baked = true\n');
    assert.match(await node.machine.shell('ctr --namespace k8s.io images list --quiet'), /pause:3\.2/);
    assert.match(await node.machine.shell('systemctl is-enabled machineadm-resume.service'), /^enabled/);
    assert.equal((await node.machine.shell('find /tmp /var/tmp /root -name "machineadm-*" -type d')).trim(), '');
  });

  test('changes nothing when it runs again', { timeout: 8 * MINUTE }, async () => {
    const recap = await play();
    assert.deepEqual([recap.failed, recap.unreachable, recap.changed], [0, 0, 0]);
  });

  test('starts the program that the image contains', { timeout: 8 * MINUTE }, async () => {
    const started = () => node.machine.shell('systemctl show machineadm-resume.service --property=ExecStart');
    assert.match(await started(), /path=\/usr\/local\/bin\/machineadm ;/);
    await node.machine.shell('mv /usr/local/bin/machineadm /usr/bin/machineadm');
    const recap = await play('');
    assert.deepEqual([recap.failed, recap.unreachable, recap.changed], [0, 0, 1]);
    assert.match(await started(), /path=\/usr\/bin\/machineadm ;/);
    assert.match(
      await node.machine.shell('cat /etc/systemd/system-preset/10-machineadm.preset'),
      /^enable machineadm-resume\.service$/m,
    );
  });

  test('fails, with the reason, when data of the machine is left', { timeout: 8 * MINUTE }, async () => {
    await node.machine.shell('systemd-machine-id-setup');
    await assert.rejects(play(), /ImageNotReady/);
  });
});
