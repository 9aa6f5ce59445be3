import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convert } from '@machineadm/convert/index.ts';
import { parse, stringify } from 'yaml';
import { codesOf } from '../../support/capi.ts';

async function converted(text: string) {
  const options = { kubernetesVersion: 'v1.34.2', name: 'node', standalone: true };
  const conversion = await convert([{ name: 'input', text }], options);
  const [document] = conversion.documents;
  return { conversion, host: document === undefined ? undefined : parse(document.yaml).host };
}

const cloudConfig = (config: object) => converted(`#cloud-config\n${stringify(config)}`);
const mountsOf = async (...mounts: readonly (readonly string[])[]) => {
  const { conversion, host } = await cloudConfig({ mounts });
  return { mounts: host?.storage?.mounts, left: codesOf(conversion, 'decision') };
};

describe('mounts of something other than a device', () => {
  test('of a template that binds the directories of the kubelet and containerd from a data disk', async () => {
    const spec = {
      joinConfiguration: { nodeRegistration: {} },
      diskSetup: { filesystems: [{ device: '/dev/vdb', filesystem: 'xfs', label: 'ephemeral', partition: 'none' }] },
      mounts: [
        ['LABEL=ephemeral', '/ephemeral'],
        ['/ephemeral/kubelet', '/var/lib/kubelet', 'none', 'bind,nofail'],
        ['/ephemeral/containerd', '/var/lib/containerd', 'none', 'defaults,bind,nofail', '0', '0'],
      ],
      preKubeadmCommands: ['mkdir -p /ephemeral/kubelet /ephemeral/containerd', 'mount -a'],
    };
    const kind = 'KubeadmConfigTemplate';
    const template = { apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta1', kind, metadata: { name: 'md-0' } };
    const { conversion, host } = await converted(JSON.stringify({ ...template, spec: { template: { spec } } }));
    assert.ok(!conversion.decisions.some(({ code }) => code === 'MountUnsupported'));
    assert.deepEqual(host.storage.mounts, [
      { device: { label: 'ephemeral' }, path: '/ephemeral' },
      { source: '/ephemeral/kubelet', type: 'bind', path: '/var/lib/kubelet' },
      { source: '/ephemeral/containerd', type: 'bind', path: '/var/lib/containerd' },
    ]);
  });

  for (const [title, columns, expected] of [
    ['bind as a type', ['/a', '/b', 'bind'], { source: '/a', type: 'bind', path: '/b' }],
    ['bind with auto', ['/a', '/b', 'auto', 'bind,ro'], { source: '/a', type: 'bind', path: '/b', options: ['ro'] }],
    [
      'a tmpfs',
      ['tmpfs', '/c', 'tmpfs', 'size=1g,nosuid'],
      { type: 'tmpfs', path: '/c', options: ['size=1g', 'nosuid'] },
    ],
    ['a tmpfs by another name', ['none', '/c', 'tmpfs'], { type: 'tmpfs', path: '/c' }],
    [
      'NFS',
      ['s.example:/e', '/d', 'nfs4', 'ro,_netdev'],
      { source: 's.example:/e', type: 'nfs4', path: '/d', options: ['ro'] },
    ],
    ['NFS of an IPv6 address', ['[fd00::1]:/e', '/d', 'nfs'], { source: '[fd00::1]:/e', type: 'nfs', path: '/d' }],
    ['a server without a type', ['s:/e', '/d'], { source: 's:/e', type: 'nfs', path: '/d' }],
  ] as const) {
    test(`${title} becomes a mount`, async () => {
      const { mounts, left } = await mountsOf(columns);
      assert.deepEqual(mounts, [expected]);
      assert.ok(!left.includes('MountUnsupported'));
    });
  }

  for (const columns of [
    ['/a', '/b', 'none', 'rbind'],
    ['//s/share', '/b', 'cifs', 'password=hunter2hunter2'],
    ['overlay', '/b', 'overlay', 'lowerdir=/a'],
    ['mon1,mon2:/', '/b', 'ceph'],
    ['/swapfile', 'none', 'swap', 'sw'],
  ]) {
    test(`${columns.slice(0, 3).join(' ')} is left out, and reported`, async () => {
      const { conversion, host } = await cloudConfig({ mounts: [columns] });
      assert.equal(host?.storage, undefined);
      assert.ok(codesOf(conversion, 'decision').includes('MountUnsupported'));
      assert.doesNotMatch(JSON.stringify(conversion.decisions), /hunter2/);
    });
  }

  test("cloud-init's swap becomes a swap file of the same size", async () => {
    for (const [size, expected] of [
      [2147483648, '2048Mi'],
      ['2G', '2048Mi'],
      ['1.5GB', '1536Mi'],
      ['512M', '512Mi'],
      [1000, '1Mi'],
    ] as const) {
      const { host } = await cloudConfig({ swap: { filename: '/swap.file', size } });
      assert.deepEqual(host.storage.mounts, [{ source: '/swap.file', type: 'swap', size: expected }], String(size));
    }
    const { host } = await cloudConfig({ swap: { size: '1G' } });
    assert.equal(host.storage.mounts[0].source, '/swap.img');
    assert.equal((await cloudConfig({ swap: { filename: '/swap.img', size: 0 } })).host?.storage, undefined);
    assert.equal((await cloudConfig({ swap: { filename: '/swap.img' } })).host?.storage, undefined);
    const auto = await cloudConfig({ swap: { filename: '/swap.img', size: 'auto', maxsize: 100 } });
    assert.equal(auto.host?.storage, undefined);
    assert.ok(codesOf(auto.conversion, 'decision').includes('MountUnsupported'));
  });
});
