import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { kubeadmConfigVersion, renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { kubeadmChecks } from '../../../src/kubernetes/kubeadm/own-checks.ts';
import { selfSigned } from '../../support/certificates.ts';
import { driftMachine } from '../../support/drift-machine.ts';
import { planHost, runHost } from '../../support/host-run.ts';
import { KUBEADM_SCHEMAS } from '../../support/kubeadm-schemas.ts';
import type { MemoryHost } from '../../support/memory-host.ts';
import { memoryJournal } from '../../unit/pipeline/fake-steps.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** What other tests run with the real programs, or what is not of the host: the reason why it is left out here. */
const WITHOUT: Readonly<Record<string, string>> = {
  disks: 'test/slow/features/storage.test.ts partitions and formats loop devices',
  filesystems: 'as above',
  mounts: 'as above',
  'active-directory': 'test/e2e/host/active-directory.test.ts joins the domain of a real Samba',
  'directory-logins': 'as above',
  registries: 'test/slow/features/containerd-registries.test.ts pulls from a real registry',
  images: 'test/slow/features/images.test.ts imports archives into a real containerd',
};

/** What the files of secrets have that the guides let the reader write. */
const SECRETS: Readonly<Record<string, string>> = {
  'secrets.joinToken': 'abcdef.0123456789abcdef',
  'secrets.certificateKey': 'ab'.repeat(32),
};

/** The documents that a page shows, in YAML blocks and in here-documents of its commands. */
function documentsOf(path: string): readonly string[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const blocks = [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
  const written = [...text.matchAll(/<<'END'\n(apiVersion: machineadm[\s\S]*?)^END$/gm)].map(([, block = '']) => block);
  return [...blocks, ...written].filter((block) => /^kind: MachineBootstrap$/m.test(block));
}

const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const AUTHORITY = selfSigned({
  key,
  publicKey,
  notBefore: new Date('2020-01-01'),
  notAfter: new Date('2049-01-01'),
  authority: true,
});

/** A machine that has the programs, files and services which the pages ask the reader for. */
const machineOfGuides = () =>
  driftMachine({
    files: {
      '/etc/ssl/mirror-ca.pem': AUTHORITY,
      '/etc/machineadm/mirror-password': { content: 'password-of-the-mirror\n', mode: 0o600 },
      '/usr/bin/nvidia-container-runtime': { content: '#!/bin/sh\n', mode: 0o755 },
      '/usr/bin/nvidia-container-runtime.cdi': { content: '#!/bin/sh\n', mode: 0o755 },
    },
    kernelFiles: {
      '/proc/sys/net/bridge/bridge-nf-call-iptables': '0',
      '/proc/sys/net/bridge/bridge-nf-call-ip6tables': '0',
      '/proc/sys/net/ipv4/ip_forward': '0',
    },
    services: { 'nvidia-cdi-refresh': {}, 'update-engine': {}, locksmithd: {} },
    programs: {
      kubeadm: () => ({ stdout: 'registry.k8s.io/pause:3.10.1\n' }),
      ...Object.fromEntries(['crictl', 'conntrack', 'ip', 'iptables', 'nsenter'].map((name) => [name, () => ({})])),
    },
  });

/** The last kubeadm that wants the bridge, too (k/k cmd/kubeadm/app/preflight/checks.go). */
const STRICTEST_PREFLIGHT = 'v1.29.3';

/** What the preflight of kubeadm refuses on a machine after the host part of a document. It sees the machine alone. */
async function refusedByKubeadm(machine: MemoryHost, model: Model): Promise<readonly string[]> {
  assert.ok(model.kubernetes);
  const alone = { ...model, host: { ...model.host, sysctl: [], kernelModules: [] } };
  const given = { kubernetes: model.kubernetes, model: alone, isProvided: () => false, isMounted: () => false };
  const refused: string[] = [];
  for (const version of [model.kubernetes.version, STRICTEST_PREFLIGHT]) {
    const found = await kubeadmChecks(machine, { ...given, kubeadm: parseVersion(version) });
    refused.push(...found.map(({ reason, what }) => `${version}: ${reason}: ${what}`));
  }
  const swaps = (await machine.readText('/proc/swaps'))?.trim().split('\n').slice(1) ?? [];
  return [...refused, ...swaps.map((swap) => `Swap: ${swap}`)];
}

/** kubeadm's configuration of a document, read field by field as the kubeadm of its version does. */
function readConfiguration({ kubernetes }: Model): readonly string[] {
  assert.ok(kubernetes);
  const kubeadm = parseVersion(kubernetes.version);
  assert.ok(kubeadm);
  const secrets = ({ name }: { readonly name: string }) => SECRETS[name] ?? assert.fail(`no example of ${name}`);
  const { documents } = renderKubeadm({ kubernetes, kubeadm, secrets });
  return documents.flatMap((one) => {
    const { error } = KUBEADM_SCHEMAS[kubeadmConfigVersion(kubeadm)].safeParse(one);
    return error === undefined ? [] : [error.message];
  });
}

describe('the documents of the guides', () => {
  const pages = globSync('docs/{tutorials,how-to}/*.md', { cwd: ROOT }).sort();
  const documents = pages.flatMap((page) => documentsOf(page).map((text, index) => ({ page, text, index })));

  test('are many', () => assert.ok(documents.length > 15, String(documents.length)));

  for (const { page, text, index } of documents) {
    test(`${page}, document ${index + 1}: prepares a machine for kubeadm, and the second run changes nothing`, async (context) => {
      const loaded = await loadDocument([{ name: page, bytes: Buffer.from(text) }], {
        agentVersion: '0.1.0',
        resolveVariables: async () => ({ value: 'node-1' }),
      });
      assert.ok(loaded.ok, loaded.ok ? '' : loaded.problems.map(formatDiagnostic).join('\n'));
      const { model } = loaded.document;
      assert.deepEqual(loaded.document.warnings.map(formatDiagnostic), []);
      if (model.kubernetes !== undefined) assert.deepEqual(readConfiguration(model), []);
      if (model.host.platform === 'windows') {
        context.skip('test/thorough/pipeline/windows-host.test.ts runs documents of Windows');
        return;
      }
      const run = { machine: machineOfGuides(), journal: memoryJournal(), model, without: Object.keys(WITHOUT) };
      await planHost(run);
      await runHost(run);
      assert.deepEqual(await planHost(run), []);
      if (model.kubernetes !== undefined) assert.deepEqual(await refusedByKubeadm(run.machine, model), []);
    });
  }

  test('would be refused by the preflight of kubeadm without their kernel settings', async () => {
    const text = documents
      .find(({ page }) => page.endsWith('ha-kube-vip.md'))
      ?.text.replace(/^ {2}(?:sysctl|swap|kernelModules): .*\n/gm, '');
    const loaded = await loadDocument([{ name: 'text', bytes: Buffer.from(text ?? '') }], { agentVersion: '0.1.0' });
    assert.ok(loaded.ok);
    const run = { machine: machineOfGuides(), journal: memoryJournal(), model: loaded.document.model };
    await runHost({ ...run, without: Object.keys(WITHOUT) });
    const refused = await refusedByKubeadm(run.machine, run.model);
    assert.deepEqual(
      refused.map((one) => one.replace(/: [^:]*$/, '')),
      ['v1.35.2: IPForwardDisabled', 'v1.29.3: IPForwardDisabled', 'v1.29.3: BrNetfilterNotLoaded', 'Swap'],
    );
  });
});
