import { X509Certificate } from 'node:crypto';
import { evidenceFrom } from '@machineadm/document/outcomes/errors.ts';
import { ADMIN_KUBECONFIG, KUBELET_KUBECONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { UPGRADE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import { parseVersion, type Version } from '@machineadm/document/text/program-version.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import { readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import { KubeconfigUnusable, readKubeconfig } from '../../host/cluster/kubeconfig.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { localEtcd } from '../local-etcd.ts';
import { type EtcdOutlook, etcdOutlook } from './etcd-quorum.ts';
import { manifestPath } from './kept-state.ts';
import { skipped, type UpgradeObstacle, type UpgradeOrder } from './obstacle.ts';
import { editsBetween, type PatchedPods, patchedEdits } from './patched-drift.ts';
import { isPatched } from './pod-settings.ts';
import { VERSIONED } from './running-version.ts';

const MIB = 2 ** 20;
/** The previous programs, new manifests, logs. */
const SPACE_FOR_REST = 256 * MIB;
const DIFF_TIMEOUT_MS = 60_000;
/** More lines than a manifest has. */
const WHOLE_FILES = '100000';
/** Of each file, in one line. */
const MOST_EDITS = 8;

/** Certificates with which the node and kubeadm work, and authorities that sign their successors. */
export async function certificateObstacles(
  host: QueryHost,
  certificatesDirectory: string,
  now: number,
): Promise<readonly UpgradeObstacle[]> {
  const found: UpgradeObstacle[] = [];
  for (const name of [
    'ca',
    'front-proxy-ca',
    'etcd/ca',
    'apiserver',
    'apiserver-kubelet-client',
    'etcd/server',
    'etcd/peer',
  ]) {
    const path = `${certificatesDirectory}/${name}.crt`;
    found.push(...expired(path, await host.readText(path), now));
  }
  for (const path of [KUBELET_KUBECONFIG, ADMIN_KUBECONFIG]) {
    try {
      found.push(...expired(path, (await readKubeconfig(host, path))?.certificate, now));
    } catch (error) {
      if (!(error instanceof KubeconfigUnusable)) throw error;
    }
  }
  return found;
}

function expired(path: string, pem: string | undefined, now: number): readonly UpgradeObstacle[] {
  if (pem === undefined) return [];
  let until: Date;
  try {
    until = new X509Certificate(pem).validToDate;
  } catch {
    return [];
  }
  if (until.getTime() > now) return [];
  return [
    {
      reason: 'CertificateExpired',
      what: `the certificate in ${path} was valid until ${until.toISOString()}`,
      remedy:
        'Renew it before the upgrade: write kubernetes.controlPlane.certificates.renewBefore and run machineadm upgrade with the version that runs, or kubeadm certs renew. An authority must be rotated by hand.',
    },
  ];
}

/** Whether etcd keeps its quorum while the member of this machine restarts, and whether its data fits on the disk twice. */
export async function etcdObstacles(host: QueryHost): Promise<readonly UpgradeObstacle[]> {
  const { obstacle, outlook } = await quorumOf(host);
  if (outlook === undefined) return obstacle === undefined ? [] : [obstacle];
  const { members, size } = outlook;
  const pause: readonly UpgradeObstacle[] =
    members > 2
      ? []
      : [
          {
            reason: 'EtcdQuorumAtRisk',
            what: `etcd has ${members === 1 ? 'one member' : 'two members'}: the API pauses while the member of this machine restarts`,
            remedy: 'With three control planes it does not.',
            severity: 'warning',
          },
        ];
  return [...pause, ...(await spaceObstacles(host, size))];
}

/** Either why the member of this machine must not be stopped now, or what etcd is without it. */
export async function quorumOf(
  host: QueryHost,
  signal?: AbortSignal,
): Promise<{ readonly obstacle?: UpgradeObstacle; readonly outlook?: EtcdOutlook }> {
  const manifest = await readManifest((await host.readText(manifestPath('etcd'))) ?? '');
  const etcd = manifest === undefined ? undefined : await localEtcd(host, manifest);
  if (etcd === undefined) {
    const what =
      'the etcd of this machine cannot be asked: it has no manifest, or other certificates than those of kubeadm';
    return { obstacle: atRisk(what, 'Restore its manifest and healthcheck-client.crt.') };
  }
  const outlook = await etcdOutlook(etcd, signal);
  if (outlook === undefined) {
    const what = `${etcd.endpoints.join(', ')} did not list the members of etcd`;
    return { obstacle: atRisk(what, 'Make sure that etcd runs.') };
  }
  if (outlook.risk === undefined) return { outlook };
  const remedy = 'Restore the other members first, then run machineadm upgrade again.';
  return { obstacle: atRisk(`etcd: ${outlook.risk}`, remedy) };
}

/** The snapshot, and the copy that kubeadm makes of etcd's data below /etc/kubernetes/tmp. */
async function spaceObstacles(host: QueryHost, database: number): Promise<readonly UpgradeObstacle[]> {
  return [
    ...(await spaceAt(host, UPGRADE_DIRECTORY, database + SPACE_FOR_REST)),
    ...(await spaceAt(host, '/etc/kubernetes', 2 * database + SPACE_FOR_REST)),
  ];
}

/** Of the file system of a path, or of the nearest directory above that exists. */
export async function spaceAt(host: QueryHost, path: string, needed: number): Promise<readonly UpgradeObstacle[]> {
  let at = path;
  while (at !== '/' && (await host.stat(at)) === undefined) at = at.slice(0, at.lastIndexOf('/')) || '/';
  const args = ['--json', '--bytes', '--first-only', '--output', 'AVAIL', '--target', at];
  const { status, stdout } = await host.query({ program: 'findmnt', args });
  const free = status === 0 ? availIn(stdout) : undefined;
  if (free === undefined) return [skipped(`the space on the file system of ${path}`, 'findmnt does not tell it')];
  if (free >= needed) return [];
  return [
    {
      reason: 'DiskFull',
      what: `the file system of ${path} has ${mebibytes(free)} free, and the upgrade needs ${mebibytes(needed)}`,
      remedy: 'Free space there. kubeadm leaves copies of earlier upgrades below /etc/kubernetes/tmp.',
    },
  ];
}

function availIn(stdout: string): number | undefined {
  try {
    const filesystems = member(JSON.parse(stdout), 'filesystems');
    const avail: unknown = Array.isArray(filesystems) ? member(filesystems[0], 'avail') : undefined;
    const bytes = Number(avail);
    return avail === undefined || avail === null || Number.isNaN(bytes) ? undefined : bytes;
  } catch {
    return undefined;
  }
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / MIB)} MiB`;
}

/**
 * Whether somebody edited a static pod: the difference between what the installed kubeadm would write for the version that
 * runs, from the cluster's configuration, and what is on the disk. `kubeadm upgrade` replaces them. Its diff has neither
 * patches nor etcd (k/k cmd/kubeadm/app/cmd/upgrade/diff.go).
 *
 * @param kubeadm the installed one; only one of the running minor writes what its predecessor wrote
 */
export async function driftObstacles(
  host: QueryHost,
  { from }: Pick<UpgradeOrder, 'from'>,
  kubeadm: Version | undefined,
  pods: PatchedPods,
): Promise<readonly UpgradeObstacle[]> {
  const running = parseVersion(from);
  const what = 'whether static pods were edited by hand';
  if (kubeadm === undefined || kubeadm.minor !== running?.minor || kubeadm.major !== running.major) {
    return [skipped(what, `kubeadm ${kubeadm?.text ?? 'is not installed'}, and Kubernetes ${from} runs`)];
  }
  const { status, stdout, stderr } = await host.query({
    program: 'kubeadm',
    args: ['upgrade', 'diff', from, '--context-lines', WHOLE_FILES],
    timeoutMs: DIFF_TIMEOUT_MS,
  });
  if (status !== 0) return [skipped(what, textLines(stderr, stdout)[0] ?? `kubeadm upgrade diff ended with ${status}`)];
  const hasEtcd = (await host.stat(manifestPath('etcd'))) !== undefined;
  const notKnown = hasEtcd ? [skipped(`${what}, for etcd`, 'kubeadm upgrade diff does not compare it')] : [];
  const patched = VERSIONED.filter((pod) => isPatched(pods.kubernetes, pod));
  const found = await editsIn(stdout, patched.map(manifestPath));
  if (found === undefined) return [skipped(what, 'the output of kubeadm upgrade diff is not one')];
  const diff = [...found];
  for (const pod of patched) {
    const edits = await patchedEdits(host, pod, kubeadm, from, pods);
    if ('why' in edits) notKnown.push(skipped(`${what}, for ${pod}, which the document patches`, edits.why));
    else diff.push(...withoutOwn(edits.diff));
  }
  if (diff.length === 0) return notKnown;
  const shown = withoutValues(diff);
  return [
    ...notKnown,
    {
      reason: 'ControlPlaneEdited',
      what: `static pods differ from the cluster's configuration (kubeadm-config), and kubeadm upgrade would undo that: ${describeEdits(shown)}`,
      remedy:
        'Record the edit in the ConfigMap kubeadm-config, or as kubernetes.bootstrapper.kubeadm.patches; or let the upgrade undo it with --overwrite-manifests.',
      evidence: evidenceFrom('what kubeadm would change', shown.slice(0, 60)),
    },
  ];
}

/**
 * The edits in kubeadm's unified diff of whole files, except in these. Its own lines are not shown: it cannot be seen in them what
 * belongs to the value of a variable. undefined: the output is no diff.
 */
async function editsIn(output: string, except: readonly string[]): Promise<readonly string[] | undefined> {
  const { parsePatch } = await import('diff');
  let files: ReturnType<typeof parsePatch>;
  try {
    files = parsePatch(output);
  } catch {
    return undefined;
  }
  const edits = files.map(async ({ oldFileName = '', hunks }) => {
    const lines = hunks.flatMap((hunk) => hunk.lines);
    const side = (other: '+' | '-') =>
      lines.flatMap((line) => (line.startsWith(other) ? [] : `${line.slice(1)}\n`)).join('');
    return except.includes(oldFileName) ? [] : withoutOwn(await editsBetween(oldFileName, side('+'), side('-')));
  });
  return (await Promise.all(edits)).flat();
}

/** Without the lines that are no edits, and without files that have no others. */
function withoutOwn(diff: readonly string[]): readonly string[] {
  const edits = diff.filter((line) => !isOfUs(line));
  return edits.filter((line, index) => !line.startsWith('--- ') || edits[index + 1]?.startsWith('--- ') === false);
}

/**
 * The time for a start, which kubeadm takes from its timeouts: they are not in the cluster's configuration
 * (k/k cmd/kubeadm/app/util/staticpod/utils.go, StartupProbe).
 */
function isOfUs(line: string): boolean {
  return /^[-+] +failureThreshold: \d+$/.test(line);
}

/** The values of variables may be secret. */
function withoutValues(diff: readonly string[]): readonly string[] {
  return diff.map((line) => line.replace(/^([-+] *(?:- )?value:).*/, '$1 (not shown)'));
}

/** `FILE (removes --profiling=false; adds --v=2), FILE (…)`, with the first lines of each. */
function describeEdits(diff: readonly string[]): string {
  const files = new Map<string, string[]>();
  let path = '';
  for (const line of diff) {
    if (line.startsWith('--- ')) path = line.slice(4);
    else {
      const what = line.slice(1).trim().replace(/^- /, '');
      files.set(path, [...(files.get(path) ?? []), `${line.startsWith('-') ? 'removes' : 'adds'} ${what}`]);
    }
  }
  const shown = (edits: readonly string[]) => {
    const more = edits.length - MOST_EDITS;
    return [...edits.slice(0, MOST_EDITS), ...(more > 0 ? [`and ${more} lines more`] : [])].join('; ');
  };
  return [...files].map(([file, edits]) => `${file} (${shown(edits)})`).join(', ');
}

function atRisk(what: string, remedy: string): UpgradeObstacle {
  return { reason: 'EtcdQuorumAtRisk', what, remedy };
}
