import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { windowsScript } from '../../../../src/host/windows/powershell.ts';
import { attack } from '../../../support/attacks.ts';
import { MachineKilled, windowsMachine } from '../../../support/windows-machine.ts';

const CLOSED = 'O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)';

describe('files of the Windows host', () => {
  test('are closed to everybody but the system and administrators unless others may read them', async () => {
    await using machine = windowsMachine();
    const host = machine.host();
    await host.writeFile({ path: '/run/kubeadm/join.yaml', content: 'token', mode: 0o600 });
    await host.writeFile({ path: 'C:\\etc\\motd', content: 'hello', mode: 0o644 });
    assert.equal(machine.descriptor('C:\\run\\kubeadm\\join.yaml'), CLOSED);
    assert.equal(machine.descriptor('C:\\etc\\motd'), `${CLOSED}(A;;0x120089;;;BU)`);
    assert.equal((await host.stat('/run/kubeadm/join.yaml'))?.mode, 0o600);
    assert.equal((await host.stat('C:\\etc\\motd'))?.mode, 0o644);
    assert.equal(await host.readText('C:/run/kubeadm/join.yaml'), 'token');
  });

  test('are born in a directory that is closed, and have their rights before they have content', async () => {
    await using machine = windowsMachine();
    const host = machine.host();
    const seen: (string | undefined)[] = [];
    async function* content() {
      const born = machine.calls.filter(({ script }) => script === 'write-security').at(-1);
      const { path, sddl } = JSON.parse(born?.input ?? '{}') as { path: string; sddl: string };
      seen.push(path.slice(0, path.lastIndexOf('\\')), sddl, machine.read(path), machine.read('C:\\k\\token'));
      yield Buffer.from('secret');
    }
    await host.writeFile({ path: 'C:\\k\\token', content: content(), mode: 0o600 });
    assert.deepEqual(seen, ['C:\\ProgramData\\machineadm\\new', CLOSED, '', undefined]);
    const made = machine.calls
      .filter(({ script }) => script === 'write-security')
      .map(({ input }) => JSON.parse(input ?? ''));
    const closed = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)';
    assert.deepEqual(made.slice(0, 2), [
      { path: 'C:\\ProgramData\\machineadm', directory: true, sddl: closed, create: true },
      { path: 'C:\\ProgramData\\machineadm\\new', directory: true, sddl: closed, create: true },
    ]);
  });

  test('of ours need no rights of their own: their directories are closed, those that were there, too', async () => {
    await using machine = windowsMachine({ files: { 'C:\\ProgramData\\machineadm\\run\\planted': '' } });
    const host = machine.host();
    await host.writeFile({ path: '/run/machineadm/status.json', content: '{}', mode: 0o644 });
    await host.writeFile({ path: '/run/machineadm/status.json', content: '{ }', mode: 0o644 });
    const written = machine.calls.filter(({ script }) => script === 'write-security');
    assert.deepEqual(
      written.map(({ input }) => (JSON.parse(input ?? '') as { path: string }).path),
      ['', '\\new', '\\run'].map((below) => `C:\\ProgramData\\machineadm${below}`),
    );
    const inherited = 'O:BAG:SYD:AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)';
    assert.equal(machine.descriptor('C:\\ProgramData\\machineadm\\run\\status.json'), inherited);
    assert.equal((await host.stat('/run/machineadm/status.json'))?.mode, 0o600);
    assert.equal(await host.readText('/run/machineadm/status.json'), '{ }');
  });

  test('a link on the way is refused, and nothing is written behind it', async () => {
    await using machine = windowsMachine({ files: { 'C:\\elsewhere\\x': '' } });
    symlinkSync(machine.native('C:\\elsewhere'), machine.native('C:\\trap'));
    await assert.rejects(
      machine.host().writeFile({ path: 'C:\\trap\\token', content: 'secret', mode: 0o600 }),
      (error) =>
        error instanceof MachineadmError && error.reason === 'FileNotWritten' && /junction/.test(error.message),
    );
    assert.equal(machine.read('C:\\elsewhere\\token'), undefined);
  });

  test('are not assumed to have their rights if Windows prints nothing', async () => {
    await using machine = windowsMachine();
    const silent = windowsScript('write-security', '');
    machine.record({
      script: silent,
      stdout: '',
      from: { captured: 'powershell.exe of Wine 10.0: status 0, no output' },
    });
    await assert.rejects(
      machine.host().writeFile({ path: 'C:\\k\\token', content: 'secret', mode: 0o600 }),
      (error) => error instanceof MachineadmError && /so it is not known what it has done/.test(error.message),
    );
    assert.equal(machine.read('C:\\k\\token'), undefined);
  });
});

describe('the fake Windows machine', () => {
  test('answers exact calls alone', async () => {
    await using machine = windowsMachine({
      recordings: [
        { program: 'kubeadm.exe', args: ['join'], input: 'token', stdout: 'ok\r\n', from: { composed: 'a test' } },
      ],
    });
    const host = machine.host();
    const lines: string[] = [];
    const onLine = (_: string, line: string) => lines.push(line);
    const result = await host.run({ program: 'kubeadm', args: ['join'], input: 'token', onLine });
    assert.deepEqual([result.status, lines], [0, ['ok']]);
    await assert.rejects(host.run({ program: 'kubeadm', args: ['join'], input: 'another' }), /no recording fits/);
    assert.deepEqual(machine.commands, ['kubeadm.exe join', 'kubeadm.exe join']);
    assert.throws(() => machine.assertExpected(), /kubeadm\.exe join/);
  });

  test('is dead after a kill, until it is started again with another boot id', async () => {
    await using machine = windowsMachine({
      recordings: [{ program: 'kubeadm.exe', args: ['join'], from: { composed: 'a test' } }],
    });
    const before = (await machine.facts()).bootId;
    const host = machine.host();
    machine.killAt({ after: 'kubeadm.exe join' });
    await assert.rejects(host.run({ program: 'kubeadm.exe', args: ['join'] }), MachineKilled);
    await assert.rejects(host.readText('/etc/x'), MachineKilled);
    machine.reboot();
    await assert.rejects(host.run({ program: 'kubeadm.exe', args: ['join'] }), MachineKilled);
    assert.notEqual((await machine.facts()).bootId, before);
    assert.equal((await machine.host().run({ program: 'kubeadm.exe', args: ['join'] })).status, 0);
  });

  test('can be killed before each effect', async () => {
    for (const effect of [1, 2, 3, 4]) {
      await using machine = windowsMachine();
      machine.killAt({ effect });
      const write = machine.host().writeFile({ path: 'C:\\k\\x', content: 'x', mode: 0o644 });
      await assert.rejects(write, MachineKilled);
      assert.equal(machine.effects, effect - 1);
      assert.equal(machine.read('C:\\k\\x'), undefined);
      machine.reboot();
      await machine.host().writeFile({ path: 'C:\\k\\x', content: 'x', mode: 0o644 });
      assert.equal(machine.read('C:\\k\\x'), 'x');
    }
  });
});

describe('programs of a Windows machine', () => {
  const kubeadm = { program: 'kubeadm', args: ['version', '-o', 'short'] };
  const closed = 'O:BAG:SYD:AI(A;ID;FA;;;BA)(A;ID;FA;;;SY)(A;ID;0x1200a9;;;BU)';
  /** What leaves `C:\\k` to others, by what it says. Authenticated Users are AU, Everyone is WD. */
  const open = {
    'users may make files, as C:\\ hands it down': `${closed}(A;CIID;LC;;;BU)`,
    'users may make programs': `${closed}(A;OICIID;DC;;;BU)`,
    'everyone may do everything': `${closed}(A;OICI;FA;;;WD)`,
    'whoever is logged in may change': `${closed}(A;OICI;0x1301bf;;;AU)`,
    'one user may write': `${closed}(A;;FW;;;S-1-5-21-1-2-3-1001)`,
    'users may remove what is in it': `${closed}(A;;DT;;;BU)`,
    'users may change its rights': `${closed}(A;;WD;;;BU)`,
    'users may take it': `${closed}(A;;WO;;;BU)`,
    'a denial stands before the right': 'O:BAG:SYD:(D;;DC;;;BG)(A;;FA;;;BU)',
    'a user owns it': closed.replace('O:BA', 'O:S-1-5-21-1-2-3-1001'),
    'it has no list of rights': 'O:BAG:SYD:NO_ACCESS_CONTROL',
    'it says nothing of rights': 'O:BAG:SY',
  };

  test('are run from C:\\k where only administrators may write to it, which is asked once', async () => {
    await using machine = windowsMachine();
    const host = machine.host();
    for (let time = 0; time < 2; time += 1) assert.equal((await host.query(kubeadm)).stdout, 'v1.35.2\n');
    assert.equal(machine.calls.filter(({ script }) => script === 'read-security').length, 1);
  });

  for (const [why, descriptor] of Object.entries(open)) {
    test(
      `are refused where users may put programs there: ${why}`,
      attack('Windows', 'a program is run from C:\\k, where users may put programs', async () => {
        await using machine = windowsMachine();
        machine.state.programs = descriptor;
        const host = machine.host();
        const refusal = {
          reason: 'UnsafePath',
          exit: 'Refused',
          message: /C:\\k: users who are not administrators may write/,
        };
        await assert.rejects(host.query(kubeadm), refusal);
        await assert.rejects(host.run(kubeadm), refusal);
        assert.deepEqual(
          machine.calls.filter(({ program }) => /kubeadm/.test(program)),
          [],
        );
        return 2;
      }),
    );
  }
});

describe('a feature of Linux that Windows does not have', () => {
  test('is refused as a defect of ours: kernel settings, links and owners', async () => {
    await using machine = windowsMachine();
    const host = machine.host();
    const unsupported = (message: RegExp) => ({ reason: 'UnsupportedOnPlatform', message });
    await assert.rejects(
      host.writeKernelFile('/proc/sys/x', '1'),
      unsupported(/^\/proc\/sys\/x is an interface of the Linux kernel/),
    );
    await assert.rejects(host.writeLink('/etc/x', '/y'), unsupported(/^\/etc\/x was to become a symbolic link/));
    for (const [uid, gid] of [
      [1, 0],
      [0, 1],
      [1, 1],
    ] as const)
      await assert.rejects(host.chown('/etc/x', uid, gid), unsupported(/^\/etc\/x would get another owner/));
    await host.chown('/etc/x', 0, 0);
    assert.equal(await host.linkFile('/etc/x', '/etc/y'), false);
  });

  test('removes directories that are empty, and only these', async () => {
    await using machine = windowsMachine({ files: { 'C:\\data\\a\\x': '' } });
    const host = machine.host();
    await assert.rejects(host.removeDirectory('C:\\data\\a'), { code: 'ENOTEMPTY' });
    await host.removeFile('C:\\data\\a\\x');
    await host.removeFile('C:\\data\\a\\x');
    await host.removeDirectory('C:\\data\\a');
    await host.removeDirectory('C:\\data\\a');
    assert.equal(await host.stat('C:\\data\\a'), undefined);
  });

  test('changes the rights of a file and of a directory', async () => {
    await using machine = windowsMachine({ files: { 'C:\\data\\x': '' } });
    const host = machine.host();
    await host.chmod('C:\\data\\x', 0o644);
    await host.chmod('C:\\data', 0o700);
    assert.equal(machine.descriptor('C:\\data\\x'), `${CLOSED}(A;;0x120089;;;BU)`);
    assert.equal(machine.descriptor('C:\\data'), 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)');
    await assert.rejects(host.chmod('C:\\data\\none', 0o600), { code: 'ENOENT' });
  });
});
