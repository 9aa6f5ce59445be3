import { member, text } from '@machineadm/document/values/untyped.ts';
import { QUIET } from '@machineadm/document/yaml/foreign-yaml.ts';
import type { Mount, NamedValue } from './controls/control.ts';

/** The parts of a static pod's manifest that hardening uses: one component, as kubeadm writes it. */
export interface Manifest {
  /** The component's arguments; the last occurrence of a repeated one counts. */
  readonly args: ReadonlyMap<string, string>;
  /** From paths in the container to paths on the host. */
  readonly mounts: readonly { readonly mountPath: string; readonly hostPath: string }[];
}

export type ManifestEdit =
  | ({ readonly kind: 'set' } & NamedValue)
  | { readonly kind: 'remove'; readonly name: string }
  | { readonly kind: 'mount'; readonly mount: Mount };

/** Parses a manifest. Throws `SyntaxError` where it is not a pod with a container. */
export async function readManifest(text: string): Promise<Manifest> {
  const { parseDocument } = await import('yaml');
  const pod = podOf(parseDocument(text, QUIET));
  const container = containerOf(pod);
  const volumes = new Map(
    list(container.volumes).map((volume) => [nameOf(volume), member(member(volume, 'hostPath'), 'path')]),
  );
  const mounts = list(member(container.fields, 'volumeMounts')).flatMap((mount) => {
    const hostPath = volumes.get(nameOf(mount));
    const mountPath = member(mount, 'mountPath');
    return typeof hostPath === 'string' && typeof mountPath === 'string' ? [{ mountPath, hostPath }] : [];
  });
  return { args: argumentsOf(container.words), mounts };
}

/** `--name=value` and `--name` (true) of a command line; words before the first flag are the program. */
export function argumentsOf(words: readonly string[]): ReadonlyMap<string, string> {
  const args = new Map<string, string>();
  words.forEach((word, index) => {
    const [, name = '', value] = /^--?([^=]+)(?:=([\s\S]*))?$/.exec(word) ?? [];
    if (name === '') return;
    const next = words[index + 1];
    args.set(name, value ?? (next !== undefined && !next.startsWith('-') ? next : 'true'));
  });
  return args;
}

/** The host path of a file that the container sees at `path`; undefined when it is not mounted. */
export function hostPathOf(manifest: Manifest, path: string): string | undefined {
  const inside = manifest.mounts
    .filter(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath.replace(/\/$/, '')}/`))
    .sort((a, b) => b.mountPath.length - a.mountPath.length)[0];
  return inside === undefined ? undefined : `${inside.hostPath}${path.slice(inside.mountPath.length)}`;
}

/** The same manifest with these edits; everything else is unchanged. */
export async function editManifest(text: string, edits: readonly ManifestEdit[]): Promise<string> {
  const { parseDocument, isSeq } = await import('yaml');
  const document = parseDocument(text, QUIET);
  const { words, key } = containerOf(podOf(document));
  let changed = [...words];
  for (const edit of edits) {
    if (edit.kind === 'mount') addMount(edit.mount);
    else {
      const without = changed.filter((word) => !new RegExp(`^--${edit.name}(=|$)`).test(word));
      const position = changed.findIndex((word) => !without.includes(word));
      changed = without;
      if (edit.kind === 'set') {
        changed.splice(position === -1 ? changed.length : position, 0, `--${edit.name}=${edit.value}`);
      }
    }
  }
  document.setIn(['spec', 'containers', 0, key], document.createNode(changed));
  return document.toString({ lineWidth: 0 });

  function addMount({ name, path, readOnly, pathType }: Mount): void {
    // Two controls may need the same directory.
    const { volumes } = containerOf(document.toJS());
    if (list(volumes).some((volume) => member(volume, 'name') === name)) return;
    const append = (where: readonly (string | number)[], value: object): void => {
      const present: unknown = document.getIn(where);
      if (isSeq(present)) document.addIn(where, document.createNode(value));
      else document.setIn(where, document.createNode([value]));
    };
    append(['spec', 'containers', 0, 'volumeMounts'], { mountPath: path, name, ...(readOnly ? { readOnly } : {}) });
    append(['spec', 'volumes'], { hostPath: { path, type: pathType }, name });
  }
}

interface Container {
  readonly fields: unknown;
  readonly volumes: unknown;
  /** `command` or `args`, whichever contains the flags. */
  readonly words: readonly string[];
  readonly key: 'command' | 'args';
}

interface ParsedYaml {
  readonly errors: readonly Error[];
  toJS(): unknown;
}

function podOf(document: ParsedYaml): unknown {
  if (document.errors.length > 0) throw new SyntaxError('not valid YAML');
  try {
    return document.toJS();
  } catch (cause) {
    throw new SyntaxError('an alias without its anchor, or too many of them', { cause });
  }
}

function nameOf(value: unknown): string {
  return text(member(value, 'name')) ?? '';
}

function containerOf(pod: unknown): Container {
  const spec = member(pod, 'spec');
  const fields = list(member(spec, 'containers'))[0];
  const words = (key: 'command' | 'args') =>
    list(member(fields, key)).filter((word): word is string => typeof word === 'string');
  const key = words('args').some((word) => word.startsWith('-')) ? 'args' : 'command';
  if (fields === undefined || words(key).length === 0) throw new SyntaxError('not a pod whose container has a command');
  return { fields, volumes: member(spec, 'volumes'), words: words(key), key };
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
