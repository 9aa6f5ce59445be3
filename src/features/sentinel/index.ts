import { dirname } from 'node:path/posix';
import { SENTINEL_SERVICE } from '@machineadm/document/ownership/paths.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import { selfCommand } from '../../host/processes/identity.ts';
import type { BootCommand } from '../../host/seam/services.ts';
import {
  applyBootUnit,
  type BootUnit,
  type BootUnitPayload,
  inspectBootUnit,
  planBootUnit,
} from '../../owned-files/boot-unit.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change } from '../../step/index.ts';
import { FILE_CHANGE, inspectSentinel, mayBeRead, writeSentinel } from './file.ts';

export interface SentinelDesired {
  readonly path: string;
  /** The command that restores it after a reboot. */
  readonly boot: BootCommand;
}

export interface SentinelActual {
  /** Whether the journal shows that this instance has succeeded. */
  readonly remembered: boolean;
  readonly file: 'right' | 'wrong' | 'absent';
  readonly directoryMode: number | undefined;
  readonly boot: BootUnit | undefined;
}

export type SentinelPayload = { readonly kind: 'file'; readonly path: string } | BootUnitPayload;

/**
 * The file that tells Cluster API's infrastructure providers that the bootstrap succeeded; the last step before the
 * hooks, so that it covers everything before it. It is in /run and lost in a reboot: a unit restores it (`machineadm
 * sentinel restore`), but only on the instance that has succeeded.
 */
export const sentinel: FeatureStep<SentinelDesired, SentinelActual, SentinelPayload> = {
  id: 'sentinel',
  section: undefined,
  isRequested: STAYS,
  followUps: { settles: ['daemon-reload'] },

  desired(model) {
    // It means that a Kubernetes node was bootstrapped: a document that only prepares a host has none.
    if (model.kubernetes === undefined) return undefined;
    return { path: model.reporting.sentinelPath, boot: restoringCommand(selfCommand()) };
  },

  async inspect(host, { path, boot }, record) {
    return {
      remembered: member(record.notes.get(FILE_CHANGE), 'path') === path,
      file: await inspectSentinel(host, path),
      directoryMode: (await host.stat(dirname(path)))?.mode,
      boot: await inspectBootUnit(host, boot),
    };
  },

  plan({ path }, actual) {
    const changes: Change<SentinelPayload>[] = [
      ...planBootUnit('sentinel', 'restore the sentinel after a reboot', actual.boot),
    ];
    if (!actual.remembered || actual.file !== 'right' || !mayBeRead(actual.directoryMode)) {
      changes.push({
        id: FILE_CHANGE,
        summary: `${path}: the bootstrap succeeded`,
        action: 'add',
        scope: 'node',
        payload: { kind: 'file', path },
      });
    }
    return changes;
  },

  async apply(host, { payload }, execution) {
    if (payload.kind === 'unit' && selfCommand().some((word) => /^\/(run|tmp|dev\/shm)\//.test(word))) {
      execution.warn(
        'machineadm itself is in a directory that a reboot deletes: the sentinel cannot start again after one',
      );
    }
    if (payload.kind !== 'file') return await applyBootUnit(host, payload);
    // `sentinel restore` runs without the document: this note permits it, and has the path.
    execution.remember({ path: payload.path });
    await writeSentinel(host, payload.path);
  },
};

/**
 * Restores the sentinel at every boot and changes nothing else: `sentinel restore` determines from the journal whether
 * this instance has succeeded.
 *
 * @param command absolute path of the program and the arguments that start machineadm
 */
export function restoringCommand(command: readonly string[]): BootCommand {
  return {
    name: SENTINEL_SERVICE,
    description: 'Restore the bootstrap sentinel of Cluster API after a reboot',
    documentation: 'https://cluster-api.sigs.k8s.io/developer/providers/contracts/bootstrap-config',
    command: [...command, 'sentinel', 'restore'],
  };
}
