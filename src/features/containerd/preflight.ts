import { OLDEST_CONTAINERD } from '@machineadm/document/kubernetes-releases/containerd.ts';
import type { ContainerdModel, TomlTable } from '@machineadm/document/model/index.ts';
import { compareVersions } from '@machineadm/document/text/program-version.ts';
import { tableAt } from '../../container-runtime/toml-tree.ts';
import { programTrouble } from '../../host/processes/executable.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { RanRecord, UnmetRequirement } from '../../step/index.ts';
import { CONFIGURATION_PATH } from './configuration.ts';
import { tooNewFor } from './conflicts.ts';
import { parseToml } from './found.ts';
import type { ContainerdDesired } from './inspect.ts';
import { wrongCertificates } from './registry-certificates.ts';
import { missingCdiSpecs, missingRuntimes } from './runtimes.ts';
import { migrationObstacles, targetVersion, versionObstacles } from './version.ts';

/** In a chroot nothing runs: containerd cannot be started there, so its configuration cannot be proven. */
const BOOT =
  'Bake on a booted machine, as image-builder and Packer do, or leave containerRuntime and images to provision.';
const INSTALL = 'Install containerd 1.6 or newer with its service (the package of the distribution will do).';

/** Requirements of containerd, its runtimes, snapshotters and registries that are missing or unsuitable. */
export async function preflight(
  host: QueryHost,
  desired: ContainerdDesired,
  record?: RanRecord,
): Promise<readonly UnmetRequirement[]> {
  const { model, version, afterHooks } = desired;
  if (version === undefined) {
    const why = await programTrouble(host, 'containerd');
    if (why === undefined)
      return [{ reason: 'ContainerRuntimeMissing', what: 'containerd is not installed', remedy: INSTALL }];
    return [{ reason: 'ProgramNotExecutable', what: `containerd cannot be executed: ${why}`, remedy: INSTALL }];
  }
  if (compareVersions(version, OLDEST_CONTAINERD) < 0) {
    const what = `containerd ${version.text} is too old: 1.6 or newer is needed, the first with CRI v1`;
    return [{ reason: 'ContainerRuntimeUnsupported', what, remedy: INSTALL }];
  }
  const target = targetVersion(desired, record) ?? version;
  const missing: UnmetRequirement[] = [
    ...(await versionObstacles(host, desired, record)),
    ...(await migrationObstacles(host, desired, record)),
    ...tooNewFor(model, target),
  ];
  if (!(await host.service('containerd')).exists) {
    const what = 'no service manager (systemd or OpenRC) is running that could start containerd';
    missing.push(
      desired.serviceManager === 'none'
        ? { reason: 'ContainerRuntimeMissing', what, remedy: BOOT }
        : { reason: 'ContainerRuntimeMissing', what: 'containerd has no service', remedy: INSTALL },
    );
  }
  // Checks that an early hook may satisfy are made after it ran.
  const isToCome = compareVersions(target, version) !== 0;
  return afterHooks || isToCome ? missing : [...missing, ...(await missingParts(host, desired))];
}

/** Requirements of the document's runtimes, snapshotters and registries that are missing or unsuitable. */
export async function missingParts(
  host: QueryHost,
  { model, laid }: ContainerdDesired,
): Promise<readonly UnmetRequirement[]> {
  return [
    ...(await missingRuntimes(host, model.runtimes, laid)),
    ...(await missingCdiSpecs(host, model)),
    ...(await missingSnapshotters(host, model)),
    ...(await wrongCertificates(host, model.registries, laid, Date.now())),
  ];
}

/**
 * containerd fails to load CRI without them: "failed to find snapshotter". Each available one has a section in the
 * default configuration.
 */
async function missingSnapshotters(host: QueryHost, model: ContainerdModel): Promise<readonly UnmetRequirement[]> {
  const wanted = new Set([model.snapshotter, ...model.runtimes.map(({ snapshotter }) => snapshotter)]);
  const names = [...wanted].filter((name) => name !== undefined);
  if (names.length === 0) return [];
  const defaults = await host.query({ program: 'containerd', args: ['config', 'default'] });
  const current = await host.readText(CONFIGURATION_PATH);
  const known = new Set([
    ...Object.keys(tableAt(await treeOf(defaults.stdout), ['plugins'])),
    ...[model.settings, await treeOf(current ?? '')].flatMap((tree) => Object.keys(tableAt(tree, ['proxy_plugins']))),
  ]);
  return names
    .filter((name) => !known.has(name) && !known.has(`io.containerd.snapshotter.v1.${name}`))
    .map((name) => ({
      reason: 'ContainerdSnapshotterMissing',
      what: `containerd has no snapshotter ${name}`,
      remedy:
        'This containerd was built without it (`ctr plugins ls` lists its plug-ins). Use another one, or declare it under settings.proxy_plugins.',
    }));
}

async function treeOf(text: string): Promise<TomlTable> {
  const parsed = await parseToml(text);
  return 'tree' in parsed ? parsed.tree : {};
}
