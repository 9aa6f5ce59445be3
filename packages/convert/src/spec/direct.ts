import type { StorageSection } from '@machineadm/document/host-parts/storage-schema.ts';
import type { HostSection } from '@machineadm/document/versions/v1alpha1/host.ts';

/** Parts of a host that an input says as the document does. */
export interface DirectSection {
  readonly disks?: NonNullable<StorageSection['disks']> | undefined;
  readonly directories?: NonNullable<HostSection['directories']> | undefined;
  readonly links?: NonNullable<HostSection['links']> | undefined;
}
