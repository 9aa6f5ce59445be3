import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';
import { parseDocument } from 'yaml';

const REMOVED = '[redacted]';

/** The kind of a file, which tells where it can contain secrets. */
export type Kind = 'text' | 'manifest' | 'kubeconfig' | 'containerd';

/**
 * A certificate key alone on its line, as kubeadm prints it under "Using certificate key:". Digests begin with their
 * algorithm, so they do not match.
 */
const LONE_KEY = /(^|[\s\]:] ?)[0-9a-f]{64}$/gm;

/**
 * Removes secrets from text: known values, what looks like a secret, and in structured files every place that can hold
 * one. Anybody may read a bundle, so a structured file that cannot be parsed loses its content.
 */
export function cleanse(text: string, kind: Kind = 'text'): string {
  return redact(withoutSecretPlaces(text, kind)).replace(LONE_KEY, `$1${REMOVED}`);
}

function withoutSecretPlaces(text: string, kind: Kind): string {
  switch (kind) {
    case 'text':
      return text;
    case 'manifest':
      return rewritten(text, withoutValues);
    case 'kubeconfig':
      return rewritten(text, withoutUsers);
    case 'containerd':
      return withoutSecretTables(text);
  }
}

/** Parses YAML or JSON and writes it again; comments are lost. */
function rewritten(text: string, change: (value: unknown) => unknown): string {
  const document = parseDocument(text, { logLevel: 'silent' });
  if (document.errors.length > 0) {
    const [first] = document.errors;
    const line = first?.linePos?.[0].line ?? 0;
    return `# left out: not valid YAML (line ${line}), so what of it is secret is unknown\n`;
  }
  return `${JSON.stringify(change(document.toJS({ maxAliasCount: 100 })), undefined, 2)}\n`;
}

/**
 * Removes the values of environment variables and HTTP headers, which Kubernetes writes as `{name, value}`, and of
 * annotations.
 */
function withoutValues(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutValues);
  if (!isRecord(value)) return value;
  const pair = typeof value.name === 'string' && 'value' in value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (pair && key === 'value') return [key, REMOVED];
      return [key, key === 'annotations' ? withoutStrings(item) : withoutValues(item)];
    }),
  );
}

/** Of users, only the paths of files are kept; of clusters, everything. */
function withoutUsers(value: unknown): unknown {
  if (!isRecord(value)) return REMOVED;
  const users = Array.isArray(value.users) ? value.users : [];
  return {
    ...value,
    users: users.map((user: unknown) =>
      isRecord(user) ? { name: user.name, user: withoutStrings(user.user) } : REMOVED,
    ),
  };
}

/** Keeps no strings but paths of files. */
function withoutStrings(value: unknown): unknown {
  if (typeof value === 'string') return /^\/[\w./-]+$/.test(value) ? value : REMOVED;
  if (Array.isArray(value)) return value.map(withoutStrings);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutStrings(item)]));
}

/** An unclosed quote matches as a plain character, so that the name of a table is also found in a broken file. */
const TABLE = /^\s*\[{1,2}((?:[^\]"]|"[^"]*")*(?:"(?![^"]*")[^\]"]*)?)\]/;
const SECRET_TABLE = /(?:^|[."'])(?:headers?|auths?|credentials?)["']?\s*$/i;
const ASSIGNMENT = /^\s*[\w."'-]+\s*=\s*/;
const INLINE_TABLE = /((?:^|[\s{,])["']?(?:headers?|auths?|credentials?)["']?\s*=\s*)\{.*/is;

/** containerd's configuration is cleansed line by line, so that a broken one stays readable. */
function withoutSecretTables(text: string): string {
  let secret = false;
  return text
    .split('\n')
    .map((line) => {
      const table = TABLE.exec(line)?.[1];
      if (table !== undefined) secret = SECRET_TABLE.test(table);
      if (table !== undefined || line.trim() === '') return line;
      if (!secret) return line.replace(INLINE_TABLE, `$1${REMOVED}`);
      return ASSIGNMENT.exec(line)?.[0].concat(REMOVED) ?? REMOVED;
    })
    .join('\n');
}
