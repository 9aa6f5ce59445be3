import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { type RenderInput, renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { anyKubernetesModel, inWordsOfTheOldest } from '../../../support/kubernetes-arbitrary.ts';
import { kubeadmOf, revealInline } from '../../../support/kubernetes-model.ts';
import { needs } from '../../../support/needs.ts';
import fc from '../../../support/property.ts';

/** Path of a real kubeadm. `config migrate` reads a file as init and join do, and changes nothing on the host. */
const binary = process.env.MACHINEADM_TEST_KUBEADM;
const skip = needs('MACHINEADM_TEST_KUBEADM=PATH');

function withDiscoveryIn(directory: string, model: KubernetesModel): KubernetesModel {
  const { join: joining } = model;
  if (joining === undefined || !('path' in joining.discovery)) return model;
  const path = join(directory, 'discovery.conf');
  writeFileSync(path, 'of somebody else');
  return { ...model, join: { ...joining, discovery: { ...joining.discovery, path } } };
}

describe('a real kubeadm reads what we write', { skip }, () => {
  const program = binary ?? '';
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-kubeadm-'));
  after(() => rmSync(directory, { recursive: true }));

  const read = (text: string) => {
    const from = join(directory, 'kubeadm.yaml');
    writeFileSync(from, text, { mode: 0o600 });
    return spawnSync(
      program,
      ['config', 'migrate', '--old-config', from, '--new-config', join(directory, 'new.yaml')],
      {
        encoding: 'utf8',
      },
    );
  };
  const version = () => {
    const result = spawnSync(program, ['version', '-o', 'short'], { encoding: 'utf8' });
    return kubeadmOf(result.stdout.trim().replace(/^v/, ''));
  };

  test('every expressible model is accepted, and no field is unknown to it', () => {
    const kubeadm = version();
    fc.assert(
      fc.property(anyKubernetesModel.map(inWordsOfTheOldest), (model) => {
        const input: RenderInput = {
          kubernetes: {
            ...withDiscoveryIn(directory, model),
            version: `v${kubeadm.text}`,
            node: { ...model.node, name: 'node-1' },
          },
          kubeadm,
          secrets: revealInline,
          cgroupDriver: 'systemd',
        };
        const { text, files } = renderKubeadm(input);
        // kubeadm looks whether the file of discovery by file is there.
        for (const { path, content } of files) if (path.startsWith(directory)) writeFileSync(path, content);
        const result = read(text);
        assert.equal(result.status, 0, `${result.stderr}\n${text}`);
        assert.doesNotMatch(result.stderr, /unknown field|error unmarshaling|specified twice/, text);
      }),
      { numRuns: 60 },
    );
  });

  test('it does notice an unknown field, so silence means something', () => {
    const text = `---\napiVersion: kubeadm.k8s.io/v1beta2\nkind: InitConfiguration\nbogus: 1\n`;
    assert.match(read(text).stderr, /unknown field "bogus"|not supported|old API spec/);
  });
});
