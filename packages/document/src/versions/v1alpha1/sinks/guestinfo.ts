import * as z from 'zod';
import type { GuestinfoSinkModel } from '../../../model-sinks.ts';
import { define, field, object } from '../../../sections/field.ts';
import { remoteFields, toRemoteOptions } from './fields.ts';

export const guestinfoSink = define(
  'GuestinfoSink',
  object({ type: field(z.literal('Guestinfo'), 'The kind of receiver.'), ...remoteFields }),
  'The guestinfo variables of a vSphere virtual machine, set through VMware Tools.',
  { type: 'Guestinfo' },
);

export function toGuestinfoSink(section: z.infer<typeof guestinfoSink>, name: string): GuestinfoSinkModel {
  return { kind: 'Guestinfo', ...toRemoteOptions(section, name) };
}
