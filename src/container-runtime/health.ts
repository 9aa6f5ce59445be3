import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import type { QueryHost } from '../host/seam/host.ts';

/**
 * The problem of the runtime at a socket, in a few words; undefined when it is healthy. `ctr version` would prove
 * nothing about CRI; `NetworkReady=false` is normal until a CNI is applied.
 */
export async function findHealthProblem(host: QueryHost, socket: string): Promise<string | undefined> {
  const cri = host.cri(socket);
  try {
    await cri.version();
    const ready = (await cri.status()).find((condition) => condition.type === 'RuntimeReady');
    if (ready?.status === true) return undefined;
    return `RuntimeReady is ${ready === undefined ? 'not reported' : `false: ${ready.reason} ${ready.message}`.trim()}`;
  } catch (error) {
    return errorMessage(error);
  }
}
