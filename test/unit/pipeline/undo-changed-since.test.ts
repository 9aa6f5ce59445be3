import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MemoryHost } from '../../support/memory-host.ts';
import { noPauses } from '../../support/short-pauses.ts';
import {
  assertSameTree,
  hostDocument,
  Killer,
  memoryJournal,
  provisionHost,
  resetHost,
  treeOf,
} from '../../support/undo-bench.ts';
import { wholeMachine } from '../../support/whole-machine.ts';

interface Change {
  readonly document: string;
  /** What an administrator does after the run. */
  change(machine: MemoryHost): Promise<void> | void;
  /** What the reset says of it. */
  readonly left: string;
  /** Of the lines of the tree, what stays as the administrator left it. */
  readonly stays: RegExp;
}

const SWAPS = 'Filename Type Size Used Priority\n';
const SINCE = 'it was changed since machineadm changed it';
const MODE = 'its mode or owner was changed since machineadm changed it';

const CHANGES: Readonly<Record<string, Change>> = {
  'a service of before that was stopped': {
    document: 'services: [{name: containerd, dropIns: [{name: 10-x.conf, content: "[Service]\\n"}]}]',
    change: (machine) => machine.services.stop('containerd'),
    left: 'leave containerd stopped: that was not machineadm',
    stays: /^service containerd .*/,
  },
  'a service that was disabled, and that machineadm only stopped': {
    document: 'services: [{name: cron, state: Stopped}]',
    change: (machine) => machine.services.disable('cron'),
    left: 'leave cron disabled: that was not machineadm',
    stays: /(?<=^service cron .*)"enabled":\w+/,
  },
  'a service that was masked': {
    document: 'services: [{name: cron, state: Stopped}]',
    change: (machine) => machine.services.mask('cron'),
    left: 'leave cron masked: that was not machineadm',
    stays: /^service cron .*/,
  },
  'a kernel setting': {
    document: 'sysctl: {kernel.panic: 10}',
    change: (machine) => machine.writeKernelFile('/proc/sys/kernel/panic', '30'),
    left: `leave kernel/panic: ${SINCE}`,
    stays: /^\/proc\/sys\/kernel\/panic = .*/,
  },
  'swap that is on again': {
    document: 'swap: Disabled',
    change: (machine) => machine.put('/proc/swaps', `${SWAPS}/dev/vda2 partition 1048576 0 7\n`),
    left: '',
    stays: /^\/proc\/swaps [\s\S]*/,
  },
  'a mount with other options': {
    document: 'storage: {mounts: [{device: {path: /dev/vdb}, path: /srv/data}]}',
    change: (machine) =>
      machine.put(
        '/proc/self/mountinfo',
        (machine.text('/proc/self/mountinfo') ?? '').replace('/srv/data rw', '/srv/data ro'),
      ),
    left: `leave the mount on /srv/data: ${SINCE}`,
    stays: /^\/(?:proc\/self\/mountinfo|srv\/data) [\s\S]*/,
  },
  'a file': {
    document: 'files: [{path: /etc/hosts, content: ours}]',
    change: (machine) => machine.put('/etc/hosts', 'theirs'),
    left: 'leave /etc/hosts: its content was changed since machineadm wrote it; what was there before is in ',
    stays: /^\/etc\/hosts .*/,
  },
  'a file that is gone': {
    document: 'files: [{path: /etc/hosts, content: ours}]',
    change: (machine) => machine.take('/etc/hosts'),
    left: 'leave /etc/hosts: it was removed since machineadm wrote it; what was there before is in ',
    stays: /^\/etc\/hosts .*/,
  },
  'the mode of a file': {
    document: 'files: [{path: /etc/app/plain.conf, content: "a=1\\n", mode: "0600"}]',
    change: (machine) => machine.chmod('/etc/app/plain.conf', 0o640),
    left: `leave /etc/app/plain.conf: ${MODE}`,
    stays: /^\/etc\/app\/plain\.conf .*/,
  },
  'the owner of a directory': {
    document: 'directories: [{path: /srv, mode: "0750"}]',
    change: (machine) => machine.chown('/srv', 1000, 1000),
    left: `leave /srv: ${MODE}`,
    stays: /^\/srv .*/,
  },
  'a user': {
    document: 'users: [{name: ada, shell: /bin/bash}]',
    change: async (machine) => {
      await machine.run({ program: 'usermod', args: ['--shell', '/bin/zsh', 'ada'] });
    },
    left: 'leave the user ada: it was changed since machineadm changed it',
    stays: /^\/etc\/(?:passwd|shadow) [\s\S]*/,
  },
};

describe('a change that another program made after machineadm', () => {
  noPauses();
  for (const [name, { document, change, left, stays }] of Object.entries(CHANGES)) {
    test(`is kept and listed, and so by a second reset: ${name}`, async () => {
      const machine = wholeMachine();
      const before = treeOf(machine);
      const journal = memoryJournal();
      await provisionHost(machine, await hostDocument(document), journal);
      await change(machine);
      const kept = () => treeOf(machine).flatMap((line) => stays.exec(line)?.[0] ?? []);
      const others = (lines: readonly string[]) => lines.filter((line) => !stays.test(line));
      const changed = kept();
      for (const when of ['reset', 'reset again']) {
        const { planned, done } = await resetHost(machine, journal);
        assert.deepEqual(planned, done);
        const said = planned.filter((line) => line.startsWith('leave '));
        assert.ok(left === '' ? said.length === 0 : said[0]?.startsWith(left), `${when}: ${planned.join('\n')}`);
        assert.deepEqual(kept(), changed, when);
        assert.deepEqual(others(treeOf(machine)), others(before), when);
      }
    });
  }

  test('between the record of a file and its first change is not ours', async () => {
    const model = await hostDocument('files: [{path: /etc/new.conf, content: ours}]');
    const machine = wholeMachine();
    const journal = memoryJournal();
    const whole = new Killer();
    await provisionHost(wholeMachine(), model, memoryJournal(), whole);
    let met = 0;
    for (let at = 1; at < whole.events; at += 1) {
      const fresh = wholeMachine();
      const records = memoryJournal();
      await provisionHost(fresh, model, records, new Killer(at));
      if (fresh.text('/etc/new.conf') !== undefined) break;
      met += 1;
      fresh.put('/etc/new.conf', 'theirs');
      await resetHost(fresh, records);
      assert.equal(fresh.text('/etc/new.conf'), 'theirs', `killed at ${at}`);
    }
    assert.ok(met > 1);
    await provisionHost(machine, model, journal);
    await resetHost(machine, journal);
    assertSameTree(machine, treeOf(wholeMachine()), 'undisturbed');
  });

  test('in a journal of the previous version is known of files and users alone', async () => {
    const machine = wholeMachine();
    const before = treeOf(machine);
    const journal = memoryJournal();
    await provisionHost(
      machine,
      await hostDocument('sysctl: {kernel.panic: 10}\nservices: [{name: cron, enabled: false, state: Stopped}]'),
      journal,
    );
    const older = memoryJournal();
    for (const record of journal.records) {
      if (record.is === 'before') older.append({ ...record, v: 1 });
      else if (record.is !== 'after' || /^(?:path|user):/.test(record.of)) older.append(record);
    }
    await machine.writeKernelFile('/proc/sys/kernel/panic', '30');
    await resetHost(machine, older);
    assertSameTree(machine, before, 'restored all the same');
  });
});
