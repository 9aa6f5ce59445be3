import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { tarOf } from '../../support/archives.ts';
import { driftMachine } from '../../support/drift-machine.ts';
import { planHost, runHost } from '../../support/host-run.ts';
import { noPauses } from '../../support/short-pauses.ts';
import { assertSameTree, resetHost, treeOf } from '../../support/undo-bench.ts';
import { memoryJournal } from '../../unit/pipeline/fake-steps.ts';

const RECIPES = resolve(import.meta.dirname, '../../../docs/recipes');
const PAGES = globSync('*.md', { cwd: RECIPES }).filter((page) => page !== 'README.md');

const ARCHIVE = gzipSync(tarOf([{ name: 'bin/containerd', content: 'x', mode: 0o755 }]));
const PROGRAM = Buffer.from('x');
const bodyOf = (url: string): Buffer => (url.endsWith('.tar.gz') ? ARCHIVE : PROGRAM);

/** The document of a page, with the digests of what the server of the test has in the place of placeholders. */
function documentOf(page: string): string {
  const text = readFileSync(join(RECIPES, page), 'utf8');
  const [, block = ''] = /^```yaml\n([\s\S]*?)^```$/m.exec(text) ?? [];
  return block.replace(/(url: (\S+)\n\s+sha256: )"0{64}"/g, (_, before: string, url: string) => {
    return `${before}"${createHash('sha256').update(bodyOf(url)).digest('hex')}"`;
  });
}

/** A machine with the services and files that the images of the families have. */
const imageOfFamilies = () =>
  driftMachine({
    files: {
      '/etc/cni/net.d/100-crio-bridge.conflist': '{}',
      '/root/.bashrc': '# theirs\n',
    },
    kernelFiles: { '/proc/sys/net/bridge/bridge-nf-call-iptables': '0' },
    services: {
      NetworkManager: { active: true, enabled: true },
      ...Object.fromEntries(['keepalived', 'crio', 'qemu-guest-agent', 'update-engine'].map((name) => [name, {}])),
    },
    programs: { nmcli: () => ({}), kubeadm: () => ({ stdout: 'registry.k8s.io/pause:3.10.1\n' }) },
    http: ({ url }) => ({ body: bodyOf(url) }),
  });

describe('the recipes', () => {
  noPauses();
  test('are of ten families, each in the index, each with the templates that were read', () => {
    assert.equal(PAGES.length, 10);
    const index = readFileSync(join(RECIPES, 'README.md'), 'utf8');
    for (const page of PAGES) {
      assert.ok(index.includes(`](${page})`), `${page} is not in the index`);
      assert.match(
        readFileSync(join(RECIPES, page), 'utf8'),
        /\]\(https:\/\/github\.com\/\S+\/blob\/\S+\.yaml\)/,
        page,
      );
    }
  });

  for (const page of PAGES) {
    test(`the document of ${basename(page, '.md')} prepares a machine without a command, the second run changes nothing, and a reset restores the machine`, async () => {
      const loaded = await loadDocument([{ name: page, bytes: Buffer.from(documentOf(page)) }], {
        agentVersion: '0.1.0',
        resolveVariables: async () => ({ value: 'node-1' }),
      });
      assert.ok(loaded.ok, loaded.ok ? '' : loaded.problems.map(formatDiagnostic).join('\n'));
      const { model } = loaded.document;
      assert.deepEqual(Object.values(model.host.hooks).filter(Boolean), [], 'it runs no command');
      assert.ok(model.kubernetes, 'it is a whole document');
      // Disks are partitioned and formatted by the tests with loop devices: test/slow/features/storage.test.ts.
      const without = model.host.storage.disks.length > 0 ? ['disks', 'filesystems', 'mounts'] : [];
      const run = { machine: imageOfFamilies(), journal: memoryJournal(), model, without };
      const before = treeOf(run.machine);
      assert.notDeepEqual(await planHost(run), []);
      await runHost(run);
      assert.deepEqual(await planHost(run), []);
      await resetHost(run.machine, run.journal);
      assertSameTree(run.machine, before, 'after the reset');
    });
  }
});
