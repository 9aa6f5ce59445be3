import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convert } from '@machineadm/convert/index.ts';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { type RenderedKubeadm, renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { stringify } from 'yaml';
import { loaded } from '../../support/capi.ts';
import { byKind } from '../../support/kubeadm-documents.ts';
import { anyKubernetesModel, inWordsOfTheOldest } from '../../support/kubernetes-arbitrary.ts';
import { kubeadmOf, revealInline } from '../../support/kubernetes-model.ts';
import fc from '../../support/property.ts';

const PATH = '/run/kubeadm/kubeadm.yaml';

function rendered(kubernetes: KubernetesModel, kubeadm: string): RenderedKubeadm | undefined {
  try {
    return renderKubeadm({ kubernetes, kubeadm: kubeadmOf(kubeadm), secrets: revealInline });
  } catch (error) {
    if (error instanceof MachineadmError && error.reason === 'NotExpressible') return undefined;
    throw error;
  }
}

/** v1beta2, v1beta3 and v1beta4. */
describe("kubeadm's documents in user data, converted and rendered again, say the same", () => {
  for (const kubeadm of ['1.20.3', '1.29.3', '1.33.3', '1.36.3']) {
    test(kubeadm, async () => {
      let compared = 0;
      const words = kubeadm < '1.31' ? anyKubernetesModel.map(inWordsOfTheOldest) : anyKubernetesModel;
      const models = words.map((model) => ({ ...model, version: `v${kubeadm}` }));
      await fc.assert(
        fc.asyncProperty(models, async (kubernetes) => {
          const before = rendered(kubernetes, kubeadm);
          if (before === undefined) return;
          const documents = byKind(before.text);
          const command = `kubeadm ${documents.has('JoinConfiguration') ? 'join' : 'init'} --config ${PATH}`;
          const userData = { write_files: [{ path: PATH, content: before.text }], runcmd: [command] };
          const text = `#cloud-config\n${stringify(userData, { lineWidth: 0 })}`;
          const conversion = await convert([{ name: 'user-data', text }], { kubernetesVersion: `v${kubeadm}` });
          const [document] = conversion.documents;
          const open = conversion.decisions.filter(({ severity }) => severity === 'error' || severity === 'decision');
          // A model may hold what a document refuses, as the name of a variable.
          if (open.length > 0 && open.every(({ code }) => code === 'DocumentRefused')) return;
          assert.deepEqual(open, []);
          const { model } = await loaded(document?.yaml ?? '');
          assert.ok(model.kubernetes);
          assert.deepEqual(byKind(rendered(model.kubernetes, kubeadm)?.text ?? ''), documents);
          compared++;
        }),
        { numRuns: 40 },
      );
      assert.ok(compared > 0);
    });
  }
});
