import type { RemoteOptions } from './remote.ts';

/** Variables that a virtual machine of vSphere shows to those who manage it. */
export interface GuestinfoSinkModel extends RemoteOptions {
  readonly kind: 'Guestinfo';
}
