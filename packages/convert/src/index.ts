import { printableKey } from '@machineadm/document/diagnostics/index.ts';
import type { Role } from '@machineadm/document/model/index.ts';
import { templateUses } from './cluster-class/patches.ts';
import { configurationOf, relatedObjectsOf } from './cluster-class/related-objects.ts';
import { convertDeclared, type Declared, declaredOf } from './documents/declared.ts';
import { type ConvertedDocument, convertSpec, dropOtherRoles } from './documents/document.ts';
import type { ConvertOptions } from './inputs/conversion.ts';
import type { InputObject, InputText } from './inputs/input.ts';
import { reasonAgainst, tellReferences, usesForProvider } from './kubernetes/provider-object.ts';
import { readInputs } from './read-inputs.ts';
import { CORE_GROUP, Relations } from './relations/relations.ts';
import { type Decision, type DroppedPart, Report } from './report/report.ts';
import { Expressions } from './texts/jinja.ts';
import { stemOf } from './texts/stem.ts';
import { readCloudConfig } from './user-data/cloud-config.ts';
import { readIgnition } from './user-data/ignition.ts';
import { userDataParts } from './user-data/parts.ts';
import { convertKubeadmFiles, isOfKubeadm } from './worlds/kubeadm.ts';
import { refusalOfProvider } from './worlds/others.ts';

export type { ConvertedDocument } from './documents/document.ts';
export type { ConvertOptions } from './inputs/conversion.ts';
export type { InputText } from './inputs/input.ts';
export type { NodeFile, NodeFiles } from './inputs/node-files.ts';
export { CODES, type Code, type Severity } from './report/codes.ts';
export { DROPPED } from './report/dropped.ts';
export type { Decision } from './report/report.ts';

/**
 * The converter: from the input or the output of Cluster API's kubeadm bootstrap provider, or from kubeadm's own files, to
 * documents. Pure: it has no
 * side effects, and also runs in a browser or a controller.
 * The stages: sort the input into objects and user data -> one specification per machine (`spec/spec.ts`), whichever form it
 * had -> the sections of a document -> insert variables -> validate like every document.
 */
export interface Conversion {
  /** Empty where an error forbids it. Decisions that are not accepted yet do not: the caller checks them. */
  readonly documents: readonly ConvertedDocument[];
  readonly decisions: readonly Decision[];
  /** Parts left out without a decision, by the list of such reasons. */
  readonly dropped: readonly DroppedPart[];
}

export async function convert(texts: readonly InputText[], options: ConvertOptions = {}): Promise<Conversion> {
  const report = new Report();
  const inputs = await readInputs(texts, report);
  const documents: ConvertedDocument[] = [];
  let leftOut = false;
  const dataSecrets = inputs.userData.flatMap(({ secret }) => secret ?? []);
  const relations = new Relations([...inputs.objects, ...dataSecrets], report);
  const carried = new Set(dataSecrets.flatMap((secret) => configurationOf(secret, relations) ?? []));
  for (const { format, content, title, secret } of inputs.userData) {
    if (options.forProvider === true) {
      report.add(
        'ObjectIgnored',
        title,
        'it is the data of one machine: give the template that the machines are made from',
      );
      continue;
    }
    const expressions = new Expressions();
    const spec =
      format === 'ignition'
        ? await readIgnition(content, title, report)
        : await readCloudConfig(await userDataParts(String(content), title, report), title, expressions, report);
    if (spec === undefined) continue;
    const related = relatedObjectsOf(secret, relations, options, title);
    const role = roleOfUserData(
      spec.init.exists || spec.cluster.exists,
      spec.join.exists,
      spec.join.get('controlPlane').isMap,
    );
    const stem = secret === undefined ? stemOf(title) : undefined;
    const context = { report, expressions, options, related, object: title, stem };
    const converted = await convertSpec(spec, role, inputs.secrets, context);
    documents.push(...converted);
    if (role !== undefined) dropOtherRoles(spec, [role], report);
    report.settle(converted.length > 0);
  }
  if (options.forProvider !== true) documents.push(...(await convertKubeadmFiles(inputs, options, report)));
  for (const object of inputs.objects) {
    if (isOfKubeadm(object)) continue;
    const found = declaredOf({ object }, report);
    // The Secret that the provider made of a configuration is more complete.
    if (found === undefined || carried.has(object)) {
      tellIgnored(object, found, report);
      continue;
    }
    const against = options.forProvider === true ? reasonAgainst(object, relations) : undefined;
    if (against !== undefined) {
      report.add('ObjectIgnored', object.title, against);
      continue;
    }
    const all = await templateUses(object, relations, report);
    for (const use of options.forProvider === true ? usesForProvider(all) : all) {
      const declared = declaredOf(use, report) ?? found;
      const converted = await convertDeclared(declared, inputs, relations, options, report);
      leftOut ||= converted.length === 0;
      documents.push(...converted);
      for (const { name } of options.forProvider === true ? converted : [])
        tellReferences(object, use, name, relations, report);
    }
  }
  for (const { namespace, name, data, named } of inputs.secrets.all()) {
    const unused = Array.from(data.keys()).filter((key) => !named.has(key));
    const title = `Secret ${namespace === undefined ? '' : `${namespace}/`}${name}`;
    if (unused.length > 0)
      report.add('ObjectIgnored', title, `no configuration names ${unused.map(printableKey).join(', ')}`);
  }
  if (documents.length === 0 && report.decisions.every(({ severity }) => severity !== 'error')) {
    const names = texts.map(({ name }) => name).join(', ');
    const kinds =
      options.forProvider === true
        ? 'a KubeadmConfigTemplate, or the KubeadmConfig of a MachinePool'
        : "KubeadmConfig, KubeadmControlPlane, a Template of them, a bootstrap data Secret, or kubeadm's YAML";
    for (const { group, kind, title } of inputs.objects) {
      const refusal = refusalOfProvider(group, kind);
      if (refusal !== undefined) report.add('NotKubeadm', title, refusal);
    }
    if (leftOut) report.add('RoleUnclear', names, `nothing in it can become a ${options.role}`);
    else report.add('InputUnknown', names, `expected ${kinds}`);
  }
  const failed = report.decisions.some(({ severity }) => severity === 'error');
  return { documents: failed ? [] : documents, decisions: report.decisions, dropped: report.dropped };
}

function roleOfUserData(initializes: boolean, joins: boolean, controlPlane: boolean): Role | undefined {
  if (initializes) return 'InitControlPlane';
  if (!joins) return undefined;
  return controlPlane ? 'JoinControlPlane' : 'Worker';
}

/** Kinds that are read as related objects. */
const BESIDE = new Set(['Cluster', 'ClusterClass', 'Machine', 'MachineDeployment', 'MachineSet', 'MachinePool']);

function isRelated({ group, kind }: InputObject): boolean {
  return (group === CORE_GROUP && BESIDE.has(kind)) || /^Kubeadm/.test(kind);
}

function tellIgnored(object: InputObject, declared: Declared | undefined, report: Report): void {
  if (declared !== undefined) report.add('ObjectIgnored', object.title, 'the Secret that was made of it is converted');
  else if (!isRelated(object)) {
    const refusal = refusalOfProvider(object.group, object.kind);
    report.add('ObjectIgnored', object.title, refusal ?? 'only its kind is read');
  }
}
