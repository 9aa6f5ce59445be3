import v1alpha1 from '../../../../contract/schema/v1alpha1.json' with { type: 'json' };
import { API_VERSIONS } from './api-versions.ts';

/** The published JSON Schemas, written by `npm run generate`, by the document's `apiVersion`. */
const JSON_SCHEMAS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'machineadm.dev/v1alpha1': v1alpha1,
};

/** The JSON Schema (draft 2020-12) of a document version, by default the newest; undefined for an unknown one. */
export function jsonSchema(
  apiVersion: string | undefined = API_VERSIONS.at(-1),
): Readonly<Record<string, unknown>> | undefined {
  return JSON_SCHEMAS[apiVersion ?? ''];
}
