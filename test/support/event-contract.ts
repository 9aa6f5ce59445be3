import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as z from 'zod';

/** The schema as others read it, not as our code has it. */
const PUBLISHED = z.fromJSONSchema(
  JSON.parse(readFileSync(resolve(import.meta.dirname, '../../contract/event.v1.schema.json'), 'utf8')),
);

/** What a receiver that believes `contract/event.v1.schema.json` has against an event; undefined = nothing. */
export function againstContract(event: unknown): string | undefined {
  const { error } = PUBLISHED.safeParse(event);
  return error === undefined ? undefined : z.prettifyError(error);
}
