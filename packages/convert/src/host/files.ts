import { utf8Text } from '@machineadm/document/encodings/decode.ts';
import type { FileSection } from '@machineadm/document/host-parts/files.ts';
import { trimmedEnd } from '@machineadm/document/text/trim.ts';
import { parseMode } from '@machineadm/document/text/units.ts';
import { renderTemplate, TEMPLATE_HINT } from '../go-template/content.ts';
import type { Conversion } from '../inputs/conversion.ts';
import { fromBase64, type SecretName, toBase64 } from '../inputs/secrets.ts';
import type { FileSpec, Spec } from '../spec/spec.ts';
import { windowsMode } from '../spec/windows.ts';
import { hasMark } from '../texts/jinja.ts';

/** cloudinit/config/cc_write_files.py: DEFAULT_PERMS, DEFAULT_OWNER. */
const DEFAULT_MODE = '0644';
const DEFAULT_OWNER = 'root:root';

/** File names that imply privacy. */
const PRIVATE_NAME = /(?:^|[./_-])(?:key|password|passwd|token|secret|pw|azure\.json)(?:$|[._-])|\.key$/i;

/** `host.files`: the bytes, owners and modes that the provider's user data has. */
export function convertFiles(spec: Spec, conversion: Conversion): FileSection[] {
  const targets = new Set(spec.mounts.map(({ columns }) => trimmedEnd(columns[1] ?? '', '/')));
  return joinedByPath(spec.files, conversion).flatMap((file) => {
    // Templates keep a place in the list so, for patches.
    if (file.path !== '/dev/null') return [convertFile(file, spec, targets, conversion)];
    for (const part of ['content', 'encoding', 'append']) file.at.get(part).whole();
    conversion.report.add('WithoutEffect', file.at, 'what is written to /dev/null is nowhere');
    return [];
  });
}

/** Entries for one path, as cloud-init writes them one after the other: the last whole one, and what is appended to it. */
function joinedByPath(files: readonly FileSpec[], { report }: Conversion): readonly FileSpec[] {
  const byPath = Map.groupBy(files, ({ path }) => path);
  return [...byPath.values()].flatMap((entries) => {
    const [only, second] = entries;
    if (second === undefined || only?.path === '/dev/null') return entries;
    const start = Math.max(
      entries.findLastIndex(({ append }) => !append),
      0,
    );
    for (const { at, path, rights } of entries.slice(0, start)) {
      for (const part of ['content', 'encoding', 'append', 'contentFormat'] as const) at.get(part).whole();
      for (const part of [...rights, at.get('contentFrom')]) part.whole();
      report.add('WithoutEffect', at, `${path} is written again by a later entry`);
    }
    const left = entries.slice(start);
    const [first, ...appended] = left;
    const last = left.at(-1);
    if (first === undefined || last === undefined || appended.length === 0) return left;
    if (left.some(({ secret, encoding }) => secret !== undefined || (encoding ?? '') !== '')) {
      const message = `${last.path} has several entries, and one is encoded or from a Secret: write one`;
      report.add('InputInvalid', last.at, message);
      return [first];
    }
    const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
    const content = left.map((file) => ended(file.content)).join('');
    return [{ ...last, append: first.append, content }];
  });
}

function convertFile(file: FileSpec, spec: Spec, targets: ReadonlySet<string>, conversion: Conversion): FileSection {
  const { report, platform } = conversion;
  const isWindows = platform === 'Windows';
  const mode = isWindows ? windowsMode(modeOf(file, conversion), file, report) : modeOf(file, conversion);
  if (parseMode(mode) % 8 >= 4 && PRIVATE_NAME.test(basename(file.path))) {
    report.add('PrivateFileReadable', file.at, `${file.path} has the mode ${mode}`);
  }
  if (file.append && spec.flavour === 'ignition' && !spec.resolved) {
    report.add('AppendInIgnition', file.at, `${file.path} is appended to`);
  }
  const below = ancestorsOf(file.path).find((directory) => targets.has(directory));
  if (below !== undefined) report.add('FileBelowMount', file.at, `${file.path} is below ${below}`);
  return {
    path: file.path,
    ...contentOf(file, mode, conversion),
    mode,
    owner: isWindows ? undefined : ownerOf(file),
    append: file.append ? true : undefined,
  };
}

type Content = Pick<FileSection, 'content' | 'contentFrom' | 'encoding'>;

function contentOf(file: FileSpec, mode: string, conversion: Conversion): Content {
  if (file.isReference === true) {
    return { contentFrom: conversion.secrets.reference(nameFor(file.path), file.at, `the content of ${file.path}`) };
  }
  if (file.secret !== undefined) return secretContent(file, file.secret, conversion);
  const encoding = encodingOf(file, conversion);
  // Scripts are executable; a text that only root may read is a secret.
  const isPrivate = /^0?[64]00$/.test(mode) && file.content.trim() !== '' && !hasMark(file.content);
  if (encoding !== undefined) return encodedContent(file, file.content, encoding, isPrivate, conversion);
  const content = normalised(file, file.content, conversion);
  if (!isPrivate) return { content };
  conversion.report.add('FileIsSecret', file.at, `${file.path} has the mode ${mode}`);
  return { contentFrom: conversion.secrets.value(nameFor(file.path), content) };
}

/** Private text becomes a secret. Bytes that are none stay content, which is as secret: the whole document is. */
function encodedContent(
  { path, at }: FileSpec,
  encoded: string,
  encoding: NonNullable<FileSection['encoding']>,
  isPrivate: boolean,
  { report, secrets }: Conversion,
): Content {
  const content = encoded.trim();
  if (!isPrivate) return { content, encoding };
  const bytes = encoding === 'base64' ? fromBase64(content) : undefined;
  const text = bytes === undefined ? undefined : utf8Text(bytes);
  report.add('FileIsSecret', at, `${path} is for its owner alone`);
  if (text !== undefined && text !== '') return { contentFrom: secrets.value(nameFor(path), text) };
  secrets.keepPrivate(content);
  return { content, encoding };
}

/** From a Secret: by name where it stays outside, decoded where it is inlined. */
function secretContent(file: FileSpec, { name, key }: SecretKeyOf, conversion: Conversion): Content {
  const { report, secrets, related } = conversion;
  const encoding = encodingOf(file, conversion);
  const bytes = secrets.inlineBytes(related.namespace, name, key);
  if (bytes === undefined) {
    if (file.template) {
      const message = 'the content of a Secret is rendered only where it is inlined: --inline-secrets';
      report.add('TemplateUnsupported', file.at, message);
    }
    if (encoding !== undefined) {
      report.add(
        'InputInvalid',
        file.at,
        `the encoding of a Secret is only undone where it is inlined: --inline-secrets`,
      );
    }
    return { contentFrom: secrets.referenceTo({ name, key }, file.at) };
  }
  const raw = utf8Text(bytes);
  const text = raw === undefined || !file.template ? raw : rendered(file, raw, conversion);
  if (encoding !== undefined && text !== undefined) return encodedContent(file, text, encoding, true, conversion);
  if (text === undefined) {
    report.add('SecretNotText', file.at, `key ${key} of the Secret ${name}`);
    secrets.keepPrivate(toBase64(bytes));
    return { content: toBase64(bytes), encoding: 'base64' };
  }
  const content = normalised(file, text, conversion);
  if (/\{\{|\{%/.test(content)) report.add('JinjaInSecret', file.at, `key ${key} of the Secret ${name}`);
  const reference: SecretName = secrets.value(`${name}-${key}`, content);
  return { contentFrom: reference };
}

type SecretKeyOf = NonNullable<FileSpec['secret']>;

/** contentFormat Template also applies to content from a Secret. */
function rendered({ at, path }: FileSpec, template: string, { report, related }: Conversion): string {
  const text = renderTemplate(template, related.controlPlaneVersion);
  if (text === undefined) report.add('TemplateUnsupported', at, TEMPLATE_HINT);
  else report.add('TemplateRendered', at, path);
  return text ?? '';
}

function encodingOf(file: FileSpec, { report }: Conversion): FileSection['encoding'] {
  switch (file.encoding) {
    case undefined:
    case '':
    case 'text/plain':
      return undefined;
    case 'base64':
    case 'b64':
      return 'base64';
    case 'gzip+base64':
    case 'gz+base64':
    case 'gzip+b64':
    case 'gz+b64':
      return 'gzip+base64';
    case 'gzip':
    case 'gz':
      report.add('GzipAlone', file.at, 'use gzip+base64');
      return undefined;
    default:
      report.add('InputInvalid', file.at, 'expected base64 or gzip+base64 as encoding');
      return undefined;
  }
}

/**
 * The provider writes every content as a YAML block, which ends in exactly one line break and has no carriage returns
 * (cluster-api bootstrap/kubeadm/pkg/cloudinit/files.go).
 */
function normalised({ at, path }: FileSpec, content: string, conversion: Conversion): string {
  const { report } = conversion;
  const lines = trimmedEnd(content.replaceAll('\r\n', '\n'), '\n');
  const body = conversion.resolved ? lines : withoutIndentation(lines, at, path, conversion);
  const whole = body === '' ? '' : `${body}\n`;
  if (whole !== content) report.add('NewlineNormalised', at, path);
  return whole;
}

/** A YAML block is indented as its first line that is not empty is; a line after it that is indented less ends it. */
function withoutIndentation(text: string, at: FileSpec['at'], path: string, { report }: Conversion): string {
  const lines = text.split('\n');
  const first = lines.find((line) => line !== '') ?? '';
  const indentation = first.length - first.trimStart().length;
  const blanks = first.slice(0, indentation);
  if (indentation === 0 || blanks !== ' '.repeat(indentation)) return text;
  if (lines.some((line) => line.trim() !== '' && !line.startsWith(blanks))) {
    const message = `${path}: a line is indented less than the first, so the user data of today is not YAML`;
    report.add('InputInvalid', at, message);
    return text;
  }
  report.add('IndentationRemoved', at, `${path}: ${indentation} blanks of each line`);
  return lines.map((line) => line.slice(indentation)).join('\n');
}

function modeOf({ permissions, at }: FileSpec, { report }: Conversion): string {
  if (permissions === undefined || permissions === '') return DEFAULT_MODE;
  const digits = /^(?:0o)?0*([0-7]{1,4})$/.exec(permissions)?.[1];
  if (digits === undefined) {
    report.add('PermissionsInvalid', at, 'write octal digits, such as "0644"');
    return DEFAULT_MODE;
  }
  return `0${digits.padStart(3, '0')}`;
}

/** A user alone leaves the file's group unchanged: root (cloudinit/util.py, chownbyname). */
function ownerOf({ owner }: FileSpec): string {
  if (owner === undefined || owner === '') return DEFAULT_OWNER;
  const [user = 'root', ...rest] = owner.split(':');
  const group = rest.join(':');
  return `${user === '' ? 'root' : user}:${group === '' ? 'root' : group}`;
}

export function basename(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}

/** `/a/b/c`: `/a`, `/a/b`. */
function ancestorsOf(path: string): readonly string[] {
  const found: string[] = [];
  for (let end = path.indexOf('/', 1); end > 0; end = path.indexOf('/', end + 1)) found.push(path.slice(0, end));
  return found;
}

function nameFor(path: string): string {
  return path.replace(/^\/(?:etc\/)?/, '');
}
