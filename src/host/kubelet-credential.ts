import { X509Certificate } from 'node:crypto';

/** Who a kubelet's certificate says it is (k/k pkg/kubelet/certificate, `system:node:<name>`). */
const NODE_USER = /^CN=system:node:(.+)$/m;

/** The node name in a kubelet's client certificate (PEM; the first one counts); undefined where it names no node. */
export function nodeNameOfCertificate(pem: string): string | undefined {
  try {
    return NODE_USER.exec(new X509Certificate(pem).subject)?.[1];
  } catch {
    return undefined;
  }
}
