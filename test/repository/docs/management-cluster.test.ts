import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { parseAllDocuments } from 'yaml';
import { createProgram } from '../../../src/commands/index.ts';
import { load } from '../../support/document.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const page = read('docs/management-cluster.md');

describe('the page about management clusters', () => {
  test('has a valid document', async () => {
    const documents = [...page.matchAll(/^```yaml\n(apiVersion[\s\S]*?)^```$/gm)].map(([, text = '']) => text);
    assert.equal(documents.length, 1);
    for (const document of documents) {
      const result = await load(document);
      assert.deepEqual(result.ok ? [] : result.problems.map(formatDiagnostic), []);
    }
  });

  test('names files that exist, and reasons that exist', () => {
    const files = [...page.matchAll(/`((?:packaging|test)\/[\w./-]+)`/g)].map(([, path = '']) => path);
    assert.ok(files.length >= 4);
    assert.deepEqual(
      files.filter((path) => !existsSync(join(ROOT, path))),
      [],
    );
    const reasons = [...page.matchAll(/`((?:Node|Kubelet)[A-Z]\w+)`/g)].map(([, name = '']) => name);
    const ours = new Set(['NodeWorks', 'NodeRegistered', 'NodeReady', 'KubeletHealthy']);
    assert.deepEqual(
      reasons.filter((name) => !ours.has(name) && !Object.hasOwn(REASONS, name)),
      [],
    );
  });
});

describe('the material for nodes that are watched', () => {
  const report = createProgram(() => {}).commands.find((command) => command.name() === 'report');
  const watch = report?.commands.find((command) => command.name() === 'watch');

  test('runs a command that exists', () => {
    assert.ok(watch !== undefined);
    assert.match(
      read('packaging/systemd/machineadm-report-watch.service'),
      /^ExecStart=\/usr\/local\/bin\/machineadm report watch$/m,
    );
  });

  test('the pod runs the image that is built, reads the kubelet’s credential only, and has no rights of its own', () => {
    const [{ spec }] = parseAllDocuments(read('packaging/daemonset/daemonset.yaml')).map((one) => one.toJS());
    const { version }: { version: string } = JSON.parse(read('package.json'));
    const pod = spec.template.spec;
    const [container] = pod.containers;
    assert.equal(container.image, `machineadm:${version}`);
    assert.deepEqual(container.args, ['report', 'watch']);
    assert.equal(pod.automountServiceAccountToken, false);
    assert.deepEqual(container.securityContext.capabilities, { drop: ['ALL'] });
    assert.deepEqual(
      container.volumeMounts.map(({ mountPath, readOnly }: { mountPath: string; readOnly: boolean }) => [
        mountPath,
        readOnly,
      ]),
      [
        ['/etc/kubernetes/kubelet.conf', true],
        ['/var/lib/kubelet/pki', true],
        ['/var/lib/kubelet/config.yaml', true],
        ['/etc/machine-id', true],
      ],
    );
  });

  test('the manifests for a management cluster are YAML, each object with a kind and a name', () => {
    for (const name of ['machine-report', 'admission-policy', 'machine-health-check']) {
      for (const document of parseAllDocuments(read(`packaging/management-cluster/${name}.yaml`))) {
        assert.deepEqual(document.errors, [], name);
        const { kind, apiVersion, metadata } = document.toJS();
        assert.ok(kind !== undefined && apiVersion !== undefined && metadata.name !== undefined, name);
      }
    }
  });
});
