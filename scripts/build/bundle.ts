import { execFile } from 'node:child_process';
import { mkdir, mkdtempDisposable, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { deflateRawSync } from 'node:zlib';
import { exampleDocument } from '@machineadm/document/versions/example.ts';
import { build, type Metafile, type Plugin, transform } from 'esbuild';
import { lazyPart } from './lazy-part.ts';
import { packParts } from './packed-parts.ts';

const run = promisify(execFile);

/** Build information that is compiled into the program; `src/cli/build-info.ts` reads it. */
export interface BuildStamp {
  /** The git commit, `-dirty` appended when the sources differ from it, or `unknown` outside a git checkout. */
  readonly commit: string;
}

/** The directory of the parts of a program, next to its loader. */
export function partsOf(output: string): string {
  return `${output}.parts`;
}

/**
 * Bundles an entry file and its imports. `output` is a small CommonJS loader (loader.cjs; Node 24 cannot embed an ESM main).
 * The chunks are parts in the directory `partsOf(output)`. `await import('./x.ts')` stays lazy: the part is read when it is
 * imported. The code is minified because Node keeps the text in memory. Mutation tests change the sources with plugins.
 */
export async function bundle(
  entry: string,
  output: string,
  stamp: BuildStamp,
  plugins: readonly Plugin[] = [],
): Promise<Metafile> {
  const parts = partsOf(output);
  await rm(parts, { recursive: true, force: true });
  await mkdir(parts, { recursive: true });
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    outdir: parts,
    entryNames: 'main',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    write: false,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    legalComments: 'none',
    ...MINIFIED,
    metafile: true,
    logLevel: 'warning',
    define: { MACHINEADM_BUILD: JSON.stringify(stamp) },
    plugins: [COMPRESSED_SCHEMAS, ...plugins],
  });
  const builtins: Record<string, readonly string[]> = {};
  for (const { path, text } of outputFiles) {
    // esbuild can split ESM only. Each part is then converted to CommonJS, because the ESM loader of Node takes 30 ms to start.
    const { code } = await transform(text, {
      format: 'cjs',
      platform: 'node',
      target: 'node24',
      ...MINIFIED,
      supported: { 'dynamic-import': false },
    });
    const ascii = lazyPart(code).replace(NOT_ASCII, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    for (const [, name = ''] of ascii.matchAll(/\brequire\("(?:node:)?([a-z0-9_/]+)"\)/g)) {
      // A module that is itself a function cannot be replaced by an object that loads it later.
      const module: unknown = name === 'process' ? undefined : process.getBuiltinModule(name);
      if (typeof module === 'object' && module !== null) builtins[name] = Object.keys(module).sort();
    }
    const { entryPoint = '' } = metafile.outputs[relative(process.cwd(), path)] ?? {};
    const whole = metafile.inputs[entryPoint]?.format === 'cjs' ? ascii + NAMES_OF_COMMONJS : ascii;
    await writeFile(path, `(function(require,module,exports){${whole}\n})`);
  }
  const loader = await readFile(join(import.meta.dirname, 'loader.cjs'), 'utf8');
  const sorted = Object.fromEntries(Object.entries(builtins).sort(([a], [b]) => (a < b ? -1 : 1)));
  await writeFile(
    output,
    loader
      .replace('BUILTINS = {}', () => `BUILTINS = ${JSON.stringify(sorted)}`)
      .replace("PARTS = ''", () => `PARTS = ${JSON.stringify(basename(parts))}`),
  );
  return metafile;
}

/**
 * Identifiers are not minified, so that stack traces name functions. esbuild's `keepNames` would instead set the name of
 * each function whenever it is created, which takes 7 % of the time of `validate`.
 */
const MINIFIED = { minifyWhitespace: true, minifySyntax: true } as const;

/** For a CommonJS package that is imported lazily: with splitting, esbuild exports only `default`, but imports use named exports. */
const NAMES_OF_COMMONJS = ';module.exports={__esModule:true,...module.exports.default,default:module.exports.default};';

/**
 * esbuild leaves these characters in regular expressions, where an escape has the same meaning. A single one makes V8 store
 * the whole text with two bytes per character.
 */
const NOT_ASCII = /[^\0-\x7f]/g;

/**
 * Saves V8's code cache of each part next to it (`NAME.cache`): a command then starts in a third of the time. A cache is
 * valid for this version of Node and these V8 flags only. `planned` is a document to plan as well; the functions that this
 * compiles depend on the machine.
 */
export async function compileParts(
  node: string,
  output: string,
  flags: readonly string[],
  planned?: string,
): Promise<void> {
  await using documents = await mkdtempDisposable(join(tmpdir(), 'machineadm-compile-'));
  for (const [name, role] of [
    ['init.yaml', 'InitControlPlane'],
    ['worker.yaml', 'Worker'],
  ] as const)
    await writeFile(join(documents.path, name), exampleDocument(role), { mode: 0o600 });
  if (planned !== undefined) await writeFile(join(documents.path, 'planned.yaml'), planned, { mode: 0o600 });
  const script = join(import.meta.dirname, 'code-cache.ts');
  await run(
    node,
    [...flags, '--disable-warning=ExperimentalWarning', script, output, partsOf(output), documents.path],
    {
      env: { PATH: process.env.PATH ?? '' },
      maxBuffer: 2 ** 24,
    },
  );
}

/**
 * A published schema would add 190 KB to the bundle, although only one command prints it. Deflated, it adds 40 KB. The same
 * holds for the facts about fields, which only `explain` prints.
 */
const COMPRESSED_SCHEMAS: Plugin = {
  name: 'compressed-schemas',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]contract[\\/](?:schema|fields)[\\/][^\\/]*\.json$/ }, async ({ path }) => {
      const compact = JSON.stringify(JSON.parse(await readFile(path, 'utf8')));
      const deflated = JSON.stringify(deflateRawSync(compact, { level: 9 }).toString('base64'));
      return {
        contents: `module.exports = JSON.parse(require('node:zlib').inflateRawSync(Buffer.from(${deflated}, 'base64')).toString());`,
        loader: 'js',
      };
    });
  },
};

/**
 * One thread for V8 beside the main one, instead of four: each that wakes up costs time, and there is work for one. The
 * smallest young generation: 3 to 25 MB less resident memory, depending on the length of the run, at no measured cost in
 * time. Do not add a flag that changes what V8 compiles, such as `--no-opt`: V8 rejects code that was compiled with other
 * flags, and Node's own modules were compiled without any when Node was built. Compiling them again takes 40 of the
 * 180 million instructions of `version`, which is more than a run without the optimizing compilers saves.
 */
export const V8_FLAGS = ['--max-semi-space-size=1', '--v8-pool-size=1'];

/**
 * Flags that harden the runtime. SIGUSR1 would open a debugger on loopback for every local user. OPENSSL_CONF and the
 * system's openssl.cnf can load code into the process: the flag overrides both (nodejs/node doc/api/cli.md). A missing
 * file is not an error, so the path also works on Windows.
 */
export const SEALING_FLAGS = ['--disable-sigusr1', '--openssl-config=/dev/null'];

/**
 * Makes the blob that Node starts from. `directory` must hold `machineadm.cjs` and its compiled parts. The names in the blob
 * are relative: it would otherwise differ between checkouts. `node` must have exactly the version that will run
 * the blob. A code cache is valid for one architecture only.
 *
 * `execArgvExtension: none` prevents NODE_OPTIONS from running other code as root.
 */
export async function makeBlob(node: string, directory: string, isCompiled: boolean): Promise<string> {
  const name = isCompiled ? 'compiled' : 'plain';
  const parts = partsOf(join(directory, 'machineadm.cjs'));
  const used = (await readFile(`${parts}.order`, 'utf8')).split('\n');
  const files = (await readdir(parts)).filter((file) => isCompiled || file.endsWith('.js'));
  await writeFile(join(directory, `${name}.parts`), await packParts(parts, files, used));
  const config = {
    main: 'machineadm.cjs',
    output: `${name}.blob`,
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    // A cache of the small loader saves no time, but without it Node would write one to the directory in NODE_COMPILE_CACHE.
    useCodeCache: isCompiled,
    execArgv: ['--no-warnings', ...SEALING_FLAGS, ...V8_FLAGS],
    execArgvExtension: 'none',
    assets: { parts: `${name}.parts` },
  };
  await writeFile(join(directory, `${name}.json`), JSON.stringify(config));
  await run(
    node,
    [...(isCompiled ? ['--predictable', ...V8_FLAGS] : []), '--experimental-sea-config', `${name}.json`],
    {
      cwd: directory,
      env: { PATH: process.env.PATH ?? '' },
    },
  );
  return join(directory, config.output);
}
