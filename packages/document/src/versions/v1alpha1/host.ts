import type * as z from 'zod';
import { all, any, given, has, is, must, not, text, VARIABLE, when } from '../../fields/conditions.ts';
import { choice, field, object } from '../../fields/field.ts';
import { hostPartFields } from '../../host-parts/index.ts';

/** Of a dotted key each part, of one with slashes each part: neither empty nor "." or "..", as the path below /proc/sys. */
const SYSCTL_KEY =
  /^[\w-]+(?:(?:\.(?:[\w-]|\/[\w-]|\/\/[\w-]|\/\/\/)[\w/-]*)*|(?:\/(?:[\w-]|\.[\w-]|\.\.[\w-]|\.\.\.)[\w.-]*)*)$/;

export const host = object(
  {
    platform: field(
      choice({ Linux: 'A distribution of Linux.', Windows: 'Windows Server.' }),
      'The operating system of the machine. On another one the document is refused.',
      { default: 'Linux', example: 'Windows', changes: 'nothing; it is compared with the machine' },
    ),
    rebootPolicy: field(
      choice({
        Never: 'A run that needs a reboot ends with RebootRequired.',
        IfRequired: 'The machine reboots where a change needs it, and the run continues after the boot.',
      }),
      'Whether machineadm reboots the machine when a change needs it, and continues after the boot. With Never such a run ends with RebootRequired.',
      { default: 'IfRequired', example: 'Never', changes: 'nothing; it decides whether a run reboots the machine' },
    ),
    ...hostPartFields(),
  },
  () => [
    must('sysctl', { type: 'object', propertyNames: text(SYSCTL_KEY) }),
    when(is('swap', 'Disabled'), must('storage.mounts[]', not(is('type', 'swap')))),
    when(
      all(given('activeDirectory', not(has('computerName'))), has('hostname')),
      must('hostname', any(VARIABLE, text(/^[a-z0-9](?:[a-z0-9-]{0,13}[a-z0-9])?(?:\.|$)/))),
    ),
  ],
);

export type HostSection = z.infer<typeof host>;
