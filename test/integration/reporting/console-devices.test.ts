import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { RunStatus } from '@machineadm/status/status.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { assertUndisturbed, provisionWith, shell } from '../../support/sink-faults.ts';

/**
 * Makes a pseudo terminal and prints its name. `drained`: copies what arrives to its own output. `stopped`: its output is
 * stopped (tcflow(3), TCOOFF), as that of a serial line whose other end holds up the sender.
 */
const PTY = `
import os, sys, pty, termios, tty
main, other = pty.openpty()
tty.setraw(other)
if sys.argv[1] == 'stopped':
    termios.tcflow(other, termios.TCOOFF)
print(os.ttyname(other), flush=True)
while sys.argv[1] == 'drained':
    sys.stdout.write(os.read(main, 4096).decode()); sys.stdout.flush()
sys.stdin.read()
`;

import { needs } from '../../support/needs.ts';
import { waitUntil } from '../../support/wait-until.ts';

interface Terminal extends Disposable {
  readonly device: string;
  readonly lines: readonly string[];
}

async function openTerminal(kind: 'drained' | 'stopped'): Promise<Terminal> {
  const child = spawn('python3', ['-c', PTY, kind], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  const [device] = await once(reader, 'line');
  reader.on('line', (line: string) => lines.push(line));
  return { device: String(device), lines, [Symbol.dispose]: () => void child.kill() };
}

const skip = needs('python3');

inThrowAwayMachine(import.meta.filename, () => {
  test('a run writes to /dev/ttyS0, and a /dev/hvc0 that accepts no output does not delay it', { skip }, async () => {
    using serial = await openTerminal('drained');
    using virtual = await openTerminal('stopped');
    // A /dev of this machine's own: in that of the real one nothing may be made.
    shell(
      'mkdir /tmp/dev; mount -t tmpfs none /tmp/dev; mkdir /tmp/dev/pts; mount --bind /dev/pts /tmp/dev/pts;' +
        ' cp -a /dev/null /dev/zero /dev/urandom /dev/random /dev/tty /tmp/dev/; ln -s /proc/self/fd /tmp/dev/fd;' +
        ` ln -s ${serial.device} /tmp/dev/ttyS0; ln -s ${virtual.device} /tmp/dev/hvc0; mount --rbind /tmp/dev /dev`,
    );
    const sinks = ['/dev/ttyS0', '/dev/hvc0'].map((device) => ({ type: 'Console', device }));
    const provisioned = await provisionWith(sinks);
    assertUndisturbed(provisioned);
    await waitUntil(() => serial.lines.length >= 2, 'two lines come');
    assert.equal(serial.lines[0], 'machineadm: provision of reported started');
    assert.match(serial.lines.at(-1) ?? '', /^machineadm: provision of reported succeeded in /);
    const { warnings } = JSON.parse(readFileSync('/run/machineadm/status.json', 'utf8')) as RunStatus;
    assert.match(
      warnings.join('\n'),
      /^sink Console \/dev\/hvc0 (?:could not be closed|did not take a report): did not end /m,
    );
  });
});
