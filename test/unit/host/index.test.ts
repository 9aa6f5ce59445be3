import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import {
  endOrphans,
  gatherFacts,
  hasRunningCommands,
  openHost,
  openQueryHost,
  requireLinux,
} from '../../../src/host/index.ts';
import { memoryHost } from '../../support/memory-host.ts';

const own = Object.getOwnPropertyDescriptor(process, 'platform') ?? {};

/** As if this process ran on another system. */
function on(platform: NodeJS.Platform): void {
  Object.defineProperty(process, 'platform', { ...own, value: platform });
}

describe('the machine that machineadm runs on', () => {
  afterEach(() => void Object.defineProperty(process, 'platform', own));

  const isWindows = {
    reason: 'UnsupportedOnPlatform',
    exit: 'Refused',
    message: 'machineadm reset works on Linux machines only',
  };

  test('is a Linux host on Linux, and a Windows host on Windows', async () => {
    on('linux');
    requireLinux('machineadm reset');
    for (const host of [openQueryHost(), openHost({ runId: 'r' })])
      assert.match(host.dropInPath('kubelet', 'x.conf') ?? '', /kubelet/);
    assert.deepEqual(await endOrphans(openHost({ runId: 'r' }), new Set()), []);
    on('win32');
    assert.throws(() => requireLinux('machineadm reset'), isWindows);
    for (const host of [
      openQueryHost(),
      openHost({ runId: 'r' }),
      openHost({ runId: 'r', signal: AbortSignal.abort() }),
    ])
      assert.equal(host.dropInPath('kubelet', 'x.conf'), undefined);
    // Windows is asked by PowerShell, which this machine does not have.
    await assert.rejects(gatherFacts(memoryHost()), /cannot|could not|not/);
  });

  test('can be prepared on no other system', () => {
    on('darwin');
    const refused = {
      reason: 'UnsupportedOnPlatform',
      message: 'this build of machineadm cannot prepare a machine that runs darwin',
    };
    for (const use of [
      () => openQueryHost(),
      () => openHost({ runId: 'r' }),
      () => gatherFacts(memoryHost()),
      () => endOrphans(memoryHost(), new Set()),
      () => requireLinux('machineadm reset'),
    ])
      assert.throws(use, refused);
  });

  test('has no command of this process that still runs', () => assert.equal(hasRunningCommands(), false));
});
