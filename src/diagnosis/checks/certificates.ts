import { type CertificateOnDisk, certificatesOnDisk } from '../../host/cluster/node-certificates.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { Finding } from './finding.ts';

/**
 * The certificates on the disk: whether they are valid now and signed by the CA beside them.
 *
 * @param now milliseconds since the epoch
 */
export async function checkCertificates(host: QueryHost, now: number): Promise<readonly Finding[]> {
  return (await certificatesOnDisk(host, now)).map(findingOf);
}

function findingOf({ path, text, problem }: CertificateOnDisk): Finding {
  const base = { id: `certificate${path}`, title: 'certificates', text } as const;
  return problem === undefined ? { ...base, severity: 'passed' } : { ...base, ...problem };
}
