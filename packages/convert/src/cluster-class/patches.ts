import { printableKey } from '@machineadm/document/diagnostics/index.ts';
import { renderGoTemplate } from '../go-template/render.ts';
import { sprigFunctions } from '../go-template/sprig.ts';
import { GoTemplateError } from '../go-template/tokens.ts';
import { goValue } from '../go-template/values.ts';
import type { InputObject } from '../inputs/input.ts';
import { BOOTSTRAP_GROUP, CORE_GROUP, isOf, ownersOf, type Relations } from '../relations/relations.ts';
import { Report } from '../report/report.ts';
import { yamlValue } from '../texts/yaml.ts';
import { at, isMap, items, text, texts } from '../values/map.ts';
import { applyOperation, type Operation, PatchError } from './json-patch.ts';
import type { ConfigurationUse } from './related-objects.ts';
import { classesNaming, type TopologyUse, usesOf } from './topology.ts';
import { type Variables, variableAt, variablesOf } from './variables.ts';

/** A configuration as it becomes machines: as it is, or patched for a part of a Cluster's topology. */
export interface TemplateUse extends ConfigurationUse {
  readonly object: InputObject;
}

/**
 * What the Clusters of the input make of a template with the patches of their ClusterClass, in order (cluster-api
 * internal/controllers/topology/cluster/patches), and what its MachineDeployments and MachinePools do. A patch that cannot be
 * applied is a decision, and leaves the template as it was.
 */
export async function templateUses(
  object: InputObject,
  relations: Relations,
  report: Report,
): Promise<readonly TemplateUse[]> {
  const topology = usesOf(object, relations);
  const makers = makersOf(object, relations);
  const count = topology.length + makers.length;
  if (topology.length === 0) {
    const left = classesNaming(object, relations).flatMap(({ clusterClass }) => patchesFor(clusterClass, object));
    const why = 'no Cluster of the input uses the template, and its variables decide';
    if (left.length > 0) report.add('PatchesNotApplied', object.title, `${left.map(printableKey).join(', ')}: ${why}`);
    if (makers.length === 0) return [{ object }];
  }
  const patched: TemplateUse[] = [];
  for (const use of topology) {
    const { cluster, entry } = use;
    const names = [cluster.name, text(at(entry, 'name'))].filter((name) => name !== undefined);
    const title = count === 1 ? object.title : `${object.title} of ${names.map(printableKey).join(' ')}`;
    const value = await patchedValue({ ...object, title }, use, report);
    patched.push({ object: { ...object, title, value }, use, ...(count === 1 ? {} : { name: names.join('-') }) });
  }
  for (const maker of makers) {
    const title = count === 1 ? object.title : `${object.title} of ${maker.kind} ${printableKey(maker.name)}`;
    patched.push({ object: { ...object, title }, maker, ...(count === 1 ? {} : { name: maker.name }) });
  }
  return patched;
}

/** The objects that create Machines from a template; of a MachineSet its MachineDeployment. */
export function makersOf(object: InputObject, relations: Relations): readonly InputObject[] {
  if (!isOf(object, BOOTSTRAP_GROUP, 'KubeadmConfigTemplate')) return [];
  const makers = relations.usersOf(object).filter(({ kind }) => kind !== 'Machine');
  const deployments = makers.filter(({ kind }) => kind !== 'MachineSet');
  const sets = makers.filter((one) => one.kind === 'MachineSet' && !isOfDeployment(one, deployments, relations));
  return [...deployments, ...sets];
}

function isOfDeployment(set: InputObject, deployments: readonly InputObject[], relations: Relations): boolean {
  return ownersOf(set, CORE_GROUP, 'MachineDeployment').some((owner) => {
    const found = relations.find(owner, set);
    return found !== undefined && deployments.includes(found);
  });
}

/** The patches of a class that name the kind of a template, or leave it to an extension. */
function patchesFor({ value }: InputObject, { kind }: InputObject): readonly string[] {
  return items(at(value, 'spec', 'patches'))
    .filter((patch) => {
      const kinds = items(at(patch, 'definitions')).map((one) => at(one, 'selector', 'kind'));
      return kinds.includes(kind) || extensionOf(patch) !== undefined;
    })
    .map(nameOf);
}

function nameOf(patch: unknown): string {
  return text(at(patch, 'name')) ?? 'unnamed';
}

function extensionOf(patch: unknown): unknown {
  return at(patch, 'external', 'generatePatchesExtension') ?? at(patch, 'external', 'generateExtension');
}

async function patchedValue(object: InputObject, use: TopologyUse, report: Report): Promise<InputObject['value']> {
  let { value } = object;
  const variables = variablesOf(use);
  const applied: string[] = [];
  for (const patch of items(at(use.clusterClass.value, 'spec', 'patches'))) {
    const name = printableKey(nameOf(patch));
    try {
      const next = await applyPatch(patch, value, object, use, variables);
      if (next !== undefined) applied.push(name);
      value = next ?? value;
    } catch (error) {
      if (!(error instanceof GoTemplateError || error instanceof PatchError)) throw error;
      report.add('PatchesNotApplied', object.title, `${name}: ${error.message}`);
    }
  }
  if (applied.length > 0) report.add('PatchesApplied', object.title, applied.join(', '));
  return value;
}

/** inline/json_patch_generator.go. undefined: it is not for this template. */
async function applyPatch(
  patch: unknown,
  value: InputObject['value'],
  object: InputObject,
  use: TopologyUse,
  variables: Variables,
): Promise<InputObject['value'] | undefined> {
  const definitions = items(at(patch, 'definitions'));
  if (definitions.length === 0 && extensionOf(patch) !== undefined)
    throw new PatchError('an extension of Cluster API makes it');
  const matching = definitions.filter((one) => matches(at(one, 'selector'), object, use));
  if (matching.length === 0) return undefined;
  const enabledIf = text(at(patch, 'enabledIf'));
  if (enabledIf !== undefined && (await rendered(enabledIf, variables)) !== true) return undefined;
  const own = `${object.group}/${object.version}`;
  if (use.apiVersion !== undefined && use.apiVersion !== own)
    throw new PatchError(`it is for ${use.apiVersion}, and the template of the input is ${own}`);
  let next: unknown = value;
  for (const definition of matching) {
    for (const one of items(at(definition, 'jsonPatches')))
      next = applyOperation(next, await operationOf(one, variables));
  }
  // Of a template only the spec is taken (patchTemplateSpec in engine.go).
  return { ...value, spec: at(next, 'spec') };
}

function matches(selector: unknown, object: InputObject, { apiVersion, holder, entry }: TopologyUse): boolean {
  if (at(selector, 'kind') !== object.kind) return false;
  if (at(selector, 'apiVersion') !== (apiVersion ?? `${object.group}/${object.version}`)) return false;
  const resources = at(selector, 'matchResources');
  if (holder === 'controlPlane') return at(resources, 'controlPlane') === true;
  const name = text(at(entry, 'class')) ?? '';
  return texts(at(resources, `${holder}Class`, 'names')).some(
    (pattern) =>
      pattern === name ||
      pattern === '*' ||
      (pattern.startsWith('*') && name.endsWith(pattern.slice(1))) ||
      (pattern.endsWith('*') && name.startsWith(pattern.slice(0, -1))),
  );
}

async function operationOf(patch: unknown, variables: Variables): Promise<Operation> {
  const [op, path] = [at(patch, 'op'), text(at(patch, 'path')) ?? ''];
  if (op === 'remove') return { op, path };
  if (op !== 'add' && op !== 'replace') throw new PatchError('an operation other than add, replace and remove');
  const variable = text(at(patch, 'valueFrom', 'variable'));
  const template = text(at(patch, 'valueFrom', 'template'));
  const hasValue = isMap(patch) && Object.hasOwn(patch, 'value');
  if ([hasValue, variable !== undefined, template !== undefined].filter(Boolean).length !== 1)
    throw new PatchError(`${op} ${path}: one of value, valueFrom.variable and valueFrom.template is expected`);
  if (template !== undefined) return { op, path, value: await rendered(template, variables) };
  return { op, path, value: variable === undefined ? at(patch, 'value') : variableAt(variables, variable) };
}

/** The value that a template gives, read as YAML. */
async function rendered(template: string, variables: Variables): Promise<unknown> {
  // A regular expression of Go; most templates have none.
  const regexps = /\bregex[A-Z]/.test(template) ? await import('re2js') : undefined;
  const written = renderGoTemplate(template, goValue(variables), sprigFunctions(regexps));
  const report = new Report();
  const value = await yamlValue(written, 'template', report);
  if (report.decisions.length > 0) throw new PatchError('what its template gives is not YAML');
  return value ?? null;
}
