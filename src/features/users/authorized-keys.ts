import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { authorizedKeysPath } from '@machineadm/document/ownership/paths.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import type { PasswdEntry } from '../../accounts/databases.ts';
import { FileError } from '../../host/files/file-error.ts';
import type { CommandResult, Host, QueryHost } from '../../host/seam/host.ts';
import { withBlock, withoutBlock } from '../../owned-files/marked-block.ts';
import type { Execution } from '../../step/index.ts';

/** sshd(8), AUTHORIZED_KEYS FILE FORMAT: lines that begin with # are comments. */
const BLOCK = 'keys of the bootstrap document; other lines are kept';
const LARGEST = 512 * 1024;

/** The state of a user's keys: as wanted, different, or a state in which nothing is written. */
export type KeysActual =
  | { readonly kind: 'same' }
  | { readonly kind: 'different'; readonly how: string }
  | { readonly kind: 'unsafe'; readonly what: string; readonly remedy: string };

/** The file with the managed block as wanted, and every other line unchanged; no keys = no block. */
export function withManagedKeys(text: string, keys: readonly string[]): string {
  return keys.length === 0 ? withoutBlock(text, BLOCK) : withBlock(text, BLOCK, keys.map((key) => `${key}\n`).join(''));
}

/**
 * Compares only. The content that it reads is not used: the written file is derived from what the user may read
 * (`writeKeys`).
 */
export async function inspectKeys(
  host: QueryHost,
  user: PasswdEntry | undefined,
  keys: readonly string[],
): Promise<KeysActual> {
  try {
    return await compareKeys(host, user, keys);
  } catch (error) {
    if (!(error instanceof FileError) || error.reason !== 'UnsafePath') throw error;
    return { kind: 'unsafe', what: error.evidence[0]?.text ?? error.message, remedy: error.remedy };
  }
}

async function compareKeys(
  host: QueryHost,
  user: PasswdEntry | undefined,
  keys: readonly string[],
): Promise<KeysActual> {
  const nothing: KeysActual = keys.length === 0 ? { kind: 'same' } : { kind: 'different', how: 'create' };
  if (user === undefined) return nothing;
  const directory = await host.stat(`${user.home}/.ssh`);
  if (directory === undefined) return nothing;
  const path = authorizedKeysPath(user.home);
  for (const [at, stat, type] of [
    [`${user.home}/.ssh`, directory, 'directory'],
    [path, await host.stat(path), 'file'],
  ] as const) {
    if (stat === undefined) return nothing;
    if (stat.type !== type) {
      return { kind: 'unsafe', what: `${at} is a ${stat.type}, not a ${type}`, remedy: `Remove ${at}.` };
    }
    if (stat.uid !== user.uid) {
      const owner = `${user.uid}:${user.gid}`;
      return {
        kind: 'unsafe',
        what: `${at} belongs to the user id ${stat.uid}, not to ${user.name}`,
        remedy: `Run "chown -h ${owner} ${at}" if that is a mistake.`,
      };
    }
  }
  const file = await host.stat(path);
  if (file === undefined || file.size > LARGEST) {
    return { kind: 'unsafe', what: `${path} is larger than ${LARGEST} bytes`, remedy: `Look at ${path}.` };
  }
  const text = (await host.readText(path)) ?? '';
  if (withManagedKeys(text, keys) !== text) return { kind: 'different', how: `${keys.length} keys of the document` };
  if (directory.mode !== 0o700 || file.mode !== 0o600) return { kind: 'different', how: 'modes 0700 and 0600' };
  return { kind: 'same' };
}

/** Prints the file, or nothing where it does not exist. */
const READ = 'set -eu; file=$1/.ssh/authorized_keys; [ ! -e "$file" ] || exec cat -- "$file"';

const WRITE = `set -eu
umask 077
directory=$1/.ssh
[ -d "$directory" ] || mkdir -- "$directory"
chmod 0700 -- "$directory"
new=$directory/.authorized_keys.machineadm-new
rm -f -- "$new"
cat >"$new"
chmod 0600 -- "$new"
mv -f -- "$new" "$directory/authorized_keys"
`;

/**
 * Writes the keys as the user and not as root: whatever links the user creates on the path, even in the meantime,
 * nothing is read or written that the user may not read or write (CWE-59). Throws `AuthorizedKeysNotWritten`.
 */
export async function writeKeys(
  host: Host,
  user: PasswdEntry,
  keys: readonly string[],
  execution: Execution,
): Promise<void> {
  const actual = await inspectKeys(host, user, keys);
  if (actual.kind === 'unsafe') throw notWritten(user, actual.what, actual.remedy);
  const asUser = async (script: string, input?: string): Promise<CommandResult> => {
    const identity = ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups', '--no-new-privs'];
    const result = await host.run({
      program: 'setpriv',
      args: [...identity, '--', 'sh', '-c', script, 'sh', user.home],
      ...(input === undefined ? {} : { input }),
      cwd: '/',
      ...(input === undefined ? {} : { changes: [`path:${user.home}/.ssh`, `path:${authorizedKeysPath(user.home)}`] }),
      timeoutMs: 60_000,
      signal: execution.signal,
    });
    if (result.status === 0) return result;
    const said = redact(lastLine(result.stderr));
    throw notWritten(user, said, `Check that ${user.name} may write to ${user.home}: "namei -l ${user.home}/.ssh".`);
  };
  const { stdout } = await asUser(READ);
  if (stdout.length > LARGEST || stdout.includes('\uFFFD')) {
    const path = authorizedKeysPath(user.home);
    throw notWritten(user, `${path} is too large or not UTF-8`, `Look at ${path}: its other lines would be lost.`);
  }
  await asUser(WRITE, withManagedKeys(stdout, keys));
}

function notWritten(user: PasswdEntry, why: string, remedy: string): MachineadmError {
  return new MachineadmError({
    reason: 'AuthorizedKeysNotWritten',
    summary: `the SSH keys of ${user.name} were not written: ${why}`,
    remedy,
    evidence: [{ source: authorizedKeysPath(user.home), text: why }],
  });
}
