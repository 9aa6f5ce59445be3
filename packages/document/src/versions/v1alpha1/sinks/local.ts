import * as z from 'zod';
import { define, field, object } from '../../../sections/field.ts';

const DEVICE = /^(?:(?:\/(?:[^\s/.][^\s/]*|\.[^\s/.][^\s/]*|\.\.[^\s/]+))+|COM[1-9])$/;

export const journalSink = define(
  'JournalSink',
  object({ type: field(z.literal('Journal'), 'The kind of receiver.') }),
  'Structured entries of journald, or syslog where there is none.',
  { type: 'Journal' },
);

export const systemdNotifySink = define(
  'SystemdNotifySink',
  object({ type: field(z.literal('SystemdNotify'), 'The kind of receiver.') }),
  'The status line of the systemd unit that started machineadm, which needs NotifyAccess=all.',
  { type: 'SystemdNotify' },
);

export const windowsEventLogSink = define(
  'WindowsEventLogSink',
  object({ type: field(z.literal('WindowsEventLog'), 'The kind of receiver.') }),
  'Entries of the Application log of Windows, with the source machineadm.',
  { type: 'WindowsEventLog' },
);

export const consoleSink = define(
  'ConsoleSink',
  object({
    type: field(z.literal('Console'), 'The kind of receiver.'),
    device: field(
      z
        .string()
        .max(512)
        .regex(DEVICE, {
          error: ({ input }) =>
            String(input).split('/').includes('..')
              ? 'a path may not hold ".."'
              : 'not a device: write its path, such as "/dev/ttyS0", or "COM1"',
        }),
      'The console that gets one line for each event.',
      { default: '/dev/console', example: '/dev/ttyS0' },
    ),
  }),
  'One line for each event on a console. Nobody needs to read it.',
  { type: 'Console', device: '/dev/ttyS0' },
);
