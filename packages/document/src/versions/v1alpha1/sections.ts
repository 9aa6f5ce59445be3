import * as z from 'zod';
import { absolutePath, environmentName } from './fields.ts';
import { hardening } from './hardening.ts';
import { host } from './host.ts';
import { images } from './images.ts';
import { kubernetes } from './kubernetes.ts';
import { reporting } from './reporting.ts';
import { containerRuntime } from './runtime.ts';
import { secrets } from './secrets.ts';

const metadata = z.strictObject({
  name: z.string().min(1).max(253),
  namespace: z.string().min(1).max(253).optional(),
  uid: z.string().min(1).max(128).optional(),
  cluster: z.string().min(1).max(253).optional(),
  labels: z.record(z.string(), z.string()).optional(),
});

const apply = z.enum(['Once', 'EveryBoot']);

const variableSource = z.union(
  [
    z.strictObject({ value: z.string() }),
    z.strictObject({ env: environmentName }),
    z.strictObject({ envFile: z.strictObject({ path: absolutePath, key: environmentName }) }),
    z.strictObject({ file: absolutePath }),
    z.strictObject({ instanceData: z.string().min(1) }),
    z.strictObject({
      metadata: z.strictObject({
        provider: z.enum(['aws', 'gcp', 'azure', 'openstack']),
        path: z.string().min(1),
      }),
    }),
  ],
  { error: 'expected one of {value}, {env}, {envFile}, {file}, {instanceData}, {metadata}' },
);

const variables = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not a name'), variableSource);

/** The sections in reading order. `requires`, `apiVersion` and `kind` are checked before them, for every version. */
export const sections = {
  metadata,
  apply,
  variables,
  secrets,
  host,
  containerRuntime,
  images,
  kubernetes,
  hardening,
  reporting,
};

/** A section's value once it is known to be valid; absent when it is not there or has mistakes. */
export type Sections = { readonly [Name in keyof typeof sections]?: z.infer<(typeof sections)[Name]> };
