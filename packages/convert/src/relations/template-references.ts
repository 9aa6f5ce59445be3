import { at, isMap, items, text } from '../values/map.ts';

/** The reference to the template of a control plane or of a bootstrap configuration. */
export function referenceOf(part: unknown): unknown {
  return at(part, 'ref') ?? at(part, 'templateRef');
}

/** The reference of a class of workers; v1beta1 has it below `template`. */
export function bootstrapOf(part: unknown): unknown {
  const below = at(part, 'template');
  return referenceOf(at(isMap(below) ? below : part, 'bootstrap'));
}

/** The names of the templates of a ClusterClass. */
export function templateNamesOf(clusterClass: unknown): readonly string[] {
  const workers = ['machineDeployments', 'machinePools'].flatMap((list) =>
    items(at(clusterClass, 'spec', 'workers', list)),
  );
  return [referenceOf(at(clusterClass, 'spec', 'controlPlane')), ...workers.map(bootstrapOf)].flatMap(
    (reference) => text(at(reference, 'name')) ?? [],
  );
}
