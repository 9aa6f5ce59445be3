import { dirname } from 'node:path/posix';
import type { Model } from '@machineadm/document/model/index.ts';
import { canonicalPath } from '@machineadm/document/ownership/collisions.ts';
import type { IsRequested } from '../step/feature-step.ts';
import { isAt } from '../step/wants.ts';

/** Whether a document requests a path as a file, directory, link, or part of an archive. */
export const requestsPath: IsRequested = (model, { kind, name }) => {
  const { archives, directories } = model.host;
  const trees = kind === 'attributes' ? [...archives, ...directories] : archives;
  const path = canonicalPath(name);
  return namedPaths(model).has(path) || trees.some((tree) => isAt(path, canonicalPath(tree.path)));
};

const named = new WeakMap<Model, ReadonlySet<string>>();

/** The paths in a document and the directories above: a directory is requested where something in it is. Kept, as each file needs it. */
function namedPaths(model: Model): ReadonlySet<string> {
  const known = named.get(model);
  if (known !== undefined) return known;
  const paths = new Set<string>();
  const { archives, directories, files, links } = model.host;
  for (const { path } of [...files, ...directories, ...links, ...archives])
    for (let at = canonicalPath(path); !paths.has(at); at = dirname(at)) paths.add(at);
  named.set(model, paths);
  return paths;
}
