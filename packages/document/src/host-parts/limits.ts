import { define, field, object } from '../fields/field.ts';
import { dropInPath } from '../ownership/drop-ins.ts';
import * as z from '../schema/zod.ts';
import { claimsOn, hostPart } from './part.ts';

/** Limits of processes by the names that systemd.exec(5) has for them, in lower case and without `Limit`. */
const OF_SERVICES = [
  'as',
  'core',
  'cpu',
  'data',
  'fsize',
  'locks',
  'memlock',
  'msgqueue',
  'nofile',
  'nproc',
  'rss',
  'rtprio',
  'rttime',
  'sigpending',
  'stack',
] as const;
/** The same by the names of limits.conf(5), which has two more for sessions. Neither has `nice` here: each counts it another way. */
const OF_SESSIONS = [...OF_SERVICES.filter((name) => name !== 'rttime'), 'maxlogins', 'maxsyslogins'] as const;

/** What one of limits.conf(5) is of what getrlimit(2) counts: KiB for sizes, minutes for time. */
const SESSION_UNITS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(['as', 'core', 'data', 'fsize', 'memlock', 'rss', 'stack'].map((name) => [name, 1024])),
  cpu: 60,
};

const AMOUNT = 'expected a whole number from 0, or "Unlimited"';

const amount = z.union([z.int(AMOUNT).min(0, AMOUNT), z.literal('Unlimited', AMOUNT)]);

const limit = define(
  'Limit',
  z.union([
    amount,
    object({
      soft: field(amount, 'The limit with which a process starts. The process may raise it up to the hard limit.', {
        example: 65536,
      }),
      hard: field(amount, 'The limit that a process cannot exceed.', { example: 1048576 }),
    }),
  ]),
);

function limitsOf<Name extends string>(names: readonly Name[]) {
  const each = field(
    limit,
    'The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one.',
    { absent: 'the limit of the system', example: 1048576 },
  );
  return object(Object.fromEntries(names.map((name) => [name, each])) as Record<Name, typeof each>);
}

/** One limit; a number that stands alone is both. */
export interface Limit {
  readonly name: string;
  readonly soft: number | 'Unlimited';
  readonly hard: number | 'Unlimited';
}

export interface LimitsModel {
  /** Of services whose units say nothing of their own. */
  readonly services: readonly Limit[];
  /** Of logins: the domain of limits.conf(5), and the limits in its units. */
  readonly sessions: readonly { readonly who: string; readonly limits: readonly Limit[] }[];
}

export const limits = hostPart({
  description: 'Limits of processes: open files, processes, locked memory and the like (getrlimit(2)).',
  absent: 'the limits of the system stay as they are',
  changes:
    '`/etc/systemd/system.conf.d/91-machineadm-limits-NAME.conf` and `/etc/security/limits.d/91-machineadm-NAME.conf`, with the name of the document',
  example: { services: { nofile: 1048576 }, sessions: { '*': { nofile: { soft: 65536, hard: 1048576 } } } },
  linuxOnly: 'it has no such limits',
  schema: object({
    services: field(
      limitsOf(OF_SERVICES),
      'Limits of services whose units set no limits (systemd-system.conf(5), DefaultLimit…=), by name in lower case. Running services keep their limits until they restart.',
      { default: {}, example: { nofile: 1048576 } },
    ),
    sessions: field(
      z.record(
        z.string().regex(/^(?:\*|@?[a-z_][a-z0-9_-]{0,31})$/, 'not a user, "@group" or "*"'),
        limitsOf(OF_SESSIONS),
      ),
      'Limits of sessions that pam_limits opens, by the user, the "@group" or "*" that they are for (limits.conf(5)).',
      { default: {}, example: { '*': { nofile: 65536 } } },
    ),
  }),
  toModel: (section): LimitsModel | undefined =>
    section && {
      services: toLimits(section.services ?? {}),
      sessions: Object.entries(section.sessions ?? {}).map(([who, of]) => ({
        who,
        limits: toLimits(of, SESSION_UNITS),
      })),
    },
  claims: (limits, document) =>
    limits === undefined
      ? []
      : claimsOn('limits', [], 'file', dropInPath('serviceLimits', document), dropInPath('sessionLimits', document)),
  check: ({ services = {}, sessions = {} }) => [
    ...crossed(services, ['services']),
    ...Object.entries(sessions).flatMap(([who, of]) => [
      ...crossed(of, ['sessions', who]),
      ...uneven(of, ['sessions', who]),
    ]),
  ],
});

type Limits = Readonly<Record<string, z.infer<typeof limit> | undefined>>;

function toLimits(section: Limits, units: Readonly<Record<string, number>> = {}): Limit[] {
  return Object.entries(section).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const { soft, hard } = typeof value === 'object' ? value : { soft: value, hard: value };
    const inUnits = (amount: Limit['soft']) => (amount === 'Unlimited' ? amount : amount / (units[name] ?? 1));
    return [{ name, soft: inUnits(soft), hard: inUnits(hard) }];
  });
}

function crossed(section: Limits, path: readonly string[]) {
  return toLimits(section)
    .filter(({ soft, hard }) => hard !== 'Unlimited' && (soft === 'Unlimited' || soft > hard))
    .map(({ name }) => ({
      path: [...path, name],
      message: 'the soft limit is above the hard one',
      hint: 'raise hard, or lower soft',
    }));
}

/** Amounts that limits.conf(5) cannot write. */
function uneven(section: Limits, path: readonly string[]) {
  return toLimits(section, SESSION_UNITS)
    .filter(({ soft, hard }) => [soft, hard].some((amount) => amount !== 'Unlimited' && !Number.isInteger(amount)))
    .map(({ name }) => ({
      path: [...path, name],
      message: `limits of sessions count it in ${name === 'cpu' ? 'minutes' : 'KiB'}`,
      hint: `a multiple of ${SESSION_UNITS[name]}`,
    }));
}
