import { formatPath, type PathSegment } from '../diagnostics/index.ts';
import { parseMode } from '../text/units.ts';
import { fields } from './field-detector.ts';

/** A string of a document that may contain a secret although its field is not of the type "secret". */
export interface SensitiveText {
  /** For example `host.hooks.early.commands[0]`. */
  readonly path: string;
  readonly text: string;
  /** Its name shows that the whole value is secret. */
  readonly isSecret: boolean;
}

/**
 * Places in which users write secrets without declaring them: commands of hooks, environment variables, headers,
 * manifests of static pods, network files, files readable by their owner only, and fields with the name of a secret,
 * such as `password` in the settings of another program.
 */
export function sensitiveTexts(document: unknown): readonly SensitiveText[] {
  const found: SensitiveText[] = [];
  const visit = (node: unknown, path: readonly PathSegment[], owner: unknown): void => {
    if (typeof node === 'string') {
      const isSecret = hasSecretName(path, owner, node);
      if (isSecret || isSensitive(path, owner)) found.push({ path: formatPath(path), text: node, isSecret });
    } else if (Array.isArray(node)) {
      for (const [index, item] of node.entries()) visit(item, [...path, index], owner);
    } else if (isRecord(node)) {
      for (const [key, item] of Object.entries(node)) visit(item, [...path, key], node);
    }
  };
  visit(document, [], undefined);
  return found;
}

/** The document with every sensitive string replaced. Its structure is unchanged. */
export function withoutSensitiveTexts(document: unknown, replacement: string): unknown {
  const paths = new Set(sensitiveTexts(document).map(({ path }) => path));
  const copy = (node: unknown, path: readonly PathSegment[]): unknown => {
    if (typeof node === 'string') return paths.has(formatPath(path)) ? replacement : node;
    if (Array.isArray(node)) return node.map((item: unknown, index) => copy(item, [...path, index]));
    if (!isRecord(node)) return node;
    return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, copy(item, [...path, key])]));
  };
  return copy(document, []);
}

/**
 *
 * @param owner the mapping with the string as a value, or with the list that contains it
 */
function isSensitive(path: readonly PathSegment[], owner: unknown): boolean {
  const [section, part, , field] = path;
  const last = path.at(-1);
  const above = path.at(-2);
  if (section === 'secrets' && last === 'value' && path.length === 3) return true;
  if (section === 'host' && part === 'hooks' && (field === 'commands' || field === 'environment')) return true;
  if (section === 'host' && part === 'files' && last === 'content') return isOwnerOnly(owner);
  if (section === 'host' && part === 'network' && last === 'content') return true;
  if (above === 'headers' || above === 'environment') return true;
  if (last === 'manifest' && path.at(-3) === 'staticPods') return true;
  return last === 'value' && (path.at(-3) === 'env' || path.includes('patches'));
}

/**
 * By its key, or for arguments and variables by the `name` beside its `value`. The `secret` of a reference is only a
 * name.
 */
function hasSecretName(path: readonly PathSegment[], owner: unknown, text: string): boolean {
  const key = path.findLast((segment) => typeof segment === 'string');
  if (key === undefined || (key === 'secret' && isRecord(owner) && Object.keys(owner).length === 1)) return false;
  const name = key === 'value' && isRecord(owner) && typeof owner.name === 'string' ? owner.name : key;
  let isSecret = false;
  fields(`${JSON.stringify(name)}: ${JSON.stringify(text)}`, () => {
    isSecret = true;
  });
  return isSecret;
}

function isOwnerOnly(file: unknown): boolean {
  const mode = isRecord(file) ? file.mode : undefined;
  return typeof mode === 'string' && /^[0-7]{3,4}$/.test(mode) && (parseMode(mode) & 0o077) === 0;
}

/** A mapping; not a scalar with a class of its own. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
