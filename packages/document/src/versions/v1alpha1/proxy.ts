import * as z from 'zod';
import { secret } from './fields.ts';

export const proxy = z.strictObject({
  http: secret.optional(),
  https: secret.optional(),
  no: z.array(z.string().regex(/^[^\s,]+$/, 'one host, domain or subnet an entry')).optional(),
  for: z.array(z.enum(['agent', 'containerd', 'kubelet', 'environment'])).optional(),
});

export type ProxySection = z.infer<typeof proxy>;
