import type { DirectoryLoginsModel } from '@machineadm/document/model/index.ts';
import { SSSD_CONFIGURATION_PATH } from '@machineadm/document/ownership/paths.ts';
import { trimmedEnd } from '@machineadm/document/text/trim.ts';
import type { DomainMembership } from '../membership.ts';

/** sssd exits with status 4 if its configuration is readable by other users. */
export const SSSD_CONFIGURATION = { path: SSSD_CONFIGURATION_PATH, mode: 0o600 } as const;

/** The first line of our file. */
export const SSSD_HEADING = '# Written by machineadm: its document names who may log in.';

/** The databases that sssd answers for. */
const DATABASES = ['passwd', 'group', 'shadow'];

export interface LoginsDesired extends DirectoryLoginsModel {
  readonly membership: DomainMembership;
}

/** A group of the domain as NSS and PAM name it: `node-admins@corp.example.com`. */
export function qualifiedGroups({ allowedGroups, membership }: LoginsDesired): readonly string[] {
  return allowedGroups.map((group) => `${group}@${membership.domain}`);
}

/**
 * sssd.conf(5), sssd-ad(5), sssd-simple(5). Users in none of the groups are known to the system, but may not log in.
 */
export function sssdConfiguration(desired: LoginsDesired): string {
  const { domain, realm, fqdn, keytab, computerName, registersAddress } = desired.membership;
  return `${SSSD_HEADING}
[sssd]
config_file_version = 2
services = nss, pam
domains = ${domain}

[domain/${domain}]
id_provider = ad
auth_provider = ad
access_provider = simple
simple_allow_groups = ${qualifiedGroups(desired).join(', ')}
ad_domain = ${domain}
ad_hostname = ${fqdn}
krb5_realm = ${realm}
krb5_keytab = ${keytab}
ldap_krb5_keytab = ${keytab}
ldap_sasl_authid = ${computerName}$@${realm}
ldap_id_mapping = true
use_fully_qualified_names = true
fallback_homedir = /home/%u@%d
default_shell = /bin/bash
cache_credentials = true
dyndns_update = ${registersAddress}
# adcli renews the password of the computer for sssd, and keeps the keys of the one before.
ad_maximum_machine_account_password_age = 30
`;
}

/** nsswitch.conf(5) with sss after the existing sources of each database. */
export function withDirectory(text: string): string {
  const lines = text.split('\n');
  const missing: string[] = [];
  for (const database of DATABASES) {
    const at = lines.findIndex((line) => line.startsWith(`${database}:`));
    const [line = '', comment = ''] = (lines[at] ?? '').split(/(?=#)/);
    if (at < 0) missing.push(`${database}: files sss`);
    else if (!/\ssss(?:\s|$)/.test(line)) lines[at] = `${line.trimEnd()} sss${comment === '' ? '' : ` ${comment}`}`;
  }
  if (missing.length === 0) return lines.join('\n');
  return `${trimmedEnd(lines.join('\n'), '\n')}\n${missing.join('\n')}\n`.replace(/^\n+/, '');
}
