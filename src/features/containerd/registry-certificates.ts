import { createPrivateKey, X509Certificate } from 'node:crypto';
import { pemBlocks } from '@machineadm/document/encodings/pem.ts';
import type { RegistryEndpoint, RegistryModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { UnmetRequirement } from '../../step/index.ts';

const REMEDY = 'Put the PEM certificate, whole and still valid, and for a client its own key into the document.';

/**
 * Problems of the certificates of registries: containerd would report them only with the first pull, and with a missing
 * or empty CA file it contacts no host at all. `laid`: files that an earlier step writes.
 *
 * @param now milliseconds since the epoch, to check the expiry
 */
export async function wrongCertificates(
  host: QueryHost,
  registries: readonly RegistryModel[],
  laid: ReadonlySet<string>,
  now: number,
): Promise<readonly UnmetRequirement[]> {
  const found: UnmetRequirement[] = [];
  for (const registry of registries) {
    for (const endpoint of [registry.server, ...registry.mirrors]) {
      const where = endpoint.url ?? registry.host;
      const problem = await authorityProblem(host, endpoint, laid, now);
      if (problem !== undefined) found.push(wrong(`the CA of ${where} ${problem}`, 'base'));
      const client = await clientProblem(host, endpoint, now);
      if (client !== undefined) found.push(wrong(`the client certificate for ${where} ${client}`, 'node'));
    }
  }
  return found;
}

async function authorityProblem(
  host: QueryHost,
  { ca }: RegistryEndpoint,
  laid: ReadonlySet<string>,
  now: number,
): Promise<string | undefined> {
  if (ca === undefined) return undefined;
  if (ca.kind === 'pem') return certificateProblem(ca.pem, now);
  if (laid.has(ca.path)) return undefined;
  const text = await host.readText(ca.path);
  return text === undefined ? `does not exist: ${ca.path}` : certificateProblem(text, now);
}

async function clientProblem(
  host: QueryHost,
  { clientCertificate }: RegistryEndpoint,
  now: number,
): Promise<string | undefined> {
  if (clientCertificate === undefined) return undefined;
  const { certificate, key } = clientCertificate;
  const problem = certificateProblem(certificate, now);
  if (problem !== undefined) return problem;
  try {
    const secret = await host.secret(key);
    if (secret === undefined) return undefined;
    const fits = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(secret.reveal()));
    return fits ? undefined : `does not belong to the key ${key.name}`;
  } catch (error) {
    // A file that an earlier step writes, or a secret that only a run may resolve, is checked by that run.
    if (error instanceof MachineadmError) return undefined;
    return `has a key that is no unencrypted PEM private key: ${key.name}`;
  }
}

function certificateProblem(pem: string, now: number): string | undefined {
  const blocks = pemBlocks(pem).flatMap(({ label, text }) => (label === 'CERTIFICATE' ? [text] : []));
  if (blocks.length === 0) return 'holds no PEM certificate';
  for (const block of blocks) {
    let certificate: X509Certificate;
    try {
      certificate = new X509Certificate(block);
    } catch {
      return 'is damaged: it cannot be read as X.509';
    }
    if (Date.parse(certificate.validTo) <= now) return `expired on ${certificate.validTo}`;
  }
  return undefined;
}

function wrong(what: string, scope: 'base' | 'node'): UnmetRequirement {
  return { reason: 'RegistryCertificateInvalid', what, remedy: REMEDY, scope };
}
