import { redact } from '@machineadm/document/redaction.ts';
import { isRecord } from '@machineadm/document/shape.ts';
import { parseDocument } from 'yaml';

const REMOVED = '[redacted]';

/** What a file is, which says where in it secrets are whatever they look like. */
export type Kind = 'text' | 'manifest' | 'kubeconfig' | 'containerd';

/** A certificate key by itself in a line, as kubeadm prints it under "Using certificate key:". A digest names its algorithm. */
const LONE_KEY = /(^|[\s\]:] ?)[0-9a-f]{64}$/gm;

/**
 * Text without secrets: known ones, what looks like one, and in files whose structure is known everything that may be one.
 * Whoever reads a bundle may be anybody, so a file that cannot be read as what it is loses its content.
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

/** YAML or JSON, parsed and written again: comments are dropped. */
function rewritten(text: string, change: (value: unknown) => unknown): string {
  const document = parseDocument(text, { logLevel: 'silent' });
  if (document.errors.length > 0) {
    const [first] = document.errors;
    const line = first?.linePos?.[0].line ?? 0;
    return `# left out: not valid YAML (line ${line}), so what of it is secret is unknown\n`;
  }
  return `${JSON.stringify(change(document.toJS({ maxAliasCount: 100 })), undefined, 2)}\n`;
}

/** Values of environment variables and of HTTP headers, which Kubernetes writes as `{name, value}`; annotations. */
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

/** Of users only which files they name; of clusters everything. */
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

/** No string but paths of files. */
function withoutStrings(value: unknown): unknown {
  if (typeof value === 'string') return /^\/[\w./-]+$/.test(value) ? value : REMOVED;
  if (Array.isArray(value)) return value.map(withoutStrings);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutStrings(item)]));
}

/** A quote that is not closed stands for itself: what a header names must be seen of a broken file, too. */
const TABLE = /^\s*\[{1,2}((?:[^\]"]|"(?:[^"]*"|(?![^"]*")))*)\]/;
const SECRET_TABLE = /(?:^|[."'])(?:headers?|auths?|credentials?)["']?\s*$/i;
const ASSIGNMENT = /^\s*[\w."'-]+\s*=\s*/;
const INLINE_TABLE = /((?:^|[\s{,])["']?(?:headers?|auths?|credentials?)["']?\s*=\s*)\{.*/is;

/** containerd's configuration, which must stay readable when it is broken: by its lines. */
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
