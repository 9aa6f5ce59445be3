import { printableKey } from '@machineadm/document/diagnostics/index.ts';
import { utf8Text } from '@machineadm/document/encodings/decode.ts';
import type { InputObject, Inputs, InputText, InputUserData } from './inputs/input.ts';
import { ObjectsByName } from './inputs/namespaces.ts';
import { fromBase64, type SecretObject } from './inputs/secrets.ts';
import type { Report } from './report/report.ts';
import { separatedJson } from './texts/json-stream.ts';
import { isEmptyDocument, plain, yamlDocuments, yamlMistake } from './texts/yaml.ts';
import { isIgnition } from './user-data/ignition.ts';
import { unzippedText } from './user-data/mime.ts';
import { isCloudConfig, isUserData, unwrapped } from './user-data/parts.ts';
import { isMap } from './values/map.ts';
import { refuseOtherWorld } from './worlds/others.ts';

/** Classifies the input: objects in YAML or JSON, one or many, also as a List; or bare user data. */
export async function readInputs(texts: readonly InputText[], report: Report): Promise<Inputs> {
  const all: InputObject[] = [];
  const userData: InputUserData[] = [];
  for (const { name, text: given } of texts) {
    const text = await unwrapped(given);
    const bare = bareUserData(name, text);
    if (bare !== undefined) userData.push(bare);
    else all.push(...(await readObjects(name, text, report)));
  }
  const known = distinct(all, report);
  const isSecret = ({ kind, group }: InputObject): boolean => kind === 'Secret' && group === '';
  const secrets: SecretObject[] = [];
  for (const object of known.filter(isSecret)) {
    const data = secretData(object);
    const carried = await userDataOf(object, data);
    if (carried !== undefined) userData.push(carried);
    // A bootstrap data Secret also states its format; the text itself shows it.
    const named = new Set(carried === undefined ? [] : ['value', 'format']);
    secrets.push({ namespace: object.namespace, name: object.name, data, named });
  }
  const objects = known.filter((object) => !isSecret(object));
  return { objects, userData, secrets: new ObjectsByName(secrets) };
}

function bareUserData(name: string, text: string): InputUserData | undefined {
  if (isUserData(text)) return { format: 'cloud-config', content: text, title: name, secret: undefined };
  const value = text.trimStart().startsWith('{') ? parsedJson(text) : undefined;
  return isIgnition(value) ? { format: 'ignition', content: value, title: name, secret: undefined } : undefined;
}

async function readObjects(name: string, text: string, report: Report): Promise<InputObject[]> {
  const objects: InputObject[] = [];
  for (const document of await yamlDocuments(separatedJson(text), name, report)) {
    const [mistake] = document.errors;
    if (mistake !== undefined) {
      // Without the line's text, which may be a secret.
      report.add('InputInvalid', `${name}:${mistake.linePos?.[0].line ?? 1}`, `not YAML: ${yamlMistake(mistake)}`);
      continue;
    }
    if (isEmptyDocument(document)) continue;
    const value = await plain(document, name, report);
    // The items of a list, as jq prints them.
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) {
      objects.push(...toObjects(one, name, report));
    }
  }
  return objects;
}

function toObjects(value: unknown, origin: string, report: Report): InputObject[] {
  if (refuseOtherWorld(value, origin, report)) return [];
  if (!isMap(value) || typeof value.kind !== 'string' || typeof value.apiVersion !== 'string') {
    report.add('InputInvalid', origin, 'neither an object with apiVersion and kind nor user data');
    return [];
  }
  // `List` of kubectl; `KubeadmConfigList` of the API server, whose items need no kind.
  if (value.kind.endsWith('List') && Array.isArray(value.items)) {
    const item =
      value.kind === 'List' ? {} : { apiVersion: value.apiVersion, kind: value.kind.slice(0, -'List'.length) };
    return value.items.flatMap((one: unknown) => toObjects(isMap(one) ? { ...item, ...one } : one, origin, report));
  }
  const [group, version] = value.apiVersion.includes('/') ? value.apiVersion.split('/') : ['', value.apiVersion];
  const metadata = isMap(value.metadata) ? value.metadata : {};
  const objectName = typeof metadata.name === 'string' ? metadata.name : undefined;
  const namespace =
    typeof metadata.namespace === 'string' && metadata.namespace !== '' ? metadata.namespace : undefined;
  const where = namespace === undefined ? '' : `${printableKey(namespace)}/`;
  const title = `${value.kind} ${where}${objectName === undefined ? UNNAMED : printableKey(objectName)}`;
  checkName(group ?? '', value.kind, objectName, namespace, title, report);
  const [first = '', second = ''] = [group, version];
  return [
    { kind: value.kind, group: first, version: second, name: objectName ?? UNNAMED, namespace, value, title, origin },
  ];
}

/** Names that the API server takes (apimachinery, validation.IsDNS1123Subdomain and IsDNS1123Label); placeholders are reported later. */
function checkName(
  group: string,
  kind: string,
  name: string | undefined,
  namespace: string | undefined,
  title: string,
  report: Report,
): void {
  if (!group.endsWith('cluster.x-k8s.io') && (group !== '' || kind !== 'Secret')) return;
  const hasPlaceholder = (text: string): boolean => text.includes('${');
  if (
    name !== undefined &&
    !hasPlaceholder(name) &&
    (name.length > 253 || !name.split('.').every((part) => DNS_PART.test(part)))
  ) {
    report.add('InputInvalid', title, 'metadata.name is not a name of Kubernetes (RFC 1123)');
  }
  if (namespace !== undefined && !hasPlaceholder(namespace) && !DNS_LABEL.test(namespace)) {
    report.add('InputInvalid', title, 'metadata.namespace is not a name of Kubernetes (RFC 1123)');
  }
}

const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const DNS_PART = /^[a-z0-9](?:[a-z0-9-]{0,251}[a-z0-9])?$/;

/** Of an object with generateName, or with none. */
const UNNAMED = 'unnamed';

/** The same object given twice is one; two versions of it are a mistake. */
function distinct(objects: readonly InputObject[], report: Report): readonly InputObject[] {
  const seen = new Map<string, string>();
  return objects.filter((object) => {
    const { group, kind, namespace, name, value, title } = object;
    if (name === UNNAMED) return true;
    const key = JSON.stringify([group, kind, namespace, name]);
    const content = JSON.stringify(value);
    const before = seen.get(key);
    seen.set(key, before ?? content);
    if (before === undefined) return true;
    if (before === content) report.add('ObjectIgnored', title, 'it is given twice');
    else report.add('InputInvalid', title, 'it is given twice, with different contents: remove one');
    return false;
  });
}

/** `stringData` takes precedence over `data`, as in the API server. A value that is not base64 has no bytes. */
function secretData({ value }: InputObject): SecretObject['data'] {
  const data = new Map<string, Uint8Array | undefined>();
  for (const [key, encoded] of Object.entries(isMap(value.data) ? value.data : {})) {
    const text = encoded ?? '';
    data.set(key, typeof text === 'string' ? fromBase64(text) : undefined);
  }
  for (const [key, text] of Object.entries(isMap(value.stringData) ? value.stringData : {})) {
    data.set(key, typeof text === 'string' ? new TextEncoder().encode(text) : undefined);
  }
  return data;
}

/**
 * A bootstrap data Secret has the key `value`, and in practice `format` (cluster-api docs, bootstrap-config contract;
 * storeBootstrapData in the kubeadm provider). The text itself shows its format. In any other Secret only a text that nothing
 * else can be is user data.
 */
async function userDataOf(secret: InputObject, data: SecretObject['data']): Promise<InputUserData | undefined> {
  const bytes = data.get('value');
  const isBootstrap = secret.value.type === 'cluster.x-k8s.io/secret' || data.has('format');
  const raw = bytes === undefined ? undefined : isBootstrap ? await unzippedText(bytes) : utf8Text(bytes);
  const text = raw === undefined || !isBootstrap ? raw : await unwrapped(raw);
  if (text === undefined || (!isBootstrap && isUserData(text) && !isCloudConfig(text))) return undefined;
  const bare = bareUserData(secret.title, text);
  return bare === undefined ? undefined : { ...bare, secret };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
