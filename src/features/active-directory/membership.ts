import type { ActiveDirectoryModel, Model } from '@machineadm/document/model/index.ts';
import type { Facts } from '../../host/seam/facts.ts';

/** The membership that a document requires, with this machine's names in its domain. */
export interface DomainMembership extends ActiveDirectoryModel {
  readonly computerName: string;
  /** Of the realm, as Kerberos writes it: upper case. */
  readonly realm: string;
  /** `node-1.corp.example.com`. */
  readonly fqdn: string;
  /** The account's description of the system, for administrators of the directory. */
  readonly os: Facts['os'];
}

export function membershipOf(model: Model, facts: Facts): DomainMembership | undefined {
  const { activeDirectory, hostname } = model.host;
  if (activeDirectory === undefined) return undefined;
  const { domain } = activeDirectory;
  const [label = ''] = (hostname ?? facts.hostname).split('.');
  return {
    ...activeDirectory,
    computerName: activeDirectory.computerName ?? label.toUpperCase(),
    realm: domain.toUpperCase(),
    fqdn: `${label.toLowerCase()}.${domain}`,
    os: facts.os,
  };
}

/** The principal of the computer itself. */
export function computerPrincipal({ computerName, realm }: DomainMembership): string {
  return `${computerName}$@${realm}`;
}

export function servicePrincipals({ servicePrincipals: services, fqdn, realm }: DomainMembership): readonly string[] {
  return services.map((service) => `${service}/${fqdn}@${realm}`);
}
