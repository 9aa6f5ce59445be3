import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { NEWEST_KNOWN_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import { type StampedRelease, writeAddonArchives, writeImageArchives, writeStampedRelease } from './image-archives.ts';
import { withLock } from './lock.ts';
import { mustRun, run } from './process.ts';
import { Downloads, ReleaseUnavailable } from './releases/download.ts';
import { fetchRelease, findRelease, type OfficialRelease, officialRelease } from './releases/official.ts';

/** The directory for the built parts of the lab and the disks of its machines. It must be on a disk, not on a tmpfs. */
export const LAB_DIRECTORY = process.env.MACHINEADM_LAB ?? join(homedir(), '.cache/machineadm/lab');

/** The directory of the image archives in the layer of `buildAddons`. */
export const ADDON_ARCHIVES = 'opt/addons';

/** The inputs of machines: directories that do not change after they are built. */
export interface Artefacts {
  /** `bin/` with the seven Kubernetes programs. */
  readonly kubernetes: string;
  /** The docker-archive files of the control plane. */
  readonly images: string;
  /** The root file system every machine starts from. */
  readonly root: string;
}

/** Prints a progress message. */
export type Progress = (line: string) => void;

const HERE = import.meta.dirname;

/**
 * Builds the inputs of machines, or finds them in the cache. The key of each part is a digest of its recipe: a changed
 * recipe causes a rebuild, and an older checkout still finds its own parts. Several sessions can run it at once, and it can
 * be interrupted: a part gets its name only when it is complete.
 *
 * With an empty cache: Kubernetes 5 to 8 minutes, image archives seconds, machine image about 2 minutes.
 */
export async function buildLab(progress: Progress): Promise<Artefacts> {
  await checkHost(progress);
  const kubernetesKey = keyOf(['build-kubernetes.sh']);
  const kubernetes = await part('kubernetes', kubernetesKey, 'keep', progress, (directory) =>
    runRecipe('build-kubernetes.sh', [directory], '5 to 8 minutes', progress),
  );
  const images = await part(
    'images',
    keyOf(['image-archives.ts', '../build/tar.ts', '../../packages/archives/src/write-tar.ts'], kubernetesKey),
    'drop',
    progress,
    async (directory) => writeImageArchives(kubernetes, directory),
  );
  const image = await part('image', keyOf(['build-image.sh', 'crictl'], kubernetesKey), 'drop', progress, (directory) =>
    runRecipe('build-image.sh', [directory, kubernetes], 'about 2 minutes', progress),
  );
  return { kubernetes, images, root: join(image, 'root') };
}

/**
 * Builds an overlay layer for the machine image (`MachineOptions.lower`), or finds it in the cache: Debian's CNI plugins,
 * and the image archives of a cluster's addons. It takes seconds.
 */
export async function buildAddons({ kubernetes, root }: Artefacts, progress: Progress): Promise<string> {
  const recipe = 'build-addons.sh';
  const addons = await part(
    'addons',
    keyOf([recipe, 'image-archives.ts'], ...[root, kubernetes].map(nameInCache)),
    'drop',
    progress,
    async (directory) => {
      await runRecipe(recipe, [directory, root, kubernetes], 'some seconds', progress);
      writeAddonArchives(join(directory, 'roots'), join(directory, 'layer', ADDON_ARCHIVES));
      rmSync(join(directory, 'roots'), { recursive: true });
    },
  );
  return join(addons, 'layer');
}

/** Where a machine with the layer of `buildNextRelease` has the programs (`bin/`) and the images of that release. */
export const NEXT_RELEASE = '/opt/next';

/**
 * Builds an overlay layer for the machine image with the same Kubernetes as another release, of its minor version or the
 * next one, or finds it in the cache: something to upgrade to. It takes seconds.
 */
export async function buildNextRelease(
  { kubernetes }: Artefacts,
  release: StampedRelease,
  progress: Progress,
): Promise<string> {
  const key = keyOf(['image-archives.ts'], nameInCache(kubernetes), JSON.stringify(release));
  const next = await part('next-release', key, 'drop', progress, async (directory) =>
    writeStampedRelease(kubernetes, release, join(directory, 'layer', NEXT_RELEASE)),
  );
  return join(next, 'layer');
}

/** The inputs of the machines of a cluster. */
export interface ClusterArtefacts extends Artefacts {
  /** Layers over the machine image, uppermost first. */
  readonly lower: readonly string[];
  readonly release: OfficialRelease;
  /** False for a Kubernetes that was built from Debian's sources. */
  readonly official: boolean;
}

/**
 * Builds the inputs of a cluster, with an official release of Kubernetes or with one that is built from Debian's sources.
 *
 * @param wanted `v1.37.x`; `debian`; undefined: the newest known minor, if its server responds immediately
 */
export async function buildCluster(wanted: string | undefined, progress: Progress): Promise<ClusterArtefacts> {
  await checkHost(progress);
  const official = wanted === 'debian' ? undefined : await buildOfficial(wanted, progress);
  if (official !== undefined) return official;
  const artefacts = await buildLab(progress);
  const lower = [await buildAddons(artefacts, progress)];
  return { ...artefacts, lower, release: officialRelease('v1.20.2'), official: false };
}

/** The directories in the cache that a cluster needs. */
export function partsOf({ kubernetes, images, root, lower }: ClusterArtefacts): string[] {
  const inside = [join(kubernetes, 'x'), join(images, 'x'), root, ...lower];
  return [...new Set(inside.map((path) => join(LAB_DIRECTORY, relative(LAB_DIRECTORY, path).split('/')[0] ?? '')))];
}

/** Undefined if the release is unavailable, with a progress message that has the reason. */
async function buildOfficial(wanted: string | undefined, progress: Progress): Promise<ClusterArtefacts | undefined> {
  const options = { cache: join(LAB_DIRECTORY, 'downloads'), mirror: process.env.MACHINEADM_LAB_MIRROR };
  try {
    const quick = new Downloads({ ...options, silenceMs: 3000, tries: 1 });
    const release = await findRelease(
      wanted === undefined ? quick : new Downloads(options),
      wanted ?? `v1.${NEWEST_KNOWN_MINOR}`,
    );
    const recipe = ['releases/official.ts', 'releases/registry.ts'];
    const directory = await part(
      'official',
      keyOf(recipe, release.version, options.mirror ?? ''),
      'drop',
      progress,
      (made) => fetchRelease(new Downloads(options), release, made, progress),
    );
    const root = join(await machineImage(directory, progress), 'root');
    const artefacts = { kubernetes: directory, images: join(directory, 'images'), root };
    const lower = [join(directory, 'layer'), await buildAddons(artefacts, progress)];
    return { ...artefacts, lower, release, official: true };
  } catch (error) {
    if (!(error instanceof ReleaseUnavailable)) throw error;
    progress(`the official release cannot be downloaded: ${error.message}; using 1.20.2 built from Debian's sources`);
    return undefined;
  }
}

/** The machine image with these programs, or an existing one with Debian's: the layer with the programs hides those of the image. */
async function machineImage(kubernetes: string, progress: Progress): Promise<string> {
  const recipe = ['build-image.sh', 'crictl'];
  const built = join(LAB_DIRECTORY, `image-${keyOf(recipe, keyOf(['build-kubernetes.sh']))}`);
  if (existsSync(built)) return built;
  return await part('image', keyOf(recipe, nameInCache(kubernetes)), 'drop', progress, (directory) =>
    runRecipe('build-image.sh', [directory, kubernetes], 'about 2 minutes', progress),
  );
}

/**
 * Builds the root file system of a machine without systemd, or finds it in the cache. It has no Kubernetes, because it is
 * for tests of the host steps. It takes about 1 minute.
 */
export async function buildOpenrcImage(progress: Progress): Promise<string> {
  const recipe = 'build-image-openrc.sh';
  const image = await part('image-openrc', keyOf([recipe]), 'drop', progress, (directory) =>
    runRecipe(recipe, [directory], 'about 1 minute', progress),
  );
  return join(image, 'root');
}

/** Builds the root file system of a machine with another Debian suite and without Kubernetes, or finds it in the cache. */
export async function buildSuiteImage(suite: 'trixie', progress: Progress): Promise<string> {
  const recipe = 'build-image-suite.sh';
  const image = await part(`image-${suite}`, keyOf([recipe], suite), 'drop', progress, (directory) =>
    runRecipe(recipe, [directory, suite], 'about 3 minutes', progress),
  );
  return join(image, 'root');
}

/** Builds the root file system of a new machine with Debian's required packages only, or finds it in the cache. It takes about 1 minute. */
export async function buildFreshImage(progress: Progress): Promise<string> {
  const recipe = 'build-image-fresh.sh';
  await installPrograms(progress, { debootstrap: 'debootstrap' });
  const image = await part('image-fresh', keyOf([recipe]), 'drop', progress, (directory) =>
    runRecipe(recipe, [directory], 'about 1 minute', progress),
  );
  return join(image, 'root');
}

/**
 * Builds a root file system with Wine 10 and the Wine prefix `/prefix`, or finds it in the cache. `run-in-wine.sh` runs
 * programs in it. It takes about 1 minute and 2 GB.
 */
export async function buildWine(progress: Progress): Promise<string> {
  const recipe = 'build-wine.sh';
  await installPrograms(progress, { debootstrap: 'debootstrap', ip: 'iproute2' });
  const wine = await part('wine', keyOf([recipe, 'run-in-wine.sh']), 'drop', progress, (directory) =>
    runRecipe(recipe, [directory], 'about 1 minute', progress),
  );
  return join(wine, 'root');
}

/** Builds the root file system with the programs that `npm run bench -- --peers` compares with, or finds it in the cache. */
export async function buildPeers(progress: Progress): Promise<string> {
  const recipe = 'build-peers.sh';
  if (process.getuid?.() !== 0) throw new Error('the peers need root: they run in a separate root file system');
  await installPrograms(progress, { debootstrap: 'debootstrap', ip: 'iproute2' });
  const peers = await part('peers', keyOf([recipe]), 'drop', progress, (directory) =>
    runRecipe(recipe, [directory], 'about 1 minute', progress),
  );
  return join(peers, 'root');
}

/** Debian packages that a layer can add to the machine image. */
export type LayerPackage = 'cloud-init' | 'ignition' | 'ansible-core' | 'adcli' | 'rpm' | 'haproxy';

/**
 * Builds an overlay layer for the machine image (`MachineOptions.lower`) with this package and its dependencies, or finds
 * it in the cache.
 *
 * @param image the machine image; default: that of `buildLab`
 */
export async function buildLayer(name: LayerPackage, progress: Progress, image?: string): Promise<string> {
  const root = image ?? (await buildLab(progress)).root;
  const recipe = 'build-layer.sh';
  const layer = await part(`layer-${name}`, keyOf([recipe], root), 'drop', progress, (directory) =>
    runRecipe(recipe, [directory, root, name], 'up to 1 minute', progress),
  );
  return join(layer, 'layer');
}

/** Checks the requirements of the lab, and installs missing programs with apt. */
async function checkHost(progress: Progress): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('the lab needs root: it mounts, makes bridges and boots machines');
  if (!existsSync('/sys/fs/cgroup/memory/cgroup.procs')) {
    throw new Error('the lab needs the cgroup v1 controllers mounted: Kubernetes 1.20 is driven with cgroupfs');
  }
  await installPrograms(progress, {
    debootstrap: 'debootstrap',
    'systemd-nspawn': 'systemd-container',
    ip: 'iproute2',
  });
}

/** Installs the missing programs. @param programs the Debian package of each program */
async function installPrograms(progress: Progress, programs: Readonly<Record<string, string>>): Promise<void> {
  const missing = Object.entries(programs).filter(([program]) => !isInstalled(program));
  if (missing.length === 0) return;
  const packages = missing.map(([, name]) => name);
  progress(`installing ${packages.join(', ')}`);
  await mustRun('apt-get', ['-q', 'update']);
  await mustRun('apt-get', ['-q', 'install', '-y', '--no-install-recommends', ...packages], {
    env: { ...plainEnvironment(), DEBIAN_FRONTEND: 'noninteractive' },
  });
}

function isInstalled(program: string): boolean {
  const path = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`;
  return path.split(':').some((directory) => existsSync(join(directory, program)));
}

/**
 * Builds one part, or finds it in the cache.
 *
 * @param onInterruption whether an interrupted build is continued (`keep`) or discarded (`drop`)
 */
async function part(
  name: string,
  key: string,
  onInterruption: 'keep' | 'drop',
  progress: Progress,
  make: (directory: string) => Promise<void>,
): Promise<string> {
  const directory = join(LAB_DIRECTORY, `${name}-${key}`);
  if (existsSync(directory)) return directory;
  const waiting = () => progress(`${name}: another session builds it, waiting`);
  return withLock(join(LAB_DIRECTORY, `${name}.lock`), waiting, async () => {
    if (existsSync(directory)) return directory;
    const partial = `${directory}.partial`;
    if (onInterruption === 'drop') rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial, { recursive: true });
    await make(partial);
    renameSync(partial, directory);
    progress(`${name}: complete`);
    return directory;
  });
}

/** The path of a part relative to the cache, whose location differs between machines. */
function nameInCache(path: string): string {
  return relative(LAB_DIRECTORY, path);
}

function keyOf(recipe: readonly string[], ...inputs: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of recipe) hash.update(readFileSync(join(HERE, file)));
  for (const input of inputs) hash.update(input);
  return hash.digest('hex').slice(0, 12);
}

/** Runs a recipe. Reports its phases (`==> …`) and, every 20 s, the current one. Writes its output to a log. */
async function runRecipe(script: string, args: readonly string[], takes: string, progress: Progress): Promise<void> {
  const log = join(LAB_DIRECTORY, `${script}.log`);
  writeFileSync(log, '');
  let phase = 'starting';
  progress(`${script}: takes ${takes}; full output in ${log}`);
  const beat = setInterval(() => progress(`${script}: still ${phase}`), 20_000);
  try {
    const { status } = await run('bash', [join(HERE, script), ...args], {
      env: plainEnvironment(),
      timeoutMs: 60 * 60_000,
      onOutput: (_, text) => {
        appendFileSync(log, text);
        for (const line of text.split('\n')) {
          if (!line.startsWith('==> ')) continue;
          phase = line.slice(4);
          progress(`${script}: ${phase}`);
        }
      },
    });
    if (status !== 0) {
      const tail = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
      throw new Error(`${script} ended with ${status} while ${phase}; the end of ${log}:\n${tail}`);
    }
  } finally {
    clearInterval(beat);
  }
}

/** A fixed environment. Only the proxy variables come from the environment of the lab. */
function plainEnvironment(): Record<string, string> {
  const environment: Record<string, string> = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: homedir(),
    LANG: 'C.UTF-8',
  };
  for (const name of ['http_proxy', 'https_proxy', 'no_proxy', 'GOPROXY']) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return environment;
}
