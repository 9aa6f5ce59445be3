interface Namespaced {
  readonly namespace: string | undefined;
}

/** A namespace that the input leaves open: the command that applies the object decides. */
export function isOpenNamespace(namespace: string | undefined): boolean {
  return namespace === undefined || namespace.includes('$');
}

/** Whether two objects can be of one namespace. */
export function canShareNamespace(one: Namespaced, other: Namespaced): boolean {
  return one.namespace === other.namespace || isOpenNamespace(one.namespace) || isOpenNamespace(other.namespace);
}

/** Objects by their name and namespace; a fleet has many of one name. */
export class ObjectsByName<T extends Namespaced & { readonly name: string }> {
  readonly #byName = new Map<string, T[]>();
  /** Those with an open namespace are of `undefined`. */
  readonly #byNamespace = new Map<string, Map<string | undefined, T[]>>();

  constructor(objects: readonly T[]) {
    for (const object of objects) {
      const namespace = isOpenNamespace(object.namespace) ? undefined : object.namespace;
      const byNamespace = this.#byNamespace.get(object.name) ?? new Map<string | undefined, T[]>();
      this.#byNamespace.set(object.name, byNamespace);
      append(this.#byName, object.name, object);
      append(byNamespace, namespace, object);
    }
  }

  all(): readonly T[] {
    return [...this.#byName.values()].flat();
  }

  /** Those of a name that can be in a namespace. */
  near(name: string, namespace: string | undefined): readonly T[] {
    if (isOpenNamespace(namespace)) return this.#byName.get(name) ?? [];
    const byNamespace = this.#byNamespace.get(name);
    return [namespace, undefined].flatMap((one) => byNamespace?.get(one) ?? []);
  }
}

/** Adds to the list of a key. */
export function append<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
