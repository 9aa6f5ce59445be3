import { allMatches } from './all-matches.ts';
import { mayBeSecret } from './likely-value.ts';

type Found = (start: number, end: number) => void;

/** What a shell writes to a pipe or a file, and in a trace (`set -x`) the line of its own: `+ printf %s word`. */
const WRITTEN =
  /\b(?:echo|printf)(?:[ \t]{1,4}(?:-[neE]{1,3}|--|["']?%s(?:\\n)?["']?)){0,3}[ \t]{1,4}("[^"\r\n]{1,512}"|'[^'\r\n]{1,512}'|[^\s"'|;&<>]{1,512})(?=[ \t]{0,4}(\||>{1,2}|[\r\n]{1,2}\+{1,8} |[\r\n]|$))/g;
/** Programs that read a secret from their standard input. */
const READER =
  /^[ \t|+]{0,8}(?:sudo(?: -\w{1,8}){0,3} )?(?:\/\w{1,20}){0,4}\/?(?:kinit|passwd|chpasswd|realm|adcli|cryptsetup|smbpasswd|gpg2?|su|pdbedit|ecryptfs\S{0,30}|zfs load-key|wpa_passphrase|keyctl|secret-tool|systemd-creds encrypt|systemd-cryptenroll|(?:docker|podman) secret create|ldappasswd|samba-tool|ipa-client-install|msktutil|mysql_config_editor)\b/;
/** Options that say so. */
const READS =
  /(?:--[a-z-]{0,40}(?:password|passphrase|passwd|secret|token|key)[a-z-]{0,10}-stdin|--stdin(?:-password)?|--(?:key|password|pass)-?file[= ](?:-|\/dev\/stdin)|--with-token|--passphrase-fd[= ]0|--password-from-stdin|\bsudo -\w{0,4}S|htpasswd -\w{0,4}i)(?![\w-])/;
/** A file whose name says that it holds a secret. */
const SECRET_FILE = /^>{1,2} ?\S{0,200}(?:pass|pwd|secret|token|cred|psk|\.key|netrc)\S{0,60}/i;
const HERE_STRING = /<<<[ \t]{0,4}("[^"\r\n]{1,512}"|'[^'\r\n]{1,512}'|[^\s"']{1,512})/g;
const HERE_DOCUMENT = /<<-?[ \t]{0,4}["']?([A-Za-z_]\w{0,31})["']?[^\r\n]{0,200}\r?\n/g;
const LONGEST_LINE = 400;

/** Words that a shell gives to a program that reads its secret from standard input. Takes linear time. */
export function standardInput(text: string, found: Found): void {
  if (text.includes('echo ') || text.includes('printf ')) written(text, found);
  if (text.includes('<<')) here(text, found);
  if (text.includes('chpasswd')) lists(text, found);
}

function written(text: string, found: Found): void {
  for (const { index, 0: whole, 1: word = '', 2: sign = '' } of allMatches(text, WRITTEN)) {
    const end = index + whole.length;
    const after = lineAt(text, sign === '|' ? text.indexOf('|', end) : end + text.slice(end, end + 4).search(/\S|$/));
    const isRead =
      sign === '|' || sign.includes('+')
        ? reads(after)
        : sign.startsWith('>') && (SECRET_FILE.test(after) || reads(after));
    // The parts of a pipeline are traced in any order.
    const isTraced = !sign.startsWith('>') && /\+ $/.test(text.slice(Math.max(0, index - 2), index));
    if (isRead || (isTraced && reads(lineBefore(text, index)))) report(word, end - word.length, found);
  }
}

function here(text: string, found: Found): void {
  for (const { index, 0: whole, 1: word = '' } of allMatches(text, HERE_STRING)) {
    if (reads(beginning(text, index))) report(word, index + whole.length - word.length, found);
  }
  for (const { index, 0: whole, 1: delimiter = '' } of allMatches(text, HERE_DOCUMENT)) {
    if (!reads(beginning(text, index))) continue;
    let at = index + whole.length;
    for (let count = 0; count < 64 && at < text.length; count += 1) {
      const line = lineAt(text, at);
      if (line.trim() === delimiter) break;
      const word = line.trim();
      if (word !== '') report(word, at + line.indexOf(word), found);
      at += line.length + 1;
    }
  }
}

/** A user and the password of it, in a line of chpasswd(8), of cloud-init, or between quotes of JSON. */
const USER_LINE = /^[ \t]{0,32}(?:- )?["']?[a-z_][a-z0-9_.-]{0,31}:(?![ \t])([^\s"']{3,256})["']?,?$/;
const USER_WORD = /(?<=["'n ,[])[a-z_][a-z0-9_.-]{0,31}:(?![ \t/])([^\s"'\\,\]]{6,256})/g;
const MOST_LINES = 64;

function lists(text: string, found: Found): void {
  let done = 0;
  for (let at = text.indexOf('chpasswd'); at >= 0; at = text.indexOf('chpasswd', Math.max(done, at + 1))) {
    const first = lineAt(text, at);
    for (const { index, 0: whole, 1: value = '' } of allMatches(first, USER_WORD)) {
      const end = at + index + whole.length;
      if (mayBeSecret(value) && !/^[0-9./]{1,40}$/.test(value)) found(end - value.length, end);
    }
    done = at + first.length;
    for (let count = 0; count < MOST_LINES && done < text.length; count += 1) {
      const line = lineAt(text, done + 1);
      const value = USER_LINE.exec(line)?.[1];
      if (value === undefined && !/^[ \t]{1,32}[a-z_]{2,20}:(?: |$)/.test(line)) break;
      if (value !== undefined && !/^(?:R|RANDOM)$/.test(value) && mayBeSecret(value)) {
        const start = done + 1 + line.lastIndexOf(value);
        found(start, start + value.length);
      }
      done += line.length + 1;
    }
  }
}

function reads(command: string): boolean {
  return READER.test(command) || READS.test(command);
}

/** A word without its quotes; of `user:secret`, the secret. */
function report(word: string, at: number, found: Found): void {
  const plain = /^(["'])(.*)\1$/.exec(word)?.[2] ?? word;
  const secret = /^[a-z_][a-z0-9_-]{0,31}:(?!\/)(.+)$/.exec(plain)?.[1] ?? plain;
  const start = at + word.lastIndexOf(secret);
  if (mayBeSecret(secret) && secret.length > 1) found(start, start + secret.length);
}

function lineAt(text: string, at: number): string {
  const rest = text.slice(at, at + LONGEST_LINE);
  const end = rest.search(/[\r\n]/);
  return end < 0 ? rest : rest.slice(0, end);
}

/** What stands before `at` on its line. */
function beginning(text: string, at: number): string {
  const before = text.slice(Math.max(0, at - LONGEST_LINE), at);
  const line = before.slice(Math.max(before.lastIndexOf('\n'), before.lastIndexOf('\r')) + 1);
  return line.slice(
    Math.max(line.lastIndexOf(';'), line.lastIndexOf('&'), line.lastIndexOf('$ '), line.lastIndexOf('# ')) + 1,
  );
}

function lineBefore(text: string, at: number): string {
  const end = text.slice(Math.max(0, at - LONGEST_LINE), at).lastIndexOf('\n');
  return end < 0 ? '' : beginning(text, Math.max(0, at - LONGEST_LINE) + end);
}
