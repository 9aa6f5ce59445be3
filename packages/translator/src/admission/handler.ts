import { type Api, isStatus } from '../cluster/api.ts';
import { SECRET_TYPE, type SecretObject } from '../cluster/objects.ts';
import { configOwner, type Related, relatedObjects, type ServedVersions } from '../cluster/related.ts';
import type { Conversions } from '../conversion-worker.ts';
import { Kept } from '../kept.ts';
import { isOptedIn } from '../opt-in.ts';
import { type Profile, profileFor } from '../profiles.ts';
import { mintReportCredential } from '../reports/mint.ts';
import { runsMachineadm } from '../translate.ts';
import { type AdmissionRequest, allowed, markOf, TRANSLATED, translated } from './review.ts';

/** What became of a Secret. `Untouched`: nobody asked for a translation, or there is nothing to translate. */
export type Outcome =
  | { readonly kind: 'Untouched'; readonly why: string }
  | { readonly kind: 'Translated'; readonly related: Related; readonly codes: readonly string[] }
  | { readonly kind: 'Kept'; readonly related: Related | undefined; readonly error: Kept };

export interface Answer {
  /** The AdmissionReview for the API server. It always allows the request. */
  readonly review: object;
  readonly outcome: Outcome;
}

export interface Translator {
  readonly api: Api;
  readonly versions: ServedVersions;
  /** The current profiles. Throws `Kept` where the file is invalid. */
  readonly profiles: () => Promise<ReadonlyMap<string, Profile>>;
  readonly version: string;
  readonly conversions: Conversions;
}

/**
 * Answers an admission request. It never refuses one: where the translation fails or takes too long, the Secret passes as
 * it is, so that the cluster works on as it did without the translator. Never throws.
 */
export async function admit(request: AdmissionRequest, translator: Translator, deadline: AbortSignal): Promise<Answer> {
  const { uid, secret } = request;
  const untouched = (why: string): Answer => ({ review: allowed(uid), outcome: { kind: 'Untouched', why } });
  const nothingToDo = reasonToSkip(request);
  if (secret === undefined || nothingToDo !== undefined) return untouched(nothingToDo ?? 'no Secret');
  let related: Related | undefined;
  const work = async (): Promise<Answer> => {
    const owner = configOwner(secret);
    if (owner === undefined) return untouched('no KubeadmConfig owns it');
    related = await relatedObjects(translator.api, translator.versions, request.namespace, owner, deadline);
    if (related === undefined) return untouched('its KubeadmConfig is gone');
    const narrowestFirst = [related.machine, related.config, related.cluster];
    if (!isOptedIn(narrowestFirst)) return untouched('not opted in');
    const { userData, codes } = await translation(request, secret, related, translator, deadline);
    return { review: translated(uid, secret, userData), outcome: { kind: 'Translated', related, codes } };
  };
  try {
    return await within(deadline, work());
  } catch (error) {
    // Without the KubeadmConfig nobody knows whether the machine opted in.
    if (related === undefined && isStatus(error, 404)) return untouched('Cluster API is not installed');
    return { review: allowed(uid), outcome: { kind: 'Kept', related, error: keptBy(error, deadline) } };
  }
}

/** Why a request has nothing to translate, by the request alone; undefined = it may have. */
export function reasonToSkip({ secret, before }: AdmissionRequest): string | undefined {
  if (secret?.type !== SECRET_TYPE) return 'no Secret of Cluster API';
  const value = secret.data?.value;
  if (value === undefined || value === '') return 'no user data';
  if (before?.data?.value === value) return 'user data unchanged';
  if (secret.metadata.annotations?.[TRANSLATED] === markOf(value) || runsMachineadm(secret))
    return 'translated already';
  return undefined;
}

async function translation(
  { isDryRun, namespace }: AdmissionRequest,
  secret: SecretObject,
  { config, machine, cluster }: Related,
  { api, profiles, version, conversions }: Translator,
  deadline: AbortSignal,
): Promise<{ readonly userData: string; readonly codes: readonly string[] }> {
  if (machine === undefined)
    throw new Kept('ConversionFailed', 'the KubeadmConfig has no Machine or MachinePool as owner');
  const profile = profileFor([machine, config, cluster], await profiles());
  const related = [machine, ...(cluster === undefined ? [] : [cluster])];
  const placed = { ...secret, metadata: { ...secret.metadata, namespace } };
  const converted = await conversions.convertSecret(deadline, placed, related, profile);
  const { report } = profile;
  // A dry run must have no side effect (sideEffects: NoneOnDryRun).
  const sink =
    report === undefined || isDryRun ? undefined : await mintReportCredential(api, machine, report, deadline);
  const userData = await conversions.wrapConverted(deadline, converted, profile, sink, version);
  return { userData, codes: converted.codes };
}

async function within<T>(deadline: AbortSignal, work: Promise<T>): Promise<T> {
  const timedOut = new Promise<never>((_, reject) => {
    const end = () => reject(new Kept('TimedOut', 'the API server or the translator was too slow'));
    if (deadline.aborted) end();
    else deadline.addEventListener('abort', end, { once: true });
  });
  return await Promise.race([work, timedOut]);
}

function keptBy(error: unknown, deadline: AbortSignal): Kept {
  if (deadline.aborted) return new Kept('TimedOut', 'the API server or the translator was too slow', error);
  if (error instanceof Kept) return error;
  return new Kept('TranslationFailed', 'an API request failed or the translator has a defect; see its log', error);
}
