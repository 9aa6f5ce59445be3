import type { Model } from '@machineadm/document/model.ts';
import { wantedGroups } from '../../accounts/wanted-groups.ts';
import { partsOf, type Resource } from '../../host/seam/resource.ts';
import type { ResetAction } from '../../prior-state/action.ts';
import type { FollowUp, StepRecord } from '../../step/index.ts';
import type { Memory } from '../../step/memory.ts';
import { namedIn } from '../../step/named-in.ts';

/** Something of an earlier run that the document does not ask for any more. */
export interface Dropped {
  readonly id: string;
  readonly summary: string;
  /** undefined: it stays, which is reported once. */
  readonly perform?: ResetAction['perform'];
  /** What is as it was before the first run once this is done. */
  readonly restores?: Resource | undefined;
  readonly owes?: readonly FollowUp[];
}

/** Without those that stay and were reported before. */
export function notReported(dropped: readonly Dropped[], { notes }: StepRecord): readonly Dropped[] {
  return dropped.filter(({ id, summary, perform }) => perform !== undefined || notes.get(id) !== summary);
}

/** What no run takes back, and why. */
export function staysOf({ host, containerd, kubernetes }: Model, memory: Memory): readonly Dropped[] {
  if (host.prune === 'Never') return [];
  const found = new Map<string, string>();
  const mounts = [...host.storage.mounts.map(({ path }) => path), ...namedIn(host, 'mount', [])];
  const swaps = host.storage.mounts.filter(({ path }) => path === 'none');
  const removed = namedIn(host, 'swap-file', []);
  /** Of a device it is not known whether it is the one that the document names. */
  const isSwapAsked = (name: string): boolean =>
    memory.before.has(`swap-file:${name}`)
      ? removed.includes(name) || swaps.some((one) => 'source' in one && one.source === name)
      : swaps.length > 0;
  const stays = (id: string, what: string): unknown => found.set(id, what);
  for (const [of, { step, was }] of memory.before) {
    if (memory.others(of, step)) continue;
    const { kind, name } = partsOf(of);
    const isMade = was === null;
    if (step === 'hostname' && host.hostname === undefined)
      stays('hostname', 'the host name stays: certificates, logs and the cluster use it');
    if (step === 'users' && kind === 'user' && isMade && !namedIn(host, 'user', host.users).includes(name))
      stays(of, `the user ${name} stays, with its files: absent: true removes it`);
    if (step === 'groups' && kind === 'group' && isMade && !namedIn(host, 'group', wantedGroups(host)).includes(name))
      stays(of, `the group ${name} stays, as files may belong to it: absent: true removes it`);
    if (step === 'mounts' && kind === 'mount' && !mounts.includes(name))
      stays(of, `${name} stays mounted, as programs may use it: absent: true unmounts it`);
    if (step === 'mounts' && kind === 'swap' && !isSwapAsked(name)) {
      const how = memory.before.has(`swap-file:${name}`)
        ? 'absent: true removes the swap file'
        : 'swapoff turns it off';
      stays(of, `swap on ${name} stays on, as the kernel may need the memory: ${how}`);
    }
    if (step === 'swap' && host.swap !== 'Disabled' && kubernetes !== undefined)
      stays('swap', 'swap stays off: a kubelet does not start with it unless it is configured so');
    if (step === 'containerd' && containerd === undefined && kubernetes !== undefined)
      stays('containerd', 'the configuration of containerd stays: the node works with it');
  }
  for (const change of memory.acted.get('kernel-modules') ?? []) {
    const [, module] = /^kernel-modules\/load\/(.+)$/.exec(change) ?? [];
    if (module === undefined || host.kernelModules.some((name) => name.replaceAll('-', '_') === module)) continue;
    if (memory.others(`module:${module}`, 'kernel-modules')) continue;
    stays(change, `the kernel module ${module} stays loaded until the next boot: programs may use it unnoticed`);
  }
  for (const [step, isAsked, what] of [
    ['disks', host.storage.disks.length > 0, 'partitions stay: no run deletes data'],
    ['filesystems', host.storage.filesystems.length > 0, 'file systems stay: no run deletes data'],
    ['active-directory', host.activeDirectory !== undefined, 'the machine stays in the domain: a reset leaves it'],
    ['hooks-early', host.hooks.early !== undefined, 'the effects of early hooks stay: machineadm does not know them'],
    [
      'hooks-before-bootstrap',
      host.hooks.beforeBootstrap !== undefined,
      'the effects of hooks before the bootstrap stay: machineadm does not know them',
    ],
    [
      'hooks-after-bootstrap',
      host.hooks.afterBootstrap !== undefined,
      'the effects of hooks after the bootstrap stay: machineadm does not know them',
    ],
  ] as const) {
    if (!isAsked && memory.acted.has(step)) stays(step, what);
  }
  const isBoolean = memory.acted.get('selinux')?.has('selinux/booleans') === true;
  if (isBoolean && Object.keys(host.selinux?.booleans ?? {}).length === 0)
    stays('selinux/booleans', 'SELinux booleans keep their values: setsebool -P changes them');
  return [...found].map(([id, what]) => ({
    id: `removals/stays/${id}`,
    summary: `no longer in the document: ${what}`,
  }));
}
