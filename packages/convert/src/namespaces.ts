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
