import { OWN_FILE_PREFIX, TRUST_STORES, UNIT_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { Host } from '../host/seam/host.ts';
import type { FollowUp } from './step.ts';

const UNIT = new RegExp(`^${UNIT_DIRECTORY}/([^/]+\\.[a-z]+)(\\.d/[^/]+\\.conf)?$`);

/** What must follow the removal of a file, as its place tells. */
export function followUpsOf(path: string): readonly FollowUp[] {
  const isTrusted = Object.values(TRUST_STORES).some(({ directory }) =>
    path.startsWith(`${directory}/${OWN_FILE_PREFIX}`),
  );
  if (isTrusted) return ['update-ca-certificates', 'restart:containerd.service'];
  const [, unit, dropIn] = UNIT.exec(path) ?? [];
  if (unit === undefined) return [];
  return dropIn === undefined ? ['daemon-reload'] : ['daemon-reload', `restart:${unit}`];
}

/** A unit does not outlive its description: nothing could stop it any more. */
export async function stopUnit(host: Host, path: string): Promise<void> {
  const [, unit, dropIn] = UNIT.exec(path) ?? [];
  if (unit === undefined || dropIn !== undefined) return;
  const { active, enabled, fixed } = await host.service(unit);
  if (active) await host.services.stop(unit);
  if (enabled && fixed !== true) await host.services.disable(unit);
}
