import * as z from 'zod';
import { hostPartSchemas } from '../../host-parts/index.ts';
import { duration, environmentName } from './fields.ts';
import { storage } from './storage.ts';

const hookFields = {
  shell: z.enum(['sh', 'bash', 'powershell', 'cmd']).optional(),
  onError: z.enum(['Fail', 'Continue']).optional(),
  timeout: duration.optional(),
  commands: z.array(z.string().min(1, 'an empty command')).min(1, 'a hook without commands'),
  environment: z
    .record(environmentName, z.string().regex(/^[^\0]*$/, 'a zero byte cannot be in the environment'))
    .optional(),
  secrets: z.record(environmentName, z.strictObject({ secret: z.string() })).optional(),
  expand: z.boolean().optional(),
};
const hookGroup = z.strictObject(hookFields);
const earlyHookGroup = z.strictObject({
  ...hookFields,
  frequency: z.enum(['Once', 'Always']).optional(),
});

export const host = z.strictObject({
  platform: z.enum(['Linux', 'Windows']).optional(),
  rebootPolicy: z.enum(['Never', 'IfRequired']).optional(),
  ...hostPartSchemas(),
  storage: storage.optional(),
  hooks: z
    .strictObject({
      early: earlyHookGroup.optional(),
      beforeBootstrap: hookGroup.optional(),
      afterBootstrap: hookGroup.optional(),
    })
    .optional(),
});

export type HostSection = z.infer<typeof host>;
export type HookGroupSection = z.infer<typeof earlyHookGroup>;
