import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import type { Converted } from '@machineadm/convert/library.ts';
import type { Validation } from '@machineadm/document/library.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import type { Rendering } from '@machineadm/kubeadm/library.ts';
import { wrapDocument } from '@machineadm/user-data/index.ts';
import type { Wrapping } from '@machineadm/user-data/library.ts';
import { build } from 'esbuild';
import { buildLibrary, packLibrary } from '../../scripts/library.ts';
import fc from '../support/property.ts';

const root = resolve(import.meta.dirname, '../..');

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a}\n';

/** What every browser has, and nothing else. */
const WEB = {
  TextEncoder,
  TextDecoder,
  CompressionStream,
  DecompressionStream,
  ReadableStream,
  Blob,
  Response,
  URL,
  atob,
  btoa,
  crypto,
  structuredClone,
};

describe('the library', () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-library-'));
  const library = join(directory, 'node_modules/machineadm');
  let script = '';

  before(async () => {
    mkdirSync(join(directory, 'node_modules'));
    await buildLibrary(root, library);
    writeFileSync(
      join(directory, 'page.js'),
      ['document', 'convert', 'wrap', 'render'].map((name) => `export * from 'machineadm/${name}';\n`).join(''),
    );
    script = await bundled('page.js');
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  /** A script as a page's own bundler takes it in. `platform: neutral`: a module of Node would be an error. */
  async function bundled(entry: string): Promise<string> {
    const { outputFiles } = await build({
      absWorkingDir: directory,
      entryPoints: [entry],
      bundle: true,
      platform: 'neutral',
      format: 'iife',
      globalName: 'page',
      write: false,
      logLevel: 'silent',
    });
    return outputFiles[0]?.text ?? '';
  }

  /** The controller of the library's page. */
  function snippet(): string {
    const page = readFileSync(join(root, 'docs/library.md'), 'utf8');
    const text = /```ts\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
    assert.match(text, /machineadm\/document/);
    return text;
  }

  /** The value of an expression over `page`, in a context without anything of Node; it comes back as JSON. */
  async function onPage(expression: string, page = script): Promise<unknown> {
    const context = createContext({ ...WEB });
    assert.equal(
      runInContext('typeof process + typeof Buffer + typeof require + typeof setImmediate', context),
      'undefined'.repeat(4),
    );
    runInContext(page, context);
    const text: string = await runInContext(`(async () => JSON.stringify(await (${expression})))()`, context);
    return JSON.parse(text);
  }
  const validation = async (expression: string) => (await onPage(expression)) as Validation;

  test('accepts its own examples', async () => {
    for (const role of ['InitControlPlane', 'JoinControlPlane', 'Worker']) {
      const found = await validation(`page.validateDocument(page.example('${role}'))`);
      assert.deepEqual(found.valid, true, JSON.stringify(found));
    }
  });

  test('reports each mistake with its place and a remedy', async () => {
    const document =
      'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a}\nhost:\n  hostnam: b\n';
    const found = await validation(`page.validateDocument(${JSON.stringify(document)}, { agentVersion: '0.1.0' })`);
    assert.ok(!found.valid);
    const [problem] = found.problems;
    assert.deepEqual([problem?.file, problem?.line, problem?.column], ['document', 5, 3]);
    assert.match(problem?.hint ?? '', /hostname/);
  });

  test('reads gzip and base64, and reports data that is neither', async () => {
    const packed = execFileSync('sh', ['-c', 'gzip -c | base64 -w0'], {
      input: 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a}\n',
      encoding: 'utf8',
    });
    const take = (content: string) =>
      `page.validateDocument([{ name: 'x', content: ${content} }], { agentVersion: '0.1.0' })`;
    assert.equal((await validation(take(JSON.stringify(packed)))).valid, true);
    const broken = await validation(take('new Uint8Array([0x1f, 0x8b, 8, 0, 1])'));
    assert.deepEqual([broken.valid, !broken.valid && broken.problems[0]?.file], [false, 'x']);
  });

  test('has the schema that the contract publishes', async () => {
    const published: unknown = JSON.parse(readFileSync(join(root, 'contract/schema/v1alpha1.json'), 'utf8'));
    assert.deepEqual(await onPage('page.jsonSchema()'), published);
    assert.deepEqual(await onPage('page.jsonSchema(page.apiVersions[0])'), published);
    await assert.rejects(onPage("page.jsonSchema('machineadm.dev/v9')"), { name: 'RangeError' });
  });

  test('converts user data of the provider', async () => {
    const config = `apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata: {name: worker-0, namespace: default}
spec:
  files: [{path: /etc/motd, content: hello}]
  joinConfiguration:
    discovery: {bootstrapToken: {token: abcdef.0123456789abcdef, apiServerEndpoint: "10.0.0.1:6443", caCertHashes: ["sha256:${'0'.repeat(64)}"]}}
`;
    const inputs = JSON.stringify([{ name: 'a.yaml', text: config }]);
    const converted = (await onPage(`page.convert(${inputs}, { kubernetesVersion: 'v1.35.2' })`)) as Converted;
    assert.deepEqual(
      converted.decisions.filter(({ severity }) => severity === 'error'),
      [],
    );
    const [document] = converted.documents;
    assert.equal(document?.role, 'Worker');
    const judged = await validation(
      `page.validateDocument(${JSON.stringify(document?.yaml)}, { agentVersion: '0.1.0' })`,
    );
    assert.equal(judged.valid, true, JSON.stringify(judged));
  });

  test('never accepts what is not a document, and never throws for it', async () => {
    const values = ['null', '0', 'true', '{}', '[]', '[[]]', '[null]', '[{}]', '[{ name: 1, content: "" }]'];
    values.push(
      '[{ name: "a", content: null }]',
      '[{ name: "a", content: {} }]',
      'undefined',
      '""',
      '[{ name: "a", content: "" }]',
    );
    for (const value of values) {
      const found = await validation(`page.validateDocument(${value}, { agentVersion: '0.1.0' })`);
      assert.ok(!found.valid && found.problems.length > 0, `${value}: ${JSON.stringify(found)}`);
      for (const { message, line } of found.problems) assert.ok(message.length > 0 && line > 0);
    }
    const others = JSON.stringify(fc.sample(fc.jsonValue(), { numRuns: 200, seed: 18 }));
    const judged = `${others}.map((value) => page.validateDocument(value, { agentVersion: '0.1.0' }))`;
    const found = (await onPage(`Promise.all(${judged})`)) as readonly Validation[];
    assert.ok(found.every((one) => !one.valid && one.problems.length > 0));
  });

  test('wraps a document as the program does', async () => {
    const document = `${HEADER}host: {hostname: b}\n`;
    const text = JSON.stringify(document);
    const loaded = await loadDocument([{ name: 'a', bytes: Buffer.from(document) }], { agentVersion: '0.1.0' });
    assert.ok(loaded.ok);
    for (const format of ['cloud-init', 'ignition', 'script'] as const) {
      const wrapped = (await onPage(`page.wrap(${text}, { agentVersion: '0.1.0', format: '${format}' })`)) as Wrapping;
      assert.ok(wrapped.valid, JSON.stringify(wrapped));
      assert.equal(wrapped.userData, (await wrapDocument(document, loaded.document, { format })).userData);
    }
    const refused = async (source: string, options: string) => {
      const found = (await onPage(`page.wrap(${source}, { agentVersion: '0.1.0', ${options} })`)) as Wrapping;
      return found.valid ? [] : found.problems.map(({ code }) => code);
    };
    assert.deepEqual(await refused('"x: 1"', "format: 'cloud-init'"), ['MissingField', 'MissingField']);
    assert.deepEqual(await refused(text, "format: 'talos', downloadScript: 'x'"), ['UsageInvalid']);
    const large = `${HEADER}host: {files: [{path: /a, content: ${randomBytes(20_000).toString('base64')}}]}\n`;
    assert.deepEqual(await refused(JSON.stringify(large), "format: 'cloud-init', profile: 'capa'"), [
      'UserDataTooLarge',
    ]);
    assert.deepEqual(await refused(text, "format: 'cloud-init', profile: 'nobody'"), ['UsageInvalid']);
  });

  test('renders the configuration of kubeadm as the program does', async () => {
    const rendered = async (source: string, options = '') =>
      (await onPage(`page.renderKubeadmConfig(${source}, { agentVersion: '0.1.0', ${options} })`)) as Rendering;
    const found = await rendered("page.example('InitControlPlane')");
    assert.ok(found.valid, JSON.stringify(found));
    const file = join(directory, 'init.yaml');
    writeFileSync(file, String(JSON.parse(JSON.stringify(await onPage("page.example('InitControlPlane')")))));
    const args = [join(root, 'src/main.ts'), 'render', 'kubeadm', '-d', file];
    const printed = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    assert.equal(printed.replace(/^#.*\n/gm, '').trim(), found.config.trim());
    assert.equal(found.command, 'init');
    for (const [source, options] of [
      [JSON.stringify(HEADER), ''],
      ["page.example('Worker')", "kubeadmVersion: 'new'"],
      ["page.example('Worker')", "kubeadmVersion: 'v1.12.0'"],
    ] as const) {
      const refused = await rendered(source, options);
      assert.ok(!refused.valid && refused.problems.length === 1, JSON.stringify(refused));
    }
  });

  test('costs a page what it imports, and no more', async () => {
    const cost = async (name: string, entry: string): Promise<number> => {
      writeFileSync(
        join(directory, 'one.js'),
        `import { ${name} } from 'machineadm/${entry}';\nconsole.log(${name});\n`,
      );
      return gzipSync(await bundled('one.js')).length;
    };
    assert.ok((await cost('apiVersions', 'document')) < 5 * 1024);
    assert.ok((await cost('example', 'document')) < 5 * 1024);
    // The schema without what judges by it; what judges, without the schema that is published.
    const [schema, judge] = [await cost('jsonSchema', 'document'), await cost('validateDocument', 'document')];
    assert.ok(schema < judge / 2, `${schema} of ${judge}`);
    assert.ok((await cost('validateDocument, jsonSchema', 'document')) > judge + schema / 2);
  });

  test('has a page of its own in the package, without links that lead nowhere', () => {
    const page = readFileSync(join(library, 'README.md'), 'utf8');
    assert.match(page, /machineadm\/wrap/);
    for (const [, target = ''] of page.matchAll(/\]\(([^)]*)\)/g)) {
      assert.ok(/^https?:/.test(target) || existsSync(join(library, target)), target);
    }
  });

  test('runs in the controller of its page: a good document is allowed, a bad one refused with its place', async () => {
    writeFileSync(join(directory, 'controller.ts'), snippet());
    const controller = await bundled('controller.ts');
    const review = async (data: Record<string, string> | undefined) => {
      const request = JSON.stringify({ uid: 'u-1', object: { data } });
      return (await onPage(`page.review(${request})`, controller)) as {
        uid: string;
        allowed: boolean;
        status?: { code: number; message: string };
      };
    };
    const good = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a}\n';
    assert.deepEqual(await review({ 'bootstrap.yaml': good }), { uid: 'u-1', allowed: true, warnings: [] });
    assert.deepEqual(await review({ other: 'x' }), { uid: 'u-1', allowed: true });
    assert.deepEqual(await review(undefined), { uid: 'u-1', allowed: true });
    const refused = await review({ 'bootstrap.yaml': `${good}host:\n  hostnam: b\n` });
    assert.deepEqual([refused.uid, refused.allowed, refused.status?.code], ['u-1', false, 422]);
    assert.match(refused.status?.message ?? '', /^5:3 host\.hostnam: unknown key/);
  });

  test('is an archive that npm installs, the same bytes each time', async () => {
    const packed = await packLibrary(library, directory);
    const bytes = readFileSync(packed);
    assert.deepEqual(readFileSync(await packLibrary(library, directory)), bytes);
    const project = mkdtempSync(join(directory, 'project-'));
    writeFileSync(join(project, 'package.json'), '{"name": "controller", "type": "module"}');
    const npm = ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', packed];
    execFileSync('npm', npm, { cwd: project, stdio: 'pipe', env: { PATH: process.env.PATH, HOME: project } });
    const filesOf = (path: string) => readdirSync(path, { recursive: true }).map(String).sort();
    assert.deepEqual(filesOf(join(project, 'node_modules/machineadm')), filesOf(library));
  });

  test('is imported by Node under its names, and under no other', async () => {
    const script =
      "import('machineadm/document').then((m) => console.log(m.apiVersions[0])); import('machineadm/convert/index.js').catch((e) => console.log(e.code));";
    const output = execFileSync(process.execPath, ['-e', script], { cwd: directory, encoding: 'utf8' });
    assert.deepEqual(output.trim().split('\n').sort(), ['ERR_PACKAGE_PATH_NOT_EXPORTED', 'machineadm.dev/v1alpha1']);
  });

  test('has types that stand alone: the snippet of its page compiles', () => {
    writeFileSync(
      join(directory, 'snippet.ts'),
      `${snippet()}\nimport { convert } from 'machineadm/convert';\nexport const first = convert([]).then((c) => c.documents[0]?.yaml);
import { wrap, type Wrapping } from 'machineadm/wrap';\nexport const wrapped: Promise<Wrapping> = wrap('', { agentVersion: '0.1.0', format: 'ignition' });
import type { MachineBootstrap } from 'machineadm/document';\nexport const document: MachineBootstrap = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name: 'a' } };
import { renderKubeadmConfig } from 'machineadm/render';\nexport const rendered = renderKubeadmConfig('', { agentVersion: '0.1.0' }).then((r) => (r.valid ? r.config : r.problems[0]?.line));\n`,
    );
    writeFileSync(join(directory, 'package.json'), '{"type": "module"}');
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2022',
      '--lib',
      'es2022,dom',
      '--skipLibCheck',
      'false',
      '--types',
      '',
    ];
    const tsc = join(root, 'node_modules/.bin/tsc');
    execFileSync(tsc, [...options, 'snippet.ts'], { cwd: directory, encoding: 'utf8', stdio: 'pipe' });
    assert.deepEqual(
      readdirSync(library).filter((name) => name.startsWith('.')),
      [],
    );
  });
});
