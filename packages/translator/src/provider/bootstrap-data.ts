import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import * as z from 'zod';
import { type Api, isStatus } from '../cluster/api.ts';
import { CLUSTER_LABEL, type KubernetesObject, SECRET_TYPE, SecretObject } from '../cluster/objects.ts';
import { readObject, type ServedVersions } from '../cluster/related.ts';
import type { Conversions } from '../conversions/pool.ts';
import { decoded } from '../conversions/secret-data.ts';
import type { ReportSink } from '../conversions/translate.ts';
import { Kept } from '../handover/kept.ts';
import { type Profile, type Profiles, profileFor } from '../handover/profiles.ts';
import { prepareReport } from '../reports/prepare.ts';
import { reportSink } from '../reports/token.ts';
import type { Log } from '../telemetry/log.ts';
import { NotReady } from './not-ready.ts';
import { type Config, clusterFacts, ownerState } from './objects.ts';
import { checkDocument, hasOwnToken, renderDocument, withProfile } from './render.ts';
import { extendToken, newToken, removeToken, storeToken, TOKEN_MS, tokenLeft } from './workload.ts';
import { inWorkload, mayNotRead, type Workloads } from './workloads.ts';

/** On the Secret: the public part of the bootstrap token in it. */
export const TOKEN_ID = 'machineadm.dev/bootstrap-token-id';
const PAUSED = 'cluster.x-k8s.io/paused';

interface Context {
  readonly api: Api;
  readonly versions: ServedVersions;
  readonly profiles: () => Promise<Profiles>;
  readonly conversions: Conversions;
  readonly version: string;
  readonly log: Log;
  /** Namespaces whose machines may report. */
  readonly reportNamespaces: readonly string[];
}

/** The Secret of a MachineadmConfig, and whether nothing is left to do until an object changes. */
export interface Provided {
  readonly secret: string;
  readonly isSettled: boolean;
}

/**
 * Makes the bootstrap data of a machine, once, and keeps its token alive until the machine has joined. The instances of a
 * MachinePool get new data with a new token once all have joined. Throws `NotReady`.
 */
export async function bootstrapData(
  context: Context,
  workloads: Workloads,
  config: Config,
  owner: KubernetesObject,
  signal: AbortSignal,
): Promise<Provided | 'paused'> {
  const { api, versions } = context;
  const { name, namespace = '', annotations } = config.metadata;
  const clusterName = config.metadata.labels?.[CLUSTER_LABEL] ?? owner.metadata.labels?.[CLUSTER_LABEL];
  const cluster =
    clusterName === undefined ? undefined : await readObject(api, versions, 'Cluster', namespace, clusterName, signal);
  if (cluster === undefined)
    throw new NotReady('WaitingForClusterInfrastructure', 'there is no Cluster of this object');
  const facts = clusterFacts(cluster);
  if (facts.isPaused || annotations?.[PAUSED] !== undefined) return 'paused';
  const stored = await secretAt(api, namespace, name, signal);
  if (stored !== undefined && !isOf(stored, config)) {
    throw new NotReady('DataSecretExists', `Secret ${name} exists and belongs to something else: rename or remove it`);
  }
  const { isPool, hasJoined, version } = ownerState(owner);
  const id = stored?.metadata.annotations?.[TOKEN_ID];
  const workload = () => workloads.of(namespace, cluster.metadata.name, signal);
  if (stored !== undefined) {
    if (id === undefined) return { secret: name, isSettled: true };
    const now = new Date();
    const { api: target } = await workload();
    if (hasJoined && !isPool) {
      await inWorkload(() => removeToken(target, id, signal));
      return { secret: name, isSettled: true };
    }
    const left = await inWorkload(() => tokenLeft(target, id, now, signal));
    if (!isPool && left === undefined) {
      throw new NotReady(
        'BootstrapTokenExpired',
        'the machine did not join before its token expired: replace the Machine',
      );
    }
    const isFresh = left !== undefined && left > TOKEN_MS / 2;
    if (isFresh) return { secret: name, isSettled: false };
    if (!hasJoined && left !== undefined) {
      await inWorkload(() => extendToken(target, id, now, signal));
      return { secret: name, isSettled: false };
    }
  }
  if (!facts.hasInfrastructure || facts.endpoint === undefined) {
    throw new NotReady('WaitingForClusterInfrastructure', 'the infrastructure of the Cluster is not ready');
  }
  if (!facts.isInitialized) {
    throw new NotReady('WaitingForControlPlaneInitialized', 'the control plane of the Cluster is not initialized');
  }
  if (version === undefined)
    throw new NotReady('VersionMissing', `${owner.kind} ${owner.metadata.name} has no version`);
  checkDocument(config);
  const { api: target, caCertHashes } = await workload();
  const secrets = await secretValues(api, config, signal);
  const { id: newId, token } = newToken();
  const document = renderDocument(config, {
    version,
    endpoint: facts.endpoint,
    caCertHashes,
    token,
    secrets,
    cluster: cluster.metadata.name,
    name: owner.metadata.name,
    uid: isPool ? undefined : owner.metadata.uid,
  });
  const userData = await userDataOf(context, config, [owner, cluster], document, signal);
  const needsToken = !hasOwnToken(config);
  // First: a machine may boot as soon as its Secret is stored. Where this run ends between the two, the token expires.
  if (needsToken) await inWorkload(() => storeToken(target, token, new Date(), signal));
  await storeSecret(api, config, cluster.metadata.name, userData, needsToken ? newId : undefined, stored, signal);
  return { secret: name, isSettled: !needsToken };
}

async function secretAt(
  api: Api,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<SecretObject | undefined> {
  try {
    const path = `/api/v1/namespaces/${namespace}/secrets/${encodeURIComponent(name)}`;
    return SecretObject.parse(await api.request({ path, signal }));
  } catch (error) {
    if (isStatus(error, 404)) return undefined;
    if (isStatus(error, 403)) throw new NotReady('SecretUnavailable', mayNotRead(name));
    throw error;
  }
}

function isOf({ metadata }: SecretObject, config: Config): boolean {
  return metadata.ownerReferences?.some(({ uid }) => uid === config.metadata.uid) === true;
}

/** Types whose Secrets no document may contain: keys and credentials of clusters, and of service accounts. */
const FORBIDDEN_TYPES: ReadonlySet<string | undefined> = new Set([
  SECRET_TYPE,
  'kubernetes.io/service-account-token',
  'bootstrap.kubernetes.io/token',
  'helm.sh/release.v1',
]);

/** The values of the Secrets that a MachineadmConfig refers to, all of its own namespace. */
export async function secretValues(
  api: Api,
  config: Config,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const { namespace = '' } = config.metadata;
  const values = new Map<string, string>();
  for (const { name, secretRef } of config.spec.secrets) {
    const problem = (why: string) =>
      new NotReady('SecretUnavailable', `spec.secrets ${name}: Secret ${secretRef.name} ${why}`);
    const secret = await secretAt(api, namespace, secretRef.name, signal);
    if (secret === undefined) throw problem('does not exist');
    if (FORBIDDEN_TYPES.has(secret.type)) throw problem(`has the type ${secret.type}, which no machine may get`);
    const value = decoded(secret.data?.[secretRef.key]);
    if (value === undefined || value === '') throw problem(`has no value for the key ${secretRef.key}`);
    values.set(name, value);
  }
  return values;
}

async function userDataOf(
  context: Context,
  config: Config,
  [owner, cluster]: readonly [KubernetesObject, KubernetesObject],
  document: object,
  signal: AbortSignal,
): Promise<string> {
  const { profiles, conversions, version } = context;
  const { format } = config.spec;
  try {
    const { profile } = profileFor([withProfile(config), owner, cluster], await profiles());
    // JSON is YAML.
    const converted = { yaml: `${JSON.stringify(document)}\n`, format, codes: [] };
    const options = {
      profile,
      sink: await sinkOf(context, owner, profile, signal),
      mayHoldSecrets: true,
      translatorVersion: version,
    };
    return await conversions.wrapConverted(config.metadata.namespace ?? '', signal, converted, options);
  } catch (error) {
    if (!(error instanceof Kept)) throw error;
    if (error.reason === 'TimedOut' || error.reason === 'TranslationFailed') {
      throw new NotReady('RequestFailed', errorMessage(error));
    }
    const isOption = error.reason === 'OptionsInvalid';
    throw new NotReady(isOption ? 'OptionsInvalid' : 'DocumentInvalid', errorMessage(error));
  }
}

/** The report of a machine, where its profile has one and its namespace may: the machine boots without one otherwise. */
async function sinkOf(
  { api, log, reportNamespaces }: Context,
  owner: KubernetesObject,
  { report }: Profile,
  signal: AbortSignal,
): Promise<ReportSink | undefined> {
  const { name, namespace = '' } = owner.metadata;
  if (report === undefined || owner.kind !== 'Machine') return undefined;
  if (!reportNamespaces.includes(namespace)) {
    log('warn', 'no report: add --report-namespace', { namespace, machine: name });
    return undefined;
  }
  await prepareReport(api, owner, signal);
  const { sink, omitted } = await reportSink(api, owner, report, { isDryRun: false, isCallerProven: true }, signal);
  if (omitted !== undefined) log('warn', omitted, { namespace, machine: name });
  return sink;
}

const Version = z.looseObject({ metadata: z.looseObject({ resourceVersion: z.string() }) });

/** Creates the Secret of the contract, or replaces that of a MachinePool. */
async function storeSecret(
  api: Api,
  config: Config,
  cluster: string,
  userData: string,
  tokenId: string | undefined,
  stored: SecretObject | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace = '', uid } = config.metadata;
  const { apiVersion, kind } = config;
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const body = {
    metadata: {
      name,
      namespace,
      labels: { [CLUSTER_LABEL]: cluster },
      ...(tokenId === undefined ? {} : { annotations: { [TOKEN_ID]: tokenId } }),
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
      ...(stored === undefined ? {} : { resourceVersion: Version.parse(stored).metadata.resourceVersion }),
    },
    type: SECRET_TYPE,
    data: {
      value: Buffer.from(userData).toString('base64'),
      format: Buffer.from(config.spec.format).toString('base64'),
    },
  };
  if (stored === undefined) await api.request({ method: 'POST', path, body, signal });
  else await api.request({ method: 'PUT', path: `${path}/${encodeURIComponent(name)}`, body, signal });
}
