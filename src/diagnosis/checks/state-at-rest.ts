import type { QueryHost } from '../../host/seam/host.ts';
import { stateAtRest } from '../../host/secrets/sealed-files.ts';
import type { Finding } from './finding.ts';

/** Whether what machineadm keeps of this machine, which may hold secrets, is encrypted, and can be decrypted. Queries only. */
export async function checkStateAtRest(host: QueryHost): Promise<readonly Finding[]> {
  const { sealed, plain, unreadable, whyPlain } = await stateAtRest(host);
  const base = { id: 'state-at-rest', title: 'machine' } as const;
  const found: Finding[] = unreadable.map((text) => ({
    ...base,
    severity: 'warning',
    text,
    remedy:
      'Restore /var/lib/machineadm/keys, /var/lib/systemd/credential.secret and the TPM that this machine had. If they are gone, reset ' +
      'leaves what these files were to restore, and reports it.',
  }));
  if (plain.length > 0) {
    const why = whyPlain === undefined ? '' : `: ${whyPlain}`;
    const text = `${files(plain.length)} of machineadm that may contain secrets, for root alone, not encrypted${why}`;
    found.push({ ...base, severity: 'passed', text });
  }
  if (sealed.length > unreadable.length) {
    const text = `${files(sealed.length - unreadable.length)} of machineadm that may contain secrets, encrypted for this machine`;
    found.push({ ...base, severity: 'passed', text });
  }
  return found;
}

function files(count: number): string {
  return count === 1 ? '1 file' : `${count} files`;
}
