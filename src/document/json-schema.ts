import * as z from 'zod';
import { DOCUMENT_VERSIONS } from './versions/index.ts';
import type { DocumentVersion } from './versions/version.ts';

/**
 * The JSON Schema (draft 2020-12) of a document version, for editors: completion, types and descriptions. The loader
 * checks more than a schema can say (rules across fields).
 */
export function jsonSchema(version: DocumentVersion = newest()): Readonly<Record<string, unknown>> {
  const requires = z.strictObject({
    agentVersion: z.string().optional().describe('A condition such as ">=0.1.0"; an older agent refuses the document.'),
    features: z.array(z.string()).optional(),
  });
  const sections = Object.entries(version.sections).map(([name, schema]): [string, z.ZodType] => [
    name,
    version.required.includes(name) ? schema : schema.optional(),
  ]);
  const document = z.strictObject({
    apiVersion: z.literal(version.apiVersion),
    kind: z.literal('MachineBootstrap'),
    requires: requires.optional(),
    ...Object.fromEntries(sections),
  });
  const schema = z.toJSONSchema(document, { io: 'input', unrepresentable: 'any' });
  return {
    $schema: schema.$schema,
    $id: `https://machineadm.dev/schema/${version.apiVersion.split('/')[1]}.json`,
    title: `MachineBootstrap ${version.apiVersion}`,
    ...Object.fromEntries(Object.entries(schema).filter(([key]) => key !== '$schema')),
  };
}

function newest(): DocumentVersion {
  const version = DOCUMENT_VERSIONS.at(-1);
  if (version === undefined) throw new TypeError('no document version');
  return version;
}
