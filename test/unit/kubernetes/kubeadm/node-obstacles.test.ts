import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Facts } from '../../../../src/host/seam/facts.ts';
import { canonicalAddress, nodeObstacles } from '../../../../src/kubernetes/kubeadm/node-obstacles.ts';
import { loaded } from '../../../support/document.ts';
import { facts } from '../../../support/facts.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';

const INTERFACES = [
  { name: 'lo', addresses: ['127.0.0.1', '::1'] },
  { name: 'eth0', addresses: ['10.0.0.5', 'fd00::5'] },
];
const localhost = (answer: string, status = 0) => ({ getent: () => ({ status, stdout: answer }) });
const HERE = localhost('::1             STREAM localhost\n127.0.0.1       STREAM localhost\n');

async function found(
  body: string,
  machine: MemoryMachine = {},
  more: Partial<Facts> = {},
): Promise<readonly (readonly [string, string, string | undefined])[]> {
  const { model } = await loaded(body);
  assert.ok(model.kubernetes);
  const host = memoryHost({ programs: HERE, ...machine });
  const obstacles = await nodeObstacles(host, {
    kubernetes: model.kubernetes,
    model,
    facts: facts({ interfaces: INTERFACES, ...more }),
  });
  assert.deepEqual(host.log, []);
  return obstacles.map(({ reason, what, severity, broughtBy }) => [reason, what, severity ?? broughtBy] as const);
}

const control = (rest: string, version = 'v1.35.2') =>
  `kubernetes: {version: ${version}, role: InitControlPlane${rest}}\n`;
const kubelet = (config: string) => control(`, node: {kubelet: ${config}}`);

describe('an address that a node is to have', () => {
  const advertise = (address: string) => control(`, controlPlane: {apiEndpoint: {advertiseAddress: "${address}"}}`);
  const nodeIP = (value: string) => kubelet(`{args: [{name: node-ip, value: "${value}"}]}`);

  test('is of an interface, in any spelling', async () => {
    for (const body of [advertise('10.0.0.5'), advertise('fd00:0::0:5'), nodeIP('10.0.0.5,FD00::5'), nodeIP('0.0.0.0')])
      assert.deepEqual(await found(body), []);
    assert.equal(canonicalAddress('FD00:0:0::5'), canonicalAddress('fd00::5'));
  });

  test('is a failure where no interface has it, with those that there are', async () => {
    assert.deepEqual(await found(advertise('192.0.2.200')), [
      [
        'AdvertiseAddressNotLocal',
        'no interface of this machine has the advertise address 192.0.2.200 (kubernetes.controlPlane.apiEndpoint.advertiseAddress); there are eth0 10.0.0.5 fd00::5',
        undefined,
      ],
    ]);
    const reasons = (await found(nodeIP('10.0.128.105,fd00::6'))).map(([reason]) => reason);
    assert.deepEqual(reasons, ['NodeIPNotFound', 'NodeIPNotFound']);
  });

  test('may come with the network of the document, and is not known where interfaces are not', async () => {
    const network = 'host: {network: {netplan: {version: 2}}}\n';
    const later = await found(`${network}${advertise('192.0.2.200')}`).catch(() => undefined);
    if (later !== undefined)
      assert.deepEqual(
        later.map(([, , after]) => after),
        ['network'],
      );
    const { model } = await loaded(advertise('192.0.2.200'));
    assert.ok(model.kubernetes);
    const input = { kubernetes: model.kubernetes, model, facts: facts() };
    assert.deepEqual(await nodeObstacles(memoryHost({ programs: HERE }), input), []);
  });
});

describe('localhost', () => {
  test('leads here: nothing is said; nor where it cannot be asked', async () => {
    assert.deepEqual(await found(control('')), []);
    assert.deepEqual(await found(control(''), { programs: {} }), []);
  });

  test('that leads elsewhere or nowhere stops an old kubeadm, and is a warning for a new one', async () => {
    const away = { programs: localhost('203.0.113.44    STREAM localhost\n') };
    assert.deepEqual(await found(control('', 'v1.30.4'), away), [
      ['LocalhostNotLocal', 'localhost leads to 203.0.113.44, and not to this machine', undefined],
    ]);
    assert.deepEqual(
      (await found(control(''), away)).map(([, , severity]) => severity),
      ['warning'],
    );
    const none = await found(control('', 'v1.30.4'), { programs: localhost('', 2) });
    assert.deepEqual(
      none.map(([, what]) => what),
      ['localhost does not resolve'],
    );
  });
});

describe('the name of the machine', () => {
  const reasons = async (hostname: string, body = control('')) =>
    (await found(body, {}, { hostname })).map(([reason]) => reason);
  test('must be able to name the Node, unless the document names it', async () => {
    assert.deepEqual(await reasons('node-1'), []);
    assert.deepEqual(await reasons('a'.repeat(64)), ['NodeNameInvalid']);
    assert.deepEqual(await reasons('bad_name'), ['NodeNameInvalid']);
    assert.deepEqual(await reasons('bad_name', control(', node: {name: n1}')), []);
    assert.deepEqual(await reasons('bad_name', `host: {hostname: n1}\n${control('')}`), []);
  });
});

describe('protectKernelDefaults', () => {
  const files = {
    '/proc/sys/vm/overcommit_memory': '0\n',
    '/proc/sys/kernel/panic': '10\n',
    '/proc/sys/kernel/panic_on_oops': '0\n',
  };
  const protect = kubelet('{config: {protectKernelDefaults: true}}');
  test('is compared with this kernel, and the remedy is what to write', async () => {
    const [one, ...more] = await found(protect, { files });
    assert.deepEqual(more, []);
    assert.equal(one?.[0], 'KernelDefaultsMismatch');
    assert.match(one?.[1] ?? '', /vm\.overcommit_memory is 0, not 1; kernel\.panic_on_oops is 0, not 1$/);
  });

  test('is met where the document sets the values, or is not asked for', async () => {
    const set = 'host: {sysctl: {vm.overcommit_memory: 1, kernel.panic_on_oops: 1}}\n';
    assert.deepEqual(await found(`${set}${protect}`, { files }), []);
    assert.deepEqual(await found(control(''), { files }), []);
    const wrong = 'host: {sysctl: {vm.overcommit_memory: 2}}\n';
    assert.match((await found(`${wrong}${protect}`, { files: {} }))[0]?.[1] ?? '', /overcommit_memory is 2, not 1/);
  });
});

describe('a reserved control group that is enforced', () => {
  const enforce = kubelet(
    '{config: {enforceNodeAllocatable: [pods, system-reserved], systemReservedCgroup: /system.slice}}',
  );
  test('must exist with cgroup v2, and in each controller with cgroup v1', async () => {
    const v2 = { '/sys/fs/cgroup/cgroup.controllers': 'cpu memory\n' };
    assert.deepEqual(
      (await found(enforce, { files: v2 })).map(([reason]) => reason),
      ['ContainerManagerFailed'],
    );
    assert.deepEqual(await found(enforce, { files: { ...v2, '/sys/fs/cgroup/system.slice/cgroup.procs': '' } }), []);
    const v1 = {
      '/sys/fs/cgroup/memory/tasks': '',
      '/sys/fs/cgroup/cpuset/tasks': '',
      '/sys/fs/cgroup/memory/system.slice/tasks': '',
    };
    const [one] = await found(enforce, { files: v1 });
    assert.match(one?.[1] ?? '', /cannot be enforced here: \/sys\/fs\/cgroup\/cpuset\/system\.slice does not exist$/);
  });

  test('is not looked for where only pods are enforced', async () => {
    assert.deepEqual(await found(enforce.replace('pods, system-reserved', 'none'), {}), []);
  });
});
