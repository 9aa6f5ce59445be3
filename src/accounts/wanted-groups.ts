import type { GroupModel, Model } from '@machineadm/document/model/index.ts';

/** The groups of the document, and those that its users are members of. */
export function wantedGroups({ groups, users }: Pick<Model['host'], 'groups' | 'users'>): readonly GroupModel[] {
  const wanted = new Map(groups.map((group) => [group.name, group]));
  for (const user of users) {
    for (const name of [...(user.primaryGroup === undefined ? [] : [user.primaryGroup]), ...user.groups]) {
      if (!wanted.has(name)) wanted.set(name, { name, gid: undefined, system: user.system });
    }
  }
  return [...wanted.values()];
}
