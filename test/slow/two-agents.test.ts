import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { stringify } from 'yaml';
import { type Agent, startAgent, statusOf } from '../support/agent.ts';
import { CaseRoot } from '../support/case-root.ts';
import { inNamespaces } from '../support/namespace.ts';
import { waitUntil } from '../support/wait-until.ts';

/**
 * A machine of a test: a root of its own, and what makes a program a part of it. /proc of the first machine shows the
 * processes of the others, as that of a host shows those of its containers.
 */
class Machine implements Disposable {
  readonly root: CaseRoot;
  readonly #enter: readonly string[];
  readonly #agents: Agent[] = [];

  constructor(name: string, enter: readonly string[]) {
    this.root = new CaseRoot(name);
    this.#enter = enter;
    const header = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name } };
    const commands = [
      'mkdir -p /srv/mounted; mountpoint -q /srv/mounted || mount -t tmpfs none /srv/mounted; echo mounted >/srv/mounted/file',
      'echo began >>/run/case/trace; while [ ! -e /run/case/go ]; do sleep 0.05; done; cat /srv/mounted/file >>/run/case/trace',
    ];
    const document = { ...header, host: { hooks: { early: { commands } } }, reporting: { sinks: [] } };
    writeFileSync(this.root.outside('/run/case/document.yaml'), stringify(document), { mode: 0o600 });
  }

  [Symbol.dispose](): void {
    // Agents of a test that failed would wait in their hooks for ever.
    this.go();
    for (const agent of this.#agents) agent.kill('SIGKILL');
    this.root[Symbol.dispose]();
  }

  provision(): Agent {
    const started = startAgent(['provision', '-d', '/run/case/document.yaml', '-o', 'json'], {
      wrapper: [...this.#enter, 'chroot', this.root.path],
    });
    started.stdin.end();
    this.#agents.push(started);
    return started;
  }

  go(): void {
    writeFileSync(this.root.outside('/run/case/go'), '');
  }

  trace(): string[] {
    const file = this.root.outside('/run/case/trace');
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  }

  /** How many process groups of its first run are alive. */
  leftCommands(): number {
    const run = /"run":"([^"]+)"/.exec(readFileSync(this.journalFile, 'utf8'))?.[1];
    assert.ok(run !== undefined);
    return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && leads(pid, run)).length;
  }

  get journalFile(): string {
    return this.root.outside('/var/lib/machineadm/journal');
  }

  async untilBegan(times: number): Promise<void> {
    await waitUntil(() => this.trace().filter((line) => line === 'began').length >= times, 'the hook begins');
  }
}

/** Whether a live process leads its group and carries the mark of this run. */
function leads(pid: string, run: string): boolean {
  try {
    const [state, , group] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (
      state !== 'Z' && group === pid && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`MACHINEADM_RUN=${run}`)
    );
  } catch {
    return false;
  }
}

const MACHINES: Readonly<Record<string, readonly string[]>> = {
  'a chroot': [],
  'a mount namespace': ['unshare', '--mount'],
  'PID and mount namespaces': ['unshare', '--mount', '--pid', '--fork', '--kill-child'],
};

inNamespaces(import.meta.filename, () => {
  for (const [place, enter] of Object.entries(MACHINES)) {
    describe(`an agent on a host, and another in ${place}`, () => {
      test('never touch each other, when one is killed and run again', async () => {
        using host = new Machine(`host-${enter.length}`, []);
        using guest = new Machine(`guest-${enter.length}`, enter);
        const inGuest = guest.provision();
        await guest.untilBegan(1);
        const before = readFileSync(guest.journalFile, 'utf8');

        // Both hold the lock of their machine at the same time.
        const killed = host.provision();
        await host.untilBegan(1);
        killed.kill('SIGKILL');
        await killed.ended;
        // The worst case: a disk that was copied, so that the journal of the host knows the run of the guest.
        const run = before.split('\n').find((line) => line.includes('"is":"run"'));
        assert.ok(run !== undefined);
        writeFileSync(host.journalFile, `${readFileSync(host.journalFile, 'utf8')}${run}\n`);
        const again = host.provision();
        await host.untilBegan(2);
        // The guest runs on, and its journal is as it was.
        assert.equal(readFileSync(guest.journalFile, 'utf8'), before);
        assert.deepEqual(guest.trace(), ['began']);
        host.go();
        const ended = await again.ended;
        assert.deepEqual([ended.status, statusOf(ended).outcome], [0, 'Succeeded'], ended.stderr);

        guest.go();
        const guestEnded = await inGuest.ended;
        assert.deepEqual([guestEnded.status, statusOf(guestEnded).outcome], [0, 'Succeeded'], guestEnded.stderr);
        assert.deepEqual(guest.trace(), ['began', 'mounted'], 'its hook ran once, and found what it had mounted');
      });
    });
  }

  test('two agents in chroots of one namespace: each ends what its own killed run left', async () => {
    const machines = ['first', 'second'].map((name) => new Machine(name, []));
    try {
      const killed = machines.map((machine) => machine.provision());
      await Promise.all(machines.map((machine) => machine.untilBegan(1)));
      for (const one of killed) one.kill('SIGKILL');
      await Promise.all(killed.map((one) => one.ended));
      assert.deepEqual(
        machines.map((machine) => machine.leftCommands()),
        [1, 1],
      );
      const [first, second] = machines;
      const again = first?.provision();
      await first?.untilBegan(2);
      assert.deepEqual([first?.leftCommands(), second?.leftCommands()], [0, 1]);
      const againInSecond = second?.provision();
      await second?.untilBegan(2);
      assert.equal(second?.leftCommands(), 0);
      for (const machine of machines) machine.go();
      for (const one of [again, againInSecond]) assert.equal((await one?.ended)?.status, 0);
    } finally {
      for (const machine of machines) machine[Symbol.dispose]();
    }
  });
});
