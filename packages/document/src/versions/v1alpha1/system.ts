import * as z from 'zod';
import { certificatePem, duration, secret } from './fields.ts';

const serverName = z.string().regex(/^[A-Za-z0-9:.-]+$/, 'not a host name or address');

export const time = z.strictObject({
  enabled: z.boolean().optional(),
  servers: z.array(serverName).optional(),
  synchronized: z
    .strictObject({
      within: duration.optional(),
      timeout: duration.optional(),
    })
    .optional(),
});

export const proxy = z.strictObject({
  http: secret.optional(),
  https: secret.optional(),
  no: z.array(z.string().regex(/^[^\s,]+$/, 'one host, domain or subnet an entry')).optional(),
  for: z.array(z.enum(['agent', 'containerd', 'kubelet', 'environment'])).optional(),
});

export const certificateAuthorities = z.array(
  z.strictObject({
    name: z.string().regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, 'not a name: lower-case letters, digits, "." and "-"'),
    pem: certificatePem,
  }),
);

export const services = z.array(
  z.strictObject({
    name: z.string().regex(/^[A-Za-z0-9:_.@\\-]+$/, 'not the name of a service'),
    enabled: z.boolean().optional(),
    masked: z.boolean().optional(),
    state: z.enum(['Started', 'Stopped']).optional(),
    dropIns: z
      .array(
        z.strictObject({
          name: z
            .string()
            .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*\.conf$/, 'not the name of a drop-in: it ends in ".conf"'),
          content: z.string().min(1),
        }),
      )
      .optional(),
  }),
);

export type TimeSection = z.infer<typeof time>;
export type ProxySection = z.infer<typeof proxy>;
export type ServicesSection = z.infer<typeof services>;
