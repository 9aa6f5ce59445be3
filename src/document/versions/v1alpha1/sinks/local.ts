import * as z from 'zod';

const DEVICE = /^(?:(?:\/(?:[^\s/.][^\s/]*|\.[^\s/.][^\s/]*|\.\.[^\s/]+))+|COM[1-9])$/;

export const journalSink = z
  .strictObject({ type: z.literal('Journal') })
  .describe('Structured entries of journald; syslog where there is none.');

export const systemdNotifySink = z
  .strictObject({ type: z.literal('SystemdNotify') })
  .describe('The status line of the systemd unit that started machineadm, which needs NotifyAccess=all.');

export const windowsEventLogSink = z
  .strictObject({ type: z.literal('WindowsEventLog') })
  .describe('Entries of the Application log of Windows, source machineadm.');

export const consoleSink = z
  .strictObject({
    type: z.literal('Console'),
    device: z
      .string()
      .max(512)
      .regex(DEVICE, {
        error: ({ input }) =>
          String(input).split('/').includes('..')
            ? 'a path may not hold ".."'
            : 'not a device: write its path, such as "/dev/ttyS0", or "COM1"',
      })
      .optional()
      .describe('Default /dev/console.'),
  })
  .describe('A line for each event on a console; nobody needs to read it.');
