/**
 * The problem of a proxy's URL, in a message that quotes nothing of it; undefined when it is valid. Every reader must
 * interpret it alike: without a scheme, curl assumes http and Go refuses.
 */
export function proxyUrlProblem(text: string): string | undefined {
  // RFC 3986, 2: the characters of a URL. Excludes white space, quotes and line breaks from files of variables.
  if (!/^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/.test(text)) return 'a character in it must be percent-encoded';
  const parts = /^([a-z][a-z0-9+.-]*):\/\/(?:([^/?#@]*)@)?([^/?#@]*)([/?#].*)?$/i.exec(text);
  if (parts === null) return 'it is not a URL of the form http://proxy.example:3128';
  const [, scheme = '', , server = '', rest = ''] = parts;
  if (scheme !== 'http' && scheme !== 'https') return 'its scheme is neither http nor https';
  if (rest !== '' && rest !== '/') return 'nothing may follow the host and port';
  if (!URL.canParse(text) || server === '' || server.startsWith(':')) return 'its host or port is malformed';
  return undefined;
}

/** Whether a proxy's URL contains a user name or password. */
export function holdsCredentials(text: string): boolean {
  return /^[a-z]+:\/\/[^/?#]*@/i.test(text);
}
