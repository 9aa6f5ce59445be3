import { PATCH_TARGETS } from '@machineadm/document/kubernetes-releases/kubeadm.ts';
import { includes } from '@machineadm/document/kubernetes-releases/minor.ts';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { RUN_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { evaluateUpgrade, type OutputLine } from '@machineadm/kubeadm/output.ts';
import { patches } from '@machineadm/kubeadm/patches.ts';
import { Problems } from '@machineadm/kubeadm/problems.ts';
import { kubeadmTarget } from '@machineadm/kubeadm/version.ts';
import { describeKill, killOf } from '../../host/commands/killed.ts';
import type { Host } from '../../host/seam/host.ts';

/** `apply` upgrades the cluster's configuration and add-ons, too: the first control plane does. */
export type UpgradeCommand = 'apply' | 'node';

/** Patches that the document contains; kubeadm reads them from a directory. */
const PATCHES = `${RUN_DIRECTORY}/upgrade-patches`;
const MOST_LINES = 5_000;

/** The arguments of kubeadm, with the patches of the document. */
export async function upgradeCommandLine(
  host: Host,
  command: UpgradeCommand,
  {
    kubernetes,
    kubeadm,
    to,
    ignored,
  }: {
    readonly kubernetes: KubernetesModel;
    readonly kubeadm: Version;
    readonly to: string;
    readonly ignored: readonly string[];
  },
): Promise<readonly string[]> {
  const ignorePreflightErrors = [...new Set([...kubernetes.kubeadm.ignorePreflightErrors, ...ignored])];
  const target = kubeadmTarget(kubeadm);
  const directory = await patchesOf(host, kubernetes, kubeadm);
  const flag = target.configVersion === 'v1beta2' ? '--experimental-patches' : '--patches';
  const skipped = await addonPhases(host, command, kubernetes);
  return [
    'upgrade',
    ...(command === 'apply' ? ['apply', to, '--yes'] : ['node']),
    ...(ignorePreflightErrors.length === 0 ? [] : [`--ignore-preflight-errors=${ignorePreflightErrors.join(',')}`]),
    ...(directory === undefined ? [] : [`${flag}=${directory}`]),
    ...(skipped.length === 0 ? [] : [`--skip-phases=${skipped.join(',')}`]),
  ];
}

/**
 * The phases of add-ons that the document disables. A kubeadm that has them installs the add-ons where they are missing
 * (observed from 1.35 to 1.36); one without them leaves out what the cluster does not have.
 */
async function addonPhases(
  host: Host,
  command: UpgradeCommand,
  { addons: { dns, proxy } }: KubernetesModel,
): Promise<readonly string[]> {
  const disabled = [...(dns.enabled ? [] : ['coredns']), ...(proxy.enabled ? [] : ['kube-proxy'])];
  if (disabled.length === 0) return [];
  const { stdout } = await host.query({ program: 'kubeadm', args: ['upgrade', command, '--help'] });
  return disabled.filter((name) => stdout.includes(`  /${name} `)).map((name) => `addon/${name}`);
}

/** The document's directory, or its patches as files; undefined: it has none, and kubeadm would undo edits by earlier ones. */
async function patchesOf(host: Host, kubernetes: KubernetesModel, kubeadm: Version): Promise<string | undefined> {
  const { patchesDirectory } = kubernetes.kubeadm;
  if (patchesDirectory !== undefined) return patchesDirectory;
  const target = kubeadmTarget(kubeadm);
  // The cluster has the configuration of the kubelet as it was when it was created: the document may have changed since.
  const isPatched =
    kubernetes.role !== 'InitControlPlane' || includes(PATCH_TARGETS.kubeletconfiguration, target.minor);
  const { files } = patches(kubernetes, isPatched ? 'join' : 'init', target, new Problems());
  await removePatches(host);
  for (const { path, content } of files) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    await host.writeFile({ path: `${PATCHES}/${name}`, content, mode: 0o600, directoryMode: 0o700 });
  }
  return files.length === 0 ? undefined : PATCHES;
}

/** Removes the files of `upgradeCommandLine`, also those of a run that was killed. */
export async function removePatches(host: Host): Promise<void> {
  for (const name of (await host.list(PATCHES)) ?? []) await host.removeFile(`${PATCHES}/${name}`);
}

/**
 * Runs `kubeadm upgrade`, which may be run again after any end: it puts manifests back that it could not replace
 * (k/k cmd/kubeadm/app/phases/upgrade/staticpods.go, rollbackOldManifests), and does again what is done already.
 *
 * @throws MachineadmError `KubeadmUpgradeFailed` with its whole output as transcript
 */
export async function runUpgrade(
  host: Host,
  args: readonly string[],
  { signal, line }: { readonly signal: AbortSignal; readonly line: (text: string) => void },
): Promise<void> {
  const lines: OutputLine[] = [];
  const shown = args.slice(0, args[1] === 'apply' ? 3 : 2).join(' ');
  const transcript = () => lines.slice(-MOST_LINES).map(({ text }) => ({ source: 'kubeadm', text }));
  const failed = (summary: string, evidence: MachineadmError['evidence']) =>
    new MachineadmError({
      reason: 'KubeadmUpgradeFailed',
      summary,
      remedy: 'Read the lines of kubeadm in the evidence, correct the cause, and run machineadm upgrade again.',
      evidence,
      transcript: transcript(),
      retryable: true,
    });
  try {
    const { status } = await host.run({
      program: 'kubeadm',
      args,
      signal,
      supervised: true,
      onLine: (stream, text) => {
        lines.push({ stream, text });
        line(text);
      },
    });
    const verdict = evaluateUpgrade(shown, status, lines);
    if (!verdict.succeeded) throw failed(verdict.summary, verdict.evidence);
  } catch (error) {
    const kill = killOf(error);
    if (kill !== undefined) {
      const last = evidenceFrom(
        'kubeadm',
        lines.slice(-5).map(({ text }) => text),
      );
      throw failed(`kubeadm ${shown} ${describeKill(kill)}.`, last);
    }
    throw error;
  }
}
