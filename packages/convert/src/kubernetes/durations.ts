import { parseGoDuration } from '@machineadm/document/text/units.ts';
import type { Source } from '../values/source.ts';

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

/**
 * A duration that is either `fieldSeconds`, a number (v1beta2), or `field`, a duration of Go (v1beta1, kubeadm).
 */
export function readDuration(owner: Source, field: string, report: (at: Source) => void): string | undefined {
  const seconds = owner.get(`${field}Seconds`).integer();
  if (seconds !== undefined) return fromSeconds(seconds);
  const at = owner.get(field);
  const text = at.text();
  if (text === undefined || text === '') return undefined;
  const milliseconds = parseGoDuration(text);
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
