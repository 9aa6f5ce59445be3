import { NEWEST_KNOWN_MINOR, OLDEST_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import type { KubernetesModel, Role } from '@machineadm/document/model/index.ts';
import { kubernetes, toKubernetes } from '@machineadm/document/sections/kubernetes/index.ts';
import { renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { type PlacedField, sectionsWith, valuesOf } from './placed-field.ts';

/** The fields and flags of kubeadm that a field of the document sets. */
export interface KubeadmField {
  /** For all versions of kubeadm, such as `InitConfiguration.nodeRegistration.taints` or `--skip-phases`. */
  readonly names: readonly string[];
  /** The known minors of kubeadm that can express it. */
  readonly since: number;
  readonly until: number;
}

type Section = Readonly<Record<string, unknown>>;
type Values = ReadonlyMap<string, string>;

const MINORS = Array.from({ length: NEWEST_KNOWN_MINOR - OLDEST_MINOR + 1 }, (_, index) => OLDEST_MINOR + index);
const ROLES: readonly Role[] = ['InitControlPlane', 'JoinControlPlane', 'Worker'];
const JOIN = {
  discovery: {
    token: {
      token: 'abcdef.0123456789abcdef',
      endpoint: 'api.example:6443',
      caCertHashes: [`sha256:${'0'.repeat(64)}`],
    },
  },
};

/**
 * Finds the kubeadm fields for a field below `kubernetes`: renders the configuration with and without the field, for each
 * role and each minor, and compares the results. Returns undefined if the configuration does not depend on the field.
 */
export class KubeadmFields {
  readonly #renderings = new Map<string, ReadonlyMap<number, Values>>();

  find(placed: PlacedField): KubeadmField | undefined {
    const names = new Set<string>();
    const windows: { readonly since: number; readonly until: number }[] = [];
    for (const role of ROLES) {
      const minors: number[] = [];
      const without = this.#without(placed, role);
      for (const value of valuesOf(placed.field)) {
        for (const [minor, found] of this.#rendered(sectionsWith(placed, value).kubernetes as Section, role)) {
          const before = without.get(minor);
          const different = [...found].filter(([path, text]) => before !== undefined && before.get(path) !== text);
          if (different.length > 0) minors.push(minor);
          for (const [path] of different) names.add(path);
        }
      }
      if (minors.length > 0) windows.push({ since: Math.min(...minors), until: Math.max(...minors) });
    }
    if (windows.length === 0) return undefined;
    // A version supports a field if it can express the field for every role that uses it.
    const since = Math.max(...windows.map((window) => window.since));
    return { names: commonPaths([...names]), since, until: Math.min(...windows.map((window) => window.until)) };
  }

  /** Renders without the field or, if its object requires it, without the object. */
  #without(placed: PlacedField, role: Role): ReadonlyMap<number, Values> {
    const found = this.#rendered((sectionsWith(placed).kubernetes ?? {}) as Section, role);
    const field = placed.above.at(-1);
    if (found.size > 0 || field === undefined || placed.above.length < 2) return found;
    return this.#without({ field, above: placed.above.slice(0, -1) }, role);
  }

  /** The values of the configuration by their paths, for the minors that can express it. */
  #rendered(section: Section, role: Role): ReadonlyMap<number, Values> {
    const { version: _, role: __, ...rest } = section;
    const wanted = { ...(role === 'InitControlPlane' ? {} : { join: JOIN }), ...rest, version: 'v1.35.0', role };
    const key = JSON.stringify(wanted);
    const known = this.#renderings.get(key);
    if (known !== undefined) return known;
    const model = modelOf(wanted);
    const renderings = new Map(
      MINORS.flatMap((minor) => {
        const values = model && valuesFor(model, minor);
        return values === undefined ? [] : [[minor, values]];
      }),
    );
    this.#renderings.set(key, renderings);
    return renderings;
  }
}

function modelOf(section: Section): KubernetesModel | undefined {
  const parsed = kubernetes.safeParse(section);
  if (!parsed.success) return undefined;
  try {
    return toKubernetes(parsed.data, (_field, name) => ({ name, source: { kind: 'env', variable: 'VALUE' } }));
  } catch {
    // The checks of a document refuse such values.
    return undefined;
  }
}

function valuesFor(model: KubernetesModel, minor: number): Values | undefined {
  try {
    const { documents, flags, files } = renderKubeadm({
      kubernetes: { ...model, version: `v1.${minor}.0` },
      kubeadm: { major: 1, minor, patch: 0, text: `v1.${minor}.0` },
      secrets: ({ name }) => name,
    });
    const values = new Map<string, string>();
    for (const document of documents) collect(document, 'kind' in document ? String(document.kind) : '', values);
    for (const flag of flags) values.set(flag.replace(/=.*/s, ''), flag);
    for (const file of files) values.set(file.path, file.content);
    return values;
  } catch {
    // This version cannot express it.
    return undefined;
  }
}

/** A list counts as one value, unless its entries have names, as arguments do since v1beta4. */
function collect(value: unknown, path: string, into: Map<string, string>): void {
  if (Array.isArray(value) && value.every(isNamedValue))
    for (const { name, value: text } of value) into.set(`${path}.${name}`, JSON.stringify(text));
  else if (typeof value === 'object' && value !== null && !Array.isArray(value))
    for (const [key, item] of Object.entries(value)) collect(item, `${path}.${key}`, into);
  else into.set(path, JSON.stringify(value));
}

function isNamedValue(entry: unknown): entry is { readonly name: string; readonly value: unknown } {
  return typeof entry === 'object' && entry !== null && 'value' in entry && 'name' in entry;
}

/** Replaces many paths in one object with the path of the object. */
function commonPaths(paths: readonly string[]): readonly string[] {
  const groups = Map.groupBy(paths, (path) => (path.startsWith('/') ? path : path.replace(/\.[^.]*$/, '')));
  return [...groups].flatMap(([parent, group]) => (group.length > MOST_OF_ONE ? [parent] : group)).sort();
}

const MOST_OF_ONE = 3;
