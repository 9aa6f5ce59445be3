import v1alpha1 from '../../../contract/schema/v1alpha1.json' with { type: 'json' };
import { API_VERSIONS } from './versions/api-versions.ts';

/** The published JSON Schemas, which `npm run generate` writes, by the `apiVersion` of the document that they describe. */
const JSON_SCHEMAS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'machineadm.dev/v1alpha1': v1alpha1,
};

/** The JSON Schema (draft 2020-12) of a document version, by default the newest; undefined for one that is not read. */
export function jsonSchema(
  apiVersion: string | undefined = API_VERSIONS.at(-1),
): Readonly<Record<string, unknown>> | undefined {
  return JSON_SCHEMAS[apiVersion ?? ''];
}
