import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TomlTable } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { parse } from 'smol-toml';
import { convertToVersion } from '../../../../src/features/containerd/migrate.ts';
import { toTable } from '../../../../src/features/containerd/toml-text.ts';

const CRI = 'io.containerd.grpc.v1.cri';
const IMAGES = 'io.containerd.cri.v1.images';
const RUNTIME = 'io.containerd.cri.v1.runtime';

const VERSION_2 = `version = 2
disabled_plugins = ["io.containerd.snapshotter.v1.zfs"]
[plugins."${CRI}"]
sandbox_image = "r/pause:1"
max_concurrent_downloads = 5
enable_selinux = true
stream_server_port = "10010"
systemd_cgroup = true
[plugins."${CRI}".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "/etc/cni/net.d"
[plugins."${CRI}".registry]
config_path = "/certs"
[plugins."${CRI}".containerd]
snapshotter = "native"
default_runtime_name = "mine"
[plugins."${CRI}".containerd.runtimes.mine]
runtime_type = "io.containerd.runc.v2"
sandbox_mode = "podsandbox"
[plugins."io.containerd.gc.v1.scheduler"]
startup_delay = "1s"
`;

const AS_VERSION_3: TomlTable = {
  version: 3,
  disabled_plugins: ['io.containerd.snapshotter.v1.zfs'],
  plugins: {
    'io.containerd.gc.v1.scheduler': { startup_delay: '1s' },
    [IMAGES]: {
      pinned_images: { sandbox: 'r/pause:1' },
      snapshotter: 'native',
      max_concurrent_downloads: 5,
      registry: { config_path: '/certs' },
    },
    [RUNTIME]: {
      enable_selinux: true,
      cni: { bin_dirs: ['/usr/lib/cni'], conf_dir: '/etc/cni/net.d' },
      containerd: {
        default_runtime_name: 'mine',
        runtimes: { mine: { runtime_type: 'io.containerd.runc.v2', sandboxer: 'podsandbox' } },
      },
    },
    [CRI]: { stream_server_port: '10010' },
  },
};

function inWords(text: string | TomlTable, version: string): TomlTable {
  const found = parseVersion(version);
  assert.ok(found);
  return convertToVersion(typeof text === 'string' ? toTable(parse(text)) : text, found);
}

describe('a configuration in the words of the containerd found', () => {
  test('version 2 for 2.x: the CRI plug-in in its three parts', () => {
    assert.deepEqual(inWords(VERSION_2, '2.1.9'), AS_VERSION_3);
  });

  test('2.0 knows one directory of CNI plug-ins only', () => {
    const { plugins } = inWords(VERSION_2, '2.0.11');
    assert.deepEqual(toTable(Object(plugins))[RUNTIME], {
      ...toTable(Object(toTable(Object(AS_VERSION_3.plugins))[RUNTIME])),
      cni: { bin_dir: '/usr/lib/cni', conf_dir: '/etc/cni/net.d' },
    });
  });

  test('and back: the same file for 1.x, without the key of 1.2', () => {
    assert.deepEqual(inWords(AS_VERSION_3, '1.7.24'), toTable(parse(VERSION_2.replace('systemd_cgroup = true\n', ''))));
  });

  test('what is in the right words stays as it is', () => {
    assert.deepEqual(inWords(AS_VERSION_3, '2.3.4'), AS_VERSION_3);
    const two = VERSION_2.replace('systemd_cgroup = true\n', '');
    assert.deepEqual(inWords(two, '1.6.20'), toTable(parse(two)));
  });

  test('version 1: short names get long, in lists of plug-ins, too', () => {
    const text =
      'disabled_plugins = ["cri", "btrfs", "tasks-service"]\n[plugins.cri]\nsandbox_image = "p"\n[plugins.bolt]\nx = 1\n';
    assert.deepEqual(inWords(text, '1.6.20'), {
      version: 2,
      disabled_plugins: [CRI, 'io.containerd.snapshotter.v1.btrfs', 'io.containerd.service.v1.tasks-service'],
      plugins: { 'io.containerd.metadata.v1.bolt': { x: 1 }, [CRI]: { sandbox_image: 'p' } },
    });
  });

  test('version 4: what it made plug-ins of their own is taken back', () => {
    const text = `version = 4
[plugins."io.containerd.server.v1.grpc"]
address = "/run/c.sock"
max_recv_message_size = 1
[plugins."io.containerd.server.v1.grpc-tcp"]
address = "127.0.0.1:1"
tls_ca = "/ca"
[plugins."io.containerd.server.v1.metrics"]
address = "127.0.0.1:2"
[plugins."${RUNTIME}"]
enable_selinux = true
`;
    assert.deepEqual(inWords(text, '2.3.4'), {
      version: 3,
      grpc: { address: '/run/c.sock', max_recv_message_size: 1, tcp_address: '127.0.0.1:1', tcp_tls_ca: '/ca' },
      metrics: { address: '127.0.0.1:2' },
      plugins: { [RUNTIME]: { enable_selinux: true } },
    });
  });

  test('of the same thing in old and new words, the new ones count', () => {
    const both = {
      version: 3,
      plugins: { [CRI]: { sandbox_image: 'old' }, [IMAGES]: { pinned_images: { sandbox: 'new' } } },
    };
    assert.deepEqual(inWords(both, '2.1.9').plugins, { [IMAGES]: { pinned_images: { sandbox: 'new' } } });
    assert.deepEqual(inWords(both, '1.7.24').plugins, { [CRI]: { sandbox_image: 'new' } });
  });

  test('nothing at all is a file of the right version', () => {
    assert.deepEqual(inWords({}, '1.6.20'), { version: 2 });
    assert.deepEqual(inWords({ plugins: { [CRI]: { systemd_cgroup: true } } }, '1.6.20'), { version: 2 });
  });
});
