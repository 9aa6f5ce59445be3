import { resolve } from 'node:path';
import { MachineadmError } from '@machineadm/document/errors.ts';
import type { RunRequest } from '../../pipeline/run-check.ts';

/** What the caller of an upgrade decides. */
export type UpgradeOptions = NonNullable<RunRequest['upgrade']>;

/** The options of `machineadm upgrade` beside those of a run. */
export interface UpgradeFlags {
  readonly drained?: true;
  readonly kubeconfig?: string;
  readonly deleteEmptydirData?: true;
  readonly overwriteManifests?: true;
  readonly ignorePreflightErrors?: readonly string[];
}

/** Throws `UsageInvalid` for options that contradict each other. */
export function upgradeOptions({
  drained,
  kubeconfig,
  deleteEmptydirData,
  overwriteManifests,
  ignorePreflightErrors = [],
}: UpgradeFlags): UpgradeOptions {
  const evicts = kubeconfig !== undefined || deleteEmptydirData === true;
  if (drained === true && evicts) {
    throw new MachineadmError({
      reason: 'UsageInvalid',
      summary: '--drained excludes --kubeconfig and --delete-emptydir-data',
      remedy: 'With --drained machineadm evicts nothing: leave the others out.',
    });
  }
  return {
    drain:
      drained === true
        ? { by: 'caller' }
        : {
            by: 'machineadm',
            ...(kubeconfig === undefined ? {} : { kubeconfig: resolve(kubeconfig) }),
            ...(deleteEmptydirData === true ? { deletesEmptyDir: true } : {}),
          },
    ...(overwriteManifests === true ? { overwritesManifests: true } : {}),
    ...(ignorePreflightErrors.length === 0 ? {} : { ignorePreflightErrors }),
  };
}
