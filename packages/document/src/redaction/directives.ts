import { namesSecret } from './key-detector.ts';
import { isWorthless, mayBeSecret, unlikeWord } from './likely-value.ts';

/**
 * Directives of configuration files and of network devices: a name, blanks, and the value, without a sign between them. Of the name, this
 * is the end.
 */
const END_OF_NAME =
  /(?:pass(?:word|wd|phrase|code)?|pw|pwd|secret|psk|token|credentials?|community|auth|key)(?:[-_](?:in|out))?(?![\w.:=@/(-])/gi;
/** Blanks, perhaps how the value is notated, and its quote. `password 7 094F` is that of a network device. */
const BEFORE_VALUE =
  /["']?[ \t]{1,60}(?:(?:[0-9]|encrypted|cleartext|clear|plaintext|plain|hash|ascii-text|ascii|local|remote|sha(?:256|512)|--plaintext|--iscrypted) ){0,2}(["'\u201c]?)/y;
const VALUE = /[^\s"'\u201d;]{3,512}/y;
const QUOTED = /[^"'\u201d\r\n]{3,512}(?=["'\u201d])/y;
const LONGEST_NAME = 60;
/** Names that are also words of sentences. */
const WORD = /^(?:pass(?:word|wd|phrase|code)?|pwd?|secrets?|tokens?|keys?|psk|credentials?|community|auth)$/i;
/** Words that are the name of a secret only where a directive is. */
const JOINED =
  /^(?:requirepass|masterauth|(?:root|bind|rootbind|admin|user|db|key|store|auth|ftp|mail)(?:pass|pw)|authkey)$/i;
/** What stands before a directive: nothing, the beginning of a block, or the words of a device's configuration. */
const BEFORE =
  /(?:^|[{;]|\b(?:set|config|default|authentication))[ \t]{0,40}$|^[ \t]{0,16}(?:(?:no|set|enable|line|username|user|neighbor|server|host|peer|ppp|chap|pap|vrrp|login|machine)\b[^"'={}:]{0,80} )$/i;
const AFTER = /^["'\u201d]?[ \t]{0,8}(?:[;}#]|$)/;

/** The values of directives. Takes linear time. */
export function directives(text: string, found: (start: number, end: number) => void): void {
  END_OF_NAME.lastIndex = 0;
  for (let match = END_OF_NAME.exec(text); match !== null; match = END_OF_NAME.exec(text)) {
    const nameEnd = END_OF_NAME.lastIndex;
    BEFORE_VALUE.lastIndex = nameEnd;
    const between = BEFORE_VALUE.exec(text);
    if (between === null) continue;
    const start = BEFORE_VALUE.lastIndex;
    const quoted = between[1] !== '';
    const form = quoted ? QUOTED : VALUE;
    form.lastIndex = start;
    const value = form.exec(text)?.[0] ?? '';
    if (value === '' || isWorthless(value)) continue;
    const before = text.slice(Math.max(0, match.index - 160), nameEnd);
    const name = /[A-Za-z_][\w.-]{0,59}$/.exec(before.slice(-LONGEST_NAME))?.[0] ?? '';
    const line = before.slice(before.lastIndexOf('\n') + 1, before.length - name.length);
    if (/(?:^|[\s"'=[,(])--?$/.test(line)) {
      if (isOption(name, value, quoted)) found(start, start + value.length);
      continue;
    }
    if (/[-$@/<%{.]$/.test(line) && !line.endsWith('{ ')) continue;
    const after = text.slice(start + value.length, start + value.length + 12);
    if (isValue(name, value, [quoted, /[0-9] ["'\u201c]?$/.test(between[0])], line, after))
      found(start, start + value.length);
  }
}

/** Options that ask for a secret, or say what to do with it. */
const SWITCH =
  /^(?:ask|no|prompt|use|without|skip|show|print|reset|rotate|require|disable|enable|force|generate)\b|ask[-_]pass/i;

function isOption(name: string, value: string, quoted: boolean): boolean {
  return namesSecret(name) && !SWITCH.test(name) && mayBeSecret(value) && (quoted || /[^a-z]/.test(value));
}

function isValue(
  name: string,
  value: string,
  [quoted, typed]: readonly [boolean, boolean],
  before: string,
  after: string,
): boolean {
  if (!namesSecret(name) && !JOINED.test(name)) return false;
  const isPlain = WORD.test(name);
  const isAlone = BEFORE.test(before) && AFTER.test(after.split(/[\r\n]/, 1)[0] ?? '');
  if (!isAlone) return (!isPlain && unlikeWord(value)) || (typed && /^[0-9A-F]{8,128}$|[!#$%^&*+]/.test(value));
  return mayBeSecret(value) && (quoted || !isPlain || /[^A-Za-z.,:-]/.test(value));
}
