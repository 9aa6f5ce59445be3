import { LOCALTIME, TIMEZONE_FILE } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import { claimsOn, hostPart } from './part.ts';

const PART = '[A-Za-z0-9_+-]+';

export const timezone = hostPart({
  description: 'The time zone of the machine, by its name in the IANA time zone database.',
  absent: 'the time zone stays as it is',
  changes: '`/etc/localtime` and `/etc/timezone`',
  example: 'Europe/Berlin',
  linuxOnly: 'Windows has its own names for time zones; set it with tzutil in a hook',
  schema: z
    .string()
    .max(64, 'longer than 64 characters')
    .regex(new RegExp(`^${PART}(?:/${PART}){0,2}$`), 'not the name of a time zone, such as "UTC" or "Europe/Berlin"'),
  toModel: (section): string | undefined => section,
  claims: (timezone) => (timezone === undefined ? [] : claimsOn('timezone', [], 'file', LOCALTIME, TIMEZONE_FILE)),
});
