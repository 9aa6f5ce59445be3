import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { disabledCriPlugin } from '../../../../src/diagnosis/conformance/containerd-plugins.ts';
import { Unit } from '../../../../src/diagnosis/conformance/unit-files.ts';
import { withImage } from '../../../support/conformance/image.ts';

const DEFAULT = '/etc/containerd/config.toml';
const CRI = 'disabled_plugins = ["x", "cri"]\n';

describe('the configuration of containerd in an image', () => {
  const table: readonly (readonly [string, Readonly<Record<string, string>>, string | undefined, unknown])[] = [
    ['disables nothing where it is none', {}, undefined, undefined],
    [
      'disables nothing where CRI is not in its list',
      { [DEFAULT]: 'disabled_plugins = ["x"]\n' },
      undefined,
      undefined,
    ],
    ...['cri', 'io.containerd.grpc.v1.cri', 'io.containerd.cri.v1.runtime', 'io.containerd.cri.v1.images'].map(
      (plugin): readonly [string, Readonly<Record<string, string>>, undefined, unknown] => [
        `disables ${plugin}`,
        { [DEFAULT]: `disabled_plugins = ["x", "${plugin}"]\n` },
        undefined,
        { path: DEFAULT, plugin },
      ],
    ),
    ['is not understood', { [DEFAULT]: 'broken [' }, undefined, { path: DEFAULT, plugin: undefined }],
    ['is no list', { [DEFAULT]: 'disabled_plugins = "cri"\nimports = 5\n' }, undefined, undefined],
    [
      'disables it in a file that it imports, by a pattern beside it',
      {
        [DEFAULT]: 'imports = ["conf.d/*.toml"]\n',
        '/etc/containerd/conf.d/a.txt': CRI,
        '/etc/containerd/conf.d/btoml': CRI,
        '/etc/containerd/conf.d/c.toml': CRI,
      },
      undefined,
      { path: '/etc/containerd/conf.d/c.toml', plugin: 'cri' },
    ],
    [
      'disables it in a file that is imported by its path, from a file that imports the first again',
      {
        [DEFAULT]: 'imports = ["/etc/one.toml"]\n',
        '/etc/one.toml': `imports = ["${DEFAULT}", "/etc/two.toml"]\n`,
        '/etc/two.toml': CRI,
      },
      undefined,
      { path: '/etc/two.toml', plugin: 'cri' },
    ],
    [
      'is the one of the command',
      { [DEFAULT]: CRI, '/etc/c.toml': '' },
      'ExecStart=/usr/bin/containerd --config /etc/c.toml\n',
      undefined,
    ],
    [
      'is the one of the short option',
      { '/etc/c.toml': CRI },
      'ExecStart=/usr/bin/containerd -c=/etc/c.toml\n',
      { path: '/etc/c.toml', plugin: 'cri' },
    ],
    [
      'is the one of the last variable',
      { '/etc/c.toml': CRI, '/etc/d.toml': '' },
      'Environment=CONTAINERD_CONFIG=/etc/d.toml\nEnvironment=CONTAINERD_CONFIG=/etc/c.toml\nEnvironment=A=b\nExecStart=/usr/bin/containerd\n',
      { path: '/etc/c.toml', plugin: 'cri' },
    ],
    [
      'is the usual one for a unit that says nothing',
      { [DEFAULT]: CRI },
      'ExecStart=/usr/bin/containerd\n',
      { path: DEFAULT, plugin: 'cri' },
    ],
  ];
  for (const [what, files, service, expected] of table) {
    test(what, () => {
      const unit = service === undefined ? undefined : new Unit('/x.service', [`[Service]\n${service}`]);
      withImage('host', { [DEFAULT]: '', ...files }, undefined, ({ tree }) =>
        assert.deepEqual(disabledCriPlugin(tree, unit), expected),
      );
    });
  }
});
