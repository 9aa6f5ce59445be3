import type { JsonSchema } from '@machineadm/document/sections/conditions.ts';
import { must } from '@machineadm/document/sections/conditions.ts';

export const REPORTING_CONDITIONS: Readonly<Record<string, readonly JsonSchema[]>> = {
  hardening: [
    must('profiles', { type: 'array', uniqueItems: true }),
    must('include', { type: 'array', uniqueItems: true }),
  ],
};
