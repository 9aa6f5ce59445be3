import type { Host, QueryHost } from '../host/seam/host.ts';
import type { BootCommand, BootFile } from '../host/seam/services.ts';
import type { Change } from '../step/index.ts';
import { isAsWritten, readOwnFile } from './difference.ts';

/** The unit that runs a command at every boot, as it is on the machine. */
export interface BootUnit {
  readonly wanted: BootFile;
  readonly exists: boolean;
  readonly isRight: boolean;
  readonly isEnabled: boolean;
}

export type BootUnitPayload =
  | { readonly kind: 'unit'; readonly file: BootFile }
  | { readonly kind: 'enable' | 'disable'; readonly service: string }
  | { readonly kind: 'remove'; readonly path: string };

type BootUnitChange = Change<BootUnitPayload>;

/** undefined: there is no service manager that would run the command. */
export async function inspectBootUnit(host: QueryHost, command: BootCommand): Promise<BootUnit | undefined> {
  const wanted = host.bootFile(command);
  if (wanted === undefined) return undefined;
  const file = await readOwnFile(host, wanted.path, wanted.mode);
  const exists = file.text !== undefined;
  // The service manager knows nothing of a unit that has no file.
  const isEnabled = exists && (await host.service(wanted.service)).enabled;
  return { wanted, exists, isRight: isAsWritten(file, wanted.content), isEnabled };
}

/** Writes and enables the unit. `step` begins the ids; `what` says what the unit does. */
export function planBootUnit(step: string, what: string, unit: BootUnit | undefined): readonly BootUnitChange[] {
  if (unit === undefined) return [];
  const { wanted: file, isRight, isEnabled } = unit;
  const { path, service } = file;
  const changes: BootUnitChange[] = [];
  if (!isRight) {
    const payload: BootUnitPayload = { kind: 'unit', file };
    changes.push({ ...changeOf(step, `${path}: ${what}`, payload), action: 'add' });
  }
  if (!isEnabled) changes.push(enablement(step, 'enable', service));
  return changes;
}

/** Disables and removes the unit. `why` ends the line of a plan. */
export function planBootUnitRemoval(step: string, why: string, unit: BootUnit | undefined): readonly BootUnitChange[] {
  if (unit === undefined) return [];
  const { path, service } = unit.wanted;
  const changes: BootUnitChange[] = [];
  if (unit.isEnabled) changes.push(enablement(step, 'disable', service));
  if (unit.exists) {
    const payload: BootUnitPayload = { kind: 'remove', path };
    changes.push({ ...changeOf(step, `remove ${path}: ${why}`, payload), action: 'remove' });
  }
  return changes;
}

function changeOf(step: string, summary: string, payload: BootUnitPayload): BootUnitChange {
  return { id: `${step}/unit`, summary, scope: 'node', owes: ['daemon-reload'], payload };
}

function enablement(step: string, kind: 'enable' | 'disable', service: string): BootUnitChange {
  return { id: `${step}/${kind}`, summary: `${kind} ${service}`, scope: 'node', payload: { kind, service } };
}

export async function applyBootUnit(host: Host, payload: BootUnitPayload): Promise<void> {
  if (payload.kind === 'remove') return await host.removeFile(payload.path);
  if (payload.kind !== 'unit') return await host.services[payload.kind](payload.service);
  const { path, content, mode } = payload.file;
  await host.writeFile({ path, content, mode });
}
