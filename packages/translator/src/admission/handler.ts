import { type Api, isStatus } from '../cluster/api.ts';
import { SECRET_TYPE, type SecretObject } from '../cluster/objects.ts';
import { configOwner, type Related, relatedObjects, type ServedVersions } from '../cluster/related.ts';
import { essentials } from '../conversions/essentials.ts';
import type { Conversions } from '../conversions/pool.ts';
import { Kept } from '../handover/kept.ts';
import { isTranslated } from '../handover/mark.ts';
import { hasBootstrapData, isOptedIn } from '../handover/opt-in.ts';
import { type Profiles, profileFor } from '../handover/profiles.ts';
import { reportSink } from '../reports/token.ts';
import { type AdmissionRequest, allowed, kept, translated } from './review.ts';

/** What became of a Secret. `Untouched`: nobody asked for a translation, or there is nothing to translate. */
export type Outcome =
  | { readonly kind: 'Untouched'; readonly why: string }
  | { readonly kind: 'Translated'; readonly codes: readonly string[] }
  | { readonly kind: 'Kept'; readonly error: Kept };

export interface Answer {
  /** The AdmissionReview for the API server. It always allows the request. */
  readonly review: object;
  readonly outcome: Outcome;
}

export interface Translator {
  readonly api: Api;
  readonly versions: ServedVersions;
  /** The current profiles. Throws `Kept` where the file is invalid. */
  readonly profiles: () => Promise<Profiles>;
  readonly version: string;
  readonly conversions: Conversions;
  /** Whether the caller is known to be the API server; otherwise no answer contains a credential or a secret of a profile. */
  readonly isCallerProven: boolean;
  /** Users whose Secrets are translated: the bootstrap provider. */
  readonly providerUsers: readonly string[];
}

/**
 * Answers an admission request. It never refuses one: where the translation fails or takes too long, the Secret passes as
 * it is, so that the cluster works on as it did without the translator. It writes nothing: what became of the Secret is
 * stored with it, as annotations. Never throws.
 */
export async function admit(request: AdmissionRequest, translator: Translator, deadline: AbortSignal): Promise<Answer> {
  const { uid, secret } = request;
  const untouched = (why: string): Answer => ({ review: allowed(uid), outcome: { kind: 'Untouched', why } });
  const nothingToDo = reasonToSkip(request, translator.providerUsers);
  if (secret === undefined || nothingToDo !== undefined) return untouched(nothingToDo ?? 'no Secret');
  const owner = configOwner(secret);
  if (owner === undefined) return untouched('no KubeadmConfig owns it');
  /** Whether it is known that the machine opted in: the Secrets of others are never touched. */
  let isWanted = false;
  const work = async (): Promise<Answer> => {
    const related = await relatedObjects(translator.api, translator.versions, request.namespace, owner, deadline);
    if (related === undefined) return untouched('its KubeadmConfig is gone');
    const { machine, config, cluster } = related;
    if (!isOptedIn([machine, config, cluster])) return untouched('not opted in');
    // It may have booted already. What was translated stays so.
    if (hasBootstrapData(machine) && !isTranslated(request.before)) {
      return untouched('the machine has its bootstrap data already');
    }
    isWanted = true;
    return await translation(request, secret, related, translator, deadline);
  };
  try {
    return await within(deadline, work());
  } catch (error) {
    // Without the KubeadmConfig nobody knows whether the machine opted in.
    if (!isWanted && isStatus(error, 404)) return untouched('Cluster API is not installed');
    const why = keptBy(error, deadline);
    const review = isWanted ? kept(uid, secret, `${why.reason}: ${why.message}`) : allowed(uid);
    return { review, outcome: { kind: 'Kept', error: why } };
  }
}

/** Why a request has nothing to translate, by the request alone; undefined = it may have. */
export function reasonToSkip({ secret, user }: AdmissionRequest, providerUsers: readonly string[]): string | undefined {
  if (secret?.type !== SECRET_TYPE) return 'no Secret of Cluster API';
  const value = secret.data?.value;
  if (value === undefined || value === '') return 'no user data';
  // A backup that is restored, clusterctl move, or a user's own Secret.
  if (!providerUsers.includes(user)) return 'not written by the bootstrap provider';
  if (isTranslated(secret)) return 'translated already';
  return undefined;
}

async function translation(
  { uid, isDryRun, namespace }: AdmissionRequest,
  secret: SecretObject,
  { config, machine, cluster }: Related,
  { api, profiles, version, conversions, isCallerProven }: Translator,
  deadline: AbortSignal,
): Promise<Answer> {
  if (machine === undefined)
    throw new Kept('ConversionFailed', 'the KubeadmConfig has no Machine or MachinePool as owner');
  const { name, profile } = profileFor([machine, config, cluster], await profiles());
  const objects = [machine, ...(cluster === undefined ? [] : [cluster])];
  const converted = await conversions.convertSecret(
    namespace,
    deadline,
    ...essentials({ ...secret, metadata: { ...secret.metadata, namespace } }, objects),
    profile,
  );
  const report =
    profile.report === undefined
      ? undefined
      : await reportSink(api, machine, profile.report, { isDryRun, isCallerProven }, deadline);
  const options = { profile, sink: report?.sink, mayHoldSecrets: isCallerProven, translatorVersion: version };
  const userData = await conversions.wrapConverted(namespace, deadline, converted, options);
  const notes = report?.omitted === undefined ? [] : [report.omitted];
  const mark = { version, profile: name, codes: [...converted.codes], notes };
  return {
    review: translated(uid, secret, userData, mark),
    outcome: { kind: 'Translated', codes: converted.codes },
  };
}

async function within<T>(deadline: AbortSignal, work: Promise<T>): Promise<T> {
  const timedOut = new Promise<never>((_, reject) => {
    const end = () => reject(tooSlow());
    if (deadline.aborted) end();
    else deadline.addEventListener('abort', end, { once: true });
  });
  return await Promise.race([work, timedOut]);
}

function tooSlow(cause?: unknown): Kept {
  return new Kept('TimedOut', 'the API server or the translator was too slow', cause);
}

function keptBy(error: unknown, deadline: AbortSignal): Kept {
  if (error instanceof Kept) return error;
  if (deadline.aborted) return tooSlow(error);
  return new Kept('TranslationFailed', 'an API request failed or the translator has a defect; see its log', error);
}
