import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import type { CommandResult } from '../../host/seam/host.ts';

/** A cause that the tools print on standard error, under LC_ALL=C. */
export interface JoinFailure {
  readonly reason: Reason;
  readonly pattern: RegExp;
  readonly summary: string;
  readonly remedy: string;
  readonly retryable?: true;
  /** An observed line, of adcli 0.9.1 and 0.9.2 or Samba 4.17. */
  readonly example: string;
}

const NEVER_RETRIED =
  'machineadm does not retry: a few wrong passwords lock the account for all machines that join with it.';

/**
 * The first match is the cause. Exit codes do not help: adcli exits with 3 for nearly all errors of Kerberos and net
 * with 255 for everything. The text after a colon comes from the server and differs, so only adcli's own text is
 * matched.
 */
export const JOIN_FAILURES: readonly JoinFailure[] = [
  {
    reason: 'OneTimePasswordRejected',
    pattern: /Couldn't authenticate as machine account: \S+: Preauthentication failed/,
    summary: 'The domain does not accept the one-time password of this computer: it is wrong, or was used before.',
    remedy:
      'Preset the account again (adcli preset-computer) with a new one-time password, and put that into the document.',
    example:
      "adcli: couldn't connect to corp.example.test domain: Couldn't authenticate as machine account: A2: Preauthentication failed",
  },
  {
    reason: 'ComputerAccountMissing',
    pattern: /Client '[^\s$]+\$@\S+' not found in Kerberos database/,
    summary: 'The domain has no account for this computer.',
    remedy: 'Preset it (adcli preset-computer), or check the name of the computer.',
    example: "adcli: couldn't connect: Client 'A3$@CORP.EXAMPLE.TEST' not found in Kerberos database",
  },
  {
    reason: 'DomainCredentialsRejected',
    pattern: /Preauthentication failed|attempted logon is invalid/,
    summary: 'The domain does not accept the password of the account that joins.',
    remedy: `Correct the password. ${NEVER_RETRIED}`,
    example: "adcli: couldn't connect: Couldn't authenticate as: joiner@CORP.EXAMPLE.TEST: Preauthentication failed",
  },
  {
    reason: 'DomainCredentialsRejected',
    pattern: /Client '\S+' not found in Kerberos database/,
    summary: 'The domain does not know the account that joins.',
    remedy: 'Correct host.activeDirectory.credentials.user.',
    example:
      "Couldn't authenticate as: ghost@CORP.EXAMPLE.TEST: Client 'ghost@CORP.EXAMPLE.TEST' not found in Kerberos database",
  },
  {
    reason: 'DomainAccountDisabled',
    pattern: /credentials have been revoked|account is currently disabled/,
    summary: 'The account that joins is disabled or locked out.',
    remedy: `Enable or unlock it in the domain, and find out what locked it. ${NEVER_RETRIED}`,
    example: "Couldn't authenticate as: disabled@CORP.EXAMPLE.TEST: Client's credentials have been revoked",
  },
  {
    reason: 'DomainPasswordExpired',
    // MIT krb5 prompts for a new password, and adcli has none.
    pattern: /New password cannot be zero length|Password has expired|password must be changed/i,
    summary: 'The password of the account that joins expired, or must be changed at its next use.',
    remedy: 'Set a new password in the domain, without "must change at next logon".',
    example: "Couldn't authenticate as: expired@CORP.EXAMPLE.TEST: New password cannot be zero length",
  },
  {
    reason: 'DomainControllerClockSkew',
    pattern: /Clock skew too great/,
    summary: 'The clocks of this machine and of the domain are too far apart.',
    remedy: 'Set the clock first (host.time with the servers of the domain), then run again.',
    retryable: true,
    example: "Couldn't authenticate as: joiner@CORP.EXAMPLE.TEST: Clock skew too great",
  },
  {
    reason: 'ServicePrincipalConflict',
    // adcli reports this as insufficient permissions.
    pattern: /spn\[[^[\]]*\] would cause a conflict/,
    summary: 'A service principal of this computer belongs to another account of the domain.',
    remedy: 'Find it (setspn -Q, or ldapsearch on servicePrincipalName) and remove it there, or choose another name.',
    example:
      'Insufficient permissions to modify computer account: CN=B2,CN=Computers,DC=c: spn[host/a.c] would cause a conflict',
  },
  {
    reason: 'DomainPermissionDenied',
    pattern: /Insufficient permissions to modify computer account|Cannot set computer password: Access denied/,
    summary: 'The account that joins may not create or change this computer in the domain.',
    remedy:
      'Delegate the organizational unit to it (create computers, reset password, validated writes), or name the unit that is in host.activeDirectory.computerOU.',
    example: 'Insufficient permissions to modify computer account: CN=B1,CN=Computers,DC=c: acl: unable to get access',
  },
  {
    reason: 'OrganizationalUnitMissing',
    pattern: /The organizational unit does not exist/,
    summary: 'The organizational unit of host.activeDirectory.computerOU does not exist.',
    remedy: 'Correct it, or make it in the domain.',
    example: 'adcli: joining domain failed: The organizational unit does not exist: OU=Nowhere,DC=corp,DC=example',
  },
  {
    reason: 'OrganizationalUnitInvalid',
    pattern: /Couldn't lookup computer container|structural objectClass computer is not a valid child class/,
    summary: 'host.activeDirectory.computerOU is not a container for computers.',
    remedy: 'Use the distinguished name of an organizational unit, such as "OU=Nodes,DC=corp,DC=example,DC=com".',
    example: "adcli: joining domain failed: Couldn't lookup computer container: Nodes: 0000208F: Invalid DN",
  },
  {
    reason: 'ComputerAccountExists',
    pattern: /already exists, but is not in the desired organizational unit|The computer account \S+ already exists/,
    summary: 'The domain has an account of this name already, in another place.',
    remedy: 'Delete or move it if no machine uses it, or give this machine another name (computerName).',
    example: 'The computer account B2 already exists, but is not in the desired organizational unit.',
  },
  {
    reason: 'KeytabNotWritten',
    pattern: /Couldn't (?:add keytab entries|open keytab)/,
    summary: 'The keys of this computer could not be written to the keytab. The domain has new ones now.',
    remedy: 'Make its directory writable, and run again with onBroken: Rejoin if a keytab was there before.',
    example: "Couldn't add keytab entries: FILE:/no/such/krb5.keytab: Key table file not found",
  },
  {
    reason: 'DomainTLSUntrusted',
    pattern: /Couldn't initialize TLS/,
    summary: "The certificate of the domain's controller is not trusted.",
    remedy: 'Add its authority to host.certificateAuthorities.',
    example: "Couldn't initialize TLS [Connect error] on: ldaps://dc1",
  },
  {
    reason: 'DomainControllerUnreachable',
    pattern: /Cannot contact any KDC|Couldn't connect to host|Couldn't find usable domain controller|failed to find DC/,
    summary: 'No domain controller answered all requests of the join.',
    remedy: 'Open TCP 88, 389, 464 and 445 to the controllers of the domain, and run again: the join resumes.',
    retryable: true,
    example: "Couldn't set password for computer account: A1$: Cannot contact any KDC for requested realm",
  },
  {
    reason: 'DomainNameServiceFailed',
    pattern: /Couldn't resolve host name/,
    summary: 'The name of a controller of the domain could not be looked up.',
    remedy: 'Check /etc/resolv.conf, and run again.',
    retryable: true,
    example: "Couldn't resolve host name: dc1.corp.example.test: Temporary failure in name resolution",
  },
  {
    reason: 'DomainJoinBlobInvalid',
    pattern: /DOS code 0x00000a96|NERR_JoinPerformedMustRestart|failed to parse ODJ/i,
    summary: 'Samba cannot read the offline join data.',
    remedy: 'Create it again (djoin /provision, or net offlinejoin provision) and give its whole content.',
    example: 'Failed to call NetRequestOfflineDomainJoin: DOS code 0x00000a96',
  },
];

/** The meaning of a join tool's failure. The last lines of its standard error are the evidence. */
export function joinFailure(program: string, result: CommandResult): MachineadmError {
  const lines = textLines(result.stdout, result.stderr);
  const known = JOIN_FAILURES.find(({ pattern }) => lines.some((line) => pattern.test(line)));
  const telling = known === undefined ? lines.slice(-3) : lines.filter((line) => known.pattern.test(line)).slice(-1);
  const evidence: Evidence[] = telling.map((text) => ({ source: program, text: text.trim() }));
  if (result.timedOut) return timedOut(program, evidence);
  if (known === undefined) {
    return new MachineadmError({
      reason: 'DomainJoinFailed',
      summary: `${program} could not make this machine a member of its domain (status ${result.status}).`,
      remedy: 'Read the evidence, and the log of the domain controller at this time.',
      evidence,
    });
  }
  const { reason, summary, remedy, retryable = false } = known;
  return new MachineadmError({ reason, summary, remedy, evidence, retryable });
}

/** adcli has no timeout of its own for LDAP over TCP. */
function timedOut(program: string, evidence: readonly Evidence[]): MachineadmError {
  return new MachineadmError({
    reason: 'DomainJoinTimedOut',
    summary: `${program} timed out and was killed: a domain controller stopped answering.`,
    remedy: 'Check the route to the controllers of the domain, and run again: the join resumes.',
    evidence,
    retryable: true,
  });
}
