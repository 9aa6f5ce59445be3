import { allMatches } from './all-matches.ts';
import { unlikeWord } from './likely-value.ts';

/** What a sentence says about a secret, then a word that is unlike a sentence's. */
const PROSE =
  /\b(?:password|passphrase|passcode|pre-shared key|secret|token|api key|access key|credentials?)((?:["']? (?:for|of|on)(?: user)? [\w@.:/\\'"-]{1,64}){0,1})((?: (?:is|was|are|to|set|now|changed|reset|as|generated)){0,3}(?::| =)? ["'`]?)([^\s"'`]{6,512})/gi;
/** The same in other languages: a name, a few words, and a sign or a verb. */
const FOREIGN =
  /(?:kennwort|passwort|geheimnis|(?<![a-zäöüß])schlüssel|mot de passe|phrase secrète|clé (?:pré-partagée|secrète|privée|d'accès|api)|jeton|contraseña|clave|senha|chave (?:secreta|privada)|parola(?: d'ordine)?|heslo|hasło|wachtwoord|lösenord|passord|adgangskode|salasana|jelszó|parolă|şifre|пароль|ключ|密码|密碼|口令|パスワード|비밀번호)(?![a-zäöüßéèáíóúçñøåа-я])(?: [^\s:=]{1,40}){0,5}(?: ?[:=：]| (?:lautet|ist|wurde|est|es|è|é|zijn|är|er|on|to|é|jest|je))[ \u00a0]{0,2}["'«„“]?([^\s"'»“”]{4,512})/gi;
/** Numbers that open something. */
const CODE =
  /\b(?:PIN|PUK|(?:[Rr]ecovery|[Oo]ne-time|[Pp]airing|[Uu]nlock|[Vv]erification|[Ss]etup) (?:code|key|password|PIN))(?: (?:code|is|was|set|to|to:)){0,2}[:=]? ["']?((?=[A-Za-z-]{0,40}[0-9])[A-Za-z0-9-]{4,80})(?![\w-])/g;
const CODE_SIGNS = ['PIN', 'PUK', 'ecovery ', 'ne-time ', 'airing ', 'nlock ', 'erification ', 'etup '];
/** `disk CT1000P3`: what a sentence asks a secret for, and no secret. */
const SERIAL = /^[A-Z0-9]{1,20}$/;

/** Secrets that a sentence tells. Takes linear time. */
export function sentences(text: string, found: (start: number, end: number) => void): void {
  for (const { index, 0: whole, 1: object = '', 2: link = '', 3: value = '' } of allMatches(text, PROSE)) {
    const trimmed = value.replace(/[.,;:)]{1,4}$/, '');
    const start = index + whole.length - value.length;
    if (object !== '' && link === ' ' && SERIAL.test(trimmed)) continue;
    if (unlikeWord(trimmed)) found(start, start + trimmed.length);
  }
  for (const { index, 0: whole, 1: value = '' } of allMatches(text, FOREIGN)) {
    const trimmed = value.replace(/[.,;:)]{1,4}$/, '');
    const start = index + whole.length - value.length;
    if (unlikeWord(trimmed)) found(start, start + trimmed.length);
  }
  if (!CODE_SIGNS.some((sign) => text.includes(sign))) return;
  for (const { index, 0: whole, 1: value = '' } of allMatches(text, CODE))
    found(index + whole.length - value.length, index + whole.length);
}
