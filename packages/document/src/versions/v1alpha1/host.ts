import * as z from 'zod';
import { hostPartFields } from '../../host-parts/index.ts';
import { field, object } from '../../sections/field.ts';

export const host = object({
  platform: field(
    z.enum(['Linux', 'Windows']),
    'The operating system of the machine. On another one the document is refused.',
    { default: 'Linux', example: 'Windows' },
  ),
  rebootPolicy: field(
    z.enum(['Never', 'IfRequired']),
    'Whether machineadm reboots the machine when a change needs it, and continues after the boot. With Never such a run ends with RebootRequired.',
    { default: 'IfRequired', example: 'Never' },
  ),
  ...hostPartFields(),
});

export type HostSection = z.infer<typeof host>;
