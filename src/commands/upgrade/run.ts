import { resolve } from 'node:path';
import type { DocumentOptions } from '../../cli/options.ts';
import { usageError } from '../../cli/usage-error.ts';
import type { RunRequest } from '../../pipeline/run-check.ts';
import type { ProvisionOptions } from '../provision/run.ts';

export interface UpgradeOptions extends DocumentOptions, Omit<ProvisionOptions, 'upgrade'> {
  readonly drained?: true;
  readonly kubeconfig?: string;
  readonly deleteEmptydirData?: true;
  readonly overwriteManifests?: true;
  readonly ignorePreflightErrors?: readonly string[];
  readonly dryRun?: true;
}

/** `machineadm upgrade`: a run that upgrades this node, or its plan. */
export async function upgrade(options: UpgradeOptions): Promise<number> {
  const request = { ...options, upgrade: requestOf(options) };
  return options.dryRun === true
    ? await (await import('../plan/run.ts')).plan(request)
    : await (await import('../provision/run.ts')).provision('upgrade', request);
}

/** What the caller of an upgrade decides. Throws `UsageInvalid` for options that contradict each other. */
function requestOf({
  drained,
  kubeconfig,
  deleteEmptydirData,
  overwriteManifests,
  ignorePreflightErrors = [],
}: UpgradeOptions): NonNullable<RunRequest['upgrade']> {
  const evicts = kubeconfig !== undefined || deleteEmptydirData === true;
  if (drained === true && evicts) {
    throw usageError(
      '--drained excludes --kubeconfig and --delete-emptydir-data',
      'With --drained machineadm evicts nothing: leave the others out.',
    );
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
