import type { JsonSchema } from '@machineadm/document/sections/conditions.ts';
import { HOST_CONDITIONS } from './host.ts';
import { PLATFORM_CONDITIONS } from './platform.ts';

/**
 * What `packages/document/src/versions/v1alpha1/checks*.ts` refuse across fields, as far as a schema can judge it: by the field path
 * of the object whose fields they are about. None of them refuses more than the checks do; contract/vectors compares.
 */
export const CONDITIONS: Readonly<Record<string, readonly JsonSchema[]>> = {
  ...PLATFORM_CONDITIONS,
  ...HOST_CONDITIONS,
};
