import type { Host, QueryHost } from '../host/seam/host.ts';
import { partsOf } from '../host/seam/resource.ts';
import type { FollowUp } from '../step/index.ts';
import { type Memory, marksOf } from '../step/memory.ts';
import type { ServiceBefore } from '../step/recorded-state.ts';
import { UNKNOWN } from '../step/recorded-state.ts';
import type { ResetAction } from '../step/reset-action.ts';

/** The directories of units that a reset may remove (systemd.unit(5), and OpenRC's scripts). */
const UNIT = /^\/(?:(?:etc|usr\/lib|usr\/local\/lib|lib)\/systemd\/system|etc\/init\.d)\/([^/]+)$/;

/** The attribute of a service that each verb sets, its new value, and the verb that undoes it. */
const VERBS = {
  start: { attribute: 'active', value: true, state: 'running', opposite: 'stop' },
  stop: { attribute: 'active', value: false, state: 'stopped', opposite: 'start' },
  enable: { attribute: 'enabled', value: true, state: 'enabled', opposite: 'disable' },
  disable: { attribute: 'enabled', value: false, state: 'disabled', opposite: 'enable' },
  mask: { attribute: 'masked', value: true, state: 'masked', opposite: 'unmask' },
  unmask: { attribute: 'masked', value: false, state: 'unmasked', opposite: 'mask' },
} as const;
type Verb = keyof typeof VERBS;

interface Circumstances {
  /** Follow-ups of the changes that are undone. */
  readonly owed: ReadonlySet<FollowUp>;
  /** Paths that the reset removes. */
  readonly gone: ReadonlySet<string>;
  /** Services that stop, because what they work in is unmounted. */
  readonly unmounts: ReadonlySet<string>;
}

/**
 * How services get back their earlier state: `first` is done while all files still exist, so that no unit is lost while
 * it runs; `last` once everything else is restored.
 */
export async function planServices(
  host: QueryHost,
  memory: Pick<Memory, 'before' | 'after'>,
  { owed, gone, unmounts }: Circumstances,
): Promise<{ readonly first: readonly ResetAction[]; readonly last: readonly ResetAction[] }> {
  const first: ResetAction[] = [];
  const last: ResetAction[] = [];
  const known = new Map<string, ServiceBefore>();
  const removed = new Set<string>();
  for (const path of gone) {
    const name = UNIT.exec(path)?.[1]?.replace(/\.service$/, '');
    if (name === undefined || /\.(?:conf|d)$/.test(name)) continue;
    removed.add(name);
    known.set(name, { is: 'service', exists: false, active: false, enabled: false, masked: false });
  }
  for (const [resource, { was }] of memory.before) {
    const { kind, name } = partsOf(resource);
    if (kind === 'service' && was?.is === 'service') known.set(name, was);
  }
  const restarts = new Set(
    [...owed]
      .filter((followUp) => followUp.startsWith('restart:'))
      .map((followUp) => followUp.slice('restart:'.length).replace(/\.service$/, '')),
  );
  const act = (into: ResetAction[], verb: Verb | 'restart', name: string, isBackLater = false): void => {
    const resource = `service:${name}` as const;
    const perform = async (changing: Host): Promise<void> => {
      if ((await changing.service(name)).exists || verb === 'mask') await changing.services[verb](name);
    };
    into.push({
      summary: `${verb} ${name}`,
      resource,
      ...(isBackLater ? { unsettles: [[resource, 'stop']] } : {}),
      perform,
    });
  };
  for (const name of new Set([...[...known.keys()].reverse(), ...restarts, ...unmounts])) {
    const [was, found] = [known.get(name), await host.service(name)];
    const now = { ...found, enabled: found.enabled && found.fixed !== true };
    const marks = marksOf(memory, `service:${name}`);
    let isMasked = false;
    const isDue = (verb: Verb): boolean => {
      const { attribute, value, opposite } = VERBS[verb];
      if (was?.[attribute] !== value || now[attribute] === value) return false;
      const isOurs = marks === undefined || marks.includes(opposite) || marks.includes(UNKNOWN);
      const isFree = isOurs || removed.has(name) || !was.exists;
      const isBarred = isMasked && (verb === 'start' || verb === 'enable');
      if (isFree && !isBarred) return true;
      const why = isBarred ? 'it is masked' : 'that was not machineadm';
      last.push({ summary: `leave ${name} ${VERBS[opposite].state}: ${why}` });
      return false;
    };
    const isUnmasked = isDue('unmask');
    isMasked = now.masked && !isUnmasked;
    const isInterrupted = now.active && unmounts.has(name);
    const isStopped = isDue('stop');
    const isStarted = isDue('start') || (isInterrupted && !isStopped);
    if (isStopped || isInterrupted) act(first, 'stop', name, isStarted);
    if (isDue('disable')) act(first, 'disable', name);
    if (isUnmasked) act(last, 'unmask', name);
    if (isDue('enable')) act(last, 'enable', name);
    if (isStarted) act(last, 'start', name);
    else if (now.active && !isStopped && restarts.has(name)) act(last, 'restart', name, true);
    if (isDue('mask')) act(last, 'mask', name);
  }
  return { first, last };
}
