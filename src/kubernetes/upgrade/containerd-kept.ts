import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { CONTAINERD_CONFIGURATION, UPGRADE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { listOf, number, object, oneOf, optional, string } from '@machineadm/document/values/shape.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import type { CriWorkloads } from '../../host/cri/queries.ts';
import { checksummedJson, withChecksum } from '../../host/files/checksum.ts';
import { type KeptFile, keepFiles, parseKeptFiles, restoreFiles } from '../../host/files/kept-files.ts';
import { PATH_OF_ROOT } from '../../host/linux/environment.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { arePrograms, type KeptProgram, keepProgram } from './kept-state.ts';
import { restorePrograms, type WayBack } from './way-back.ts';

/** Beside what else an upgrade keeps. */
const RECORD = `${UPGRADE_DIRECTORY}/containerd.json`;

/** What a release of containerd has, with runc. Releases up to 1.7 have the older shims, too. */
const PROGRAMS = [
  'containerd',
  'containerd-shim-runc-v2',
  'containerd-shim-runc-v1',
  'containerd-shim',
  'ctr',
  'runc',
] as const;

/** Where units of containerd are, in packages and by its documentation; and the drop-ins of the operator. */
const UNITS = [
  '/etc/systemd/system',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
];
const OPENRC_SCRIPT = '/etc/init.d/containerd';
const DROP_INS = '/etc/systemd/system/containerd.service.d';

/** The daemon and what ran before an upgrade. */
export interface ContainerdBefore extends CriWorkloads {
  /** As `1.7.24`. */
  readonly version: string;
  /** The process of the daemon. */
  readonly pid: number | undefined;
  /** Whether the Node was Ready. */
  readonly wasReady: boolean;
}

/** containerd as it was before an upgrade. */
export interface KeptContainerd {
  /** The configuration and the unit. */
  readonly files: readonly KeptFile[];
  readonly programs: readonly KeptProgram[];
  /** Paths at which there was no program. */
  readonly absent: readonly string[];
  readonly before: ContainerdBefore;
}

/** Keeps the programs, the unit and the configuration. Durable when it returns. */
export async function keepContainerd(host: Host, before: ContainerdBefore): Promise<void> {
  await forgetContainerd(host);
  const programs: KeptProgram[] = [];
  const absent: string[] = [];
  for (const [path, copy] of await programPaths(host)) {
    const kept = await keepProgram(host, path, copy);
    if (kept.length === 0) absent.push(path);
    programs.push(...kept);
  }
  const dropIns = ((await host.list(DROP_INS)) ?? []).filter((name) => name.endsWith('.conf'));
  const files = await keepFiles(host, [
    CONTAINERD_CONFIGURATION,
    ...(await distinct(host, UNITS)).map((directory) => `${directory}/containerd.service`),
    ...dropIns.map((name) => `${DROP_INS}/${name}`),
    OPENRC_SCRIPT,
  ]);
  const content = withChecksum(JSON.stringify({ files, programs, absent, before }));
  await host.writeFile({ path: RECORD, content, mode: 0o600, directoryMode: 0o700 });
  await host.sync(UPGRADE_DIRECTORY);
}

/** The bytes that it takes. */
export async function sizeOfContainerd(host: QueryHost): Promise<number> {
  let size = 0;
  for (const [path] of await programPaths(host)) size += (await host.stat(await host.realPath(path)))?.size ?? 0;
  return size;
}

/** What was kept; undefined: nothing. Throws `HostStepFailed` where it is damaged. */
export async function keptContainerd(host: QueryHost): Promise<KeptContainerd | undefined> {
  const source = await host.readText(RECORD);
  if (source === undefined) return undefined;
  const value = checksummedJson(source);
  const [programs, absent, before] = [member(value, 'programs'), member(value, 'absent'), member(value, 'before')];
  const files = parseKeptFiles(member(value, 'files'));
  if (files !== undefined && arePrograms(programs) && areTexts(absent) && isOfDaemon(before))
    return { files, programs, absent, before };
  throw new MachineadmError({
    reason: 'HostStepFailed',
    summary: `${RECORD}, which has containerd as it was before the upgrade, is damaged.`,
    remedy: 'Check that containerd works, remove the file, and run machineadm upgrade again.',
  });
}

/**
 * Puts back what machineadm itself had replaced.
 *
 * @param isOurs whether steps of machineadm write this path
 */
export async function restoreContainerd(
  host: Host,
  { files, programs, absent }: KeptContainerd,
  isOurs: (path: string) => boolean,
): Promise<Pick<WayBack, 'restored' | 'left'>> {
  const back = await restorePrograms(host, programs, isOurs);
  const restored = [...back.restored];
  const left = [...back.left];
  for (const path of absent) {
    if (!isOurs(path) || (await host.stat(path)) === undefined) continue;
    await host.removeFile(path);
    restored.push(path);
  }
  for (const file of files) {
    const isConfiguration = file.path === CONTAINERD_CONFIGURATION;
    if ((await host.readText(file.path)) === file.content) continue;
    if (!isConfiguration && !isOurs(file.path)) {
      left.push(`${file.path} is the new one, and a package or a hook brought it`);
      continue;
    }
    await restoreFiles(host, [file]);
    restored.push(file.path);
  }
  if (restored.length > 0) await host.sync('/etc');
  return { restored, left };
}

/** Removes what was kept. */
export async function forgetContainerd(host: Host): Promise<void> {
  const copies = (await programPaths(host)).map(([, copy]) => copy);
  for (const path of [RECORD, ...copies]) await host.removeFile(path);
}

/** Each path at which a program may be, with the path of its copy. */
async function programPaths(host: QueryHost): Promise<readonly (readonly [path: string, copy: string])[]> {
  const directories = await distinct(host, PATH_OF_ROOT);
  return PROGRAMS.flatMap((name) =>
    directories.map((directory) => [`${directory}/${name}`, copyOf(name, directory)] as const),
  );
}

function copyOf(name: string, directory: string): string {
  return `${UPGRADE_DIRECTORY}/${name}${directory.replaceAll('/', '.')}`;
}

/** /bin is a link to /usr/bin on most machines. */
async function distinct(host: QueryHost, directories: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(
    directories.map(async (path) => ((await host.readLink(path)) === undefined ? path : undefined)),
  );
  return real.filter((path) => path !== undefined);
}

const isTexts = listOf(string);
const isBefore = object({
  version: string,
  pid: optional(number),
  wasReady: oneOf(true, false),
  pods: listOf(object({ id: string, name: string })),
  containers: listOf(object({ id: string, name: string, startedAt: string })),
});

function areTexts(value: unknown): value is readonly string[] {
  return isTexts(value);
}

function isOfDaemon(value: unknown): value is ContainerdBefore {
  return isBefore(value);
}
