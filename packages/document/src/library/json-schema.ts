import { API_VERSIONS } from '../versions/api-versions.ts';
import { jsonSchema as schemaOf } from '../versions/json-schema.ts';

/**
 * The JSON Schema (draft 2020-12) of a document version, by default the newest. Throws a RangeError for an unknown one.
 */
export function jsonSchema(apiVersion?: string): Readonly<Record<string, unknown>> {
  const schema = schemaOf(apiVersion);
  if (schema === undefined) throw new RangeError(`${apiVersion} is none of ${API_VERSIONS.join(', ')}`);
  return schema;
}
