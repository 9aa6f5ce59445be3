import type { ServiceModel } from '@machineadm/document/model/index.ts';
import { OWN_FILE_PREFIX, TRUST_STORES, UNIT_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { Host } from '../../host/seam/host.ts';
import type { FollowUp } from '../../step/index.ts';

const UNIT = new RegExp(`^${UNIT_DIRECTORY}/([^/]+\\.[a-z]+)(\\.d/[^/]+\\.conf)?$`);

/**
 * The follow-ups of removing a file at this path. A service that the document starts is restarted by its step, once for all
 * of its changes: under the name that the document has for it.
 */
export function followUpsOf(path: string, services: readonly ServiceModel[]): readonly FollowUp[] {
  const isTrusted = Object.values(TRUST_STORES).some(({ directory }) =>
    path.startsWith(`${directory}/${OWN_FILE_PREFIX}`),
  );
  if (isTrusted) return ['update-ca-certificates', 'restart:containerd.service'];
  const [, unit, dropIn] = UNIT.exec(path) ?? [];
  if (unit === undefined) return [];
  if (dropIn === undefined) return ['daemon-reload'];
  const started = services.find(
    ({ name, state, masked }) =>
      state === 'Started' && masked !== true && (name === unit || `${name}.service` === unit),
  );
  return ['daemon-reload', `restart:${started?.name ?? unit}`];
}

/** Stops a unit before its file is removed: nothing could stop it afterwards. */
export async function stopUnit(host: Host, path: string): Promise<void> {
  const [, unit, dropIn] = UNIT.exec(path) ?? [];
  if (unit === undefined || dropIn !== undefined) return;
  const { active, enabled, fixed } = await host.service(unit);
  if (active) await host.services.stop(unit);
  if (enabled && fixed !== true) await host.services.disable(unit);
}
