import type { Finding } from '@machineadm/document/diagnostics/index.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';

/** Findings with all that they say: path below the API server, message, hint, code. */
export type Told = readonly (readonly [
  path: string,
  message: string,
  hint?: string | undefined,
  code?: string | undefined,
])[];

/** All of a finding; the path is below the API server. */
export function told(findings: readonly Finding[]): Told {
  return findings.map(({ path, message, hint, code }) => {
    const below = path.join('.').replace(/^kubernetes\.controlPlane\.apiServer\.?/, '');
    return code === undefined
      ? hint === undefined
        ? [below, message]
        : [below, message, hint]
      : [below, message, hint, code];
  });
}

/** Stands for a secret of the document: its name is the place that it was given at. */
export function placed(_: unknown, name: string): SecretValue {
  return { name, source: { kind: 'value', secret: new Secret('never-shown') } };
}
