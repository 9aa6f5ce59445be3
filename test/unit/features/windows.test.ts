import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import type { ProxyModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { windowsCertificateAuthorities } from '../../../src/features/certificate-authorities/windows.ts';
import { files } from '../../../src/features/files/index.ts';
import { windowsHostname } from '../../../src/features/hostname/windows.ts';
import { windowsProxy } from '../../../src/features/proxy/windows.ts';
import { services } from '../../../src/features/services/index.ts';
import { windowsTime } from '../../../src/features/time/windows.ts';
import { offsetIn, windowsClock } from '../../../src/features/time/windows-clock.ts';
import { EMPTY_RECORD } from '../../../src/step/index.ts';
import { selfSigned } from '../../support/certificates.ts';
import { fileModel, hostModel } from '../../support/host-model.ts';
import { planned, runStep } from '../../support/run-step.ts';
import { type Recording, windowsMachine } from '../../support/windows-machine.ts';

const LEARN = { composed: 'Microsoft Learn, "Windows Time service tools and settings"' };

function authority(commonName: string): string {
  const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const day = 86_400_000;
  const notBefore = new Date(Date.now() - day);
  return selfSigned({ key, publicKey, notBefore, notAfter: new Date(Date.now() + day), authority: true, commonName });
}

describe('hostname on Windows', () => {
  const model = hostModel({ platform: 'windows', hostname: 'node-7' });

  test('is set once, needs a reboot, and takes effect after it', async () => {
    await using machine = windowsMachine();
    const [change, ...others] = await planned(windowsHostname, machine.queryHost(), model);
    assert.deepEqual([change?.id, change?.needsReboot, others], ['hostname/computer', true, []]);
    const { left } = await runStep(windowsHostname, machine.host(), model);
    assert.equal(left.length, 1, 'until the reboot');
    // A run that was killed before the reboot does not rename it again.
    await runStep(windowsHostname, machine.host(), model);
    assert.deepEqual(machine.commands, ['powershell.exe <rename-computer> {"name":"node-7"}']);
    machine.reboot();
    assert.equal((await machine.facts()).hostname, 'node-7');
    assert.deepEqual(await planned(windowsHostname, machine.queryHost(), model), []);
  });

  test('of a member of a domain is refused with the number that Windows gave', async () => {
    await using machine = windowsMachine({ state: { partOfDomain: true } });
    await assert.rejects(runStep(windowsHostname, machine.host(), model), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.deepEqual([error.reason, error.exit], ['HostnameNotEffective', 'HostStepFailed']);
      assert.match(error.message, /error 5\./);
      return true;
    });
  });
});

describe('time on Windows', () => {
  const time = { enabled: true, servers: ['ntp1.example.com', '10.0.0.1'], synchronized: undefined };
  const model = hostModel({ platform: 'windows', time });

  test('has the servers of the document, starts with the machine, and a second run changes nothing', async () => {
    await using machine = windowsMachine();
    const { changes, left } = await runStep(windowsTime, machine.host(), model);
    assert.deepEqual(
      changes.map(({ id }) => id),
      ['time/servers', 'time/w32time/enable'],
    );
    assert.deepEqual(left, []);
    assert.deepEqual(machine.state.time, { type: 'NTP', servers: 'ntp1.example.com,0x8 10.0.0.1,0x8' });
    assert.deepEqual(
      [machine.state.services.w32time?.state, machine.state.services.w32time?.startMode],
      ['Running', 'Auto'],
    );
    assert.deepEqual((await runStep(windowsTime, machine.host(), model)).changes, []);
  });

  test('is switched off where the document says so', async () => {
    await using machine = windowsMachine();
    const off = hostModel({ platform: 'windows', time: { ...time, enabled: false } });
    await runStep(windowsTime, machine.host(), model);
    await runStep(windowsTime, machine.host(), off);
    assert.deepEqual(
      [machine.state.services.w32time?.state, machine.state.services.w32time?.startMode],
      ['Stopped', 'Manual'],
    );
    assert.deepEqual(await planned(windowsTime, machine.queryHost(), off), []);
  });

  test('a policy that keeps other servers fails the step', async () => {
    await using machine = windowsMachine();
    const { WRITE_TIME } = await import('../../../src/host/windows/system-scripts.ts');
    machine.record({ script: WRITE_TIME, answer: { type: 'NT5DS', servers: 'dc1' }, from: LEARN });
    await assert.rejects(runStep(windowsTime, machine.host(), model), { reason: 'HostStepFailed' });
  });
});

describe('the clock on Windows', () => {
  const asked = (server: string, stdout: string): Recording => ({
    program: 'w32tm.exe',
    args: ['/stripchart', `/computer:${server}`, '/samples:1', '/dataonly'],
    stdout,
    from: LEARN,
  });
  const resync: Recording = { program: 'w32tm.exe', args: ['/resync', '/rediscover'], status: 1, from: LEARN };
  const modelWith = (timeoutMs: number, servers: readonly string[]) =>
    hostModel({
      platform: 'windows',
      time: { enabled: true, servers, synchronized: { withinMs: 5000, timeoutMs } },
    });
  const chart = (line: string): string => `Tracking 10.0.0.1 [10.0.0.1:123].\r\n${line}\r\n`;

  test('is right when a server says so, however little it answers in', async () => {
    await using machine = windowsMachine({
      recordings: [
        asked('dead.example.com', chart('10:00:00, error: 0x800705B4')),
        asked('10.0.0.1', chart('10:00:00, +00.0123456s')),
      ],
    });
    const model = modelWith(60_000, ['dead.example.com', '10.0.0.1']);
    assert.deepEqual(await planned(windowsClock, machine.queryHost(), model), []);
  });

  test('is waited for, and its failure names every server and what it said', async () => {
    const recordings = [asked('10.0.0.1', chart('10:00:00, -3600.5000000s')), resync];
    await using machine = windowsMachine({ recordings });
    await assert.rejects(runStep(windowsClock, machine.host(), modelWith(0, ['10.0.0.1'])), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'ClockNotSynchronized');
      assert.match(error.message, /off by -3600500 ms/);
      assert.deepEqual(
        error.evidence.map(({ text }) => text),
        ['10:00:00, -3600.5000000s'],
      );
      return true;
    });
  });

  test('is compared with the server that the service has, where the document names none', async () => {
    const source: Recording = {
      program: 'w32tm.exe',
      args: ['/query', '/source'],
      stdout: 'dc1.corp.example.com,0x8 \r\n',
      from: LEARN,
    };
    await using machine = windowsMachine({
      recordings: [source, asked('dc1.corp.example.com', chart('1:00:00, +00.1s'))],
    });
    assert.deepEqual(await planned(windowsClock, machine.queryHost(), modelWith(0, [])), []);
    await using local = windowsMachine({ recordings: [{ ...source, stdout: 'Lokale CMOS-Uhr\r\n' }] });
    assert.equal((await planned(windowsClock, local.queryHost(), modelWith(0, []))).length, 1);
  });

  test('is not proven by a program that prints nothing', () => {
    assert.equal(offsetIn(''), undefined);
    assert.equal(offsetIn('10:00:00, +00,5000000s\r\n'), 500);
  });
});

describe('the proxy on Windows', () => {
  const url = (text: string) => ({ name: 'p', source: { kind: 'value' as const, secret: new Secret(text) } });
  const proxy = (different: Partial<ProxyModel> = {}): ProxyModel => ({
    http: url('http://proxy.example.com:3128'),
    https: undefined,
    no: ['.example.com'],
    for: ['agent', 'containerd', 'kubelet', 'environment'],
    ...different,
  });
  const modelOf = (given: ProxyModel) => hostModel({ platform: 'windows', proxy: given });

  test('is in the environments of services and machine; other variables stay; those that run are restarted', async () => {
    await using machine = windowsMachine();
    machine.state.environment.services.containerd = ['GODEBUG=x', 'http_proxy=http://old'];
    const { changes, left } = await runStep(windowsProxy, machine.host(), modelOf(proxy()));
    assert.deepEqual(
      changes.map(({ id, owes }) => [id, owes ?? []]),
      [
        ['proxy/containerd', ['restart:containerd']],
        ['proxy/kubelet', []],
        ['proxy/environment', []],
      ],
    );
    assert.deepEqual(left, []);
    const [first, second, bypass] = machine.state.environment.services.containerd;
    assert.deepEqual([first, second], ['GODEBUG=x', 'HTTP_PROXY=http://proxy.example.com:3128']);
    assert.match(bypass ?? '', /^NO_PROXY=.*\.example\.com/);
    assert.equal(machine.state.environment.machine.HTTP_PROXY, 'http://proxy.example.com:3128');
    assert.ok(
      machine.commands.some((command) => command.includes('<change-service>') && command.includes('containerd')),
    );
    assert.deepEqual((await runStep(windowsProxy, machine.host(), modelOf(proxy()))).changes, []);
  });

  test('is taken from a service that the document no longer names', async () => {
    await using machine = windowsMachine();
    await runStep(windowsProxy, machine.host(), modelOf(proxy()));
    await runStep(windowsProxy, machine.host(), modelOf(proxy({ for: ['agent'] })));
    assert.deepEqual(machine.state.environment.services.kubelet, []);
  });

  test('with a password is for the agent alone: anybody could read it in the registry', async () => {
    await using machine = windowsMachine();
    const secret = proxy({ http: url('http://user:pa55word@proxy.example.com:3128'), for: ['containerd'] });
    const facts = await machine.facts();
    const desired = windowsProxy.desired(modelOf(secret), facts);
    assert.ok(desired);
    const [missing] = (await windowsProxy.preflight?.(machine.queryHost(), desired)) ?? [];
    assert.equal(missing?.reason, 'ProxyInvalid');
    assert.doesNotMatch(missing?.what ?? '', /pa55word/);
  });
});

describe('certificate authorities on Windows', () => {
  test('are added to the store, and removed from it when the document no longer names them', async () => {
    const [first, second] = [authority('first'), authority('second')];
    await using machine = windowsMachine();
    machine.state.authorities = [{ der: Buffer.from('of somebody else').toString('base64'), name: 'Corp' }];
    const model = hostModel({ platform: 'windows', certificateAuthorities: [{ name: 'a', pem: first }] });
    const { left } = await runStep(windowsCertificateAuthorities, machine.host(), model);
    assert.deepEqual(left, []);
    assert.deepEqual(
      machine.state.authorities.map(({ name }) => name),
      ['Corp', 'machineadm a'],
    );
    const other = hostModel({ platform: 'windows', certificateAuthorities: [{ name: 'b', pem: second }] });
    await runStep(windowsCertificateAuthorities, machine.host(), other);
    assert.deepEqual(
      machine.state.authorities.map(({ name }) => name),
      ['Corp', 'machineadm b'],
    );
    assert.deepEqual((await runStep(windowsCertificateAuthorities, machine.host(), other)).changes, []);
  });
});

describe('steps that Linux and Windows share', () => {
  test('files: by their paths with a drive, and what is 0600 is closed', async () => {
    await using machine = windowsMachine();
    const model = hostModel({
      platform: 'windows',
      files: [
        fileModel('C:\\k\\public.txt', 'x\r\n'),
        fileModel('/etc/kubernetes/secret.txt', 'x\r\n', { mode: 0o600 }),
      ],
    });
    const { changes, left } = await runStep(files, machine.host(), model, { facts: await machine.facts() });
    assert.equal(changes.length, 2);
    assert.deepEqual(left, []);
    assert.equal(machine.read('C:\\etc\\kubernetes\\secret.txt'), 'x\r\n');
    assert.equal(machine.descriptor('C:\\etc\\kubernetes\\secret.txt'), 'O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)');
    // Somebody opens it to users: the next run closes it again.
    const security = [...machine.state.security.keys()];
    for (const key of security) machine.state.security.set(key, machine.state.inherited);
    assert.deepEqual(
      (await planned(files, machine.queryHost(), model)).map(({ id }) => id),
      ['files/C:\\k\\public.txt', 'files//etc/kubernetes/secret.txt'],
    );
  });

  test('services: started, enabled and masked by the service control manager', async () => {
    await using machine = windowsMachine();
    machine.state.services.spooler = { state: 'Running', startMode: 'Auto', pid: 7, path: 'spoolsv.exe' };
    const model = hostModel({
      platform: 'windows',
      services: [{ name: 'spooler', enabled: undefined, masked: true, state: 'Stopped', dropIns: [] }],
    });
    const { left } = await runStep(services, machine.host(), model);
    assert.deepEqual(left, []);
    assert.deepEqual(
      [machine.state.services.spooler.state, machine.state.services.spooler.startMode],
      ['Stopped', 'Disabled'],
    );
    const desired = services.desired(model, await machine.facts());
    assert.ok(desired);
    assert.deepEqual(services.plan(desired, await services.inspect(machine.queryHost(), desired, EMPTY_RECORD)), []);
  });
});
