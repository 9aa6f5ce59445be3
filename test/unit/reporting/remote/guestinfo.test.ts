import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { sizeOf } from '@machineadm/status/event.ts';
import { runCommand } from '../../../../src/host/linux/commands.ts';
import { guestinfoSink } from '../../../../src/reporting/remote/guestinfo.ts';
import type { DeliveryContext } from '../../../../src/reporting/remote/remote-sink.ts';
import { deliver } from '../../../support/deliver.ts';
import { concludedEvent } from '../../../support/events.ts';

/**
 * As vmware-rpctool(1) of open-vm-tools: one argument, `info-set KEY VALUE`, where the rest is the value; a message
 * above 64 KiB and a machine without a hypervisor of VMware end it with 1.
 */
const RPCTOOL = `#!/bin/sh
[ $# -eq 1 ] || exit 2
[ ! -e "$(dirname "$0")/broken" ] || { echo "Failed to send message" >&2; exit 1; }
case "$1" in "info-set guestinfo."*) ;; *) echo "Unknown command"; exit 1;; esac
[ "$(printf %s "$1" | wc -c)" -le 65536 ] || { echo "Message too long"; exit 1; }
rest=\${1#info-set }
printf %s "\${rest#* }" > "$(dirname "$0")/\${rest%% *}"
`;

class VirtualMachine implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'machineadm-vm-'));
  readonly programs: string[] = [];
  /** Runs the stand-in in the place of the program; one that this machine lacks is not installed. */
  readonly run: DeliveryContext['run'] = async (command) => {
    this.programs.push(command.program);
    const path = join(this.directory, command.program);
    if (existsSync(path)) return await runCommand({ ...command, program: path });
    throw new MachineadmError({ reason: 'HostStepFailed', summary: `${command.program} is not installed`, remedy: '' });
  };

  constructor(programs: Readonly<Record<string, string>> = { 'vmware-rpctool': RPCTOOL }) {
    for (const [name, text] of Object.entries(programs)) {
      writeFileSync(join(this.directory, name), text);
      chmodSync(join(this.directory, name), 0o755);
    }
  }

  variable(name: string): string | undefined {
    const path = join(this.directory, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  }

  breakTools(broken: boolean): void {
    const path = join(this.directory, 'broken');
    if (broken) writeFileSync(path, '');
    else rmSync(path);
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true });
  }
}

const EVENT = 'guestinfo.machineadm.event';
const CONDITION = 'guestinfo.vmservice.bootstrap.condition';

describe('a virtual machine of vSphere', () => {
  test('shows the event, and the condition of a failure to VM Operator', async () => {
    using machine = new VirtualMachine();
    const event = concludedEvent();
    assert.deepEqual(await deliver(guestinfoSink(), event, { run: machine.run }), { kind: 'delivered' });
    const { failure, message, ...shown } = JSON.parse(machine.variable(EVENT) ?? '');
    assert.deepEqual([shown.id, shown.outcome, failure.reason], [event.id, event.outcome, 'SwapEnabled']);
    assert.match(machine.variable(CONDITION) ?? '', /^false,SwapEnabled,.*SwapEnabled/);
    // Every user sees the variables, and the arguments of the Tools.
    assert.deepEqual(
      [failure.evidence, shown.steps, shown.warnings, shown.timeline],
      [[], undefined, undefined, undefined],
    );
    for (const text of [JSON.stringify({ failure, message }), machine.variable(CONDITION)])
      for (const { text: quoted } of event.failure?.evidence ?? []) assert.ok(text?.includes(quoted) === false);
  });

  test('shows the condition of a success', async () => {
    using machine = new VirtualMachine();
    await deliver(guestinfoSink(), concludedEvent({ outcome: 'Succeeded' }), { run: machine.run });
    assert.match(machine.variable(CONDITION) ?? '', /^true,Succeeded,./);
  });

  test('shows no condition of a bootstrap that may still succeed: VM Operator would read it as False', async () => {
    using machine = new VirtualMachine();
    await deliver(guestinfoSink(), concludedEvent({ outcome: 'Interrupted' }), { run: machine.run });
    await deliver(guestinfoSink(), { ...concludedEvent(), test: true }, { run: machine.run });
    assert.ok(machine.variable(EVENT) !== undefined);
    assert.equal(machine.variable(CONDITION), undefined);
  });

  test('shows a shortened event if its hypervisor cannot take it', async () => {
    using machine = new VirtualMachine();
    const event = concludedEvent({ bytes: 100_000 });
    assert.equal((await deliver(guestinfoSink(), event, { run: machine.run })).kind, 'delivered');
    const shown = JSON.parse(machine.variable(EVENT) ?? '{}');
    assert.ok(sizeOf(shown) <= 60 * 1024);
    assert.equal(shown.failure.reason, 'SwapEnabled');
  });

  test('is set through vmtoolsd if there is no vmware-rpctool', async () => {
    const vmtoolsd = `#!/bin/sh\n[ "$1" = --cmd ] || exit 2\nshift\n${RPCTOOL.replace('#!/bin/sh\n', '')}`;
    using machine = new VirtualMachine({ vmtoolsd });
    const event = concludedEvent();
    assert.equal((await deliver(guestinfoSink(), event, { run: machine.run })).kind, 'delivered');
    assert.equal(JSON.parse(machine.variable(EVENT) ?? '').id, event.id);
  });

  test('that refuses an event is retried later, with the message of the Tools', async () => {
    using machine = new VirtualMachine();
    machine.breakTools(true);
    const event = concludedEvent();
    const result = await deliver(guestinfoSink(), event, { run: machine.run });
    assert.deepEqual(result, { kind: 'retry', why: 'status 1: Failed to send message' });
    machine.breakTools(false);
    assert.equal((await deliver(guestinfoSink(), event, { run: machine.run })).kind, 'delivered');
  });

  test('without VMware Tools is retried later: they may be installed', async () => {
    using machine = new VirtualMachine({});
    const result = await deliver(guestinfoSink(), concludedEvent(), { run: machine.run });
    assert.deepEqual(result, { kind: 'retry', why: 'vmtoolsd is not installed' });
    assert.deepEqual(machine.programs, ['vmware-rpctool', 'vmtoolsd']);
  });

  test('whose Tools hang delays nothing beyond the timeout', { timeout: 120_000 }, async () => {
    using machine = new VirtualMachine({ 'vmware-rpctool': '#!/bin/sh\nexec sleep infinity\n' });
    const result = await deliver(guestinfoSink(), concludedEvent(), { run: machine.run, timeoutMs: 300 });
    assert.equal(result.kind, 'retry');
    assert.deepEqual(machine.programs, ['vmware-rpctool']);
  });
});
