import type { QueryHost } from '../host/seam/host.ts';

/**
 * Whether the service containerd starts the containerd of the search path, whose version is known. True where the service manager
 * does not tell. A service that starts another one is never brought to that version.
 */
export async function startsInstalledContainerd(host: QueryHost): Promise<boolean> {
  const { unit } = await host.service('containerd');
  const [started, installed] = [unit?.command[0], await host.which('containerd')];
  if (started === undefined || installed === undefined) return true;
  return (await host.realPath(started)) === (await host.realPath(installed));
}
