import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { LAB_DIRECTORY } from '../../scripts/lab/artefacts.ts';
import { machineCgroups } from '../../scripts/lab/cgroups.ts';
import { cloneMachine, destroyMachines, listMachines, startMachine } from '../../scripts/lab/fleet.ts';
import type { Machine } from '../../scripts/lab/machine.ts';
import { isRunning, run } from '../../scripts/lab/process.ts';
import { LAB, progress, takeLab } from '../support/lab.ts';
import { needs } from '../support/needs.ts';

const MINUTE = 60_000;

describe('a lab machine', { skip: needs(...LAB), timeout: 5 * MINUTE }, () => {
  const machines: Machine[] = [];
  const releases: (() => Promise<void>)[] = [];
  let machine: Machine;

  before(
    async () => {
      // All of it: any session that starts a machine clears away what a killed one left, which a test here looks at.
      for (const kind of ['nodes', 'host'] as const) releases.push(await takeLab(kind));
      machine = await startMachine({
        name: 'e2e-l1',
        ip: '10.99.0.71',
        temporary: true,
        files: { '/etc/e2e/given': 'at first boot\n', '/etc/e2e/token.secret': 'hidden' },
        progress,
      });
      machines.push(machine);
    },
    { timeout: 30 * MINUTE },
  );
  after(async () => {
    await destroyMachines(machines);
    for (const release of releases) await release();
  });

  test('has a systemd, a containerd that answers, and the Kubernetes programs', async () => {
    assert.equal((await machine.shell('cat /proc/1/comm')).trim(), 'systemd');
    assert.equal((await machine.shell('systemctl list-units --failed --no-legend')).trim(), '');
    assert.match(await machine.shell('ctr version'), /Server:/);
    assert.equal((await machine.shell('kubeadm version -o short')).trim(), 'v1.20.2');
    assert.equal((await machine.shell('ctr -n k8s.io images ls -q')).trim(), '', 'no image is imported yet');
  });

  test('starts with the files it was given', async () => {
    assert.equal(await machine.shell('cat /etc/e2e/given'), 'at first boot\n');
    assert.equal((await machine.shell('stat -c %a /etc/e2e/token.secret')).trim(), '600');
  });

  test('exec passes on input and environment, and returns the exit status and both streams separately', async () => {
    const done = await machine.exec(['sh', '-c', 'cat; echo "$WORD" >&2; exit 7'], {
      input: 'in',
      env: { WORD: 'out' },
    });
    assert.deepEqual([done.status, done.stdout, done.stderr], [7, 'in', 'out\n']);
  });

  test('a command that takes too long is killed with its children', async () => {
    const done = await machine.exec(['sh', '-c', 'sleep 4711 & wait'], { timeoutMs: 500 });
    assert.equal(done.timedOut, true);
    assert.equal((await machine.exec(['pgrep', '-f', '^sleep 4711'])).status, 1);
  });

  test('keeps its disk over a reboot, but not its memory', async () => {
    await machine.shell('echo kept > /root/kept; echo lost > /run/lost');
    const boot = await machine.shell('cat /proc/sys/kernel/random/boot_id');
    await machine.reboot();
    assert.equal(await machine.shell('cat /root/kept'), 'kept\n');
    assert.equal((await machine.exec(['test', '-e', '/run/lost'])).status, 1);
    assert.notEqual(await machine.shell('cat /proc/sys/kernel/random/boot_id'), boot);
    await machine.shell('test -w /proc/sys/vm/overcommit_memory && mount | grep "^proc on /proc/sys type proc (rw"');
  });

  test('can be copied: the copy has its disk, and an identity of its own', async () => {
    await machine.shell('rm /etc/e2e/given');
    await assert.rejects(cloneMachine(machine, 'e2e-l2', '10.99.0.72', true), /power e2e-l1 off/);
    await machine.powerOff();
    const copy = await cloneMachine(machine, 'e2e-l2', '10.99.0.72', true);
    machines.push(copy);
    await copy.boot();
    await machine.boot();
    assert.equal(await copy.shell('cat /root/kept'), 'kept\n');
    assert.equal((await copy.exec(['test', '-e', '/etc/e2e/given'])).status, 1, 'what was deleted stays deleted');
    assert.equal((await copy.shell('hostname')).trim(), 'e2e-l2');
    assert.notEqual(await copy.shell('cat /etc/machine-id'), await machine.shell('cat /etc/machine-id'));
    await copy.shell('curl -s --connect-timeout 3 telnet://10.99.0.71:1 || [ $? = 7 ]'); // refused: it is reachable
  });

  test('what a killed session left is removed by the next', async () => {
    const session = [
      `import { startMachine } from ${JSON.stringify(join(import.meta.dirname, '../../scripts/lab/fleet.ts'))};`,
      `await startMachine({ name: 'e2e-l3', ip: '10.99.0.73', temporary: true });`,
      `process.kill(process.pid, 'SIGKILL');`,
    ].join('\n');
    const killed = await run(process.execPath, ['--input-type=module', '--eval', session], { timeoutMs: MINUTE });
    assert.equal(killed.status, 137, killed.stderr);
    const left = listMachines().find(({ name }) => name === 'e2e-l3');
    assert.equal(left?.isUp(), true, 'the machine outlived its session');
    const supervisor = left.record.supervisor;

    await destroyMachines([]);
    assert.equal(
      listMachines().some(({ name }) => name === 'e2e-l3'),
      false,
    );
    assert.ok(supervisor !== undefined && !isRunning(supervisor));
    assert.deepEqual(machineCgroups('e2e-l3'), []);
    assert.equal(existsSync(join(LAB_DIRECTORY, 'machines/e2e-l3')), false);
    assert.doesNotMatch(readFileSync('/proc/mounts', 'utf8'), /machines\/e2e-l3/);
    assert.equal(machine.isUp(), true, 'machines of living sessions stay');
  });
});
