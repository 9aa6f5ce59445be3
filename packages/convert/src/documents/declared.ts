import { formatPath, type PathSegment, printableKey } from '@machineadm/document/diagnostics/index.ts';
import type { Role } from '@machineadm/document/model/index.ts';
import type { TemplateUse } from '../cluster-class/patches.ts';
import { relatedObjectsOf } from '../cluster-class/related-objects.ts';
import { renderTemplates, TEMPLATE_HINT } from '../go-template/content.ts';
import type { ConvertOptions, RelatedFacts } from '../inputs/conversion.ts';
import type { InputObject, Inputs } from '../inputs/input.ts';
import { emitProviderObject } from '../kubernetes/provider-object.ts';
import type { Relations } from '../relations/relations.ts';
import type { Report } from '../report/report.ts';
import { readKubeadmConfigSpec } from '../spec/kubeadm-config.ts';
import type { Spec } from '../spec/spec.ts';
import { Expressions, markTree } from '../texts/jinja.ts';
import { yamlValue } from '../texts/yaml.ts';
import { CONTAINER_LINUX, readContainerLinux } from '../user-data/container-linux.ts';
import { dependenciesCommand } from '../user-data/unit-dependencies.ts';
import { isMap } from '../values/map.ts';
import { Source } from '../values/source.ts';
import { type ConvertedDocument, convertSpec, dropOtherRoles } from './document.ts';
import { reportUnrendered } from './unrendered.ts';

/** A user's configuration, and its place in its object. */
export interface Declared extends TemplateUse {
  readonly spec: unknown;
  readonly path: readonly PathSegment[];
}

/** The path of KubeadmConfigSpec by kind (cluster-api api/{bootstrap,controlplane}/kubeadm). */
const SPECS: Readonly<Record<string, { readonly group: string; readonly path: readonly string[] }>> = {
  KubeadmConfig: { group: 'bootstrap.cluster.x-k8s.io', path: ['spec'] },
  KubeadmConfigTemplate: { group: 'bootstrap.cluster.x-k8s.io', path: ['spec', 'template', 'spec'] },
  KubeadmControlPlane: { group: 'controlplane.cluster.x-k8s.io', path: ['spec', 'kubeadmConfigSpec'] },
  KubeadmControlPlaneTemplate: {
    group: 'controlplane.cluster.x-k8s.io',
    path: ['spec', 'template', 'spec', 'kubeadmConfigSpec'],
  },
};

/** undefined for an object of another kind; an unknown version is reported. */
export function declaredOf(template: TemplateUse, report: Report): Declared | undefined {
  const { object } = template;
  const known = SPECS[object.kind];
  if (known === undefined || known.group !== object.group) return undefined;
  if (object.version !== 'v1beta1' && object.version !== 'v1beta2') {
    report.add('InputInvalid', object.title, `${object.version} is not known: expected v1beta1 or v1beta2`);
    return undefined;
  }
  let spec: unknown = object.value;
  for (const name of known.path) spec = isMap(spec) ? spec[name] : undefined;
  return { ...template, spec: spec ?? {}, path: known.path };
}

/** One document; two for a configuration that both starts a cluster and joins it, like a control plane's. */
export async function convertDeclared(
  declared: Declared,
  inputs: Inputs,
  relations: Relations,
  options: ConvertOptions,
  report: Report,
): Promise<readonly ConvertedDocument[]> {
  const { object, spec: written, path } = declared;
  reportUnrendered(object, report);
  const related = relatedObjectsOf(object, relations, options, object.title, declared);
  const placeOf = (below: readonly PathSegment[]): string => `${object.title}: ${formatPath([...path, ...below])}`;
  const templated = renderTemplates(written, related.controlPlaneVersion, (index, text) => {
    const place = placeOf(['files', index]);
    if (text === undefined) report.add('TemplateUnsupported', place, TEMPLATE_HINT);
    else report.add('TemplateRendered', place, 'as the controller would');
  });
  const expressions = new Expressions();
  const isIgnition = isMap(written) && written.format === 'ignition';
  const value = isIgnition ? templated : markTree(templated, placeOf, expressions, report);
  const spec = await readSpec(value, object, path, report);
  const documents: ConvertedDocument[] = [];
  const roles = rolesOf(object, spec, related, options, report);
  for (const role of roles) {
    const emit: Parameters<typeof convertSpec>[3]['emit'] =
      options.forProvider === true
        ? async (sections, own, secrets) =>
            await emitProviderObject(object, related.machine.name, own, sections, secrets, report)
        : undefined;
    const context = { report, expressions, options, related, object: object.title, emit };
    documents.push(...(await convertSpec(spec, role, inputs.secrets, context)));
  }
  dropOtherRoles(spec, roles, report);
  report.settle(roles.length > 0 && documents.length === roles.length);
  return documents;
}

async function readSpec(
  value: unknown,
  object: InputObject,
  path: readonly PathSegment[],
  report: Report,
): Promise<Spec> {
  const whole = Source.of(withPart(object.value, path, value), object.title, report);
  dropObject(whole, object, path, report);
  const source = whole.get(...path);
  const additional = source.get('ignition', 'containerLinuxConfig', 'additionalConfig');
  const text = additional.text();
  const parts =
    text === undefined
      ? undefined
      : readContainerLinux(
          Source.of(await yamlValue(text, additional, report), additional.place, report, CONTAINER_LINUX),
          report,
        );
  for (const part of CONFIGURATIONS) {
    // TypeMeta, which v1beta1 embeds.
    for (const name of ['apiVersion', 'kind']) source.get(part, name).drop('TypeMeta');
  }
  const first = readKubeadmConfigSpec(source, report);
  return {
    ...first,
    beforeCommands: [...dependenciesCommand(parts?.dependencies ?? []), ...first.beforeCommands],
    files: [...first.files, ...(parts?.files ?? [])],
    users: [...first.users, ...(parts?.users ?? [])],
    groups: parts?.groups ?? [],
    disks: [...first.disks, ...(parts?.disks ?? [])],
    filesystems: [...first.filesystems, ...(parts?.filesystems ?? [])],
    services: parts?.services ?? [],
  };
}

const CONFIGURATIONS = ['clusterConfiguration', 'initConfiguration', 'joinConfiguration'];

/** The object with a replaced value at a path: places are reported as paths in the whole object. */
function withPart(object: unknown, [name, ...below]: readonly PathSegment[], value: unknown): unknown {
  if (name === undefined) return value;
  const map = isMap(object) ? object : {};
  return { ...map, [name]: withPart(map[name], below, value) };
}

/** The parts of an object around its specification that stay in the management cluster. */
function dropObject(whole: Source, object: InputObject, path: readonly PathSegment[], report: Report): void {
  for (const name of ['apiVersion', 'kind']) whole.get(name).drop('TypeMeta');
  for (const name of ['metadata', 'status']) whole.get(name).drop('ObjectMeta');
  if (path.includes('template')) whole.get('spec', 'template', 'metadata').drop('ObjectMeta');
  if (!object.kind.startsWith('KubeadmControlPlane')) return;
  const around = whole.get(...path.slice(0, -1));
  const fields = around.members().filter(([name]) => name !== path.at(-1));
  const names = fields.map(([name]) => name).filter((name) => name !== 'version');
  if (names.length > 0) report.add('ControllerField', around, names.map(printableKey).join(', '));
  for (const [, field] of fields) field.drop('ControllerFields');
}

/**
 * The roles of the machines of a configuration: by the object that creates them, else by the parts that it has. A template
 * without either is a worker's: the provider then joins with defaults (kubeadmconfig_controller.go).
 */
function rolesOf(
  object: InputObject,
  spec: Spec,
  { kind, ofControlPlane }: RelatedFacts,
  { role }: ConvertOptions,
  report: Report,
): readonly Role[] {
  const hasControlPlane = spec.join.get('controlPlane').isMap;
  if (kind === 'worker' && hasControlPlane) {
    report.add('RoleUnclear', object.title, 'its machines are workers, and joinConfiguration.controlPlane is set');
    return [];
  }
  const isTemplate = object.kind === 'KubeadmConfigTemplate';
  // Templates are for the controllers of workers, which give no initConfiguration to anybody.
  const initializes = kind !== 'worker' && !isTemplate && (spec.init.exists || spec.cluster.exists || ofControlPlane);
  const joinsControlPlane = hasControlPlane || ofControlPlane || (initializes && spec.join.exists);
  const isWorker = !initializes && !joinsControlPlane && (kind === 'worker' || isTemplate || spec.join.exists);
  const possible: readonly Role[] = [
    ...(initializes ? (['InitControlPlane'] as const) : []),
    ...(joinsControlPlane ? (['JoinControlPlane'] as const) : []),
    ...(isWorker ? (['Worker'] as const) : []),
  ];
  if (possible.length === 0 && role === undefined) {
    report.add('RoleUnclear', object.title, 'it has neither initConfiguration nor joinConfiguration: give --role');
  }
  if (role === undefined || possible.length === 0) return role === undefined ? possible : [role];
  if (possible.includes(role)) return [role];
  report.add('ObjectIgnored', object.title, `it is not a ${role}; it can become ${possible.join(' or ')}`);
  return [];
}
