import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TomlTable } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { mergeTables, tableAt, valueAt } from '../../../../src/container-runtime/toml-tree.ts';
import { configurationTree } from '../../../../src/features/containerd/configuration.ts';
import { missingCdiSpecs } from '../../../../src/features/containerd/runtimes.ts';
import { loaded } from '../../../support/document.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const NVIDIA = 'runtimes: {nvidia: {}}, ';

const modelOf = async (text: string) => {
  const { model } = await loaded(`containerRuntime: {containerd: {${text}}}\n`);
  return model.containerd ?? assert.fail();
};

async function treeOf(version: string, text: string): Promise<TomlTable> {
  const found = parseVersion(version) ?? assert.fail();
  const input = { version: found, architecture: 'amd64', sandboxImage: undefined, original: undefined };
  return configurationTree({ ...input, model: await modelOf(text) });
}

/**
 * What `nvidia-ctk runtime configure --runtime=containerd` makes of a configuration (NVIDIA/nvidia-container-toolkit 1.18,
 * pkg/config/engine/containerd, AddRuntime and EnableCDI): a copy of the default runtime, else of runc, with another
 * program behind it; the default, if asked for; and `enable_cdi`.
 */
function configuredByNvidia(
  tree: TomlTable,
  options: { readonly isDefault: boolean; readonly cdi: boolean },
): TomlTable {
  const plugin = tree.version === 2 ? 'io.containerd.grpc.v1.cri' : 'io.containerd.cri.v1.runtime';
  const runtimes = tableAt(tree, ['plugins', plugin, 'containerd', 'runtimes']);
  const copied = valueAt(tree, ['plugins', plugin, 'containerd', 'default_runtime_name']) ?? 'runc';
  const nvidia = mergeTables(tableAt(runtimes, [String(copied)]), {
    options: { BinaryName: '/usr/bin/nvidia-container-runtime' },
  });
  const containerd = { runtimes: { nvidia }, ...(options.isDefault ? { default_runtime_name: 'nvidia' } : {}) };
  return mergeTables(tree, { plugins: { [plugin]: { containerd, ...(options.cdi ? { enable_cdi: true } : {}) } } });
}

describe('the NVIDIA container toolkit', () => {
  for (const version of ['1.6.20', '1.7.24', '2.0.11', '2.1.9', '2.3.4']) {
    for (const driver of ['systemd', 'cgroupfs']) {
      for (const isDefault of [false, true]) {
        test(`containerd ${version}, ${driver}, default ${isDefault}: the runtime is what nvidia-ctk writes`, async () => {
          const common = `cgroupDriver: ${driver}`;
          const theirs = configuredByNvidia(await treeOf(version, common), { isDefault, cdi: false });
          const ours = await treeOf(version, `${common}, ${NVIDIA}${isDefault ? 'defaultRuntime: nvidia' : ''}`);
          assert.deepEqual(ours, theirs);
        });
      }
    }
  }

  test('CDI is what nvidia-ctk writes on 1.7; on 2.x it is on without being written', async () => {
    const text = `${NVIDIA}cdi: {}`;
    const asked = { isDefault: false, cdi: true };
    assert.deepEqual(await treeOf('1.7.24', text), configuredByNvidia(await treeOf('1.7.24', ''), asked));
    assert.deepEqual(
      await treeOf('2.1.9', text),
      configuredByNvidia(await treeOf('2.1.9', ''), { ...asked, cdi: false }),
    );
  });

  test('a configuration of ours that nvidia-ctk is run on all the same does not change', async () => {
    const ours = await treeOf('2.1.9', `${NVIDIA}defaultRuntime: nvidia`);
    assert.deepEqual(configuredByNvidia(ours, { isDefault: true, cdi: false }), ours);
  });

  describe('CDI specifications', () => {
    const SPEC = 'cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: []\n';
    const missing = async (text: string, files: Readonly<Record<string, string>> = {}) =>
      await missingCdiSpecs(memoryHost({ files }), await modelOf(text));

    test('that are not there are a warning, with the place and what writes them', async () => {
      const [finding] = await missing('runtimes: {nvidia-cdi: {}}', {
        '/etc/cdi/other.yaml': SPEC.replace('nvidia', 'amd'),
        '/etc/cdi/nvidia.yaml.disabled': SPEC,
      });
      assert.equal(finding?.reason, 'ContainerdCdiSpecMissing');
      assert.equal(finding?.severity, 'warning');
      assert.equal(finding?.field, 'containerRuntime.containerd.runtimes.nvidia-cdi');
      assert.match(finding?.what ?? '', /in \/etc\/cdi or \/var\/run\/cdi/);
      assert.match(finding?.remedy ?? '', /nvidia-cdi-refresh\.service.*nvidia-ctk cdi generate/);
    });

    for (const [text, files] of [
      ['runtimes: {nvidia-cdi: {}}', { '/var/run/cdi/nvidia.yaml': SPEC }],
      ['runtimes: {nvidia-cdi: {}}', { '/etc/cdi/nvidia.json': '{"kind": "nvidia.com/gpu"}' }],
      ['runtimes: {nvidia-cdi: {}}, cdi: {specDirectories: [/opt/cdi]}', { '/opt/cdi/a.yaml': SPEC }],
      ['runtimes: {nvidia-cdi: {optional: true}}', {}],
      ['runtimes: {nvidia: {}}', {}],
    ] as const) {
      test(`${text} with ${JSON.stringify(Object.keys(files))} lacks none`, async () => {
        assert.deepEqual(await missing(text, files), []);
      });
    }

    test('are looked for where the document says, and nowhere else', async () => {
      const [finding] = await missing('runtimes: {nvidia-cdi: {}}, cdi: {specDirectories: [/opt/cdi]}', {
        '/etc/cdi/a.yaml': SPEC,
      });
      assert.match(finding?.what ?? '', /is in \/opt\/cdi$/);
    });
  });
});
