import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { secretsIn } from '@machineadm/document/secrets/secret-values.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { DirectoryNetwork } from '../../../host/network/directory.ts';
import type { Host, QueryHost } from '../../../host/seam/host.ts';
import { READ_DOMAIN } from '../../../host/windows/domain-scripts.ts';
import { askScript, notReturned } from '../../../host/windows/powershell.ts';
import { type FeatureStep, STAYS } from '../../../step/feature-step.ts';
import type { Change, Execution, StepRecord } from '../../../step/index.ts';
import {
  BLOB_FILE,
  CHANNEL_PATIENCE,
  type ChannelPatience,
  isTrusted,
  joinWithAccount,
  joinWithBlob,
  joinWithOneTimePassword,
  refuseExisting,
  verifyMembership,
} from './join.ts';
import { type WindowsMembership, windowsMembershipOf, windowsObstacles } from './membership.ts';
import { awaitWindowsController, NETWORK_PATIENCE, reachWindowsController } from './reach.ts';

const JOIN = 'active-directory/join';

export interface WindowsDomainActual {
  /** The domain that the machine is a member of; undefined = none. */
  readonly domain: string | undefined;
  /** The name in force, which the account gets. */
  readonly computerName: string;
  /** True: what there is of the membership works. False says nothing soon after a boot. */
  readonly trusted: boolean;
  /** True: a join was made, or begun, whose reboot has not come yet. */
  readonly awaitsReboot: boolean;
  /** True: an earlier run of this instance found the name free and began to join. */
  readonly ours: boolean;
  /** True: a run was killed while djoin read its data. */
  readonly blobIsLeft: boolean;
}

export type WindowsDomainPayload =
  | { readonly kind: 'wipe' }
  | { readonly kind: 'join'; readonly desired: WindowsMembership; readonly mayReuse: boolean }
  | { readonly kind: 'verify'; readonly desired: WindowsMembership };

type WindowsDomainStep = FeatureStep<WindowsMembership, WindowsDomainActual, WindowsDomainPayload>;

/** What the step asks the network, and how long it waits for that and for Netlogon; others in tests. */
export interface WindowsDomainOptions {
  readonly network: () => Promise<Pick<DirectoryNetwork, 'addressOf' | 'closedPorts'>>;
  readonly networkPatience: ChannelPatience;
  readonly channelPatience: ChannelPatience;
}

/**
 * Membership of a Windows machine in an Active Directory domain: joined by CIM, with a one-time password or an account, or
 * by djoin with an offline blob; one reboot; then Netlogon's proof that the domain accepts it. One that works is left alone.
 */
export function windowsDomainStep(options: WindowsDomainOptions): WindowsDomainStep {
  return {
    id: 'active-directory',
    section: 'host.activeDirectory',
    isRequested: STAYS,
    desired: windowsMembershipOf,
    preflight: async (_host, desired) => windowsObstacles(desired),
    secrets: ({ credentials }) => secretsIn(credentials),
    inspect,
    plan,

    async apply(host, { payload }, execution) {
      switch (payload.kind) {
        case 'wipe':
          return await host.removeFile(BLOB_FILE);
        case 'verify':
          return await verifyMembership(host, payload.desired, execution, options.channelPatience);
        case 'join':
          return await joinDomain(host, payload, options, execution);
      }
    },

    settled: async (host) => await host.sync(STATE_DIRECTORY),
  };
}

export const windowsDomain: WindowsDomainStep = windowsDomainStep({
  network: async () => (await import('../../../host/network/directory.ts')).directoryNetwork,
  networkPatience: NETWORK_PATIENCE,
  channelPatience: CHANNEL_PATIENCE,
});

async function inspect(
  host: QueryHost,
  { domain }: WindowsMembership,
  record: StepRecord,
): Promise<WindowsDomainActual> {
  const told = await askScript(host, READ_DOMAIN);
  const computerName = text(member(told, 'computerName'));
  const isMember = member(told, 'partOfDomain');
  if (computerName === undefined || typeof isMember !== 'boolean')
    throw notReturned('whether it is a member of a domain', 'Win32_ComputerSystem');
  const found = isMember ? text(member(told, 'domain'))?.toLowerCase() : undefined;
  const isOurs = found === domain;
  return {
    domain: found,
    computerName,
    trusted: isOurs && record.reboot !== 'owed' && (await isTrusted(host)),
    // A join that was begun and not ended is done where Windows says that it is a member already; else it is made again.
    awaitsReboot: record.reboot === 'owed' && (isOurs || (record.done.has(JOIN) && !record.interrupted.has(JOIN))),
    ours: member(record.notes.get(JOIN), 'computer') === computerName.toUpperCase(),
    blobIsLeft: (await host.stat(BLOB_FILE)) !== undefined,
  };
}

function plan(desired: WindowsMembership, actual: WindowsDomainActual): readonly Change<WindowsDomainPayload>[] {
  const changes: Change<WindowsDomainPayload>[] = [];
  if (actual.blobIsLeft) {
    changes.push({
      id: 'active-directory/wipe',
      summary: `${BLOB_FILE}: remove what a killed run left`,
      scope: 'node',
      payload: { kind: 'wipe' },
    });
  }
  if (actual.awaitsReboot) return changes;
  if (actual.domain !== undefined && actual.domain !== desired.domain) throw elsewhere(actual.domain, desired.domain);
  if (actual.domain === undefined) {
    changes.push({
      id: JOIN,
      summary: `join ${desired.domain} as ${desired.machineName}, then reboot`,
      scope: 'node',
      repeatable: false,
      needsReboot: true,
      ineffective: 'DomainJoinBroken',
      payload: { kind: 'join', desired, mayReuse: desired.accountReuse || actual.ours },
    });
  } else if (!actual.trusted) {
    changes.push({
      id: 'active-directory/verify',
      summary: `wait until ${desired.domain} accepts this computer`,
      scope: 'node',
      ineffective: 'DomainJoinBroken',
      payload: { kind: 'verify', desired },
    });
  }
  return changes;
}

async function joinDomain(
  host: Host,
  { desired, mayReuse }: Extract<WindowsDomainPayload, { kind: 'join' }>,
  options: WindowsDomainOptions,
  execution: Execution,
): Promise<void> {
  const { credentials, machineName, domain } = desired;
  const { signal } = execution;
  const name = text(member(await askScript(host, READ_DOMAIN), 'computerName'));
  if (name?.toUpperCase() !== machineName) throw otherName(name, machineName);
  // The note is how another attempt knows that an account of this name is its own.
  const begin = () => execution.remember({ computer: machineName });
  if (credentials.kind === 'offlineBlob') {
    begin();
    return await joinWithBlob(host, desired, (await host.secret(credentials.blob)).reveal(), signal);
  }
  const { network, networkPatience } = options;
  const asked = await network();
  const reach = () => reachWindowsController(host, asked, desired, execution);
  const controller = await awaitWindowsController(reach, networkPatience, signal);
  execution.waitingFor(`the join of ${domain}`);
  const password = (await host.secret(credentials.password)).reveal();
  if (credentials.kind === 'oneTimePassword') {
    begin();
    return await joinWithOneTimePassword(host, desired, password, signal);
  }
  const { user } = credentials;
  if (!mayReuse) await refuseExisting(host, desired, controller, { user, password }, signal);
  begin();
  await joinWithAccount(host, desired, { user, password }, signal);
}

function elsewhere(found: string, wanted: string): MachineadmError {
  return new MachineadmError({
    reason: 'MemberOfOtherDomain',
    summary: `This machine is a member of the domain ${found}, and the document asks for ${wanted}.`,
    remedy:
      'Remove it from that domain manually (Remove-Computer) and reboot it, or correct host.activeDirectory.domain.',
    evidence: [{ source: 'Win32_ComputerSystem', text: `Domain = ${found}` }],
  });
}

function otherName(found: string | undefined, wanted: string): MachineadmError {
  return new MachineadmError({
    reason: 'ComputerNameInvalid',
    exit: 'HostStepFailed',
    summary: `This machine is called ${found ?? 'something unknown'}, and would join its domain under that name instead of ${wanted}.`,
    remedy: 'Find out what changes its name, reboot it so that the name of host.hostname is in force, and run again.',
    evidence: [{ source: 'Win32_ComputerSystem', text: `Name = ${found ?? ''}` }],
  });
}
