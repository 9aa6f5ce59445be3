import { setTimeout as pause } from 'node:timers/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { ADMIN_KUBECONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { Component } from '@machineadm/hardening/controls/control.ts';
import { editManifest, type ManifestEdit, readManifest } from '@machineadm/hardening/manifest.ts';
import { manifestPath } from '@machineadm/hardening/observed.ts';
import { getObject } from '../../host/cluster/api-server.ts';
import { type ClusterCredential, KubeconfigUnusable, readKubeconfig } from '../../host/cluster/kubeconfig.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { readProcesses } from './observe.ts';

export interface Pace {
  readonly timeoutMs: number;
  /** Pause between two checks. */
  readonly pauseMs: number;
}

/** The kubelet stops the old pod, up to 30 s, and starts the new one; on a slow disk an API server needs a minute. */
export const USUAL_PACE: Pace = { timeoutMs: 180_000, pauseMs: 1_000 };
/** A process that lives this long has accepted its arguments. */
const STEADY_LOOKS = 3;

export interface RestartOptions {
  readonly pace: Pace;
  readonly signal: AbortSignal;
  waitingFor(what: string | undefined): void;
}

/**
 * Edits the manifest of a component and waits until it runs with the new arguments. Otherwise the old manifest is
 * restored, and `HardenedComponentFailed` is thrown.
 */
export async function changeComponent(
  host: Host,
  component: Component,
  edits: readonly ManifestEdit[],
  { pace, signal, waitingFor }: RestartOptions,
): Promise<void> {
  const path = manifestPath(component);
  const [before, stat] = [await host.readText(path), await host.stat(path)];
  if (before === undefined || stat === undefined) return;
  const after = edits.length === 0 ? before : await editManifest(before, edits);
  const put = async (content: string): Promise<void> => {
    // The kubelet reads every file of this directory except those that begin with a dot
    // (pkg/kubelet/config/file_linux.go).
    await host.writeFile({ path, content, mode: stat.mode, uid: stat.uid, gid: stat.gid });
    await host.sync(path);
  };
  if (after !== before) await put(after);
  waitingFor(`${component} to run with the settings of the hardening profile`);
  const why = await runsWith(host, component, (await readManifest(after)).args, pace, signal);
  waitingFor(undefined);
  if (why === undefined) return;
  if (after !== before) await put(before);
  throw new MachineadmError({
    reason: 'HardenedComponentFailed',
    summary: `${component} did not come back with the settings of the hardening profile: ${why}. Its manifest was restored.`,
    remedy:
      'Read the log of the component (crictl logs, /var/log/pods) and the journal of the kubelet; then fix the cause, or exclude the control.',
    evidence: edits.map((edit) => ({ source: path, text: describeEdit(edit) })),
    retryable: true,
  });
}

function describeEdit(edit: ManifestEdit): string {
  if (edit.kind === 'set') return `set --${edit.name}=${edit.value}`;
  return edit.kind === 'remove' ? `remove --${edit.name}` : `mount ${edit.mount.path}`;
}

/** Waits until one process runs with all of these arguments and answers; returns the last problem otherwise. */
async function runsWith(
  host: QueryHost,
  component: Component,
  args: ReadonlyMap<string, string>,
  { timeoutMs, pauseMs }: Pace,
  signal: AbortSignal,
): Promise<string | undefined> {
  const end = performance.now() + timeoutMs;
  let steady = 0;
  for (;;) {
    const why = await whyNot(host, component, args, signal);
    steady = why === undefined ? steady + 1 : 0;
    if (steady >= STEADY_LOOKS) return undefined;
    if (performance.now() > end) return why ?? 'it does not stay up';
    await pause(pauseMs, undefined, { signal });
  }
}

async function whyNot(
  host: QueryHost,
  component: Component,
  args: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const processes = (await readProcesses(host)).get(component) ?? [];
  if (processes.length === 0) return 'it does not run';
  if (processes.length > 1) return 'its old process has not ended';
  const other = [...args].find(([name, value]) => processes[0]?.get(name) !== value);
  const gone = [...(processes[0]?.keys() ?? [])].find((name) => !args.has(name));
  if (other !== undefined) return `it runs without --${other[0]}=${other[1]}`;
  if (gone !== undefined) return `it still runs with --${gone}`;
  return component === 'kube-apiserver' ? await apiServerProblem(host, signal) : undefined;
}

async function apiServerProblem(host: QueryHost, signal: AbortSignal): Promise<string | undefined> {
  const credential = await administrator(host);
  // Without a credential it is enough that it keeps running.
  if (credential === undefined) return undefined;
  const answer = await getObject(credential, '/version', signal);
  return answer.kind === 'found' ? undefined : 'why' in answer ? answer.why : 'it does not answer';
}

async function administrator(host: QueryHost): Promise<ClusterCredential | undefined> {
  try {
    return await readKubeconfig(host, ADMIN_KUBECONFIG);
  } catch (error) {
    if (error instanceof KubeconfigUnusable) return undefined;
    throw error;
  }
}
