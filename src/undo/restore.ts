import { CONTAINERD_CONFIGURATION, ORIGINAL_SUFFIX } from '@machineadm/document/ownership/paths.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { partsOf, type Resource } from '../host/seam/resource.ts';
import { type Fingerprint, fingerprintsOf } from '../prior-state/copies.ts';
import { isOurs, stateOf } from '../prior-state/state.ts';
import type { StepsById } from '../step/feature-step.ts';
import type { FollowUp } from '../step/index.ts';
import { type Memory, marksOf } from '../step/memory.ts';
import type { Marks, PriorState } from '../step/recorded-state.ts';
import { UNKNOWN } from '../step/recorded-state.ts';
import { type ResetAction, runOrFail } from '../step/reset-action.ts';
import type { RestoredResource, RestoredTogether } from '../step/restoring.ts';
import { restoreGroup, restoreUser } from './restore-account.ts';
import { restoreModeAndOwner, restorePath } from './restore-path.ts';
import { planServices } from './restore-service.ts';

/** Files that something else is made of, and the command that makes it again. */
const DERIVED: readonly (readonly [paths: RegExp, program: string, args: readonly string[]])[] = [
  [/^\/etc\/sysusers\.d\//, 'systemd-sysusers', []],
  [/^\/etc\/tmpfiles\.d\//, 'systemd-tmpfiles', ['--create']],
  [/^\/etc\/udev\/(?:rules|hwdb)\.d\//, 'udevadm', ['control', '--reload']],
];
const OF_THE_SERVICE_MANAGER = /^\/(?:etc|usr\/lib|usr\/local\/lib)\/systemd\//;

/**
 * How the machine becomes again what it was before the first run: services that were not to run stop first, then each
 * resource in the reverse order of the changes, kernel settings in their own order, what is made of files, services last.
 *
 * @param osId of os-release(5), which decides how trusted certificates are put together
 */
export async function planRestore(
  steps: StepsById,
  host: QueryHost,
  memory: Memory,
  osId: string,
): Promise<readonly ResetAction[]> {
  const { owed, resources, kernel, modules, services } = await planResources(steps, host, memory, memory.before, true);
  const changed = resources.flatMap(({ resource, perform }) => (resource && perform ? [partsOf(resource).name] : []));
  const rebuilt = [
    ...[...steps.values()].flatMap(({ restoring }) => restoring?.rebuilt?.(owed, osId) ?? []),
    ...(await rebuild(host, changed, owed)),
  ];
  return [...services.first, ...resources, ...kernel, ...modules, ...rebuilt, ...services.last];
}

/**
 * The same for these resources only, because the document no longer asks for them; the machine keeps the rest. The
 * caller performs what follows from the changes.
 */
export async function planUndo(
  steps: StepsById,
  host: QueryHost,
  memory: Memory,
  before: Memory['before'],
): Promise<readonly ResetAction[]> {
  const { resources, kernel, services } = await planResources(steps, host, memory, before, false);
  return [...services.first, ...resources, ...kernel, ...services.last];
}

async function planResources(
  steps: StepsById,
  host: QueryHost,
  memory: Memory,
  before: Memory['before'],
  isReset: boolean,
) {
  // Journals of earlier versions have no copies and so no key; nothing is compared then.
  const fingerprint = (await fingerprintsOf(host)) ?? ((sha256: string) => sha256);
  const gone = new Set<string>();
  const resources: ResetAction[] = [];
  const kernel: ResetAction[] = [];
  const modules: ResetAction[] = [];
  const together = new Together(steps, host, memory);
  const owed = new Set<FollowUp>();
  for (const [resource, { step, was }] of [...before].reverse()) {
    const found = await restoreOne(host, memory, resource, was, fingerprint, gone);
    const { kind, name } = partsOf(resource);
    const completed = steps.get(step)?.restoring?.completed;
    const isCompleted = kind === 'path' && completed !== undefined;
    const actions = isCompleted ? found.map((action) => completed(name, was, action)) : found;
    if (together.takes(step, { resource, was, actions })) continue;
    resources.push(...(await together.end()));
    const into = { kernel, module: modules }[kind as string] ?? resources;
    if (into === kernel) into.unshift(...actions);
    else into.push(...actions);
    if (resource.startsWith('mount:') && actions[0]?.perform !== undefined) gone.add(resource);
    if (!memory.isResetting && !actions.some(({ perform }) => perform !== undefined)) continue;
    for (const followUp of memory.everOwed.get(step) ?? []) owed.add(followUp);
    if (resource === `path:${CONTAINERD_CONFIGURATION}`) owed.add('restart:containerd');
  }
  resources.push(...(await (isReset ? together.endOfAll() : together.end())));
  const unmounts = unmountedBy(memory, resources);
  const services = await planServices(
    host,
    { before, after: memory.after },
    { owed: isReset ? owed : new Set(), gone, unmounts },
  );
  if (kernel.length > 0) kernel.push(await settleKernel(host, memory, before, kernel));
  return { owed, resources, kernel, modules, services };
}

/** Resources of a step that are restored together, collected while they follow each other. */
class Together {
  readonly #steps: StepsById;
  readonly #host: QueryHost;
  readonly #memory: Memory;
  #of: RestoredTogether | undefined;
  #restored: RestoredResource[] = [];

  constructor(steps: StepsById, host: QueryHost, memory: Memory) {
    this.#steps = steps;
    this.#host = host;
    this.#memory = memory;
  }

  takes(step: string, restored: RestoredResource): boolean {
    const of = this.#steps.get(step)?.restoring?.together;
    if (of?.includes(restored.resource) !== true || (this.#of !== undefined && this.#of !== of)) return false;
    this.#of = of;
    this.#restored.push(restored);
    return true;
  }

  /** How those that were collected are restored. */
  async end(): Promise<readonly ResetAction[]> {
    const [of, restored] = [this.#of, this.#restored];
    this.#of = undefined;
    this.#restored = [];
    return (await of?.plan(this.#host, restored, this.#memory)) ?? [];
  }

  /** The same, and what is left of interrupted changes of other steps. */
  async endOfAll(): Promise<readonly ResetAction[]> {
    const last = this.#of;
    const actions = [...(await this.end())];
    for (const { restoring } of this.#steps.values())
      if (restoring?.together !== undefined && restoring.together !== last)
        actions.push(...(await restoring.together.plan(this.#host, [], this.#memory)));
    return actions;
  }
}

async function restoreOne(
  host: QueryHost,
  memory: Memory,
  resource: Resource,
  was: PriorState,
  fingerprint: Fingerprint,
  gone: Set<string>,
): Promise<readonly ResetAction[]> {
  const { kind, name } = partsOf(resource);
  const marks = marksOf(memory, resource);
  switch (kind) {
    case 'path': {
      const original = memory.before.get(`path:${name}${ORIGINAL_SUFFIX}`)?.was === null;
      return await restorePath(host, { path: name, was, marks, original }, fingerprint, gone);
    }
    case 'attributes':
      return was?.is === 'attributes' ? await restoreModeAndOwner(host, name, was, marks) : [];
    case 'user':
      return await restoreUser(host, name, was, marks, fingerprint);
    case 'group':
      return await restoreGroup(host, name, was, marks);
    case 'kernel':
    case 'module':
    case 'swap':
    case 'swap-file':
    case 'mount':
      return restoreKernelState(resource, was, await stateOf(host, resource, fingerprint), marks);
    case 'service':
    case 'tree':
      return [];
  }
}

function restoreKernelState(
  resource: Resource,
  was: PriorState,
  now: PriorState,
  marks: Marks,
): readonly ResetAction[] {
  const { kind, name } = partsOf(resource);
  // The kernel gives swap areas without a priority new ones below 0 (swapon(2)).
  const isSame = kind === 'swap' ? (was === null) === (now === null) : JSON.stringify(was) === JSON.stringify(now);
  if (isSame) return [];
  if (kind !== 'module' && was?.is !== 'unknown' && !isOurs(marks, now)) {
    const what =
      { kernel: settingOf(name), swap: `swap on ${name}`, 'swap-file': name }[kind as string] ?? `the mount on ${name}`;
    return [{ summary: `leave ${what}: it was changed since machineadm changed it`, resource }];
  }
  const run = (summary: string, program: string, ...args: readonly string[]): readonly ResetAction[] => [
    { summary, resource, perform: (changing, signal) => runOrFail(changing, signal, { program, args }) },
  ];
  if (kind === 'kernel' && was?.is === 'kernel' && now !== null) {
    const summary = `set ${settingOf(name)} to ${was.value} again`;
    return [{ summary, resource, perform: (changing) => changing.writeKernelFile(name, was.value) }];
  }
  if (kind === 'swap') {
    if (was === null) return run(`turn off swap on ${name}`, 'swapoff', '--', name);
    const priority = was.is === 'swap' && was.priority >= 0 ? [`--priority=${was.priority}`] : [];
    return now === null ? run(`turn on swap on ${name}`, 'swapon', ...priority, '--', name) : [];
  }
  if (kind === 'swap-file') {
    if (was !== null) return [];
    return [{ summary: `delete the swap file ${name}`, resource, perform: (changing) => changing.removeFile(name) }];
  }
  if (kind === 'mount') {
    if (was === null) return run(`unmount ${name}`, 'umount', '--', name);
    if (was.is !== 'mount') return [];
    if (now === null) {
      return run(
        `mount ${was.source} on ${name}`,
        'mount',
        '-t',
        was.type,
        '-o',
        was.options,
        '--source',
        was.source,
        '--target',
        name,
      );
    }
    return run(`remount ${name} with ${was.options}`, 'mount', '-o', `remount,${was.options}`, name);
  }
  if (kind !== 'module' || was !== null) return [];
  return [
    {
      summary: `unload ${name}, unless something uses it`,
      resource,
      // rmmod(8) and not modprobe -r, which also removes modules that were there before.
      perform: async (changing, signal) => void (await changing.run({ program: 'rmmod', args: ['--', name], signal })),
    },
  ];
}

function settingOf(path: string): string {
  return path.replace(/^\/proc\/sys\//, '');
}

/** What the kernel sets beside a setting is set again after it, in the order of the changes. What is left stays as it is now. */
async function settleKernel(
  host: QueryHost,
  { before }: Memory,
  restored: Memory['before'],
  actions: readonly ResetAction[],
): Promise<ResetAction> {
  const left = new Set([
    ...actions.flatMap(({ resource, perform }) => (resource && !perform ? [resource] : [])),
    ...[...before.keys()].filter((of) => !restored.has(of)),
  ]);
  const values: [path: string, value: string][] = [];
  for (const [resource, { was }] of before) {
    const { kind, name } = partsOf(resource);
    if (kind !== 'kernel' || was?.is !== 'kernel') continue;
    const value = left.has(resource) ? await settingAt(host, name) : was.value;
    if (value !== undefined) values.push([name, value]);
  }
  return {
    unsettles: values.map(([path]) => `kernel:${path}` as const).flatMap((of) => (left.has(of) ? [] : [[of, UNKNOWN]])),
    async perform(changing) {
      for (const [path, value] of values) {
        const now = await settingAt(changing, path);
        if (now !== undefined && now !== value) await changing.writeKernelFile(path, value);
      }
    },
  };
}

/** undefined: it is gone, or cannot be read. */
async function settingAt(host: QueryHost, path: string): Promise<string | undefined> {
  return (await host.readText(path).catch(() => undefined))?.trim();
}

/** Services that a step had to stop before it mounted what is unmounted now. */
function unmountedBy({ before, everOwed }: Memory, actions: readonly ResetAction[]): ReadonlySet<string> {
  const steps = actions.flatMap(({ resource, perform }) =>
    resource?.startsWith('mount:') && perform !== undefined ? [before.get(resource)?.step ?? ''] : [],
  );
  const restarts = steps
    .flatMap((step) => [...(everOwed.get(step) ?? [])])
    .filter((owed) => owed.startsWith('restart:'));
  return new Set(restarts.map((owed) => owed.slice('restart:'.length).replace(/\.service$/, '')));
}

async function rebuild(
  host: QueryHost,
  changed: readonly string[],
  owed: ReadonlySet<FollowUp>,
): Promise<readonly ResetAction[]> {
  const actions: ResetAction[] = [];
  if (owed.has('daemon-reload') || changed.some((path) => OF_THE_SERVICE_MANAGER.test(path))) {
    actions.push({ perform: (changing) => changing.services.reload() });
  }
  for (const [paths, program, args] of DERIVED) {
    if (!changed.some((path) => paths.test(path)) || (await host.which(program)) === undefined) continue;
    actions.push({
      summary: [program, ...args].join(' '),
      perform: (changing, signal) => runOrFail(changing, signal, { program, args }),
    });
  }
  return actions;
}
