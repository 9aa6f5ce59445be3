import type * as z from 'zod';
import { type RemoteOptions, remoteFields, sinkSchema, toRemoteOptions } from './sink.ts';

/** Variables that a virtual machine of vSphere shows to those who manage it. */
export interface GuestinfoSinkModel extends RemoteOptions {
  readonly kind: 'Guestinfo';
}

const schema = sinkSchema(
  'Guestinfo',
  'The guestinfo variables of a vSphere virtual machine, set through VMware Tools.',
  {},
  {
    ...remoteFields,
  },
);

function toGuestinfoSink(section: z.infer<typeof schema>, name: string): GuestinfoSinkModel {
  return { kind: 'Guestinfo', ...toRemoteOptions(section, name) };
}

export const guestinfo = { schema, toModel: toGuestinfoSink };
