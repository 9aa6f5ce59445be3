import { choices, type Finding, formatPath, nearestName, type PathSegment } from '../../diagnostics/index.ts';
import { isKubeletPatch } from '../../kubernetes-releases/kubeadm.ts';
import {
  type FieldKind,
  KUBELET_FIELDS_MINORS,
  type KubeletField,
  kubeletFields,
  kubeletLimits,
  kubeletWords,
} from '../../kubernetes-releases/kubelet-fields.ts';
import { minorOf } from '../../kubernetes-releases/minor.ts';
import { Verbatim } from '../../values/verbatim.ts';
import { foreignYamlDocuments } from '../../yaml/foreign-yaml.ts';
import { isDuration } from './go-values.ts';
import type { KubernetesSection } from './index.ts';

/**
 * The kubelet's configuration, wherever the document has a part of it: names and kinds of values. kubeadm decodes it strictly
 * (`kubeadm config validate`); a kubelet does not start with a value of another kind, and ignores a field that it does not know.
 */
export function checkKubeletConfiguration({ version, node, bootstrapper }: KubernetesSection): Finding[] {
  const judge = judgeOf(minorOf(version));
  const kubeadm = ['kubernetes', 'bootstrapper', 'kubeadm'];
  const { extraDocuments = [], patches } = bootstrapper?.kubeadm ?? {};
  return [
    ...judge.object('KubeletConfiguration', node?.kubelet?.config, ['kubernetes', 'node', 'kubelet', 'config']),
    ...extraDocuments.flatMap((document, index) =>
      document.kind === 'KubeletConfiguration'
        ? judge.object('KubeletConfiguration', document, [...kubeadm, 'extraDocuments', index])
        : [],
    ),
    ...(Array.isArray(patches) ? patches : []).flatMap(({ target, patch }, index) =>
      target === 'kubeletconfiguration' ? judgePatch(judge, patch, [...kubeadm, 'patches', index, 'patch']) : [],
    ),
  ];
}

/** A file of the document with its text in it. */
interface WrittenFile {
  readonly path: string;
  readonly content?: string | undefined;
  readonly encoding?: string | undefined;
}

/**
 * The kubelet's configuration in files that the document writes: patches for kubeadm in `patches.directory`, and drop-ins of
 * the kubelet in the directory of its argument `config-dir`.
 */
export async function checkKubeletFiles(
  { version, bootstrapper, node }: KubernetesSection,
  files: readonly WrittenFile[],
): Promise<Finding[]> {
  const patches = bootstrapper?.kubeadm?.patches;
  const directory = patches === undefined || Array.isArray(patches) ? undefined : patches.directory;
  const judge = judgeOf(minorOf(version));
  const dropIns = node?.kubelet?.args?.findLast(({ name }) => name === 'config-dir')?.value;
  const findings: Finding[] = [];
  for (const [index, { path, content, encoding }] of files.entries()) {
    const at = path.lastIndexOf('/');
    const [parent, name] = [path.slice(0, at), path.slice(at + 1)];
    const isRead = (parent === directory && isKubeletPatch(name)) || (parent === dropIns && name.endsWith('.conf'));
    if (!isRead || content === undefined || encoding !== undefined) continue;
    for (const part of await foreignYamlDocuments(content)) {
      for (const { path: inside, message, hint } of judgePatch(judge, part, [])) {
        const place = { path: ['host', 'files', index, 'content'], message: `${formatPath(inside)}: ${message}` };
        findings.push({ code: 'RefusedByKubernetes', ...place, ...(hint === undefined ? {} : { hint }) });
      }
    }
  }
  return findings;
}

/** A strategic and a merge patch are objects, a JSON patch is a list. */
function judgePatch(judge: Judge, patch: unknown, path: readonly PathSegment[]): Finding[] {
  return Array.isArray(patch)
    ? patch.flatMap((change: unknown, at) => judge.change(change, [...path, at]))
    : judge.object('KubeletConfiguration', patch, path);
}

interface Judge {
  object(type: string, value: unknown, path: readonly PathSegment[]): Finding[];
  /** One operation of a JSON patch. */
  change(change: unknown, path: readonly PathSegment[]): Finding[];
}

/** Of every object of Kubernetes, and of a strategic patch. */
const ALWAYS_KNOWN = /^(?:apiVersion|kind)$|^\$/;

function judgeOf(minor: number): Judge {
  const types = kubeletFields();
  const object = (type: string, value: unknown, path: readonly PathSegment[]): Finding[] => {
    const fields = types.get(type);
    if (fields === undefined || !isObject(value)) return [];
    return Object.entries(value).flatMap(([name, content]): Finding[] => {
      if (ALWAYS_KNOWN.test(name)) return [];
      const field = fields.get(name);
      const at = [...path, name];
      const unknown = whyUnknown(name, field, fields, minor);
      if (unknown !== undefined) return [{ path: at, key: name, ...unknown }];
      return field === undefined ? [] : [...judgeValue(field.kind, content, at), ...judgeRange(name, content, at)];
    });
  };
  const [words, limits] = [kubeletWords(), kubeletLimits()];
  const judgeRange = (name: string, content: unknown, at: readonly PathSegment[]): Finding[] => {
    const known = words.get(name);
    if (known !== undefined) {
      if (!Array.isArray(content)) return notAmong(known, content, at);
      return content.flatMap((item: unknown, index) => notAmong(known, item, [...at, index]));
    }
    const { least, most } = limits.get(name) ?? { least: Number.NEGATIVE_INFINITY, most: Number.POSITIVE_INFINITY };
    if (typeof content !== 'number' || (content >= least && content <= most)) return [];
    return [
      {
        path: at,
        message: most === Number.POSITIVE_INFINITY ? `must be ${least} or more` : `must be from ${least} to ${most}`,
      },
    ];
  };
  const judgeValue = (kind: FieldKind, content: unknown, at: readonly PathSegment[]): Finding[] => {
    // A patch removes a field with null.
    if (content === null || content === undefined) return [];
    if (!isOfKind(kind, content))
      return [{ path: at, message: `must be ${WORDS[kind.is]}`, ...hintFor(kind, content) }];
    if (kind.is === 'object') return object(kind.type, content, at);
    if (kind.is === 'list' && Array.isArray(content)) {
      return content.flatMap((item: unknown, index) => judgeValue(kind.of, item, [...at, index]));
    }
    if (kind.is !== 'map' || !isObject(content)) return [];
    return Object.entries(content).flatMap(([key, item]) => judgeValue(kind.of, item, [...at, key]));
  };
  return {
    object,
    change(change, path) {
      if (!isObject(change) || typeof change.path !== 'string') return [];
      const [name = '', ...below] = change.path.split('/').slice(1);
      const fields = types.get('KubeletConfiguration');
      if (fields === undefined || ALWAYS_KNOWN.test(name)) return [];
      const field = fields.get(name);
      const unknown = whyUnknown(name, field, fields, minor);
      if (unknown !== undefined) return [{ path: [...path, 'path'], ...unknown }];
      const isWhole = below.length === 0 && (change.op === 'add' || change.op === 'replace');
      const at = [...path, 'value'];
      if (field === undefined || !isWhole) return [];
      return [...judgeValue(field.kind, change.value, at), ...judgeRange(name, change.value, at)];
    },
  };
}

function notAmong(words: readonly string[], content: unknown, path: readonly PathSegment[]): Finding[] {
  if (typeof content !== 'string' || content === '' || content.includes('${') || words.includes(content)) return [];
  const near = nearestName(content, words);
  const hint = near === undefined ? `one of ${choices(words, content)}` : `did you mean "${near}"?`;
  return [{ path, message: 'the kubelet does not know this value', hint }];
}

/** Only where all fields of the minor are known; a field that came later is certain for older minors, too. */
function whyUnknown(
  name: string,
  field: KubeletField | undefined,
  fields: ReadonlyMap<string, KubeletField>,
  minor: number,
): Pick<Finding, 'message' | 'hint'> | undefined {
  if (field !== undefined) {
    if (field.since <= minor) return undefined;
    const message = `the kubelet has had ${name} since 1.${field.since}`;
    return { message, hint: 'remove it, or raise kubernetes.version' };
  }
  if (minor < KUBELET_FIELDS_MINORS.oldest || minor > KUBELET_FIELDS_MINORS.newest) return undefined;
  const known = [...fields.keys()];
  const near = nearestName(name, known);
  return {
    message: `the kubelet 1.${minor} has no field "${name}" here`,
    hint: near === undefined ? `known: ${choices(known, name)}` : `did you mean "${near}"?`,
  };
}

const WORDS: Readonly<Record<FieldKind['is'], string>> = {
  text: 'a text',
  flag: 'true or false',
  integer: 'a whole number',
  duration: 'a duration, such as "10s" or "1h30m"',
  anything: '',
  list: 'a list',
  map: 'an object',
  object: 'an object',
};

function isOfKind({ is }: FieldKind, content: unknown): boolean {
  // A number as it is written, such as 0x10.
  if (content instanceof Verbatim) return !['flag', 'list', 'map', 'object'].includes(is);
  // The value of a variable that is known on the machine only.
  if (typeof content === 'string' && content.includes('${')) return true;
  switch (is) {
    case 'text':
      return typeof content === 'string';
    case 'flag':
      return typeof content === 'boolean';
    case 'integer':
      return typeof content === 'number' && Number.isInteger(content);
    case 'duration':
      return typeof content === 'string' && isDuration(content);
    case 'list':
      return Array.isArray(content);
    case 'map':
    case 'object':
      return isObject(content);
    case 'anything':
      return true;
  }
}

/** A value in quotes, or without them. */
function hintFor({ is }: FieldKind, content: unknown): Pick<Finding, 'hint'> {
  const isText = typeof content === 'string';
  if (is === 'flag' && isText && /^(?:true|false)$/.test(content)) return { hint: 'remove the quotes' };
  if (is === 'integer' && isText && /^-?\d+$/.test(content)) return { hint: 'remove the quotes' };
  if (is === 'text' && (typeof content === 'number' || typeof content === 'boolean'))
    return { hint: 'write it in quotes' };
  return {};
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Verbatim);
}
