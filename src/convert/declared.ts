import type { PathSegment } from '../document/diagnostics.ts';
import { formatPath } from '../document/diagnostics.ts';
import type { Role } from '../document/model.ts';
import type { ConvertOptions } from './conversion.ts';
import { type ConvertedDocument, convertSpec } from './document.ts';
import { renderTemplates, TEMPLATE_HINT } from './go-template.ts';
import { type InputObject, type Inputs, isMap } from './inputs.ts';
import { Expressions, markTree } from './jinja.ts';
import type { Report } from './report.ts';
import { Source } from './source.ts';
import type { Spec } from './spec.ts';
import { readKubeadmConfigSpec } from './spec-kubeadm-config.ts';
import { surroundingsOf } from './surroundings.ts';
import { readContainerLinux } from './user-data/container-linux.ts';
import { findSubstitution, markEnvironment } from './user-data/environment.ts';
import { yamlValue } from './yaml.ts';

/** A configuration as people write it, and where in its object it stands. */
export interface Declared {
  readonly object: InputObject;
  readonly spec: unknown;
  readonly path: readonly PathSegment[];
}

/** Where KubeadmConfigSpec stands, by kind (cluster-api api/{bootstrap,controlplane}/kubeadm). */
const SPECS: Readonly<Record<string, { readonly group: string; readonly path: readonly string[] }>> = {
  KubeadmConfig: { group: 'bootstrap.cluster.x-k8s.io', path: ['spec'] },
  KubeadmConfigTemplate: { group: 'bootstrap.cluster.x-k8s.io', path: ['spec', 'template', 'spec'] },
  KubeadmControlPlane: { group: 'controlplane.cluster.x-k8s.io', path: ['spec', 'kubeadmConfigSpec'] },
  KubeadmControlPlaneTemplate: {
    group: 'controlplane.cluster.x-k8s.io',
    path: ['spec', 'template', 'spec', 'kubeadmConfigSpec'],
  },
};

/** undefined for an object of another kind; one of an unknown version is reported, too. */
export function declaredOf(object: InputObject, report: Report): Declared | undefined {
  const known = SPECS[object.kind];
  if (known === undefined || known.group !== object.group) return undefined;
  if (object.version !== 'v1beta1' && object.version !== 'v1beta2') {
    report.add('InputInvalid', object.title, `${object.version} is not known: expected v1beta1 or v1beta2`);
    return undefined;
  }
  let spec: unknown = object.value;
  for (const name of known.path) spec = isMap(spec) ? spec[name] : undefined;
  return { object, spec: spec ?? {}, path: known.path };
}

/** One document; two for a configuration that both starts a cluster and joins it, as that of a control plane does. */
export async function convertDeclared(
  { object, spec: written, path }: Declared,
  inputs: Inputs,
  options: ConvertOptions,
  report: Report,
): Promise<readonly ConvertedDocument[]> {
  const surroundings = surroundingsOf(object, inputs, options);
  const placeOf = (below: readonly PathSegment[]): string => `${object.title}: ${formatPath([...path, ...below])}`;
  const templated = renderTemplates(written, surroundings.controlPlaneVersion, (index, text) => {
    const place = placeOf(['files', index]);
    if (text === undefined) report.add('TemplateUnsupported', place, TEMPLATE_HINT);
    else report.add('TemplateRendered', place, 'as the controller would');
  });
  const expressions = new Expressions();
  const isIgnition = isMap(written) && written.format === 'ignition';
  const value = isIgnition ? templated : markTree(templated, placeOf, expressions, report);
  const spec = await readSpec(value, object, path, expressions, report);
  if (object.kind.startsWith('KubeadmControlPlane')) tellControllerFields(object, report);
  const documents: ConvertedDocument[] = [];
  const roles = rolesOf(object, spec, options, report);
  for (const role of roles) {
    const context = { report, expressions, options, surroundings, object: object.title };
    documents.push(...(await convertSpec(spec, role, inputs.secrets, context)));
  }
  // What stopped a document is told already, and left most of its input unread.
  if (documents.length === roles.length) tellUnread(spec, roles, report);
  return documents;
}

async function readSpec(
  value: unknown,
  object: InputObject,
  path: readonly PathSegment[],
  expressions: Expressions,
  report: Report,
): Promise<Spec & { readonly root: Source }> {
  const root = (content: unknown): Source => Source.of(nested(content, path), object.title, report).get(...path);
  const source = root(value);
  const additional = source.get('ignition', 'containerLinuxConfig', 'additionalConfig');
  const text = additional.text();
  const parts =
    text === undefined
      ? undefined
      : readContainerLinux(Source.of(await yamlValue(text, additional, report), additional.place, report), report);
  const environmentFiles = parts?.environmentFiles ?? [];
  const first = readKubeadmConfigSpec(source, report);
  const substitution = findSubstitution(first.beforeCommands, environmentFiles, report);
  const file = substitution.file;
  const kubeadm =
    file === undefined ? source : root(isMap(value) ? { ...value, ...substituted(value, file, expressions) } : value);
  return {
    ...first,
    root: source,
    beforeCommands: substitution.commands,
    cluster: kubeadm.get('clusterConfiguration'),
    init: kubeadm.get('initConfiguration'),
    join: kubeadm.get('joinConfiguration'),
    files: [...first.files, ...(parts?.files ?? [])],
    users: [...first.users, ...(parts?.users ?? [])],
    groups: parts?.groups ?? [],
    disks: [...first.disks, ...(parts?.disks ?? [])],
    filesystems: [...first.filesystems, ...(parts?.filesystems ?? [])],
    services: parts?.services ?? [],
  };
}

/** kubeadm's part of a specification, with the names of an environment file in it made variables. */
function substituted(
  spec: Readonly<Record<string, unknown>>,
  file: string,
  expressions: Expressions,
): Readonly<Record<string, unknown>> {
  const parts = ['clusterConfiguration', 'initConfiguration', 'joinConfiguration'];
  return Object.fromEntries(parts.map((name) => [name, markEnvironment(spec[name], file, expressions)]));
}

/** So that places are told by their path in the whole object. */
function nested(value: unknown, path: readonly PathSegment[]): unknown {
  return path.toReversed().reduce<unknown>((inner, name) => ({ [name]: inner }), value);
}

function rolesOf(object: InputObject, spec: Spec, { role }: ConvertOptions, report: Report): readonly Role[] {
  const ofControlPlane = object.kind.startsWith('KubeadmControlPlane');
  const initializes = spec.init.exists || spec.cluster.exists || ofControlPlane;
  const joinsControlPlane = ofControlPlane || spec.join.get('controlPlane').isMap || (initializes && spec.join.exists);
  const possible: readonly Role[] = [
    ...(initializes ? (['InitControlPlane'] as const) : []),
    ...(joinsControlPlane ? (['JoinControlPlane'] as const) : []),
    ...(!initializes && !joinsControlPlane && spec.join.exists ? (['Worker'] as const) : []),
  ];
  if (role === undefined) {
    if (possible.length === 0) {
      report.add('RoleUnclear', object.title, 'it has neither initConfiguration nor joinConfiguration: give --role');
    }
    return possible;
  }
  const fits = possible.length === 0 || possible.includes(role) || (!ofControlPlane && role !== 'InitControlPlane');
  if (!fits) report.add('RoleUnclear', object.title, `it is not a ${role}; it can become ${possible.join(' or ')}`);
  return fits ? [role] : [];
}

/** What a KubeadmControlPlane says beside the configuration of its machines. */
function tellControllerFields(object: InputObject, report: Report): void {
  const spec = isMap(object.value.spec) ? object.value.spec : {};
  const names = Object.keys(spec).filter((name) => !['kubeadmConfigSpec', 'version', 'template'].includes(name));
  if (names.length > 0) report.add('ControllerField', `${object.title}: spec`, names.join(', '));
}

/** Nothing is lost unnoticed. kubeadm's configurations are judged where a document was made of them. */
function tellUnread(spec: Spec & { readonly root: Source }, roles: readonly Role[], report: Report): void {
  const parts = ['clusterConfiguration', 'initConfiguration', 'joinConfiguration'];
  const initializes = roles.includes('InitControlPlane');
  const joins = roles.some((role) => role !== 'InitControlPlane');
  const used = [...(initializes ? [spec.cluster, spec.init] : []), ...(joins ? [spec.join] : [])];
  const others = spec.root.members().flatMap(([name, member]) => (parts.includes(name) ? [] : member.unread()));
  for (const part of [...others, ...used.flatMap((one) => one.unread())]) {
    // TypeMeta, which v1beta1 embeds.
    if (/\.(?:apiVersion|kind)$/.test(part.place)) continue;
    report.add('UnknownField', part, 'nothing in the document stands for it');
  }
}
