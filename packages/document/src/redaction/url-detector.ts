import { allMatches } from './all-matches.ts';
import { namesSecret } from './key-detector.ts';
import { isMasked, isWorthless } from './likely-value.ts';

/** Longer user information in a URL is not searched for. */
const LONGEST_USER = 1024;

/** Ends the part of a URL with user and server (RFC 3986, 3.2), or the URL. */
const AUTHORITY_ENDS = new Set(Array.from(' \t\r\n"\'`<>/?#\\', (character) => character.charCodeAt(0)));

/** A parameter of a query, even without a server before it. */
const PARAMETER = /[?&]([\w.~%-]{1,64})=([^\s"'`<>&#\\),;]{1,8192})/g;

/** Parameters of Kubernetes' API without secrets, which make a log readable. */
const HARMLESS_PARAMETER =
  /^(?:limit|timeout|timeoutSeconds|watch|resourceVersion(?:Match)?|fieldSelector|labelSelector|allowWatchBookmarks|sendInitialEvents|fieldManager|force|fieldValidation|dryRun|pretty|follow|tailLines|container|previous|verbose|exclude|ns|version|arch|api-version|recursive|scope|service|grant_type|response_type)$/;

/** A user without a password. */
const NAME = /^(?:[a-z]{2,16}(?:[-_.][a-z]{1,16}){0,2}[0-9]{0,2}|(?:[A-Z]?[a-z]{1,20}){1,6})$/;
/** A choice of few words, as in `channel=stable&sslmode=verify-full`, and the path of a file. */
const CHOICE = /^(?:[a-z]{2,16}(?:[-_.][a-z]{2,16}){0,3})$/;
/** What somebody looks for, in words. */
const SEARCH = /^(?:q|s|query|search|term|keywords?|text)$/;
const WORDS = /^[a-z]{1,20}(?:(?:\+|%20|%3A|[:.-])[a-z]{1,20}){1,12}$/i;
const FILE_NAME = /(?:key|cert|file|path)$/i;
const FILE = /^\/[a-z][a-z0-9_.-]{0,40}(?:\/[a-z0-9_.-]{1,40}){1,8}$/;
/** Parameters whose value is never a choice, even where it is one word; short names may mean anything. */
const NAMES_SECRET =
  /code|sig|key$|auth|pass|session|state|nonce|user|login|email|cookie|sid$|otp|pin$|hash|cred|jwt|saml|assertion|ticket|grant|verifier|answer|phrase/i;

/** User and password of a URL, and the values of its query. */
export function urls(text: string, found: (start: number, end: number) => void): void {
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at + 3)) {
    const start = at + 3;
    const limit = Math.min(text.length, start + LONGEST_USER);
    let end = start;
    while (end < limit && !AUTHORITY_ENDS.has(text.charCodeAt(end))) end += 1;
    const user = end > start ? text.slice(start, end).lastIndexOf('@') : -1;
    if (user < 0) continue;
    const before = text.slice(start, start + user);
    if (!isName(text, at, before) && !isWorthless(before.slice(before.indexOf(':') + 1))) found(start, start + user);
  }
  for (const { index, 0: whole, 1: name = '', 2: value = '' } of allMatches(text, PARAMETER)) {
    if (HARMLESS_PARAMETER.test(name) || /^(?:[0-9]{1,9}|true|false)$/.test(value)) continue;
    if (SEARCH.test(name) && WORDS.test(value)) continue;
    if (isMasked(value)) continue;
    const isSecret = NAMES_SECRET.test(name) || namesSecret(name);
    if ((CHOICE.test(value) && !isSecret) || (FILE.test(value) && (!isSecret || FILE_NAME.test(name)))) continue;
    found(index + whole.length - value.length, index + whole.length);
  }
}

/** Protocols whose URLs may have a token or a password alone, and no user. */
const TOKEN_ALONE = /(?:https?|rediss?|amqps?)$/i;

function isName(text: string, end: number, user: string): boolean {
  return (
    NAME.test(user) &&
    (user === 'git' ||
      /\bfor '\w{1,10}$/.test(text.slice(Math.max(0, end - 16), end)) ||
      !TOKEN_ALONE.test(text.slice(Math.max(0, end - 8), end)))
  );
}
