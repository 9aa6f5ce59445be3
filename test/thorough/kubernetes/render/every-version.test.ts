import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { kubeadmConfigVersion, type RenderedKubeadm, renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { parseAllDocuments } from 'yaml';
import { KUBEADM_SCHEMAS } from '../../../support/kubeadm-schemas.ts';
import { anyKubernetesModel, inWordsOfTheOldest } from '../../../support/kubernetes-arbitrary.ts';
import { kubeadmOf, revealInline } from '../../../support/kubernetes-model.ts';
import fc from '../../../support/property.ts';

const MINORS = Array.from({ length: 18 }, (_, index) => 20 + index);

function assertAccepted(rendered: RenderedKubeadm, kubeadm: string): void {
  const schema = KUBEADM_SCHEMAS[kubeadmConfigVersion(kubeadmOf(kubeadm))];
  const read = parseAllDocuments(rendered.text, { version: '1.1' }).map((document) => {
    assert.deepEqual(document.errors, []);
    return document.toJS();
  });
  assert.deepEqual(read, rendered.documents, 'the text says what the objects say, also to a YAML 1.1 parser');
  for (const document of read) schema.parse(document);
}

describe('every model, every minor from 1.20 to 1.37', () => {
  for (const minor of MINORS) {
    const kubeadm = `1.${minor}.3`;

    test(`${kubeadm}: either documents of its version, or NotExpressible`, () => {
      let expressed = 0;
      fc.assert(
        fc.property(anyKubernetesModel, (kubernetes) => {
          let rendered: RenderedKubeadm;
          try {
            rendered = renderKubeadm({ kubernetes, kubeadm: kubeadmOf(kubeadm), secrets: revealInline });
          } catch (error) {
            assert.ok(error instanceof MachineadmError, String(error));
            assert.equal(error.reason, 'NotExpressible');
            for (const { source } of error.evidence) assert.match(source, /^kubernetes\./);
            return;
          }
          expressed += 1;
          assertAccepted(rendered, kubeadm);
        }),
        { numRuns: 60 },
      );
      if (minor >= 36) assert.ok(expressed > 0, 'the newest versions express most models');
    });

    test(`${kubeadm}: a model without anything new is always expressed`, () => {
      fc.assert(
        fc.property(anyKubernetesModel.map(inWordsOfTheOldest), (kubernetes) => {
          const input = { kubernetes, kubeadm: kubeadmOf(kubeadm), secrets: revealInline } as const;
          const rendered = renderKubeadm(input);
          assertAccepted(rendered, kubeadm);
          assert.equal(renderKubeadm(input).text, rendered.text);
        }),
        { numRuns: 40 },
      );
    });
  }

  test('the schemas are strict: a field of a later version is refused by the earlier one', () => {
    const kind = 'InitConfiguration';
    assert.ok(
      !KUBEADM_SCHEMAS.v1beta2.safeParse({ apiVersion: 'kubeadm.k8s.io/v1beta2', kind, skipPhases: ['a'] }).success,
    );
    assert.ok(!KUBEADM_SCHEMAS.v1beta3.safeParse({ apiVersion: 'kubeadm.k8s.io/v1beta3', kind, timeouts: {} }).success);
    assert.ok(!KUBEADM_SCHEMAS.v1beta4.safeParse({ apiVersion: 'kubeadm.k8s.io/v1beta4', kind, bogus: 1 }).success);
  });
});
