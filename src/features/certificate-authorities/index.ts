import type { CertificateAuthorityModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { OWN_FILE_PREFIX } from '@machineadm/document/ownership/paths.ts';
import { isAsWritten, type OwnFile, readOwnFile } from '../../owned-files/difference.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import { restartIfActive } from '../../step/follow-up.ts';
import type { Change, FollowUp, UnmetRequirement } from '../../step/index.ts';
import { type Authority, authoritiesOf, fingerprintsIn } from './certificates.ts';
import { NO_STORE, noStore, rebuildTrust, rebuiltTrust, type TrustStore, trustStoreOf } from './stores.ts';

const ID = 'certificate-authorities';
/** What follows the name of an authority in the name of its file. */
const SUFFIX = /-[0-9a-f]{8}\.[a-z]+$/;

export interface AuthoritiesDesired {
  readonly entries: readonly CertificateAuthorityModel[];
  readonly osId: string;
  /** The document's containerd step restarts it for this step as well. */
  readonly containerdRestartsLater: boolean;
}

export interface AuthoritiesActual {
  readonly store: TrustStore;
  /** The required files, by name. */
  readonly wanted: ReadonlyMap<string, Authority>;
  /** Our existing files, as they are where that is needed. */
  readonly present: ReadonlyMap<string, OwnFile | undefined>;
  /** Of everything in the bundle. */
  readonly trusted: ReadonlySet<string>;
  readonly containerdRuns: boolean;
}

export type AuthoritiesPayload =
  | { readonly kind: 'add'; readonly path: string; readonly pem: string }
  | { readonly kind: 'remove'; readonly path: string }
  /** No change except pending follow-ups. */
  | { readonly kind: 'rebuild' };

/**
 * Certificate authorities in the operating system's trust store, for all programs that use it. One file per
 * certificate, named after its digest: a new certificate is always a new file for tools that hash file names, and
 * obsolete files of the document are recognised by our prefix and removed. The agent's own requests trust them independently.
 *
 * @param now milliseconds since the epoch, to check the expiry
 */
export function certificateAuthoritiesStep(
  now: () => number = Date.now,
): FeatureStep<AuthoritiesDesired, AuthoritiesActual, AuthoritiesPayload> {
  return {
    id: ID,
    section: 'host.certificateAuthorities',
    isRequested: ({ host }) => host.certificateAuthorities.length > 0,
    restoring: { rebuilt: rebuiltTrust },
    owned: ({ host }) => (host.certificateAuthorities.length > 0 ? ['/'] : []),
    followUps: {
      settles: ['update-ca-certificates'],
      settlesFor: ({ containerdRestartsLater }) => (containerdRestartsLater ? [] : ['restart:containerd']),

      async perform(host, desired, followUp, execution) {
        if (followUp === 'update-ca-certificates') return await rebuildTrust(host, desired, execution);
        await restartIfActive(host, followUp);
      },
    },

    desired(model, facts) {
      const entries = model.host.certificateAuthorities;
      if (entries.length === 0) return undefined;
      return { entries, osId: facts.os.id, containerdRestartsLater: model.containerd !== undefined };
    },

    async preflight(host, desired) {
      const missing: UnmetRequirement[] = desired.entries.flatMap((entry) => {
        const found = authoritiesOf(entry, now());
        return 'problem' in found
          ? [{ reason: 'CertificateAuthorityInvalid', what: found.problem, remedy: REPLACE }]
          : [];
      });
      if ((await trustStoreOf(host, desired.osId)) === undefined) missing.push(NO_STORE);
      return missing;
    },

    async inspect(host, desired, record) {
      const store = (await trustStoreOf(host, desired.osId)) ?? noStore();
      const wanted = new Map(
        desired.entries.flatMap((entry) => {
          const found = authoritiesOf(entry, now());
          if ('problem' in found) throw invalid(found.problem);
          return found.authorities.map((authority) => [fileName(store, authority), authority] as const);
        }),
      );
      const present = new Map<string, OwnFile | undefined>();
      for (const name of (await host.list(store.directory)) ?? []) {
        if (!name.startsWith(OWN_FILE_PREFIX) || !name.endsWith(store.extension)) continue;
        const path = `${store.directory}/${name}`;
        // An authority of the same name is renewed. Those of other documents and of the image stay.
        const isRenewed = desired.entries.some(
          (entry) => name.replace(SUFFIX, '') === `${OWN_FILE_PREFIX}${entry.name}`,
        );
        const isDropped = record.owned.has(path) && !record.memory().others(`path:${path}`, ID);
        if (!wanted.has(name) && !isRenewed && !isDropped) continue;
        // Debian's links to our files would be in Flatcar's directory.
        if ((await host.stat(path))?.type !== 'file') continue;
        present.set(name, wanted.has(name) ? await readOwnFile(host, path) : undefined);
      }
      const trusted = fingerprintsIn((await host.readText(store.bundle)) ?? '');
      return { store, wanted, present, trusted, containerdRuns: (await host.service('containerd')).active };
    },

    plan({ entries }, actual) {
      const { store, wanted, present, trusted } = actual;
      // containerd reads the store only when it starts (Go's crypto/x509, root.go: once).
      const owes: readonly FollowUp[] = [
        'update-ca-certificates',
        ...(actual.containerdRuns ? (['restart:containerd'] as const) : []),
        ...new Set(entries.flatMap((entry) => entry.owes ?? [])),
      ];
      const changes: Change<AuthoritiesPayload>[] = [];
      const add = (id: string, summary: string, payload: AuthoritiesPayload): void => {
        const ineffective = 'CertificateAuthorityNotTrusted' as const;
        changes.push({ id: `certificate-authorities/${id}`, summary, scope: 'base', owes, ineffective, payload });
      };
      for (const [file, { name, pem, fingerprint }] of wanted) {
        const path = `${store.directory}/${file}`;
        const now = present.get(file);
        if (now !== undefined && isAsWritten(now, pem)) continue;
        add(idOf(file, store), `trust ${name} (SHA-256 ${fingerprint.slice(0, 16)}…): ${path}`, {
          kind: 'add',
          path,
          pem,
        });
      }
      for (const file of present.keys()) {
        if (wanted.has(file)) continue;
        const path = `${store.directory}/${file}`;
        add(`remove/${idOf(file, store)}`, `trust no longer: ${path}`, { kind: 'remove', path });
      }
      const untrusted = [...wanted.values()].filter(({ fingerprint }) => !trusted.has(fingerprint));
      if (changes.length === 0 && untrusted.length > 0) {
        const names = [...new Set(untrusted.map(({ name }) => name))].join(', ');
        add('rebuild', `${store.bundle} lacks ${names}`, { kind: 'rebuild' });
      }
      return changes;
    },

    async apply(host, { payload }) {
      if (payload.kind === 'add') await host.writeFile({ path: payload.path, content: payload.pem, mode: 0o644 });
      else if (payload.kind === 'remove') await host.removeFile(payload.path);
    },

    settled: async (host) => await host.sync('/etc'),
  };
}

/** The step as used in the pipeline. */
export const certificateAuthorities: FeatureStep<AuthoritiesDesired, AuthoritiesActual, AuthoritiesPayload> =
  certificateAuthoritiesStep();

const REPLACE =
  'Put the certificate of the authority itself, in PEM and still valid, under host.certificateAuthorities.';

function fileName(store: TrustStore, { name, fingerprint }: Authority): string {
  return `${OWN_FILE_PREFIX}${name}-${fingerprint.slice(0, 8)}${store.extension}`;
}

function idOf(file: string, store: TrustStore): string {
  return file.slice(OWN_FILE_PREFIX.length, -store.extension.length);
}

function invalid(problem: string): MachineadmError {
  return new MachineadmError({ reason: 'CertificateAuthorityInvalid', summary: problem, remedy: REPLACE });
}
