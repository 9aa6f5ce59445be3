import { allMatches } from './all-matches.ts';
import { mayBeSecret } from './likely-value.ts';

/**
 * Which options of a program have a secret as their value, by its manual. `secret` is the next word or follows `=`; `user` is a user and, after `:` or
 * `%`, the secret; `attached` follows its option directly (`mysql -pWORD`; with a blank, it is asked for).
 */
interface Grammar {
  readonly secret?: readonly string[];
  readonly user?: readonly string[];
  readonly attached?: readonly string[];
}

const MYSQL: Grammar = { attached: ['-p'], secret: ['--password'] };
const LDAP: Grammar = { secret: ['-w'] };
const LOGIN: Grammar = {
  secret: ['-p', '--password'],
  user: ['--creds', '--src-creds', '--dest-creds'],
};
const SMB: Grammar = { user: ['-U', '--user'], secret: ['--password'] };
const MONGO: Grammar = { secret: ['-p', '--password'] };
const SNMP: Grammar = { secret: ['-A', '-X', '-c'] };
const CONTAINERS: Grammar = { user: ['--creds', '--auth'], secret: ['--password', '--registry-token'] };
const ZIP: Grammar = { secret: ['-P', '--password'] };

const GRAMMARS: Readonly<Record<string, Grammar>> = {
  mysql: MYSQL,
  mysqldump: MYSQL,
  mysqladmin: MYSQL,
  mariadb: MYSQL,
  'mariadb-dump': MYSQL,
  sshpass: { secret: ['-p'], attached: ['-p'] },
  curl: { user: ['-u', '--user', '-U', '--proxy-user'], secret: ['--pass', '--proxy-pass', '--oauth2-bearer'] },
  wget: { secret: ['--password', '--http-password', '--ftp-password', '--proxy-password'] },
  ldapsearch: LDAP,
  ldapadd: LDAP,
  ldapmodify: LDAP,
  ldapdelete: LDAP,
  ldapwhoami: LDAP,
  ldappasswd: { secret: ['-w', '-s', '-a'] },
  openssl: { secret: ['-k', '-K', '-password'] },
  'docker login': LOGIN,
  'podman login': LOGIN,
  'nerdctl login': LOGIN,
  'buildah login': LOGIN,
  'skopeo login': LOGIN,
  'oras login': LOGIN,
  'helm registry login': LOGIN,
  'oc login': LOGIN,
  'az login': LOGIN,
  skopeo: { user: ['--creds', '--src-creds', '--dest-creds'] },
  podman: { user: ['--creds'] },
  crictl: CONTAINERS,
  ctr: { user: ['--user', '-u'] },
  etcdctl: { user: ['--user'], secret: ['--password'] },
  kubeadm: { secret: ['--token', '--discovery-token', '--tls-bootstrap-token', '--certificate-key'] },
  kubectl: { secret: ['--token', '--password', '--docker-password'] },
  'redis-cli': { secret: ['-a', '--pass'] },
  mongosh: MONGO,
  mongo: MONGO,
  mongodump: MONGO,
  mongorestore: MONGO,
  smbclient: SMB,
  rpcclient: SMB,
  net: SMB,
  adcli: { secret: ['--login-password', '--one-time-password'] },
  'ipa-client-install': { secret: ['-w', '--password'] },
  'realm join': { secret: ['--one-time-password'] },
  zip: ZIP,
  unzip: ZIP,
  '7z': { attached: ['-p'] },
  gpg: { secret: ['--passphrase'] },
  ipmitool: { secret: ['-P'] },
  snmpwalk: SNMP,
  snmpget: SNMP,
  snmpset: SNMP,
  keytool: { secret: ['-storepass', '-keypass', '-srcstorepass', '-deststorepass'] },
  influx: { secret: ['-password', '--password', '-t', '--token'] },
  sqlcmd: { secret: ['-P'], attached: ['-P'] },
  consul: { secret: ['-token', '--token'] },
  'subscription-manager': { secret: ['--password', '--activationkey'] },
  nmcli: { secret: ['password', 'wifi-sec.psk', '802-11-wireless-security.psk'] },
};

/** Commands whose word at a place is the secret: what comes before it, bounded. */
const PLACES: readonly RegExp[] = [
  /-pass(?:in|out)?[ =]["']?pass:([^\s"']{1,512})/g,
  /\b(?:vault|bao) login (?:-no-print )?(?=[^-\s])([^\s"'=]{8,512})(?!\S)/g,
  /\bhtpasswd -\S{0,8}b\S{0,8} \S{1,200} \S{1,100} ([^\s"']{1,512})/g,
  /\bwpa_passphrase \S{1,64} ([^\s"']{8,64})/g,
  /\brabbitmqctl (?:change_password|add_user|authenticate_user) \S{1,100} ([^\s"']{1,512})/g,
  /\bnet user \S{1,64} ([^\s"'/]\S{0,200})/g,
  /\/pass(?:word)?:([^\s"']{1,200})/g,
  /\becho (?:-n )?["']?(?:[\w.-]{1,64}:)?([^\s"'|]{4,512})["']? ?\| ?(?:sudo )?(?:kinit|passwd|chpasswd|realm|adcli|cryptsetup|docker login|podman login|smbpasswd|gpg)\b/g,
  /\b(?:chpasswd|realm|adcli|cryptsetup|kinit|passwd)\b[^\r\n<|]{0,200}<<< ?["']?(?:root:|[a-z_][a-z0-9_-]{0,31}:)?([^\s"']{1,512})/g,
  / -p["']([^"'\s]{1,200})["']/g,
  /--password-file=<\(echo ([^\s)]{1,512})/g,
  /\bSWMTKN-1-([\w-]{16,200})/g,
];

const PROGRAM = new RegExp(
  `(?<![\\w.-])(?:${[...new Set(Object.keys(GRAMMARS).map((name) => name.split(' ')[0] ?? name))].join('|')})(?=["']{0,1},?[ \\t])`,
  'g',
);
/** A shell's words, or the elements of a JSON array of arguments. */
const WORDS = /"(?:[^"\\\r\n]|\\.){0,4096}"|'[^'\r\n]{0,4096}'|[^\s"']{1,4096}|[\r\n]/g;
const ENDS = /^(?:[\r\n]|[|;&]{1,2})$/;
/** So many words after a program belong to it. */
const MOST_WORDS = 64;

/** The secrets in the arguments of known programs. Takes linear time. */
export function commandLines(text: string, found: (start: number, end: number) => void): void {
  for (const place of PLACES) {
    for (const { index, 0: whole, 1: value = '' } of allMatches(text, place)) {
      const start = index + whole.lastIndexOf(value);
      if (mayBeSecret(value)) found(start, start + value.length);
    }
  }
  PROGRAM.lastIndex = 0;
  for (let match = PROGRAM.exec(text); match !== null; match = PROGRAM.exec(text)) {
    PROGRAM.lastIndex = argumentsOf(text, match.index, found);
  }
}

/** Reports the secrets of one command line, and returns where it ends. */
function argumentsOf(text: string, at: number, found: (start: number, end: number) => void): number {
  WORDS.lastIndex = at;
  let names: string[] = [];
  let waiting: 'secret' | 'user' | undefined;
  for (let count = 0; count < MOST_WORDS; count += 1) {
    const match = WORDS.exec(text);
    if (match === null) return text.length;
    if (ENDS.test(match[0])) break;
    const quoted = /^["'](.*)["']$/.exec(match[0])?.[1];
    const word = (quoted ?? match[0]).replace(/^\[|[\],]$/g, '');
    if (word === '' || word === ',') continue;
    const start = match.index + match[0].indexOf(word);
    if (waiting !== undefined) {
      report(word, start, waiting, found);
      waiting = undefined;
      continue;
    }
    if (!word.startsWith('-')) {
      const base = word.slice(word.lastIndexOf('/') + 1);
      // A program that starts another, as sshpass and sudo do.
      if (base in GRAMMARS && !names.includes('login')) names = [base];
      else if (names.length === 0) names = [base];
      else if (names.length < 4) names.push(word);
    }
    waiting = optionIn(word, start, names, found);
  }
  return Math.max(at + 1, WORDS.lastIndex);
}

function grammarsOf(names: readonly string[]): readonly Grammar[] {
  const [program = ''] = names;
  const keys = [program, `${program} ${names.slice(1).find((name) => name === 'login' || name === 'join') ?? ''}`];
  if (names.includes('registry') && names.includes('login')) keys.push('helm registry login');
  return keys.flatMap((key) => GRAMMARS[key] ?? []);
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
