import { registerHooks } from 'node:module';
import { relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = resolve(import.meta.dirname, '../..');
const urlOf = (path: string): string => pathToFileURL(resolve(ROOT, path)).href;

/**
 * The name of a module of `src` to import: a second copy of it and of all that it imports there, in which other modules stand in
 * for some. The other tests of this process have theirs as they are.
 *
 * @param name of the copies; another for each set of stand-ins
 * @param standIns paths of modules in `src`, each with the path of the one that stands in for it
 */
export function copyOf(module: string, name: string, standIns: ReadonlyMap<string, string>): string {
  const query = `?${name}`;
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const found = nextResolve(specifier, context);
      const isCopied = specifier.endsWith(query) || context.parentURL?.endsWith(query) === true;
      if (!isCopied || !found.url.startsWith('file://')) return found;
      const path = relative(ROOT, fileURLToPath(found.url));
      if (!path.startsWith('src/')) return found;
      const standIn = standIns.get(path);
      return { ...found, url: standIn === undefined ? `${urlOf(path)}${query}` : urlOf(standIn) };
    },
  });
  return `${urlOf(module)}${query}`;
}
