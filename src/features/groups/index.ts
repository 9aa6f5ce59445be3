import type { GroupModel, Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { readAccounts } from '../../accounts/databases.ts';
import { changeAccount, missingTools } from '../../accounts/tools.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import { EMPTY_RECORD, type UnmetRequirement } from '../../step/index.ts';
import { namedIn } from '../../step/named-in.ts';

/** The groups that do not exist on the machine. */
export type GroupsActual = readonly GroupModel[];

/**
 * The groups of the document and of its users' memberships. A group is created where neither the machine nor a
 * directory knows it. An existing group keeps its id: changing it would give its files to another group.
 */
export const groups: FeatureStep<readonly GroupModel[], GroupsActual, GroupModel> = {
  id: 'groups',
  section: 'host.groups',
  stays({ host }, { resources }) {
    const named = namedIn(host, 'group', wantedGroups(host));
    return resources
      .filter(({ kind, name, isMade }) => kind === 'group' && isMade && !named.includes(name))
      .map(({ resource, name }) => [
        resource,
        `the group ${name} stays, as files may belong to it: absent: true removes it`,
      ]);
  },
  isRequested: STAYS,

  desired({ host }) {
    const wanted = wantedGroups(host);
    return wanted.length === 0 ? undefined : wanted;
  },

  async preflight(host, desired) {
    const conflicts = await conflictsOf(host, desired);
    if (conflicts.length > 0) return conflicts;
    const absent = await groups.inspect(host, desired, EMPTY_RECORD);
    return absent.length === 0 ? [] : await missingTools(host, new Set(['groupadd']));
  },

  async inspect(host, desired) {
    const [conflict] = await conflictsOf(host, desired);
    if (conflict !== undefined) {
      throw new MachineadmError({ reason: conflict.reason, summary: conflict.what, remedy: conflict.remedy });
    }
    const absent: GroupModel[] = [];
    for (const group of desired) if ((await host.groupId(group.name)) === undefined) absent.push(group);
    return absent;
  },

  plan(_desired, absent) {
    return absent.map((group) => ({
      id: `groups/${group.name}`,
      summary: `create the group ${group.name}${group.gid === undefined ? '' : ` with the id ${group.gid}`}`,
      action: 'add',
      scope: 'base',
      ineffective: 'AccountNotChanged',
      payload: group,
    }));
  },

  async apply(host, { payload: { name, gid, system } }, { signal }) {
    const changes = [`group:${name}`] as const;
    const args = [...(gid === undefined ? [] : ['--gid', String(gid)]), ...(system ? ['--system'] : []), '--', name];
    await changeAccount(host, { program: 'groupadd', args, signal, changes }, `the group ${name} was not created`);
  },

  settled: async (host) => await host.sync('/etc'),
};

/** The groups of the document, and those that its users are members of. */
function wantedGroups({ groups, users }: Pick<Model['host'], 'groups' | 'users'>): readonly GroupModel[] {
  const wanted = new Map(groups.map((group) => [group.name, group]));
  for (const user of users) {
    for (const name of [...(user.primaryGroup === undefined ? [] : [user.primaryGroup]), ...user.groups]) {
      if (!wanted.has(name)) wanted.set(name, { name, gid: undefined, system: user.system });
    }
  }
  return [...wanted.values()];
}

/** Ids that another group already has, and groups that exist with another id. */
async function conflictsOf(host: QueryHost, desired: readonly GroupModel[]): Promise<readonly UnmetRequirement[]> {
  const { groups: present } = await readAccounts(host);
  const conflicts: UnmetRequirement[] = [];
  for (const { name, gid } of desired) {
    if (gid === undefined) continue;
    const now = await host.groupId(name);
    if (now === gid) continue;
    const holder = [...present.values()].find((group) => group.gid === gid);
    if (now === undefined && holder === undefined) continue;
    conflicts.push({
      reason: 'AccountConflict',
      what:
        now === undefined
          ? `the group ${name} cannot get the id ${gid}: it is the id of ${holder?.name}`
          : `the group ${name} has the id ${now}, and the document wants ${gid}`,
      remedy:
        'Correct the gid under host.groups, or renumber the group manually together with the files that belong to it.',
    });
  }
  return conflicts;
}
