import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';

const REPORT = join(import.meta.dirname, '../../fixtures/reporting/report-to-console.ts');

/** Opens a pseudo terminal and prints its name; copies what arrives to its own output if asked to drain it. */
const PTY = `
import os, sys, pty, tty
main, other = pty.openpty()
tty.setraw(other)
print(os.ttyname(other), flush=True)
if sys.argv[1] == 'drain':
    while True:
        sys.stdout.write(os.read(main, 4096).decode()); sys.stdout.flush()
else:
    sys.stdin.read()
`;

import { needs } from '../../support/needs.ts';

describe('a console', { skip: needs('python3') }, () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'machineadm-console-'));
  });
  after(() => rm(directory, { recursive: true }));

  /** Reports to a pseudo terminal; what the process printed, and what the terminal got. */
  async function report(mode: 'drain' | 'full', waits: number) {
    const terminal = spawn('python3', ['-c', PTY, mode], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      const lines: string[] = [];
      const reader = createInterface({ input: terminal.stdout });
      const first = once(reader, 'line');
      const [device] = await first;
      reader.on('line', (line) => lines.push(line));
      const child = spawn(process.execPath, [REPORT, String(device), directory, `${waits}`], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const output = readAll(child.stdout);
      const [status] = await once(child, 'exit');
      const warnings: readonly string[] = JSON.parse(await output);
      // What it wrote comes out of the terminal a moment later.
      while (mode === 'drain' && !/ (?:succeeded|failed) in /.test(lines.at(-1) ?? '')) await once(reader, 'line');
      return { status, warnings, lines };
    } finally {
      terminal.kill();
    }
  }

  test('gets one line for each transition', async () => {
    const { status, warnings, lines } = await report('drain', 1);
    assert.equal(status, 0);
    assert.deepEqual(warnings, []);
    assert.equal(lines[0], 'machineadm: provision of node-1 started');
    assert.match(lines[1] ?? '', /^machineadm: kubeadm: waiting for 0 0 0/);
    assert.match(lines[2] ?? '', /^machineadm: provision of node-1 succeeded in /);
    assert.equal(lines.length, 3);
  });

  test('that nobody reads delays neither the run nor the exit, and is reported in the status', {
    timeout: 600_000,
  }, async () => {
    const { status, warnings } = await report('full', 100);
    assert.equal(status, 0);
    assert.match(warnings[0] ?? '', /^sink Console \/dev\/pts\/\d+ did not take a report: did not end within 200 ms$/);
    const written: { outcome: string; warnings: unknown } = JSON.parse(
      await readFile(join(directory, 'status.json'), 'utf8'),
    );
    assert.equal(written.outcome, 'Succeeded');
    assert.deepEqual(written.warnings, warnings);
  });

  async function readAll(stream: NodeJS.ReadableStream): Promise<string> {
    let text = '';
    for await (const chunk of stream) text += String(chunk);
    return text;
  }
});
