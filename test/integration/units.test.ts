import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { needs } from '../support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const UNITS = globSync('packaging/systemd/*.service', { cwd: ROOT }).sort();

describe('the units of packaging/', () => {
  for (const unit of UNITS) {
    const text = readFileSync(resolve(ROOT, unit), 'utf8');

    test(`${unit} leaves no core dump`, () => {
      assert.match(text, /^LimitCORE=0$/m);
    });

    test(`${unit} lets V8 write machine code`, () => {
      assert.doesNotMatch(text, /^MemoryDenyWriteExecute=(?:yes|true|on|1)$/m);
    });
  }
});

test('the service of OpenRC leaves no core dump', () => {
  const text = readFileSync(resolve(ROOT, 'packaging/openrc/machineadm-report-flush'), 'utf8');
  assert.match(text, /^command_args="-c 'ulimit -c 0; /m);
});

describe('the units that talk to the network for as long as the machine runs', {
  skip: needs('systemd-analyze'),
}, () => {
  // 18 is an exposure of 1.8 of 10 (systemd-analyze(1), "security"); the command fails above it. The deliverer of reports makes
  // a process of another user for what connects, which the number counts against it.
  for (const [name, most] of [
    ['machineadm-report-flush', 33],
    ['machineadm-report-watch', 18],
  ]) {
    test(`${name} is exposed at most ${most} tenths`, () => {
      const unit = resolve(ROOT, 'packaging/systemd', `${name}.service`);
      const args = ['security', '--offline=true', `--threshold=${most}`, '--no-pager', unit];
      const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
      assert.equal(status, 0, stdout + stderr);
    });
  }
});
