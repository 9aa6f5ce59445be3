/**
 * What is wrong with the URL of a proxy, in words that hold nothing of it; undefined when it is right. It must mean the
 * same to everybody who reads it: to curl a URL without a scheme is http, to Go it is none.
 */
export function proxyUrlProblem(text: string): string | undefined {
  // RFC 3986, 2: what may stand in a URL. This keeps white space, quotes and line breaks out of files of variables.
  if (!/^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/.test(text)) return 'a character in it must be percent-encoded';
  const parts = /^([a-z][a-z0-9+.-]*):\/\/(?:([^/?#@]*)@)?([^/?#@]*)([/?#].*)?$/i.exec(text);
  if (parts === null) return 'it is not a URL of the form http://proxy.example:3128';
  const [, scheme = '', , server = '', rest = ''] = parts;
  if (scheme !== 'http' && scheme !== 'https') return 'its scheme is neither http nor https';
  if (rest !== '' && rest !== '/') return 'nothing may follow the host and port';
  if (!URL.canParse(text) || server === '' || server.startsWith(':')) return 'its host or port is malformed';
  return undefined;
}

/** Whether the URL of a proxy holds a user name or password. */
export function holdsCredentials(text: string): boolean {
  return /^[a-z]+:\/\/[^/?#]*@/i.test(text);
}
