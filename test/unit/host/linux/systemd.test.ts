import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { unitDropInPath } from '@machineadm/document/ownership/paths.ts';
import {
  isSystemdBooted,
  parseServiceState,
  serviceState,
  systemdServices,
} from '../../../../src/host/linux/systemd.ts';

function shown(properties: Readonly<Record<string, string>>): string {
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

const RUNNING = {
  LoadState: 'loaded',
  ActiveState: 'active',
  UnitFileState: 'enabled',
  MainPID: '812',
  ExecMainStartTimestampMonotonic: '5250000',
};

describe('the state of a systemd unit', () => {
  test('one that runs, with the time of day of its start', () => {
    const { unit, ...state } = parseServiceState(shown(RUNNING), 1_700_000_000_000);
    assert.equal(unit?.activeState, 'active');
    assert.deepEqual(state, {
      exists: true,
      active: true,
      enabled: true,
      masked: false,
      detail: 'active',
      pid: 812,
      startedAtMs: 1_700_000_005_250,
      fixed: false,
      needsReload: false,
    });
  });

  test('one that does not exist', () => {
    const state = parseServiceState(shown({ LoadState: 'not-found', ActiveState: 'inactive', MainPID: '0' }), 0);
    assert.deepEqual([state.exists, state.active, state.detail, state.pid], [false, false, 'not-found', undefined]);
  });

  test('one that failed has no process and no start, though systemd remembers one', () => {
    const state = parseServiceState(shown({ ...RUNNING, ActiveState: 'failed', MainPID: '0' }), 0);
    assert.deepEqual(
      [state.active, state.detail, state.pid, state.startedAtMs],
      [false, 'failed', undefined, undefined],
    );
  });

  test('one that is masked, for now or for good', () => {
    assert.equal(
      parseServiceState(shown({ ...RUNNING, LoadState: 'masked', UnitFileState: 'masked' }), 0).masked,
      true,
    );
    assert.equal(parseServiceState(shown({ ...RUNNING, UnitFileState: 'masked-runtime' }), 0).masked, true);
  });

  test('one without an install section is fixed, and one changed on disk needs a reload', () => {
    const state = parseServiceState(shown({ ...RUNNING, UnitFileState: 'static', NeedDaemonReload: 'yes' }), 0);
    assert.deepEqual([state.fixed, state.needsReload], [true, true]);
  });

  test('a drop-in lies where the administrator’s lie, by the unit and not by the name', () => {
    assert.equal(unitDropInPath('sshd', '10-x.conf'), '/etc/systemd/system/sshd.service.d/10-x.conf');
    assert.equal(unitDropInPath('a.b', '10-x.conf'), '/etc/systemd/system/a.b.service.d/10-x.conf');
    assert.equal(unitDropInPath('docker.socket', 'x.conf'), '/etc/systemd/system/docker.socket.d/x.conf');
  });

  test('enabled is what the next boot starts', () => {
    const enabled = (state: string) => parseServiceState(shown({ ...RUNNING, UnitFileState: state }), 0).enabled;
    assert.deepEqual(['enabled', 'static', 'alias', 'generated'].map(enabled), [true, true, true, true]);
    assert.deepEqual(['disabled', 'enabled-runtime', 'masked', ''].map(enabled), [false, false, false, false]);
  });
});

describe('a machine without systemd', { skip: isSystemdBooted() && 'systemd is the init system here' }, () => {
  test('has no services, and says so when one is to be changed', async () => {
    assert.equal((await serviceState('containerd')).exists, false);
    const services = systemdServices();
    const expected = { reason: 'ServiceFailed', message: /systemd does not run on this machine/ };
    for (const change of [services.start, services.stop, services.restart, services.enable]) {
      await assert.rejects(change('containerd'), expected);
    }
    await assert.rejects(services.reload(), expected);
  });
});
