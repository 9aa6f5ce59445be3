import type { Source } from '../source.ts';

/** A duration of the document from seconds: `10m`, `1h30m`, `90s`. */
function fromSeconds(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor((seconds % 3600) / 60), 'm'],
    [seconds % 60, 's'],
  ] as const;
  const text = parts.map(([amount, unit]) => (amount === 0 ? '' : `${amount}${unit}`)).join('');
  return text === '' ? '0s' : text;
}

/** Milliseconds of a Go duration (time.ParseDuration): `20m`, `1h0m0s`, `1.5s`; undefined for anything else. */
function goMilliseconds(text: string): number | undefined {
  // time.ParseDuration takes no longer numbers; this keeps the time linear.
  if (!/^(?:\d{1,19}(?:\.\d{1,19})?(?:h|s|ms?))+$/.test(text)) return text === '0' ? 0 : undefined;
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  let total = 0;
  for (const [, amount, unit = ''] of text.matchAll(/(\d{1,19}(?:\.\d{1,19})?)(ms|h|m|s)/g)) {
    total += Number(amount) * (units[unit] ?? 0);
  }
  return Math.round(total);
}

/**
 * A duration that is either `fieldSeconds`, a number (v1beta2), or `field`, a duration of Go (v1beta1, kubeadm).
 */
export function readDuration(owner: Source, field: string, report: (at: Source) => void): string | undefined {
  const seconds = owner.get(`${field}Seconds`).integer();
  if (seconds !== undefined) return fromSeconds(seconds);
  const at = owner.get(field);
  const text = at.text();
  if (text === undefined || text === '') return undefined;
  const milliseconds = goMilliseconds(text);
  if (milliseconds === undefined) {
    report(at);
    return undefined;
  }
  return milliseconds % 1000 === 0 ? fromSeconds(milliseconds / 1000) : `${milliseconds}ms`;
}

/** The same for `fieldPeriodDays` and `fieldPeriod`, in days where it is whole ones. */
export function readValidity(owner: Source, field: string, report: (at: Source) => void): string | undefined {
  const days = owner.get(`${field}PeriodDays`).integer();
  if (days !== undefined) return `${days}d`;
  const hours = /^(\d+)h(?:0m)?(?:0s)?$/.exec(owner.get(`${field}Period`).text() ?? '')?.[1];
  if (hours !== undefined && Number(hours) % 24 === 0) return `${Number(hours) / 24}d`;
  return readDuration(owner, `${field}Period`, report);
}
