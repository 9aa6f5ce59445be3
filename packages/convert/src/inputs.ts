import { utf8Text } from '@machineadm/document/decode.ts';
import { printableKey } from '@machineadm/document/diagnostics.ts';
import { isMap } from './map.ts';
import type { Report } from './report.ts';
import { fromBase64, type SecretObject } from './secrets.ts';
import { isCloudConfig } from './user-data/cloud-config.ts';
import { isIgnition } from './user-data/ignition.ts';
import { plain, yamlDocuments } from './yaml.ts';

/** An input text, with its name for messages. */
export interface InputText {
  readonly name: string;
  readonly text: string;
}

/** An object of the Kubernetes API, as written. */
export interface InputObject {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly value: Readonly<Record<string, unknown>>;
  /** `KubeadmConfig clusters/a` */
  readonly title: string;
}

/** User data, alone or in its Secret. */
export interface InputUserData {
  readonly format: 'cloud-config' | 'ignition';
  /** Text of a cloud-config, parsed JSON of an Ignition config. */
  readonly content: unknown;
  readonly title: string;
  /** The Secret; undefined for bare user data. */
  readonly secret: InputObject | undefined;
}

export interface Inputs {
  readonly objects: readonly InputObject[];
  readonly userData: readonly InputUserData[];
  /** By name: there may be one in each namespace. */
  readonly secrets: ReadonlyMap<string, readonly SecretObject[]>;
}

/** Classifies the input: objects in YAML or JSON, one or many, also as a List; or bare user data. */
export async function readInputs(texts: readonly InputText[], report: Report): Promise<Inputs> {
  const objects: InputObject[] = [];
  const userData: InputUserData[] = [];
  for (const { name, text } of texts) {
    const bare = bareUserData(name, text);
    if (bare !== undefined) userData.push(bare);
    else objects.push(...(await readObjects(name, text, report)));
  }
  const secrets: SecretObject[] = [];
  for (const object of objects.filter(({ kind, group }) => kind === 'Secret' && group === '')) {
    const data = secretData(object, report);
    const carried = userDataOf(object, data);
    if (carried !== undefined) userData.push(carried);
    // A bootstrap data Secret also states its format; the text itself shows it.
    const named = new Set(carried === undefined ? [] : ['value', 'format']);
    secrets.push({ namespace: object.namespace, name: object.name, data, named });
  }
  return {
    objects: objects.filter(({ kind, group }) => kind !== 'Secret' || group !== ''),
    userData,
    secrets: Map.groupBy(secrets, ({ name }) => name),
  };
}

function bareUserData(name: string, text: string): InputUserData | undefined {
  if (isCloudConfig(text)) return { format: 'cloud-config', content: text, title: name, secret: undefined };
  const value = /^\s*\{/.test(text) ? parsedJson(text) : undefined;
  return isIgnition(value) ? { format: 'ignition', content: value, title: name, secret: undefined } : undefined;
}

async function readObjects(name: string, text: string, report: Report): Promise<InputObject[]> {
  const objects: InputObject[] = [];
  for (const document of await yamlDocuments(text, name, report)) {
    const [mistake] = document.errors;
    if (mistake !== undefined) {
      // Without the line's text, which may be a secret.
      report.add('InputInvalid', `${name}:${mistake.linePos?.[0].line ?? 1}`, `not YAML: ${mistake.code}`);
      continue;
    }
    if (document.contents !== null) objects.push(...toObjects(await plain(document, name, report), name, report));
  }
  return objects;
}

function toObjects(value: unknown, name: string, report: Report): InputObject[] {
  if (!isMap(value) || typeof value.kind !== 'string' || typeof value.apiVersion !== 'string') {
    report.add('InputInvalid', name, 'neither an object with apiVersion and kind nor user data');
    return [];
  }
  if (value.kind === 'List' && Array.isArray(value.items)) {
    return value.items.flatMap((item: unknown) => toObjects(item, name, report));
  }
  const [group, version] = value.apiVersion.includes('/') ? value.apiVersion.split('/') : ['', value.apiVersion];
  const metadata = isMap(value.metadata) ? value.metadata : {};
  const objectName = typeof metadata.name === 'string' ? metadata.name : 'unnamed';
  const namespace = typeof metadata.namespace === 'string' ? metadata.namespace : undefined;
  const title = `${value.kind} ${namespace === undefined ? '' : `${namespace}/`}${objectName}`;
  return [{ kind: value.kind, group: group ?? '', version: version ?? '', name: objectName, namespace, value, title }];
}

/** `stringData` takes precedence over `data`, as in the API server. */
function secretData({ value, title }: InputObject, report: Report): ReadonlyMap<string, Uint8Array> {
  const data = new Map<string, Uint8Array>();
  for (const [key, encoded] of Object.entries(isMap(value.data) ? value.data : {})) {
    const bytes = typeof encoded === 'string' ? fromBase64(encoded) : undefined;
    if (bytes === undefined) report.add('InputInvalid', `${title}: data.${printableKey(key)}`, 'not base64');
    else data.set(key, bytes);
  }
  for (const [key, text] of Object.entries(isMap(value.stringData) ? value.stringData : {})) {
    if (typeof text === 'string') data.set(key, new TextEncoder().encode(text));
  }
  return data;
}

/**
 * A bootstrap data Secret has the key `value`, and in practice `format` (cluster-api docs, bootstrap-config contract;
 * storeBootstrapData in the kubeadm provider). The text itself shows its format.
 */
function userDataOf(secret: InputObject, data: ReadonlyMap<string, Uint8Array>): InputUserData | undefined {
  const bytes = data.get('value');
  const text = bytes === undefined ? undefined : utf8Text(bytes);
  const bare = text === undefined ? undefined : bareUserData(secret.title, text);
  return bare === undefined ? undefined : { ...bare, secret };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
