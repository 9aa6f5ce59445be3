import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import { repeated } from '../../fields/repeated.ts';
import {
  type EndpointSection,
  NOT_DOCKER_HUB,
  OF_THE_SERVER,
  type RegistriesSection,
  type RegistrySection,
} from './registries.ts';

const HERE: readonly PathSegment[] = ['containerRuntime', 'containerd', 'registries'];

/** What containerd would ignore or misunderstand in a hosts.toml: it says so in its log only, and asks the registry. */
export function checkRegistries(registries: RegistriesSection): Finding[] {
  const twice = repeated(registries.map(({ host }) => host));
  return registries.flatMap((registry, index) => {
    const path = [...HERE, index];
    return [
      ...checkHost(registry, path),
      ...earlier(twice, index).map((first): Finding => {
        const message = `${registry.host} is already`;
        return {
          code: 'Duplicate',
          path: [...path, 'host'],
          message,
          other: [...HERE, first],
          hint: 'list its mirrors in one entry',
        };
      }),
      ...checkServer(registry, path),
      ...checkEndpoint(registry, registry.server ?? 'https://', path),
      ...checkMirrors(registry, path),
      ...checkVerify(registry, path),
    ];
  });
}

/** Index of an earlier equal. */
function earlier(twice: ReadonlyMap<number, number>, index: number): readonly number[] {
  const first = twice.get(index);
  return first === undefined ? [] : [first];
}

/** distribution/reference: what is looked up is the name in the image reference, and Docker Hub has but one. */
function checkHost({ host }: RegistrySection, path: readonly PathSegment[]): Finding[] {
  if (!NOT_DOCKER_HUB.test(host)) return [];
  const message = 'no image name begins with this, so the entry would never be used';
  return [{ path: [...path, 'host'], message, hint: 'the name of Docker Hub is docker.io' }];
}

function checkServer(registry: RegistrySection, path: readonly PathSegment[]): Finding[] {
  const { host, mirrors = [], fallback, server } = registry;
  const given = OF_THE_SERVER.filter((key) => registry[key] !== undefined);
  if (fallback === false) {
    if (mirrors.length === 0) {
      return [
        {
          path: [...path, 'fallback'],
          message: 'without mirrors there is no server to pull from',
          hint: 'add mirrors',
        },
      ];
    }
    return given.map((key) => {
      const message = `${key} is for the registry itself, which fallback: false excludes`;
      return { path: [...path, key], message, hint: 'keep one of them' };
    });
  }
  if (mirrors.length > 0) return [];
  if (given.length === 0) {
    return [{ path, message: 'configures nothing for this registry', hint: 'add mirrors, or what its server needs' }];
  }
  if (host === '_default' && server === undefined) {
    const hint = 'add mirrors, or one server for all of them';
    return [{ path, message: '_default is not a server', hint }];
  }
  return [];
}

function checkMirrors({ mirrors = [], fallback }: RegistrySection, path: readonly PathSegment[]): Finding[] {
  const twice = repeated(mirrors.map(({ url }) => url));
  const findings = mirrors.flatMap((mirror, index) => {
    const here = [...path, 'mirrors', index];
    return [
      ...earlier(twice, index).map((first): Finding => {
        const other = [...path, 'mirrors', first];
        return {
          code: 'Duplicate',
          path: [...here, 'url'],
          message: `${mirror.url} is already`,
          other,
          hint: 'keep one of them',
        };
      }),
      ...checkEndpoint(mirror, mirror.url, here),
    ];
  });
  const serves = mirrors.some(
    ({ capabilities = ['pull', 'resolve'] }) => capabilities.includes('pull') && capabilities.includes('resolve'),
  );
  if (fallback === false && mirrors.length > 0 && !serves) {
    const message = 'no mirror may both resolve and pull, and the registry itself is not used';
    findings.push({ path: [...path, 'mirrors'], message, hint: 'give one the capabilities [pull, resolve]' });
  }
  return findings;
}

function checkEndpoint(endpoint: EndpointSection, url: string, path: readonly PathSegment[]): Finding[] {
  const findings: Finding[] = [];
  const { ca, skipVerify, clientCertificate, credentials, headers = {} } = endpoint;
  if (url.startsWith('http://')) {
    // containerd core/remotes/docker/config/hosts.go: with TLS settings http:// is tried as https first.
    for (const key of ['ca', 'clientCertificate', 'skipVerify'] as const) {
      if (endpoint[key] === undefined) continue;
      findings.push({ path: [...path, key], message: 'is about TLS, and the URL is http', hint: 'write https://' });
    }
  }
  if (skipVerify === true && ca !== undefined) {
    findings.push({ path: [...path, 'skipVerify'], message: 'makes ca meaningless', hint: 'keep one of them' });
  }
  if (credentials !== undefined && Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')) {
    const message = 'headers has an Authorization, which credentials also set';
    findings.push({ path: [...path, 'credentials'], message, hint: 'keep one of them' });
  }
  if (clientCertificate !== undefined && typeof clientCertificate.key === 'string') {
    if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(clientCertificate.key)) {
      findings.push({ path: [...path, 'clientCertificate', 'key'], message: 'not a PEM private key' });
    }
  }
  return findings;
}

/** distribution/reference, ParseNormalizedNamed: the first part is a registry when it has a dot or a port, or is localhost. */
function checkVerify({ host, verify }: RegistrySection, path: readonly PathSegment[]): Finding[] {
  if (verify === undefined || host === '_default') return [];
  const first = verify.includes('/') ? verify.slice(0, verify.indexOf('/')) : '';
  const registry = /[.:]/.test(first) || first === 'localhost' ? first : 'docker.io';
  if (registry === host) return [];
  const message = `is an image of ${registry}, so it proves nothing about ${host}`;
  return [{ path: [...path, 'verify'], message, hint: `write an image of ${host}` }];
}

/** What of a proxy decides who is asked through it. */
interface ProxySection {
  readonly for?: readonly string[] | undefined;
  readonly no?: readonly string[] | undefined;
}

/** containerd asks mirrors through its proxy, too; a subnet in NO_PROXY does not match a name (x/net/http/httpproxy). */
export function lintRegistries(registries: RegistriesSection, proxy: ProxySection | undefined): Finding[] {
  if (proxy === undefined || proxy.for?.includes('containerd') === false) return [];
  const direct = proxy.no ?? [];
  return registries.flatMap(({ mirrors = [] }, index) =>
    mirrors.flatMap(({ url }, at): Finding[] => {
      const name = URL.canParse(url) ? new URL(url).hostname : '';
      // Addresses may be in a subnet; only names are checked.
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
