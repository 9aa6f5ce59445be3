import { type Api, ApiError, type Request } from '@machineadm/translator/cluster/api.ts';
import * as z from 'zod';

const Named = z.looseObject({ metadata: z.looseObject({ name: z.string() }), data: z.record(z.string(), z.string()) });
const Replace = z.array(z.object({ op: z.literal('replace'), path: z.string(), value: z.string() }));

/** A workload cluster in memory: its Secrets of kube-system. */
export class WorkloadCluster implements Api {
  readonly certificateAuthority = undefined;
  readonly calls: string[] = [];
  readonly secrets = new Map<string, z.infer<typeof Named>>();
  /** The status of every answer; undefined = as it should be. */
  failing: number | undefined;

  async request({ method = 'GET', path, body, contentType }: Request): Promise<unknown> {
    this.calls.push(`${method} ${path}`);
    if (this.failing !== undefined) throw new ApiError(this.failing, 'an answer with a SECRET');
    if (method === 'POST') {
      const secret = Named.parse(body);
      this.secrets.set(secret.metadata.name, secret);
      return secret;
    }
    const name = path.split('/').at(-1) ?? '';
    const secret = this.secrets.get(name);
    if (secret === undefined) throw new ApiError(404, 'not found');
    if (method === 'DELETE') this.secrets.delete(name);
    if (method === 'PATCH') {
      if (contentType !== 'application/json-patch+json') throw new ApiError(415, 'another patch');
      for (const { path: at, value } of Replace.parse(body)) secret.data[at.replace('/data/', '')] = value;
    }
    return secret;
  }

  async watch(): Promise<void> {
    throw new Error('nobody watches a workload cluster');
  }

  /** When a token ends, by its id. */
  expiry(id: string): Date {
    return new Date(this.value(id, 'expiration'));
  }

  value(id: string, key: string): string {
    return Buffer.from(this.secrets.get(`bootstrap-token-${id}`)?.data[key] ?? '', 'base64').toString();
  }

  /** Sets the time that a token is still valid. */
  age(id: string, leftMs: number): void {
    const secret = this.secrets.get(`bootstrap-token-${id}`);
    if (secret === undefined) throw new Error(`there is no token ${id}`);
    secret.data.expiration = Buffer.from(new Date(Date.now() + leftMs).toISOString()).toString('base64');
  }
}
