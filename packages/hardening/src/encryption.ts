/** Providers that encrypt as CIS 1.2.28 wants it (k/k staging/src/k8s.io/apiserver/pkg/server/options/encryptionconfig). */
const ENCRYPTING = ['aescbc', 'secretbox', 'kms'];

/** True where these resources hold the Secrets. */
export function holdsSecrets(resources: readonly unknown[]): boolean {
  return resources.some((name) => ['secrets', '*.', '*.*'].includes(typeof name === 'string' ? name : ''));
}

/** True where Secrets are written encrypted: the first provider writes, all read. */
export function writesEncrypted(resources: readonly unknown[], firstProvider: string | undefined): boolean {
  return holdsSecrets(resources) && firstProvider !== undefined && ENCRYPTING.includes(firstProvider);
}
