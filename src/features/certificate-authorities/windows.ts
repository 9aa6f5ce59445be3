import type { CertificateAuthorityModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import { askScript, runScript } from '../../host/windows/powershell.ts';
import { CHANGE_AUTHORITIES, READ_AUTHORITIES } from '../../host/windows/system-scripts.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change } from '../../step/index.ts';
import { authoritiesOf } from './certificates.ts';

/** Friendly names in the store that begin with this are ours to remove. */
const PREFIX = 'machineadm ';
const TIMEOUT_MS = 60_000;

interface Trusted {
  /** Lower-case hex. */
  readonly sha256: string;
  /** What Windows calls it by: SHA-1, upper-case hex. */
  readonly thumbprint: string;
  readonly name: string;
}

export type WindowsAuthoritiesPayload =
  | { readonly kind: 'add'; readonly der: string; readonly name: string }
  | { readonly kind: 'remove'; readonly thumbprint: string };

/**
 * Certificate authorities in the store Root of the machine, where Windows, containerd and the kubelet look (Go's crypto/x509
 * asks Windows each time, so nothing needs a restart). What the document no longer names is known by its friendly name.
 *
 * @param now milliseconds since the epoch, to find expired certificates
 */
function windowsCertificateAuthoritiesStep(
  now: () => number = Date.now,
): FeatureStep<readonly CertificateAuthorityModel[], readonly Trusted[], WindowsAuthoritiesPayload> {
  return {
    id: 'certificate-authorities',
    section: 'host.certificateAuthorities',
    isRequested: STAYS,

    desired(model) {
      const entries = model.host.certificateAuthorities;
      return entries.length === 0 ? undefined : entries;
    },

    async preflight(_host, desired) {
      return desired.flatMap((entry) => {
        const found = authoritiesOf(entry, now());
        if (!('problem' in found)) return [];
        const remedy = 'Use valid certificates of authorities, in PEM, under host.certificateAuthorities.';
        return [{ reason: 'CertificateAuthorityInvalid' as const, what: found.problem, remedy }];
      });
    },

    async inspect(host) {
      const told = await askScript(host, READ_AUTHORITIES);
      if (!Array.isArray(told)) throw notTold();
      return told.map((one) => ({
        sha256: text(member(one, 'sha256')) ?? '',
        thumbprint: text(member(one, 'thumbprint')) ?? '',
        name: text(member(one, 'name')) ?? '',
      }));
    },

    plan(desired, trusted) {
      const changes: Change<WindowsAuthoritiesPayload>[] = [];
      const wanted = new Set<string>();
      for (const entry of desired) {
        const found = authoritiesOf(entry, now());
        for (const { fingerprint, pem } of 'authorities' in found ? found.authorities : []) {
          wanted.add(fingerprint);
          if (trusted.some(({ sha256 }) => sha256 === fingerprint)) continue;
          const der = pem.replace(/-----[A-Z ]+-----|\s/g, '');
          changes.push({
            id: `certificate-authorities/${fingerprint.slice(0, 16)}`,
            summary: `trust ${entry.name} (${fingerprint.slice(0, 16)})`,
            scope: 'base',
            ineffective: 'CertificateAuthorityNotTrusted',
            payload: { kind: 'add', der, name: `${PREFIX}${entry.name}` },
          });
        }
      }
      for (const { name, sha256, thumbprint } of trusted) {
        if (!name.startsWith(PREFIX) || wanted.has(sha256)) continue;
        changes.push({
          id: `certificate-authorities/${sha256.slice(0, 16)}`,
          summary: `no longer trust ${name.slice(PREFIX.length)} (${sha256.slice(0, 16)})`,
          scope: 'base',
          ineffective: 'CertificateAuthorityNotTrusted',
          payload: { kind: 'remove', thumbprint },
        });
      }
      return changes;
    },

    async apply(host, { payload }, { signal }) {
      const add = payload.kind === 'add' ? [{ der: payload.der, name: payload.name }] : [];
      const remove = payload.kind === 'remove' ? [payload.thumbprint] : [];
      await runScript(host, CHANGE_AUTHORITIES, { add, remove }, { timeoutMs: TIMEOUT_MS, signal });
    },
  };
}

export const windowsCertificateAuthorities = windowsCertificateAuthoritiesStep();

function notTold(): MachineadmError {
  return new MachineadmError({
    reason: 'HostStepFailed',
    summary: 'Windows did not return the certificate authorities that it trusts.',
    remedy: 'Check the store with "certutil.exe -store Root".',
  });
}
