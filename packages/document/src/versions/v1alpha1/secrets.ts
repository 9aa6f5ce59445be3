import * as z from 'zod';
import {
  allowInsecure,
  duration,
  EMPTY_SECRET,
  environmentName,
  headers,
  httpUrl,
  machinePath,
  sha256,
} from './fields.ts';

const awsRegion = z
  .string()
  .regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/, 'not an AWS region')
  .optional();
const awsEndpoint = httpUrl.optional();

const secretSource = z.union(
  [
    z.strictObject({ value: z.string().min(1, EMPTY_SECRET) }),
    z.strictObject({ file: machinePath }),
    z.strictObject({ env: environmentName }),
    z.strictObject({ systemdCredential: z.string().regex(/^[A-Za-z0-9_.-]+$/, 'not the name of a credential') }),
    z.strictObject({
      exec: z.strictObject({
        command: z.array(z.string()).min(1),
        timeout: duration.optional(),
      }),
    }),
    z.strictObject({
      http: z.strictObject({
        url: httpUrl,
        headers: headers.optional(),
        allowInsecure,
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
        key: z.string().min(1).optional(),
        endpoint: awsEndpoint,
        allowInsecure,
      }),
    }),
    z.strictObject({
      awsParameter: z.strictObject({
        name: z.string().min(1),
        region: awsRegion,
        endpoint: awsEndpoint,
        allowInsecure,
      }),
    }),
  ],
  {
    error:
      'expected one of {value}, {file}, {env}, {systemdCredential}, {exec}, {http}, {awsSecretsManager}, {awsParameter}',
  },
);

export const secrets = z.record(z.string().regex(/^[A-Za-z][A-Za-z0-9_-]*$/, 'not a name'), secretSource);

export type SecretsSection = z.infer<typeof secrets>;
