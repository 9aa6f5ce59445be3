import assert from 'node:assert/strict';
import type { SpawnSyncReturns } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, test } from 'node:test';
import { ansibleCore, ansiblePlaybook } from '../support/ansible.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';

const ROOT = resolve(import.meta.dirname, '../..');

inThrowAwayMachine(import.meta.filename, () => {
  const work = mkdtempSync(join(tmpdir(), 'machineadm-ansible-'));
  after(() => rmSync(work, { recursive: true }));
  cpSync(join(ROOT, 'packaging/ansible'), work, { recursive: true });
  const program = join(work, 'machineadm');
  writeFileSync(program, `#!/bin/sh\nexec ${process.execPath} ${join(ROOT, 'src/main.ts')} "$@"\n`);
  chmodSync(program, 0o755);
  const document = '/etc/machineadm/bootstrap.yaml';

  /** Runs the playbook on this machine as the host edge-1 with this document. */
  function play(machineadm_document: object): SpawnSyncReturns<string> {
    const vars = { machineadm_document, machineadm_path: program, ansible_connection: 'local', ansible_become: false };
    const inventory = join(work, 'inventory.json');
    writeFileSync(inventory, JSON.stringify({ nodes: { hosts: { 'edge-1': vars } } }));
    return ansiblePlaybook(work, '-i', inventory, join(work, 'playbook.yml'));
  }

  const valid = {
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name: 'edge-1' },
    host: { files: [{ path: '/etc/from-ansible', content: 'x\n' }] },
    reporting: { sinks: [] },
  };
  const report = (): { outcome?: string; error?: { reason: string } } =>
    JSON.parse(readFileSync(join(work, 'reports/edge-1.json'), 'utf8'));

  describe('the role that makes machines nodes', () => {
    test('provisions, and brings the report back', () => {
      const { status, stdout, stderr } = play(valid);
      assert.equal(status, 0, stdout + stderr);
      assert.equal(readFileSync('/etc/from-ansible', 'utf8'), 'x\n');
      assert.equal(report().outcome, 'Succeeded');
      assert.match(stdout, /edge-1 .*\bchanged=[1-9]/);
    });

    test('changes nothing the second time', () => {
      const { status, stdout, stderr } = play(valid);
      assert.equal(status, 0, stdout + stderr);
      assert.match(stdout, /TASK \[machineadm_node : Provision\] \*+\s+ok: \[edge-1\]/);
    });

    test('an invalid document fails with its mistake, and replaces nothing', () => {
      const before = readFileSync(document, 'utf8');
      const { status, stdout } = play({ ...valid, host: { sysctls: {} } });
      assert.equal(status, 2, stdout);
      assert.match(stdout, /host\.sysctls: unknown key/);
      assert.equal(readFileSync(document, 'utf8'), before);
    });

    test('a run that is refused fails the play, and its report says why', () => {
      const owned = { path: '/etc/refused', content: 'x\n', owner: 'nobody-here:root' };
      const { status, stdout } = play({ ...valid, host: { files: [owned] } });
      assert.equal(status, 2, stdout);
      assert.equal(report().error?.reason, 'FileOwnerUnknown');
      assert.equal(existsSync('/etc/refused'), false);
    });

    test('a host without a document fails before anything is written', () => {
      const { status, stdout } = play({});
      assert.equal(status, 2, stdout);
      assert.match(stdout, /machineadm_document is empty: give edge-1 a document/);
    });
  });
}, [ansibleCore(), 'python3']);
