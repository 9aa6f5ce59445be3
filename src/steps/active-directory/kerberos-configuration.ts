import { KERBEROS_CONFIGURATION, ORIGINAL_SUFFIX } from '@machineadm/document/ownership/paths.ts';

export { KERBEROS_CONFIGURATION };

/** What was there before; a reset puts it back. */
export const KERBEROS_ORIGINAL = `${KERBEROS_CONFIGURATION}${ORIGINAL_SUFFIX}`;

/**
 * krb5.conf(5) for one domain. AES alone is named before the join: adcli writes a key of every permitted type into the
 * keytab and msDS-SupportedEncryptionTypes, arcfour-hmac among them by default. Controllers are found by DNS; TCP from
 * the first, since a ticket with a PAC seldom fits into a datagram; and no reverse lookup may decide who a server is.
 */
export function kerberosConfiguration(domain: string): string {
  const realm = domain.toUpperCase();
  return `# Written by machineadm: its document names the domain of this machine.
[libdefaults]
  default_realm = ${realm}
  dns_lookup_kdc = true
  dns_lookup_realm = false
  rdns = false
  udp_preference_limit = 0
  permitted_enctypes = aes256-cts-hmac-sha1-96 aes128-cts-hmac-sha1-96

[domain_realm]
  .${domain} = ${realm}
  ${domain} = ${realm}
`;
}
