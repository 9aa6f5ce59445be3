import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { describe, test } from 'node:test';
import type { Hardware } from '../../../src/host/linux/hardware.ts';
import { agent } from '../../support/agent.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';

const BUNDLE = '/tmp/inventory.tar.gz';
const DOCUMENT = '/tmp/inventory.yaml';
const TOKEN = 'abcdef.0123456789abcdef';

inThrowAwayMachine(import.meta.filename, () => {
  describe('the inventory of this machine', () => {
    const checked = ({ cpu, memory, network }: Hardware): void => {
      assert.equal(cpu.threads, cpus().length);
      assert.equal(memory.total, totalmem());
      assert.ok(network.some(({ name }) => name === 'lo'));
    };

    test('is in the bundle, without any secret', async () => {
      writeFileSync(
        DOCUMENT,
        `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: inventory}
host: {files: [{path: /etc/inventory, content: ${TOKEN}}]}
secrets: {token: {value: ${TOKEN}}}
`,
      );
      writeFileSync('/etc/default/kubelet', `KUBELET_EXTRA_ARGS=--token ${TOKEN}\nKEPT=yes\n`);
      const { status, stderr } = await agent(['bundle', '-d', DOCUMENT, '--output-file', BUNDLE]);
      assert.equal(status, 0, stderr);
      const read = (...names: string[]) => execFileSync('tar', ['-xzOf', BUNDLE, ...names], { encoding: 'utf8' });
      checked(JSON.parse(read('machineadm-bundle/hardware.json')));
      assert.match(read('machineadm-bundle/files/etc/default/kubelet'), /^KEPT=yes$/m);
      assert.ok(!read().includes(TOKEN.slice(7)));
    });

    test('is printed by facts, as text and as data', async () => {
      const json = await agent(['facts', '-o', 'json']);
      assert.equal(json.status, 0, json.stderr);
      const { facts, hardware } = JSON.parse(json.stdout);
      checked(hardware);
      assert.equal(facts.platform, 'linux');
      const text = await agent(['facts']);
      assert.match(text.stdout, /^hardware:$/m);
      assert.match(text.stdout, new RegExp(`^ +total: ${totalmem()}$`, 'm'));
    });
  });
});
