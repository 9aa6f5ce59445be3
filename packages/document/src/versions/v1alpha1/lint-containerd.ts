import type { Finding, PathSegment } from '../../diagnostics.ts';
import type { RegistriesSection } from './registries.ts';
import type { Sections } from './sections.ts';

const HERE: readonly PathSegment[] = ['containerRuntime', 'containerd', 'registries'];

/** What `containerRuntime.containerd` may ask for and will hurt. */
export function lintContainerd({ containerRuntime, host }: Sections): Finding[] {
  return throughTheProxy(containerRuntime?.containerd?.registries ?? [], host?.proxy);
}

/** containerd asks mirrors through its proxy, too; a subnet in NO_PROXY does not match a name (x/net/http/httpproxy). */
function throughTheProxy(registries: RegistriesSection, proxy: NonNullable<Sections['host']>['proxy']): Finding[] {
  if (proxy === undefined || proxy.for?.includes('containerd') === false) return [];
  const direct = proxy.no ?? [];
  return registries.flatMap(({ mirrors = [] }, index) =>
    mirrors.flatMap(({ url }, at): Finding[] => {
      const name = URL.canParse(url) ? new URL(url).hostname : '';
      // Addresses may be in a subnet; only names are judged.
      if (name === '' || /^[\d.]+$|:/.test(name) || direct.some((entry) => covers(entry, name))) return [];
      const message = 'containerd asks this mirror through the proxy';
      const hint = `add ${name} to host.proxy.no if it is reached directly`;
      return [{ path: [...HERE, index, 'mirrors', at, 'url'], message, hint }];
    }),
  );
}

function covers(entry: string, name: string): boolean {
  if (entry === '*') return true;
  const bare = entry.replace(/^\*?\./, '').replace(/:\d+$/, '');
  return name === bare || name.endsWith(`.${bare}`);
}
