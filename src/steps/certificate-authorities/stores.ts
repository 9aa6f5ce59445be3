import type { QueryHost } from '../../host/host.ts';

/** Where an operating system takes added authorities from, and what makes its bundle of them. */
export interface TrustStore {
  /** For people. */
  readonly kind: string;
  /** One certificate a file. */
  readonly directory: string;
  /** With which it must end to be looked at. */
  readonly extension: '.crt' | '.pem';
  readonly rebuild: { readonly program: string; readonly args: readonly string[] };
  /** What programs read; made by `rebuild`. */
  readonly bundle: string;
}

/** SUSE: update-ca-certificates(8) of openSUSE's ca-certificates, over p11-kit. */
const SUSE: TrustStore = {
  kind: 'SUSE',
  directory: '/etc/pki/trust/anchors',
  extension: '.pem',
  rebuild: { program: 'update-ca-certificates', args: [] },
  bundle: '/var/lib/ca-certificates/ca-bundle.pem',
};

/** RHEL, Fedora, Amazon Linux and kin: update-ca-trust(8). */
const RED_HAT: TrustStore = {
  kind: 'Red Hat',
  directory: '/etc/pki/ca-trust/source/anchors',
  extension: '.pem',
  rebuild: { program: 'update-ca-trust', args: ['extract'] },
  bundle: '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
};

/** Flatcar: its update-ca-certificates collects what lies in /etc/ssl/certs itself (flatcar docs, adding certificate authorities). */
const FLATCAR: TrustStore = {
  kind: 'Flatcar',
  directory: '/etc/ssl/certs',
  extension: '.pem',
  rebuild: { program: 'update-ca-certificates', args: [] },
  bundle: '/etc/ssl/certs/ca-certificates.crt',
};

/**
 * Debian and Ubuntu: update-ca-certificates(8); Alpine's program of that name takes the same directory, bundle and option.
 * Without --fresh, links to what was removed stay until something is added.
 */
const DEBIAN: TrustStore = {
  kind: 'Debian',
  directory: '/usr/local/share/ca-certificates',
  extension: '.crt',
  rebuild: { program: 'update-ca-certificates', args: ['--fresh'] },
  bundle: '/etc/ssl/certs/ca-certificates.crt',
};

/**
 * The store of this machine, by what is installed and not by its name, so that derivatives are known, too; only Flatcar
 * looks like Debian and is not. undefined: no program is installed that makes a bundle.
 */
export async function trustStoreOf(
  host: Pick<QueryHost, 'which' | 'stat'>,
  osId: string,
): Promise<TrustStore | undefined> {
  const isDirectory = async (path: string) => (await host.stat(path))?.type === 'directory';
  const candidates = [
    ...((await isDirectory('/etc/pki/trust/anchors')) ? [SUSE] : []),
    ...((await isDirectory('/etc/pki/ca-trust/source')) ? [RED_HAT] : []),
    osId === 'flatcar' ? FLATCAR : DEBIAN,
  ];
  for (const store of candidates) if ((await host.which(store.rebuild.program)) !== undefined) return store;
  return undefined;
}
