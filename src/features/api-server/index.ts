import { createHash } from 'node:crypto';
import type { ApiServerModel, KubernetesModel } from '@machineadm/document/model/index.ts';
import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { hasEffects } from '@machineadm/document/secrets/secret.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { member, strings } from '@machineadm/document/values/untyped.ts';
import { API_SERVER_MANIFEST, readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import { apiServerComponent } from '@machineadm/kubeadm/api-server-component.ts';
import { type RequestedNames, requestedNames } from '@machineadm/kubeadm/components.ts';
import type { Host, NewFile, QueryHost } from '../../host/seam/host.ts';
import { apiServerFiles, apiServerPaths, apiServerSecrets } from '../../kubernetes/api-server/files.ts';
import { reconfigure } from '../../kubernetes/api-server/reconfigure.ts';
import { lastLogLines, waitUntilServing } from '../../kubernetes/api-server/serving.ts';
import { TRANSACTION } from '../../kubernetes/api-server/transaction.ts';
import { expectedNodeName } from '../../kubernetes/node-name.ts';
import { type LocatedKubernetes, located } from '../../kubernetes/runtime-socket.ts';
import { resolveSecrets } from '../../kubernetes/secrets.ts';
import { differenceOf } from '../../owned-files/difference.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution, StepRecord } from '../../step/index.ts';

export interface ApiServerDesired {
  readonly kubernetes: LocatedKubernetes;
  /** undefined: it is required only where something must change. */
  readonly kubeadm: Version | undefined;
  readonly nodeName: string;
}

export type ApiServerActual =
  /** kubeadm has not created one yet. */
  | { readonly state: 'ahead' }
  | {
      readonly state: 'running';
      /** The differences to the document, in words. */
      readonly differences: readonly string[];
      /** An earlier run was killed while it changed the API server. */
      readonly unfinished: boolean;
      readonly noted: Noted | undefined;
      /** True where resolving a secret has side effects, which a read-only host must not cause. */
      readonly dependsOnSecrets: boolean;
    };

/** The journal's record of the document that the API server runs with. */
interface Noted {
  readonly fingerprint: string;
  readonly paths: readonly string[];
  readonly names: RequestedNames;
}

export interface ApiServerPayload {
  readonly desired: ApiServerDesired;
  readonly noted: Noted | undefined;
  readonly reconfigures: boolean;
  /** An earlier run was killed during it. */
  readonly resumes: boolean;
}

const CHANGE = 'api-server/configuration';
const MINUTE_MS = 60_000;
const DEFAULT_TIMEOUT_MS = 4 * MINUTE_MS;
/** Time for kubeadm and for everything between the waits. */
const SLACK_MS = 5 * MINUTE_MS;

/**
 * The API server of a running control plane: proved to serve with the document's settings, and reconfigured when the
 * document changes (`kubernetes/api-server/reconfigure.ts`). The settings are recorded even if there are none: only so
 * can a later change be detected.
 */
export const apiServer: FeatureStep<ApiServerDesired, ApiServerActual, ApiServerPayload> = {
  id: 'api-server',
  section: 'kubernetes.controlPlane',
  isRequested: STAYS,

  // Time to apply the new configuration, then roll back.
  deadlineMs: ({ kubernetes }) => 2 * (kubernetes.timeouts.controlPlaneMs ?? DEFAULT_TIMEOUT_MS) + SLACK_MS,

  desired(model, facts) {
    const { kubernetes } = model;
    if (kubernetes === undefined || kubernetes.exec !== undefined || kubernetes.role === 'Worker') return undefined;
    const here = located(kubernetes, model, facts);
    return { kubernetes: here, kubeadm: facts.kubeadm, nodeName: expectedNodeName(kubernetes, model, facts) };
  },

  secrets: ({ kubernetes }) => apiServerSecrets(kubernetes),

  async inspect(host, { kubernetes }, record) {
    if (record.bootstrap !== 'done') return { state: 'ahead' };
    const noted = notedBefore(record);
    const unfinished = record.interrupted.has(CHANGE) && (await host.stat(TRANSACTION)) !== undefined;
    const changed = noted !== undefined && noted.fingerprint !== fingerprint(kubernetes);
    const files = changed || unfinished ? await wantedFiles(host, kubernetes) : await knownFiles(host, kubernetes);
    const differences = changed
      ? namesThatDiffer(noted.names, kubernetes)
      : await manifestDifferences(host, kubernetes);
    for (const file of files ?? []) {
      const how = await differenceOf(host, file);
      if (how !== undefined) differences.push(`${file.path}: ${how}`);
    }
    if (changed && differences.length === 0) differences.push('other values');
    return { state: 'running', differences, unfinished, noted, dependsOnSecrets: files === undefined };
  },

  plan(desired, actual) {
    const change = (
      summary: string,
      rest: Partial<Change<ApiServerPayload>>,
      payload: Omit<ApiServerPayload, 'desired'>,
    ) => ({
      id: CHANGE,
      summary,
      scope: 'node' as const,
      repeatable: false,
      ineffective: 'APIServerNotReconfigured' as const,
      ...rest,
      payload: { desired, ...payload },
    });
    const proof = asks(desired.kubernetes.controlPlane.apiServer)
      ? 'check that the API server serves with the settings of the document'
      : 'record that the document no longer configures the API server';
    if (actual.state === 'ahead') {
      return [
        change(proof, { knownAfter: 'kubeadm' as const }, { noted: undefined, reconfigures: false, resumes: false }),
      ];
    }
    const { differences, unfinished, noted } = actual;
    if (differences.length > 0 || unfinished) {
      const why = differences.length > 0 ? differences.join('; ') : 'an earlier run was killed during it';
      const secrets = actual.dependsOnSecrets ? { knownAfter: 'secrets' as const } : {};
      return [
        change(`give the API server another configuration: ${why}`, secrets, {
          noted,
          reconfigures: true,
          resumes: unfinished,
        }),
      ];
    }
    return noted === undefined ? [change(proof, {}, { noted, reconfigures: false, resumes: false })] : [];
  },

  async apply(host, { payload }, execution) {
    if (payload.reconfigures) await giveConfiguration(host, payload, execution);
    else if (asks(payload.desired.kubernetes.controlPlane.apiServer)) await prove(host, payload.desired, execution);
    execution.remember(note(payload.desired.kubernetes));
  },
};

async function giveConfiguration(
  host: Host,
  { desired: { kubernetes, kubeadm, nodeName }, noted, resumes }: ApiServerPayload,
  execution: Execution,
): Promise<void> {
  if (kubeadm === undefined) {
    throw new MachineadmError({
      reason: 'KubeadmNotInstalled',
      summary: 'kubeadm is not installed, and it renders the configuration of the API server.',
      remedy: `Nothing was changed. Install kubeadm with the minor version of the cluster.`,
    });
  }
  const files = await wantedFiles(host, kubernetes);
  const wanted = new Set(files.map(({ path }) => path));
  await reconfigure(
    host,
    {
      ...{ kubernetes, kubeadm, nodeName, files, resumes },
      leftover: (noted?.paths ?? []).filter((path) => !wanted.has(path)),
      before: noted?.names ?? { args: [], env: [], volumes: [] },
    },
    { signal: execution.signal, waitingFor: (what) => execution.waitingFor(what) },
  );
}

async function prove(host: Host, { kubernetes }: ApiServerDesired, execution: Execution): Promise<void> {
  const manifest = await readManifest((await host.readText(API_SERVER_MANIFEST)) ?? '');
  if (manifest === undefined) throw notServing(`${API_SERVER_MANIFEST} does not exist, or is not a pod`, []);
  const demand = { manifest, gone: [], criSocket: kubernetes.node.criSocket, sinceMs: Date.now() };
  const serving = await waitUntilServing(host, demand, {
    timeoutMs: kubernetes.timeouts.controlPlaneMs ?? DEFAULT_TIMEOUT_MS,
    signal: execution.signal,
    waitingFor: (what) => execution.waitingFor(`the API server to serve: ${what}`),
  });
  execution.waitingFor(undefined);
  if (!serving.serves) throw notServing(serving.why, await lastLogLines(host, demand));
}

function notServing(why: string, words: readonly string[]): MachineadmError {
  const lines = evidenceFrom('log of container kube-apiserver', words);
  return new MachineadmError({
    reason: 'ControlPlaneComponentNotHealthy',
    summary: `The API server does not serve with the settings of the document: ${why}.`,
    remedy: 'Read the log of its container in the evidence, and correct the document.',
    evidence: lines,
    transcript: lines,
  });
}

/** Whether a document has settings for a running API server. */
function asks({ certSANs: _names, ...rest }: ApiServerModel): boolean {
  return Object.values(rest).some((value: unknown) => (Array.isArray(value) ? value.length > 0 : value !== undefined));
}

/** The files to write. Throws `SecretUnavailable`. */
async function wantedFiles(host: Host, kubernetes: KubernetesModel): Promise<readonly NewFile[]>;
async function wantedFiles(host: QueryHost, kubernetes: KubernetesModel): Promise<readonly NewFile[] | undefined>;
async function wantedFiles(host: QueryHost, kubernetes: KubernetesModel): Promise<readonly NewFile[] | undefined> {
  const secrets = await resolveSecrets(host, apiServerSecrets(kubernetes));
  return secrets === undefined ? undefined : apiServerFiles(kubernetes, secrets);
}

/**
 * The same without changes: a secret of the bootstrap may no longer exist, and one with side effects is not resolved
 * again. Then the files stay as they are.
 */
async function knownFiles(host: QueryHost, kubernetes: KubernetesModel): Promise<readonly NewFile[]> {
  if (apiServerSecrets(kubernetes).some(({ source }) => hasEffects(source))) return [];
  try {
    return (await wantedFiles(host, kubernetes)) ?? [];
  } catch (error) {
    if (error instanceof MachineadmError && error.reason === 'SecretUnavailable') return [];
    throw error;
  }
}

/**
 * The settings of the document's sections that are missing in the manifest. Direct arguments are not checked: a hook
 * may have edited them before kubeadm ran. Patches of the API server take precedence.
 */
async function manifestDifferences(host: QueryHost, { controlPlane, kubeadm }: KubernetesModel): Promise<string[]> {
  const patched =
    kubeadm.patchesDirectory !== undefined || kubeadm.patches.some(({ target }) => target === 'kube-apiserver');
  if (patched) return [];
  const { args, volumes } = apiServerComponent({ ...controlPlane.apiServer, args: [], env: [], volumes: [] });
  if (args.length === 0) return [];
  const manifest = await readManifest((await host.readText(API_SERVER_MANIFEST)) ?? '');
  const lacking = args.filter(({ name, value }) => !manifest?.command.includes(`--${name}=${value}`));
  const unmounted = volumes.filter((volume) => !manifest?.volumes.some(({ name }) => name === volume.name));
  return [
    ...lacking.map(({ name, value }) => `--${name}=${value} is missing`),
    ...unmounted.map(({ hostPath }) => `${hostPath} is not mounted`),
  ];
}

/** Settings that an earlier document did not have, and those that this one no longer has. */
function namesThatDiffer(before: RequestedNames, { controlPlane }: KubernetesModel): string[] {
  const now = namesOf(controlPlane.apiServer);
  const kinds = [
    ['args', 'the argument'],
    ['env', 'the variable'],
    ['volumes', 'the volume'],
  ] as const;
  return kinds.flatMap(([kind, what]) => [
    ...now[kind].filter((name) => !before[kind].includes(name)).map((name) => `${what} ${name} is new`),
    ...before[kind].filter((name) => !now[kind].includes(name)).map((name) => `${what} ${name} goes`),
  ]);
}

function namesOf(apiServer: ApiServerModel): RequestedNames {
  return requestedNames(apiServerComponent(apiServer));
}

/** A document's settings for the API server, with secrets by name: equal = unchanged. */
function fingerprint({ controlPlane }: KubernetesModel): string {
  const { certSANs: _names, ...rest } = controlPlane.apiServer;
  return createHash('sha256').update(JSON.stringify(rest)).digest('hex');
}

function note(kubernetes: KubernetesModel): Noted {
  return {
    fingerprint: fingerprint(kubernetes),
    paths: apiServerPaths(kubernetes),
    names: namesOf(kubernetes.controlPlane.apiServer),
  };
}

function notedBefore({ notes }: StepRecord): Noted | undefined {
  const found = notes.get(CHANGE);
  const fingerprint = member(found, 'fingerprint');
  if (typeof fingerprint !== 'string') return undefined;
  const names = member(found, 'names');
  return {
    fingerprint,
    paths: strings(member(found, 'paths')),
    names: {
      args: strings(member(names, 'args')),
      env: strings(member(names, 'env')),
      volumes: strings(member(names, 'volumes')),
    },
  };
}
