import type { JsonSchema } from '@machineadm/document/fields/conditions.ts';
import { field, object } from '@machineadm/document/fields/field.ts';
import { portablePattern } from '@machineadm/document/fields/portable-pattern.ts';
import { CONDITION } from '@machineadm/document/loading/requires.ts';
import { documentConditions } from '@machineadm/document/versions/v1alpha1/document-conditions.ts';
import type { DocumentVersion } from '@machineadm/document/versions/version.ts';
import * as z from 'zod';
import { type Additions, convertSchema, VARIABLE_TEXT } from './convert.ts';

/**
 * The JSON Schema (draft 2020-12) of a document version, for editors, controllers and other languages. It rejects no
 * document that `machineadm validate` accepts. contract/vectors lists what a schema cannot check.
 */
export function documentSchema(
  version: DocumentVersion,
  valueMeanings?: Additions['valueMeanings'],
  isForReference = false,
): JsonSchema {
  const requires = object({
    agentVersion: field(
      z.string().regex(CONDITION),
      "A condition on the version of the agent. Several comparisons, separated by blanks, must all hold. A pre-release comes before its release: 0.2.0-rc.1 does not satisfy '>=0.2.0'.",
      { absent: 'any version', example: '>=0.1.0 <1.0.0' },
    ),
    features: field(
      z.array(z.string()),
      'Names of features that the agent must have. This version of the format has no optional features yet.',
      { default: [], example: [] },
    ),
  });
  const document = object(
    {
      apiVersion: field(
        z.literal(version.apiVersion),
        'The version of the document format. An agent refuses a version that it does not read.',
        { example: version.apiVersion, changes: NOTHING },
      ),
      kind: field(z.literal('MachineBootstrap'), 'The kind of the document. Always MachineBootstrap.', {
        example: 'MachineBootstrap',
        changes: NOTHING,
      }),
      requires: field(
        requires,
        'What an agent must be or have to apply this document. An older agent in an image refuses the document before it changes anything.',
        {
          absent: 'any agent that reads the apiVersion applies the document',
          example: { agentVersion: '>=0.1.0' },
          changes: NOTHING,
        },
      ),
      ...version.sections,
    },
    documentConditions,
  );
  const { schema, definitions } = convertSchema(document, {
    ...(valueMeanings && { valueMeanings }),
    isForReference,
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

const NOTHING = 'nothing; it decides whether the document is applied';
