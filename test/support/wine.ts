import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { TARGETS } from '../../scripts/build/runtime.ts';
import { buildInto } from '../../scripts/build.ts';
import { buildWine, LAB_DIRECTORY } from '../../scripts/lab/artefacts.ts';
import { run } from '../../scripts/lab/process.ts';
import { needs } from './needs.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const RUN = join(ROOT, 'scripts/lab/run-in-wine.sh');
/** Where the binary lies on C:. */
const AGENT = 'C:\\k\\machineadm.exe';

export interface WineResult {
  /** The exit code modulo 256: Wine's side of it is a process of Linux. */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface WineOptions {
  readonly input?: string;
  /** Whether the test's own servers of loopback are to be reached; otherwise there is an empty network. */
  readonly sharesNetwork?: boolean;
}

/**
 * A Windows by Wine 10 with the binary for Windows at `C:\k\machineadm.exe`, for tests of the full set:
 *
 *   const opened = await openWine();
 *   if ('unavailable' in opened) test('… under Wine', { skip: needs(opened) }, () => {});
 *   else describe('… under Wine', …);     // and `opened.close()` in its `after`
 *
 * test/e2e/wine.test.ts is an example; one file runs with MACHINEADM_E2E=all node --test FILE. Each has a drive C: of its own, which keeps what programs and
 * `write` put there until `close`; Wine itself is shared, and made once: 1 minute and 2 GB of the cache.
 *
 * Under Wine powershell, icacls, schtasks, wevtutil and shutdown are stubs that do nothing and end with 0, and there are
 * neither nltest nor djoin nor eventcreate: demand what a program should have said, never its exit code alone. A fake of
 * one of them is `write`n where it is looked for. Access rights, services and links cannot be tried.
 */
export interface Wine {
  /** Runs the binary with these arguments, its directory C:\ . */
  readonly agent: (args: readonly string[], options?: WineOptions) => Promise<WineResult>;
  /** Runs any program: `cmd`, or a path on C:. */
  readonly run: (program: string, args: readonly string[], options?: WineOptions) => Promise<WineResult>;
  /** Puts a file at a path on C: such as `C:\k\bootstrap.yaml`; directories are made. */
  readonly write: (path: string, content: string | Buffer) => void;
  /** The bytes of a file on C:; undefined where it is not there. */
  readonly read: (path: string) => Buffer | undefined;
  readonly close: () => void;
}

/** Makes one, or says why it cannot be had; never throws for what is missing. */
export async function openWine(): Promise<Wine | { readonly unavailable: string }> {
  const unavailable = needs('MACHINEADM_E2E=all', 'root', 'x86-64', 'apt-get');
  if (unavailable !== false) return { unavailable };
  const progress = (line: string): void => console.error(line);
  let root: string;
  try {
    root = await buildWine(progress);
  } catch (error) {
    return { unavailable: `Wine cannot be had: ${error instanceof Error ? error.message.split('\n')[0] : error}` };
  }
  // Overlays need a disk below them.
  const directory = mkdtempSync(join(LAB_DIRECTORY, 'wine-run-'));
  const upper = join(directory, 'upper');
  for (const name of ['upper/drive_c', 'work', 'io']) mkdirSync(join(directory, name), { recursive: true });
  const wine = wineIn(root, directory, upper);
  wine.write(AGENT, await binary());
  return wine;
}

function wineIn(root: string, directory: string, upper: string): Wine {
  const at = (side: string, path: string): string => {
    const [, inside] = /^C:\\(.+)$/.exec(path) ?? [];
    if (inside === undefined) throw new Error(`${path} is no path on C:`);
    return join(side, 'drive_c', ...inside.split('\\'));
  };
  const execute: Wine['run'] = async (program, args, { input = '', sharesNetwork = false } = {}) => {
    const io = join(directory, 'io');
    writeFileSync(join(io, 'in'), input);
    const words = [RUN, root, io, directory, 'wine', program, ...args];
    const env = { PATH: process.env.PATH ?? '', ...(sharesNetwork ? { NETWORK: 'shared' } : {}) };
    const { status, stderr, timedOut } = await run('sh', words, { env, timeoutMs: 300_000 });
    if (timedOut || stderr !== '') throw new Error(`${program} did not end under Wine: ${stderr}`);
    const [out, err] = ['out', 'err'].map((name) => readFileSync(join(io, name), 'utf8'));
    return { status, stdout: out ?? '', stderr: err ?? '' };
  };
  return {
    agent: (args, options) => execute(AGENT, args, options),
    run: execute,
    write(path, content) {
      mkdirSync(dirname(at(upper, path)), { recursive: true });
      writeFileSync(at(upper, path), content);
    },
    read(path) {
      for (const side of [upper, join(root, 'prefix')]) {
        const stat = statSync(at(side, path), { throwIfNoEntry: false });
        // What was removed is a device there: Documentation/filesystems/overlayfs.rst of Linux, "whiteouts and opaque directories".
        if (stat !== undefined) return stat.isFile() ? readFileSync(at(side, path)) : undefined;
      }
      return undefined;
    },
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** The binary for Windows, built anew from this tree. */
async function binary(): Promise<Buffer> {
  const targets = TARGETS.filter(({ platform }) => platform === 'win32');
  const directory = mkdtempSync(join(LAB_DIRECTORY, 'wine-build-'));
  try {
    const [name = ''] = await buildInto(directory, { root: ROOT, entry: 'src/main.ts', targets, commit: 'wine' });
    return readFileSync(join(directory, name));
  } finally {
    rmSync(directory, { recursive: true });
  }
}
