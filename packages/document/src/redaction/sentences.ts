import { allMatches } from './all-matches.ts';
import { readsAsSentence, unlikeWord } from './likely-value.ts';

const NOUN =
  'pass(?:word|phrase|code|wd)|pwd?|pre-shared key|secret(?: key)?|token|api key|access key|(?:encryption|unlock|recovery|unseal|master|license|wi-?fi|wlan|wpa2?|vpn|network) key|credentials?';
/** What a sentence says about a secret, then a word that is unlike a sentence's. */
const PROSE = new RegExp(
  `\\b(${NOUN})((?:["']? (?:for|of|on|in|to)(?: user)? [\\w@.:/\\\\'"-]{1,64}){0,1})((?: (?:is|was|are|to|set|now|changed|reset|as|generated)){0,3}(?::| =)? ["'\`\u201c\u00ab]?[ \\u00a0]?)([^\\s"'\`\u201d\u00bb]{6,512})`,
  'gi',
);
/** What a program says about a secret that it has made: `A temporary password is generated for root@localhost: word`. */
const ANNOUNCED = new RegExp(
  `\\b(?:temporary|initial|generated|new|default|following|random|one-time|bootstrap|admin|administrator|root|master|your|its)(?: [\\w'-]{1,20}){0,3}? (?:${NOUN})s?\\b[^:=\\r\\n]{0,80}[:=][ \\t]{1,4}["'\`\u201c\u00ab]?([^\\s"'\`\u201d\u00bb]{4,512})`,
  'gi',
);
const NEW_VALUE = new RegExp(
  `\\b(?:${NOUN})\\b[^\\r\\n]{0,120}(?:\\r?\\n|\\\\n|[.;,] ?)(?:the )?new (?:value|one)(?: is)?:? ["'\`]?([^\\s"'\`]{6,512})`,
  'gi',
);
/** `"word" as the password`: what comes after the word. */
const AFTER = new RegExp(
  ` (?:as|is|was|for) (?:(?:the|a|an|my|our|your|his|her|its|their|new|old|current) ){0,2}(?:[\\w-]{1,20} )?(?:${NOUN}|PIN)\\b`,
  'gi',
);
const LAST_WORD = /[^\s"'`\u201c\u201d\u00ab\u00bb]{6,128}(?=["'`\u201d\u00bb]?$)/;
/** `password for the console of the switch is word`. */
const TOLD = new RegExp(
  `\\b(?:${NOUN})(?: [\\w@.'()/-]{1,40}){1,6} (?:is|was|now|set to|changed to|reset to):? ["'\`\u201c\u00ab]?([^\\s"'\`\u201d\u00bb]{6,512})`,
  'gi',
);
/** The value is the next line. */
const BELOW = new RegExp(
  `\\b(?:${NOUN})(?: is| are| below)?:?[ \\t]{0,8}(?:\\r?\\n[ \\t]{0,16}){1,2}([^\\s"'\`]{8,512})(?=[ \\t]{0,8}(?:[\\r\\n]|$))`,
  'gi',
);
/** A passphrase of several words. */
const WORDS = new RegExp(
  `\\b(?:${NOUN})(?: (?:is|was|to|set to|now|changed to)|:| =) ?["'\u201c]([^"'\u201d\\r\\n]{6,128})(?=["'\u201d])`,
  'gi',
);
/** `credentials are admin / word`. */
const ACCOUNT =
  /\b(?:credentials?(?: are| is|:| =)|(?:id|user(?:name)?|login) ?[/:] ?p(?:ass)?(?:word|wd?)?(?: for \S{1,64})?(?: are| is|:| =)?|log ?in (?:with|as|using|data:?)|logged in (?:with|as|using)) ["'`]?[\w.@-]{1,64}["'`]?(?: ?\/ ?|:| and |\()["'`]?([^\s"'`,]{4,256})/gi;
/** The same in other languages: a name, a few words, and a sign or a verb. */
const FOREIGN =
  /(?:(?<![\w-])password|kennwort|passwort|geheimnis|(?<![a-zäöüß])schlüssel|mot de passe|phrase secrète|clé (?:pré-partagée|secrète|privée|d'accès|api)|jeton|contraseña|clave|senha|chave (?:secreta|privada)|parola(?: d'ordine)?|heslo|hasło|wachtwoord|lösenord|passord|adgangskode|salasana|jelszó|parolă|şifre|пароль|ключ|密码|密碼|口令|パスワード|暗証番号|비밀번호|비번|암호|패스워드)(?![a-zäöüßéèáíóúçñøåа-я])(?: [^\s:=]{1,40}){0,5}(?: ?[:=：(]|(?:은|는)| (?:lautet|ist|wurde|auf|est|es|è|é|zijn|är|er|on|to|é|jest|je))[ \u00a0]{0,2}["'«„“]?[ \u00a0]?([^\s"'»“”]{4,512})/gi;
/** Numbers that open something. */
const CODE =
  /\b(?:PIN|PUK|(?:[Rr]ecovery|[Oo]ne-time|[Pp]airing|[Uu]nlock|[Vv]erification|[Ss]etup|[Bb]ackup|[Ss]cratch) (?:codes?|key|password|PIN))(?: (?:codes?|is|are|was|set|to|to:|for \S{1,64})){0,2}[:=]? ["']?((?=[A-Za-z-]{0,40}[0-9])[A-Za-z0-9-]{4,80})(?![\w-])/g;
const NEXT_CODE = /[, ]{1,2}((?=[A-Za-z-]{0,40}[0-9])[A-Za-z0-9-]{4,80})(?![\w-])/y;
const CODE_SIGNS = [
  'PIN',
  'PUK',
  'ecovery ',
  'ne-time ',
  'airing ',
  'nlock ',
  'erification ',
  'etup ',
  'ackup ',
  'cratch ',
];
/** `disk CT1000P3`: what a sentence asks a secret for, and no secret. */
const SERIAL = /^[A-Z0-9]{1,20}$/;

/** The name of a Secret or of another object of Kubernetes. */
const OBJECT = /^(?:[a-z0-9-]{1,40}\/)?[a-z0-9]{1,40}(?:[-.][a-z0-9]{1,40}){1,10}$/;

/** Secrets that a sentence tells. Takes linear time. */
export function sentences(text: string, found: (start: number, end: number) => void): void {
  for (const { index, 0: whole, 1: noun = '', 2: object = '', 3: link = '', 4: value = '' } of allMatches(
    text,
    PROSE,
  )) {
    const trimmed = value.replace(/[.,;:)]{1,4}$/, '');
    const start = index + whole.length - value.length;
    if (object !== '' && link === ' ' && SERIAL.test(trimmed)) continue;
    if (/^ ["'`\u201c]?$/.test(link) && /^(?:secret|token)$/i.test(noun) && OBJECT.test(trimmed)) continue;
    if (unlikeWord(trimmed)) found(start, start + trimmed.length);
  }
  for (const form of [ANNOUNCED, NEW_VALUE, BELOW, TOLD, ACCOUNT, FOREIGN]) {
    for (const { index, 0: whole, 1: value = '' } of allMatches(text, form)) {
      const trimmed = value.replace(/[.,;:)]{1,4}$/, '');
      const start = index + whole.length - value.length;
      if (unlikeWord(trimmed)) found(start, start + trimmed.length);
    }
  }
  for (const { index, 0: whole, 1: value = '' } of allMatches(text, WORDS)) {
    const end = index + whole.length;
    if (value.includes(' ') && /[0-9!#$%^&*+@]/.test(value) && !readsAsSentence(value)) found(end - value.length, end);
  }
  for (const { index } of allMatches(text, AFTER)) {
    const before = text.slice(Math.max(0, index - 130), index);
    const word = LAST_WORD.exec(before);
    if (word !== null && unlikeWord(word[0]))
      found(index - before.length + word.index, index - before.length + word.index + word[0].length);
  }
  if (!CODE_SIGNS.some((sign) => text.includes(sign))) return;
  for (const { index, 0: whole, 1: value = '' } of allMatches(text, CODE)) {
    let end = index + whole.length;
    found(end - value.length, end);
    for (let count = 0; count < 16; count += 1) {
      NEXT_CODE.lastIndex = end;
      const next = NEXT_CODE.exec(text);
      if (next === null) break;
      end += next[0].length;
      found(end - (next[1] ?? '').length, end);
    }
  }
}
