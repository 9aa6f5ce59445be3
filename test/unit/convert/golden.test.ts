import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convert } from '@machineadm/convert/index.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { parse, parseAllDocuments } from 'yaml';
import {
  codesOf,
  converting,
  EXAMPLES,
  type Example,
  example,
  goldenUserData,
  loaded,
  withRelatedObjects,
  withVariableValues,
} from '../../support/capi.ts';
import { byKind, setAt, type Tree } from '../../support/kubeadm-documents.ts';
import { revealInline } from '../../support/kubernetes-model.ts';

interface WrittenFile {
  readonly path: string;
  readonly content: string;
}

/** kubeadm's configuration in golden user data, parsed, with a value for each variable. */
function goldenDocuments(name: string, kind: string): Map<string, Tree> {
  const { write_files: files } = parse(withVariableValues(goldenUserData(name, kind)));
  const file = files.find(({ path }: WrittenFile) => /^\/run\/kubeadm\/kubeadm(?:-join-config)?\.yaml$/.test(path));
  const documents = byKind(file.content);
  return documents;
}

function rendered({ kubernetes }: Model, secrets = revealInline) {
  assert.ok(kubernetes);
  const kubeadm = parseVersion(kubernetes.version);
  assert.ok(kubeadm);
  return renderKubeadm({ kubernetes, kubeadm, secrets });
}

describe('golden user data, converted and rendered for kubeadm, says what the provider says', () => {
  for (const { name, golden, version } of EXAMPLES) {
    for (const kind of golden) {
      test(`${name}.${kind}`, async () => {
        const conversion = await converting([goldenUserData(name, kind)], { kubernetesVersion: version });
        assert.deepEqual(codesOf(conversion, 'error'), []);
        // Nothing that the provider writes is unknown; its alias of a disk, and accounts on Windows, are for a person.
        const open = codesOf(conversion, 'decision').filter((code) => code !== 'DeviceAlias' && code !== 'WindowsHost');
        assert.deepEqual(open, []);
        assert.equal(conversion.documents.length, 1);
        const { model } = await loaded(conversion.documents[0]?.yaml ?? '');
        assert.deepEqual(byKind(rendered(model).text), goldenDocuments(name, kind));
      });
    }
  }
});

describe('an example with its Cluster and Secrets, converted and rendered for kubeadm, says what the provider says', () => {
  const tokens: Readonly<Record<string, string>> = { 'secrets.join-token': '9vr73a.a8uxyaju799qwdjv' };
  for (const one of EXAMPLES) {
    test(one.name, async () => {
      const conversion = await convert(withRelatedObjects(one), { inlineSecrets: true });
      assert.deepEqual(codesOf(conversion, 'error'), []);
      assert.equal(conversion.documents.length, one.golden.length);
      for (const [index, kind] of one.golden.entries()) {
        const { model } = await loaded(conversion.documents[index]?.yaml ?? '');
        const expected = goldenDocuments(one.name, kind);
        tellDifferences(one, expected);
        // The token is made by the controller: it is the one value that no object has.
        const text = rendered(model, (value) => tokens[value.name] ?? revealInline(value)).text;
        assert.deepEqual(byKind(text), expected);
      }
    });
  }
});

describe('a template becomes what its object becomes', () => {
  const values = { '03b-controlplane-etcd-disk.v1beta1': 'v1.30.9', '01-controlplane-kube-vip': 'v1.35.2' };
  for (const [name, kubernetesVersion] of Object.entries(values)) {
    test(name, async () => {
      const objects = parseAllDocuments(example(name)).map((one) => one.toJS());
      const object = objects.find(({ kind }) => kind === 'KubeadmControlPlane');
      const { kubeadmConfigSpec } = object.spec;
      const template = {
        ...object,
        kind: 'KubeadmControlPlaneTemplate',
        spec: { template: { spec: { kubeadmConfigSpec } } },
      };
      // Without the infrastructure that a template does not name.
      const plain = { ...object, spec: { version: kubernetesVersion, kubeadmConfigSpec } };
      const [ofTemplate, ofObject] = await Promise.all(
        [template, plain].map((one) => converting([one], { kubernetesVersion, endpoint: 'api.example:6443' })),
      );
      const documents = (conversion: typeof ofObject) =>
        conversion?.documents.map(({ role, yaml }) => [role, parse(yaml)]);
      assert.equal(documents(ofTemplate)?.length, 2);
      assert.deepEqual(documents(ofTemplate), documents(ofObject));
    });
  }
});

/** Where the objects say more than the provider's user data; each has to be a real difference. */
function tellDifferences({ name }: Example, expected: Map<string, Tree>): void {
  const join = expected.get('JoinConfiguration');
  if (name !== '03b-controlplane-etcd-disk.v1beta1' || join === undefined) return;
  // The example asks for discovery.timeout 10m; the provider's conversion loses it, we keep it.
  setAt(join, ['discovery', 'timeout'], '10m0s');
}
