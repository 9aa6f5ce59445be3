import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { build } from 'esbuild';
import { createProgram } from '../../src/commands/index.ts';
import {
  circles,
  folderGraph,
  type Import,
  type ImportGraph,
  importsOf,
  ownPackageOf,
  packageOf,
  readImportGraph,
  resolveImport,
  startupClosure,
} from '../support/import-graph.ts';

const root = resolve(import.meta.dirname, '../..');
const graph = readImportGraph(root);

/**
 * Who may import whom: the rooms of src/, from the top floor down. Everyone may import its own room. Type imports count
 * like any other: a room that knows another's shape depends on it.
 */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  main: ['commands', 'document', 'seal'],
  seal: [],
  // `kubeadm` for its pure rendering.
  commands: [
    'cli',
    'pipeline',
    'undo',
    'features',
    'prior-state',
    'step',
    'kubernetes',
    'diagnosis',
    'failures',
    'reporting',
    'status',
    'user-data',
    'convert',
    'trust',
    'kubeadm',
    'host',
    'document',
  ],
  cli: ['diagnosis', 'status', 'document'],
  pipeline: [
    'undo',
    'features',
    'prior-state',
    'shell',
    'owned-files',
    'step',
    'kubeadm',
    'hardening',
    'diagnosis',
    'failures',
    'reporting',
    'status',
    'host',
    'document',
  ],
  undo: [
    'features',
    'prior-state',
    'owned-files',
    'accounts',
    'block-devices',
    'step',
    'kubernetes',
    'host',
    'document',
  ],
  features: [
    'prior-state',
    'shell',
    'content-checks',
    'owned-files',
    'accounts',
    'block-devices',
    'container-runtime',
    'kernel',
    'step',
    'kubernetes',
    'kubeadm',
    'hardening',
    'archives',
    'host',
    'document',
  ],
  'prior-state': ['accounts', 'block-devices', 'step', 'host', 'document'],
  shell: ['accounts', 'step', 'kubernetes', 'host', 'document'],
  'content-checks': ['owned-files', 'step', 'host', 'document'],
  'owned-files': ['step', 'host', 'document'],
  'container-runtime': ['step', 'archives', 'host', 'document'],
  accounts: ['step', 'host', 'document'],
  'block-devices': ['host', 'document'],
  kernel: ['host'],
  step: ['kubernetes', 'host', 'document'],
  kubernetes: ['host', 'kubeadm', 'hardening', 'document'],
  diagnosis: ['failures', 'archives', 'host', 'document'],
  reporting: ['status', 'host', 'document'],
  trust: ['host', 'document'],
  // A program of its own, for the management cluster; no room of the agent may import it.
  translator: ['convert', 'user-data', 'document'],
  'user-data': ['document'],
  kubeadm: ['document'],
  failures: ['document'],
  status: ['document'],
  convert: ['document'],
  hardening: ['kubeadm', 'document'],
  host: ['document'],
  archives: ['document'],
  document: [],
};

/** Files of a room that another room may import, although it may not import the room. */
const SINGLE_FILES: Readonly<Record<string, readonly string[]>> = {
  // The option that accepts insecure sources sets it there.
  cli: ['src/host/local-files/provenance.ts'],
};

/** Files that any command may have of the host: those that options name, and where its output goes. */
const HOST_OF_EVERY_COMMAND: readonly string[] = [
  'src/host/local-files/input-file.ts',
  'src/host/local-files/output-file.ts',
  'src/host/processes/standard-streams.ts',
];

/** The files of commands that look at the machine or change it themselves. All others leave it to the pipeline, trust and reporting. */
const ON_THE_MACHINE: readonly string[] = [
  'src/commands/audit/hardening.ts',
  'src/commands/audit/residue.ts',
  'src/commands/bundle/run.ts',
  'src/commands/conformance/run.ts',
  'src/commands/convert/node-files.ts',
  'src/commands/diagnose/machine.ts',
  'src/commands/doctor/machine-checks.ts',
  'src/commands/doctor/run.ts',
  'src/commands/facts/run.ts',
  'src/commands/hooks/run.ts',
  'src/commands/prepare/verify-image.ts',
  'src/commands/report/flush.ts',
  'src/commands/report/test.ts',
  'src/commands/report/watch.ts',
  'src/commands/reset/journal.ts',
  'src/commands/reset/run.ts',
  'src/commands/sentinel/restore.ts',
  'src/commands/status/page.ts',
];

/** Files of features that rooms other than the pipeline's list of steps use, and for what. */
const USED_OF_FEATURES: Readonly<Record<string, string>> = {
  'src/features/active-directory/leave.ts': 'a reset leaves the domain',
  'src/features/certificate-authorities/stores.ts': 'a removed certificate renews the store of the system',
  'src/features/exec-bootstrapper/reset-command.ts': 'a reset runs it',
  'src/features/hardening/audit.ts': 'the command audit',
  'src/features/hooks/group.ts': 'the command that runs hooks at every boot',
  'src/features/hooks/kept.ts': 'the same, and a reset, which removes their file',
  'src/features/kubeadm/wipe.ts': 'the end of a run, and a reset',
  'src/features/sentinel/file.ts': 'the command that writes the sentinel again after a reboot, and a reset',
  'src/features/upgrade/back.ts': 'an upgrade that failed is reverted',
  'src/features/upgrade/containerd-asked.ts': 'the command decides what an upgrade changes',
  'src/features/upgrade/renewal.ts': 'the command decides what an upgrade changes',
  'src/features/upgrade/versions.ts': 'the command refuses an upgrade between other versions',
};

/** Rooms whose folders still import each other, by values or by types. */
const FOLDERS_IN_CIRCLES: Readonly<Record<string, string>> = {
  'packages/translator': 'the pool of threads takes the types of its answers from the tasks',
};

/** What takes a descriptor, or says something about one: no name of a file is resolved by it. */
const OF_DESCRIPTORS = new Set(
  'closeSync constants fchmodSync fchownSync fdatasyncSync fstatSync fsyncSync ftruncateSync readSync writeSync FileHandle Stats'.split(
    ' ',
  ),
);

/** The file layer: on Linux by descriptors of directories, on Windows in directories that only administrators enter. */
const FILE_LAYER = [
  /^src\/host\/linux\/(anonymous-file|directories|entry|overwrite|read|walk|write)\.ts$/,
  /^src\/host\/windows\/(orphans|read|write)\.ts$/,
  // What they open or rename by is the path of a place (`Place.at`).
  /^src\/host\/local-files\/(append-log|console-device|input-file|output-file|place|provenance|release-files)\.ts$/,
  /^src\/host\/processes\/(lock|windows-lock)\.ts$/,
];

/** Who else names files to node:fs, and why it cannot be led elsewhere. */
const OUTSIDE_OF_THE_FILE_LAYER: Readonly<Record<string, string>> = {
  'src/host/local-files/root-tree.ts':
    'reads an image at rest and follows its links inside of it; a path is never one that a user of this machine could turn',
  'src/host/local-files/watch.ts': 'watches a directory and compares times; what is in it is read by the file layer',
  'src/host/http/trusted-roots.ts': "reads the system's public certificates",
  'src/host/machine/identity.ts': 'reads the ids of the machine from /proc and directories of root',
  'src/host/processes/identity.ts': 'reads /proc',
  'src/host/processes/leave-root.ts': 'reads /proc',
  'src/host/processes/read-right.ts': 'reads /proc',
  'src/host/linux/sudo-caller.ts': 'reads /proc',
  'src/host/linux/openrc.ts': 'asks whether OpenRC has booted the machine',
  'src/host/linux/orphans.ts': 'reads /proc',
  'src/host/linux/out-of-memory.ts': 'reads /proc and /sys',
  'src/host/linux/private-files.ts': 'writes in a new directory that only root enters, and removes it',
  'src/host/linux/processes.ts': 'reads /proc',
  'src/host/linux/systemd.ts': 'asks whether /run/systemd/system is there',
  'src/host/files/paths.ts': 'asks where links of directories lead, to compare paths; nothing is opened by the answer',
  'src/host/windows/program-directories.ts': 'asks which directories of programs are there',
  'src/seal.ts': 'writes /proc/self',
};

/** Modules of Node and packages that reach files, other processes or the network. */
const TOUCHES_THE_MACHINE =
  /^(node:)?(fs|net|dns|http|http2|https|tls|dgram|child_process|cluster|worker_threads)(\/|$)|^(execa|undici|systeminformation|@nats-io)(\/|$)/;

/** Who reaches them without `src/host/`, and why. */
const OUTSIDE_OF_THE_HOST: Readonly<Record<string, string>> = {
  'src/reporting/remote/nats.ts':
    'the client of NATS opens its own connection, with certificates that the host gives it',
  'src/seal.ts': 'closes the process before any other module is loaded',
};

/** `src/host/linux/files.ts` is of the room `host`, `src/main.ts` of `main`; a package is a room. */
function roomOf(file: string): string {
  return file.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}

/** The translator is no part of the agent: it has its own servers, and its client is that of Kubernetes. */
const isOfTheAgent = (file: string) => roomOf(file) !== 'translator';

const isOurs = (file: string) => /^(?:src|packages)\//.test(file);

/** The type of a module reaches nothing. */
function isOfTheMachine({ specifier, kind }: Import): boolean {
  return kind !== 'type' && TOUCHES_THE_MACHINE.test(specifier);
}

/** For each step of a circle of folders, a file that imports the next folder. */
function importsAlong(circle: readonly string[], seen: ImportGraph): readonly string[] {
  const isIn = (file: string | undefined, folder = '') => file === folder || file?.startsWith(`${folder}/`) === true;
  return circle.slice(1).map((next, index) => {
    const ofFolder = [...seen].filter(([file]) => isIn(file, circle[index]));
    const found = ofFolder.flatMap(([file, imports]) =>
      imports
        .map(({ specifier }) => resolveImport(file, specifier))
        .filter((target) => isIn(target, next))
        .map((target) => `${file} -> ${target}`),
    );
    return found[0] ?? `${circle[index]} -> ${next}`;
  });
}

/** A source without its comments and string literals. */
function withoutTexts(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|`(?:[^`\\]|\\.)*`|'(?:[^'\\\n]|\\.)*'/gm, '');
}

/** Whether a file imports functions of node:fs that take a path. */
function namesFiles(text: string): boolean {
  if (/import\(\s*'node:fs|require\(\s*'(node:)?fs|from '(fs|fs\/promises)'/.test(text)) return true;
  return [...text.matchAll(/^import (type )?([^;]*?) from 'node:fs(?:\/promises)?';/gms)].some(
    ([, type, what = '']) => {
      if (type !== undefined) return false;
      const names = /^\{(.*)\}$/s.exec(what)?.[1]?.split(',');
      return names === undefined || names.some((name) => isOfPaths(name.trim()));
    },
  );
}

function isOfPaths(name: string): boolean {
  return name !== '' && !name.startsWith('type ') && !OF_DESCRIPTORS.has(name.split(' as ')[0] ?? '');
}

/** Steps are in these rooms; the pipeline imports others for the types of its list. */
function isOfAStep(file: string | undefined): boolean {
  return /^src\/(?:features|undo)\//.test(file ?? '');
}

describe('the imports of src/', () => {
  test('are all seen by this test', async () => {
    const { metafile } = await build({
      absWorkingDir: root,
      entryPoints: [...graph.keys()],
      bundle: true,
      write: false,
      outdir: 'build/unused',
      metafile: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    });
    const unseen: string[] = [];
    for (const [file, input] of Object.entries(metafile.inputs)) {
      const seen = graph.get(file) ?? [];
      for (const { original, path } of input.imports) {
        const specifier = original ?? path;
        if (isOurs(file) && !seen.some((one) => one.specifier === specifier)) {
          unseen.push(`${file} imports ${specifier}`);
        }
      }
    }
    assert.deepEqual(unseen, []);
  });

  test('are acyclic between the directories', () => {
    const wrong: string[] = [];
    for (const [file, imports] of graph) {
      for (const { specifier } of imports) {
        const target = resolveImport(file, specifier);
        if (target === undefined || !isOurs(target)) continue;
        const [from, to] = [roomOf(file), roomOf(target)];
        const isAllowed = from === to || ARROWS[from]?.includes(to) || SINGLE_FILES[from]?.includes(target);
        if (isAllowed !== true) wrong.push(`${file} -> ${target}`);
      }
    }
    assert.deepEqual(wrong, []);
  });

  test('are not evaded: no file exports a value of another room as its own', () => {
    const wrong = [...graph.keys()].flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/^export (?!type )[^;'"`(=]*?\sfrom '([^']+)'/gm)]
        .map(([, specifier = '']) => resolveImport(file, specifier) ?? specifier)
        .filter((target) => roomOf(target) !== roomOf(file))
        .map((target) => `${file} exports from ${target}`),
    );
    const renamed = [...graph.keys()].filter((file) =>
      /^export \{[^}]*\};$/m.test(readFileSync(join(root, file), 'utf8')),
    );
    assert.deepEqual([...wrong, ...renamed], ['packages/document/src/schema/zod.ts']);
  });

  test('of a step are in the order of the pipeline only: deleting its file and its line leaves a project that compiles', () => {
    const order = 'src/pipeline/pipeline.ts';
    const stepFiles = new Set((graph.get(order) ?? []).map(({ specifier }) => resolveImport(order, specifier)));
    const wrong = [...graph].flatMap(([file, imports]) =>
      imports
        .map(({ specifier }) => resolveImport(file, specifier))
        .filter((target) => file !== order && isOfAStep(target) && stepFiles.has(target))
        .map((target) => `${file} -> ${target}`),
    );
    assert.ok(stepFiles.size > 50);
    assert.deepEqual(wrong, []);
  });

  test('lead from no feature to another, and from other rooms to few files of features', () => {
    const featureOf = (file: string) => /^src\/features\/([^/]+)\//.exec(file)?.[1];
    const wrong: string[] = [];
    const used = new Set<string>();
    for (const [file, imports] of graph) {
      for (const { specifier } of imports) {
        const target = resolveImport(file, specifier) ?? '';
        const feature = featureOf(target);
        if (feature === undefined || feature === featureOf(file) || file === 'src/pipeline/pipeline.ts') continue;
        if (featureOf(file) === undefined) used.add(target);
        else wrong.push(`${file} -> ${target}`);
      }
    }
    assert.deepEqual(wrong, []);
    assert.deepEqual([...used].sort(), Object.keys(USED_OF_FEATURES));
    assert.deepEqual(globSync('src/features/*.ts', { cwd: root }), []);
  });

  test('of a command lead to the machine only where the command looks at it or changes it', () => {
    const rooms = ['host', 'undo', 'features', 'prior-state', 'step', 'kubernetes'];
    const reaching = [...graph]
      .filter(([file, imports]) =>
        imports
          .map(({ specifier }) => resolveImport(file, specifier) ?? '')
          .some(
            (target) =>
              roomOf(file) === 'commands' && rooms.includes(roomOf(target)) && !HOST_OF_EVERY_COMMAND.includes(target),
          ),
      )
      .map(([file]) => file);
    assert.deepEqual(reaching, ON_THE_MACHINE);
  });

  test('reach files, processes and the network in host/ only', () => {
    const touching = [...graph]
      .filter(([file, imports]) => roomOf(file) !== 'host' && isOfTheAgent(file) && imports.some(isOfTheMachine))
      .map(([file]) => file);
    assert.deepEqual(touching, Object.keys(OUTSIDE_OF_THE_HOST).sort());
  });

  test('of host/ are in the folders that docs/architecture.md names, and lead down its table', () => {
    const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
    const named = [...page.matchAll(/^\| `([\w-]+)\/` \|/gm)].map(([, folder]) => `src/host/${folder}`);
    const folders = new Set([...graph.keys()].filter((file) => roomOf(file) === 'host').map((file) => dirname(file)));
    assert.deepEqual([...folders].sort(), ['src/host', ...named].sort());
    assert.deepEqual(globSync('src/host/*.ts', { cwd: root }), ['src/host/index.ts']);
    const imports = folderGraph(graph);
    const upward = named.flatMap((folder, index) =>
      (imports.get(folder) ?? [])
        .map(({ specifier }) => resolveImport(folder, specifier) ?? '')
        .filter((target) => named.indexOf(target) < index)
        .map((target) => `${folder} -> ${target}`),
    );
    assert.deepEqual(upward, []);
  });

  test('lead from the types of host/seam/ to no other folder of host/', () => {
    const wrong = [...graph]
      .filter(([file]) => file.startsWith('src/host/seam/'))
      .flatMap(([file, imports]) =>
        imports
          .filter(({ kind }) => kind !== 'type')
          .map(({ specifier }) => resolveImport(file, specifier) ?? specifier)
          .filter((target) => target.startsWith('src/') && !target.startsWith('src/host/seam/'))
          .map((target) => `${file} -> ${target}`),
      );
    assert.deepEqual(wrong, []);
  });

  test('use one HTTP client, in host/http/', () => {
    const users = [...graph]
      .filter(([, imports]) => imports.some(({ specifier }) => /^undici(\/|$)|^(node:)?https?$/.test(specifier)))
      .map(([file]) => file);
    assert.deepEqual(
      users.filter((file) => !file.startsWith('src/host/http/') && isOfTheAgent(file)),
      [],
    );
  });

  test('name files that exist', () => {
    const missing = [...graph].flatMap(([file, imports]) =>
      imports
        .map(({ specifier }) => resolveImport(file, specifier))
        .filter((target) => target !== undefined && !existsSync(join(root, target)))
        .map((target) => `${file} -> ${target}`),
    );
    assert.deepEqual(missing, []);
  });

  test('have no cycle', () => {
    assert.deepEqual(circles(graph), []);
  });

  test('have no cycle between the folders of a room, not even of types', () => {
    const found = circles(folderGraph(graph));
    const topOf = (circle: readonly string[]) => circle[0]?.split('/').slice(0, 2).join('/') ?? '';
    const wrong = found.filter((circle) => !(topOf(circle) in FOLDERS_IN_CIRCLES));
    assert.deepEqual(
      wrong.map((circle) => importsAlong(circle, graph)),
      [],
    );
    const rooms = [...new Set(found.map(topOf))].sort();
    assert.deepEqual(rooms, Object.keys(FOLDERS_IN_CIRCLES), 'an exception is obsolete');
  });

  test('of document/ reach nothing that only Node has', () => {
    const wrong = [...graph]
      .filter(([file]) => roomOf(file) === 'document')
      .flatMap(([file, imports]) =>
        imports
          .filter(({ specifier }) => specifier.startsWith('node:'))
          .map(({ specifier }) => `${file} -> ${specifier}`),
      );
    assert.deepEqual(wrong, []);
  });

  test('of document/ leave no use of a global that only Node has', () => {
    const wrong = [...graph.keys()]
      .filter((file) => roomOf(file) === 'document')
      .filter((file) => {
        const code = withoutTexts(readFileSync(join(root, file), 'utf8'));
        return /\b(Buffer|process|global)\.|\b(setImmediate|require)\(/.test(code);
      });
    assert.deepEqual(wrong, []);
  });

  for (const place of ['src', ...globSync('packages/*', { cwd: root })]) {
    test(`of ${place} are of every package that its package.json declares, and of no other`, () => {
      const declares = place === 'src' ? 'package.json' : `${place}/package.json`;
      const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(
        readFileSync(join(root, declares), 'utf8'),
      );
      const own = [...graph].filter(([file]) => file.startsWith(`${place}/`)).flatMap(([, imports]) => imports);
      const used = new Set(own.flatMap(({ specifier }) => ownPackageOf(specifier) ?? packageOf(specifier) ?? []));
      assert.deepEqual([...used].sort(), Object.keys(dependencies).sort());
    });
  }

  test('load no package at start but the one that reads the command line', () => {
    const { packages } = startupClosure(graph, 'src/main.ts');
    assert.deepEqual(
      [...packages].filter((name) => name !== 'commander'),
      [],
    );
  });

  test('load at start of each command only its definition, and of the rest of src/ only what commands share', () => {
    const { files } = startupClosure(graph, 'src/main.ts');
    const loaded = [...files].filter((file) => file.startsWith('src/'));
    assert.deepEqual(
      loaded.filter(
        (file) => !/^src\/(?:(?:main|seal)\.ts|cli\/|commands\/(?:\w+\/)?(?:index|example|version)\.ts)/.test(file),
      ),
      [],
    );
  });

  test('of status load neither the schema of documents nor a package', () => {
    // It reads no document; the schema library alone is a fifth of its start.
    const { packages } = startupClosure(graph, 'src/commands/status/run.ts');
    assert.deepEqual([...packages], []);
  });
});

describe('the modules', () => {
  test('do nothing when they are imported: in the program, they run when something of them is used', () => {
    const doing = [...graph.keys()].filter((file) =>
      /^[A-Za-z_$][\w.$]*\(.*\);$/m.test(readFileSync(join(root, file), 'utf8')),
    );
    // The first is for the tests, the program does it in main.ts; the second is a program, of a thread.
    assert.deepEqual(doing.sort(), [
      'packages/document/src/redaction/process-redactor.ts',
      'packages/translator/src/worker/main.ts',
    ]);
  });

  test('of the document have the schemas of schema/zod.ts: one of zod itself would be built for every document', () => {
    const direct = [...graph.keys()].filter(
      (file) =>
        file.startsWith('packages/document/') &&
        /^import (?!type ).*from 'zod'/m.test(readFileSync(join(root, file), 'utf8')),
    );
    assert.deepEqual(direct, ['packages/document/src/schema/zod.ts']);
  });
});

describe('the files of src/', () => {
  const texts = new Map([...graph.keys()].map((file) => [file, readFileSync(join(root, file), 'utf8')]));

  test('are in directories that the architecture names', () => {
    assert.deepEqual(
      [...new Set([...graph.keys()].map(roomOf))].filter((room) => !(room in ARROWS)),
      [],
    );
  });

  test('of a command are in the folder of its name, or are the one file of its name', () => {
    const program = createProgram(() => {});
    const names = program.commands.map((command) => command.name()).filter((name) => name !== '__complete');
    const entries = [...graph.keys()].flatMap(
      (file) => /^src\/commands\/([\w-]+)(?:\.ts|\/index\.ts)$/.exec(file)?.[1] ?? [],
    );
    const folders = [...graph.keys()].flatMap((file) => /^src\/commands\/([\w-]+)/.exec(file)?.[1] ?? []);
    assert.deepEqual(entries.sort(), [...names, 'index'].sort());
    assert.deepEqual([...new Set(folders)].sort(), entries);
  });

  test('are TypeScript only', () => {
    const other = globSync('{src,packages/*/src}/**/*.{js,mjs,cjs,mts,cts,jsx,tsx}', { cwd: root });
    assert.deepEqual(other, []);
  });

  test('are named after what they are about', () => {
    const vague = /(^|\/)(utils?|helpers?|common|misc|shared|lib)(\/|\.ts$)/;
    assert.deepEqual(
      [...graph.keys()].filter((file) => vague.test(file)),
      [],
    );
  });

  test('silence neither the compiler nor the linter, and leave nothing for later', () => {
    const silenced = /@ts-(ignore|expect-error|nocheck)|biome-ignore|\bas any\b|\bTODO\b|\bFIXME\b/;
    assert.deepEqual(
      [...texts].filter(([, text]) => silenced.test(text)).map(([file]) => file),
      [],
    );
  });

  test('name files to node:fs in the file layer only', () => {
    const naming = [...texts]
      .filter(([file, text]) => isOfTheAgent(file) && !FILE_LAYER.some((layer) => layer.test(file)) && namesFiles(text))
      .map(([file]) => file);
    assert.deepEqual(naming.sort(), Object.keys(OUTSIDE_OF_THE_FILE_LAYER).sort());
  });

  test('reach neither network nor modules of Node by a global', () => {
    const globals = /\bnew (WebSocket|EventSource)\b|(?<![\w.])fetch\(|\bgetBuiltinModule\(/;
    assert.deepEqual(
      [...texts].filter(([, text]) => globals.test(withoutTexts(text))).map(([file]) => file),
      ['src/seal.ts'],
    );
  });

  test('write the names of the own directories once', () => {
    const naming = [...texts]
      .filter(
        ([file, text]) => file.startsWith('src/') && /^[^*\n]*['`]\/(?:run|var\/lib)\/machineadm['`/]/m.test(text),
      )
      .map(([file]) => file);
    assert.deepEqual(naming, ['src/pipeline/run-journal.ts']);
  });

  test('never end the process by force', () => {
    // process.exit loses what is still on its way to a pipe: 65536 of 2000001 bytes arrive. `exitCode` does not. One file
    // waits until the pipes have taken everything.
    assert.deepEqual(
      [...texts].filter(([, text]) => /\bprocess\.exit\(/.test(text)).map(([file]) => file),
      ['src/cli/lingering.ts'],
    );
  });
});

describe('importsOf', () => {
  test('tells static, dynamic and type imports apart and ignores comments', () => {
    const text = [
      "import { a } from './a.ts';",
      'import {',
      '  b,',
      "} from './b.ts';",
      "import type { c } from './c.ts';",
      "export * from './d.ts';",
      "export type { e } from './e.ts';",
      "import './f.ts';",
      "// import { no } from './no.ts';",
      "/** await import('./no.ts') */",
      "const g = await import('./g.ts');",
      "type H = typeof import('./h.ts');",
    ].join('\n');
    assert.deepEqual(importsOf(text), [
      { specifier: './a.ts', kind: 'static' },
      { specifier: './b.ts', kind: 'static' },
      { specifier: './c.ts', kind: 'type' },
      { specifier: './d.ts', kind: 'static' },
      { specifier: './e.ts', kind: 'type' },
      { specifier: './f.ts', kind: 'static' },
      { specifier: './g.ts', kind: 'dynamic' },
      { specifier: './h.ts', kind: 'type' },
    ]);
  });
});

describe('namesFiles', () => {
  test('tells functions of paths from those of descriptors', () => {
    const by = (line: string) => namesFiles(`import { x } from './x.ts';\n${line}\n`);
    assert.deepEqual(
      [
        "import { closeSync, type Stats } from 'node:fs';",
        "import type { FileHandle } from 'node:fs/promises';",
        "import { closeSync, openSync } from 'node:fs';",
        "import {\n  closeSync,\n  constants as modes,\n  openSync as open,\n} from 'node:fs';",
        "import * as fs from 'node:fs';",
        "import fs from 'node:fs/promises';",
        "const { open } = await import('node:fs/promises');",
        "import { open } from 'fs/promises';",
      ].map(by),
      [false, false, true, true, true, true, true, true],
    );
  });
});

describe('circles', () => {
  test('finds a cycle of three and none in a chain', () => {
    const edge = (specifier: string) => [{ specifier, kind: 'static' as const }];
    const chain = new Map([
      ['a.ts', edge('./b.ts')],
      ['b.ts', edge('./c.ts')],
      ['c.ts', []],
    ]);
    assert.deepEqual(circles(chain), []);
    assert.deepEqual(circles(new Map([...chain, ['c.ts', edge('./a.ts')]])), [['a.ts', 'b.ts', 'c.ts', 'a.ts']]);
  });
});

describe('folderGraph', () => {
  test('has an import between files as one between the folders of their common directory', () => {
    const edge = (specifier: string, kind: Import['kind'] = 'static') => [{ specifier, kind }];
    const files = new Map([
      ['src/host/index.ts', edge('./linux/read.ts')],
      ['src/host/linux/read.ts', edge('../files/sums/digest.ts')],
      ['src/host/files/sums/digest.ts', edge('../errors.ts')],
      ['src/host/files/errors.ts', edge('../linux/names.ts', 'type')],
      ['src/host/linux/names.ts', []],
    ]);
    assert.deepEqual(circles(files), []);
    assert.deepEqual(circles(folderGraph(new Map([...files, ['src/host/files/errors.ts', []]]))), []);
    const circle = ['src/host/linux', 'src/host/files', 'src/host/linux'];
    assert.deepEqual(circles(folderGraph(files)), [circle]);
    assert.deepEqual(importsAlong(circle, files), [
      'src/host/linux/read.ts -> src/host/files/sums/digest.ts',
      'src/host/files/errors.ts -> src/host/linux/names.ts',
    ]);
  });
});
