import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { Command, Host, QueryHost } from '../../host/seam/host.ts';
import type { Memory } from '../../step/memory.ts';
import { TOOL_ENVIRONMENT, WORK_DIRECTORY, withWorkDirectory } from './work-directory.ts';

/** A membership that this machine created itself, and must give up. */
export interface LeaveOrder {
  readonly domain: string;
  readonly computer: string;
  readonly keytab: string;
}

/** The membership in a domain, where the document asked that a reset ends it and no other keys were there; its keys end it. */
export async function leaveOrder(host: QueryHost, made: Pick<Memory, 'note'>): Promise<LeaveOrder | undefined> {
  const note = made.note('active-directory', 'active-directory/join');
  const keytab = text(member(member(note, 'undo'), 'keytab'));
  const domain = text(member(note, 'domain'));
  const computer = text(member(note, 'computer'));
  if (keytab === undefined || domain === undefined || computer === undefined) return undefined;
  return (await host.stat(keytab)) === undefined ? undefined : { keytab, domain, computer };
}

/** What a reset says before it tries. */
export function describeLeave({ domain, computer }: Pick<LeaveOrder, 'domain' | 'computer'>): string {
  return `delete ${computer} from ${domain}, if the domain lets a computer delete itself`;
}

const TIMEOUT_MS = 30_000;
/** What kinit says of an account that a reset has deleted before it was killed. */
const GONE = /not found in Kerberos database/;

/**
 * Deletes this computer's account with its own keys, if the domain allows it: a computer may delete itself only if that
 * was delegated. A domain that refuses or is unreachable does not block a reset: the remaining work is reported. The
 * reset removes the keytab itself.
 */
export async function leaveDomain(
  host: Host,
  { domain, computer, keytab }: LeaveOrder,
  { line, signal }: { line(text: string): void; readonly signal: AbortSignal },
): Promise<void> {
  if ((await host.stat(keytab)) === undefined) return;
  line(describeLeave({ domain, computer }));
  const stays = (why: string): void =>
    line(
      `warning: the account ${computer} stays in ${domain} (${why}): delete it there, adcli delete-computer --domain=${domain} ${computer}`,
    );
  await withWorkDirectory(host, async () => {
    const run = (command: Command) => host.run({ ...command, env: TOOL_ENVIRONMENT, timeoutMs: TIMEOUT_MS, signal });
    for (const program of ['kinit', 'adcli']) {
      if ((await host.which(program)) === undefined) return stays(`${program} is not installed`);
    }
    const principal = `${computer}$@${domain.toUpperCase()}`;
    const ticket = await run({ program: 'kinit', args: ['-k', '-t', keytab, principal] });
    if (GONE.test(ticket.stderr)) return;
    if (ticket.status !== 0) return stays(redact(lastLine(ticket.stderr)));
    const args = ['delete-computer', `--domain=${domain}`, `--login-ccache=${WORK_DIRECTORY}/tickets`, computer];
    const deleted = await run({ program: 'adcli', args });
    if (deleted.status !== 0) stays(redact(lastLine(deleted.stderr)));
  });
}
