const DURATION_UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `1h30m`, `500ms`, `365d`: one or more numbers, each with its unit. */
export const DURATION_PATTERN = /^(?:\d+(?:ms?|[shd]))+$/;

/** Milliseconds of a duration that matches `DURATION_PATTERN`; undefined for other text. */
export function parseDuration(text: string): number | undefined {
  if (!DURATION_PATTERN.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+)(ms?|[shd])/gy)) {
    total += Number(amount) * (DURATION_UNIT_MS[unit ?? ''] ?? 0);
  }
  return Number.isSafeInteger(total) ? total : undefined;
}

/** Milliseconds of a Go duration (time.ParseDuration): `20m`, `1h0m0s`, `1.5s`; undefined for anything else. */
export function parseGoDuration(text: string): number | undefined {
  // time.ParseDuration takes no longer numbers; this keeps the time linear.
  if (!/^(?:\d{1,19}(?:\.\d{1,19})?(?:h|s|ms?))+$/.test(text)) return text === '0' ? 0 : undefined;
  let total = 0;
  for (const [, amount, unit = ''] of text.matchAll(/(\d{1,19}(?:\.\d{1,19})?)(ms|h|m|s)/g)) {
    total += Number(amount) * (DURATION_UNIT_MS[unit] ?? 0);
  }
  return Math.round(total);
}

const SIZE_UNIT: Readonly<Record<string, number>> = {
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
};

/** `20Gi`, `512Mi`, `1.5Ti`, `100G`: a number with its unit. */
export const SIZE_PATTERN = /^\d+(?:\.\d+)?(?:Ki|Mi|Gi|Ti|K|M|G|T)$/;

/** Bytes of a size that matches `SIZE_PATTERN`; undefined for other text. */
export function parseSize(text: string): number | undefined {
  if (!SIZE_PATTERN.test(text)) return undefined;
  const [, amount, unit] = /^([\d.]+)([A-Z]i?)$/.exec(text) ?? [];
  const bytes = Math.floor(Number(amount) * (SIZE_UNIT[unit ?? ''] ?? Number.NaN));
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** A readable duration: `850 ms`, `12.3 s`, `2 m 05 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  return `${Math.floor(seconds / 60)} m ${String(seconds % 60).padStart(2, '0')} s`;
}

/** A file mode, from its octal digits. */
export function parseMode(digits: string): number {
  return Number.parseInt(digits, 8);
}

/** The permission bits of a mode as in ls(1) and chmod(1): `0644`. */
export function formatMode(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
