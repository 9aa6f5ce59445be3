import * as z from 'zod';

const DEVICE = /^(?:(?:\/(?:[^\s/.][^\s/]*|\.[^\s/.][^\s/]*|\.\.[^\s/]+))+|COM[1-9])$/;

export const journalSink = z.strictObject({ type: z.literal('Journal') });

export const systemdNotifySink = z.strictObject({ type: z.literal('SystemdNotify') });

export const windowsEventLogSink = z.strictObject({ type: z.literal('WindowsEventLog') });

export const consoleSink = z.strictObject({
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
    .optional(),
});
