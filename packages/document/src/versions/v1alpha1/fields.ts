import * as z from 'zod';
import { DURATION_PATTERN } from '../../units.ts';
import { Verbatim, wholeNumber } from '../../verbatim.ts';

/** A number of another program's words, which keeps the text it is written with where JavaScript would change it. */
export const verbatimNumber = z.custom<number | Verbatim>(
  (value) => typeof value === 'number' || value instanceof Verbatim,
);

export const WHOLE_OF_64_BITS = 'expected a whole number of at most 64 bits, or a string';

/** As the kernel reads numbers: with a sign, or without one. */
export const wholeOf64Bits = verbatimNumber.refine((value) => {
  const whole = wholeNumber(String(value));
  return whole !== undefined && (BigInt.asUintN(64, whole) === whole || BigInt.asIntN(64, whole) === whole);
}, WHOLE_OF_64_BITS);

/**
 * Field types that several sections share. Each says in its message what is right, not only what is wrong. Their patterns are
 * published in the JSON Schema, where Go (RE2), Python and JavaScript read them: no lookaround, no backreference, no flags.
 */

export const duration = z
  .string({ error: 'expected a duration with a unit, such as "90s"' })
  .regex(DURATION_PATTERN, 'not a duration: write a number with its unit, such as "90s", "5m" or "1h30m"');

/** A part of a path that is not "..". `not` is what separates the parts. */
function pathPart(not: string): string {
  const other = `[^${not}\\x00\\n]`;
  return `(?:[^${not}.\\x00\\n]${other}*|\\.(?:[^${not}.\\x00\\n]${other}*)?|\\.\\.${other}+)`;
}

function pathOf(root: string, separator: string): string {
  const part = pathPart(separator);
  return `${root}(?:${part}(?:[${separator}]${part})*[${separator}]?)?`;
}

function pathProblem({ input }: { readonly input: unknown }): string {
  const path = String(input);
  if (!/^(?:\/|[A-Za-z]:[\\/])/.test(path) || /^\/.*\/\//.test(path)) return 'not an absolute path';
  if (/[\0\n]/.test(path)) return 'a path may not hold control characters';
  return path.split(/[\\/]/).includes('..') ? 'a path may not hold ".."' : 'not an absolute path';
}

const LINUX_PATH = pathOf('/', '/');

export const absolutePath = z
  .string()
  .max(512, 'longer than 512 characters')
  .regex(new RegExp(`^${LINUX_PATH}$`), { error: pathProblem });

/** A path of the machine: absolute on Linux, or with its drive on Windows (`checks-platform.ts` tells which it may be). */
export const machinePath = z
  .string()
  .max(512, 'longer than 512 characters')
  .regex(new RegExp(`^(?:${LINUX_PATH}|${pathOf('[A-Za-z]:[\\\\/]', '\\\\/')})$`), { error: pathProblem });

export const fileMode = z
  .string({ error: 'expected a mode as a string, such as "0644"' })
  .regex(/^0?[0-7]{3,4}$/, 'not a file mode: write octal digits in quotes, such as "0644"');

const DNS_LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';

/** RFC 1123 sub-domain, as Kubernetes demands of node names. */
export const dnsSubdomain = z
  .string()
  .max(253, 'longer than 253 characters')
  .regex(
    new RegExp(`^${DNS_LABEL}(?:\\.${DNS_LABEL})*$`),
    'not a valid name: use lower-case letters, digits, "-" and "." (RFC 1123)',
  );

export const hostname = z
  .string()
  .max(64, 'longer than the 64 characters that Linux allows')
  .regex(
    new RegExp(`^${DNS_LABEL}(?:\\.${DNS_LABEL})*$`),
    'not a valid host name: use lower-case letters, digits, "-" and "." (RFC 1123)',
  );

/** 1 to 65535. */
export const PORT = '(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';

/** `host:port`, also `[2001:db8::1]:6443`. */
export const hostPort = z
  .string()
  .regex(new RegExp(`^(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?):${PORT}$`), {
    error: ({ input }) => {
      const port = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]*):(\d+)$/.exec(String(input))?.[1];
      if (port !== undefined && Number(port) > 65535) return 'the port is above 65535';
      return port === undefined || Number(port) > 0 ? 'not host:port, such as "10.0.0.10:6443"' : 'the port is 0';
    },
  });

export const cidr = z
  .string()
  .regex(/^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f:]+)\/\d{1,3}$/, 'not a subnet, such as "10.244.0.0/16"');

const URL_PATTERNS = {
  https: /^https:\/\/[^\s/?#\\]+(?:[/?#][^\s\\]*)?$/,
  http: /^https?:\/\/[^\s/?#\\]+(?:[/?#][^\s\\]*)?$/,
  proxy: /^(?:https?|socks5):\/\/[^\s/?#\\]+(?:[/?#][^\s\\]*)?$/,
};

/** A URL with one of the schemes, as everybody reads it: in lower case, with "//", and without blanks and backslashes. */
export function url(schemes: keyof typeof URL_PATTERNS, error: string) {
  return z
    .string({ error })
    .regex(URL_PATTERNS[schemes], { error, abort: true })
    .refine((text) => URL.canParse(text), error);
}

export const httpUrl = url('http', 'not an http or https URL');

export const httpsUrl = url('https', 'not an https URL');

export const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'not a SHA-256 digest: 64 lower-case hex digits');

/** What to do about a secret without a value. */
export const EMPTY_SECRET =
  'an empty secret: write it, or name an entry of "secrets", which is one of value, file, env, systemdCredential, exec, http, awsSecretsManager, awsParameter';

/** A secret written down, or the name of an entry of `secrets`. */
export const secret = z.union([z.string().min(1, EMPTY_SECRET), z.strictObject({ secret: z.string() })], {
  error: 'expected a string, or {secret: name} naming an entry of "secrets"',
});

/** For a request whose URL is plain http though credentials or secrets travel with it. */
export const allowInsecure = z.boolean().optional();

export const headers = z.record(z.string().regex(/^[A-Za-z0-9-]+$/, 'not the name of a header'), secret);

export type SecretField = z.infer<typeof secret>;

export const environmentName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not the name of an environment variable');

/** A block of PEM, found in one pass: a pattern with two ends would look for the second one behind each of the first. */
function holdsPem(text: string, kind: string, end: string): boolean {
  const begin = `-----BEGIN ${kind}-----`;
  const start = text.indexOf(begin);
  return start >= 0 && text.indexOf(end, start + begin.length + 1) >= 0;
}

function isCertificate(text: string): boolean {
  return holdsPem(text, 'CERTIFICATE', '-----END CERTIFICATE-----');
}

export const certificatePem = z.string().refine(isCertificate, 'not a PEM certificate');

/** What proves this machine to a server (mutual TLS). */
export const clientCertificate = z.strictObject({ certificate: certificatePem, key: secret });

const VARIABLE = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/;

/**
 * The same in a field that takes variables, where one may stand for the whole: its value is judged once it is known, and
 * what depends on the certificate being there is not misled before.
 */
export const certificateOrVariable = z
  .string()
  .refine((text) => VARIABLE.test(text) || isCertificate(text), 'not a PEM certificate');

export const publicKeyPem = z
  .string()
  .refine(
    (text) => holdsPem(text, 'PUBLIC KEY', '-----END') || holdsPem(text, 'RSA PUBLIC KEY', '-----END'),
    'not a PEM public key',
  );

/** distribution/reference: a registry, with an address in brackets where it is IPv6, and a path in lower case. */
export const imageRepository = z
  .string()
  .max(255, 'longer than 255 characters')
  .regex(
    /^(?:\[[0-9a-fA-F:]+\]|[a-z0-9]+(?:[._-]+[a-z0-9]+)*)(?::\d{1,5})?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/,
    'not an image repository, such as "registry.example:5000/kubernetes": lower case, without a tag',
  );

export const imageTag = z.string().regex(/^\w[\w.-]{0,127}$/, 'not the tag of an image, such as "v1.11.1"');

/** A command line argument of a component, without the leading dashes. */
export const argument = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.-]*$/, 'not an argument name: write it without leading dashes'),
  value: z.string({ error: 'expected a string; write numbers and booleans in quotes' }),
});

export const environmentVariable = z.strictObject({
  name: environmentName,
  value: z.string({ error: 'expected a string; write numbers and booleans in quotes' }),
});

export const labels = z.record(
  z.string().regex(/^(?:[a-z0-9.-]{1,253}\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/, 'not a label key'),
  z
    .string({ error: 'expected a string; write numbers and booleans in quotes' })
    .regex(/^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/, 'not a label value'),
);
