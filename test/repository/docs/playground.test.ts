import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { example } from '@machineadm/document/library.ts';
import { evaluate, isDocument, kubeadmOutput, userDataOutput } from '../../../site/playground/engine.ts';
import { InputPlaces } from '../../../site/playground/places.ts';
import { needs } from '../../support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const VERSION = '0.1.0';

/** Published templates of Cluster API and its providers, which are not part of this repository. */
const TEMPLATES = process.env.MACHINEADM_CAPI_TEMPLATES;

describe('the playground takes', () => {
  for (const role of ['InitControlPlane', 'JoinControlPlane', 'Worker'] as const) {
    test(`a document (${role}), and shows what becomes of it`, async () => {
      const { kind, findings, documents } = await evaluate(example(role), VERSION, {});
      assert.deepEqual([kind, findings.length, documents.length], ['document', 0, 1]);
      const yaml = documents[0]?.yaml ?? '';
      assert.match((await kubeadmOutput(yaml, VERSION)).text, /kubeadm\.k8s\.io\/v1beta4/);
      const older = await kubeadmOutput(yaml, VERSION, 'v1.25.0');
      assert.deepEqual(older.problems, []);
      assert.match(older.text, /kubeadm\.k8s\.io\/v1beta3/);
      assert.match((await userDataOutput(yaml, VERSION, 'cloud-init')).text, /^#cloud-config/);
      assert.match((await userDataOutput(yaml, VERSION, 'ignition')).text, /"ignition"/);
    });
  }

  test('a document with mistakes, and shows each at its place, with a remedy', async () => {
    const text =
      'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a}\nhost:\n  hostnam: b\n';
    const { findings, documents } = await evaluate(text, VERSION, {});
    assert.deepEqual(documents, []);
    assert.deepEqual(
      findings.map(({ severity, line, column, path }) => [severity, line, column, path]),
      [['error', 5, 3, 'host.hostnam']],
    );
    assert.match(findings[0]?.hint ?? '', /hostname/);
  });

  test('a declared configuration, and shows decisions next to the lines they are about', async () => {
    const file = 'test/fixtures/capi/01-controlplane-kube-vip.yaml';
    const text = readFileSync(join(ROOT, file), 'utf8');
    const { kind, findings, documents } = await evaluate(text, VERSION, {});
    assert.equal(kind, 'conversion');
    assert.equal(documents.length, 2);
    assert.ok(documents.every((document) => document.findings.every(({ severity }) => severity !== 'error')));
    const lines = text.split('\n');
    const prefix = 'KubeadmControlPlane clusters/prod-a: spec.kubeadmConfigSpec.';
    const about = findings.filter(({ path }) => path.startsWith(prefix));
    const shown = about.map(({ path, line }) => [path.slice(prefix.length), lines[line - 1]?.trim()]);
    assert.deepEqual(Object.fromEntries(shown), {
      // The nearest part that is written.
      'joinConfiguration.discovery.bootstrapToken': 'joinConfiguration:',
      'files[1]': '- path: /etc/kube-vip.hosts',
      'files[3]': '- path: /etc/kubernetes/audit/policy.yaml',
      'files[4]': '- path: /etc/kubernetes/enc/config.yaml',
      ntp: 'ntp:',
      'preKubeadmCommands[0]': '- hostnamectl set-hostname "{{ ds.meta_data.hostname }}"',
    });
    assert.deepEqual(
      findings.map(({ line }) => line),
      findings.map(({ line }) => line).toSorted((a, b) => a - b),
    );
  });

  test('an input that its functions refuse, and says why', async () => {
    const host = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a}\n';
    assert.match((await kubeadmOutput(host, VERSION)).problems.join(), /no "kubernetes" section/);
    assert.notEqual((await kubeadmOutput(example('Worker'), VERSION, 'new')).problems.length, 0);
    assert.notEqual((await userDataOutput('x: 1', VERSION, 'talos')).problems.length, 0);
  });

  test('any other text, and says that it is not a document', async () => {
    for (const text of [
      '',
      'hello',
      '{',
      'kind: Pod\napiVersion: v1\n',
      '\u0000',
      '- - - [',
      'a: |\n  kind: MachineBootstrap\n',
    ]) {
      const { kind, findings, documents } = await evaluate(text, VERSION, {});
      assert.deepEqual([kind, documents], ['conversion', []], text);
      assert.ok(
        findings.some(({ severity }) => severity === 'error'),
        text,
      );
    }
    assert.ok(isDocument('{"apiVersion": "machineadm.dev/v1alpha1"}'));
    assert.ok(isDocument('# comment\nmetadata: {}\nkind: "MachineBootstrap"\n'));
  });

  for (const file of globSync('test/fixtures/capi/{*.yaml,golden/*}', { cwd: ROOT })) {
    test(`${file}, and shows every finding at a line of it`, () => opens(readFileSync(join(ROOT, file), 'utf8')));
  }

  const templates = TEMPLATES === undefined ? [] : globSync('**/*.{yaml,yml}', { cwd: TEMPLATES });
  const skip = needs('MACHINEADM_CAPI_TEMPLATES=DIRECTORY');
  test('every published template, and shows every finding at a line of it', { skip }, async () => {
    for (const file of templates) await opens(readFileSync(join(TEMPLATES ?? '', file), 'utf8'));
  });

  /** Evaluates a text, and everything that the page can show of the result. */
  async function opens(text: string): Promise<void> {
    for (const options of [{}, { kubernetesVersion: 'v1.35.0', role: 'Worker' } as const]) {
      const { findings, documents } = await evaluate(text, VERSION, options);
      assert.ok(documents.length > 0 || findings.length > 0);
      const lines = text.split('\n');
      for (const { line, column } of [...findings]) {
        assert.ok(line >= 1 && line <= lines.length && column >= 1 && column <= (lines[line - 1]?.length ?? 0) + 1);
      }
      for (const { yaml } of documents) {
        for (const output of [await kubeadmOutput(yaml, VERSION), await userDataOutput(yaml, VERSION, 'cloud-init')]) {
          assert.ok(output.text !== '' || output.problems.length > 0);
        }
      }
    }
  }
});

describe('places of the converter', () => {
  const text = `# a comment
apiVersion: v1
kind: Secret
metadata: {name: a}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata:
  namespace: clusters
  name: a
spec:
  files:
    - path: /etc/a
    - "odd key":
        x: 1
  config: |
    systemd:
      units:
        - name: b
          mask: x
  folded: >
    a: 1
`;
  const places = new InputPlaces('input', text);
  const lineOf = (at: string) => text.split('\n')[places.find(at).line - 1]?.trim();

  test('are found in the object of that name', () => {
    assert.equal(lineOf('Secret a: metadata.name'), 'metadata: {name: a}');
    assert.equal(lineOf('KubeadmConfig clusters/a'), 'apiVersion: bootstrap.cluster.x-k8s.io/v1beta1');
    assert.equal(lineOf('KubeadmConfig clusters/a: spec.files[0].path'), '- path: /etc/a');
    assert.equal(lineOf('KubeadmConfig clusters/a: spec.files[1]["odd key"].x'), 'x: 1');
    assert.deepEqual(places.find('KubeadmConfig clusters/a: spec.files'), { line: 12, column: 3 });
  });

  test('are found inside of a text that is written as a literal block', () => {
    assert.equal(lineOf('KubeadmConfig clusters/a: spec.config: systemd.units[0].mask'), 'mask: x');
    assert.equal(lineOf('KubeadmConfig clusters/a: spec.folded: a'), 'folded: >');
  });

  test('are those of the nearest part that exists', () => {
    assert.equal(lineOf('KubeadmConfig clusters/a: spec.files[7].path'), 'files:');
    assert.equal(lineOf('KubeadmConfig clusters/a: spec.none'), 'spec:');
    assert.equal(lineOf('KubeadmConfig other/a: spec.files'), '# a comment');
    assert.deepEqual(places.find('input:4'), { line: 4, column: 1 });
    assert.equal(places.find('input:4000').line, text.split('\n').length);
  });

  test('are found in user data and in the items of a List', () => {
    const userData = new InputPlaces('input', '#cloud-config\nruncmd:\n  - a\n  - b\n');
    assert.deepEqual(userData.find('input: runcmd[1]'), { line: 4, column: 5 });
    const list = 'apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: b\n';
    assert.deepEqual(new InputPlaces('input', list).find('Secret b: metadata.name'), { line: 7, column: 5 });
  });
});
