import { CODES } from '@machineadm/convert/report/codes.ts';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { IGNITION_VERSIONS } from '@machineadm/user-data/carrier.ts';
import { profileNames } from '@machineadm/user-data/profiles.ts';
import { parse } from 'yaml';
import * as z from 'zod';
import type { KubernetesObject } from '../cluster/objects.ts';
import { Kept } from './kept.ts';
import { settingOf } from './opt-in.ts';

const Codes = z.array(
  z.string().refine((code) => code === 'all' || Object.hasOwn(CODES, code), 'not a code of convert'),
);
const Hex = z.string().regex(/^[0-9a-f]{64}$/, 'not 64 lower-case hexadecimal digits');
const Digests = z.strictObject({ gzip: Hex, xz: Hex.optional(), program: Hex });

/**
 * What a fragment of a document may set: the machine and its programs. What makes it a machine of its cluster (identity, role,
 * version, certificates, discovery) comes from Cluster API alone, and sinks from `sinks` of the profile.
 */
export const FRAGMENT_SECTIONS = ['host', 'containerRuntime', 'images', 'hardening', 'secrets', 'variables'] as const;
export const FRAGMENT_KUBERNETES = ['bootstrapper', 'controlPlane', 'node', 'addons', 'timeouts', 'ready'] as const;
export const FRAGMENT_REPORTING = ['sentinel', 'deadline'] as const;
const parts = <T extends string>(names: readonly T[]) =>
  z.strictObject(Object.fromEntries(names.map((name) => [name, z.unknown().optional()])));
const Fragment = z.strictObject({
  ...parts(FRAGMENT_SECTIONS).shape,
  kubernetes: parts(FRAGMENT_KUBERNETES).optional(),
  reporting: parts(FRAGMENT_REPORTING).optional(),
});

/** How the machines of a profile are bootstrapped. Every field may be absent. */
const Profile = z.strictObject({
  /** Whose machines may have this profile; default: those of all namespaces. */
  namespaces: z.array(z.string()).optional(),
  /** The version of machineadm on the machines; default: the version of the translator. */
  version: z
    .string()
    .regex(/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/, 'not a version like 1.2.3')
    .optional(),
  /** The infrastructure provider, for its limits. */
  provider: z.enum(profileNames()).optional(),
  /** The path of machineadm in the image. */
  binary: z.string().optional(),
  ignitionVersion: z.enum(IGNITION_VERSIONS).optional(),
  /** Machines download machineadm instead of finding it in the image. Verified by digests or keys, never by the location. */
  fetch: z
    .strictObject({
      locations: z
        .array(
          z.strictObject({
            url: z.string(),
            pinned: z.boolean().optional(),
            authorizationFile: z.string().optional(),
          }),
        )
        .min(1),
      digests: z.strictObject({ amd64: Digests.optional(), arm64: Digests.optional() }).optional(),
      keys: z.array(z.strictObject({ publicKey: z.string(), notAfter: z.string().optional() })).optional(),
      /** How many of the keys must have signed a release. */
      threshold: z.int().min(1).max(9).optional(),
      /** When the root was made that the keys are from, and when it expires. */
      validity: z.strictObject({ since: z.iso.datetime(), until: z.iso.datetime() }).optional(),
      certificateAuthorities: z.string().optional(),
    })
    .optional(),
  /** Codes of decisions that are accepted for every machine. */
  accept: Codes.optional(),
  /** Convert well-known files and commands to structured fields. */
  structure: z.boolean().optional(),
  /** Where machines report to in this management cluster. */
  report: z
    .strictObject({
      /** The API server as the machines reach it. */
      server: z.string().regex(/^https:\/\/[^\s/]+\/?$/, 'not a URL like https://management.example.com:6443'),
      /** PEM; default: what the translator itself trusts. */
      certificateAuthority: z.string().optional(),
      /** The lifetime of the token. The API server may shorten it. */
      tokenSeconds: z.int().min(600).default(86_400),
    })
    .optional(),
  /** Further sinks of the document, as in its field `reporting.sinks`. */
  sinks: z.array(z.record(z.string(), z.unknown())).optional(),
  /** Merged into the document of every machine, last. */
  document: Fragment.optional(),
});
/** A profile with all documents to merge, in their order. */
export type Profile = Omit<z.infer<typeof Profile>, 'document' | 'namespaces'> & {
  readonly documents?: readonly object[] | undefined;
};

const ProfilesFile = z.strictObject({
  profiles: z.record(z.string(), Profile).default({}),
  /** Documents that an annotation may name. */
  documents: z.record(z.string(), Fragment).default({}),
});
/** The content of the file of profiles. */
export type Profiles = z.infer<typeof ProfilesFile>;
export const NO_PROFILES: Profiles = { profiles: {}, documents: {} };

/** Profiles by name, as in the file of the translator's ConfigMap. Throws `Kept` with the place of each problem. */
export function parseProfiles(text: string): Profiles {
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw new Kept('OptionsInvalid', `the profiles are not YAML: ${errorMessage(error)}`);
  }
  const { success, data, error } = ProfilesFile.safeParse(value ?? {});
  if (!success) throw new Kept('OptionsInvalid', `the profiles are invalid: ${problems(error)}`);
  return data;
}

function problems(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => `${path.length === 0 ? 'file' : path.join('.')}: ${message}`)
    .join('; ');
}

/** Annotations that choose a profile and override its fields for one machine, config or cluster. */
export const ANNOTATIONS = {
  profile: 'machineadm.dev/bootstrap-profile',
  version: 'machineadm.dev/bootstrap-version',
  provider: 'machineadm.dev/bootstrap-provider',
  binary: 'machineadm.dev/bootstrap-binary',
  accept: 'machineadm.dev/bootstrap-accept',
  fetch: 'machineadm.dev/bootstrap-fetch',
  report: 'machineadm.dev/bootstrap-report',
  document: 'machineadm.dev/bootstrap-document',
} as const;

/**
 * The profile of a machine and its name: the one that an annotation names, or `default`, or an empty one; then overridden by
 * the other annotations. Locations of an annotation are verified by the digests or keys of the profile, and its documents are
 * those of the file: who may annotate a Machine must not get more than the author of the profiles allows.
 * Throws `Kept` with `OptionsInvalid`.
 */
export function profileFor(
  narrowestFirst: readonly (KubernetesObject | undefined)[],
  { profiles, documents }: Profiles,
): { readonly name: string; readonly profile: Profile } {
  const setting = (name: keyof typeof ANNOTATIONS) => settingOf(narrowestFirst, ANNOTATIONS[name]);
  const named = setting('profile');
  const name = named ?? 'default';
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (named !== undefined && profile === undefined) {
    throw new Kept('OptionsInvalid', `${ANNOTATIONS.profile}: there is no profile "${named}"`);
  }
  const namespace = narrowestFirst.find((one) => one !== undefined)?.metadata.namespace ?? '';
  if (profile?.namespaces?.includes(namespace) === false) {
    throw new Kept('OptionsInvalid', `the profile "${name}" is not for this namespace`);
  }
  const list = (of: 'accept' | 'fetch' | 'document') =>
    setting(of)
      ?.split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
  const overrides: Record<string, unknown> = {};
  for (const key of ['version', 'provider', 'binary'] as const) {
    const value = setting(key);
    if (value !== undefined) overrides[key] = value;
  }
  const accept = list('accept');
  if (accept !== undefined) overrides.accept = accept;
  const urls = list('fetch');
  if (urls !== undefined) {
    if (profile?.fetch === undefined) {
      throw new Kept(
        'OptionsInvalid',
        `${ANNOTATIONS.fetch}: the profile has no digests or keys to verify a download by`,
      );
    }
    // A certificate authority of the profile is for the locations of the profile.
    overrides.fetch = { ...profile.fetch, locations: urls.map((url) => ({ url })) };
  }
  const { success, data, error } = Profile.safeParse({ ...profile, ...overrides });
  if (!success) throw new Kept('OptionsInvalid', `annotations machineadm.dev/bootstrap-*: ${problems(error)}`);
  const { document, namespaces: _, report, ...rest } = data;
  const fragments = [
    ...(document === undefined ? [] : [document]),
    ...(list('document') ?? []).map((one) => {
      const fragment = Object.hasOwn(documents, one) ? documents[one] : undefined;
      if (fragment === undefined) {
        throw new Kept('OptionsInvalid', `${ANNOTATIONS.document}: the file of profiles has no document "${one}"`);
      }
      return fragment;
    }),
  ];
  return { name, profile: { ...rest, report: reportFor(setting('report'), report), documents: fragments } };
}

function reportFor(setting: string | undefined, report: Profile['report']): Profile['report'] {
  if (setting === undefined || (setting === 'ConfigMap' && report !== undefined)) return report;
  if (setting === 'None') return undefined;
  throw new Kept(
    'OptionsInvalid',
    setting === 'ConfigMap'
      ? `${ANNOTATIONS.report}: the profile has no report.server for the machines`
      : `${ANNOTATIONS.report}: "${setting}" is neither ConfigMap nor None`,
  );
}
