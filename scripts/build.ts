/**
 * Builds the binary: `npm run build` for this machine, `npm run build -- --all` for every platform.
 *
 * bundle in parts -> blob (Node's single executable application) -> a stripped Node with the blob inside. The build is
 * reproducible. If the inputs have not changed since the last build, it does nothing.
 */
import { link, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { billOfMaterials } from './build/bill-of-materials.ts';
import { bundle, compileParts, makeBlob, V8_FLAGS } from './build/bundle.ts';
import { assemble } from './build/executable.ts';
import { commitTime, fileDigest, gitCommit, inputsDigest } from './build/inputs.ts';
import { licenses } from './build/licenses.ts';
import { billOfMaterialsFile, isNative, nativeTarget, nodeExecutable, TARGETS, type Target } from './build/runtime.ts';
import { readOptions } from './options.ts';

/**
 * Builds the given targets into `directory`, each with its bill of materials, beside LICENSES.txt and SHA256SUMS. The
 * native binary is also there under its short name, `machineadm`. Returns the names of the binaries written.
 */
export async function buildInto(
  directory: string,
  options: {
    readonly root: string;
    readonly entry: string;
    readonly targets: readonly Target[];
    readonly commit: string;
    /** The time of the commit, for the bills of materials; undefined if it is not known. */
    readonly epoch?: number | undefined;
  },
): Promise<readonly string[]> {
  await mkdir(directory, { recursive: true });
  const native = await nodeExecutable(options.root, nativeTarget());
  // Inside the output directory, so that rename(2) publishes a finished file atomically.
  const work = await mkdtemp(join(directory, '.work-'));
  try {
    const metafile = await bundle(join(options.root, options.entry), join(work, 'machineadm.cjs'), {
      commit: options.commit,
    });
    // --predictable: otherwise the code cache differs at every run.
    await compileParts(native, join(work, 'machineadm.cjs'), ['--predictable', ...V8_FLAGS]);
    const [written, bills]: [string[], string[]] = [[], []];
    for (const target of options.targets) {
      const blob = await makeBlob(native, work, isNative(target));
      const runtime = await nodeExecutable(options.root, target);
      await assemble(runtime, target.platform === 'win32' ? 'pe' : 'elf', blob, join(work, target.file));
      await rename(join(work, target.file), join(directory, target.file));
      written.push(target.file);
      if (isNative(target)) {
        await link(join(directory, target.file), join(work, 'machineadm'));
        await rename(join(work, 'machineadm'), join(directory, 'machineadm'));
        // rename(2) does nothing when both names are links to one file; then the one in `work` goes with it.
        written.push('machineadm');
      }
      const bill = billOfMaterialsFile(target);
      const inputs = { root: options.root, metafile, nativeNode: native, commit: options.commit, epoch: options.epoch };
      const inside = { package: target.package, executable: runtime };
      await writeFile(
        join(directory, bill),
        await billOfMaterials({ ...inputs, binary: join(directory, target.file), runtime: inside }),
      );
      bills.push(bill);
    }
    await writeFile(join(directory, 'LICENSES.txt'), await licenses(options.root, metafile, nativeTarget().package));
    await writeFile(join(directory, 'SHA256SUMS'), await checksums(directory, [...written, 'LICENSES.txt', ...bills]));
    return written;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The content of SHA256SUMS, in the format of sha256sum(1). */
async function checksums(directory: string, files: readonly string[]): Promise<string> {
  const lines: string[] = [];
  for (const file of files) lines.push(`${await fileDigest(join(directory, file))}  ${file}\n`);
  return lines.join('');
}

/** True when `directory` still holds, unchanged, what a build with this digest wrote. */
async function isCurrent(directory: string, digest: string): Promise<boolean> {
  const recorded = await readFile(join(directory, '.inputs'), 'utf8').catch(() => '');
  if (recorded !== digest) return false;
  const sums = await readFile(join(directory, 'SHA256SUMS'), 'utf8').catch(() => '');
  for (const line of sums.trimEnd().split('\n')) {
    const [sum, file] = line.split('  ');
    if (file === undefined || (await fileDigest(join(directory, file))) !== sum) return false;
  }
  return true;
}

/** `commitTime`, or undefined without a checkout and SOURCE_DATE_EPOCH: a binary can be built without either. */
function knownTime(root: string): number | undefined {
  try {
    return commitTime(root);
  } catch {
    return undefined;
  }
}

async function main(): Promise<void> {
  const { values } = readOptions(import.meta.filename, { options: { all: { type: 'boolean', default: false } } });
  const root = resolve(import.meta.dirname, '..');
  const directory = join(root, 'dist');
  const targets = values.all ? TARGETS : [nativeTarget()];
  const commit = gitCommit(root);
  const epoch = knownTime(root);
  const digest = inputsDigest(root, commit, `${epoch}`, ...targets.map((target) => target.file));
  if (await isCurrent(directory, digest)) {
    console.log('dist/ is up to date');
    return;
  }
  await rm(join(directory, '.inputs'), { force: true });
  const started = performance.now();
  const written = await buildInto(directory, { root, entry: 'src/main.ts', targets, commit, epoch });
  await writeFile(join(directory, '.inputs'), digest);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`built ${written.map((file) => `dist/${file}`).join(', ')} in ${seconds} s from ${commit}`);
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    // esbuild has already printed each error with its location. The first line of the message has their number.
    console.error(`the build failed: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`);
    process.exitCode = 1;
  }
}
