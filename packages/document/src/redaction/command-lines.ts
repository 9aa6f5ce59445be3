import { allMatches, eachValue, type Form } from './all-matches.ts';
import { mayBeSecret } from './likely-value.ts';
import { GRAMMARS, type Grammar } from './program-options.ts';

const PROGRAMS = new Set([...GRAMMARS.keys()].map((name) => /^[^.]+(?:\.(?:exe|local))?/.exec(name)?.[0] ?? name));
const PROGRAM = new RegExp(`(?<![\\w.-])(?:${[...PROGRAMS].join('|').replaceAll('.', '\\.')})(?=["']?[, \\t])`, 'g');
/** A shell's words, or the elements of a JSON array of arguments. */
const WORDS = /"(?:[^"\\\r\n]|\\.){0,4096}"|'[^'\r\n]{0,4096}'|[^\s"']{1,4096}|[\r\n]/g;
const ENDS = /^(?:[\r\n]|[|;&]{1,2})$/;
/** A sentence about a program continues so. */
const FUNCTION_WORD = /^(?:to|the|an?|and|or|for|with|is|was|in|of|on|by|from|failed|command|has|will|can|[|&;]+)$/;
/** So many words after a program belong to it. */
const MOST_WORDS = 64;

/** The secrets in the arguments of known programs. Takes linear time. */
export function commandLines(text: string, found: (start: number, end: number) => void): void {
  eachValue(text, PLACES, (value, end) => {
    if (mayBeSecret(value)) found(end - value.length, end);
  });
  for (const { sign, line, pair } of PAIRS) {
    if (!text.includes(sign)) continue;
    for (const { index, 0: command } of allMatches(text, line)) {
      eachValue(command, [['=', pair]], (value, end) => {
        if (mayBeSecret(value)) found(index + end - value.length, index + end);
      });
    }
  }
  PROGRAM.lastIndex = 0;
  for (let match = PROGRAM.exec(text); match !== null; match = PROGRAM.exec(text)) {
    // A quoted program in a list of arguments, as the kernel's audit writes them: `a0="zip" a1="-P"`.
    const isQuoted = /["']/.test(text[match.index - 1] ?? '') && /["']/.test(text[PROGRAM.lastIndex] ?? '');
    PROGRAM.lastIndex = argumentsOf(text, match.index - (isQuoted ? 1 : 0), found);
  }
}

/** Reports the secrets of one command line, and returns where it ends. */
function argumentsOf(text: string, at: number, found: (start: number, end: number) => void): number {
  WORDS.lastIndex = at;
  let names: string[] = [];
  let waiting: 'secret' | 'user' | undefined;
  /** So many arguments before the secret, with it. */
  let place = 0;
  for (let count = 0; count < MOST_WORDS; count += 1) {
    const match = WORDS.exec(text);
    if (match === null) return text.length;
    if (ENDS.test(match[0])) break;
    const quoted = /^["'](.*)["']$/.exec(match[0])?.[1];
    const word = (quoted ?? match[0]).replace(/^\[|[\],]$/g, '');
    if (word === '' || word === ',' || /^a[0-9]{1,3}=$/.test(word)) continue;
    const start = match.index + match[0].indexOf(word);
    if (waiting !== undefined) {
      report(word, start, waiting, found);
      waiting = undefined;
      continue;
    }
    if (!word.startsWith('-')) {
      const base = word.slice(word.lastIndexOf('/') + 1);
      if (place > 0) {
        place = FUNCTION_WORD.test(word) ? 0 : place - 1;
        if (place === 0) report(word, start, 'secret', found);
      }
      // A program that starts another, as sshpass and sudo do.
      else if (PROGRAMS.has(base) && !names.includes('login')) names = [base];
      else if (names.length === 0) names = [base];
      else if (names.length < 4) names.push(word);
    }
    for (const grammar of grammarsOf(names))
      place = grammar.places?.[PROGRAMS.has(word) ? (names[0] ?? '') : word] ?? place;
    waiting = optionIn(word, start, names, found);
  }
  return Math.max(at + 1, WORDS.lastIndex);
}

function grammarsOf(names: readonly string[]): readonly Grammar[] {
  const [program = '', ...words] = names;
  return [program, ...words.map((word) => `${program}.${word}`)].flatMap((key) => GRAMMARS.get(key) ?? []);
}

/** Reports a value in the option's own word; otherwise says what the next word is. */
function optionIn(
  word: string,
  start: number,
  names: readonly string[],
  found: (start: number, end: number) => void,
): 'secret' | 'user' | undefined {
  const equals = word.indexOf('=');
  const name = equals > 0 ? word.slice(0, equals) : word;
  for (const grammar of grammarsOf(names)) {
    for (const kind of ['secret', 'user'] as const) {
      if (grammar[kind]?.includes(name) !== true) continue;
      if (equals < 0) return kind;
      report(word.slice(equals + 1), start + equals + 1, kind, found);
    }
    for (const option of grammar.attached ?? []) {
      if (word.startsWith(option) && word.length > option.length)
        report(word.slice(option.length), start + option.length, 'secret', found);
    }
    for (const option of grammar.user ?? []) {
      if (option.length === 2 && word.startsWith(option) && word.length > 2)
        report(word.slice(2), start + 2, 'user', found);
    }
  }
  return undefined;
}

function report(
  value: string,
  start: number,
  kind: 'secret' | 'user',
  found: (start: number, end: number) => void,
): void {
  const user = kind === 'user' ? value.search(/[:%]/) : -1;
  if (kind === 'user' && user < 0) return;
  const secret = value.slice(user + 1);
  if (mayBeSecret(secret)) found(start + user + 1, start + value.length);
}

/** Commands whose word at a place is the secret: what comes before it, bounded. */
const PLACES: readonly Form[] = [
  ['-pass', /-pass(?:in|out)?[ =]["']?pass:([^\s"']{1,512})/g],
  ['login ', /\b(?:vault|bao) login (?:-no-print )?(?=[^-\s])([^\s"'=]{8,512})(?!\S)/g],
  ['htpasswd', /\bhtpasswd -\S{0,8}b\S{0,8} \S{1,200} \S{1,100} ([^\s"']{1,512})/g],
  ['net user ', /\bnet user (?:\/\S{1,20} )?\S{1,64} ([^\s"'/]\S{0,200})/g],
  [
    'MONITOR ',
    /\bMONITOR \S{1,64}@\S{1,64} [0-9]{1,2} \S{1,64} ["']?([^\s"']{1,128})["']?(?= (?:master|slave|primary|secondary))/g,
  ],
  ['microk8s join ', /\bmicrok8s join [^\s/]{1,100}\/([0-9a-f]{32}(?:\/[0-9a-f]{12})?)/g],
  ['secret,', /\bsecret,id=[\w.-]{1,64},(?:format=\w{1,10},)?data=([^\s,"']{1,512})/g],
  ['/pass', /\/pass(?:word)?:([^\s"']{1,200})/g],
  [' /pass', /\s\/pass(?:word)? (?![/*-])["']?([^\s"']{1,200})/g],
  ['passw', /\/[\w-]{0,40}passw(?:or)?d[\w-]{0,20}[ \t]{1,8}(?:password|string)[ \t]{1,8}([^\s"']{1,512})/g],
  [' -p', / -p["']([^"'\s]{1,200})["']/g],
  ['--password-file=<', /--password-file=<\(echo ([^\s)]{1,512})/g],
  ['SWMTKN', /\bSWMTKN-1-([\w-]{16,200})/g],
  // The value of a setting of that name, as iscsiadm and occ write it, and of a secret that a command stores.
  ['-v', /(?:passw(?:or)?d|secret|token|psk)\S{0,20} [^\r\n]{0,80}?(?:-v|--value)[ =]["']?([^\s"']{1,512})/gi],
  [' use ', /\bnet(?:\.exe)?["']? use [^\r\n]{0,200}?\/u(?:ser)?:\S{1,100} (?!\/)["']?([^\s"']{1,200})/gi],
  [' use ', /\bnet(?:\.exe)?["']? use (?:\S{1,8} )?\\\\\S{1,200} (?![/*])["']?([^\s"']{1,200})(?=["']? \/u)/gi],
  ['/v ', /\/v ["']?\S{0,60}(?:password|secret|token|psk)\S{0,40} [^\r\n]{0,60}?\/d ["']?([^\s"']{1,512})/gi],
  ['SecureString', /\bConvertTo-SecureString(?: -(?:AsPlainText|Force|String)){0,3} \(?\\?["']([^"'\r\n\\]{1,512})/gi],
  ['SecureString', /\bConvertTo-SecureString(?: -(?:AsPlainText|Force|String)){0,3} (?![$(-])([^\s"'();|\\]{4,512})/gi],
  ['SecureString', /["']([^"'\r\n]{1,512})(?=["'] ?\| ?ConvertTo-SecureString)/gi],
  ['operator ', /\b(?:vault|bao) operator (?:unseal|rekey|generate-root)(?: -\S{1,100}){0,4} (?!-)([\w+/=-]{20,512})/g],
  [
    'configure set',
    /\baws configure set (?:\S{1,60}\.)?(?:aws_secret_access_key|aws_session_token) ["']?([^\s"']{1,2048})/g,
  ],
  ['radtest ', /\bradtest (?:-\S{1,20} ){0,4}\S{1,100} ["']?([^\s"']{1,512})/g],
  ['radtest ', /\bradtest [^\r\n]{1,300} [0-9]{1,5} ["']?([^\s"']{1,512})/g],
  ['wpa_cli', /\bwpa_cli [^\r\n]{0,80}?(?:psk|password|passphrase|wep_key[0-3]) ["'\\]{0,4}([^\s"'\\]{1,512})/g],
  [
    'AUTH',
    /(?:> |"|^)AUTH"? ["']?(?!PLAIN\b|LOGIN\b)[\w-]{1,40}["']? ["']?((?=[^\s"']{0,80}[0-9!#$%^&*])[^\s"']{6,512})/g,
  ],
  ['AUTH ', /\b(?:AUTH)(?: default)? ["']?((?=[^\s"']{0,80}[0-9!#$%^&*])[^\s"']{6,512})/g],
  [
    'CONFIG SET ',
    /\b(?:CONFIG SET (?:requirepass|masterauth))(?: default)? ["']?((?=[^\s"']{0,80}[0-9!#$%^&*])[^\s"']{6,512})/g,
  ],
  [' -pw ', /\b(?:pwadd|addprinc|cpw|add_principal|change_password) (?:-\S{1,20} ){0,4}-pw ["']?([^\s"']{1,512})/g],
  [' --type SecureString', /--type SecureString [^\r\n]{0,80}?--value[ =]["']?([^\s"']{1,512})/g],
  // Oracle: a user, its password and a database.
  ...['sqlplus', 'expdp', 'impdp', 'sqlldr', 'dgmgrl', 'rman'].map(
    (program): Form => [
      program,
      /\b(?:sqlplus|expdp|impdp|sqlldr|dgmgrl|rman)["']?,?(?: (?:-\w{1,10}(?: [0-9.]{1,8})?|target|["'])){0,5}[ ="']{1,3}(?:userid=)?[\w$#.]{1,60}\/([^\s@"'/]{1,128})(?=@|["']|\s|$)/g,
    ],
  ),
  ['userid=', /\buserid=["']?[\w$#.]{1,60}\/([^\s@"'/]{2,128})/gi],
  ['conn', /\bconn(?:ect)? ["']?[\w$#.]{1,60}\/([^\s@"'/]{2,128})(?=@)/gi],
  [' user ', /\b(?:db2|CONNECT TO) [^\r\n]{1,80} user \S{1,60} using ([^\s"';]{1,128})/gi],
  [
    'openssl passwd',
    /\bopenssl passwd (?:-(?!stdin|in\b|salt)\S{1,12} |-salt \S{1,40} ){0,4}(?!-)["']?([^\s"']{4,128})/g,
  ],
  [
    'mkpasswd',
    /\bmkpasswd (?:-{1,2}\S{1,20}(?: sha-\d{3}| [0-9]{1,8})? ){0,4}(?![-(])["']?((?=[^\s"']{0,80}[0-9!#$%^&*_-])[^\s"']{4,128})/g,
  ],
  ['http-basic', /\bhttp-basic\.\S{1,100} \S{1,100} ["']?([^\s"']{1,512})/g],
  // Commands of protocols: IMAP, POP3 and FTP, SASL, Redis.
  ['LOGIN ', /(?:^|[\s>:*"'])[A-Za-z]{0,6}\.?[0-9]{1,8} LOGIN ["{]?[^\s"]{1,100}["}]? ["']?([^\s"'\\]{1,256})/g],
  [
    'PASS ',
    /(?:[><]|\bC:|\b(?:sent|client|cmd|command)\b[:=]?|["']) ?["']?PASS (?![/\\])([^\s"'\\]{1,256})(?=["'\\]|\s*$|[\r\n])/g,
  ],
  ['PASS ', /\bUSER \S{1,100}(?:\r|\n|\\[rn]|[;,] ?|\s){1,4}(?:[\w:>-]{1,12} ){0,3}PASS (?![/\\])([^\s"'\\]{1,256})/g],
  ['AUTH', /\bAUTH(?:ENTICATE)? (?:PLAIN|LOGIN|XOAUTH2|OAUTHBEARER) ([\w+/=]{8,2048})/g],
  ['334 ', /\b334 [\w+/=]{0,64}(?:\r?\n|\\r\\n|\\n)(?:[\w<>:-]{1,8} )?([A-Za-z0-9+/]{4,512}={0,2})(?=\s|\\|$)/g],
  ['AUTH', /\bAUTH(?:\r?\n|(?:\\r)?\\n| )\$[0-9]{1,4}(?:\r?\n|(?:\\r)?\\n| )([^\s"'\\]{1,512})/g],
  ['user ', /\buser \S{1,64} (?:on|off)\b[^\r\n>]{0,120} >(\S{1,512})/g],
  ['ETUSER ', /\bACL SETUSER \S{1,64} [^\r\n>]{0,120}>([^\s"']{1,512})/gi],
  // Configurations whose secret has a name only by its place.
  ['stats auth ', /\bstats auth [^\s:]{1,64}:(\S{1,256})/g],
  ['cachemgr_passwd ', /\bcachemgr_passwd (?!none\b|disable\b)(\S{1,256})/g],
  ['login=', /\bcache_peer [^\r\n]{1,200} login=[^\s:]{1,64}:(\S{1,256})/g],
  ['ommunity ', /\b(?:snmp-server|snmp) community (?!["']?(?:string|name|is|not)\b)["']?([^\s"']{1,128})/g],
  ['com2sec', /\bcom2sec6?[ \t]{1,16}(?:-Cn \S{1,64} )?\S{1,64}[ \t]{1,16}\S{1,64}[ \t]{1,16}["']?([^\s"']{1,128})/g],
  ['trap', /\b(?:trap2?sink|informsink)[ \t]{1,16}\S{1,100}[ \t]{1,16}["']?([A-Za-z][^\s"']{1,128})/g],
  [
    'key ',
    /\b(?:isakmp key|(?:radius|tacacs)-server(?: host \S{1,64}(?: [\w-]{1,20} [0-9]{1,5}){0,3})? key|key-string)(?: [0-9])? ["']?([^\s"']{1,128})/g,
  ],
  [' md5 ', /\b(?:message-digest-key|authentication-key) [0-9]{1,5} md5(?: [0-9])? ["']?([^\s"']{1,128})/g],
  ['lftp ', /\blftp [^\r\n]{0,100}?-u \S{1,64},([^\s"']{1,512})/g],
  ['send', /\bsend(?:_user)? (?:-- )?["']([^"'\r\n\\]{4,128})(?=\\[rn])/g],
];

/** Commands with names and values, of which all or those named here are secrets. */
const PAIRS: readonly { readonly sign: string; readonly line: RegExp; readonly pair: RegExp }[] = [
  {
    sign: 'create secret ',
    line: /\bcreate secret [^\r\n]{1,4096}/g,
    pair: /--from-literal[= ]["']?[\w.-]{1,100}=["']?([^\s"']{1,4096})/g,
  },
  {
    sign: ' kv p',
    line: /\b(?:vault|bao) kv (?:put|patch) [^\r\n]{1,4096}/g,
    pair: /(?<= )(?!-)["']?[\w.-]{1,100}=["']?([^\s"'@-][^\s"']{0,4096})/g,
  },
  {
    sign: ' write ',
    line: /\b(?:vault|bao) write [^\r\n]{1,4096}/g,
    pair: /(?<= )(?:value|jwt|[\w-]{0,40}(?:secret|passw|bindpass|_key|token)[\w-]{0,20})=["']?([^\s"'@][^\s"']{0,4096})/g,
  },
];
