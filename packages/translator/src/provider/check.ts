import { NEWEST_KNOWN_MINOR, OLDEST_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import type { Config } from './objects.ts';
import { documentProblems, isObject, renderDocument } from './render.ts';

const AUTHORITY = `sha256:${'0'.repeat(64)}`;

/**
 * What is wrong with a MachineadmConfig, whatever machine is made from it: `PATH: MESSAGE (hint: …)`, the paths from `spec`.
 * Its Machine decides the release, so what only some releases refuse is no problem here: the condition Ready tells it then.
 */
export async function configProblems(config: Config, agentVersion: string): Promise<readonly string[]> {
  const own = documentProblems(config);
  if (own.length > 0) return own;
  let first: readonly string[] = [];
  for (let minor = NEWEST_KNOWN_MINOR; minor >= OLDEST_MINOR; minor -= 1) {
    const problems = await problemsAt(`v1.${minor}.0`, config, agentVersion);
    if (problems.length === 0) return [];
    if (minor === NEWEST_KNOWN_MINOR) first = problems;
  }
  return first;
}

/** The problems of the document of some machine of a release. */
async function problemsAt(version: string, config: Config, agentVersion: string): Promise<readonly string[]> {
  const bytes = new TextEncoder().encode(sampleDocument(config, version));
  const loaded = await loadDocument([{ name: 'document', bytes }], { agentVersion });
  if (loaded.ok) return [];
  return loaded.problems.map(
    ({ path, message, hint }) => `spec.document.${path}: ${message}${hint === undefined ? '' : ` (hint: ${hint})`}`,
  );
}

/** The document, as JSON, that some machine of a version would get, whatever its cluster and its secrets are. */
export function sampleDocument(config: Config, version: string): string {
  const document = renderDocument(config, {
    version,
    endpoint: 'control-plane:6443',
    caCertHashes: [AUTHORITY],
    token: 'abcdef.0123456789abcdef',
    secrets: new Map(config.spec.secrets.map(({ name }) => [name, ''])),
    cluster: 'cluster',
    name: 'machine',
    uid: undefined,
  });
  return JSON.stringify({ ...document, secrets: withoutValues(document.secrets) });
}

/** Values that nobody has read can have no wrong form. */
function withoutValues(secrets: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(
    Object.entries(secrets).map(([name, source]) => [
      name,
      isObject(source) && 'value' in source ? { file: `/run/secrets/${name}` } : source,
    ]),
  );
}
