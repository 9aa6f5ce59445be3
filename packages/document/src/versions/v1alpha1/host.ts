import * as z from 'zod';
import { hostPartSchemas } from '../../host-parts/index.ts';
import { allowInsecure, duration, environmentName, fileMode, headers, httpUrl, machinePath, sha256 } from './fields.ts';
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

const httpSource = z.strictObject({
  url: httpUrl,
  sha256: sha256,
  headers: headers.optional(),
  allowInsecure,
});

const file = z.strictObject({
  path: machinePath,
  content: z.string().optional(),
  contentFrom: z
    .union(
      [
        z.strictObject({ secret: z.string() }),
        z.strictObject({ file: machinePath }),
        z.strictObject({ http: httpSource }),
      ],
      { error: 'expected {secret: name}, {file: path} or {http: {url, sha256}}' },
    )
    .optional(),
  encoding: z.enum(['base64', 'gzip+base64']).optional(),
  mode: fileMode.optional(),
  owner: z
    .string()
    .regex(/^[A-Za-z0-9_.-]+(?::[A-Za-z0-9_.-]+)?$/, 'not an owner: write "user:group", "user" or numeric ids')
    .optional(),
  directoryMode: fileMode.optional(),
  append: z.boolean().optional(),
  expand: z.boolean().optional(),
});

export const host = z.strictObject({
  platform: z.enum(['Linux', 'Windows']).optional(),
  rebootPolicy: z.enum(['Never', 'IfRequired']).optional(),
  ...hostPartSchemas(),
  storage: storage.optional(),
  files: z.array(file).optional(),

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
export type FileSection = z.infer<typeof file>;
