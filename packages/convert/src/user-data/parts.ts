import { fromBase64 } from '../inputs/secrets.ts';
import type { Report } from '../report/report.ts';
import { yamlValue } from '../texts/yaml.ts';
import { isMap } from '../values/map.ts';
import { isMime, MimeError, type MimePart, mimeParts, unzippedText } from './mime.ts';

/** A part of user data that cloud-init runs or merges. */
export interface UserDataPart {
  readonly kind: 'cloud-config' | 'script' | 'boothook';
  /** Of its file with cloud-init, which orders the scripts; undefined for user data of one part. */
  readonly name: string | undefined;
  readonly text: string;
  /** The header `Merge-Type`. */
  readonly mergeType: string | undefined;
}

/** The first line of the provider's template; without it cloud-init does not process braces. */
export const JINJA_HEADER = /^##\s*template:\s*jinja\s*$/m;

export function isCloudConfig(text: string): boolean {
  return kindOf(text) === 'text/cloud-config';
}

/** Whether cloud-init knows a text as user data, in parts or alone. */
export function isUserData(text: string): boolean {
  return isCloudConfig(text) || isMime(text) || kindOf(text) === SCRIPT || kindOf(text) === ARCHIVE;
}

const SCRIPT = 'text/x-shellscript';
const ARCHIVE = 'text/cloud-config-archive';

/** cloudinit/handlers/__init__.py, INCLUSION_TYPES_MAP. */
const BEGINNINGS: readonly (readonly [RegExp, string])[] = [
  [/^#cloud-config-archive\b/, ARCHIVE],
  [/^#cloud-config-jsonp\b/, 'text/cloud-config-jsonp'],
  [/^#cloud-config\b/, 'text/cloud-config'],
  [/^#cloud-boothook\b/, 'text/cloud-boothook'],
  [/^#include\b/, 'text/x-include-url'],
  [/^#part-handler\b/, 'text/part-handler'],
  [/^#!/, SCRIPT],
];

/** The type that the first line tells; after the header of a template that of the second. */
function kindOf(text: string): string | undefined {
  const lines = text
    .slice(0, 2000)
    .trimStart()
    .split('\n', 20)
    .filter((line) => line.trim() !== '');
  const [first = '', second = ''] = lines;
  const line = JINJA_HEADER.test(first) ? second.trimStart() : first;
  return BEGINNINGS.find(([pattern]) => pattern.test(line))?.[1];
}

/** The text of user data in base64, compressed or not; any other text as it is. */
export async function unwrapped(text: string): Promise<string> {
  if (!/^[A-Za-z0-9+/]{16}/.test(text) || !/^[A-Za-z0-9+/=\s]*$/.test(text)) return text;
  const bytes = fromBase64(text);
  const inner = bytes === undefined ? undefined : await unzippedText(bytes);
  return inner !== undefined && (isUserData(inner) || inner.trimStart().startsWith('{')) ? inner : text;
}

/** Types that cloud-init does not believe (cloudinit/user_data.py, TYPE_NEEDED, DECOMP_TYPES). */
const UNTOLD = new Set([
  '',
  'text/plain',
  'text/x-not-multipart',
  'text/x-shellscript',
  'text/jinja2',
  'application/octet-stream',
  ...'gzip gzip-compressed gzipped x-compress x-compressed x-gunzip x-gzip x-gzip-compressed'
    .split(' ')
    .map((name) => `application/${name}`),
]);

const OTHERS: Readonly<Record<string, string>> = {
  'text/part-handler': 'a program for cloud-init',
  [ARCHIVE]: 'an archive in an archive',
  'text/upstart-job': 'a job of upstart',
  'text/x-shellscript-per-boot': 'a script of every boot: write a unit of systemd',
  'text/cloud-config-jsonp': 'a JSON patch of a cloud-config',
};

/** The parts of user data in their order. What has no counterpart is reported. */
export async function userDataParts(text: string, title: string, report: Report): Promise<readonly UserDataPart[]> {
  if (!isMime(text)) return await toParts([{ type: '', filename: undefined, headers: new Map(), text }], title, report);
  try {
    return await toParts(await mimeParts(text), title, report);
  } catch (error) {
    if (!(error instanceof MimeError)) throw error;
    report.add('InputInvalid', title, `not a MIME message of parts: ${error.message}`);
    return [];
  }
}

async function toParts(
  given: readonly MimePart[],
  title: string,
  report: Report,
  isArchive = false,
): Promise<readonly UserDataPart[]> {
  const isAlone = given.length === 1;
  const parts: UserDataPart[] = [];
  for (const [index, { type, filename, headers, text }] of given.entries()) {
    const name = cleanName(filename) ?? (isAlone ? undefined : `part-${String(index + 1).padStart(3, '0')}`);
    const at = name === undefined ? title : `${title}: ${name}`;
    const kind = UNTOLD.has(type) ? (kindOf(text) ?? type) : type;
    const mergeType = headers.get('merge-type') ?? headers.get('x-merge-type');
    const part = { name, text, mergeType };
    if (kind === ARCHIVE && !isArchive) parts.push(...(await archived(text, at, report)));
    else if (kind === 'text/cloud-config') parts.push({ ...part, kind: 'cloud-config' });
    else if (kind === SCRIPT || /^text\/x-shellscript-per-(?:instance|once)$/.test(kind)) {
      parts.push({ ...part, kind: 'script' });
    } else if (kind === 'text/cloud-boothook') {
      parts.push({ ...part, kind: 'boothook', text: text.replace(/^\s{0,9}#cloud-boothook[^\n]{0,99}\n/, '') });
    } else if (kind === 'text/x-include-url') {
      report.add('ToolFirst', at, 'cloud-init downloads it: download it, and convert its text beside the other parts');
    } else if (kind === 'application/node.eks.aws') {
      report.add('NotKubeadm', at, 'EKS: nodeadm joins a node of an EKS cluster, which takes no kubeadm join');
    } else if (text.trim() !== '') {
      report.add('UserDataPart', at, OTHERS[kind] ?? 'cloud-init knows no such part, and ignores it');
    }
  }
  return parts;
}

/** `#cloud-config-archive`: a list of texts, or of {type, content, filename} (cloudinit/user_data.py, _explode_archive). */
async function archived(text: string, at: string, report: Report): Promise<readonly UserDataPart[]> {
  const value = await yamlValue(text, at, report, 'PyYAML');
  if (!Array.isArray(value)) {
    report.add('InputInvalid', at, 'a cloud-config archive is a list');
    return [];
  }
  const given = value.map((one: unknown): MimePart => {
    const entry = isMap(one) ? one : { content: one };
    const told = (name: string): string => (typeof entry[name] === 'string' ? String(entry[name]) : '');
    const filename = told('filename') === '' ? undefined : told('filename');
    return { type: told('type').toLowerCase(), filename, headers: new Map(), text: told('content') };
  });
  return await toParts(given, at, report, true);
}

/** cloudinit/util.py, clean_filename. */
function cleanName(filename: string | undefined): string | undefined {
  const base = filename?.slice(filename.lastIndexOf('/') + 1).slice(0, 100);
  const plain = base?.replace(/[^A-Za-z0-9_.-]/g, '_');
  return plain === undefined || /^\.{0,2}$/.test(plain) ? undefined : plain;
}
