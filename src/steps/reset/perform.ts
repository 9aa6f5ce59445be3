import { CONTAINERD_CONFIGURATION } from '@machineadm/document/ownership/paths.ts';
import { redact } from '@machineadm/document/redaction.ts';
import type { Host } from '../../host/seam/host.ts';
import { resetProgram } from '../../kubernetes/exec/runner.ts';
import { unmountAll } from '../../kubernetes/kubeadm/cleanup.ts';
import { resetNode } from '../../kubernetes/kubeadm/reset.ts';
import { leaveDomain } from '../active-directory/leave.ts';
import { wipeKubeadmConfig } from '../kubeadm-config.ts';
import { HOOKS_DIRECTORY, type ResetPlan } from './plan.ts';

export interface ResetWatch {
  readonly signal: AbortSignal;
  /** What is being done, one line each, redacted. */
  line(text: string): void;
}

/** Carries out a plan. Every part may meet that it was done before. */
export async function performReset(host: Host, plan: ResetPlan, { signal, line }: ResetWatch): Promise<void> {
  const say = (text: string): void => line(redact(text));
  if (plan.sentinel !== undefined) await host.removeFile(plan.sentinel);
  await unmountVolumes(host, plan, say, signal);
  if (plan.kubeadm !== undefined) {
    const watch = { signal, line: say, warn: (text: string) => say(`warning: ${text}`), waitingFor: () => {} };
    await resetNode(host, { ...plan.kubeadm, offline: false, automatic: false }, watch);
  }
  if (plan.exec !== undefined) await resetProgram(host, { reset: plan.exec }, { signal, line: say });
  // Its keys go with the files.
  if (plan.domain !== undefined) await leaveDomain(host, plan.domain, { line: say, signal });
  await wipeKubeadmConfig(host, say);
  await removeFiles(host, plan, say);
  if ((await host.stat(HOOKS_DIRECTORY)) !== undefined) {
    await host.run({ program: 'rm', args: ['-r', '-f', '--one-file-system', '--', HOOKS_DIRECTORY], signal });
  }
}

/** The kubelet would mount them again, so it goes first. */
async function unmountVolumes(
  host: Host,
  { mounts, kubeadm }: ResetPlan,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  if (kubeadm !== undefined && (await host.service('kubelet')).exists) await host.services.stop('kubelet');
  await unmountAll(host, mounts.kubelet, { signal, line: say });
}

async function removeFiles(host: Host, plan: ResetPlan, say: (text: string) => void): Promise<void> {
  for (const service of plan.disable) {
    if (!(await host.service(service)).enabled) continue;
    say(`disable ${service}`);
    await host.services.disable(service);
  }
  for (const { path, original } of plan.restore) await putBack(host, path, original, say);
  for (const path of plan.remove) {
    const stat = await host.stat(path);
    if (stat === undefined) continue;
    say(`remove ${path}`);
    if (stat.type !== 'directory') await host.removeFile(path);
    // One that holds something else by now is not ours any more.
    else await host.run({ program: 'rmdir', args: ['--ignore-fail-on-non-empty', '--', path] });
  }
  const touched = [...plan.remove, ...plan.restore.map(({ path }) => path)];
  if (touched.some((path) => path.startsWith('/etc/systemd/'))) await host.services.reload();
  const containerd = touched.includes(CONTAINERD_CONFIGURATION) && (await host.service('containerd')).active;
  if (containerd) await host.services.restart('containerd');
}

async function putBack(host: Host, path: string, original: string, say: (text: string) => void): Promise<void> {
  const content = await host.readFile(original);
  const stat = await host.stat(original);
  // Put back by an earlier, interrupted reset.
  if (content === undefined || stat === undefined) return;
  say(`restore ${path}`);
  await host.writeFile({ path, content, mode: stat.mode, uid: stat.uid, gid: stat.gid });
  await host.removeFile(original);
}
