import * as z from '../schema/zod.ts';
import { DURATION_PATTERN } from '../text/units.ts';
import { Verbatim, wholeNumber } from '../values/verbatim.ts';
import { define, field, meaning, object } from './field.ts';

/** A number of another program's words, which keeps the text it is written with where JavaScript would change it. */
export const verbatimNumber = meaning(
  z.custom<number | Verbatim>((value) => typeof value === 'number' || value instanceof Verbatim),
  { type: 'number' },
);

export const WHOLE_OF_64_BITS = 'expected a whole number of at most 64 bits, or a string';

/** As the kernel reads numbers: with a sign, or without one. */
export const wholeOf64Bits = meaning(
  verbatimNumber.refine((value) => {
    const whole = wholeNumber(String(value));
    return whole !== undefined && (BigInt.asUintN(64, whole) === whole || BigInt.asIntN(64, whole) === whole);
  }, WHOLE_OF_64_BITS),
  { type: 'integer', minimum: -(2 ** 63), maximum: 2 ** 64 },
);

/**
 * Field types that several sections share. Each says in its message what is right, not only what is wrong. Their patterns are
 * published in the JSON Schema, where Go (RE2), Python and JavaScript read them: no lookaround, no backreference, no flags.
 */

export const duration = define(
  'Duration',
  z
    .string({ error: 'expected a duration with a unit, such as "90s"' })
    .regex(DURATION_PATTERN, 'not a duration: write a number with its unit, such as "90s", "5m" or "1h30m"'),
  'A duration, as one or more numbers with a unit (ms, s, m, h, d).',
  '1h30m',
);

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
  if (/[\0\n]/.test(path)) return 'a path must not contain control characters';
  return path.split(/[\\/]/).includes('..') ? 'a path must not contain ".."' : 'not an absolute path';
}

export const LINUX_PATH = pathOf('/', '/');

export const absolutePath = define(
  'AbsolutePath',
  z
    .string()
    .max(512, 'longer than 512 characters')
    .regex(new RegExp(`^${LINUX_PATH}$`), { error: pathProblem }),
  'An absolute path of Linux, without "//" and "..".',
  '/etc/motd',
);

/** A path of the machine: absolute on Linux, or with its drive on Windows (`versions/v1alpha1/platform.ts` tells which it may be). */
export const machinePath = define(
  'MachinePath',
  z
    .string()
    .max(512, 'longer than 512 characters')
    .regex(new RegExp(`^(?:${LINUX_PATH}|${pathOf('[A-Za-z]:[\\\\/]', '\\\\/')})$`), { error: pathProblem }),
  'An absolute path, on Windows with its drive, without "..".',
  '/etc/motd',
);

export const fileMode = define(
  'FileMode',
  z
    .string({ error: 'expected a mode as a string, such as "0644"' })
    .regex(/^0?[0-7]{3,4}$/, 'not a file mode: write octal digits in quotes, such as "0644"'),
  'Permissions of a file, in three or four octal digits.',
  '0644',
);

const DNS_LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';

/** RFC 1123 sub-domain, as Kubernetes demands of node names. */
export const dnsSubdomain = define(
  'DnsSubdomain',
  z
    .string()
    .max(253, 'longer than 253 characters')
    .regex(
      new RegExp(`^${DNS_LABEL}(?:\\.${DNS_LABEL})*$`),
      'not a valid name: use lower-case letters, digits, "-" and "." (RFC 1123)',
    ),
  'A DNS subdomain (RFC 1123) in lower case, as names of Kubernetes objects are.',
  'node-1.example',
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
export const hostPort = define(
  'HostPort',
  z.string().regex(new RegExp(`^(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?):${PORT}$`), {
    error: ({ input }) => {
      const port = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]*):(\d+)$/.exec(String(input))?.[1];
      if (port !== undefined && Number(port) > 65535) return 'the port is above 65535';
      return port === undefined || Number(port) > 0 ? 'not host:port, such as "10.0.0.10:6443"' : 'the port is 0';
    },
  }),
  'A host and a port from 1 to 65535. An IPv6 address is in brackets.',
  '[2001:db8::10]:6443',
);

export const cidr = define(
  'Subnet',
  z.string().regex(/^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f:]+)\/\d{1,3}$/, 'not a subnet, such as "10.244.0.0/16"'),
  'A subnet in CIDR form.',
  '10.244.0.0/16',
);

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

export const httpUrl = define(
  'HttpUrl',
  url('http', 'not an http or https URL'),
  'An http or https URL.',
  'https://files.example/audit.rules',
);

export const httpsUrl = define(
  'HttpsUrl',
  url('https', 'not an https URL'),
  'An https URL.',
  'https://api.example:6443',
);

export const sha256 = define(
  'Sha256',
  z.string().regex(/^[0-9a-f]{64}$/, 'not a SHA-256 digest: 64 lower-case hex digits'),
  'A SHA-256 digest, in 64 lower-case hex digits.',
  '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
);

/** What to do about a secret without a value. */
export const EMPTY_SECRET =
  'an empty secret: write it, or name an entry of "secrets", which is one of value, file, env, systemdCredential, exec, http, awsSecretsManager, awsParameter';

/** A secret written down, or the name of an entry of `secrets`. */
export const secret = define(
  'Secret',
  z.union(
    [
      z.string().min(1, EMPTY_SECRET),
      object({ secret: field(z.string(), 'The name of an entry of `secrets`.', { example: 'joinToken' }) }),
    ],
    {
      error: 'expected a string, or {secret: name} naming an entry of "secrets"',
    },
  ),
  'A secret, written down or by the name of an entry of `secrets`.',
  { secret: 'joinToken' },
);

/** For a request whose URL is plain http though credentials or secrets travel with it. */
export const allowInsecure = field(
  z.boolean(),
  'Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on).',
  { default: false, example: true },
);

export const headers = field(
  z.record(z.string().regex(/^[A-Za-z0-9-]+$/, 'not the name of a header'), secret),
  'HTTP headers that are sent with every request. A value is a secret, given directly or by name.',
  { default: {}, example: { 'X-Token': { secret: 'apiToken' } } },
);

export type SecretField = z.infer<typeof secret>;

export const environmentName = define(
  'EnvironmentVariableName',
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'not the name of an environment variable'),
  'The name of an environment variable.',
  'LOG_LEVEL',
);

/** distribution/reference: a registry, with an address in brackets where it is IPv6, and a path in lower case. */
export const imageRepository = define(
  'ImageRepository',
  z
    .string()
    .max(255, 'longer than 255 characters')
    .regex(
      /^(?:\[[0-9a-fA-F:]+\]|[a-z0-9]+(?:[._-]+[a-z0-9]+)*)(?::\d{1,5})?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/,
      'not an image repository, such as "registry.example:5000/kubernetes": lower case, without a tag',
    ),
  'A repository of images without a tag, in lower case.',
  'registry.example:5000/kubernetes',
);

export const imageTag = define(
  'ImageTag',
  z.string().regex(/^\w[\w.-]{0,127}$/, 'not the tag of an image, such as "v1.11.1"'),
  'The tag of an image.',
  'v1.12.1',
);

/** A command line argument of a component, without the leading dashes. */
export const argument = define(
  'Argument',
  object({
    name: field(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9.-]*$/, 'not an argument name: write it without leading dashes'),
      'The name of the argument without leading dashes.',
      { example: 'v' },
    ),
    value: field(
      z.string({ error: 'expected a string; write numbers and booleans in quotes' }),
      'The value of the argument. Write numbers and booleans in quotes.',
      { example: '2' },
    ),
  }),
  'A command line argument of a component.',
  { name: 'v', value: '2' },
);

export const environmentVariable = define(
  'EnvironmentVariable',
  object({
    name: field(environmentName, 'The name of the environment variable.', { example: 'HTTPS_PROXY' }),
    value: field(
      z.string({ error: 'expected a string; write numbers and booleans in quotes' }),
      'The value of the environment variable. Write numbers and booleans in quotes.',
      { example: 'http://proxy.example:3128' },
    ),
  }),
  'An environment variable.',
  { name: 'LOG_LEVEL', value: 'debug' },
);

export const labels = z.record(
  z
    .string()
    .regex(
      /^(?:[a-z0-9.-]{1,253}\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/,
      'not a label key: use letters, digits, "-", "_" and ".", such as example.com/rack',
    ),
  z
    .string({ error: 'expected a string; write numbers and booleans in quotes' })
    .regex(
      /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/,
      'not a label value: use at most 63 letters, digits, "-", "_" and "."',
    ),
);
