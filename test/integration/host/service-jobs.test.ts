import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { systemdServices } from '../../../src/host/linux/systemd.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';

/** Takes the place of systemctl(1): a job that never ends, as of a service whose start hangs, but for `enable`. */
const SYSTEMCTL = '#!/bin/sh\n[ "$1" = enable ] || exec sleep 300\n';

function interrupted(): MachineadmError {
  return new MachineadmError({
    reason: 'Interrupted',
    summary: 'the run was ended by SIGTERM',
    remedy: 'Run it again.',
  });
}

inThrowAwayMachine(import.meta.filename, () => {
  beforeEach(() => {
    mkdirSync('/run/systemd/system', { recursive: true });
    rmSync('/usr/local/sbin/systemctl', { force: true });
    mkdirSync('/usr/local/sbin', { recursive: true });
    writeFileSync('/usr/local/sbin/systemctl', SYSTEMCTL, { mode: 0o755 });
  });
  afterEach(() => rmSync('/usr/local/sbin/systemctl'));

  test('a job that hangs is awaited until the run ends, and no longer', { timeout: 120_000 }, async () => {
    for (const verb of ['restart', 'start', 'stop'] as const) {
      const run = new AbortController();
      const job = systemdServices(run.signal)[verb]('containerd');
      setTimeout(() => run.abort(interrupted()), 200);
      await assert.rejects(job, { reason: 'Interrupted' });
    }
  });

  test('a job that is begun after the end of the run is done: it puts back what was', {
    timeout: 120_000,
  }, async () => {
    await systemdServices(AbortSignal.abort(interrupted())).enable('kubelet');
  });
});
