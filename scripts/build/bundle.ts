import { execFile } from 'node:child_process';
import { mkdir, mkdtempDisposable, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { deflateRawSync } from 'node:zlib';
import { exampleDocument } from '@machineadm/document/example.ts';
import { build, type Metafile, type Plugin, transform } from 'esbuild';
import { lazyPart } from './lazy-part.ts';

const run = promisify(execFile);

/** What the build writes into the program; `src/cli/build-info.ts` reads it. */
export interface BuildStamp {
  /** The git commit, `-dirty` appended when the sources differ from it, or `unknown` outside a git checkout. */
  readonly commit: string;
}

/** The directory of the parts of a program, beside its first file. */
export function partsOf(output: string): string {
  return `${output}.parts`;
}

/**
 * Bundles an entry file and all it imports: `output` is a small CommonJS file that runs it (loader.cjs; Node 24 cannot embed
 * an ESM main), and what is imported together is a part in the directory `partsOf(output)`. `await import('./x.ts')` stays
 * lazy: the part is read when it is imported. Minified, because Node holds the text in memory. Tests of the tests change the
 * sources by plugins.
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
    // esbuild splits ESM only. Each part becomes CommonJS of its own, so that it needs no loader of ESM, which starts 30 ms slower.
    const { code } = await transform(text, {
      format: 'cjs',
      platform: 'node',
      target: 'node24',
      ...MINIFIED,
      supported: { 'dynamic-import': false },
    });
    const ascii = lazyPart(code).replace(NOT_ASCII, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    for (const [, name = ''] of ascii.matchAll(/\brequire\("(?:node:)?([a-z0-9_/]+)"\)/g)) {
      // What is a function itself cannot be replaced by an object that loads it later.
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
 * Identifiers stay as they are, so that stack traces name functions. esbuild's `keepNames` would instead set the name of each
 * function whenever it is created, which takes a fourteenth of the time of `validate`.
 */
const MINIFIED = { minifyWhitespace: true, minifySyntax: true } as const;

/** A CommonJS package that is imported late: where it splits, esbuild exports `default` alone, and an import wants the names. */
const NAMES_OF_COMMONJS = ';module.exports={__esModule:true,...module.exports.default,default:module.exports.default};';

/**
 * esbuild leaves these in regular expressions, where the escape means the same. One of them makes V8 hold the whole text in
 * two bytes for each character.
 */
const NOT_ASCII = /[^\0-\x7f]/g;

/**
 * Saves what V8 compiles of each part beside it (`NAME.cache`), for this very Node under these flags of V8: a command starts
 * in a third of the time. `planned` is a document that is planned, too: what that compiles depends on the machine.
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
 * A published schema would add 190 KB to the text that every start reads, and one command prints it. Deflated, it adds 40 KB.
 * The facts about fields, which `explain` alone prints, are treated the same.
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
 * The smallest young generation: 3 to 25 MB less resident in a run, by its length, at no cost in time (measured). No flag
 * may be here that changes what V8 compiles, such as `--no-opt`: V8 refuses what was compiled under other flags, and Node's
 * own modules were compiled without any when Node was built. To compile them again takes 40 of the 180 million instructions
 * of `version`, which is more than a run without the optimizing compilers saves.
 */
export const V8_FLAGS = ['--max-semi-space-size=1'];

/**
 * What seals the runtime. SIGUSR1 would open a debugger on loopback, to everybody on the machine. OPENSSL_CONF, and the
 * system's openssl.cnf, can load code into the process: the flag overrides both (nodejs/node doc/api/cli.md). A file
 * that does not exist is no error, so the name serves on Windows, too.
 */
export const SEALING_FLAGS = ['--disable-sigusr1', '--openssl-config=/dev/null'];

/**
 * Makes the blob that Node starts from. `directory` must hold `machineadm.cjs` and its parts; the names are relative because
 * the blob records them and would otherwise differ between checkouts. The `node` that makes it must be of the very version
 * that will run it. What is compiled fits one architecture only.
 *
 * `execArgvExtension: none` is what keeps NODE_OPTIONS from running foreign code as root.
 */
export async function makeBlob(node: string, directory: string, isCompiled: boolean): Promise<string> {
  const name = isCompiled ? 'compiled' : 'plain';
  const parts = basename(partsOf('machineadm.cjs'));
  const assets = (await readdir(join(directory, parts))).filter((file) => isCompiled || file.endsWith('.js')).sort();
  const config = {
    main: 'machineadm.cjs',
    output: `${name}.blob`,
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    // For the few lines of the loader it saves nothing, but without it Node would write it where NODE_COMPILE_CACHE says.
    useCodeCache: isCompiled,
    execArgv: ['--no-warnings', ...SEALING_FLAGS, ...V8_FLAGS],
    execArgvExtension: 'none',
    assets: Object.fromEntries(assets.map((file) => [file, `${parts}/${file}`])),
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
