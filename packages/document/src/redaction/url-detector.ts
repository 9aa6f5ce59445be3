import { allMatches } from './all-matches.ts';

/** Longer user information in a URL is not searched for. */
const LONGEST_USER = 1024;

/** Ends the part of a URL with user and server (RFC 3986, 3.2), or the URL. */
const AUTHORITY_ENDS = new Set(Array.from(' \t\r\n"\'`<>/?#\\', (character) => character.charCodeAt(0)));

/** A parameter of a query, even without a server before it. */
const PARAMETER = /[?&]([\w.~%-]{1,64})=([^\s"'`<>&#\\),;]{1,8192})/g;

/** Parameters of Kubernetes' API without secrets, which make a log readable. */
const HARMLESS_PARAMETER =
  /^(?:limit|timeout|timeoutSeconds|watch|resourceVersion(?:Match)?|fieldSelector|labelSelector|allowWatchBookmarks|sendInitialEvents|fieldManager|force|fieldValidation|dryRun|pretty|follow|tailLines|container|previous|verbose|exclude|ns|version|arch|api-version|recursive)$/;

/** User and password of a URL, and the values of its query. */
export function urls(text: string, found: (start: number, end: number) => void): void {
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at + 3)) {
    const start = at + 3;
    const limit = Math.min(text.length, start + LONGEST_USER);
    let end = start;
    while (end < limit && !AUTHORITY_ENDS.has(text.charCodeAt(end))) end += 1;
    const user = end > start ? text.slice(start, end).lastIndexOf('@') : -1;
    if (user >= 0) found(start, start + user);
  }
  for (const { index, 0: whole, 1: name = '', 2: value = '' } of allMatches(text, PARAMETER)) {
    if (HARMLESS_PARAMETER.test(name) || /^(?:[0-9]{1,9}|true|false)$/.test(value)) continue;
    found(index + whole.length - value.length, index + whole.length);
  }
}
