import { listeners } from '../../host/linux/listeners.ts';
import { probeTcp } from '../../host/network/reachability.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * The error code of a connection to a program of this machine that listens at an endpoint; undefined: it was accepted, or what
 * stops it is not the way there, because nothing listens, or because the program does not accept what waits.
 * @param withinMs how long it may take in all: a third of it for the first connection, the rest for a second one
 */
export async function whyBlocked(
  host: QueryHost,
  { name, port }: Endpoint,
  withinMs: number,
): Promise<string | undefined> {
  const atPort = async () => (await listeners(host)).filter((listener) => listener.port === port);
  if ((await atPort()).length === 0) return undefined;
  let failure = await probeTcp(name, port, withinMs / 3);
  // Packets that are dropped once are dropped again. A machine without free processor time answers the second time.
  if (failure === 'ETIMEDOUT') failure = await probeTcp(name, port, (2 * withinMs) / 3);
  // Refused: it stopped listening in the meantime.
  if (failure === 'ECONNREFUSED') return undefined;
  // A packet filter keeps connections from the queue. It also hides that nothing listens any more, which would refuse them.
  if (failure === 'ETIMEDOUT' && (await atPort()).some(({ waiting }) => waiting > 0)) return undefined;
  return failure;
}
