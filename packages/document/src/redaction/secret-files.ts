import { allMatches, eachValue, type Form } from './all-matches.ts';
import { mayBeSecret, unlikeWord } from './likely-value.ts';

type Found = (start: number, end: number) => void;

/** Whole lines of well-known files. The value is the last part of the match. */
const TOKENS =
  /^["']?(?:(?![0-9a-f]{8}-)(?=[^\s,"':]{0,64}[0-9])[^\s,"':]{16,256}(?=["']?,[a-z][\w:@-]{1,100},[0-9]{1,10}$)|(?![0-9]{4}-[0-9]{2}-)[^\s,"':]{8,256}(?=["']?,[\w:.@-]{1,100},[\w-]{1,64},"[^"]{0,200}"$))/;
const PGPASS =
  /^(?:\*|[\w-]{0,40}\.[\w.-]{1,100}|[a-z][\w-]{1,60}):(?:\*|[0-9]{2,5}):(?:\*|[A-Za-z][\w-]{0,60}):(?:\*|[A-Za-z][\w-]{0,60}):([^\s"']{4,256})$/;
const TIME_KEY =
  /^[0-9]{1,10}[ \t]{1,8}(?:(?:MD5|SHA1|SHA(?:3-)?(?:224|256|384|512)|AES(?:128|256)(?:CMAC)?|CMAC)[ \t]{1,8}(?:(?:HEX|ASCII):)?|M[ \t]{1,8}(?=\S{0,60}[0-9!#$%&*+@^~]))(\S{6,512})$/;
const DIGEST = /^[\w.@-]{1,64}:[^:]{1,64}:([0-9a-f]{32})$/;
const PPPD =
  /^["']?[\w.@\\*-]{1,64}["']?[ \t]{1,16}(?:\*|["']?[\w.-]{1,64}["']?)[ \t]{1,16}["']?([^\s"'*]{4,256})(?=["']?[ \t]{1,16}(?:\*|[0-9]{1,3}(?:\.[0-9*]{1,3}){3}(?:\/[0-9]{1,2})?)[ \t]{0,16}(?:#.{0,200})?$)/;
/** Of Postfix, for its relays: a server, a user and the password. */
const RELAY =
  /^(?:\[[\w.-]{1,100}\](?::[\w-]{1,10})?|[\w.-]{1,100}:[\w-]{1,10}|[\w.@-]{1,100}(?=[ \t]{1,16}[^\s:@]{1,64}@))[ \t]{1,16}[^\s:]{1,100}:(\S{4,256})$/;
const LONGEST_LINE = 700;

/** Places that say that a secret follows. */
const CERTAIN: readonly Form[] = [
  // ODBC.
  ['={', /\b(?:pwd|password)=\{(?!\{)([^{}\r\n]{1,200})(?=\})/gi],
  // Keys of IPsec, and of an encrypted block device.
  ['rfc', /\brfc[0-9]{4}[\w()-]{0,40}["']?[ \t]{1,4}(?:0x)?([0-9a-fA-F]{16,256})\b/g],
  [') 0x', /\b(?:hmac|cbc|ctr|xcbc|cmac|gcm|ccm)\([\w()-]{0,40}["']?[ \t]{1,4}0x([0-9a-fA-F]{16,256})\b/g],
  [")' 0x", /\b(?:hmac|cbc|ctr|xcbc|cmac|gcm|ccm)\([\w()-]{0,40}["']?[ \t]{1,4}0x([0-9a-fA-F]{16,256})\b/g],
  ['crypt ', /\bcrypt [\w:-]{3,60} ([0-9a-f]{32,256})\b/g],
  [' "', /: ?(?:PSK|EAP|XAUTH|NTLM|PIN|(?:RSA|ECDSA|PKCS12) \S{1,200}) "([^"\r\n]{1,512})/g],
  ['PSK 0', /: ?PSK 0[xs]([\w+/=]{8,512})/g],
  // Users of OpenVPN.
  ['-user-pass>', /-user-pass>\s{1,8}\S{1,200}[ \t]{0,8}[\r\n]{1,4}[ \t]{0,16}([^\s<]{1,512})/g],
  // Answer files of Windows' setup.
  ['Password>', /Password>\s{0,40}<Value>([^<\r\n]{1,512})/g],
  // Keys of BIND and dhcpd; users of snmpd.
  ['secret ', /\bsecret ["']?([\w+/=-]{8,512})(?=["']?;)/g],
  ['createUser', /\bcreateUser[^\r\n]{1,100} (?:MD5|SHA(?:-?[0-9]{3})?) ["']?([^\s"']{4,256})/g],
  ['createUser', /\bcreateUser[^\r\n]{1,300} (?:DES|AES(?:-?[0-9]{3})?) ["']?([^\s"']{4,256})/g],
  // Hashes of Windows' passwords.
  ['::', /:[0-9A-FX]{32}:([0-9A-F]{32})(?=:)/gi],
  [':[U', /:[0-9A-FX]{32}:([0-9A-F]{32})(?=:)/gi],
];
const LIKELY: readonly Form[] = [
  ['PSK ', /: ?PSK ([^\s"']{4,512})/g],
  ['EAP ', /: ?EAP ([^\s"']{4,512})/g],
  ['XAUTH ', /: ?XAUTH ([^\s"']{4,512})/g],
];
/** What key material as bytes is called. */
const DUMPED = /psk|pass(?:word|phrase)?|\b(?:pmk|ptk|kck|kek|gtk|tk|pin|mk)\b|key|secret/i;
const DUMP = /\b(?:hexdump(?:_ascii)?\(len=[0-9]{1,5}\)|dump):/g;
const BYTES = /(?:[ \t\r\n]{1,16}[0-9a-fA-F]{2}(?![0-9A-Za-z])){2,16}(?:[ \t]{1,60}[^\r\n]{1,20}(?=[\r\n]|$))?/y;

/** Secrets in the lines of well-known files. Takes linear time. */
export function secretFiles(text: string, found: Found): void {
  lines(text, found);
  dataSources(text, found);
  eachValue(text, CERTAIN, (value, end) => {
    if (mayBeSecret(value)) found(end - value.length, end);
  });
  eachValue(text, LIKELY, (value, end) => {
    if (unlikeWord(value)) found(end - value.length, end);
  });
  if (text.includes('dump')) dumps(text, found);
  if (text.includes('Secret') && KIND.test(text)) manifests(text, found);
}

function lines(text: string, found: Found): void {
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf('\n', at);
    const end = next < 0 ? text.length : next;
    if (end - at >= 12 && end - at <= LONGEST_LINE) {
      const line = text.slice(at, text.charCodeAt(end - 1) === 0x0d ? end - 1 : end);
      const match = formOf(line)?.exec(line);
      const value = match?.[1] ?? match?.[0].replace(/^["']/, '') ?? '';
      const start = at + (match?.index ?? 0) + (match?.[0].length ?? 0) - value.length;
      if (mayBeSecret(value)) found(start, start + value.length);
    }
    at = end + 1;
  }
}

/** The form that a line may have, by what takes no time to see. */
function formOf(line: string): RegExp | undefined {
  if (line.includes('*') && PPPD.test(line)) return PPPD;
  if (line[line.length - 33] === ':' && DIGEST.test(line)) return DIGEST;
  const blank = line.search(/[ \t]/);
  if (blank > 4 && line.indexOf(':', blank) > 0 && unlikeWord(RELAY.exec(line)?.[1] ?? '')) return RELAY;
  const comma = line.indexOf(',');
  if (comma > 7 && (blank < 0 || comma < blank)) return TOKENS;
  if (blank < 0 && line.includes(':')) return PGPASS;
  return blank > 0 && blank < 11 && /^[0-9]+[ \t]+[MSAC]/.test(line) ? TIME_KEY : undefined;
}

const LONGEST_SOURCE = 320;
const BEFORE_SOURCE = new Set(Array.from(' \t\r\n"\'`/@<>(', (character) => character.charCodeAt(0)));
/** `user:` before the secret. */
const SOURCE_USER = /^(?:\S{0,60}=)?(?!mailto:)[\w.$-]{1,64}:(?!\/)/;
const DRIVER = /(?:tcp|udp|unix)?\(/y;
const SERVER = /(?!sha[0-9])[A-Za-z0-9][\w.-]{1,200}(?::[0-9]{2,5}\b|\/)/y;

/** Data sources without a scheme: `user:secret@tcp(server:3306)/database`, `user:secret@server:5432`. */
function dataSources(text: string, found: Found): void {
  for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
    let start = at;
    while (start > 0 && at - start < LONGEST_SOURCE && !BEFORE_SOURCE.has(text.charCodeAt(start - 1))) start -= 1;
    const user = SOURCE_USER.exec(text.slice(start, at))?.[0];
    const value = text.slice(start + (user?.length ?? 0), at);
    if (user === undefined || value === '' || text[start - 1] === '/') continue;
    DRIVER.lastIndex = at + 1;
    SERVER.lastIndex = at + 1;
    const isSource = DRIVER.test(text) ? mayBeSecret(value) : unlikeWord(value) && SERVER.test(text);
    if (isSource) found(at - value.length, at);
  }
}

function dumps(text: string, found: Found): void {
  for (const { index, 0: sign } of allMatches(text, DUMP)) {
    if (!DUMPED.test(text.slice(Math.max(0, index - 60), index))) continue;
    BYTES.lastIndex = index + sign.length;
    for (let count = 0; count < 64; count += 1) {
      const at = BYTES.lastIndex;
      const bytes = BYTES.exec(text)?.[0];
      if (bytes === undefined) break;
      found(at + bytes.search(/\S/), at + bytes.length);
    }
  }
}

const KIND = /\bkind\\{0,3}["']?: ?\\{0,3}["']?Secret\b/;
/** The values of a Secret of Kubernetes, whatever their names: in JSON, also inside a string, and in YAML. */
const DATA = /\b(?:data|stringData)\\{0,7}"?: ?\{([^{}]{1,65536})\}/g;
const MEMBER = /: ?\\{0,7}["']?([^\s"'\\,{}]{2,16384})/g;
const BLOCK = /(?<![^\r\n])([ \t]{0,64}(?:- )?)(?:data|stringData):[ \t]{0,8}\r?\n/g;
const ENTRY = /^([ \t]{1,64})["']?[\w.-]{1,253}["']?:[ \t]{1,8}["']?([^\s"'|>&*{[!].{0,16384}?)["']?$/;

function manifests(text: string, found: Found): void {
  for (const { index, 0: whole, 1: members = '' } of allMatches(text, DATA)) {
    const at = index + whole.length - 1 - members.length;
    for (const member of allMatches(members, MEMBER)) {
      const end = at + member.index + member[0].length;
      if (mayBeSecret(member[1] ?? '')) found(end - (member[1] ?? '').length, end);
    }
  }
  for (const { index, 0: whole, 1: indent = '' } of allMatches(text, BLOCK)) {
    let at = index + whole.length;
    while (at < text.length) {
      const end = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at);
      const line = text.slice(at, end).trimEnd();
      const [, deeper = '', value = ''] = ENTRY.exec(line) ?? [];
      if (value === '' || deeper.length <= indent.length) break;
      const start = at + line.lastIndexOf(value);
      if (mayBeSecret(value)) found(start, start + value.length);
      at = end + 1;
    }
  }
}
