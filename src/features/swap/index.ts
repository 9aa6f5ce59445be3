import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { FSTAB, UNIT_DIRECTORY, ZRAM_CONFIGURATION } from '@machineadm/document/ownership/paths.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import { activeSwaps, FSTAB_MARKER, withoutSwap, withSwap } from '../../block-devices/swap-lines.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import type { Change, UnmetRequirement } from '../../step/index.ts';
import { type SwapOrigin, swapOrigins, UNIT_DIRECTORIES } from './origins.ts';

/** zram-generator.conf(5): the first of /run, /etc, /usr/local/lib, /usr/lib wins, so an empty file in /etc hides a vendor's. */
const VENDOR_ZRAM_CONFIGURATIONS = [
  '/usr/local/lib/systemd/zram-generator.conf',
  '/usr/lib/systemd/zram-generator.conf',
];
/** A condition that never holds: how an administrator's own unit is disabled without touching it. */
const NEVER = '# Written by machineadm: swap is disabled on this node.\n[Unit]\nConditionPathExists=!/\n';

export interface SwapDesired {
  /** Services that the document disables or masks: they turn on nothing at the next boot. */
  readonly disabled: ReadonlySet<string>;
  /** Whether there is a systemd that must read its units again. */
  readonly systemd: boolean;
}

export interface SwapActual {
  /** The active swaps of /proc/swaps, unescaped. */
  readonly active: readonly string[];
  readonly fstab:
    | { readonly text: string; readonly mode: number; readonly uid: number; readonly gid: number }
    | undefined;
  /** Swap units that are not masked and do not come from fstab. */
  readonly units: readonly SwapUnit[];
  readonly zram: boolean;
}

export interface SwapUnit {
  readonly name: string;
  readonly directory: string;
  readonly generated: boolean;
}

export type SwapPayload =
  | {
      readonly kind: 'write';
      readonly path: string;
      readonly content: string;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
    }
  | {
      readonly kind: 'off';
      readonly device: string;
      /** Whether something that turns swap on at boot was found and removed. */
      readonly isKnown: boolean;
    };

/**
 * No swap, now and after a reboot: a kubelet with its default `failSwapOn: true` refuses to start with swap on (k/k
 * pkg/kubelet/cm/container_manager_linux.go). What would bring it back goes first, so that nothing turns it on again
 * after the swapoff.
 */
export const swap: FeatureStep<SwapDesired, SwapActual, SwapPayload> = {
  id: 'swap',
  section: 'host.swap',
  stays: ({ host, kubernetes }, { resources }) =>
    resources.length > 0 && host.swap !== 'Disabled' && kubernetes !== undefined
      ? [['swap', 'swap stays off: a kubelet does not start with it unless it is configured so']]
      : [],
  isRequested: ({ host, kubernetes }) => host.swap === 'Disabled' || kubernetes !== undefined,
  sharedLines: { path: FSTAB, isOne: true, without: withSwap },
  followUps: { settles: ['daemon-reload'] },

  desired(model, facts) {
    if (model.host.swap !== 'Disabled') return undefined;
    const disabled = model.host.services.filter(({ enabled, masked }) => enabled === false || masked === true);
    return {
      disabled: new Set(disabled.map(({ name }) => name.replace(/\.service$/, ''))),
      systemd: facts.serviceManager === 'systemd',
    };
  },

  async preflight(host, desired) {
    const origins = (await swapOrigins(host)).filter(
      ({ service }) => service === undefined || !desired.disabled.has(service),
    );
    return [...origins.map(turnsItOn), ...(await missingSwapoff(host))];
  },

  async inspect(host) {
    const [text, stat] = [await host.readText(FSTAB), await host.stat(FSTAB)];
    return {
      active: activeSwaps(await host.readText('/proc/swaps')),
      fstab:
        text === undefined || stat === undefined ? undefined : { text, mode: stat.mode, uid: stat.uid, gid: stat.gid },
      units: await swapUnits(host),
      zram: await vendorZram(host),
    };
  },

  plan(desired, actual) {
    const changes: Change<SwapPayload>[] = [];
    const add = (id: string, summary: string, scope: 'base' | 'node', payload: SwapPayload): void => {
      const owes = payload.kind === 'write' && desired.systemd ? { owes: ['daemon-reload'] as const } : {};
      changes.push({ id: `swap/${id}`, summary, scope, ineffective: 'SwapNotDisabled', payload, ...owes });
    };
    if (actual.fstab !== undefined) {
      const { text, ...owner } = actual.fstab;
      const { content, devices } = withoutSwap(text);
      // No diff: the other lines of an fstab may hold a password (mount.cifs(8)).
      if (devices.length > 0) {
        add('fstab', `comment out in ${FSTAB}: swap on ${devices.join(', ')}`, 'base', {
          kind: 'write',
          path: FSTAB,
          content,
          ...owner,
        });
      }
    }
    const file = { kind: 'write', mode: 0o644, uid: 0, gid: 0 } as const;
    if (actual.zram) {
      add('zram-generator', `hide the vendor's zram configuration (empty ${ZRAM_CONFIGURATION})`, 'base', {
        ...file,
        path: ZRAM_CONFIGURATION,
        content: '',
      });
    }
    for (const unit of actual.units) {
      const scope = unit.generated ? 'node' : 'base';
      add(`unit/${unit.name}`, `mask ${unit.name}`, scope, { ...file, path: maskOf(unit), content: maskContent(unit) });
    }
    const isKnown = changes.length > 0 || actual.fstab?.text.includes(FSTAB_MARKER) === true;
    for (const device of actual.active)
      add(`off/${device}`, `turn off swap on ${device}`, 'node', { kind: 'off', device, isKnown });
    return changes;
  },

  async apply(host, change, execution) {
    const { payload } = change;
    if (payload.kind === 'write') {
      const { kind: _kind, ...file } = payload;
      if ((await host.stat(file.path))?.type === 'symlink') throw isLink(file.path);
      await host.writeFile(file);
      return;
    }
    execution.waitingFor(`swap on ${payload.device} to be read back into memory`);
    const result = await host.run({
      program: 'swapoff',
      args: ['--', payload.device],
      signal: execution.signal,
      changes: [`swap:${payload.device}`],
    });
    execution.waitingFor(undefined);
    if (result.status === 0) {
      if (!payload.isKnown) execution.warn(unknownOrigin(payload.device));
      return;
    }
    throw new MachineadmError({
      reason: 'SwapNotDisabled',
      summary: `Swap on ${payload.device} could not be turned off.`,
      remedy:
        'Free memory if it is in use (swapoff needs memory for what is swapped out); in a container, turn it off on the host.',
      evidence: [{ source: `swapoff ${payload.device}`, text: lastLine(result.stderr) }],
    });
  },

  settled: async (host) => await host.sync('/etc'),

  async whyNotEffective(host, _desired, left) {
    const devices = left.flatMap(({ payload }) => (payload.kind === 'off' ? [payload.device] : []));
    if (devices.length === 0) return undefined;
    const origins = await swapOrigins(host);
    const names = origins.map(({ name }) => name).join(', ');
    return {
      summary: `Swap on ${devices.join(', ')} was turned off and is on again${names === '' ? '' : `: ${names} turns it on`}.`,
      remedy:
        origins.length === 0
          ? 'Find the program that runs swapon ("journalctl -b | grep -i swap", "systemctl list-units --type=swap") and stop it, then run again.'
          : origins.map(remedyOf).join(' '),
      evidence: origins.map(({ name, text }) => ({ source: name, text })),
    };
  },
};

function turnsItOn(origin: SwapOrigin): UnmetRequirement {
  const what = `${origin.name} turns swap on at every boot (${origin.text}), and host.swap is Disabled`;
  return { reason: 'SwapNotDisabled', what, remedy: remedyOf(origin) };
}

function remedyOf({ name, service, text }: SwapOrigin): string {
  return service === undefined
    ? `Remove the line "${text}" from ${name}.`
    : `Add {name: ${service}, enabled: false, state: Stopped} to host.services.`;
}

async function missingSwapoff(host: QueryHost): Promise<readonly UnmetRequirement[]> {
  const active = activeSwaps(await host.readText('/proc/swaps'));
  if (active.length === 0 || (await host.which('swapoff')) !== undefined) return [];
  const what = 'swap is active, but swapoff is not installed';
  return [{ reason: 'SwapNotDisabled', what, remedy: 'Install util-linux.', scope: 'node' }];
}

function unknownOrigin(device: string): string {
  return (
    `swap on ${device} was turned off, but nothing was found that had turned it on: not fstab, swap units, zram-generator, ` +
    'enabled services, rc.local or cron. If a boot turns it on again, the kubelet does not start; find what runs swapon.'
  );
}

async function swapUnits(host: QueryHost): Promise<readonly SwapUnit[]> {
  const seen = new Set<string>();
  const units: SwapUnit[] = [];
  for (const directory of UNIT_DIRECTORIES) {
    // What a generator made belongs to this boot, the rest to the image.
    const generated = directory.startsWith('/run/');
    for (const name of (await host.list(directory)) ?? []) {
      if (!name.endsWith('.swap') || seen.has(name)) continue;
      const text = await host.readText(`${directory}/${name}`);
      if (text === undefined) continue;
      seen.add(name);
      // Empty, or a link to /dev/null: masked (systemd.unit(5)). systemd-fstab-generator's units go away with their
      // line in fstab; the others (systemd-gpt-auto-generator, zram-generator, packages) must be masked.
      if (text === '' || /^SourcePath=\/etc\/fstab$/m.test(text)) continue;
      const unit = { name, directory, generated };
      if (directory === UNIT_DIRECTORY && (await host.readText(maskOf(unit))) === NEVER) continue;
      units.push(unit);
    }
  }
  return units;
}

function maskOf(unit: SwapUnit): string {
  const path = `${UNIT_DIRECTORY}/${unit.name}`;
  return unit.directory === UNIT_DIRECTORY ? `${path}.d/90-machineadm.conf` : path;
}

function maskContent(unit: SwapUnit): string {
  return unit.directory === UNIT_DIRECTORY ? NEVER : '';
}

async function vendorZram(host: QueryHost): Promise<boolean> {
  // A configuration in /etc is the administrator's; its swap units are masked like any other.
  if ((await host.stat(ZRAM_CONFIGURATION)) !== undefined) return false;
  for (const path of VENDOR_ZRAM_CONFIGURATIONS) {
    const text = await host.readText(path);
    if (text !== undefined && text.trim() !== '') return true;
  }
  return false;
}

function isLink(path: string): MachineadmError {
  return new MachineadmError({
    reason: 'FileNotWritten',
    summary: `${path} is a symbolic link; machineadm does not replace what another tool put there.`,
    remedy: `Remove the swap lines from the file that ${path} points to, or replace the link with a file.`,
  });
}
