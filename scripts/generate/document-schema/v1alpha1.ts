import { HOST_PARTS } from '@machineadm/document/host-parts/index.ts';
import type { HostPart } from '@machineadm/document/host-parts/part.ts';
import * as fields from '@machineadm/document/versions/v1alpha1/fields.ts';
import { tomlTable } from '@machineadm/document/versions/v1alpha1/toml.ts';
import type * as z from 'zod';
import type { JsonSchema } from './convert.ts';

/** What the schema of v1alpha1 says beside what its sections say themselves. */

/** Schemas that several fields share, by the field path of one of them. */
const SHARED: Readonly<Record<string, string>> = {
  ClientCertificate: 'reporting.sinks[Webhook].clientCertificate',
  Component: 'kubernetes.controlPlane.scheduler',
  KeyPair: 'kubernetes.pki.ca',
  PodEnvironmentVariable: 'kubernetes.controlPlane.scheduler.env[]',
};

export function definitionsOf(document: z.core.$ZodType): ReadonlyMap<z.core.$ZodType, string> {
  const definitions = new Map<z.core.$ZodType, string>([
    [fields.absolutePath, 'AbsolutePath'],
    [fields.argument, 'Argument'],
    [fields.certificateOrVariable, 'CertificateOfTheCluster'],
    [fields.certificatePem, 'Certificate'],
    [fields.cidr, 'Subnet'],
    [fields.dnsSubdomain, 'DnsSubdomain'],
    [fields.duration, 'Duration'],
    [fields.environmentName, 'EnvironmentVariableName'],
    [fields.environmentVariable, 'EnvironmentVariable'],
    [fields.fileMode, 'FileMode'],
    [fields.hostPort, 'HostPort'],
    [fields.httpUrl, 'HttpUrl'],
    [fields.httpsUrl, 'HttpsUrl'],
    [fields.imageRepository, 'ImageRepository'],
    [fields.imageTag, 'ImageTag'],
    [fields.machinePath, 'MachinePath'],
    [fields.secret, 'Secret'],
    [fields.sha256, 'Sha256'],
    [tomlTable, 'TomlTable'],
  ]);
  for (const part of Object.values<HostPart>(HOST_PARTS)) {
    for (const [name, schema] of Object.entries(part.definitions ?? {})) definitions.set(schema, name);
  }
  for (const [name, path] of Object.entries(SHARED)) definitions.set(schemaAt(document, path), name);
  for (const sink of alternatives(schemaAt(document, 'reporting.sinks[]'))) {
    definitions.set(sink, `${literal(sink)}Sink`);
  }
  return definitions;
}

/** What rules in code mean in a JSON Schema. */
export function rulesOf(document: z.core.$ZodType): ReadonlyMap<z.core.$ZodType, JsonSchema> {
  return new Map<z.core.$ZodType, JsonSchema>([
    [fields.certificatePem, { pattern: CERTIFICATE }],
    // The text of a reference is taken, too: what it stands for is judged once it is known.
    [fields.certificateOrVariable, { pattern: `^\\$\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}$|${CERTIFICATE}` }],
    [fields.publicKeyPem, { pattern: '-----BEGIN (?:RSA )?PUBLIC KEY-----[\\s\\S]+-----END' }],
    [fields.verbatimNumber, { type: 'number' }],
    [fields.wholeOf64Bits, { type: 'integer', minimum: -(2 ** 63), maximum: 2 ** 64 }],
    [
      schemaAt(document, 'kubernetes.bootstrapper.kubeadm.extraDocuments[]'),
      {
        anyOf: Object.entries({
          KubeletConfiguration: 'kubelet.config.k8s.io/v1beta1',
          KubeProxyConfiguration: 'kubeproxy.config.k8s.io/v1alpha1',
        }).map(([kind, apiVersion]) => ({ properties: { kind: { const: kind }, apiVersion: { const: apiVersion } } })),
      },
    ],
  ]);
}

const CERTIFICATE = '-----BEGIN CERTIFICATE-----[\\s\\S]+-----END CERTIFICATE-----';

/** The schema of a field: without `optional` around it. Throws for a path that is none. */
export function schemaAt(document: z.core.$ZodType, path: string): z.core.$ZodType {
  let schema = bare(document);
  for (const step of path.match(/[A-Za-z]+|\[\w*\]|\*/g) ?? []) {
    const { def } = schema._zod;
    if (step === '[]') schema = bare((def as z.core.$ZodArrayDef).element);
    else if (step === '*') schema = bare((def as z.core.$ZodRecordDef).valueType);
    else if (step.startsWith('[')) {
      const of = alternatives(bare((def as z.core.$ZodArrayDef).element)).find(
        (one) => literal(one) === step.slice(1, -1),
      );
      if (of === undefined) throw new TypeError(`${path}: no ${step}`);
      schema = of;
    } else {
      const owners = [schema, ...alternatives(schema)].map(({ _zod }) => _zod.def as Partial<z.core.$ZodObjectDef>);
      const field = owners.map(({ shape }) => shape?.[step]).find((one) => one !== undefined);
      if (field === undefined) throw new TypeError(`${path}: no field ${step}`);
      schema = bare(field);
    }
  }
  return schema;
}

function bare(schema: z.core.$ZodType): z.core.$ZodType {
  const { def } = schema._zod;
  return def.type === 'optional' ? bare((def as z.core.$ZodOptionalDef).innerType) : schema;
}

function alternatives(schema: z.core.$ZodType): readonly z.core.$ZodType[] {
  const { def } = schema._zod;
  return def.type === 'union' ? (def as z.core.$ZodUnionDef).options : [];
}

function literal(schema: z.core.$ZodType): string {
  const type = (schema._zod.def as z.core.$ZodObjectDef).shape.type?._zod.def;
  return String((type as z.core.$ZodLiteralDef<string> | undefined)?.values[0]);
}
