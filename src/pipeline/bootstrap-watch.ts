import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { JoinCredentials } from '../diagnosis/checks/cluster-info.ts';
import { watchForCause } from '../diagnosis/early-cause.ts';
import type { QueryHost } from '../host/seam/host.ts';
import type { Reporter } from '../reporting/reporter.ts';
import { diagnosisContext } from './conclusion.ts';

/**
 * Reports, while a bootstrapper runs, what it probably waits for in vain, and ends it where waiting cannot help, unless the
 * document says otherwise (`bootstrapper.kubeadm.failFast`). Ends with `signal`; never throws.
 *
 * @param end ends the bootstrapper with this error; the verdict then names the cause
 */
export async function watchBootstrap(
  host: QueryHost,
  model: Model,
  reporter: Pick<Reporter, 'waitingFor'>,
  step: string,
  end: (error: MachineadmError) => void,
  signal: AbortSignal,
): Promise<void> {
  const join = await joinCredentials(host, model);
  await watchForCause(host, { ...diagnosisContext(model, Date.now()), join }, signal, (cause) => {
    if (cause === undefined) return reporter.waitingFor(step, undefined);
    const { reason, summary, remedy, evidence } = cause.failure;
    const what = `the bootstrapper, probably in vain (${reason}): ${summary}`;
    reporter.waitingFor(step, what, { reason, summary, remedy, evidence });
    const { kubernetes } = model;
    // A program of one's own may correct what its kubelet is given.
    if (!cause.isPermanent || kubernetes?.exec !== undefined || kubernetes?.kubeadm.failFast === false) return;
    end(
      new MachineadmError({
        reason: 'BootstrapperFailed',
        summary: `The bootstrapper was ended, because it waited for something that cannot come: ${summary}`,
        remedy,
        evidence,
      }),
    );
  });
}

async function joinCredentials(host: QueryHost, { kubernetes }: Model): Promise<JoinCredentials | undefined> {
  const discovery = kubernetes?.join?.discovery;
  // Another bootstrapper than kubeadm has its own way to join.
  if (discovery === undefined || !('token' in discovery) || kubernetes?.exec !== undefined) return undefined;
  const { endpoint, caCertHashes } = discovery;
  return { endpoint, caCertHashes, token: await host.secret(discovery.token).catch(() => undefined) };
}
