import { parseDocument, stringify } from 'yaml';
import type { Mutation } from '../target.ts';
import { changedValue } from './json.ts';

/** Changes one place in one document of a YAML stream. */
export const yaml: Mutation = (random, input) => {
  const separator = /^---\n/m;
  const documents = input.split(separator);
  const at = random.below(documents.length);
  const [head = ''] = /^(?:#.*\n)*/.exec(documents[at] ?? '') ?? [];
  try {
    const document = parseDocument(documents[at] ?? '', { logLevel: 'silent', intAsBigInt: false });
    if (document.errors.length > 0) return undefined;
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    if (value === null || typeof value !== 'object') return undefined;
    documents[at] =
      head +
      stringify(changedValue(random, value), {
        aliasDuplicateObjects: false,
        collectionStyle: random.below(3) === 0 ? 'flow' : 'any',
      });
    return documents.join('---\n');
  } catch {
    return undefined;
  }
};
