import { printableKey } from '@machineadm/document/diagnostics/index.ts';
import type { Role } from '@machineadm/document/model/index.ts';
import { unrelatedFacts } from '../cluster-class/related-objects.ts';
import { type ConvertedDocument, convertSpec, dropOtherRoles } from '../documents/document.ts';
import { reportUnrendered } from '../documents/unrendered.ts';
import type { ConvertOptions } from '../inputs/conversion.ts';
import type { InputObject, Inputs } from '../inputs/input.ts';
import type { Report } from '../report/report.ts';
import { EMPTY_HOST, type Spec } from '../spec/spec.ts';
import { Expressions } from '../texts/jinja.ts';
import { stemOf } from '../texts/stem.ts';
import { yamlValue } from '../texts/yaml.ts';
import { at, isMap, text } from '../values/map.ts';
import { Source } from '../values/source.ts';
import { convertNodeFiles } from './node.ts';

const KUBEADM = 'kubeadm.k8s.io';
const VERSIONS = ['v1beta1', 'v1beta2', 'v1beta3', 'v1beta4'];
/** Read by kubeadm beside its own kinds (k/k cmd/kubeadm/app/componentconfigs). */
const COMPONENTS: Readonly<Record<string, string>> = {
  'kubelet.config.k8s.io': 'KubeletConfiguration',
  'kubeproxy.config.k8s.io': 'KubeProxyConfiguration',
};
const PARTS: Readonly<Record<string, 'cluster' | 'init' | 'join'>> = {
  ClusterConfiguration: 'cluster',
  InitConfiguration: 'init',
  JoinConfiguration: 'join',
};
/** The objects in which kubeadm keeps what it has read, by their name in kube-system, and the key with YAML. */
const CONFIG_MAPS: Readonly<Record<string, string>> = {
  'kubeadm-config': 'ClusterConfiguration',
  'kubelet-config': 'kubelet',
};

/** Whether an object is read here: a document for `kubeadm --config`, a ConfigMap of kubeadm, or a kubeconfig. */
export function isOfKubeadm({ group, version, kind, name }: InputObject): boolean {
  if (group === KUBEADM || COMPONENTS[group] === kind) return true;
  if (group !== '' || version !== 'v1') return false;
  return kind === 'Config' || (kind === 'ConfigMap' && Object.hasOwn(CONFIG_MAPS, name));
}

/** The documents of one file for `kubeadm init --config` or `kubeadm join --config`. */
interface KubeadmFile {
  readonly origin: string;
  readonly objects: readonly InputObject[];
}

/**
 * Converts kubeadm's own YAML, and the files of a node that kubeadm has made. Each file is one configuration, as for kubeadm; the ConfigMaps of the cluster complete files that
 * have no configuration of the cluster, and a kubeconfig is taken where a file names it for discovery.
 */
export async function convertKubeadmFiles(
  inputs: Inputs,
  options: ConvertOptions,
  report: Report,
): Promise<readonly ConvertedDocument[]> {
  const objects = inputs.objects.filter(isOfKubeadm);
  const stored = objects.filter(({ kind }) => kind === 'ConfigMap');
  const kubeconfigs = objects.filter(({ kind, group }) => kind === 'Config' && group === '');
  const written = objects.filter((object) => !stored.includes(object) && !kubeconfigs.includes(object));
  const files = [...Map.groupBy(written, ({ origin }) => origin)].map(([origin, list]) => ({ origin, objects: list }));
  const ofCluster = (await Promise.all(stored.map((one) => storedObjects(one, report)))).flat();
  const { node } = options;
  if (node === undefined && files.length === 0 && ofCluster.length > 0)
    files.push({ origin: ofCluster[0]?.origin ?? '', objects: [] });
  const used = new Set<InputObject>();
  const documents: ConvertedDocument[] = [];
  if (node !== undefined) documents.push(...(await convertNodeFiles(node, ofCluster, inputs, options, report)));
  for (const file of files) {
    documents.push(...(await convertFile(file, ofCluster, kubeconfigs, used, inputs, options, report)));
  }
  for (const one of kubeconfigs) {
    if (!used.has(one)) report.add('ObjectIgnored', one.origin, 'a kubeconfig that no JoinConfiguration names');
  }
  return documents;
}

/** What kubeadm has stored in a ConfigMap, as an object. */
async function storedObjects(map: InputObject, report: Report): Promise<readonly InputObject[]> {
  const key = CONFIG_MAPS[map.name] ?? '';
  const data = at(map.value, 'data');
  const others = isMap(data) ? Object.keys(data).filter((one) => one !== key) : [];
  // ClusterStatus of 1.21 and earlier: what is running, not what was asked for.
  if (others.length > 0) report.add('ObjectIgnored', map.title, `data.${others.map(printableKey).join(', data.')}`);
  const value = await yamlValue(text(at(data, key)) ?? '', `${map.title}: data.${key}`, report);
  const [group = '', version = ''] = (text(at(value, 'apiVersion')) ?? '').split('/');
  const kind = text(at(value, 'kind')) ?? '';
  if (isMap(value) && (PARTS[kind] === 'cluster' || COMPONENTS[group] === kind)) {
    return [{ ...map, group, version, kind, value, title: `${map.title}: data.${key}` }];
  }
  report.add('InputInvalid', map.title, `data.${key} is not a configuration of kubeadm or the kubelet`);
  return [];
}

async function convertFile(
  { origin, objects }: KubeadmFile,
  ofCluster: readonly InputObject[],
  kubeconfigs: readonly InputObject[],
  used: Set<InputObject>,
  inputs: Inputs,
  options: ConvertOptions,
  report: Report,
): Promise<readonly ConvertedDocument[]> {
  const isComplete = objects.some(({ kind, group }) => group === KUBEADM && kind === 'ClusterConfiguration');
  const parts = readParts(origin, objects, isComplete ? [] : ofCluster, report);
  if (parts === undefined) return [];
  const { cluster, init, join } = parts;
  const path = join.get('discovery', 'file', 'kubeConfigPath').text();
  const kubeconfig = kubeconfigs.find((one) => path !== undefined && isNamed(one.origin, path));
  if (kubeconfig !== undefined) used.add(kubeconfig);
  const spec: Spec = {
    ...EMPTY_HOST,
    ...parts,
    resolved: true,
    verbosity: Source.of(undefined, origin, report),
    discoveryKubeconfig: kubeconfig === undefined ? undefined : Source.of(kubeconfig.value, kubeconfig.origin, report),
  };
  const roles = rolesOf(cluster.exists && (isComplete || !join.exists), init, join, options, origin, report);
  reportExamples(parts, report);
  const documents: ConvertedDocument[] = [];
  for (const role of roles) {
    const registration = (role === 'InitControlPlane' ? init : join).get('nodeRegistration');
    const related = unrelatedFacts(nameOf(registration), options);
    const stem = stemOf(origin);
    const context = { report, expressions: new Expressions(), options, related, object: origin, stem };
    documents.push(...(await convertSpec(spec, role, inputs.secrets, context)));
  }
  dropOtherRoles(spec, roles, report);
  report.settle(roles.length > 0 && documents.length === roles.length);
  return documents;
}

/** undefined where a part is unknown, or nothing is kubeadm's own; both are reported. */
function readParts(
  origin: string,
  written: readonly InputObject[],
  ofCluster: readonly InputObject[],
  report: Report,
): Pick<Spec, 'cluster' | 'init' | 'join' | 'extraDocuments'> | undefined {
  const nothing = Source.of(undefined, origin, report);
  const parts = { cluster: nothing, init: nothing, join: nothing };
  const extraDocuments: Source[] = [];
  let isReadable = true;
  for (const object of [...written, ...ofCluster]) {
    const { group, version, kind, value } = object;
    const title = ofCluster.includes(object) ? object.title : `${object.origin} ${kind}`;
    const source = Source.of(value, title, report);
    const part = group === KUBEADM ? PARTS[kind] : undefined;
    reportUnrendered({ ...object, title }, report);
    if (group !== KUBEADM) extraDocuments.push(source);
    else if (!VERSIONS.includes(version)) {
      const known = `expected one of ${VERSIONS.join(', ')}: run "kubeadm config migrate" of a release that reads it`;
      report.add('InputInvalid', source.get('apiVersion'), known);
      isReadable = false;
    } else if (part === undefined) {
      source.whole();
      report.add('ObjectIgnored', title, 'neither kubeadm init nor kubeadm join reads it');
    } else {
      for (const header of ['apiVersion', 'kind']) source.get(header).drop('TypeMeta');
      if (parts[part] !== nothing) report.add('InputInvalid', source, 'given twice in one file, which kubeadm refuses');
      parts[part] = source;
    }
  }
  const isKubeadms = [parts.cluster, parts.init, parts.join].some(({ exists }) => exists);
  if (isReadable && !isKubeadms) {
    const message = 'kubeadm reads it only beside InitConfiguration, JoinConfiguration or ClusterConfiguration';
    report.add('InputInvalid', origin, `${message}: put it into the same file`);
  }
  if (!isReadable || !isKubeadms) report.settle(false);
  return isReadable && isKubeadms ? { ...parts, extraDocuments } : undefined;
}

/** A file for both commands becomes a document for each; --role chooses one. */
function rolesOf(
  hasCluster: boolean,
  init: Source,
  join: Source,
  { role }: ConvertOptions,
  origin: string,
  report: Report,
): readonly Role[] {
  const joined = join.get('controlPlane').isMap ? 'JoinControlPlane' : 'Worker';
  const possible: readonly Role[] = [
    ...(init.exists || hasCluster ? (['InitControlPlane'] as const) : []),
    ...(join.exists ? ([joined] as const) : []),
  ];
  if (role === undefined) return possible;
  if (possible.includes(role)) return [role];
  report.add('RoleUnclear', origin, `it is not a ${role}; it can become ${possible.join(' or ')}`);
  return [];
}

/** What `kubeadm config print init-defaults` and `join-defaults` print, to be replaced (k/k app/util/config/{init,join}configuration.go). */
const EXAMPLES: readonly (readonly ['init' | 'join', readonly (string | number)[], string])[] = [
  ['init', ['localAPIEndpoint', 'advertiseAddress'], '1.2.3.4'],
  ['init', ['nodeRegistration', 'name'], 'node'],
  ['init', ['bootstrapTokens', 0, 'token'], 'abcdef.0123456789abcdef'],
  ['join', ['discovery', 'bootstrapToken', 'apiServerEndpoint'], 'kube-apiserver:6443'],
  ['join', ['discovery', 'bootstrapToken', 'token'], 'abcdef.0123456789abcdef'],
  ['join', ['discovery', 'tlsBootstrapToken'], 'abcdef.0123456789abcdef'],
];

function reportExamples(parts: Pick<Spec, 'init' | 'join'>, report: Report): void {
  for (const [part, path, example] of EXAMPLES) {
    const source = parts[part].get(...path);
    if (source.exists && source.text() === example) report.add('ExampleValue', source, 'write your own');
  }
}

/** The file of a kubeconfig as a path names it: as a whole, or its last part. */
function isNamed(origin: string, path: string): boolean {
  return origin === path || origin.slice(origin.lastIndexOf('/') + 1) === path.slice(path.lastIndexOf('/') + 1);
}

/** The name of the node, if it can be one of a machine. */
function nameOf(registration: Source): string | undefined {
  const name = registration.get('name').text();
  return name !== undefined && name.length <= 253 && /^[a-z0-9][a-z0-9.-]*$/.test(name) ? name : undefined;
}
