/**
 * A thing on the machine that a change may alter, by kind and name. The journal records how it was before the first change,
 * and `machineadm reset` restores that. `path` is a file, a directory or a link with its content, `attributes` only the mode
 * and owner of a path, `tree` everything below a directory, `kernel` a file of /proc/sys,
 * `swap-file` a file by the UUID in it, because the kernel changes its content, `user` and `group` a local account.
 */
export type Resource = `${ResourceKind}:${string}`;

export type ResourceKind =
  | 'path'
  | 'attributes'
  | 'tree'
  | 'kernel'
  | 'service'
  | 'module'
  | 'swap'
  | 'swap-file'
  | 'mount'
  | 'user'
  | 'group';

export function partsOf(resource: Resource): { readonly kind: ResourceKind; readonly name: string } {
  const colon = resource.indexOf(':');
  return { kind: resource.slice(0, colon) as ResourceKind, name: resource.slice(colon + 1) };
}
