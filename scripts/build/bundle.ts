import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateRawSync } from 'node:zlib';
import { build, type Metafile, type Plugin } from 'esbuild';

const run = promisify(execFile);

/** What the build writes into the program; `src/cli/build-info.ts` reads it. */
export interface BuildStamp {
  /** The git commit, `-dirty` appended when the sources differ from it, or `unknown` outside a git checkout. */
  readonly commit: string;
}

/**
 * Bundles an entry file and all it imports into one CommonJS file (an ESM main starts 30 ms slower, and Node 24 cannot
 * embed one). `await import('./x.ts')` stays lazy: esbuild turns the module into a function that runs at the first
 * import. Minified, because Node holds the text in memory: 6 MB less resident; stack traces still name functions.
 */
export async function bundle(entry: string, output: string, stamp: BuildStamp): Promise<Metafile> {
  const result = await build({
    entryPoints: [entry],
    outfile: output,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    legalComments: 'none',
    keepNames: true,
    minify: true,
    metafile: true,
    logLevel: 'warning',
    define: { MACHINEADM_BUILD: JSON.stringify(stamp) },
    plugins: [COMPRESSED_SCHEMAS],
  });
  return result.metafile;
}

/** A published schema would add 190 KB to the text that every start reads, and one command prints it. Deflated, it adds 40 KB. */
const COMPRESSED_SCHEMAS: Plugin = {
  name: 'compressed-schemas',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]contract[\\/]schema[\\/][^\\/]*\.json$/ }, async ({ path }) => {
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
 * The smallest young generation: 3 to 25 MB less resident in a run, by its length, at no cost in time. No optimizing
 * compilers: a run of some hundred milliseconds of CPU never earns back what they cost, 4 to 15 MB (both measured).
 * The blob is made under the same flags, because V8 refuses a code cache that was made under others.
 */
export const V8_FLAGS = ['--max-semi-space-size=1', '--no-opt', '--no-maglev'];

/**
 * What seals the runtime. SIGUSR1 would open a debugger on loopback, to everybody on the machine. OPENSSL_CONF, and the
 * system's openssl.cnf, can load code into the process: the flag overrides both (nodejs/node doc/api/cli.md). A file
 * that does not exist is no error, so the name serves on Windows, too.
 */
export const SEALING_FLAGS = ['--disable-sigusr1', '--openssl-config=/dev/null'];

/**
 * Makes the blob that Node starts from. `directory` must hold `machineadm.cjs`; the name is relative because the blob
 * records it and would otherwise differ between checkouts. The `node` that makes it must be of the very version that
 * will run it. A code cache fits one architecture only.
 *
 * `execArgvExtension: none` is what keeps NODE_OPTIONS from running foreign code as root.
 */
export async function makeBlob(node: string, directory: string, codeCache: boolean): Promise<string> {
  const name = codeCache ? 'cached' : 'plain';
  const config = {
    main: 'machineadm.cjs',
    output: `${name}.blob`,
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    useCodeCache: codeCache,
    execArgv: ['--no-warnings', ...SEALING_FLAGS, ...V8_FLAGS],
    execArgvExtension: 'none',
  };
  await writeFile(join(directory, `${name}.json`), JSON.stringify(config));
  // Without --predictable the code cache differs at every run.
  await run(node, [...(codeCache ? ['--predictable', ...V8_FLAGS] : []), '--experimental-sea-config', `${name}.json`], {
    cwd: directory,
    env: { PATH: process.env.PATH ?? '' },
  });
  return join(directory, config.output);
}
