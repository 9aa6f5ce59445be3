import { is, when, without } from '../fields/conditions.ts';
import { milliseconds } from '../fields/convert-values.ts';
import { field, object } from '../fields/field.ts';
import { duration } from '../fields/types.ts';
import { CHRONY_CONFIGURATIONS, NTP_CONFIGURATIONS, TIMESYNCD_CONFIGURATION } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import { claimsOn, hostPart } from './part.ts';

const DEFAULT_WITHIN_MS = 5_000;
const DEFAULT_TIMEOUT_MS = 60_000;

export interface TimeModel {
  readonly enabled: boolean;
  readonly servers: readonly string[];
  readonly synchronized: { readonly withinMs: number; readonly timeoutMs: number } | undefined;
}

export const time = hostPart({
  description: 'The synchronization of the clock.',
  absent: 'the time service stays as it is',
  changes:
    'the time service and its configuration (systemd-timesyncd, chrony or ntp; on Windows the Windows Time service)',
  example: { servers: ['ntp.example'], synchronized: {} },
  schema: object(
    {
      enabled: field(z.boolean(), 'Whether the time service runs. With false it is stopped and disabled.', {
        default: true,
        example: true,
      }),
      servers: field(
        z.array(z.string().regex(/^[A-Za-z0-9:.-]+$/, 'not a host name or address')),
        'NTP servers, by name or address.',
        { absent: 'those of the distribution', example: ['ntp.example'] },
      ),
      synchronized: field(
        object({
          within: field(duration, 'How far the clock may be off.', { default: '5s', example: '1s' }),
          timeout: field(duration, 'How long to wait for that.', { default: '60s', example: '2m' }),
        }),
        'Waits until the clock is synchronized before anything depends on it.',
        { absent: 'the run does not wait', example: { within: '5s', timeout: '60s' } },
      ),
    },
    () => [when(is('enabled', false), without('servers', 'synchronized'))],
  ),
  toModel: (section): TimeModel | undefined =>
    section && {
      enabled: section.enabled ?? true,
      servers: section.servers ?? [],
      synchronized: section.synchronized && {
        withinMs: milliseconds(section.synchronized.within) ?? DEFAULT_WITHIN_MS,
        timeoutMs: milliseconds(section.synchronized.timeout) ?? DEFAULT_TIMEOUT_MS,
      },
    },
  /** Which of the files it is depends on the client that is installed; a file of another client serves nobody. */
  claims(time) {
    if (time?.enabled !== true) return [];
    const own = claimsOn('time', [], 'file', TIMESYNCD_CONFIGURATION);
    if (time.servers.length === 0) return own;
    return [...own, ...claimsOn('time', ['servers'], 'lines', ...CHRONY_CONFIGURATIONS, ...NTP_CONFIGURATIONS)];
  },
  check(section) {
    if (section.enabled !== false) return [];
    return (['servers', 'synchronized'] as const)
      .filter((key) => section[key] !== undefined)
      .map((key) => ({ path: [key], message: 'has no effect while time.enabled is false', hint: 'remove one' }));
  },
});

export type TimeSection = z.infer<typeof time.schema>;
