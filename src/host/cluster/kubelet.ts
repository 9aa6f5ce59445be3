import { X509Certificate } from 'node:crypto';
import type { QueryHost } from '../seam/host.ts';
import type { UnitFacts } from '../services/unit-facts.ts';

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

/** What kubeadm's drop-in gives the kubelet (kubernetes/release cmd/krel/templates/latest/kubeadm/10-kubeadm.conf). */
const CONFIGURED = /(?:^|[\s"'=])--(?:config|kubeconfig|bootstrap-kubeconfig)[= ]/;

/**
 * True where the kubelet's unit starts the kubelet without any configuration: kubeadm's drop-in is missing or overridden.
 * A unit that starts a wrapper is not judged: its arguments are not known.
 */
export async function lacksKubeadmArguments(host: Pick<QueryHost, 'readText'>, unit: UnitFacts): Promise<boolean> {
  const [program, ...args] = unit.command;
  if (program === undefined || !/(?:^|\/)kubelet$/.test(program)) return false;
  const files = await Promise.all(unit.environmentFiles.map((path) => host.readText(path).catch(() => undefined)));
  return !CONFIGURED.test(`${[args.join(' '), unit.environment, ...files].join(' ')} `);
}
