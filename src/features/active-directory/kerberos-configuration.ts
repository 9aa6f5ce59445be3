/**
 * krb5.conf(5) for one domain. Only AES is enabled before the join: adcli writes a key of every permitted type into the
 * keytab and msDS-SupportedEncryptionTypes, including arcfour-hmac by default. Controllers are found by DNS. TCP is
 * used from the start, because a ticket with a PAC seldom fits into a datagram. Reverse lookups must not decide a
 * server's identity.
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
