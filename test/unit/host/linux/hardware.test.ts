import assert from 'node:assert/strict';
import { totalmem } from 'node:os';
import { test } from 'node:test';
import { hardwareOf } from '../../../../src/host/linux/hardware.ts';
import { memoryHost } from '../../../support/memory-host.ts';

test('the hardware is read from sysfs, without serial numbers', async () => {
  const files = {
    '/sys/class/dmi/id/sys_vendor': 'QEMU\n',
    '/sys/class/dmi/id/product_name': 'Standard PC\n',
    '/sys/class/dmi/id/product_version': '\n',
    '/sys/class/dmi/id/product_serial': 'S-4711\n',
    '/proc/cpuinfo': 'processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n\nprocessor\t: 1\n',
    '/sys/block/vda/size': '524288\n',
    '/sys/block/vda/queue/rotational': '1\n',
    '/sys/block/vda/removable': '0\n',
    '/sys/block/vda/ro': '0\n',
    '/sys/block/nvme0n1/size': '1000\n',
    '/sys/block/nvme0n1/device/model': 'Fast Disk 9\n',
    '/sys/block/loop0/size': '8\n',
    '/sys/block/zram0/size': '8\n',
    '/sys/class/net/eth0/address': '02:fc:00:00:00:01\n',
    '/sys/class/net/eth0/mtu': '1500\n',
    '/sys/class/net/eth0/operstate': 'up\n',
    '/sys/class/net/eth0/speed': '10000\n',
    '/sys/class/net/eth0/device/uevent': 'DRIVER=virtio_net\nMODALIAS=x\n',
    '/sys/class/net/down0/speed': '-1\n',
  };
  const { system, cpu, memory, disks, network } = await hardwareOf(memoryHost({ files }));
  assert.deepEqual(system, { sys_vendor: 'QEMU', product_name: 'Standard PC' });
  assert.equal(cpu.isVirtual, true);
  assert.ok(cpu.threads > 0);
  assert.equal(memory.total, totalmem());
  assert.ok(memory.available > 0 && memory.available < memory.total);
  const disk = { model: undefined, isRotating: false, isRemovable: false, isReadOnly: false };
  assert.deepEqual(disks, [
    { ...disk, name: 'nvme0n1', model: 'Fast Disk 9', bytes: 512_000 },
    { ...disk, name: 'vda', bytes: 268_435_456, isRotating: true },
  ]);
  assert.deepEqual(network, [
    { name: 'down0', driver: undefined, mac: undefined, mtu: 0, state: 'unknown', megabitsPerSecond: undefined },
    {
      name: 'eth0',
      driver: 'virtio_net',
      mac: '02:fc:00:00:00:01',
      mtu: 1500,
      state: 'up',
      megabitsPerSecond: 10_000,
    },
  ]);
});
