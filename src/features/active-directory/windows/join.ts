import { setTimeout as pause } from 'node:timers/promises';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import { member, number, text } from '@machineadm/document/values/untyped.ts';
import type { Host, QueryHost } from '../../../host/seam/host.ts';
import { logTail } from '../../../host/services/log.ts';
import {
  FIND_COMPUTER,
  JOIN_DOMAIN,
  REPAIR_SECURE_CHANNEL,
  TEST_SECURE_CHANNEL,
} from '../../../host/windows/domain-scripts.ts';
import { OWN_DIRECTORY, SYSTEM_ROOT } from '../../../host/windows/paths.ts';
import { askScript, readAnswer, scriptInput, type WindowsScript } from '../../../host/windows/powershell.ts';
import type { Execution } from '../../../step/index.ts';
import { readBlob } from '../blob.ts';
import {
  accountJoin,
  type FoundController,
  type JoinRequest,
  offlineJoin,
  oneTimeJoin,
  principalOf,
  readVerification,
  verifyChannel,
} from './commands.ts';
import { type JoinContext, loginFailureCode, windowsJoinFailure, windowsJoinTimedOut } from './failures.ts';
import type { WindowsMembership } from './membership.ts';

/** The path of a blob while djoin reads it; closed like all of the directory. */
export const BLOB_FILE = `${OWN_DIRECTORY}\\domain-join-blob`;
/** What Windows itself writes about joins: no secret, but what failed and with which number. */
const NETSETUP_LOG = `${SYSTEM_ROOT}\\debug\\NetSetup.LOG`;
const NETSETUP_TAIL_BYTES = 32 * 1024;
const NETSETUP_LINES = 4;
const SHORT_TIMEOUT_MS = 30_000;

/** How long Netlogon has, after a boot, to make its channel; and how often it is asked. */
export interface ChannelPatience {
  readonly withinMs: number;
  readonly everyMs: number;
}
export const CHANNEL_PATIENCE: ChannelPatience = { withinMs: 300_000, everyMs: 5_000 };

/**
 * Refuses to take over an account that is there: Windows does it where the account that joins may, and the machine that
 * had it is out. Throws `ComputerAccountExists`, and what is wrong with the account that joins.
 */
export async function refuseExisting(
  host: Host,
  { domain, computerName }: WindowsMembership,
  controller: FoundController,
  { user, password }: { readonly user: string; readonly password: string },
  signal: AbortSignal,
): Promise<void> {
  const options = { signal, timeoutMs: SHORT_TIMEOUT_MS, context: 'account' } as const;
  const answer = await answered(host, FIND_COMPUTER, options, {
    path: `LDAP://${controller.name}`,
    user: principalOf(user, domain),
    password,
    filter: `(&(objectCategory=computer)(sAMAccountName=${computerName}$))`,
  });
  const code = number(member(answer, 'code'));
  if (code !== 0) {
    const detail = text(member(answer, 'detail')) ?? '';
    const evidence = detail === '' ? [] : [{ source: `LDAP ${controller.name}`, text: detail }];
    throw windowsJoinFailure('LDAP', code === undefined ? code : loginFailureCode(code, detail), 'account', evidence);
  }
  const account = text(member(answer, 'account'));
  if (account === undefined) return;
  throw new MachineadmError({
    reason: 'ComputerAccountExists',
    summary: `The domain has an account of the name ${computerName} already, and a join would disconnect its machine.`,
    remedy:
      'Give this machine another host.hostname; or, where the account is its own or of a machine that is gone, delete it or set accountReuse: true.',
    evidence: [{ source: `LDAP ${controller.name}`, text: account }],
  });
}

/** Joins with an account. It holds from the next boot on. */
export async function joinWithAccount(
  host: Host,
  desired: WindowsMembership,
  { user, password }: { readonly user: string; readonly password: string },
  signal: AbortSignal,
): Promise<void> {
  await join(host, desired, accountJoin(desired, user, password), signal);
}

/** Joins with the one-time password of a preset account. The join takes effect at the next boot. */
export async function joinWithOneTimePassword(
  host: Host,
  desired: WindowsMembership,
  password: string,
  signal: AbortSignal,
): Promise<void> {
  await join(host, desired, oneTimeJoin(desired, password), signal);
}

/** Takes the password of the computer out of a blob. It holds from the next boot on, and needs no network now. */
export async function joinWithBlob(
  host: Host,
  desired: WindowsMembership,
  blobText: string,
  signal: AbortSignal,
): Promise<void> {
  const { domain, computerName, timeoutMs } = desired;
  const blob = readBlob(blobText);
  if (blob === undefined) throw blobInvalid('is damaged, truncated, or not join data');
  if (blob.computer.toUpperCase() !== computerName.toUpperCase()) {
    throw blobInvalid(`was made for the computer ${blob.computer}, and this is ${computerName}`);
  }
  if (![domain, blob.netbiosDomain.toLowerCase()].includes(blob.domain.toLowerCase())) {
    throw blobInvalid(`was made for the domain ${blob.domain}, and the document names ${domain}`);
  }
  try {
    await host.writeFile({ path: BLOB_FILE, content: blob.file, mode: 0o600 });
    const result = await host.run({ ...offlineJoin(BLOB_FILE, timeoutMs), signal });
    if (result.timedOut) throw windowsJoinTimedOut('djoin.exe');
    const said = textLines(result.stdout, result.stderr);
    // No output means that it did not run: djoin reports every result.
    if (result.status === 0 && said.length > 0) return;
    const evidence = said.slice(-2).map((line) => ({ source: 'djoin.exe', text: line.trim() }));
    throw windowsJoinFailure('djoin.exe', codeOf(said, result.status), 'offlineBlob', [
      ...evidence,
      ...(await netSetup(host)),
    ]);
  } finally {
    await host.removeFile(BLOB_FILE);
  }
}

/**
 * Waits until Netlogon has a verified channel to the domain: at boot it takes some minutes, and what it says until then is
 * no verdict. Throws the last verdict after that, most often `DomainJoinBroken` or `DomainControllerUnreachable`.
 */
export async function verifyMembership(
  host: Host,
  { domain, credentials, onBroken }: WindowsMembership,
  { signal, waitingFor }: Pick<Execution, 'signal' | 'waitingFor'>,
  patience: ChannelPatience,
): Promise<void> {
  const end = performance.now() + patience.withinMs;
  let repaired = false;
  for (;;) {
    const result = await host.run({ ...verifyChannel(domain), signal });
    const code = readVerification(result);
    if (code === 0 && (await isTrusted(host))) return waitingFor(undefined);
    waitingFor(`a verified channel to ${domain}: ${code === undefined ? 'no answer' : `error ${code}`}`);
    if (performance.now() >= end) {
      if (onBroken === 'Rejoin' && credentials.kind === 'account' && !repaired && isRefusal(code)) {
        repaired = true;
        await repair(
          host,
          principalOf(credentials.user, domain),
          (await host.secret(credentials.password)).reveal(),
          signal,
        );
        continue;
      }
      const said = textLines(result.stdout);
      const evidence = said.slice(-3).map((line) => ({ source: `nltest /sc_verify:${domain}`, text: line.trim() }));
      // The secure channel exists, but its test failed.
      throw windowsJoinFailure('nltest.exe', code === 0 ? 1789 : code, 'channel', evidence);
    }
    await pause(patience.everyMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/** Whether what there is of the channel works, asked once. */
export async function isTrusted(host: Pick<QueryHost, 'query'>): Promise<boolean> {
  const answer = await askScript(host, TEST_SECURE_CHANNEL).catch(() => undefined);
  return member(answer, 'trusted') === true;
}

/** Numbers that say that the computer itself is refused, and not that nobody could be asked. */
function isRefusal(code: number | undefined): boolean {
  return code !== undefined && windowsJoinFailure('nltest.exe', code, 'channel').reason === 'DomainJoinBroken';
}

async function repair(host: Host, user: string, password: string, signal: AbortSignal): Promise<void> {
  const options = { signal, timeoutMs: SHORT_TIMEOUT_MS, context: 'channel' } as const;
  const answer = await answered(host, REPAIR_SECURE_CHANNEL, options, { user, password });
  if (member(answer, 'trusted') !== true)
    throw windowsJoinFailure('Test-ComputerSecureChannel -Repair', 1789, 'channel');
}

async function join(host: Host, desired: WindowsMembership, request: JoinRequest, signal: AbortSignal): Promise<void> {
  const { timeoutMs, credentials } = desired;
  const answer = await answered(host, JOIN_DOMAIN, { signal, timeoutMs, context: credentials.kind }, request);
  const code = number(member(answer, 'code'));
  if (code === 0) return;
  throw windowsJoinFailure('JoinDomainOrWorkgroup', code, credentials.kind, await netSetup(host));
}

/** Runs a script that is given a secret, and returns what it answered. */
async function answered(
  host: Host,
  script: WindowsScript,
  {
    signal,
    timeoutMs,
    context,
  }: { readonly signal: AbortSignal; readonly timeoutMs: number; readonly context: JoinContext },
  request: object,
): Promise<unknown> {
  const result = await host.run({
    program: 'powershell.exe',
    args: script.args,
    input: scriptInput(request),
    timeoutMs,
    signal,
  });
  if (result.timedOut) throw windowsJoinTimedOut(`powershell.exe <${script.name}>`);
  const answer = readAnswer(script, result);
  if (answer.ok) return answer.value;
  const { message, type, hresult } = answer;
  // The low half of an HRESULT of the facility Win32 is its number ([MS-ERREF] 2.1).
  const code = hresult !== undefined && ((hresult >>> 16) & 0x1fff) === 7 ? hresult & 0xffff : undefined;
  throw windowsJoinFailure(script.name, code, context, [{ source: type, text: message }]);
}

/** What Windows logged last of failures. */
async function netSetup(host: Pick<QueryHost, 'stat' | 'readRange'>): Promise<readonly Evidence[]> {
  return (await logTail(host, NETSETUP_LOG, NETSETUP_TAIL_BYTES))
    .filter((line) => /\b0x0*[1-9a-f][0-9a-f]*\b/i.test(line) && /fail|status|error/i.test(line))
    .slice(-NETSETUP_LINES)
    .map((line) => ({ source: NETSETUP_LOG, text: line.trim() }));
}

/** djoin exits with the number of its failure, and prints it. */
function codeOf(said: readonly string[], status: number): number | undefined {
  const printed = said.map((line) => /\b0x([0-9a-f]+)\b/i.exec(line)?.[1]).find((hex) => hex !== undefined);
  if (printed !== undefined) return Number.parseInt(printed, 16) & 0xffff;
  return status === 0 ? undefined : status;
}

function blobInvalid(what: string): MachineadmError {
  return new MachineadmError({
    reason: 'DomainJoinBlobInvalid',
    summary: `The offline join data ${what}.`,
    remedy: 'Make it for this machine (djoin /provision), and give the whole text of the file.',
  });
}
