import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const LINGERING = pathToFileURL(resolve(import.meta.dirname, '../../../src/cli/lingering.ts')).href;

test('a process ends with its status despite a connection that is left open, and a slow reader gets all it printed', async () => {
  const program = `
    import { createServer } from 'node:net';
    import { endDespiteConnections } from '${LINGERING}';
    createServer().listen(0, '127.0.0.1');
    process.exitCode = 20;
    process.stdout.write('x'.repeat(2_000_001));
    endDespiteConnections();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  // Longer than it waits for connections to be closed.
  await sleep(1_500);
  let bytes = 0;
  for await (const piece of child.stdout) bytes += (piece as Buffer).length;
  assert.deepEqual([bytes, await ended], [2_000_001, [20, null]]);
});
