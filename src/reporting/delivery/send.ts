import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { loadSigner } from '../../host/cloud/aws-signature.ts';
import { loadUndici } from '../../host/http/undici.ts';
import { openHost } from '../../host/index.ts';
import { leaveRoot } from '../../host/processes/leave-root.ts';
import { remoteSinkOf } from '../remote/registry.ts';
import type { DeliveryResult, RemoteSink } from '../remote/remote-sink.ts';
import { type SinkPlan, withSecrets } from '../spool/serialized-plan.ts';
import { type SinkContext, sinkContext } from './context.ts';
import type { SendOrder } from './separate-sink.ts';

const LOADING_MS = 30_000;

/** A sink as the process that sends has it: without rights, with the values of its secrets. */
export class Sender {
  #open: { readonly plan: string; readonly sink: RemoteSink; readonly connections: SinkContext } | undefined;
  #order: SendOrder | undefined;

  /** Loads what every sink needs, which takes longer than a delivery. */
  async load(): Promise<void> {
    await Promise.all([loadUndici(), loadSigner()]);
  }

  /** Delivers one event, as a line of JSON says. Never as root: the first order is read, and then all rights are left. */
  async send(line: string, signal: AbortSignal): Promise<DeliveryResult> {
    try {
      const order = JSON.parse(line) as SendOrder;
      this.#order = order;
      const { sink, connections } = await this.#opened(order);
      if (order.event === undefined) return { kind: 'delivered' };
      const result = await sink.deliver(order.event, { ...connections.context, signal });
      return 'why' in result ? { ...result, why: redact(result.why) } : result;
    } catch (error) {
      return { kind: 'retry', why: redact(errorMessage(error)) };
    }
  }

  async #opened({ plan: given }: SendOrder) {
    const text = JSON.stringify(given);
    if (this.#open?.plan === text) return this.#open;
    await this.#open?.connections.close();
    const plan = revived(given);
    const files = { readText: async (path: string) => this.#order?.files[path] };
    const host = openHost({ runId: 'report', network: () => plan.network });
    const connections = sinkContext(plan.network, {
      run: host.run,
      secret: async (value) => {
        const why = this.#order?.missing[value.name];
        if (why !== undefined) throw new Error(why);
        return await host.secret(value);
      },
    });
    // What is loaded from files is loaded before: they may be readable for root only.
    const sink = await remoteSinkOf(plan.model, files);
    await this.load();
    await sink.prepare?.(AbortSignal.timeout(LOADING_MS));
    leaveRoot();
    this.#open = { plan: text, sink, connections };
    return this.#open;
  }
}

/** The values of secrets are text in an order, because a `Secret` has no JSON. */
function revived(plan: unknown): SinkPlan {
  return withSecrets(plan, (secret) =>
    secret.source.kind === 'value'
      ? { name: secret.name, source: { kind: 'value', secret: new Secret(String(secret.source.secret)) } }
      : secret,
  ) as SinkPlan;
}
