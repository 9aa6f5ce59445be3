import { X509Certificate } from 'node:crypto';
import type { QueryHost } from '../seam/host.ts';
import type { UnitFacts } from '../seam/services.ts';

/** The identity in a kubelet's certificate (k/k pkg/kubelet/certificate, `system:node:<name>`). */
const NODE_USER = /^CN=system:node:(.+)$/m;

/** The node name in a kubelet's client certificate (PEM; the first one counts); undefined where it names no node. */
export function nodeNameOfCertificate(pem: string): string | undefined {
  try {
    return NODE_USER.exec(new X509Certificate(pem).subject)?.[1];
  } catch {
    return undefined;
  }
}

/**
 * The arguments that kubeadm's drop-in passes to the kubelet (kubernetes/release
 * cmd/krel/templates/latest/kubeadm/10-kubeadm.conf).
 */
const CONFIGURED = /(?:^|[\s"'=])--(?:config|kubeconfig|bootstrap-kubeconfig)[= ]/;

/**
 * True where the unit starts the kubelet without any configuration: kubeadm's drop-in is missing or overridden. False
 * for a unit that starts a wrapper, whose arguments are not known.
 */
export async function lacksKubeadmArguments(host: Pick<QueryHost, 'readText'>, unit: UnitFacts): Promise<boolean> {
  const [program, ...args] = unit.command;
  if (program === undefined || !/(?:^|\/)kubelet$/.test(program)) return false;
  const files = await Promise.all(unit.environmentFiles.map((path) => host.readText(path).catch(() => undefined)));
  return !CONFIGURED.test(`${[args.join(' '), unit.environment, ...files].join(' ')} `);
}
