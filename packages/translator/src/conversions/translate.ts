import { CODES, convert, type Decision } from '@machineadm/convert/index.ts';
import { type DocumentSource, type LoadedDocument, loadDocument } from '@machineadm/document/loading/load.ts';
import { documentSecrets } from '@machineadm/document/loading/secrets-of.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { toPlain } from '@machineadm/document/trees/tree.ts';
import { VERBATIM_TAG } from '@machineadm/document/values/verbatim.ts';
import { renderDownloadScript } from '@machineadm/user-data/download-script.ts';
import {
  assertAccepted,
  type CarrierName,
  renderUserData,
  type WrapOptions as UserDataOptions,
} from '@machineadm/user-data/index.ts';
import { stringify } from 'yaml';
import type { KubernetesObject, SecretObject } from '../cluster/objects.ts';
import { Kept } from '../handover/kept.ts';
import type { Profile } from '../handover/profiles.ts';
import { formatOf, type SecretFormat } from './secret-data.ts';

/** A document made of the user data of the kubeadm bootstrap provider, and how it is to be delivered. */
export interface ConvertedSecret {
  readonly yaml: string;
  readonly format: SecretFormat;
  /** Codes of all messages of the conversion, each once. */
  readonly codes: readonly string[];
  /** The words that differ between machines of one template, where they are known (cache.ts). */
  readonly words?: readonly string[] | undefined;
}

/** The ConfigMap of one machine and the token that may patch it. */
export interface ReportSink {
  readonly server: string;
  readonly certificateAuthority: string;
  readonly token: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Converts the Secret with the objects beside it. Throws `Kept` where something must be decided or cannot be converted;
 * the message names codes and places of the input, never a value.
 */
export async function convertSecret(
  secret: SecretObject,
  related: readonly KubernetesObject[],
  profile: Profile,
): Promise<ConvertedSecret> {
  const format = formatOf(secret);
  const texts = [{ apiVersion: 'v1', kind: 'Secret', ...secret }, ...related].map((object) => ({
    name: object.kind,
    text: JSON.stringify(object),
  }));
  const { documents, decisions } = await convert(texts, { structure: profile.structure });
  const errors = decisions.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Kept('ConversionFailed', listed(errors));
  const accepted = new Set(profile.accept);
  const open = decisions.filter(
    ({ severity, code }) => severity === 'decision' && !accepted.has('all') && !accepted.has(code),
  );
  if (open.length > 0) throw new Kept('DecisionNeeded', listed(open));
  const [document, ...others] = documents;
  if (document === undefined || others.length > 0) {
    throw new Kept('ConversionFailed', `${documents.length} documents came out instead of one`);
  }
  return { yaml: document.yaml, format, codes: [...new Set(decisions.map(({ code }) => code))] };
}

/** The most places that a message lists. */
const MOST_PLACES = 5;

function listed(decisions: readonly Decision[]): string {
  const codes = [...new Set(decisions.map(({ code }) => code))];
  const places = decisions.slice(0, MOST_PLACES).map(({ code, at, message }) => `${code}: ${at}: ${message}`);
  const more = decisions.length > MOST_PLACES ? `; and ${decisions.length - MOST_PLACES} more` : '';
  return `${codes.map((code) => `${code} (${CODES[code].meaning})`).join(' ')} ${places.join('; ')}${more}`;
}

export interface WrapOptions {
  readonly profile: Profile;
  readonly sink: ReportSink | undefined;
  /** Whether the answer may contain secrets of the profile. */
  readonly mayHoldSecrets: boolean;
  readonly translatorVersion: string;
}

/** What is merged into a document. */
export type MergeOptions = Pick<WrapOptions, 'profile' | 'translatorVersion'> & {
  readonly sink?: ReportSink | undefined;
};

/** A document merged with the sinks and the documents of a profile. */
export interface Merged {
  /** As the machine will read it. */
  readonly text: string;
  readonly document: LoadedDocument;
  /** Names of secrets whose values the profile adds. */
  readonly added: () => Promise<readonly string[]>;
}

/** The document merged with the sinks and the documents of the profile. Throws `Kept` where one of them is invalid. */
export async function mergedDocument(
  { yaml }: Pick<ConvertedSecret, 'yaml'>,
  { profile, sink, translatorVersion }: MergeOptions,
): Promise<Merged> {
  const overlays = [...reportingOverlay(profile, sink), ...(profile.documents ?? [])].map((one) => ({
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    ...one,
  }));
  const sources = [yaml, ...overlays.map((one) => stringify(one))].map(
    (text, index): DocumentSource => ({
      name: index === 0 ? 'document' : 'profile',
      bytes: new TextEncoder().encode(text),
    }),
  );
  const agent = { agentVersion: profile.version ?? translatorVersion };
  const loaded = await loadDocument(sources, agent);
  if (!loaded.ok) {
    const problems = loaded.problems.map(
      ({ path, message, hint }) => `${path}: ${message}${hint === undefined ? '' : ` (hint: ${hint})`}`,
    );
    throw new Kept(
      overlays.length === 0 ? 'ConversionFailed' : 'OptionsInvalid',
      problems.slice(0, MOST_PLACES).join('; '),
    );
  }
  const { document } = loaded;
  if (overlays.length === 0) return { text: yaml, document, added: async () => [] };
  return {
    text: stringify(toPlain(document.tree), { lineWidth: 0, customTags: [VERBATIM_TAG] }),
    document,
    async added() {
      const alone = await loadDocument(sources.slice(0, 1), agent);
      const own = alone.ok ? valuesIn(alone.document) : new Set<string>();
      return [...valuesIn(document)].filter((name) => !own.has(name));
    },
  };
}

/** The text of `mergedDocument`, which can go from one thread to another. */
export async function mergedText(...args: Parameters<typeof mergedDocument>): Promise<string> {
  return (await mergedDocument(...args)).text;
}

/** A document as a machine will read it, which its format accepts. */
export interface CheckedDocument {
  readonly yaml: string;
  readonly carrier: CarrierName;
}

/**
 * The user data that runs machineadm with the document, merged with the sinks and the documents of the profile. Throws `Kept`
 * where the document or the profile does not fit the format.
 */
export async function wrapConverted(converted: ConvertedSecret, options: WrapOptions): Promise<string> {
  return await renderChecked(await checkedDocument(converted, options), options);
}

/** Merges and checks the document: all that `wrapConverted` does, except for the user data and its size. */
export async function checkedDocument(
  converted: ConvertedSecret,
  { mayHoldSecrets, ...merge }: WrapOptions,
): Promise<CheckedDocument> {
  return await asKept(async () => {
    const { text, document, added: addedBy } = await mergedDocument(converted, merge);
    const added = mayHoldSecrets ? [] : await addedBy();
    if (added.length > 0) {
      throw new Kept(
        'CallerUnknown',
        `the profile contains values of secrets (${added.slice(0, MOST_PLACES).join(', ')}): use references, or set --caller`,
      );
    }
    const carrier = carrierFor(converted.format, document.model.host.platform);
    assertAccepted(document, formatOptions(carrier, merge));
    return { yaml: text, carrier };
  });
}

/** The user data of a checked document. */
export async function renderChecked({ yaml, carrier }: CheckedDocument, options: MergeOptions): Promise<string> {
  return await asKept(() => renderUserData(yaml, formatOptions(carrier, options)));
}

function formatOptions(carrier: CarrierName, { profile, translatorVersion }: MergeOptions): UserDataOptions {
  return {
    format: carrier,
    profile: profile.provider,
    program: profile.fetch === undefined ? profile.binary : undefined,
    downloadScript: downloadScript(profile, carrier, translatorVersion),
    ...(carrier === 'ignition' ? { ignitionVersion: profile.ignitionVersion } : {}),
  };
}

async function asKept<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MachineadmError)) throw error;
    const isOption = error.reason === 'UsageInvalid' || error.reason === 'DownloadInvalid';
    throw new Kept(isOption ? 'OptionsInvalid' : 'WrappingFailed', error.message);
  }
}

function carrierFor(format: SecretFormat, platform: string): CarrierName {
  if (format === 'ignition') return 'ignition';
  return platform === 'windows' ? 'cloudbase-init' : 'cloud-init';
}

function downloadScript(
  { fetch, version }: Profile,
  carrier: CarrierName,
  translatorVersion: string,
): string | undefined {
  if (fetch === undefined) return undefined;
  if (carrier === 'cloudbase-init') {
    throw new Kept(
      'OptionsInvalid',
      'fetch: a Windows machine must have machineadm in its image; use a profile without fetch',
    );
  }
  const { locations, digests, keys, threshold, validity, certificateAuthorities } = fetch;
  const defined = <T extends object>(value: T) =>
    Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined));
  return renderDownloadScript({
    version: version ?? translatorVersion,
    locations: locations.map(({ url, ...more }) => ({ url, ...defined(more) })),
    ...defined({
      keys: keys?.map(({ publicKey, ...more }) => ({ publicKey, ...defined(more) })),
      threshold,
      validity,
      certificateAuthorities,
    }),
    ...(digests === undefined
      ? {}
      : {
          digests: Object.fromEntries(
            Object.entries(digests).flatMap(([name, one]) =>
              one === undefined ? [] : [[name, { gzip: one.gzip, program: one.program, ...defined({ xz: one.xz }) }]],
            ),
          ),
        }),
  });
}

/** Names of the secrets whose values are in a document. */
function valuesIn(document: LoadedDocument): ReadonlySet<string> {
  return new Set(documentSecrets(document).flatMap(({ name, source }) => (source.kind === 'value' ? [name] : [])));
}

/** A further source of the document: the sinks of the profile, and that of the ConfigMap. The journal keeps its place. */
function reportingOverlay(profile: Profile, sink: ReportSink | undefined): readonly object[] {
  const sinks = profile.sinks ?? [];
  if (sinks.length === 0 && sink === undefined) return [];
  const own =
    sink === undefined
      ? []
      : [
          {
            type: 'Kubernetes',
            server: sink.server,
            certificateAuthority: sink.certificateAuthority,
            token: { secret: 'reportToken' },
            configMap: { namespace: sink.namespace, name: sink.name },
          },
        ];
  const journal = sinks.some(({ type }) => type === 'Journal') ? [] : [{ type: 'Journal' }];
  return [
    {
      ...(sink === undefined ? {} : { secrets: { reportToken: { value: sink.token } } }),
      reporting: { sinks: [...journal, ...sinks, ...own] },
    },
  ];
}
