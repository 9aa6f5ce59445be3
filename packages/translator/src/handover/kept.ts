/** Why a Secret stays as it is. Stable, and published in the conditions of Machine and KubeadmConfig (docs/cluster-api.md). */
export const KEPT_REASONS = {
  DecisionNeeded: 'The conversion needs a decision of the user.',
  ConversionFailed: 'The user data cannot be converted.',
  WrappingFailed: 'The document cannot be delivered in the format of the Secret, or is too large for the provider.',
  OptionsInvalid: 'A profile or an annotation is missing or invalid.',
  CallerUnknown: 'The profile contains secrets, and the API server does not prove that it is the caller.',
  TimedOut: 'The translation did not finish in time.',
  TooExpensive: 'The conversion needed more processor time than one Secret may have.',
  TranslationFailed: 'An API request failed, or the translator has a defect; its log has the details.',
} as const satisfies Readonly<Record<string, string>>;

export type KeptReason = keyof typeof KEPT_REASONS;

/** Ends a translation: the Secret stays as it is. The message contains no value of the Secret. */
export class Kept extends Error {
  readonly reason: KeptReason;

  constructor(reason: KeptReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'Kept';
    this.reason = reason;
  }
}
