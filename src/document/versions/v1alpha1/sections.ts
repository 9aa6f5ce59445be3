import * as z from 'zod';
import { absolutePath, duration } from './fields.ts';
import { host } from './host.ts';
import { kubernetes } from './kubernetes.ts';
import { containerRuntime, images } from './runtime.ts';

const metadata = z
  .strictObject({
    name: z.string().min(1).max(253),
    namespace: z.string().min(1).max(253).optional(),
    uid: z.string().min(1).max(128).optional(),
    cluster: z.string().min(1).max(253).optional(),
    labels: z.record(z.string(), z.string()).optional(),
  })
  .describe('Identity of the machine in the management cluster, for reports.');

const secretSource = z.union(
  [
    z.strictObject({ value: z.string().min(1) }),
    z.strictObject({ file: absolutePath }),
    z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not the name of an environment variable') }),
    z.strictObject({ systemdCredential: z.string().regex(/^[A-Za-z0-9_.-]+$/, 'not the name of a credential') }),
  ],
  { error: 'expected one of {value}, {file}, {env}, {systemdCredential}' },
);

const reporting = z.strictObject({
  sentinel: z.strictObject({ path: absolutePath }).optional(),
  deadline: duration.optional().describe('What all sinks together may cost after the conclusion; default 30s.'),
  sinks: z
    .array(
      z.discriminatedUnion('type', [
        z.strictObject({ type: z.literal('Journal') }),
        z.strictObject({ type: z.literal('Console'), device: absolutePath.optional() }),
      ]),
    )
    .optional()
    .describe('Default: Journal.'),
});

const secrets = z.record(z.string().regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'not a name'), secretSource);

/** The sections in reading order. `requires`, `apiVersion` and `kind` are checked before them, for every version. */
export const sections = { metadata, secrets, host, containerRuntime, images, kubernetes, reporting };

/** A section's value once it is known to be valid; absent when it is not there or has mistakes. */
export type Sections = { readonly [Name in keyof typeof sections]?: z.infer<(typeof sections)[Name]> };
