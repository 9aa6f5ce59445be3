import { choice } from '../fields/field.ts';
import { FSTAB, UNIT_DIRECTORY, ZRAM_CONFIGURATION } from '../ownership/paths.ts';
import { claimsOn, hostPart } from './part.ts';

/** Masks of swap units, and the condition that keeps one of the administrator's from starting. */
const SWAP_UNITS = /^[^/]+\.swap(?:\.d\/[^/]+\.conf)?$/;

export const swap = hostPart({
  description: 'Disabled switches swap off, now and at every boot. Unmanaged leaves it as it is.',
  default: 'Unmanaged',
  changes: '`/etc/fstab`, swap units and zram; active swap is switched off',
  example: 'Disabled',
  schema: choice({ Disabled: 'Swap is off, now and at every boot.', Unmanaged: 'Swap stays as it is.' }),
  toModel: (section): 'Disabled' | 'Unmanaged' => section ?? 'Unmanaged',
  claims: (swap) =>
    swap === 'Unmanaged'
      ? []
      : [
          ...claimsOn('swap', [], 'lines', FSTAB),
          ...claimsOn('swap', [], 'file', ZRAM_CONFIGURATION),
          { step: 'swap', field: [], kind: 'names', path: UNIT_DIRECTORY, names: SWAP_UNITS },
        ],
});
