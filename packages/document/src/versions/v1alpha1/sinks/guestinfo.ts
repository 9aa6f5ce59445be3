import * as z from 'zod';
import type { GuestinfoSinkModel } from '../../../model-sinks.ts';
import { remoteFields, toRemoteOptions } from './fields.ts';

export const guestinfoSink = z.strictObject({ type: z.literal('Guestinfo'), ...remoteFields });

export function toGuestinfoSink(section: z.infer<typeof guestinfoSink>, name: string): GuestinfoSinkModel {
  return { kind: 'Guestinfo', ...toRemoteOptions(section, name) };
}
