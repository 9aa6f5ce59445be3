import type { TLSSocket } from 'node:tls';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import type { Secret } from '@machineadm/document/secrets/secret.ts';

/** How long one server may take, in milliseconds. */
const TIMEOUT_MS = 5_000;

/** The certificate that a server of this machine shows, or why it shows none. */
export type ServedCertificate = { readonly fingerprint256: string } | { readonly why: string };

/**
 * Connects to a server of this machine and returns the SHA-256 fingerprint of its certificate, as `X509Certificate`
 * writes it. The certificate is not verified: the caller compares it. Rejects only with the reason of the signal.
 *
 * @param client for a server that asks for one, as etcd does
 */
export async function servedCertificate(
  { host, port }: { readonly host: string; readonly port: number },
  client: { readonly certificate: string; readonly key: Secret } | undefined,
  signal: AbortSignal,
): Promise<ServedCertificate> {
  const { connect } = await import('node:tls');
  signal.throwIfAborted();
  const place = `${host}:${port}`;
  const identity = client === undefined ? {} : { cert: client.certificate, key: client.key.reveal() };
  return await new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ host, port, rejectUnauthorized: false, minVersion: 'TLSv1.2', ...identity });
    const end = (settle: () => void): void => {
      signal.removeEventListener('abort', aborted);
      socket.destroy();
      settle();
    };
    const aborted = (): void => end(() => reject(signal.reason));
    const failed = (why: string): void => end(() => resolve({ why: `${place}: ${why}` }));
    signal.addEventListener('abort', aborted);
    socket.setTimeout(TIMEOUT_MS, () => failed(`no answer within ${TIMEOUT_MS / 1000} s`));
    socket.on('error', (error) => failed(errorMessage(error)));
    socket.on('secureConnect', () => {
      const { fingerprint256 } = socket.getPeerCertificate();
      if (fingerprint256 === undefined) failed('it showed no certificate');
      else end(() => resolve({ fingerprint256 }));
    });
  });
}
