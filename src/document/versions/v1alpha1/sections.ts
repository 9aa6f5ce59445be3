import * as z from 'zod';
import { absolutePath, duration, secret, sha256 } from './fields.ts';
import { host } from './host.ts';
import { kubernetes } from './kubernetes.ts';
import { reporting } from './reporting.ts';
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

const environmentName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not the name of an environment variable');
const awsRegion = z
  .string()
  .regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/, 'not an AWS region')
  .optional();
const awsEndpoint = z
  .url({ protocol: /^https?$/ })
  .optional()
  .describe('For VPC endpoints. Default: the public one of the region.');

const secretSource = z.union(
  [
    z.strictObject({ value: z.string().min(1) }),
    z.strictObject({ file: absolutePath }),
    z.strictObject({ env: environmentName }),
    z.strictObject({ systemdCredential: z.string().regex(/^[A-Za-z0-9_.-]+$/, 'not the name of a credential') }),
    z.strictObject({
      exec: z.strictObject({
        command: z.array(z.string()).min(1).describe('Program and arguments; the secret is what it prints.'),
        timeout: duration.optional().describe('Default 30s.'),
      }),
    }),
    z.strictObject({
      http: z.strictObject({
        url: z.url({ protocol: /^https?$/, error: 'not an http or https URL' }),
        headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/, 'not the name of a header'), secret).optional(),
        sha256: sha256.optional(),
        pointer: z
          .string()
          .regex(/^(?:\/[^/]*)+$/, 'not a JSON pointer, such as /data/token')
          .optional(),
      }),
    }),
    z.strictObject({
      awsSecretsManager: z.strictObject({
        secretId: z.string().min(1),
        region: awsRegion,
        key: z.string().min(1).optional().describe('A key of a secret that is a JSON object.'),
        endpoint: awsEndpoint,
      }),
    }),
    z.strictObject({
      awsParameter: z.strictObject({ name: z.string().min(1), region: awsRegion, endpoint: awsEndpoint }),
    }),
  ],
  {
    error:
      'expected one of {value}, {file}, {env}, {systemdCredential}, {exec}, {http}, {awsSecretsManager}, {awsParameter}',
  },
);

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
        path: z.string().min(1).describe("As the provider's service names it: instance-id, compute/vmId, …"),
      }),
    }),
  ],
  { error: 'expected one of {value}, {env}, {envFile}, {file}, {instanceData}, {metadata}' },
);

const variables = z
  .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not a name'), variableSource)
  .describe('Used as ${name} where a field allows it. One that does not exist ends the run before any change.');

const secrets = z.record(z.string().regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'not a name'), secretSource);

/** The sections in reading order. `requires`, `apiVersion` and `kind` are checked before them, for every version. */
export const sections = { metadata, variables, secrets, host, containerRuntime, images, kubernetes, reporting };

/** A section's value once it is known to be valid; absent when it is not there or has mistakes. */
export type Sections = { readonly [Name in keyof typeof sections]?: z.infer<(typeof sections)[Name]> };
