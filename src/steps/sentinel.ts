import { dirname } from 'node:path/posix';
import { SENTINEL_SERVICE } from '@machineadm/document/ownership/paths.ts';
import { member } from '@machineadm/document/untyped.ts';
import { selfCommand } from '../host/processes/identity.ts';
import type { BootCommand, BootFile } from '../host/services/boot-command.ts';
import { inspectSentinel, mayBeRead, writeSentinel } from './sentinel-file.ts';
import type { Change, Step } from './step.ts';

export interface SentinelDesired {
  readonly path: string;
  /** The command that restores it after a reboot. */
  readonly boot: BootCommand;
  /** True where the program for that is on storage that a reboot empties. */
  readonly programIsVolatile: boolean;
}

export interface SentinelActual {
  /** Whether the journal shows that this instance has succeeded. */
  readonly remembered: boolean;
  readonly file: 'right' | 'wrong' | 'absent';
  readonly directoryMode: number | undefined;
  /** Undefined without a service manager that would run it. */
  readonly boot: { readonly wanted: BootFile; readonly isRight: boolean; readonly isEnabled: boolean } | undefined;
}

export type SentinelPayload =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'unit'; readonly file: BootFile; readonly programIsVolatile: boolean }
  | { readonly kind: 'enable'; readonly service: string };
const FILE_CHANGE = 'sentinel/file';

/**
 * The file that tells Cluster API's infrastructure providers that the bootstrap succeeded; the last step before the
 * hooks, so that it covers everything before it. It is in /run and lost in a reboot: a unit restores it (`machineadm
 * sentinel restore`), but only on the instance that has succeeded.
 */
export const sentinel: Step<SentinelDesired, SentinelActual, SentinelPayload> = {
  id: 'sentinel',
  settles: ['daemon-reload'],

  desired(model) {
    // It means that a Kubernetes node was bootstrapped: a document that only prepares a host has none.
    if (model.kubernetes === undefined) return undefined;
    const command = selfCommand();
    return {
      path: model.reporting.sentinelPath,
      boot: restoringCommand(command),
      programIsVolatile: command.some((word) => /^\/(run|tmp|dev\/shm)\//.test(word)),
    };
  },

  async inspect(host, { path, boot }, record) {
    const wanted = host.bootFile(boot);
    return {
      remembered: member(record.notes.get(FILE_CHANGE), 'path') === path,
      file: await inspectSentinel(host, path),
      directoryMode: (await host.stat(dirname(path)))?.mode,
      boot:
        wanted === undefined
          ? undefined
          : {
              wanted,
              isRight:
                (await host.readText(wanted.path)) === wanted.content &&
                (await host.stat(wanted.path))?.mode === wanted.mode,
              isEnabled: (await host.service(wanted.service)).enabled,
            },
    };
  },

  plan(desired, actual) {
    const changes: Change<SentinelPayload>[] = [];
    const { path, programIsVolatile } = desired;
    if (actual.boot?.isRight === false) {
      const file = actual.boot.wanted;
      changes.push({
        id: 'sentinel/unit',
        summary: `${file.path}: restore the sentinel after a reboot`,
        action: 'add',
        scope: 'node',
        owes: ['daemon-reload'],
        payload: { kind: 'unit', file, programIsVolatile },
      });
    }
    if (actual.boot?.isEnabled === false) {
      const { service } = actual.boot.wanted;
      const payload: SentinelPayload = { kind: 'enable', service };
      changes.push({ id: 'sentinel/enable', summary: `enable ${service}`, scope: 'node', payload });
    }
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
    switch (payload.kind) {
      case 'unit':
        if (payload.programIsVolatile) {
          execution.warn(
            'machineadm itself is in a directory that a reboot deletes: the sentinel cannot start again after one',
          );
        }
        return await host.writeFile({
          path: payload.file.path,
          content: payload.file.content,
          mode: payload.file.mode,
        });
      case 'enable':
        return await host.services.enable(payload.service);
      case 'file':
        // `sentinel restore` runs without the document: this note permits it, and has the path.
        execution.remember({ path: payload.path });
        return await writeSentinel(host, payload.path);
    }
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
