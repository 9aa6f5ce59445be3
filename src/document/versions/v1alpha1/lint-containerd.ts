import type { Finding, PathSegment } from '../../diagnostics.ts';
import type { EndpointSection, RegistriesSection } from './registries.ts';
import type { Sections } from './sections.ts';

const HERE: readonly PathSegment[] = ['containerRuntime', 'containerd', 'registries'];

/** What goes there leaves the machine for nobody to see. */
const LOOPBACK = /^http:\/\/(?:localhost|127\.[\d.]+|\[::1\])[:/]/;

/** What `containerRuntime.containerd` may ask for and will hurt. */
export function lintContainerd({ containerRuntime, host }: Sections): Finding[] {
  const registries = containerRuntime?.containerd?.registries ?? [];
  return [...credentialsInTheClear(registries), ...throughTheProxy(registries, host?.proxy)];
}

function credentialsInTheClear(registries: RegistriesSection): Finding[] {
  const judge = (endpoint: EndpointSection, url: string | undefined, path: readonly PathSegment[]): Finding[] => {
    if (endpoint.credentials === undefined || url?.startsWith('http://') !== true || LOOPBACK.test(url)) return [];
    const message = 'the password is sent unencrypted, with every request';
    return [{ path: [...path, 'credentials'], message, hint: 'give the mirror a certificate and write https://' }];
  };
  return registries.flatMap((registry, index) => [
    ...judge(registry, registry.server, [...HERE, index]),
    ...(registry.mirrors ?? []).flatMap((mirror, at) => judge(mirror, mirror.url, [...HERE, index, 'mirrors', at])),
  ]);
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
