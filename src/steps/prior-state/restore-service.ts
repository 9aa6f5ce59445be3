import type { Host, QueryHost, ServiceManager } from '../../host/seam/host.ts';
import { partsOf, type Resource } from '../../host/seam/resource.ts';
import type { FollowUp } from '../step.ts';
import type { ResetAction } from './action.ts';
import type { PriorState, ServiceBefore } from './state.ts';

/** Where units lie that a reset may remove (systemd.unit(5), and OpenRC's scripts). */
const UNIT = /^\/(?:(?:etc|usr\/lib|usr\/local\/lib|lib)\/systemd\/system|etc\/init\.d)\/([^/]+)$/;

interface Circumstances {
  /** Follow-ups of the changes that are undone. */
  readonly owed: ReadonlySet<FollowUp>;
  /** Paths that the reset removes. */
  readonly gone: ReadonlySet<string>;
  /** Services that stop, because what they work in is unmounted. */
  readonly unmounts: ReadonlySet<string>;
}

/**
 * How services become again what they were: `first` is done while all files are still there, so that nothing loses its
 * unit while it runs; `last` once everything else is as it was.
 */
export async function planServices(
  host: QueryHost,
  before: ReadonlyMap<Resource, { readonly was: PriorState }>,
  { owed, gone, unmounts }: Circumstances,
): Promise<{ readonly first: readonly ResetAction[]; readonly last: readonly ResetAction[] }> {
  const first: ResetAction[] = [];
  const last: ResetAction[] = [];
  const known = new Map<string, ServiceBefore>();
  for (const path of gone) {
    const name = UNIT.exec(path)?.[1]?.replace(/\.service$/, '');
    if (name === undefined || /\.(?:conf|d)$/.test(name)) continue;
    known.set(name, { is: 'service', exists: false, active: false, enabled: false, masked: false });
  }
  for (const [resource, { was }] of before) {
    const { kind, name } = partsOf(resource);
    if (kind === 'service' && was?.is === 'service') known.set(name, was);
  }
  const restarts = new Set(
    [...owed]
      .filter((followUp) => followUp.startsWith('restart:'))
      .map((followUp) => followUp.slice('restart:'.length).replace(/\.service$/, '')),
  );
  const act = (into: ResetAction[], verb: keyof ServiceManager, name: string, summary = `${verb} ${name}`): void => {
    const perform = async (changing: Host): Promise<void> => {
      if ((await changing.service(name)).exists || verb === 'mask') await changing.services[verb as 'start'](name);
    };
    into.push({ summary, resource: `service:${name}`, perform });
  };
  for (const name of new Set([...[...known.keys()].reverse(), ...restarts, ...unmounts])) {
    const [was, now] = [known.get(name), await host.service(name)];
    const wanted = was?.active ?? now.active;
    if (now.active && (!wanted || unmounts.has(name))) act(first, 'stop', name);
    if (now.enabled && now.fixed !== true && was?.enabled === false) act(first, 'disable', name);
    if (now.masked && was?.masked === false) act(last, 'unmask', name);
    if (!now.enabled && was?.enabled === true) act(last, 'enable', name);
    if (wanted && now.active && restarts.has(name) && !unmounts.has(name)) act(last, 'restart', name);
    else if (wanted && (!now.active || unmounts.has(name))) act(last, 'start', name);
    if (!now.masked && was?.masked === true) act(last, 'mask', name);
  }
  return { first, last };
}
