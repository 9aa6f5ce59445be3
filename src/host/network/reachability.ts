import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { errnoOf } from '../files/file-error.ts';
import { TimedOut, withTimeout } from '../time/timeout.ts';

/** The addresses of a name, as this machine's programs resolve it, or the error code: `ENOTFOUND`. */
export async function resolveName(name: string, timeoutMs: number): Promise<readonly string[] | string> {
  try {
    return (await withTimeout(timeoutMs, () => lookup(name, { all: true }))).map(({ address }) => address);
  } catch (error) {
    return error instanceof TimedOut ? 'no answer in time' : errorCode(error);
  }
}

/** The error code of a TCP connection, such as `ECONNREFUSED`; undefined: it was accepted. */
export function probeTcp(address: string, port: number, timeoutMs: number): Promise<string | undefined> {
  return new Promise((done) => {
    const socket = connect({ host: address, port, timeout: timeoutMs });
    const end = (failure?: string): void => {
      socket.destroy();
      done(failure);
    };
    socket.once('connect', () => end());
    // A process that got no processor time learns that the time is over before it learns that the connection was accepted.
    socket.once('timeout', () => setImmediate(end, 'ETIMEDOUT'));
    socket.once('error', (error) => end(errorCode(error)));
  });
}

/** The code of an error of Node's sockets, DNS or TLS; its message where it has none. */
export function errorCode(error: unknown): string {
  return errnoOf(error) ?? errorMessage(error);
}
