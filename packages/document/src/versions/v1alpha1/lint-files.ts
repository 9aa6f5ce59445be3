import type { Finding } from '../../diagnostics/index.ts';
import { plainPath } from '../../host-parts/paths-of-host.ts';
import { parseMode } from '../../text/units.ts';
import type { Sections } from './sections.ts';

/** Files that their owner could not reach: the directories above belong to root where machineadm makes them. */
export function lintFiles({ host }: Sections): Finding[] {
  const named = new Set((host?.directories ?? []).map(({ path }) => plainPath(path)));
  return (host?.files ?? []).flatMap(({ path, owner = 'root', directoryMode = '0755' }, index) => {
    const user = owner.split(':')[0] ?? owner;
    const isClosed = (parseMode(directoryMode) & 0o001) === 0;
    const directory = path.slice(0, path.lastIndexOf('/'));
    if (!isClosed || user === 'root' || user === '0' || named.has(directory)) return [];
    const message = `if ${directory} is created, it belongs to root, and ${user} cannot enter it with this mode`;
    const hint = `name it: directories: [{path: ${directory}, owner: "${owner}", mode: "${directoryMode}"}]`;
    return [{ path: ['host', 'files', index, 'directoryMode'], message, hint }];
  });
}
