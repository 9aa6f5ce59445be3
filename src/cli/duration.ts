import { parseDuration } from '@machineadm/document/text/units.ts';
import { usageError } from './usage-error.ts';

/**
 * The value of an option that is a duration, in milliseconds.
 * @param shortest the smallest value that makes sense, in milliseconds
 */
export function durationOf(option: string, text: string, shortest = 0): number {
  const milliseconds = parseDuration(text);
  if (milliseconds !== undefined && milliseconds >= shortest) return milliseconds;
  throw usageError(
    `${option}: "${text}" is not a duration${shortest === 0 ? '' : ' of a second or more'}`,
    'Write a number with its unit, such as 90s or 10m.',
  );
}
