import { Secret, type SecretSource, type SecretValue } from '../../secrets/secret.ts';
import type { SecretsSection } from '../../sections/secrets.ts';
import { parseDuration } from '../../text/units.ts';
import type { SecretField } from './fields.ts';

const DEFAULT_EXEC_TIMEOUT_MS = 30_000;

/** Turns a field that holds a secret into where its value comes from. `path` names a secret written in place. */
export type ResolveSecret = (field: SecretField, path: string) => SecretValue;

/** The references of a document by name; a reference inside another's headers is followed, a circle never was valid. */
export function secretResolver(secrets: SecretsSection): ResolveSecret {
  const made = new Map<string, SecretValue>();
  const resolve: ResolveSecret = (field, path) => {
    if (typeof field === 'string') return { name: path, source: { kind: 'value', secret: new Secret(field) } };
    const known = made.get(field.secret);
    if (known !== undefined) return known;
    const section = secrets[field.secret];
    if (section === undefined) throw new TypeError(`secret ${field.secret} was not checked`);
    const value: SecretValue = { name: `secrets.${field.secret}`, source: toSource(section, resolve, field.secret) };
    made.set(field.secret, value);
    return value;
  };
  // Every literal is made a Secret, used or not: from then on it is removed from all output.
  for (const name of Object.keys(secrets)) resolve({ secret: name }, name);
  return resolve;
}

function toSource(section: SecretsSection[string], resolve: ResolveSecret, name: string): SecretSource {
  if ('value' in section) return { kind: 'value', secret: new Secret(section.value) };
  if ('file' in section) return { kind: 'file', path: section.file };
  if ('env' in section) return { kind: 'env', variable: section.env };
  if ('systemdCredential' in section) return { kind: 'systemdCredential', name: section.systemdCredential };
  if ('exec' in section) {
    const { command, timeout } = section.exec;
    return { kind: 'exec', command, timeoutMs: milliseconds(timeout) ?? DEFAULT_EXEC_TIMEOUT_MS };
  }
  if ('http' in section) {
    const { url, headers, sha256, pointer } = section.http;
    return { kind: 'http', url, headers: headersOf(headers, resolve, `secrets.${name}`), sha256, pointer };
  }
  if ('awsSecretsManager' in section) {
    const { secretId, region, key, endpoint } = section.awsSecretsManager;
    return { kind: 'awsSecretsManager', secretId, region, key, endpoint };
  }
  const { name: parameter, region, endpoint } = section.awsParameter;
  return { kind: 'awsParameter', name: parameter, region, endpoint };
}

/** Header values may be secrets: an Authorization is one. */
export function headersOf(
  headers: Readonly<Record<string, SecretField>> | undefined,
  resolve: ResolveSecret,
  owner: string,
): Readonly<Record<string, SecretValue>> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, field]) => [name, resolve(field, `${owner} header ${name}`)]),
  );
}

/** Milliseconds of a duration that the schema accepted. */
export function milliseconds(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseDuration(text);
}
