import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path/posix';
import type { CommandResult, Query } from '../seam/host.ts';
import { PRIVATE_FILES } from '../seam/queries.ts';

/** In memory, and writable by root alone, on every system that systemd or OpenRC boots; /tmp in a chroot without it. */
const DIRECTORIES = ['/run', '/dev/shm', '/tmp'];
const PREFIX = 'machineadm-check-';

/**
 * Makes a query whose files exist only for it: 0600 in a new directory 0700, which is removed whatever happens. What the program
 * says of them names their real paths.
 */
export async function withPrivateFiles(
  asked: Query,
  ask: (asked: Query) => Promise<CommandResult>,
): Promise<CommandResult> {
  if (asked.files === undefined) return await ask(asked);
  const root = await privateDirectory();
  try {
    const here = (text: string): string => text.replaceAll(PRIVATE_FILES, root);
    for (const [path, content] of Object.entries(asked.files)) {
      // Nothing leads out of the directory: the path is taken from its top.
      const place = join(root, join('/', path));
      await mkdir(dirname(place), { recursive: true, mode: 0o700 });
      await writeFile(place, here(content), { flag: 'wx', mode: 0o600 });
    }
    const result = await ask({ ...asked, args: asked.args.map(here) });
    const [stdout, stderr] = [result.stdout.replaceAll(root, ''), result.stderr.replaceAll(root, '')];
    if (asked.reads === undefined) return { ...result, stdout, stderr };
    return { ...result, stdout, stderr, files: await writtenFiles(root, asked.reads) };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function writtenFiles(root: string, paths: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const files: Record<string, string> = {};
  for (const path of paths) {
    // The program may have removed what leads there.
    const content = await readFile(join(root, join('/', path)), 'utf8').catch(() => undefined);
    if (content !== undefined) files[path] = content;
  }
  return files;
}

async function privateDirectory(): Promise<string> {
  await removeAbandoned();
  let failure: unknown;
  for (const directory of DIRECTORIES) {
    try {
      return await mkdtemp(`${directory}/${PREFIX}${process.pid}-`);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Those of processes that were killed. In /run only: in a directory for all, another user may have made them. */
async function removeAbandoned(): Promise<void> {
  const [directory = '/run'] = DIRECTORIES;
  for (const name of await readdir(directory).catch(() => [])) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(directory, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
