import { UNIT_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { QueryHost } from '../host/seam/host.ts';

/**
 * The machine as it will be once these paths, and everything below them, are removed: for planning later steps. Other
 * queries go to the actual machine. A unit is stopped and disabled before its file is removed (`undo/removals/unit-files.ts`).
 */
export function hostWithout(host: QueryHost, removed: readonly string[]): QueryHost {
  if (removed.length === 0) return host;
  const isGone = (path: string) => removed.some((gone) => path === gone || path.startsWith(`${gone}/`));
  const unlessGone =
    <Rest extends readonly unknown[], Found>(ask: (path: string, ...rest: Rest) => Promise<Found | undefined>) =>
    async (path: string, ...rest: Rest): Promise<Found | undefined> =>
      isGone(path) ? undefined : await ask(path, ...rest);
  return {
    ...host,
    readFile: unlessGone((path) => host.readFile(path)),
    readText: unlessGone((path) => host.readText(path)),
    readRange: unlessGone((path, offset: number, length: number) => host.readRange(path, offset, length)),
    openFile: unlessGone((path) => host.openFile(path)),
    stat: unlessGone((path) => host.stat(path)),
    readLink: unlessGone((path) => host.readLink(path)),
    list: unlessGone((path) => host.list(path)),
    sha256: unlessGone((path) => host.sha256(path)),
    async service(name) {
      const state = await host.service(name);
      const unit = /\.[a-z]+$/.test(name) ? name : `${name}.service`;
      return isGone(`${UNIT_DIRECTORY}/${unit}`) ? { ...state, active: false, enabled: false } : state;
    },
  };
}
