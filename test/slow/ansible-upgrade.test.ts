import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { ansibleCore, ansiblePlaybook } from '../support/ansible.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PLAYBOOK = join(ROOT, 'packaging/ansible/upgrade.yml');
const DOCUMENT = '/etc/machineadm/bootstrap.yaml';
const NEXT = '/etc/machineadm/next.yaml';
const NAMES = ['cp-1', 'cp-2', 'worker-1'];

inThrowAwayMachine(import.meta.filename, () => {
  const work = mkdtempSync(join(tmpdir(), 'machineadm-ansible-'));
  after(() => rmSync(work, { recursive: true }));
  const calls = join(work, 'calls');
  const real = `${process.execPath} ${join(ROOT, 'src/main.ts')}`;

  function program(name: string, script: string): string {
    const path = join(work, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** Runs the playbook; all hosts are this machine, and their documents differ in the name. */
  function play(machineadm: string, ...options: readonly string[]) {
    writeFileSync(calls, '');
    rmSync(NEXT, { force: true });
    mkdirSync('/etc/machineadm', { recursive: true });
    writeFileSync(DOCUMENT, 'old\n');
    const hostOf = (name: string) => ({
      machineadm_document: {
        ...{ apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name } },
        kubernetes: {
          ...{ version: 'v1.36.7', role: 'Worker' },
          join: { discovery: { file: { path: '/etc/discovery.conf' } } },
        },
      },
    });
    const vars = {
      ...{ machineadm_path: machineadm, ansible_connection: 'local', ansible_become: false },
      // Arguments of the command line win over those of a play.
      machineadm_kubectl: [program('kubectl', `echo "kubectl $*" >> ${calls}`)],
    };
    const group = (names: readonly string[]) => ({
      hosts: Object.fromEntries(names.map((name) => [name, hostOf(name)])),
    });
    const inventory = join(work, 'inventory.json');
    // The workers come first in the inventory: the playbook decides the order.
    writeFileSync(
      inventory,
      JSON.stringify({ workers: group(NAMES.slice(2)), control_planes: group(NAMES.slice(0, 2)) }),
    );
    const result = ansiblePlaybook(work, '-i', inventory, '-e', JSON.stringify(vars), PLAYBOOK, ...options);
    return { ...result, calls: readFileSync(calls, 'utf8').trim().split('\n') };
  }

  /** Records how it is called, by the name in the document; `validate` is the real one. */
  const recorder = (refuses = 'none') =>
    program(
      'machineadm',
      `if [ "$1" = validate ]; then exec ${real} "$@"; fi
name=$(sed -n 's/.*"name": "\\(.*\\)".*/\\1/p' "$3")
echo "$name: $*" >> ${calls}
if [ "$name" = ${refuses} ]; then echo "refused" >&2; exit 4; fi`,
    );

  describe('the playbook that upgrades a fleet', () => {
    beforeEach(() => rmSync(calls, { force: true }));

    test('does the control planes first, one at a time, and drains each worker from a control plane', () => {
      const { status, stdout, stderr, calls: seen } = play(recorder());
      assert.equal(status, 0, stdout + stderr);
      assert.deepEqual(seen, [
        `cp-1: upgrade -f ${NEXT} --dry-run`,
        `cp-1: upgrade -f ${NEXT}`,
        `cp-2: upgrade -f ${NEXT} --dry-run`,
        `cp-2: upgrade -f ${NEXT}`,
        `worker-1: upgrade -f ${NEXT} --drained --dry-run`,
        'kubectl drain worker-1 --ignore-daemonsets',
        `worker-1: upgrade -f ${NEXT} --drained`,
        'kubectl uncordon worker-1',
      ]);
      assert.match(readFileSync(DOCUMENT, 'utf8'), /"name": "worker-1"/, 'units apply the new document from now on');
    });

    test('with --check prints plans, and upgrades and drains nothing', () => {
      const { status, stdout, calls: seen } = play(recorder('worker-1'), '--check');
      assert.equal(status, 0, stdout);
      assert.deepEqual(
        seen.map((line) => line.split(': ')[1]),
        [`upgrade -f ${NEXT} --dry-run`, `upgrade -f ${NEXT} --dry-run`, `upgrade -f ${NEXT} --drained --dry-run`],
      );
      assert.match(stdout, /refused/, 'the refusal of the worker is printed');
      assert.equal(readFileSync(DOCUMENT, 'utf8'), 'old\n');
    });

    test('stops at the first node that is refused: the others stay as they are', () => {
      const { status, calls: seen } = play(recorder('cp-1'));
      assert.notEqual(status, 0);
      assert.deepEqual(seen, [`cp-1: upgrade -f ${NEXT} --dry-run`]);
    });

    test('with the real machineadm on a machine that is no node fails with its reason', () => {
      const { status, stdout } = play(program('machineadm', `exec ${real} "$@"`));
      assert.notEqual(status, 0);
      assert.match(stdout, /NotANode/);
      assert.equal(existsSync(NEXT), true);
      assert.equal(readFileSync(DOCUMENT, 'utf8'), 'old\n');
    });
  });
}, [ansibleCore(), 'python3']);
