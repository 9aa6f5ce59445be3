import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { pipeOf } from '../../../../src/host/machine/windows-host.ts';
import { END_PROCESSES, endWindowsOrphans, processRecorder } from '../../../../src/host/windows/orphans.ts';
import { windowsPath } from '../../../../src/host/windows/paths.ts';
import { readAnswer, scriptInput, windowsScript } from '../../../../src/host/windows/powershell.ts';
import { isWindowsQuery } from '../../../../src/host/windows/queries.ts';
import { descriptorOf, modeOf, ownerOf } from '../../../../src/host/windows/security-descriptor.ts';
import { READ_SECURITY, WRITE_SECURITY } from '../../../../src/host/windows/security-scripts.ts';
import { CHANGE_SERVICE, SERVICE_STATE } from '../../../../src/host/windows/service-scripts.ts';
import { RESTART_KUBELET } from '../../../../src/host/windows/services.ts';
import { type Recording, windowsMachine } from '../../../support/windows-machine.ts';

describe('paths on Windows', () => {
  for (const [path, windows] of [
    ['/run/kubeadm/kubeadm.yaml', 'C:\\run\\kubeadm\\kubeadm.yaml'],
    ['/run/cluster-api/bootstrap-success.complete', 'C:\\run\\cluster-api\\bootstrap-success.complete'],
    ['/var/lib/machineadm/journal', 'C:\\ProgramData\\machineadm\\journal'],
    ['/run/machineadm/status.json', 'C:\\ProgramData\\machineadm\\run\\status.json'],
    ['/var/lib/machineadmin', 'C:\\var\\lib\\machineadmin'],
    ['d:/data/x', 'D:\\data\\x'],
    ['/', 'C:\\'],
  ] as const) {
    test(`${path} is ${windows}`, () => assert.equal(windowsPath(path), windows));
  }

  test('the pipe of a runtime', () => {
    assert.equal(pipeOf('npipe:////./pipe/containerd-containerd'), '\\\\.\\pipe\\containerd-containerd');
  });
});

describe('security descriptors', () => {
  for (const [mode, type] of [
    [0o600, 'file'],
    [0o644, 'file'],
    [0o755, 'file'],
    [0o700, 'directory'],
    [0o755, 'directory'],
  ] as const) {
    test(`0${mode.toString(8)} of a ${type} comes back as it was given`, () => {
      assert.equal(modeOf(descriptorOf(mode, type), type), mode);
    });
  }
  for (const [sddl, mode] of [
    // As PowerShell's Get-Acl shows a file that an administrator made below C:\ (composed: C:\ of a Windows Server).
    ['O:BAG:DUD:AI(A;ID;FA;;;BA)(A;ID;FA;;;SY)(A;ID;0x1200a9;;;BU)(A;ID;0x1301bf;;;AU)', 0o777],
    ['O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)(A;;FR;;;WD)', 0o644],
    ['O:BAG:SYD:PAI(D;;FA;;;BU)(A;;FA;;;SY)(A;;FA;;;BA)', 0o600],
    ['O:BAG:SYD:PAI(A;;FA;;;SY)(A;OICIIO;FA;;;AU)(A;OICIIO;GA;;;CO)', 0o600],
    ['O:BAG:SYD:(A;;FA;;;S-1-5-21-1-2-3-1001)', 0o777],
    ['O:BAG:SYD:NO_ACCESS_CONTROL', 0o777],
    ['O:BAG:SYD:PAI', 0o600],
    ['', 0o777],
  ] as const) {
    test(`${sddl || 'nothing'} is 0${mode.toString(8)}`, () => assert.equal(modeOf(sddl, 'file'), mode));
  }
  const TRUSTED_INSTALLER = 'S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464';
  for (const [account, mode] of [
    ...['SY', 'BA', 'S-1-5-18', 'S-1-5-32-544', TRUSTED_INSTALLER].map((name) => [name, 0o600] as const),
    ...['CO', 'CG', 'OW', 'S-1-3-0', 'S-1-3-1', 'S-1-3-4'].map((name) => [name, 0o600] as const),
    ...['BU', 'WD', 'AU', 'S-1-1-0', 'S-1-5-32-545', 'S-1-5-80-1'].map((name) => [name, 0o777] as const),
  ] as const) {
    test(`full access for ${account} is 0${mode.toString(8)}`, () => {
      assert.equal(modeOf(`O:BAG:SYD:PAI(A;;FA;;;${account})`, 'file'), mode);
    });
  }

  for (const [rights, mode] of [
    ['FR', 0o644],
    ['GR', 0o644],
    ['FW', 0o622],
    ['GW', 0o622],
    ['FX', 0o711],
    ['GX', 0o711],
    ['FRFX', 0o755],
    ['GA', 0o777],
    ['0x120089', 0o644],
    ['CC', 0o644],
    ['DC', 0o622],
    ['LC', 0o622],
    ['DT', 0o622],
    ['WP', 0o711],
    ['SD', 0o622],
    ['WD', 0o622],
    ['WO', 0o622],
    ['RC', 0o600],
  ] as const) {
    test(`the right ${rights} for all users is 0${mode.toString(8)}`, () => {
      assert.equal(modeOf(`O:BAG:SYD:PAI(A;;${rights};;;WD)`, 'file'), mode);
    });
  }

  test('owners: the system and the administrators are 0, anybody else is not', () => {
    assert.deepEqual(
      ['O:BAG:SY', 'O:S-1-5-18G:SY', 'O:S-1-5-21-1-2-3-1001G:SY', 'O:DAG:SY', ''].map(ownerOf),
      [0, 0, 1001, -1, -1],
    );
  });
});

describe('scripts of PowerShell', () => {
  const script = windowsScript('example', '$answer = 1');

  test('are one constant line of base64; what they work on is JSON in ASCII on standard input', () => {
    const text = Buffer.from(script.args.at(-1) ?? '', 'base64').toString('utf16le');
    assert.equal(text, script.text);
    assert.match(text, /^# machineadm example\n/);
    assert.equal(scriptInput({ password: 'pässwörd €' }), '{"password":"p\\u00e4ssw\\u00f6rd \\u20ac"}\n');
  });

  // CreateProcess takes 32,767 characters (learn.microsoft.com, CreateProcessW).
  test('fit a command line', () => {
    for (const one of [READ_SECURITY, WRITE_SECURITY, SERVICE_STATE, CHANGE_SERVICE, END_PROCESSES]) {
      assert.ok(one.args.join(' ').length < 20_000, one.name);
    }
  });

  const answer = (stdout: string, status = 0) =>
    readAnswer(script, { status, stdout, stderr: 'CLIXML', timedOut: false });

  test('answer with one line, whatever else is printed', () => {
    assert.deepEqual(answer('profile loaded\r\n{"script":"example","answer":[1]}\r\n'), { ok: true, value: [1] });
    assert.deepEqual(answer('{"script":"example","error":{"message":"no","type":"T","hresult":-5}}\r\n'), {
      ok: false,
      message: 'no',
      type: 'T',
      hresult: -5,
    });
  });

  for (const stdout of ['', '{"script":"another","answer":1}', '{"script":"exam', 'example']) {
    test(`are not trusted when they print ${stdout === '' ? 'nothing' : stdout}`, () => {
      assert.throws(() => answer(stdout), { reason: 'HostStepFailed' });
    });
  }
});

describe('a script of PowerShell that does not answer', () => {
  const script = windowsScript('example', '$answer = 1');

  for (const [what, stderr, timedOut, told] of [
    ['says why', 'Access is denied.\n', false, [{ source: 'powershell.exe', text: 'Access is denied.' }]],
    ['says nothing', ' \n', false, []],
    ['does not end', '', true, []],
  ] as const) {
    test(`and ${what} has that as evidence`, () => {
      assert.throws(
        () => readAnswer(script, { status: 5, stdout: '', stderr, timedOut }),
        (error: { message?: string; evidence?: unknown }) => {
          const ended = timedOut ? 'did not end in time' : 'ended with status 5';
          assert.match(
            error.message ?? '',
            new RegExp(`^powershell\\.exe ${ended} and did not answer the script example`),
          );
          assert.deepEqual(error.evidence, told);
          return true;
        },
      );
    });
  }
});

describe('the closed list of Windows', () => {
  const script = (one: { args: readonly string[] }) => ['powershell.exe', ...one.args];
  for (const [program = '', ...args] of [
    script(READ_SECURITY),
    script(SERVICE_STATE),
    ['nltest.exe', '/dsgetdc:corp.example.com', '/force'],
    ['w32tm.exe', '/query', '/source'],
    ['wevtutil.exe', 'qe', 'System', '/c:10', '/rd:true', '/f:text'],
    ['schtasks.exe', '/Query', '/TN', '\\machineadm\\resume', '/XML'],
    ['kubeadm', 'version', '-o', 'short'],
    ['kubelet.exe', '--version'],
  ]) {
    test(`has ${program} ${args.join(' ').slice(0, 40)}`, () => assert.ok(isWindowsQuery(program, args)));
  }
  for (const [program = '', ...args] of [
    script(WRITE_SECURITY),
    script(CHANGE_SERVICE),
    ['powershell.exe', '-Command', 'Get-Date'],
    ['powershell.exe', ...READ_SECURITY.args, '-Command', 'Remove-Item'],
    ['sc.exe', 'stop', 'kubelet'],
    ['nltest.exe', '/sc_reset:corp.example.com'],
    ['nltest.exe', '/sc_verify:corp.example.com'],
    ['w32tm.exe', '/resync'],
    ['w32tm.exe', '/config', '/update'],
    ['wevtutil.exe', 'cl', 'System'],
    ['wevtutil.exe', 'epl', 'System', 'C:\\x.evtx'],
    ['schtasks.exe', '/Delete', '/TN', '\\x'],
    ['cmd.exe', '/c', 'dir'],
    ['icacls.exe', 'C:\\'],
  ]) {
    test(`does not have ${program} ${args.join(' ').slice(0, 40)}`, () => assert.ok(!isWindowsQuery(program, args)));
  }
});

describe('services of Windows', () => {
  const restart: Recording = {
    program: 'powershell.exe',
    args: ['-NoLogo', '-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', RESTART_KUBELET],
    effect: (machine) => {
      const { kubelet } = machine.state.services;
      if (kubelet !== undefined) Object.assign(kubelet, { state: 'Running', pid: 77 });
    },
    from: { composed: 'image-builder images/capi/ansible/windows/roles/kubernetes/templates/RestartKubelet.ps1' },
  };

  test('are reported with the states of Win32_Service', async () => {
    await using machine = windowsMachine();
    const host = machine.queryHost();
    const state = await host.service('containerd');
    assert.deepEqual(
      [state.exists, state.active, state.enabled, state.masked, state.pid],
      [true, true, true, false, 900],
    );
    assert.equal((await host.service('nope')).exists, false);
  });

  test('the kubelet is restarted by the script of its image, which gives it the arguments of kubeadm', async () => {
    await using machine = windowsMachine({ recordings: [restart], files: { [RESTART_KUBELET]: '' } });
    await machine.host().services.restart('kubelet');
    assert.deepEqual(machine.commands, [`powershell.exe ${'args' in restart ? restart.args.join(' ') : ''}`]);
    assert.equal((await machine.host().service('kubelet')).active, true);
  });

  test('a script that ends with 0 and leaves the kubelet down failed', async () => {
    const silent: Recording = { ...restart, effect: () => {} };
    await using machine = windowsMachine({ recordings: [silent], files: { [RESTART_KUBELET]: '' } });
    machine.state.serviceEvents.push('2026-01-01T00:00:00Z The kubelet service terminated unexpectedly.');
    await assert.rejects(machine.host().services.restart('kubelet'), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'ServiceFailed');
      assert.match(error.evidence.map(({ text }) => text).join(), /terminated unexpectedly/);
      return true;
    });
  });

  test('a kubelet under nssm, or of an image without the script, is restarted as every service', async () => {
    for (const files of [{ [RESTART_KUBELET]: '' }, {}]) {
      await using machine = windowsMachine({ files });
      const { kubelet } = machine.state.services;
      if (kubelet !== undefined && RESTART_KUBELET in files) kubelet.path = 'C:\\k\\nssm.exe';
      await machine.host().services.restart('kubelet');
      assert.deepEqual(machine.commands, [
        'powershell.exe <change-service> {"name":"kubelet","action":"restart","seconds":120}',
      ]);
    }
  });

  test('one that does not start is reported with its logs', async () => {
    await using machine = windowsMachine({
      files: { 'C:\\var\\log\\containerd\\containerd.log': 'a\r\npanic: no\r\n' },
    });
    const { containerd } = machine.state.services;
    if (containerd !== undefined) containerd.fails = 'Cannot start service containerd';
    await assert.rejects(machine.host().services.restart('containerd'), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.match(error.message, /Cannot start service containerd/);
      assert.ok(error.evidence.some(({ text }) => text === 'panic: no'));
      return true;
    });
  });
});

describe('commands that a killed run left', () => {
  test('are ended by the next run, which knows them by id and time of start', async () => {
    await using machine = windowsMachine();
    const recorder = processRecorder('run-1', (path) => machine.native(path));
    recorder.started(41);
    recorder.started(42);
    recorder.started(43);
    recorder.ended(43);
    machine.state.processes[41] = { name: 'kubeadm.exe', state: 'ended' };
    machine.state.processes[42] = { name: 'notepad.exe', state: 'other' };
    const host = machine.host();
    assert.deepEqual(await endWindowsOrphans(host), [{ pid: 41, name: 'kubeadm.exe', runId: 'run-1' }]);
    assert.deepEqual(await host.list('C:\\ProgramData\\machineadm\\run\\processes'), []);
    assert.deepEqual(await endWindowsOrphans(host), []);
  });

  test('one that does not end refuses the run', async () => {
    await using machine = windowsMachine();
    processRecorder('run-1', (path) => machine.native(path)).started(41);
    machine.state.processes[41] = { name: 'kubeadm.exe', state: 'stays' };
    await assert.rejects(endWindowsOrphans(machine.host()), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.deepEqual([error.reason, error.exit], ['HostStepFailed', 'Refused']);
      return true;
    });
  });
});
