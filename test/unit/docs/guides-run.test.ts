import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics.ts';
import { loadDocument } from '@machineadm/document/load.ts';
import { selfSigned } from '../../support/certificates.ts';
import { driftMachine } from '../../support/drift-machine.ts';
import { planHost, runHost } from '../../support/host-run.ts';
import { memoryJournal } from '../pipeline/fake-steps.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

/** What other tests run with the real programs, or what is not of the host: the reason why it is left out here. */
const WITHOUT: Readonly<Record<string, string>> = {
  disks: 'test/slow/steps/storage.test.ts partitions and formats loop devices',
  filesystems: 'as above',
  mounts: 'as above',
  'active-directory': 'test/e2e/host/active-directory.test.ts joins the domain of a real Samba',
  'directory-logins': 'as above',
  registries: 'test/slow/steps/containerd-registries.test.ts pulls from a real registry',
  images: 'test/slow/steps/images.test.ts imports archives into a real containerd',
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
    },
    services: { 'nvidia-cdi-refresh': {}, 'update-engine': {}, locksmithd: {} },
    programs: { kubeadm: () => ({ stdout: 'registry.k8s.io/pause:3.10.1\n' }) },
  });

describe('the documents of the guides', () => {
  const pages = globSync('docs/{tutorials,how-to}/*.md', { cwd: ROOT }).sort();
  const documents = pages.flatMap((page) => documentsOf(page).map((text, index) => ({ page, text, index })));

  test('are many', () => assert.ok(documents.length > 15, String(documents.length)));

  for (const { page, text, index } of documents) {
    test(`${page}, document ${index + 1}: prepares a machine, and the second run changes nothing`, async (context) => {
      const loaded = await loadDocument([{ name: page, bytes: Buffer.from(text) }], {
        agentVersion: '0.1.0',
        resolveVariables: async () => ({ value: 'node-1' }),
      });
      assert.ok(loaded.ok, loaded.ok ? '' : loaded.problems.map(formatDiagnostic).join('\n'));
      const { model } = loaded.document;
      if (model.host.platform === 'windows') {
        context.skip('test/thorough/pipeline/windows-host.test.ts runs documents of Windows');
        return;
      }
      const run = { machine: machineOfGuides(), journal: memoryJournal(), model, without: Object.keys(WITHOUT) };
      await planHost(run);
      await runHost(run);
      assert.deepEqual(await planHost(run), []);
    });
  }
});
