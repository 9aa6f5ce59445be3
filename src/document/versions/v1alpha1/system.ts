import * as z from 'zod';
import { certificatePem, duration, secret } from './fields.ts';

const serverName = z.string().regex(/^[A-Za-z0-9:.-]+$/, 'not a host name or address');

export const time = z.strictObject({
  enabled: z.boolean().optional().describe('Default true. false stops and disables the time service.'),
  servers: z.array(serverName).optional().describe("Default: the distribution's."),
  synchronized: z
    .strictObject({
      within: duration.optional().describe('How far the clock may be off; default 5s.'),
      timeout: duration.optional().describe('How long to wait for that; default 60s.'),
    })
    .optional()
    .describe('Wait until the clock is right before anything depends on it.'),
});

export const proxy = z.strictObject({
  http: secret.optional().describe('URL; may hold credentials, which are treated as secrets.'),
  https: secret.optional(),
  no: z
    .array(z.string().regex(/^[^\s,]+$/, 'one host, domain or subnet an entry'))
    .optional()
    .describe('Reached directly, beside this machine, the cluster and the metadata addresses, which always are.'),
  for: z
    .array(z.enum(['agent', 'containerd', 'kubelet', 'environment']))
    .optional()
    .describe('Who uses it; default [agent, containerd, kubelet].'),
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
      .optional()
      .describe('Drop-ins of its unit; the service restarts when one changed. One no longer named stays.'),
  }),
);

export type TimeSection = z.infer<typeof time>;
export type ProxySection = z.infer<typeof proxy>;
export type ServicesSection = z.infer<typeof services>;
