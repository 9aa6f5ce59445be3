import type { DomainCredentials } from '@machineadm/document/model/index.ts';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';

/** A cause by its number; the reasons are those of the same causes on Linux (`features/active-directory/failures.ts`). */
interface KnownFailure {
  readonly reason: Reason;
  readonly summary: string;
  readonly remedy: string;
  readonly retryable?: true;
}

const NEVER_RETRIED =
  'machineadm does not retry: a few wrong passwords lock the account for all machines that join with it.';

const PASSWORD: KnownFailure = {
  reason: 'DomainCredentialsRejected',
  summary: 'The domain does not accept the account that joins, or its password.',
  remedy: `Correct host.activeDirectory.credentials. ${NEVER_RETRIED}`,
};
const ONE_TIME_PASSWORD: KnownFailure = {
  reason: 'OneTimePasswordRejected',
  summary: 'The domain does not accept the one-time password of this computer: it is wrong, or was used before.',
  remedy: 'Set a new one-time password for the account, and put that into the document.',
};
const DISABLED: KnownFailure = {
  reason: 'DomainAccountDisabled',
  summary: 'The account that joins is disabled, expired or locked out.',
  remedy: `Enable or unlock it in the domain, and find out what locked it. ${NEVER_RETRIED}`,
};
const EXPIRED: KnownFailure = {
  reason: 'DomainPasswordExpired',
  summary: 'The password of the account that joins expired, or must be changed at its next use.',
  remedy: 'Set a new password in the domain, without "must change at next logon".',
};
const UNREACHABLE: KnownFailure = {
  reason: 'DomainControllerUnreachable',
  summary: 'No domain controller answered all requests of the join.',
  remedy: 'Open TCP 88, 135, 389, 445, 464 and the dynamic RPC ports to the controllers of the domain, and run again.',
  retryable: true,
};
const NO_ACCOUNT: KnownFailure = {
  reason: 'ComputerAccountMissing',
  summary: 'The domain has no account for this computer.',
  remedy: 'Make it in the domain before, or check the name of the computer.',
};
const BAD_BLOB: KnownFailure = {
  reason: 'DomainJoinBlobInvalid',
  summary: 'Windows cannot read the offline join data.',
  remedy: 'Create it again (djoin /provision) and give its whole content.',
};
const BROKEN: KnownFailure = {
  reason: 'DomainJoinBroken',
  summary: 'The domain does not trust this computer: its password is different there, or its account no longer exists.',
  remedy:
    'Find out whether another machine has taken the name. If it has not, set host.activeDirectory.onBroken: Rejoin with an account that may reset the computer.',
};

/**
 * Numbers of Win32 and of network management ([MS-ERREF] 2.2, lmerr.h): what JoinDomainOrWorkgroup returns, and djoin and
 * nltest end with or print. They are the same in every language of Windows.
 */
const FAILURES: Readonly<Record<number, KnownFailure>> = {
  // ERROR_ACCESS_DENIED; ERROR_DS_MACHINE_ACCOUNT_QUOTA_EXCEEDED; ERROR_DS_INSUFF_ACCESS_RIGHTS
  ...same([5, 8557, 8344], {
    reason: 'DomainPermissionDenied',
    summary: 'The account that joins may not create or change this computer in the domain.',
    remedy:
      'Delegate the organizational unit to it (create computers, reset password, validated writes), or name the unit that is in host.activeDirectory.computerOU.',
  }),
  // ERROR_FILE_NOT_FOUND, ERROR_DS_NO_SUCH_OBJECT: the unit is looked up as an object of the directory
  ...same([2, 8240], {
    reason: 'OrganizationalUnitMissing',
    summary: 'The organizational unit of host.activeDirectory.computerOU does not exist.',
    remedy: 'Correct it, or make it in the domain.',
  }),
  // ERROR_INVALID_PARAMETER, ERROR_DS_INVALID_DN_SYNTAX
  ...same([87, 8242], {
    reason: 'OrganizationalUnitInvalid',
    summary: 'host.activeDirectory.computerOU is not a container for computers.',
    remedy: 'Use the distinguished name of an organizational unit, such as "OU=Nodes,DC=corp,DC=example,DC=com".',
  }),
  // ERROR_BAD_NETPATH, NETNAME_DELETED, SEM_TIMEOUT, NETWORK_UNREACHABLE, HOST_UNREACHABLE, NO_LOGON_SERVERS,
  // RPC_S_SERVER_UNAVAILABLE, RPC_S_CALL_FAILED, DS_SERVER_DOWN
  ...same([53, 64, 121, 1231, 1232, 1311, 1722, 1726, 8250], UNREACHABLE),
  // ERROR_NO_SUCH_DOMAIN
  1355: {
    reason: 'DomainNotFound',
    summary: 'Windows finds no controller of the domain.',
    remedy: "Check host.activeDirectory.domain, and that the network's DNS servers are those of the domain.",
  },
  // DNS_ERROR_RCODE_SERVER_FAILURE, DNS_ERROR_NO_DNS_SERVERS, ERROR_TIMEOUT of the locator
  ...same([9002, 9852, 1460], {
    reason: 'DomainNameServiceFailed',
    summary: 'No name server answered the query for the domain.',
    remedy: 'Check the DNS servers of this machine (Get-DnsClientServerAddress), and run again.',
    retryable: true,
  }),
  // ERROR_LOGON_FAILURE, INVALID_PASSWORD, NO_SUCH_USER, ACCOUNT_RESTRICTION, INVALID_LOGON_HOURS
  ...same([1326, 86, 1317, 1327, 1328], PASSWORD),
  // ERROR_PASSWORD_EXPIRED, PASSWORD_MUST_CHANGE, NERR_PasswordMustChange
  ...same([1330, 1907, 2701], EXPIRED),
  // ERROR_ACCOUNT_DISABLED, ACCOUNT_EXPIRED, ACCOUNT_LOCKED_OUT, NERR_AccountLockedOut
  ...same([1331, 1793, 1909, 2702], DISABLED),
  // ERROR_TIME_SKEW
  1398: {
    reason: 'DomainControllerClockSkew',
    summary: 'The clocks of this machine and of the domain are too far apart.',
    remedy: 'Set the clock first (host.time with the servers of the domain), then run again.',
    retryable: true,
  },
  // ERROR_NONE_MAPPED, NERR_ComputerAccountNotFound
  ...same([1332, 2697], NO_ACCOUNT),
  // ERROR_NO_TRUST_LSA_SECRET, NO_TRUST_SAM_ACCOUNT, TRUSTED_DOMAIN_FAILURE, TRUSTED_RELATIONSHIP_FAILURE, TRUST_FAILURE
  ...same([1786, 1787, 1788, 1789, 1790], BROKEN),
  // NERR_UserExists
  2224: {
    reason: 'ComputerAccountExists',
    summary: 'The domain has an account of this name already.',
    remedy: 'Delete it if no machine uses it, or give this machine another name.',
  },
  // NERR_AccountReuseBlockedByPolicy (KB5020276, "Netjoin: Domain join hardening changes")
  2732: {
    reason: 'ComputerAccountExists',
    summary: 'The domain has an account of this name already, and its policy does not let this account take it over.',
    remedy:
      'Join with the account that made it, have it made by an offline blob, or allow the owner in the domain ("Domain controller: Allow computer account re-use during domain join").',
  },
  // ERROR_INVALID_COMPUTERNAME, NERR_InvalidMachineNameForJoin
  ...same([1210, 2724], {
    reason: 'ComputerNameInvalid',
    summary: 'The domain does not accept the name of this machine for a computer.',
    remedy: 'Set host.hostname to another name: at most 15 letters, digits and "-".',
  }),
  // NERR_BadOfflineJoinInfo, NERR_CantCreateJoinInfo, NERR_BadDomainJoinInfo; ERROR_INVALID_DATA of djoin
  ...same([2710, 2711, 2712, 13], BAD_BLOB),
};

/** What was done when a number came: a secret was used, or the membership that there is was asked about. */
export type JoinContext = DomainCredentials['kind'] | 'channel';

/** What the same number means elsewhere than in a join with an account. */
const ELSEWHERE: Readonly<Record<JoinContext, Readonly<Record<number, KnownFailure>>>> = {
  account: {},
  // There is no account that joins but that of the computer.
  oneTimePassword: { ...same([5, 86, 1326], ONE_TIME_PASSWORD), 1317: NO_ACCOUNT },
  offlineBlob: same([2, 87], BAD_BLOB),
  // Netlogon logs in as the computer itself.
  channel: same([5, 86, 1317, 1326, 1331], BROKEN),
};

/**
 * What a number of Win32 means for a join.
 *
 * @param program who said it
 * @param code undefined where it gave no number
 */
export function windowsJoinFailure(
  program: string,
  code: number | undefined,
  context: JoinContext,
  evidence: readonly Evidence[] = [],
): MachineadmError {
  const known = code === undefined ? undefined : (ELSEWHERE[context][code] ?? FAILURES[code]);
  const number: Evidence = { source: program, text: code === undefined ? 'gave no error number' : `error ${code}` };
  if (known === undefined) {
    return new MachineadmError({
      reason: 'DomainJoinFailed',
      summary: `${program} could not make this machine a member of its domain.`,
      remedy: 'Read the evidence ("net helpmsg" explains a number), and C:\\Windows\\debug\\NetSetup.LOG.',
      evidence: [number, ...evidence],
    });
  }
  const { reason, summary, remedy, retryable = false } = known;
  const details = { reason, summary, remedy, retryable, evidence: [number, ...evidence] };
  return new MachineadmError({ ...details, exit: 'HostStepFailed' });
}

/**
 * What a controller says of a login over LDAP, whose own number is the same for all of them: AcceptSecurityContext's
 * `data`, a number of Win32 in hexadecimal (Microsoft Learn, "LDAP bind errors").
 */
export function loginFailureCode(code: number, detail: string): number {
  const data = /\bdata ([0-9a-f]+)\b/i.exec(detail)?.[1];
  return data === undefined || data === '0' ? code : Number.parseInt(data, 16);
}

export function windowsJoinTimedOut(program: string): MachineadmError {
  return new MachineadmError({
    reason: 'DomainJoinTimedOut',
    summary: `${program} timed out and was killed: a domain controller stopped answering.`,
    remedy: 'Check the route to the controllers of the domain, and run again: the join resumes.',
    retryable: true,
  });
}

function same(codes: readonly number[], failure: KnownFailure): Readonly<Record<number, KnownFailure>> {
  return Object.fromEntries(codes.map((code) => [code, failure]));
}
