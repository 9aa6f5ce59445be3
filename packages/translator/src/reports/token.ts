import { setTimeout as pause } from 'node:timers/promises';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import * as z from 'zod';
import { type Api, isStatus } from '../cluster/api.ts';
import { KubernetesObject } from '../cluster/objects.ts';
import type { ReportSink } from '../conversions/translate.ts';
import type { Profile } from '../handover/profiles.ts';
import { isOwnedBy, reportName } from './objects.ts';

const TokenRequest = z.looseObject({ status: z.looseObject({ token: z.string().min(1) }) });
const Account = z.looseObject({ metadata: KubernetesObject.shape.metadata });

/** The leader creates the account when it sees the Machine, usually before its Secret is written. */
const LONGEST_WAIT_MS = 3_000;
const LOOK_EVERY_MS = 250;

/** The sink of a machine, or why the machine does without it. */
export interface ReportOutcome {
  readonly sink?: ReportSink;
  readonly omitted?: string;
}

/**
 * A token for the report of a machine. It changes nothing in the cluster: the account exists already, and tokens are not
 * stored. A machine that cannot have one is translated without. Never throws.
 */
export async function reportSink(
  api: Api,
  machine: KubernetesObject,
  report: NonNullable<Profile['report']>,
  { isDryRun, isCallerProven }: { readonly isDryRun: boolean; readonly isCallerProven: boolean },
  signal: AbortSignal,
): Promise<ReportOutcome> {
  const omitted = (why: string): ReportOutcome => ({ omitted: `no report: ${why}` });
  if (machine.kind !== 'Machine') return omitted('the instances of a MachinePool share one Secret');
  if (!isCallerProven) return omitted('the API server does not prove that it is the caller (--caller)');
  if (isDryRun) return omitted('a dry run gets no token');
  const certificateAuthority = report.certificateAuthority ?? api.certificateAuthority;
  if (certificateAuthority === undefined) return omitted('the profile needs report.certificateAuthority');
  const { namespace = '' } = machine.metadata;
  const name = reportName(machine.metadata.name);
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}`;
  try {
    const account = await accountAt(api, path, signal);
    if (account === undefined)
      return omitted(`ServiceAccount ${name} was not created in time; see the log of the leader`);
    if (!isOwnedBy(account, machine)) return omitted(`ServiceAccount ${name} does not belong to this Machine`);
    const answer = await api.request({
      method: 'POST',
      path: `${path}/token`,
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { expirationSeconds: report.tokenSeconds },
      },
      signal,
    });
    const { token } = TokenRequest.parse(answer).status;
    return { sink: { server: report.server, certificateAuthority, token, namespace, name } };
  } catch (error) {
    return omitted(errorMessage(error));
  }
}

async function accountAt(api: Api, path: string, signal: AbortSignal): Promise<z.infer<typeof Account> | undefined> {
  for (const end = performance.now() + LONGEST_WAIT_MS; ; await pause(LOOK_EVERY_MS, undefined, { signal })) {
    try {
      return Account.parse(await api.request({ path, signal }));
    } catch (error) {
      if (!isStatus(error, 404)) throw error;
      if (performance.now() > end) return undefined;
    }
  }
}
