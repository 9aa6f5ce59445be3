import type { Model, SysctlSetting } from '@machineadm/document/model/index.ts';
import { dropInPath } from '@machineadm/document/ownership/drop-ins.ts';
import { errnoOf } from '../../host/files/file-error.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import { partsOf } from '../../host/seam/resource.ts';
import { canonicalModule, isInKernel } from '../../kernel/loaded-modules.ts';
import { describeWrite, isAsWritten, type OwnFile, readOwnFile } from '../../owned-files/difference.ts';
import { putDropIn, readImageDropIns } from '../../owned-files/image-drop-ins.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import { type Change, notChecked, type UnmetRequirement } from '../../step/index.ts';
import { isAt, setBy } from '../../step/wants.ts';
import { describeOverride, normaliseSysctl, overridesAtBoot, parseSysctlFile, type SysctlOverride } from './boot.ts';
import { moduleOf, notEffective, refused, writeError } from './errors.ts';

export interface SysctlDesired {
  /** The drop-in of the document. */
  readonly path: string;
  /** True for a document that is applied to an image. */
  readonly ofImage: boolean;
  /** In the order in which they are written. */
  readonly settings: readonly SysctlSetting[];
  /** Modules that an earlier step of the same document loads. */
  readonly modules: ReadonlySet<string>;
}

export interface SysctlActual {
  /** By key; 'absent' when the kernel has no such key, 'unreadable' when it cannot be read. */
  readonly values: ReadonlyMap<string, string | { readonly problem: 'absent' | 'unreadable' }>;
  readonly file: OwnFile;
  /** Whether the image sets all of it at boot, so that the document needs no drop-in. */
  readonly isInImage: boolean;
  readonly overrides: readonly SysctlOverride[];
}

export type SysctlPayload =
  | { readonly kind: 'file'; readonly path: string; readonly content: string | undefined }
  | ({ readonly kind: 'key' } & SysctlSetting);

/**
 * Kernel settings: persisted in a file of our own and written to /proc/sys by ourselves. The tools are not asked,
 * because their exit status says nothing: `sysctl --system` and systemd-sysctl end with 0 for unknown and for read-only
 * keys, and `--system` applies everybody else's values again. The file is `base`; the running kernel is `node`.
 */
export const sysctl: FeatureStep<SysctlDesired, SysctlActual, SysctlPayload> = {
  id: 'sysctl',
  restoring: {
    untilBoot: ({ host }, restored) =>
      host.sysctl.length > 0 || restored.some((resource) => partsOf(resource).kind === 'kernel')
        ? undefined
        : 'the kernel keeps the values until the next boot',
  },
  section: 'host.sysctl',
  isRequested: (model, { kind, name }) =>
    kind === 'path'
      ? ownedPaths(model).some((path) => isAt(path, name))
      : model.host.sysctl.some(({ key }) => setBy(key).test(name)),
  owned: ownedPaths,

  desired(model) {
    if (model.host.sysctl.length === 0) return undefined;
    return {
      path: dropInPath('sysctl', model),
      ofImage: model.ofImage === true,
      settings: inWritingOrder(model.host.sysctl),
      modules: new Set(model.host.kernelModules.map(canonicalModule)),
    };
  },

  async preflight(host, { settings, modules }) {
    const found: UnmetRequirement[] = [];
    const awaited = new Set<string>();
    for (const module of modules) if (!(await isInKernel(host, module))) awaited.add(module);
    const readOnly = await readOnlyMounts(host);
    for (const { key, value, optional } of settings) {
      const now = optional === true ? undefined : await readKey(host, key);
      if (typeof now === 'string' && now !== normaliseSysctl(value) && isReadOnly(`/proc/sys/${key}`, readOnly)) {
        const { reason, message: what, remedy } = refused('SysctlReadOnly', key);
        found.push({ reason, what, remedy, change: `sysctl/${key}`, scope: 'node' });
      }
      if (typeof now !== 'object' || now.problem !== 'absent') continue;
      const module = moduleOf(key);
      if (module !== undefined && modules.has(module)) continue;
      const change = `sysctl/${key}`;
      if (module === undefined && awaited.size > 0) {
        found.push(
          notChecked(dotted(key), `a module that is loaded first may bring it (${[...awaited].join(', ')})`, {
            change,
          }),
        );
        continue;
      }
      const { reason, message: what, remedy } = refused('SysctlUnknown', key);
      found.push({ reason, what, remedy, change, scope: 'node' });
    }
    return found;
  },

  async inspect(host, desired, record) {
    const values = new Map<string, string | { problem: 'absent' | 'unreadable' }>();
    for (const { key } of desired.settings) values.set(key, await readKey(host, key));
    const image = desired.ofImage ? [] : await readImageDropIns(host, 'sysctl', record);
    const atBoot = new Map(
      image.flatMap(({ path, text }) =>
        parseSysctlFile(path, text).map(({ key, value }): [string, string] => [key, normaliseSysctl(value)]),
      ),
    );
    return {
      values,
      file: await readOwnFile(host, desired.path),
      isInImage: [...wantedValues(desired)].every(([key, value]) => atBoot.get(key) === value),
      overrides: await overridesAtBoot(host, desired.path, wantedValues(desired)),
    };
  },

  plan(desired, actual) {
    const changes: Change<SysctlPayload>[] = [];
    const { path } = desired;
    const content = actual.isInImage ? undefined : sysctlFile(desired.settings);
    if (!isAsWritten(actual.file, content)) {
      const overrides = actual.overrides.map((override) => `; but ${describeOverride(override)}`).join('');
      const what =
        content === undefined ? `remove ${path}: the image sets it` : describeWrite(path, actual.file, content);
      changes.push({
        id: 'sysctl/file',
        summary: `${what}${overrides}`,
        diff: textDiff(actual.file.text ?? '', content ?? ''),
        scope: 'base',
        payload: { kind: 'file', path, content },
      });
    }
    const differing = desired.settings.filter((setting) => !holds(actual, setting) && !isSpared(actual, setting));
    for (const setting of desired.settings) {
      const resetBy = differing.find((other) => resets(other.key, setting.key));
      if (!differing.includes(setting) && resetBy === undefined) continue;
      changes.push(keyChange(setting, actual, desired.modules, resetBy?.key));
    }
    return changes;
  },

  async apply(host, change) {
    const { payload } = change;
    if (payload.kind === 'key') return await writeKey(host, payload);
    await putDropIn(host, payload);
  },

  async settled(host, desired, execution) {
    await host.sync('/etc/sysctl.d');
    for (const override of await overridesAtBoot(host, desired.path, wantedValues(desired))) {
      execution.warn(`${describeOverride(override)}: change or remove that line`);
    }
  },
};

/**
 * Forwarding first, because writing it resets others; then what applies to all interfaces, which the kernel copies to
 * each; then the rest. Within a rank the document's order stays.
 */
export function inWritingOrder(settings: readonly SysctlSetting[]): readonly SysctlSetting[] {
  const rank = (key: string): number => {
    if (key === 'net/ipv4/ip_forward') return 0;
    if (/^net\/ipv[46]\/conf\/(all|default)\/forwarding$/.test(key)) return 1;
    if (/^net\/ipv[46]\/conf\/(all|default)\//.test(key)) return 2;
    return 3;
  };
  return settings.toSorted((a, b) => rank(a.key) - rank(b.key));
}

/**
 * Whether writing one key makes the kernel reset another: turning IPv4 forwarding on or off sets forwarding of all
 * interfaces and flips accept_redirects (Linux net/ipv4/devinet.c, inet_forward_change); IPv6 likewise (addrconf.c).
 */
function resets(writer: string, key: string): boolean {
  if (writer === key) return false;
  if (writer === 'net/ipv4/ip_forward' || writer === 'net/ipv4/conf/all/forwarding') {
    return key.startsWith('net/ipv4/conf/');
  }
  return writer === 'net/ipv6/conf/all/forwarding' && key.startsWith('net/ipv6/conf/');
}

/** As documents and sysctl.d(5) write a key: a dot in the name of an interface is a slash then. */
function dotted(key: string): string {
  return key.replace(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}

function keyChange(
  setting: SysctlSetting,
  actual: SysctlActual,
  modules: ReadonlySet<string>,
  resetBy: string | undefined,
): Change<SysctlPayload> {
  const { key, value } = setting;
  const now = actual.values.get(key);
  const module = moduleOf(key);
  const absent = typeof now === 'object' && now.problem === 'absent';
  const awaited = absent && module !== undefined && modules.has(module);
  const from = typeof now === 'string' ? now : absent ? 'no such key' : 'unreadable';
  return {
    id: `sysctl/${key}`,
    summary:
      resetBy !== undefined && now === value
        ? `${dotted(key)}: write ${value} again, because ${dotted(resetBy)} resets it`
        : `${dotted(key)}: ${from} -> ${value}`,
    scope: 'node',
    ...(awaited ? { knownAfter: 'kernel-modules' as const } : {}),
    ineffective: 'SysctlNotEffective',
    payload: { kind: 'key', key, value },
  };
}

function holds(actual: SysctlActual, setting: SysctlSetting): boolean {
  return actual.values.get(setting.key) === normaliseSysctl(setting.value);
}

/** An optional setting on a kernel that does not have it. */
function isSpared(actual: SysctlActual, { key, optional }: SysctlSetting): boolean {
  const now = actual.values.get(key);
  return optional === true && typeof now === 'object' && now.problem === 'absent';
}

function sysctlFile(settings: readonly SysctlSetting[]): string {
  // The slash form: with dots, an interface such as eth0.100 cannot be named. No comment after a value: it would
  // become part of it.
  return `# Written by machineadm.\n${settings.map(({ key, value }) => `${key} = ${value}\n`).join('')}`;
}

function wantedValues(desired: SysctlDesired): ReadonlyMap<string, string> {
  return new Map(desired.settings.map(({ key, value }) => [key, normaliseSysctl(value)]));
}

function pathOf(key: string): string {
  if (key.split('/').some((part) => part === '' || part === '.' || part === '..')) throw refused('SysctlUnknown', key);
  return `/proc/sys/${key}`;
}

async function readKey(host: QueryHost, key: string): Promise<string | { problem: 'absent' | 'unreadable' }> {
  try {
    const text = await host.readText(pathOf(key));
    return text === undefined ? { problem: 'absent' } : normaliseSysctl(text);
  } catch (error) {
    // Write-only keys (net/ipv4/route/flush) and keys that are unset (ipv6 stable_secret: EIO) cannot be read.
    if (errnoOf(error) !== undefined) return { problem: 'unreadable' };
    throw error;
  }
}

/** Where file systems are mounted below /proc/sys, with the options of each: in most containers it is read-only. */
async function readOnlyMounts(host: QueryHost): Promise<ReadonlyMap<string, boolean>> {
  const mounts = new Map<string, boolean>();
  for (const line of ((await host.readText('/proc/self/mounts')) ?? '').split('\n')) {
    const [, point = '', , options = ''] = line.split(' ');
    // The last one is on top.
    if (point.startsWith('/proc')) mounts.set(point, options.split(',').includes('ro'));
  }
  return mounts;
}

/** Whether the file system that has a path is mounted read-only. */
function isReadOnly(path: string, readOnly: ReadonlyMap<string, boolean>): boolean {
  const points = [...readOnly.keys()].filter((point) => path === point || path.startsWith(`${point}/`));
  const closest = points.toSorted((a, b) => b.length - a.length)[0];
  return closest !== undefined && readOnly.get(closest) === true;
}

/** Writes a key and reads it back; what another program undid at that moment is written once more. */
async function writeKey(host: Host, { key, value }: SysctlSetting): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await host.writeKernelFile(pathOf(key), value);
    } catch (error) {
      throw writeError(key, value, error);
    }
    const now = await readKey(host, key);
    if (now === normaliseSysctl(value)) return;
    if (attempt === 2) throw notEffective(key, value, typeof now === 'string' ? now : undefined);
  }
}

function ownedPaths(model: Model): readonly string[] {
  return model.host.sysctl.length > 0 ? [dropInPath('sysctl', model)] : [];
}
