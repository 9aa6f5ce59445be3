import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';

const ROOT = resolve(import.meta.dirname, '../..');

interface Rules {
  readonly kind: string;
  readonly rules?: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
}

/** `VERB RESOURCE` of every right in a file of manifests. */
export function granted(file: string): ReadonlySet<string> {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const objects = parseAllDocuments(text).map((one): Rules => one.toJS());
  const rules = objects.flatMap(({ kind, rules: own }) => (kind.endsWith('Role') ? (own ?? []) : []));
  return new Set(
    rules.flatMap(({ resources, verbs }) => verbs.flatMap((verb) => resources.map((one) => `${verb} ${one}`))),
  );
}

const COLLECTION = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+)?\/([a-z]+)(?:\/([^/]+)(?:\/([a-z]+))?)?$/;

/** The right that a request needs (k8s docs, authorization: request verbs); undefined = everybody may do it. */
export function needed(call: string): string | undefined {
  const [method = '', path = ''] = call.split(' ');
  const [, resource = '', name, sub] = COLLECTION.exec(path) ?? [];
  if (resource === '') return undefined;
  const verbs = {
    GET: name === undefined ? 'list' : 'get',
    POST: 'create',
    PUT: 'update',
    PATCH: 'patch',
    WATCH: 'watch',
  };
  const verb = Object.entries(verbs).find(([one]) => one === method)?.[1] ?? method;
  return `${verb} ${sub === undefined ? resource : `${resource}/${sub}`}`;
}
