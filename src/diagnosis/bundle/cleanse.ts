import { redact } from '../../document/secret.ts';

const REMOVED = '[redacted]';

/** `password: x`, `client-key-data: x`, `auth = "x"`, `"token": "x"`; not the flags and files that only carry such a name. */
const SECRET_FIELD =
  /^(?!\s*-? *["']?--)(.{0,400}?(?:password|passwd|passphrase|secret|token|auth|identitytoken|key-data|certificateKey|certificate-key|api-?key)["']?\s*[:=]\s*)(?!\s*$|["']?(?:true|false|\{|\[|\d+[smh]?\b))(\S.*)$/i;

/** The same as flags: `--token x`, `--certificate-key=x`. */
const SECRET_FLAG = /(--(?:token|discovery-token|tls-bootstrap-token|certificate-key|password)[= ])\S+/g;

/** User and password in a URL, as a proxy's is written. */
const URL_CREDENTIALS = /(\b[a-z][a-z0-9+.-]*:\/\/)[^/\s"'@]+@/gi;

/** A certificate key by itself in a line, as kubeadm prints it under "Using certificate key:". A digest names its algorithm. */
const LONE_KEY = /(^|[\s\]:] ?)[0-9a-f]{64}$/;

/**
 * Text without secrets: known ones by their value and shape, fields by their name, credentials in URLs, keys in PEM
 * wherever they are. Whoever reads a bundle may be anybody, so what might be a secret goes as well.
 */
export function cleanse(text: string): string {
  return redact(text)
    .split('\n')
    .map((line) =>
      line
        .replace(URL_CREDENTIALS, `$1${REMOVED}@`)
        .replace(SECRET_FLAG, `$1${REMOVED}`)
        .replace(SECRET_FIELD, `$1${REMOVED}`)
        .replace(LONE_KEY, `$1${REMOVED}`),
    )
    .join('\n');
}
