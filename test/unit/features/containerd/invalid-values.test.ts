import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TomlTable } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { parse } from 'smol-toml';
import { invalidValuesIn } from '../../../../src/features/containerd/invalid-values.ts';
import { toTable } from '../../../../src/features/containerd/toml-text.ts';

const V2 = 'io.containerd.grpc.v1.cri';
const IMAGES = 'io.containerd.cri.v1.images';
const RUNTIME = 'io.containerd.cri.v1.runtime';
const RUNC = '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]\nruntime_type = "io.containerd.runc.v2"\n';

function mistakes(text: string, version = '1.7.20'): readonly string[] {
  const parsed = parseVersion(version);
  const table: TomlTable = toTable(parse(text));
  assert.ok(parsed !== undefined);
  return invalidValuesIn(table, parsed);
}

describe('a configuration that containerd reads in another way than it looks', () => {
  for (const [what, text, version, expected] of [
    [
      'switches CRI off by its name, old or new',
      'version = 2\ndisabled_plugins = ["cri", "io.containerd.snapshotter.v1.zfs", "io.containerd.grpc.v1.cri"]\n',
      '1.7.20',
      ['disabled_plugins held cri, io.containerd.grpc.v1.cri, which switches CRI off'],
    ],
    [
      'has a version that 1.x does not know',
      'version = 3\n',
      '1.7.20',
      ['its version 3 is too new for containerd 1.7.20, which reads 2'],
    ],
    [
      'has a version that 2.2 does not know',
      'version = 4\n',
      '2.2.0',
      ['its version 4 is too new for containerd 2.2.0, which reads 3'],
    ],
    ['has the newest version of 2.3', 'version = 4\n', '2.3.0', []],
    [
      'has a version that 2.3 does not know',
      'version = 5\n',
      '2.3.0',
      ['its version 5 is too new for containerd 2.3.0, which reads 4'],
    ],
    [
      'has plug-ins of version 2 and no version',
      `[plugins."${V2}"]\nenable_selinux = true\n`,
      '1.7.20',
      ['it had no version and its plug-ins were those of version 2, so that containerd ignored them'],
    ],
    [
      'has plug-ins of version 3 in a file of version 2',
      `version = 2\n[plugins."${IMAGES}"]\nsnapshotter = "overlayfs"\n`,
      '2.0.0',
      ['its version was 2 and its plug-ins were those of version 3, so that containerd ignored them'],
    ],
    ['has plug-ins of version 3 in a file of version 4', `version = 4\n[plugins."${RUNTIME}"]\n`, '2.3.0', []],
    [
      'has a runtime without its type',
      `version = 2\n${RUNC.replace(/runtime_type.*\n/, '')}`,
      '1.7.20',
      ['the runtime runc had no runtime_type, without which no pod starts'],
    ],
    [
      'has a text for the cgroup driver of runc',
      `version = 2\n${RUNC}options = {SystemdCgroup = "true"}\n`,
      '1.7.20',
      ['SystemdCgroup of the runtime runc was not true or false, so that no pod starts'],
    ],
    [
      'has a text there for another runtime, whose options are its own',
      `version = 2\n${RUNC.replace('runc.v2', 'kata.v2')}options = {SystemdCgroup = "true"}\n`,
      '1.7.20',
      [],
    ],
    [
      'chooses a runtime that it does not define',
      `version = 3\n[plugins."${RUNTIME}".containerd]\ndefault_runtime_name = "crun"\n`,
      '2.0.0',
      ['its default runtime crun is not defined, so that CRI does not load'],
    ],
    [
      'chooses a runtime that it defines',
      `version = 2\n[plugins."${V2}".containerd]\ndefault_runtime_name = "runc"\n${RUNC}`,
      '1.7.20',
      [],
    ],
    [
      'has the cgroup driver where 1.2 had it',
      `version = 2\n[plugins."${V2}"]\nsystemd_cgroup = true\n`,
      '1.7.20',
      ['it had systemd_cgroup, the key of 1.2, with which CRI does not load'],
    ],
    [
      'has mirrors beside the directory of registries',
      `version = 2\n[plugins."${V2}".registry]\nconfig_path = "/etc/containerd/certs.d"\nmirrors = {}\n`,
      '1.7.20',
      ['it had both mirrors and config_path, so that CRI does not load'],
    ],
    [
      'has certificates of registries, for 2.0',
      `version = 2\n[plugins."${V2}".registry.configs."r.example".tls]\nca_file = "/ca"\n`,
      '2.0.0',
      ['certificates in registry.configs are ignored since containerd 2.0'],
    ],
    [
      'has certificates of registries, for 1.7',
      `version = 2\n[plugins."${V2}".registry.configs."r.example".tls]\nca_file = "/ca"\n`,
      '1.7.20',
      [],
    ],
    [
      'chooses a snapshotter, and no runtime, for 2.0',
      `version = 2\n[plugins."${V2}".containerd]\nsnapshotter = "zfs"\n`,
      '2.0.0',
      ['containerd 2.0.0 ignored its snapshotter zfs, because the file named no runtime'],
    ],
    [
      'chooses a snapshotter, and no runtime, for 1.7',
      `version = 2\n[plugins."${V2}".containerd]\nsnapshotter = "zfs"\n`,
      '1.7.20',
      [],
    ],
    [
      'chooses a snapshotter and has a runtime',
      `version = 2\n[plugins."${V2}".containerd]\nsnapshotter = "zfs"\n${RUNC}`,
      '2.0.0',
      [],
    ],
  ] as const) {
    test(`${what}: ${expected.length === 0 ? 'is no mistake' : 'is reported'}`, () => {
      assert.deepEqual(mistakes(text, version), expected);
    });
  }
});
