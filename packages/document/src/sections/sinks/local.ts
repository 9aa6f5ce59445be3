import { field } from '../../fields/field.ts';
import * as z from '../../schema/zod.ts';
import { sinkSchema } from './sink.ts';

const DEVICE = /^(?:(?:\/(?:[^\s/.][^\s/]*|\.[^\s/.][^\s/]*|\.\.[^\s/]+))+|COM[1-9])$/;

/** A sink of this machine: the run itself sends to it, at once. */
export type LocalSinkModel =
  | { readonly kind: 'Journal' | 'SystemdNotify' | 'WindowsEventLog' }
  | { readonly kind: 'Console'; readonly device: string };

function local<Kind extends 'Journal' | 'SystemdNotify' | 'WindowsEventLog'>(kind: Kind, description: string) {
  return { schema: sinkSchema(kind, description, {}, {}), toModel: (): LocalSinkModel => ({ kind }) };
}

export const journal = local('Journal', 'Structured entries of journald, or syslog on machines without journald.');

export const systemdNotify = local(
  'SystemdNotify',
  'The status line of the systemd unit that started machineadm, which needs NotifyAccess=all.',
);

export const windowsEventLog = local(
  'WindowsEventLog',
  'Entries of the Application log of Windows, with the source machineadm.',
);

const consoleSchema = sinkSchema(
  'Console',
  'One line for each event on a console. A run never waits for a reader.',
  { device: '/dev/ttyS0' },
  {
    device: field(
      z
        .string()
        .max(512)
        .regex(DEVICE, {
          error: ({ input }) =>
            String(input).split('/').includes('..')
              ? 'a path must not contain ".."'
              : 'not a device: write its path, such as "/dev/ttyS0", or "COM1"',
        }),
      'The console that gets one line for each event.',
      { default: '/dev/console', example: '/dev/ttyS0' },
    ),
  },
);

export const machineConsole = {
  schema: consoleSchema,
  toModel: ({ device = '/dev/console' }: z.infer<typeof consoleSchema>): LocalSinkModel => ({
    kind: 'Console',
    device,
  }),
};
