/**
 * The full form of an image reference as runtimes store it: `pause` is `docker.io/library/pause:latest`; with tag and
 * digest the digest counts (distribution/reference normalize.go, containerd docker.ParseDockerRef). A bare `sha256:…`
 * is an image id and stays as it is.
 */
export function fullReference(reference: string): string {
  if (/^sha256:[0-9a-f]{64}$/.test(reference)) return reference;
  const [name = '', digest] = reference.split('@', 2);
  const slash = name.lastIndexOf('/');
  const colon = name.indexOf(':', slash + 1);
  const repository = fullRepository(colon === -1 ? name : name.slice(0, colon));
  if (digest !== undefined) return `${repository}@${digest}`;
  return `${repository}:${colon === -1 ? 'latest' : name.slice(colon + 1)}`;
}

function fullRepository(name: string): string {
  const slash = name.indexOf('/');
  const first = slash === -1 ? '' : name.slice(0, slash);
  const isDomain = /[.:]/.test(first) || first === 'localhost' || first !== first.toLowerCase();
  const [domain, path] = isDomain ? [first, name.slice(slash + 1)] : ['docker.io', name];
  if (domain !== 'docker.io' && domain !== 'index.docker.io') return `${domain}/${path}`;
  return `docker.io/${path.includes('/') ? path : `library/${path}`}`;
}
