import { CONDITION } from '@machineadm/document/requires.ts';
import type { DocumentVersion } from '@machineadm/document/versions/version.ts';
import * as z from 'zod';
import { CONDITIONS } from './conditions/index.ts';
import { convertSchema, type JsonSchema, VARIABLE_TEXT } from './convert.ts';
import { type FieldReference, fieldReference } from './fields.ts';
import { portablePattern } from './patterns.ts';
import { definitionsOf, rulesOf } from './v1alpha1.ts';

/**
 * The JSON Schema (draft 2020-12) of a document version: what editors, controllers and other languages judge a document
 * by. It refuses nothing that `machineadm validate` takes. contract/vectors says what a schema cannot judge.
 */
export function documentSchema(version: DocumentVersion, reference: FieldReference = fieldReference()): JsonSchema {
  const requires = z.strictObject({
    agentVersion: z.string().regex(CONDITION).optional(),
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
  const { schema, definitions } = convertSchema(document, {
    definitions: definitionsOf(document),
    rules: rulesOf(document),
    conditions: new Map(Object.entries(CONDITIONS)),
    field: (path) => reference.annotations(path),
    isExpandable: (place) => version.variables?.isExpandable(place, {}) === true,
  });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `https://machineadm.dev/schema/${version.apiVersion.split('/')[1]}.json`,
    title: `MachineBootstrap ${version.apiVersion}`,
    ...schema,
    $defs: {
      [VARIABLE_TEXT]: {
        description:
          'A text that holds a reference to a variable, such as ${rack}. Its form is checked once the value is known.',
        type: 'string',
        ...portablePattern(/(?:^|[^$])\$\{[A-Za-z_][A-Za-z0-9_]*\}/),
      },
      ...definitions,
    },
  };
}
