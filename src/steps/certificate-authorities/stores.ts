import { TRUST_STORES } from '@machineadm/document/ownership/paths.ts';
import type { QueryHost } from '../../host/seam/host.ts';

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
  ...TRUST_STORES.suse,
  extension: '.pem',
  rebuild: { program: 'update-ca-certificates', args: [] },
};

/** RHEL, Fedora, Amazon Linux and kin: update-ca-trust(8). */
const RED_HAT: TrustStore = {
  kind: 'Red Hat',
  ...TRUST_STORES.redHat,
  extension: '.pem',
  rebuild: { program: 'update-ca-trust', args: ['extract'] },
};

/** Flatcar: its update-ca-certificates collects what lies in /etc/ssl/certs itself (flatcar docs, adding certificate authorities). */
const FLATCAR: TrustStore = {
  kind: 'Flatcar',
  ...TRUST_STORES.flatcar,
  extension: '.pem',
  rebuild: { program: 'update-ca-certificates', args: [] },
};

/**
 * Debian and Ubuntu: update-ca-certificates(8); Alpine's program of that name takes the same directory, bundle and option.
 * Without --fresh, links to what was removed stay until something is added.
 */
const DEBIAN: TrustStore = {
  kind: 'Debian',
  ...TRUST_STORES.debian,
  extension: '.crt',
  rebuild: { program: 'update-ca-certificates', args: ['--fresh'] },
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
    ...((await isDirectory(SUSE.directory)) ? [SUSE] : []),
    ...((await isDirectory('/etc/pki/ca-trust/source')) ? [RED_HAT] : []),
    osId === 'flatcar' ? FLATCAR : DEBIAN,
  ];
  for (const store of candidates) if ((await host.which(store.rebuild.program)) !== undefined) return store;
  return undefined;
}
