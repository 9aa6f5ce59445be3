import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { KERBEROS_CONFIGURATION } from '@machineadm/document/ownership/paths.ts';
import { secretsIn } from '@machineadm/document/secrets/secret-values.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { DirectoryNetwork } from '../../host/network/directory.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { describeWrite, isAsWritten, type OwnFile, readOwnFile } from '../../owned-files/difference.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution, StepRecord, UnmetRequirement } from '../../step/index.ts';
import { DomainJoin } from './join.ts';
import { kerberosConfiguration } from './kerberos-configuration.ts';
import { readKeytab } from './keytab.ts';
import { computerPrincipal, type DomainMembership, membershipOf, servicePrincipals } from './membership.ts';
import { reachController } from './reach.ts';

const JOIN = 'active-directory/join';
const COMPUTER_NAME = /^[A-Z0-9](?:[A-Z0-9-]{0,13}[A-Z0-9])?$/;
const TESTJOIN_TIMEOUT_MS = 20_000;
/** Errors that mean that the keys themselves are refused, not that no controller was reachable. */
const KEYS_REFUSED =
  /Preauthentication failed|not found in Kerberos database|credentials have been revoked|no suitable keys/;

export interface ActiveDirectoryActual {
  readonly kerberosConfiguration: OwnFile;
  /** `unverified`: there are keys, and no reachable controller to check them. */
  readonly membership: 'none' | 'valid' | 'broken' | 'unverified';
  readonly keytabMode: number | undefined;
  readonly missingServices: readonly string[];
  /** True: an earlier run of this instance found the name free and began to join. */
  readonly ours: boolean;
  /** The keytab that an earlier run of this instance created, and a reset removes. */
  readonly undo: string | undefined;
  /** True: a join was begun and not completed, so keys that do not work are its own. */
  readonly interrupted: boolean;
}

export type ActiveDirectoryPayload =
  | { readonly kind: 'kerberos'; readonly content: string }
  | {
      readonly kind: 'join';
      readonly desired: DomainMembership;
      readonly mayReuse: boolean;
      readonly undo: string | undefined;
    }
  | { readonly kind: 'verify'; readonly desired: DomainMembership }
  | { readonly kind: 'mode'; readonly keytab: string }
  | { readonly kind: 'services'; readonly desired: DomainMembership; readonly services: readonly string[] };

type ActiveDirectoryStep = FeatureStep<DomainMembership, ActiveDirectoryActual, ActiveDirectoryPayload>;

/** The step's network queries; replaced in tests. */
type Network = () => Promise<DirectoryNetwork>;

/**
 * Membership in an Active Directory domain: the Kerberos configuration, an account with keys in the keytab, and the
 * proof that the domain accepts them. A valid membership is left alone.
 */
export function activeDirectoryStep(network: Network): ActiveDirectoryStep {
  return {
    id: 'active-directory',
    section: 'host.activeDirectory',
    stays: ({ host }, { acted }) =>
      acted !== undefined && host.activeDirectory === undefined
        ? [['active-directory', 'the machine stays in the domain: a reset leaves it']]
        : [],
    isRequested: STAYS,
    leaves({ notes }) {
      const note = notes.get(JOIN);
      const [computer, domain] = [text(member(note, 'computer')), text(member(note, 'domain'))];
      if (computer === undefined || domain === undefined || member(note, 'undo') !== undefined) return [];
      const why = text(member(note, 'stays')) ?? 'machineadm was not to leave the domain';
      return [`the account ${computer} in ${domain} and its keys on this machine: ${why}`];
    },
    desired: membershipOf,
    preflight,
    secrets: ({ credentials }) => secretsIn(credentials),
    inspect,
    plan,

    async apply(host, { payload }, execution) {
      switch (payload.kind) {
        case 'kerberos':
          return await host.writeFile({ path: KERBEROS_CONFIGURATION, content: payload.content, mode: 0o644 });
        case 'mode':
          return await host.chmod(payload.keytab, 0o600);
        case 'verify':
          return await within(host, payload.desired, await network(), execution, (join) => join.verify());
        case 'services':
          return await within(host, payload.desired, await network(), execution, (join) =>
            join.addServices(payload.services),
          );
        case 'join':
          return await joinDomain(host, payload, await network(), execution);
      }
    },

    settled: async (host) => await host.sync('/etc'),
  };
}

export const activeDirectory: ActiveDirectoryStep = activeDirectoryStep(
  async () => (await import('../../host/network/directory.ts')).directoryNetwork,
);

async function preflight(host: QueryHost, desired: DomainMembership): Promise<readonly UnmetRequirement[]> {
  const missing: UnmetRequirement[] = [];
  const tools = { adcli: 'adcli', ...(desired.credentials.kind === 'offlineBlob' ? { net: 'samba-common-bin' } : {}) };
  for (const [program, name] of Object.entries(tools)) {
    if ((await host.which(program)) !== undefined) continue;
    missing.push({
      reason: 'ActiveDirectoryToolMissing',
      what: `${program}, which joins the machine to ${desired.domain}, is not installed`,
      remedy: `Install it in the image (Debian: ${name}): machineadm does not install packages.`,
    });
  }
  if (!COMPUTER_NAME.test(desired.computerName)) {
    missing.push({
      reason: 'ComputerNameInvalid',
      what: `${desired.computerName} cannot name a computer of a domain: at most 15 letters, digits and "-"`,
      remedy: 'Set host.activeDirectory.computerName, a different one for each machine.',
      scope: 'node',
    });
  }
  return missing;
}

async function inspect(host: QueryHost, desired: DomainMembership, record: StepRecord): Promise<ActiveDirectoryActual> {
  const note = record.notes.get(JOIN);
  const keys = await host.readFile(desired.keytab);
  const principals = new Set((keys === undefined ? [] : (readKeytab(keys) ?? [])).map(({ principal }) => principal));
  const hasKeys = principals.has(computerPrincipal(desired));
  return {
    kerberosConfiguration: await readOwnFile(host, KERBEROS_CONFIGURATION),
    membership: hasKeys ? await testJoin(host, desired, text(member(note, 'controller'))) : 'none',
    keytabMode: (await host.stat(desired.keytab))?.mode,
    missingServices: desired.servicePrincipals.filter(
      (_, index) => !principals.has(servicePrincipals(desired)[index] ?? ''),
    ),
    ours: member(note, 'computer') === desired.computerName,
    undo: text(member(member(note, 'undo'), 'keytab')),
    interrupted: record.interrupted.has(JOIN),
  };
}

/** The controller that created the account is asked first: the others get it by replication, some minutes later. */
async function testJoin(
  host: QueryHost,
  { domain, keytab, domainController }: DomainMembership,
  known: string | undefined,
): Promise<ActiveDirectoryActual['membership']> {
  let answer = '';
  for (const controller of new Set([known ?? domainController, domainController])) {
    const args = [
      'testjoin',
      `--domain=${domain}`,
      `--host-keytab=${keytab}`,
      ...(controller === undefined ? [] : [`--domain-controller=${controller}`]),
    ];
    const result = await host.query({ program: 'adcli', args, timeoutMs: TESTJOIN_TIMEOUT_MS });
    if (result.status === 0) return 'valid';
    answer = result.stderr;
  }
  return KEYS_REFUSED.test(answer) ? 'broken' : 'unverified';
}

function plan(desired: DomainMembership, actual: ActiveDirectoryActual): readonly Change<ActiveDirectoryPayload>[] {
  const changes: Change<ActiveDirectoryPayload>[] = [];
  const wanted = kerberosConfiguration(desired.domain);
  const { text: original } = actual.kerberosConfiguration;
  if (desired.kerberosConfiguration === 'Managed' && !isAsWritten(actual.kerberosConfiguration, wanted)) {
    changes.push({
      id: 'active-directory/krb5.conf',
      summary: `${describeWrite(KERBEROS_CONFIGURATION, actual.kerberosConfiguration, wanted)} for ${desired.domain}`,
      diff: textDiff(original ?? '', wanted),
      scope: 'base',
      payload: { kind: 'kerberos', content: wanted },
    });
  }
  const change = (id: string, summary: string, payload: ActiveDirectoryPayload): void => {
    changes.push({ id, summary, scope: 'node', ineffective: 'DomainJoinBroken', payload });
  };
  if (actual.membership === 'none' || mayRejoin(desired, actual)) {
    changes.push({
      id: JOIN,
      summary: `join ${desired.domain} as ${desired.computerName}`,
      scope: 'node',
      repeatable: false,
      ineffective: 'DomainJoinBroken',
      payload: {
        kind: 'join',
        desired,
        mayReuse: desired.accountReuse || actual.ours || actual.membership === 'broken',
        undo: actual.undo,
      },
    });
    return changes;
  }
  if (actual.membership === 'broken') throw broken(desired);
  if (actual.membership === 'unverified') {
    change('active-directory/verify', `ask ${desired.domain} whether it accepts this computer`, {
      kind: 'verify',
      desired,
    });
  }
  if (actual.keytabMode !== 0o600) {
    change('active-directory/keytab', `close ${desired.keytab} to others`, { kind: 'mode', keytab: desired.keytab });
  }
  if (actual.missingServices.length > 0) {
    const services = actual.missingServices;
    change('active-directory/services', `keys for ${services.join(', ')}`, { kind: 'services', desired, services });
  }
  return changes;
}

function mayRejoin({ onBroken }: DomainMembership, { membership, interrupted }: ActiveDirectoryActual): boolean {
  return membership === 'broken' && (onBroken === 'Rejoin' || interrupted);
}

function broken({ domain, computerName, keytab }: DomainMembership): MachineadmError {
  return new MachineadmError({
    reason: 'DomainJoinBroken',
    summary: `The domain ${domain} no longer accepts the keys that this machine has for ${computerName}.`,
    remedy:
      'Find out whether another machine has taken the name. If it has not, set host.activeDirectory.onBroken: Rejoin, with a secret to join with.',
    evidence: [{ source: keytab, text: `holds keys of ${computerName}, and adcli testjoin is refused` }],
  });
}

async function joinDomain(
  host: Host,
  { desired, mayReuse, undo }: Extract<ActiveDirectoryPayload, { kind: 'join' }>,
  network: DirectoryNetwork,
  execution: Execution,
): Promise<void> {
  const { credentials, keytab, onReset } = desired;
  const before = await host.stat(keytab);
  await within(host, desired, network, execution, async (join, controller) => {
    // An existing keytab may contain other keys: a reset keeps it.
    const stays = onReset === 'Keep' ? 'host.activeDirectory.onReset is Keep' : `${keytab} had other keys before`;
    const leaves = onReset === 'Leave' && (before === undefined || undo === keytab);
    const begin = () =>
      execution.remember({
        computer: desired.computerName,
        domain: desired.domain,
        controller,
        ...(leaves ? { undo: { keytab } } : { stays }),
      });
    if (credentials.kind === 'account') {
      const password = (await host.secret(credentials.password)).reveal();
      if (!mayReuse) await join.refuseExisting(credentials.user, password);
      begin();
      await join.withAccount(credentials.user, password);
    } else if (credentials.kind === 'oneTimePassword') {
      begin();
      await join.withOneTimePassword((await host.secret(credentials.password)).reveal());
    } else {
      begin();
      await join.withBlob((await host.secret(credentials.blob)).reveal());
    }
    await join.verify();
  });
}

async function within(
  host: Host,
  desired: DomainMembership,
  network: DirectoryNetwork,
  execution: Execution,
  work: (join: DomainJoin, controller: string) => Promise<void>,
): Promise<void> {
  const controller = await reachController(host, network, desired, execution);
  await DomainJoin.during(host, desired, controller, execution, (join) => work(join, controller));
}
