import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { DOCUMENT, Fleet, LAB, type Node } from '../../support/lab.ts';
import { needs } from '../../support/needs.ts';

const MINUTE = 60_000;
const NAME = 'machineadm-provision.service';
const UNIT = readFileSync(join(resolve(import.meta.dirname, '../../../packaging/systemd'), NAME), 'utf8').replaceAll(
  '/etc/machineadm/bootstrap.yaml',
  DOCUMENT,
);
const FILE = '/etc/lab-app.conf';
const SERVICE =
  '[Unit]\nDescription=Lab\n[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n';

const documentOf = (apply: 'Once' | 'EveryBoot') => ({
  apiVersion: 'machineadm.dev/v1alpha1',
  kind: 'MachineBootstrap',
  metadata: { name: 'applied' },
  apply,
  host: {
    files: [
      { path: FILE, content: 'of the document\n' },
      { path: '/etc/systemd/system/lab-app.service', content: SERVICE },
    ],
    services: [{ name: 'lab-app', enabled: false, state: 'Stopped' }],
  },
});

describe('the unit that starts machineadm at every boot, on a real systemd', {
  skip: needs(...LAB),
  timeout: 10 * MINUTE,
}, () => {
  let node: Node;

  const fleet = Fleet.ofSuite(
    async () => {
      node = await fleet.start({ name: 'e2e-apply', ip: '10.99.0.95' });
      await node.machine.write(`/etc/systemd/system/${NAME}`, UNIT);
      await node.lay(documentOf('Once'));
      await node.machine.shell(`systemctl daemon-reload; systemctl enable ${NAME}; systemctl start ${NAME}`);
    },
    { kind: 'host' },
  );

  const isEnabled = async () => (await node.machine.exec(['systemctl', 'is-enabled', 'lab-app'])).stdout.trim();
  const said = () => node.machine.shell(`journalctl -b -u ${NAME} -o cat --no-pager`);

  test('applies a document once: an edited file and an enabled service stay', async () => {
    const { runId, outcome } = await node.status();
    assert.equal(outcome, 'Succeeded');
    assert.deepEqual([await node.read(FILE), await isEnabled()], ['of the document\n', 'disabled']);
    await node.machine.shell(`echo edited >${FILE}; systemctl enable lab-app`);
    await node.machine.reboot();
    assert.match(await said(), /nothing to do: this document was applied at \S+ and has not changed \(apply: Once\)/);
    assert.deepEqual([await node.read(FILE), await isEnabled()], ['edited\n', 'enabled']);
    const status = await node.status();
    assert.deepEqual([status.runId, status.document.apply], [runId, 'Once']);
    assert.notEqual(status.document.appliedAt, undefined);
  });

  test('applies it at every boot where it says so', async () => {
    await node.lay(documentOf('EveryBoot'));
    await node.machine.reboot();
    assert.deepEqual([await node.read(FILE), await isEnabled()], ['of the document\n', 'disabled']);
    await node.machine.shell(`echo edited >${FILE}; systemctl enable lab-app`);
    await node.machine.reboot();
    assert.deepEqual([await node.read(FILE), await isEnabled()], ['of the document\n', 'disabled']);
    assert.equal((await node.status()).document.apply, 'EveryBoot');
  });
});
