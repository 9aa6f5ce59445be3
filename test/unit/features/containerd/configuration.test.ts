import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContainerdModel, TomlTable } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { parse } from 'smol-toml';
import { valueAt } from '../../../../src/container-runtime/toml-tree.ts';
import {
  configurationText,
  configurationTree,
  holdsCredentials,
  runningValues,
  writerOf,
} from '../../../../src/features/containerd/configuration.ts';
import { toTable } from '../../../../src/features/containerd/toml-text.ts';
import { containerdModel } from '../../../support/containerd-model.ts';

const CRI = 'io.containerd.grpc.v1.cri';
const IMAGES = 'io.containerd.cri.v1.images';
const RUNTIME = 'io.containerd.cri.v1.runtime';

interface Wish {
  readonly version?: string;
  readonly model?: Partial<ContainerdModel>;
  readonly sandboxImage?: string;
  readonly original?: string;
}

function tree({ version = '1.6.20', model = {}, sandboxImage, original }: Wish = {}): TomlTable {
  const found = parseVersion(version);
  assert.ok(found);
  return configurationTree({
    model: containerdModel(model),
    architecture: 'amd64',
    version: found,
    sandboxImage,
    original: original === undefined ? undefined : toTable(parse(original)),
  });
}

describe('the configuration of containerd', () => {
  test('1.x: version 2, everything in the one CRI plug-in', () => {
    assert.deepEqual(tree({ sandboxImage: 'r/pause:3.10', model: { restrictOomScoreAdj: true } }), {
      version: 2,
      disabled_plugins: [],
      required_plugins: [CRI],
      plugins: {
        [CRI]: {
          sandbox_image: 'r/pause:3.10',
          restrict_oom_score_adj: true,
          registry: { config_path: '/etc/containerd/certs.d' },
          containerd: {
            default_runtime_name: 'runc',
            runtimes: { runc: { runtime_type: 'io.containerd.runc.v2', options: { SystemdCgroup: true } } },
          },
        },
      },
    });
  });

  test('2.x: version 3 for every 2.x, the CRI plug-in in its two halves', () => {
    for (const version of ['2.0.11', '2.1.9', '2.3.4']) {
      assert.deepEqual(tree({ version, sandboxImage: 'r/pause:3.10', model: { cgroupDriver: 'cgroupfs' } }), {
        version: 3,
        disabled_plugins: [],
        required_plugins: [CRI],
        plugins: {
          [IMAGES]: {
            pinned_images: { sandbox: 'r/pause:3.10' },
            registry: { config_path: '/etc/containerd/certs.d' },
          },
          [RUNTIME]: {
            containerd: {
              default_runtime_name: 'runc',
              runtimes: { runc: { runtime_type: 'io.containerd.runc.v2', options: { SystemdCgroup: false } } },
            },
          },
        },
      });
    }
  });

  test('no sandbox image and no OOM restriction asked: containerd’s defaults stay', () => {
    assert.equal(valueAt(tree(), ['plugins', CRI, 'sandbox_image']), undefined);
    assert.equal(valueAt(tree(), ['plugins', CRI, 'restrict_oom_score_adj']), undefined);
    assert.equal(valueAt(tree({ version: '2.1.9' }), ['plugins', IMAGES, 'pinned_images']), undefined);
  });

  test('of the file found before, the machine’s own is kept and CRI is never left disabled', () => {
    const original = `
      version = 2
      root = "/data/containerd"
      state = "/run/c"
      imports = ["/etc/containerd/conf.d/*.toml", "more.toml"]
      disabled_plugins = ["cri", "${CRI}", "io.containerd.snapshotter.v1.zfs"]
      oom_score = -5
      [proxy_plugins.stargz]
      type = "snapshot"
      address = "/run/stargz.sock"
      [plugins."${CRI}"]
      sandbox_image = "old"
      [plugins."${CRI}".cni]
      bin_dir = "/usr/lib/cni"
      conf_dir = "/etc/cni/net.d"
      [plugins."io.containerd.internal.v1.opt"]
      path = "/var/lib/containerd"`;
    const kept = tree({ original });
    assert.equal(kept.root, '/data/containerd');
    assert.equal(kept.state, '/run/c');
    assert.deepEqual(kept.imports, ['/etc/containerd/conf.d/*.toml', '/etc/containerd/more.toml']);
    assert.deepEqual(kept.disabled_plugins, ['io.containerd.snapshotter.v1.zfs']);
    assert.deepEqual(kept.proxy_plugins, { stargz: { type: 'snapshot', address: '/run/stargz.sock' } });
    assert.deepEqual(valueAt(kept, ['plugins', CRI, 'cni']), { bin_dir: '/usr/lib/cni', conf_dir: '/etc/cni/net.d' });
    assert.equal(valueAt(kept, ['plugins', 'io.containerd.internal.v1.opt', 'path']), '/var/lib/containerd');
    assert.equal(kept.oom_score, undefined);
    assert.equal(valueAt(kept, ['plugins', CRI, 'sandbox_image']), undefined);
  });

  test('CNI directories of the old file, in the words of the version found', () => {
    const version1 = '[plugins.cri.cni]\nbin_dir = "/usr/lib/cni"';
    const version3 = `version = 3\n[plugins."${RUNTIME}".cni]\nbin_dirs = ["/a", "/b"]`;
    const cni = (version: string, original: string) =>
      valueAt(tree({ version, original }), ['plugins', version.startsWith('1') ? CRI : RUNTIME, 'cni']);
    assert.deepEqual(cni('1.7.24', version1), { bin_dir: '/usr/lib/cni' });
    assert.deepEqual(cni('2.0.11', version1), { bin_dir: '/usr/lib/cni' });
    assert.deepEqual(cni('2.1.9', version1), { bin_dirs: ['/usr/lib/cni'] });
    assert.deepEqual(cni('2.1.9', version3), { bin_dirs: ['/a', '/b'] });
    assert.deepEqual(cni('2.0.11', version3), { bin_dir: '/a' });
  });

  test('bin_dir of the document takes the place of the old file’s bin_dirs: 2.1 refuses both', () => {
    const original = `[plugins.cri.cni]\nbin_dir = "/usr/lib/cni"\nconf_dir = "/c"`;
    const settings = { plugins: { [RUNTIME]: { cni: { bin_dir: '/mine' } } } };
    const cni = valueAt(tree({ version: '2.1.9', original, model: { settings } }), ['plugins', RUNTIME, 'cni']);
    assert.deepEqual(cni, { bin_dir: '/mine', conf_dir: '/c' });
  });

  test('settings are merged last, key by key', () => {
    const settings = {
      oom_score: -999,
      plugins: {
        [CRI]: { sandbox_image: 'mine', containerd: { runtimes: { runc: { options: { NoPivotRoot: true } } } } },
      },
    };
    const merged = tree({ sandboxImage: 'ours', model: { settings } });
    assert.equal(merged.oom_score, -999);
    assert.equal(valueAt(merged, ['plugins', CRI, 'sandbox_image']), 'mine');
    assert.deepEqual(valueAt(merged, ['plugins', CRI, 'containerd', 'runtimes', 'runc']), {
      runtime_type: 'io.containerd.runc.v2',
      options: { SystemdCgroup: true, NoPivotRoot: true },
    });
  });

  test('old style mirrors of the document exclude config_path, which containerd refuses together', () => {
    const settings = { plugins: { [CRI]: { registry: { mirrors: { 'docker.io': { endpoint: ['https://m'] } } } } } };
    assert.deepEqual(Object.keys(valueAt(tree({ model: { settings } }), ['plugins', CRI, 'registry']) ?? {}), [
      'mirrors',
    ]);
  });

  test('the text says whose it is, is TOML again, and is the same for the same tree', async () => {
    const wanted = tree({ sandboxImage: 'r/pause:3.10' });
    const text = await configurationText(wanted, 'Managed');
    assert.equal(writerOf(text), 'Managed');
    assert.deepEqual(toTable(parse(text)), wanted);
    assert.equal(await configurationText(tree({ sandboxImage: 'r/pause:3.10' }), 'Managed'), text);
    assert.equal(writerOf('version = 2\n'), undefined);
  });

  test('credentials are noticed wherever settings put them', () => {
    const withKey = (key: string) =>
      tree({ model: { settings: { plugins: { [CRI]: { registry: { configs: { r: { [key]: { x: 'y' } } } } } } } } });
    assert.equal(holdsCredentials(tree()), false);
    assert.equal(holdsCredentials(withKey('auth')), true);
    assert.equal(holdsCredentials(withKey('Authorization')), true);
    assert.equal(holdsCredentials(withKey('tls')), false);
  });

  test('what a running daemon can be asked for', () => {
    const expected = { cgroupDriver: 'cgroupfs', sandboxImage: 'p', restrictOomScoreAdj: true };
    for (const version of ['1.6.20', '2.1.9']) {
      const model = { cgroupDriver: 'cgroupfs' as const, restrictOomScoreAdj: true };
      assert.deepEqual(runningValues(tree({ version, model, sandboxImage: 'p' })), expected);
    }
  });
});
