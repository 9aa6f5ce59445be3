import * as z from 'zod';
import { hostPartSchemas } from '../../host-parts/index.ts';

export const host = z.strictObject({
  platform: z.enum(['Linux', 'Windows']).optional(),
  rebootPolicy: z.enum(['Never', 'IfRequired']).optional(),
  ...hostPartSchemas(),
});

export type HostSection = z.infer<typeof host>;
