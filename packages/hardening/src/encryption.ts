/** Providers that satisfy CIS 1.2.28 (k/k staging/src/k8s.io/apiserver/pkg/server/options/encryptionconfig). */
const ENCRYPTING = ['aescbc', 'secretbox', 'kms'];

/** True where these resources include the Secrets. */
export function holdsSecrets(resources: readonly unknown[]): boolean {
  return resources.some((name) => ['secrets', '*.', '*.*'].includes(typeof name === 'string' ? name : ''));
}

/** True where Secrets are written encrypted: the first provider writes, all can read. */
export function writesEncrypted(resources: readonly unknown[], firstProvider: string | undefined): boolean {
  return holdsSecrets(resources) && firstProvider !== undefined && ENCRYPTING.includes(firstProvider);
}
