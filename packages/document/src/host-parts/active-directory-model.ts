import type { SecretValue } from '../secrets/secret.ts';

/** The Active Directory domain that the machine is a member of. */
export interface ActiveDirectoryModel {
  /** DNS name, lower case. The Kerberos realm is the same in upper case. */
  readonly domain: string;
  /** undefined: the first label of the host name. */
  readonly computerName: string | undefined;
  /** Distinguished name; undefined: the domain's own place for new computers. */
  readonly computerOU: string | undefined;
  readonly credentials: DomainCredentials;
  /** undefined: one that DNS names. */
  readonly domainController: string | undefined;
  /** True: an account of this name that is there may be taken over. */
  readonly accountReuse: boolean;
  /** What is done where the domain no longer accepts the keys of this machine. */
  readonly onBroken: 'Fail' | 'Rejoin';
  /** Whether a reset removes the keys of the computer from this machine. */
  readonly onReset: 'Keep' | 'Leave';
  readonly keytab: string;
  /** Service classes, beside `host`: `HTTP`, `nfs`. */
  readonly servicePrincipals: readonly string[];
  /** Whether /etc/krb5.conf is written. */
  readonly kerberosConfiguration: 'Managed' | 'Unmanaged';
  /** Whether the address of the machine is registered in the DNS of the domain. */
  readonly registersAddress: boolean;
  /** undefined: users of the domain do not log in. */
  readonly logins: DirectoryLoginsModel | undefined;
  readonly timeoutMs: number;
}

/** Logins of the domain's users, with sssd. */
export interface DirectoryLoginsModel {
  /** Names of groups without their domain; at least one. */
  readonly allowedGroups: readonly string[];
  /** Whether a first login makes the home directory. */
  readonly createsHomes: boolean;
}

/** The one secret that the machine joins with, the safest first. */
export type DomainCredentials =
  /** What `djoin` or `net offlinejoin provision` made: it holds the password of the computer. */
  | { readonly kind: 'offlineBlob'; readonly blob: SecretValue }
  /** The password that a preset computer account was given; spent with its first use. */
  | { readonly kind: 'oneTimePassword'; readonly password: SecretValue }
  /** An account that may make computers. `user` without its realm. */
  | { readonly kind: 'account'; readonly user: string; readonly password: SecretValue };
