/** What becomes of what a field did once the document does not have it any more. */
export interface DroppedField {
  /** How the plan or the reference says it. */
  readonly why: string;
  /** What stays on the machine, by path; absent: nothing. */
  readonly stays?: RegExp;
}

const UNDONE: DroppedField = { why: 'becomes again what it was before the first run' };
const FILES: DroppedField = { why: 'its file is written anew without it, and goes with the last' };
const RUN: DroppedField = { why: 'says how a run works, and leaves nothing on the machine' };
const AS_IT_IS: DroppedField = { why: '"it stays as it is", as the reference says of an absent field' };
const DATA: DroppedField = { why: 'no run deletes data; the plan says that it stays' };
const HOOKS: DroppedField = { why: 'machineadm does not know what hooks did; the plan says that it stays' };
const MEMBERSHIP: DroppedField = { why: 'the machine stays in the domain; the plan says so' };
const ENTRY: DroppedField = { why: 'says which entry is meant' };
const ABSENT: DroppedField = { why: 'what was removed does not come back' };
const FOLLOWS: DroppedField = { why: 'names what follows a change' };

/** By field, with `*` for one name and `**` for all below; the most exact entry counts. A field without an entry is undone. */
export const DROPPED: Readonly<Record<string, DroppedField>> = {
  'host.platform': RUN,
  'host.rebootPolicy': RUN,
  'host.hostname': {
    why: 'the machine is known by its name; the plan says that it stays',
    stays: /hostname|cloud\.cfg\.d|^\/etc\/hosts /,
  },
  'host.hosts.**': UNDONE,
  'host.network.**': UNDONE,
  'host.network.keep.*': RUN,
  'host.timezone': UNDONE,
  'host.selinux.mode': UNDONE,
  'host.selinux.booleans.*': { why: 'what it was is not on record; the plan says that it stays', stays: /boolean/ },
  'host.selinux.fileContexts[].**': {
    why: 'undone; semanage leaves its empty file',
    stays: /^\/etc\/selinux\/targeted/,
  },
  'host.apparmor.**': UNDONE,
  'host.kernelModules[]': {
    why: 'programs may use a module unseen; the plan says that it stays',
    stays: /^\/sys\/module\//,
  },
  'host.sysctl.*': UNDONE,
  'host.limits.**': { ...FILES, stays: /^\/etc\/systemd\/system\.conf\.d / },
  'host.swap': UNDONE,
  'host.groups[].**': {
    why: 'files may belong to it; the plan says that it stays',
    stays: /^\/etc\/(?:group|passwd) /,
  },
  'host.groups[].absent': ABSENT,
  'host.users[].**': {
    why: 'files belong to it; the plan says that it stays, and the reference that an absent field does',
    stays: /^\/(?:etc\/(?:group|passwd|shadow) |srv\/homes|home\/)/,
  },
  'host.users[].sudo': UNDONE,
  'host.users[].sudo[]': UNDONE,
  'host.users[].absent': ABSENT,
  'host.time.**': UNDONE,
  'host.time.synchronized.*': RUN,
  'host.proxy.**': UNDONE,
  'host.certificateAuthorities[].**': UNDONE,
  '**.restarts[]': FOLLOWS,
  '**.reloads[]': FOLLOWS,
  'host.activeDirectory.**': MEMBERSHIP,
  'host.activeDirectory.logins.**': UNDONE,
  'host.services[].name': UNDONE,
  'host.services[].enabled': AS_IT_IS,
  'host.services[].masked': AS_IT_IS,
  'host.services[].state': { ...AS_IT_IS, stays: /^service / },
  'host.services[].dropIns[].*': UNDONE,
  'host.services[].absent': ABSENT,
  'host.storage.disks[].**': DATA,
  'host.storage.filesystems[].**': DATA,
  'host.storage.mounts[].**': {
    why: 'programs may work in it; the plan says that it stays',
    stays: /^\/(?:etc\/fstab|proc\/self\/mountinfo|srv\/data) /,
  },
  'host.storage.mounts[].absent': ABSENT,
  'host.directories[].path': UNDONE,
  'host.directories[].mode': { ...AS_IT_IS, stays: /^\/srv\/app / },
  'host.directories[].owner': AS_IT_IS,
  'host.directories[].recursive.**': { ...AS_IT_IS, stays: /^\/srv\/app\/in/ },
  'host.directories[].recursive': AS_IT_IS,
  'host.directories[].absent': ABSENT,
  'host.files[].**': UNDONE,
  'host.files[].absent': ABSENT,
  'host.links[].*': UNDONE,
  'host.links[].force': ENTRY,
  'host.links[].absent': ABSENT,
  'host.prune': RUN,
  'host.hooks.**': HOOKS,
  'containerRuntime.containerd.**': UNDONE,
};
