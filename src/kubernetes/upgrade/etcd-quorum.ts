import { member, text } from '@machineadm/document/values/untyped.ts';
import { askEtcd, listMembers } from '../etcd-members.ts';
import type { EtcdMember } from '../etcd-ownership.ts';
import { type LocalEtcd, ownMember } from '../local-etcd.ts';

/** What etcd is without the member of this machine, for the time in which that restarts. */
export interface EtcdOutlook {
  /** Decimal. */
  readonly ownId: string;
  /** Of the database of this member, in bytes. */
  readonly size: number;
  readonly members: number;
  /** Why the member of this machine must not be stopped; undefined: it may. */
  readonly risk: string | undefined;
}

/** undefined: etcd did not list its members. */
export async function etcdOutlook(etcd: LocalEtcd, signal?: AbortSignal): Promise<EtcdOutlook | undefined> {
  const members = await listMembers(etcd, signal);
  const own = members === undefined ? undefined : ownMember(members, etcd);
  if (members === undefined || own === undefined) return undefined;
  const status = await askEtcd(etcd, '/v3/maintenance/status', {}, signal);
  const others = members.filter(({ id }) => id !== own.id);
  const answers = await Promise.all(others.map(async (one) => [one, await isHealthy(etcd, one, signal)] as const));
  const isWell = status !== undefined && errorsIn(status).length === 0;
  const why = isWell ? riskOf(members, answers) : `the member of this machine reports ${errorsIn(status).join(', ')}`;
  return {
    ownId: own.id,
    size: Number(text(member(status, 'dbSize')) ?? 0),
    members: members.length,
    risk: status === undefined ? 'the member of this machine does not answer' : why,
  };
}

/**
 * Why the member of this machine must not be stopped. One or two members cannot do without one: then etcd, and with it the
 * API, pauses while it restarts, which is no reason to refuse. A member that does not answer is one, even if the others are a
 * quorum: one more failure during the upgrade would end the API.
 *
 * @param others each with whether it is healthy
 */
export function riskOf(
  members: readonly Pick<EtcdMember, 'isLearner'>[],
  others: readonly (readonly [Pick<EtcdMember, 'id' | 'name' | 'isLearner'>, boolean])[],
): string | undefined {
  const ill = others.filter(([, healthy]) => !healthy).map(([{ name, id }]) => name || id);
  const voters = members.filter(({ isLearner }) => !isLearner).length;
  const quorum = Math.floor(voters / 2) + 1;
  const healthy = others.filter(([{ isLearner }, isUp]) => isUp && !isLearner).length;
  const keepsQuorum = healthy >= quorum;
  if (ill.length === 0 && (keepsQuorum || members.length <= 2)) return undefined;
  const without = `without the member of this machine ${healthy} of ${voters} are healthy, and a quorum is ${quorum}`;
  const risk = keepsQuorum ? `${without}, so one more failure could end the API` : without;
  return ill.length === 0 ? risk : `${ill.join(', ')} ${ill.length === 1 ? 'does' : 'do'} not answer: ${risk}`;
}

async function isHealthy(etcd: LocalEtcd, one: EtcdMember, signal: AbortSignal | undefined): Promise<boolean> {
  const status = await askEtcd({ ...etcd, endpoints: one.clientUrls }, '/v3/maintenance/status', {}, signal);
  return text(member(member(status, 'header'), 'member_id')) === one.id && errorsIn(status).length === 0;
}

/** Alarms, such as a database that is full. */
function errorsIn(status: unknown): readonly string[] {
  const errors = member(status, 'errors');
  return Array.isArray(errors) ? errors.filter((error) => typeof error === 'string') : [];
}
