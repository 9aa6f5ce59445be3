import type { Platform } from '@machineadm/document/fields/platform.ts';
import { checkPlatform } from '@machineadm/document/versions/v1alpha1/platform.ts';
import { type PlacedField, sectionsWith, valuesOf } from './placed-field.ts';

/** The platforms that support a field, and the reason if one does not. */
export interface Platforms {
  readonly only: Platform | undefined;
  readonly why: string | undefined;
}

const BOTH: Platforms = { only: undefined, why: undefined };

/**
 * Derives the platforms of a field from the platform check of a document, with each sample value. A platform does not
 * support the field if the check refuses all values and the remedy is not another value.
 */
export function platformsOf(placed: PlacedField): Platforms {
  const windows = refusal(placed, 'Windows');
  if (windows !== undefined) return { only: 'linux', why: windows };
  const linux = refusal(placed, 'Linux');
  return linux === undefined ? BOTH : { only: 'windows', why: linux };
}

function refusal(placed: PlacedField, platform: 'Linux' | 'Windows'): string | undefined {
  const values = valuesOf(placed.field);
  const isListed = placed.field.part.enum !== undefined || placed.field.part.const !== undefined;
  const reasons = values.map((value) => {
    const sections = sectionsWith(placed, value) as { host?: object; kubernetes?: object };
    const findings = checkPlatform({
      ...sections,
      host: { ...sections.host, platform },
      ...(sections.kubernetes && { kubernetes: { version: 'v1.35.0', ...sections.kubernetes, role: 'Worker' } }),
    } as Parameters<typeof checkPlatform>[0]);
    const path = placed.field.path;
    return findings.find(({ path: at, hint }) => {
      const named = at.filter((segment) => typeof segment === 'string' && segment !== 'name').join('.');
      const isVariant =
        named.endsWith('.type') &&
        placed.above.concat(placed.field).some(({ part }) => part.properties?.type?.const !== undefined);
      if (isVariant) return true;
      if (path !== named && !path.startsWith(`${named}.`)) return false;
      return isListed || hint === undefined || hint.startsWith('remove it');
    })?.message;
  });
  const [first] = reasons;
  return reasons.length > 0 && reasons.every((reason) => reason !== undefined)
    ? first?.replace(/^not on Windows: /, '')
    : undefined;
}
