import type { ActiveDirectoryModel, DomainCredentials } from '../../model.ts';
import type { ActiveDirectorySection } from './active-directory.ts';
import { milliseconds, type ResolveSecret } from './convert-values.ts';

const DEFAULT_TIMEOUT_MS = 60_000;
const PATH = 'host.activeDirectory.credentials';

export function toActiveDirectory(
  section: ActiveDirectorySection | undefined,
  resolve: ResolveSecret,
): ActiveDirectoryModel | undefined {
  if (section === undefined) return undefined;
  return {
    domain: section.domain.toLowerCase(),
    computerName: section.computerName?.toUpperCase(),
    computerOU: section.computerOU,
    credentials: toCredentials(section.credentials, resolve),
    domainController: section.domainController,
    accountReuse: section.accountReuse ?? false,
    onBroken: section.onBroken ?? 'Fail',
    onReset: section.onReset ?? 'Keep',
    keytab: section.keytab ?? '/etc/krb5.keytab',
    servicePrincipals: [...new Set(section.servicePrincipals ?? [])],
    kerberosConfiguration: section.kerberos?.configuration ?? 'Managed',
    registersAddress: section.registerAddress ?? false,
    logins: section.logins && {
      allowedGroups: [...new Set(section.logins.allowedGroups)],
      createsHomes: section.logins.homeDirectories === 'Create',
    },
    timeoutMs: milliseconds(section.timeout) ?? DEFAULT_TIMEOUT_MS,
  };
}

function toCredentials(section: ActiveDirectorySection['credentials'], resolve: ResolveSecret): DomainCredentials {
  if ('offlineBlob' in section) {
    return { kind: 'offlineBlob', blob: resolve(section.offlineBlob, `${PATH}.offlineBlob`) };
  }
  if ('oneTimePassword' in section) {
    return { kind: 'oneTimePassword', password: resolve(section.oneTimePassword, `${PATH}.oneTimePassword`) };
  }
  return { kind: 'account', user: section.user, password: resolve(section.password, `${PATH}.password`) };
}
