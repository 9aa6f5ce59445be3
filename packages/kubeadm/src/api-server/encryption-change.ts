import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';

/** The provider that encrypts new objects of a resource. */
type Writer =
  | { readonly kind: 'identity' }
  | { readonly kind: 'key'; readonly provider: string; readonly name: string; readonly secret: string }
  | { readonly kind: 'kms'; readonly name: string };

/**
 * Refuses a change of encryption at rest after which the API server could not read existing data in etcd: the current
 * write provider must remain among the new read providers (kubernetes.io/docs/tasks/administer-cluster/encrypt-data,
 * rotating a decryption key). undefined = no encryption. Never prints a key.
 *
 * @throws MachineadmError `EncryptionKeyNeeded`
 */
export async function requireReadable(before: string | undefined, after: string | undefined): Promise<void> {
  const [old, wanted] = [await entriesOf(before), await entriesOf(after)];
  const resources = new Set([...old, ...wanted].flatMap(({ resources }) => resources));
  for (const resource of resources) {
    const writer = writerOf(providersFor(resource, old));
    const readers = providersFor(resource, wanted) ?? [{ identity: {} }];
    if (writer === undefined || readers.some((provider) => reads(provider, writer))) continue;
    const what = writer.kind === 'identity' ? 'not encrypted' : `encrypted with ${nameOf(writer)}`;
    const remedy =
      writer.kind === 'identity'
        ? 'Add {identity: {}} as the last provider, so that what is there can still be read.'
        : `Keep ${nameOf(writer)} after the new one, rewrite all objects (kubectl get ${resource} -A -o json | kubectl replace -f -), and remove it then.`;
    throw new MachineadmError({
      reason: 'EncryptionKeyNeeded',
      summary: `The ${resource} in etcd are ${what}, which the changed kubernetes.controlPlane.apiServer.encryptionAtRest could not read.`,
      remedy,
      evidence: [{ source: 'the configuration in use', text: `${resource}: written ${what}` }],
    });
  }
}

interface Entry {
  readonly resources: readonly string[];
  readonly providers: readonly unknown[];
}

async function entriesOf(source: string | undefined): Promise<readonly Entry[]> {
  if (source === undefined) return [];
  const configuration = await foreignYaml(source);
  if (configuration === undefined) throw unreadable();
  return list(member(configuration, 'resources')).map((entry) => ({
    resources: list(member(entry, 'resources')).filter((resource) => typeof resource === 'string'),
    providers: list(member(entry, 'providers')),
  }));
}

/** The current encryption must be known before it is replaced. */
function unreadable(): MachineadmError {
  return new MachineadmError({
    reason: 'EncryptionKeyNeeded',
    summary:
      'The encryption configuration of the API server is not valid YAML, so it is not known how the data in etcd is encrypted.',
    remedy:
      'Correct the file that --encryption-provider-config of the API server names, and run machineadm provision again.',
  });
}

/** The first entry that names a resource decides (k/k …/apiserver/pkg/server/options/encryptionconfig/config.go). */
function providersFor(resource: string, entries: readonly Entry[]): readonly unknown[] | undefined {
  const dot = resource.indexOf('.');
  const wildcard = `*.${dot === -1 ? '' : resource.slice(dot + 1)}`;
  return entries.find(({ resources }) => [resource, wildcard, '*.*'].some((name) => resources.includes(name)))
    ?.providers;
}

function writerOf(providers: readonly unknown[] | undefined): Writer | undefined {
  if (providers === undefined) return { kind: 'identity' };
  const [first] = providers;
  if (member(first, 'identity') !== undefined) return { kind: 'identity' };
  const kms = text(member(member(first, 'kms'), 'name'));
  if (kms !== undefined) return { kind: 'kms', name: kms };
  for (const provider of ['secretbox', 'aescbc', 'aesgcm']) {
    const [key] = keysOf(first, provider);
    if (key !== undefined) return { kind: 'key', provider, ...key };
  }
  return undefined;
}

function reads(provider: unknown, writer: Writer): boolean {
  if (writer.kind === 'identity') return member(provider, 'identity') !== undefined;
  if (writer.kind === 'kms') return text(member(member(provider, 'kms'), 'name')) === writer.name;
  return keysOf(provider, writer.provider).some(({ name, secret }) => name === writer.name && secret === writer.secret);
}

function keysOf(provider: unknown, kind: string): readonly { readonly name: string; readonly secret: string }[] {
  return list(member(member(provider, kind), 'keys')).flatMap((key) => {
    const [name, secret] = [text(member(key, 'name')), text(member(key, 'secret'))];
    return name === undefined || secret === undefined ? [] : [{ name, secret }];
  });
}

function nameOf(writer: Exclude<Writer, { kind: 'identity' }>): string {
  return writer.kind === 'kms' ? `the KMS "${writer.name}"` : `the ${writer.provider} key "${writer.name}"`;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
