import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ContainerdModel, TomlTable } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { parse, stringify } from 'smol-toml';
import { valueAt } from '../../../../src/container-runtime/toml-tree.ts';
import { changedValues } from '../../../../src/features/containerd/changed-values.ts';
import { configurationTree } from '../../../../src/features/containerd/configuration.ts';
import { withDropIns } from '../../../../src/features/containerd/found.ts';
import { containerdStep } from '../../../../src/features/containerd/index.ts';
import { parseTable, placesOf, tableText, toTable } from '../../../../src/features/containerd/toml-text.ts';
import { containerdModel } from '../../../support/containerd-model.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import fc from '../../../support/property.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const PATH = '/etc/containerd/config.toml';
const CRI = 'io.containerd.grpc.v1.cri';
const step = containerdStep({ healthyWithin: 300, healthyAgainWithin: 300 });

const machine = (files: Record<string, string>) =>
  memoryHost({
    files,
    services: { containerd: { active: true, enabled: true } },
    cri: { cgroupDriver: async () => undefined },
    programs: { containerd: ({ input }) => ({ stdout: typeof input === 'string' ? stringify(parse(input)) : '' }) },
  });
const model = (containerd: Partial<ContainerdModel> = {}) => ({
  ...hostModel(),
  containerd: containerdModel({ mode: 'Merge', ...containerd }),
});
const on = (version: string) => ({ facts: facts({ containerd: parseVersion(version) }) });

describe('merging into a configuration', () => {
  test('what was there stays, what the document says is put in, and the file of before is kept', async () => {
    const theirs = `version = 2\noom_score = -5\n[plugins."${CRI}"]\nenable_selinux = true\n`;
    const host = machine({ [PATH]: theirs });
    const run = await runStep(step, host, model({ sandboxImage: 'p' }), on('1.7.24'));
    assert.match(run.changes[0]?.summary ?? '', /^merge into/);
    const tree = toTable(parse(host.text(PATH) ?? ''));
    assert.equal(tree.oom_score, -5);
    assert.deepEqual(
      [valueAt(tree, ['plugins', CRI, 'enable_selinux']), valueAt(tree, ['plugins', CRI, 'sandbox_image'])],
      [true, 'p'],
    );
    assert.equal(host.text(`${PATH}.machineadm-orig`), theirs);
    assert.deepEqual(
      [...run.left, ...(await runStep(step, host, model({ sandboxImage: 'p' }), on('1.7.24'))).changes],
      [],
    );
  });

  test('a file that says all of it already is left as it is, comments and all', async () => {
    const host = machine({});
    await runStep(step, host, model(), on('1.7.24'));
    const commented = `# mine\n${host.text(PATH)}`;
    host.put(PATH, commented);
    assert.deepEqual((await runStep(step, host, model(), on('1.7.24'))).changes, []);
    assert.equal(host.text(PATH), commented);
  });

  test('what others change later stays; a key that leaves the document stays, too', async () => {
    const host = machine({ [PATH]: 'version = 2\n' });
    await runStep(step, host, model({ sandboxImage: 'p' }), on('1.7.24'));
    host.put(PATH, (host.text(PATH) ?? '').replace('version = 2', 'version = 2\noom_score = 7'));
    await runStep(step, host, model({ maxContainerLogLineSize: 1 }), on('1.7.24'));
    const tree = toTable(parse(host.text(PATH) ?? ''));
    assert.equal(tree.oom_score, 7);
    assert.equal(valueAt(tree, ['plugins', CRI, 'sandbox_image']), 'p');
    assert.equal(host.text(`${PATH}.machineadm-orig`), 'version = 2\n');
  });

  test('from Managed to Merge it is the file of before that is merged into', async () => {
    const host = machine({ [PATH]: 'version = 2\noom_score = -5\n' });
    await runStep(step, host, model({ mode: 'Managed' }), on('1.7.24'));
    assert.equal(toTable(parse(host.text(PATH) ?? '')).oom_score, undefined);
    await runStep(step, host, model(), on('1.7.24'));
    assert.equal(toTable(parse(host.text(PATH) ?? '')).oom_score, -5);
    await runStep(step, host, model({ mode: 'Managed' }), on('1.7.24'));
    assert.equal(toTable(parse(host.text(PATH) ?? '')).oom_score, undefined);
    assert.equal(host.text(`${PATH}.machineadm-orig`), 'version = 2\noom_score = -5\n');
  });

  test('a file that is no TOML is refused with its place, and not touched', async () => {
    const host = machine({ [PATH]: 'version = 2\n[broken\n' });
    await assert.rejects(planned(step, host, model(), on('1.7.24')), (error: unknown) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'ContainerdConfigSyntax');
      assert.match(error.message, /row 2/);
      return true;
    });
  });

  test('on 1.x drop-ins are folded in and told; on 2.x they stay', async () => {
    const files = {
      [PATH]: `version = 2\nimports = ["conf.d/*.toml"]\n[plugins."${CRI}"]\nenable_selinux = true\n`,
      '/etc/containerd/conf.d/99-nvidia.toml': `[plugins."${CRI}".containerd]\ndefault_runtime_name = "nvidia"\n[plugins."${CRI}".containerd.runtimes.nvidia]\nruntime_type = "io.containerd.runc.v2"\n`,
    };
    const host = machine(files);
    const run = await runStep(step, host, model(), on('1.7.24'));
    assert.match(run.warnings.join('\n'), /99-nvidia\.toml is now part of/);
    const tree = toTable(parse(host.text(PATH) ?? ''));
    assert.equal(tree.imports, undefined);
    assert.equal(valueAt(tree, ['plugins', CRI, 'containerd', 'default_runtime_name']), 'nvidia');
    // As 1.x itself does it: the section of the drop-in takes the place of the whole one.
    assert.equal(valueAt(tree, ['plugins', CRI, 'enable_selinux']), undefined);

    const newer = machine(files);
    await runStep(step, newer, model(), on('2.1.9'));
    // Not said by the document, and so not against what the drop-in says.
    const newTree = toTable(parse(newer.text(PATH) ?? ''));
    const runtime = valueAt(newTree, ['plugins', 'io.containerd.cri.v1.runtime', 'containerd']);
    assert.deepEqual(Object.keys(Object(runtime)), ['runtimes']);
    assert.deepEqual(newTree.imports, ['/etc/containerd/conf.d/*.toml']);
  });

  test('old mirrors stay where the document has no registries, and are refused where it has', async () => {
    const mirrors = `version = 2\n[plugins."${CRI}".registry.mirrors."docker.io"]\nendpoint = ["https://m.example"]\n`;
    const host = machine({ [PATH]: mirrors });
    const run = await runStep(step, host, model(), on('1.7.24'));
    assert.deepEqual(run.left, []);
    assert.deepEqual(valueAt(toTable(parse(host.text(PATH) ?? '')), ['plugins', CRI, 'registry']), {
      mirrors: { 'docker.io': { endpoint: ['https://m.example'] } },
    });
  });

  test('a list of directories becomes one where containerd reads none of a list', async () => {
    const list = `version = 3\n[plugins."io.containerd.cri.v1.images".registry]\nconfig_path = "/a:/b"\n`;
    const directory = async (version: string) => {
      const host = machine({ [PATH]: list });
      const { warnings } = await runStep(step, host, model(), on(version));
      const id = 'io.containerd.cri.v1.images';
      return [
        valueAt(toTable(parse(host.text(PATH) ?? '')), ['plugins', id, 'registry', 'config_path']),
        warnings.length,
      ];
    };
    // The mistake, and the value that changes.
    assert.deepEqual(await directory('2.1.9'), ['/a', 2]);
    assert.deepEqual(await directory('2.0.11'), ['/a:/b', 0]);
  });
});

describe('drop-ins of 1.x', () => {
  const folded = async (tree: TomlTable, files: Record<string, string>) =>
    withDropIns(memoryHost({ files }), { tree, places: {} });

  test('patterns, lists that grow, sections that are replaced, drop-ins of drop-ins, and circles', async () => {
    const found = await folded(
      { imports: ['/d/[ab]?.toml', '/absent.toml'], required_plugins: ['x.y'], plugins: { p: { a: 1 }, q: { b: 2 } } },
      {
        '/d/a1.toml':
          'imports = ["../e/one.toml", "/d/a1.toml"]\nrequired_plugins = ["z.y"]\n[plugins.p]\nc = 3\n[grpc]\nuid = 1\n',
        '/d/c1.toml': 'oom_score = 1\n',
        '/d/a12.toml': 'oom_score = 2\n',
        '/d/../e/one.toml': 'oom_score = 3\n',
      },
    );
    assert.deepEqual(found.folded, ['/d/a1.toml', '/d/../e/one.toml']);
    assert.deepEqual(found.tree, {
      required_plugins: ['x.y', 'z.y'],
      plugins: { p: { c: 3 }, q: { b: 2 } },
      grpc: { uid: 1 },
      oom_score: 3,
    });
  });
});

const theirs = async (text: string) => {
  const places = await placesOf(PATH, text);
  return { files: [{ tree: await parseTable(text), places }], places };
};

describe('what changes of a configuration that is there', () => {
  const version = (text: string): Version => parseVersion(text) ?? assert.fail(text);

  test('replaced: values that hold no more, with their place; neither defaults nor what is said anyway', async () => {
    const text = `version = 2\nimports = ["/x"]\ndisabled_plugins = ["cri"]\noom_score = -1\n[plugins."${CRI}"]\nenable_selinux = false\nmax_concurrent_downloads = 3\nsandbox_image = "mine"\n`;
    const effective = { oom_score: 0, plugins: { [CRI]: { max_concurrent_downloads: 3, sandbox_image: 'ours' } } };
    assert.deepEqual(changedValues(await theirs(text), {}, version('1.7.24'), effective), [
      `oom_score (${PATH}:4)`,
      `plugins."${CRI}".sandbox_image (${PATH}:8)`,
    ]);
  });

  test('merged into: every value that the document replaces is a warning with its place', async () => {
    const text = `version = 2
oom_score = -5
disabled_plugins = ["cri", "io.containerd.snapshotter.v1.zfs"]
[plugins."${CRI}"]
sandbox_image = "mine"
systemd_cgroup = true
[plugins."${CRI}".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
options = {SystemdCgroup = false, BinaryName = "runc"}
`;
    const { warnings } = await runStep(step, machine({ [PATH]: text }), model({ sandboxImage: 'p' }), on('2.1.9'));
    assert.deepEqual(
      warnings.filter((warning) => warning.includes('these change')),
      [
        `of the configuration of containerd that was found, these change: disabled_plugins (${PATH}:3), plugins."${CRI}".sandbox_image (${PATH}:5), plugins."${CRI}".systemd_cgroup (${PATH}:6), plugins."${CRI}".containerd.runtimes.runc.options.SystemdCgroup (${PATH}:9)`,
      ],
    );
  });

  test('drop-ins of 1.x that are folded in: what they replace has its place in the other file', async () => {
    const main = `version = 2\nimports = ["/d/*.toml"]\n[plugins."${CRI}"]\nenable_selinux = true\n`;
    const dropIn = `[plugins."${CRI}"]\nsandbox_image = "theirs"\n`;
    const host = machine({ [PATH]: main, '/d/a.toml': dropIn });
    const { warnings } = await runStep(step, host, model({ sandboxImage: 'p' }), on('1.7.24'));
    assert.ok(
      warnings.some((warning) =>
        warning.endsWith(
          `these change: plugins."${CRI}".enable_selinux (${PATH}:4), plugins."${CRI}".sandbox_image (/d/a.toml:2)`,
        ),
      ),
      warnings.join('\n'),
    );
  });

  test('conservation: each scalar of any configuration is in what comes out, or named with its place', async () => {
    const IMAGES = 'io.containerd.cri.v1.images';
    const RUNTIME = 'io.containerd.cri.v1.runtime';
    const key = fc.constantFrom('a', 'b c', 'bin_dir', 'snapshotter', 'sandbox_mode', 'config_path', 'SystemdCgroup');
    const scalar = fc.constantFrom('text', 'number');
    const { part } = fc.letrec<{ part: unknown }>((tie) => ({
      part: fc.oneof(
        { maxDepth: 3, withCrossShrink: true },
        scalar,
        fc.array(scalar, { maxLength: 3 }),
        fc.dictionary(key, tie('part'), { maxKeys: 3 }),
        fc.array(fc.dictionary(key, tie('part'), { maxKeys: 2 }), { maxLength: 2 }),
      ),
    }));
    const table = fc.dictionary(key, part, { maxKeys: 3 });
    const runtimes = fc.dictionary(
      fc.constantFrom('runc', 'kata'),
      fc.record({ runtime_type: scalar, options: table }, { requiredKeys: [] }),
    );
    const cri = fc.record(
      {
        sandbox_image: scalar,
        systemd_cgroup: scalar,
        stream_server_port: scalar,
        max_concurrent_downloads: scalar,
        cni: fc.record({ bin_dir: scalar, bin_dirs: fc.array(scalar), conf_dir: scalar }, { requiredKeys: [] }),
        registry: fc.record({ config_path: scalar, mirrors: table, own: part }, { requiredKeys: [] }),
        containerd: fc.record({ runtimes, snapshotter: scalar, own: part }, { requiredKeys: [] }),
        own: part,
      },
      { requiredKeys: [] },
    );
    const found = fc.record(
      {
        root: scalar,
        oom_score: scalar,
        disabled_plugins: fc.array(scalar),
        required_plugins: fc.array(scalar),
        grpc: table,
        own: part,
        plugins: fc.record(
          { [CRI]: cri, cri, [IMAGES]: cri, [RUNTIME]: cri, 'io.containerd.server.v1.grpc': table, other: table },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(found, fc.constantFrom('1.7.24', '2.0.11', '2.1.9'), async (configuration, containerd) => {
        let count = 0;
        const unique = JSON.parse(JSON.stringify(configuration), (_key, value) =>
          value === 'text' ? `scalar.${count++}.` : value === 'number' ? 1000 + count++ : value,
        );
        const text = stringify(unique);
        const others = await theirs(text);
        const [tree] = others.files.map((file) => file.tree);
        const wanted = configurationTree({
          model: containerdModel({ mode: 'Merge', snapshotter: 'native', root: '/r', settings: { grpc: { a: 'x' } } }),
          version: version(containerd),
          architecture: 'amd64',
          sandboxImage: 'pause',
          original: tree,
        });
        const written = await tableText(wanted);
        const changed = changedValues(others, wanted, version(containerd));
        const lines = text.split('\n');
        const lost = Array.from(
          text.matchAll(/scalar\.\d+\.|(?<= |\[)1\d\d\d\b/g),
          ([scalarText]) => scalarText,
        ).filter((one) => {
          const line = lines.findIndex((candidate) => candidate.includes(one)) + 1;
          return !written.includes(one) && !changed.some((name) => new RegExp(`[( ]${PATH}:${line}[,)]`).test(name));
        });
        assert.deepEqual(lost, [], `${text}\n---\n${changed.join('\n')}`);
      }),
      { numRuns: 100 },
    );
  });
});
