import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ContainerdModel, TomlTable } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { parse } from 'smol-toml';
import { tableAt, valueAt, without } from '../../../src/container-runtime/toml-tree.ts';
import { containerdStep } from '../../../src/features/containerd/index.ts';
import { toTable } from '../../../src/features/containerd/toml-text.ts';
import { gatherFacts, openHost } from '../../../src/host/index.ts';
import type { Facts } from '../../../src/host/seam/facts.ts';
import { ContainerdDaemon } from '../../support/containerd-daemon.ts';
import { containerdModel } from '../../support/containerd-model.ts';
import { debianContainerd, SUITES, type Suite } from '../../support/debian-containerd.ts';
import { load } from '../../support/document.ts';
import { hostModel } from '../../support/host-model.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { runStep } from '../../support/run-step.ts';

/**
 * Configurations that are wrong in the ways of the field, met as the file that is found (and replaced, or merged into) and as
 * `settings` of a document, with the real containerds. Each is refused with its reason, or mended with its reason told.
 */
const PATH = '/etc/containerd/config.toml';
const BAD = resolve(import.meta.dirname, '../../fixtures/containerd/bad');
const GOOD = resolve(import.meta.dirname, '../../fixtures/containerd/good');
const step = containerdStep({ healthyWithin: 15_000, healthyAgainWithin: 15_000 });

/** A reason: refused with it. A pattern: mended, and told so. `fine`: nothing was wrong for this containerd. */
type Fate = Reason | RegExp | 'fine';

interface Expected {
  readonly Managed: Fate;
  readonly Merge: Fate;
  /** As settings of a document, without the version; a syntax that TOML does not have cannot be written there. */
  readonly settings: Fate | undefined;
}

/** What is merged into the configuration of `inOtherWords`. */
const MERGED: Partial<ContainerdModel> = {
  mode: 'Merge',
  root: undefined,
  sandboxImage: 'r.example/pause:3.10',
  maxContainerLogLineSize: 32_768,
};
const NOT_TOML = { Managed: /was not TOML at row \d+, column \d+/, Merge: 'ContainerdConfigSyntax' } as const;
const MIRRORS = { Managed: /both mirrors and config_path/, Merge: 'ContainerdRegistryConflict' } as const;
const NO_CRI = {
  Managed: /disabled_plugins held cri/,
  Merge: /disabled_plugins held cri/,
  settings: 'DocumentInvalid',
} as const;
const IGNORED = (words: RegExp) => ({ Managed: words, Merge: words });

/** What differs between 1.x and 2.x says so. */
function expectations(major: 1 | 2): Readonly<Record<string, Expected>> {
  const old = major === 1;
  /** Settings are in the words of the containerd installed. */
  const version2 = (fate: Fate): Fate => (old ? fate : 'ContainerdConfigUnknownKey');
  const version3: Fate = old ? 'ContainerdConfigUnknownKey' : 'fine';
  return {
    'badruntime.toml': {
      Managed: /default runtime nvidia is not defined/,
      Merge: 'ContainerdRuntimeUndefined',
      settings: version2('ContainerdRuntimeUndefined'),
    },
    'conftls.toml': {
      Managed: old ? /not taken over: .*configs\."up\.test"\.tls/ : /certificates in registry\.configs are ignored/,
      Merge: old ? 'fine' : 'ContainerdConfigUnknownKey',
      settings: version2('ContainerdRegistryConflict'),
    },
    'disabled.toml': NO_CRI,
    'disabled2.toml': NO_CRI,
    'dup.toml': { ...NOT_TOML, settings: undefined },
    'empty.toml': { Managed: 'fine', Merge: 'fine', settings: 'fine' },
    'mirrors-and-path-required.toml': { ...MIRRORS, settings: 'ContainerdRegistryConflict' },
    'mirrors-and-path.toml': { ...MIRRORS, settings: 'ContainerdRegistryConflict' },
    'norunctype.toml': { ...IGNORED(/runtime runc had no runtime_type/), settings: version2('fine') },
    'noversion-v2ids.toml': { ...IGNORED(/had no version .* containerd ignored them/), settings: version2('fine') },
    'oldcgroup.toml': { ...IGNORED(/systemd_cgroup, the key of 1\.2/), settings: 'DocumentInvalid' },
    'snaponly.toml': {
      Managed: old ? /not taken over: .*snapshotter/ : /ignored its snapshotter native/,
      Merge: old ? 'fine' : /ignored its snapshotter native/,
      settings: version2('fine'),
    },
    'syntax.toml': { ...NOT_TOML, settings: undefined },
    'unknown.toml': {
      Managed: /not taken over: .*bogus_top/,
      Merge: 'ContainerdConfigUnknownKey',
      settings: 'ContainerdConfigUnknownKey',
    },
    'v2hdr-v3ids.toml': { ...IGNORED(/version was 2 .* of version 3, so that containerd ignored/), settings: version3 },
    'v3hdr-v2ids.toml': {
      ...IGNORED(old ? /version 3 is too new/ : /version was 3 .* of version 2, so that containerd ignored/),
      settings: version2('fine'),
    },
    'v3ok.toml': {
      Managed: old ? /version 3 is too new/ : /not taken over: .*pinned_images\.sandbox/,
      Merge: old ? /version 3 is too new/ : 'fine',
      settings: version3,
    },
    'v4.toml': { ...IGNORED(/version 4 is too new/), settings: version3 },
    'wrongtype.toml': {
      ...IGNORED(/SystemdCgroup of the runtime runc was not true or false/),
      settings: version2('ContainerdConfigWrongType'),
    },
    'wrongtype2.toml': {
      Managed: /not taken over: .*max_concurrent_downloads/,
      Merge: 'ContainerdConfigSyntax',
      settings: version2('ContainerdConfigSyntax'),
    },
  };
}

const available = SUITES.map((suite) => ({ suite, found: debianContainerd(suite) }));
for (const { suite, found } of available) {
  if ('unavailable' in found) test(`configurations found by ${suite}`, { skip: needs(found) }, () => {});
}

inThrowAwayMachine(import.meta.filename, () => {
  for (const { suite, found } of available) {
    if ('unavailable' in found) continue;
    const daemon = new ContainerdDaemon();
    const host = daemon.on(openHost({ runId: 'test' }));
    const table = expectations(suite === 'sid' ? 2 : 1);
    let facts: Facts;

    const model = (containerd: Partial<ContainerdModel>) => ({
      ...hostModel(),
      containerd: containerdModel({ root: `/run/containerd-${suite}`, ...containerd }),
    });
    const apply = (containerd: Partial<ContainerdModel>) => runStep(step, host, model(containerd), { facts });

    const install = async () => {
      daemon.install(found.root);
      // The file layer keeps directories open until the turn ends, and this has replaced one.
      await nextTurn();
    };

    const meets = async (fate: Fate, run: () => ReturnType<typeof apply>) => {
      const before = readIfThere();
      if (typeof fate === 'string' && fate !== 'fine') {
        await assert.rejects(run, (error: unknown) => {
          assert.ok(error instanceof MachineadmError, String(error));
          assert.equal(error.reason, fate, error.message);
          return true;
        });
        assert.equal(readIfThere(), before, 'nothing was written');
        return;
      }
      const { left, warnings } = await run();
      assert.deepEqual(left, []);
      if (fate === 'fine') assert.deepEqual(warnings, []);
      else assert.match(warnings.join('\n'), fate);
      const again = await run();
      assert.deepEqual([...again.changes, ...again.left], []);
    };

    describe(`configurations found by ${suite}`, () => {
      before(async () => {
        await install();
        facts = await gatherFacts(host);
      });
      after(() => daemon.stop());

      test('every wrong configuration has its expectation', () => {
        assert.deepEqual(readdirSync(BAD).sort(), Object.keys(table).sort());
      });

      for (const [name, expected] of Object.entries(table)) {
        const text = readFileSync(join(BAD, name), 'utf8');
        for (const mode of ['Managed', 'Merge'] as const) {
          test(`${name}, ${mode}: ${String(expected[mode])}`, async () => {
            await install();
            writeFileSync(PATH, text);
            await meets(expected[mode], () => apply({ mode }));
            if (typeof expected[mode] === 'string' && expected[mode] !== 'fine') return;
            if (readFileSync(PATH, 'utf8') !== text) {
              assert.equal(readFileSync(`${PATH}.machineadm-orig`, 'utf8'), text);
            }
          });
        }
        const { settings: fate } = expected;
        if (fate === undefined) continue;
        test(`${name}, as settings: ${String(fate)}`, async () => {
          await install();
          const settings = without(toTable(parse(text)), ['version']);
          if (fate === 'DocumentInvalid') assert.match(await problemsOf(settings), /containerd\.settings\./);
          else {
            assert.equal(await problemsOf(settings), '');
            await meets(fate, () => apply({ settings }));
          }
        });
      }

      for (const name of readdirSync(GOOD)) {
        test(`${name}, merged into: nothing is said against it, and what it says holds`, async () => {
          await install();
          writeFileSync(PATH, readFileSync(join(GOOD, name), 'utf8'));
          const { left, warnings } = await apply({ mode: 'Merge' });
          assert.deepEqual(left, []);
          // Of version 3 on 1.x it is told that containerd could not read it; of nothing else.
          assert.equal(warnings.length, suite !== 'sid' && name !== 'final-v2.toml' ? 1 : 0, warnings.join('\n'));
          const tree = toTable(parse(readFileSync(PATH, 'utf8')));
          const [images, runtime] =
            suite === 'sid'
              ? ['io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime']
              : ['io.containerd.grpc.v1.cri', 'io.containerd.grpc.v1.cri'];
          const at = (...path: string[]) => valueAt(tree, ['plugins', ...path]);
          assert.deepEqual(at(images, 'registry', 'headers'), { 'X-Meta-Source-Client': ['machineadm'] });
          assert.equal(
            at(...(suite === 'sid' ? [images, 'pinned_images', 'sandbox'] : [images, 'sandbox_image'])),
            'registry.internal:5000/pause:3.10',
          );
          assert.equal(at('io.containerd.grpc.v1.cri', 'stream_server_address'), '127.0.0.1');
          assert.deepEqual(
            at(runtime, 'cni'),
            suite === 'sid'
              ? { bin_dirs: ['/opt/cni/bin'], conf_dir: '/etc/cni/net.d' }
              : { bin_dir: '/opt/cni/bin', conf_dir: '/etc/cni/net.d' },
          );
          assert.deepEqual(Object.keys(tableAt(tree, ['plugins', runtime, 'containerd', 'runtimes'])).sort(), [
            'gvisor',
            'nvidia',
            'runc',
          ]);
        });
      }

      test('merged: what the document says, among what was there, in the words of this containerd', async () => {
        await install();
        writeFileSync(PATH, inOtherWords(suite));
        const run = await apply(MERGED);
        assert.deepEqual(run.left, []);
        const tree = toTable(parse(readFileSync(PATH, 'utf8')));
        const cri = (half: 'images' | 'runtime') =>
          suite === 'sid' ? ['plugins', `io.containerd.cri.v1.${half}`] : ['plugins', 'io.containerd.grpc.v1.cri'];
        const at = (half: 'images' | 'runtime', ...path: string[]) => valueAt(tree, [...cri(half), ...path]);
        assert.equal(tree.version, suite === 'sid' ? 3 : 2);
        assert.equal(tree.root, `/run/containerd-${suite}`);
        assert.equal(tree.oom_score, -500);
        assert.equal(at('images', 'max_concurrent_downloads'), 5);
        assert.equal(at('runtime', 'max_container_log_line_size'), 32_768);
        assert.equal(at('runtime', 'enable_selinux'), false);
        assert.deepEqual(at('runtime', 'containerd', 'runtimes', 'mine'), {
          runtime_type: 'io.containerd.runc.v2',
          options: { BinaryName: '/usr/local/bin/mine', SystemdCgroup: true },
        });
        assert.equal(at('runtime', 'containerd', 'default_runtime_name'), 'mine');
        assert.equal(
          suite === 'sid' ? at('images', 'pinned_images', 'sandbox') : at('images', 'sandbox_image'),
          'r.example/pause:3.10',
        );
      });

      test('merged again after a user changed the file: their change stays, ours is put back', async () => {
        const text = readFileSync(PATH, 'utf8');
        writeFileSync(PATH, text.replace('oom_score = -500', 'oom_score = -400').replaceAll('32768', '16384'));
        const run = await apply(MERGED);
        assert.deepEqual(run.left, []);
        assert.equal(readFileSync(PATH, 'utf8'), text.replace('oom_score = -500', 'oom_score = -400'));
        assert.equal(readFileSync(`${PATH}.machineadm-orig`, 'utf8'), inOtherWords(suite));
      });
    });
  }
});

/** A configuration in the words that this containerd does not use itself. */
function inOtherWords(suite: Suite): string {
  const common = `root = "/run/containerd-${suite}"\noom_score = -500\n`;
  if (suite === 'sid') {
    return `version = 2
${common}
[plugins."io.containerd.grpc.v1.cri"]
max_concurrent_downloads = 5
enable_selinux = false
[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "mine"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.mine]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.mine.options]
BinaryName = "/usr/local/bin/mine"
`;
  }
  return `version = 3
${common}
[plugins."io.containerd.cri.v1.images"]
max_concurrent_downloads = 5
[plugins."io.containerd.cri.v1.runtime"]
enable_selinux = false
[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "mine"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.mine]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.mine.options]
BinaryName = "/usr/local/bin/mine"
`;
}

async function problemsOf(settings: TomlTable): Promise<string> {
  const document = {
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name: 'n1' },
    containerRuntime: { containerd: { settings } },
  };
  const result = await load(JSON.stringify(document));
  return result.ok ? '' : result.problems.map(({ path }) => path).join('\n');
}

function readIfThere(): string | undefined {
  try {
    return readFileSync(PATH, 'utf8');
  } catch {
    return undefined;
  }
}
