import { has } from '@machineadm/document/kubernetes-releases/features.ts';
import { evidenceFrom, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { CANDIDATE_SUFFIX } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import type { Host, NewFile } from '../../host/seam/host.ts';

const TIMEOUT_MS = 60_000;

/** Older versions check the configuration in the run itself only. */
export function canValidate(kubeadm: Version): boolean {
  return kubeadm.major > 1 || has('validateCommand', kubeadm.minor);
}

/**
 * Validates a configuration with kubeadm before it is written. The validation is strict, while `init` and `join` only
 * warn about an unknown field and drop it (k/k cmd/kubeadm/app/util/config/common.go). Leaves nothing behind.
 *
 * @throws MachineadmError `KubeadmConfigInvalid` with kubeadm's lines
 */
export async function validateConfig(host: Host, file: NewFile, signal: AbortSignal): Promise<void> {
  // A file instead of standard input: Node's pipes are sockets, and /dev/stdin cannot be opened on one.
  const candidate = `${file.path}${CANDIDATE_SUFFIX}`;
  await host.writeFile({ ...file, path: candidate });
  try {
    const args = ['config', 'validate', `--config=${candidate}`];
    const result = await host.run({ program: 'kubeadm', args, timeoutMs: TIMEOUT_MS, signal, supervised: true });
    if (result.status === 0) return;
    const lines = textLines(result.stderr, result.stdout);
    throw new MachineadmError({
      reason: 'KubeadmConfigInvalid',
      summary: `kubeadm refuses the generated configuration: ${lines[0] ?? `exit status ${result.status}`}`,
      remedy:
        'Correct the field that kubeadm names. If the document does not have this field, report a defect with the output of machineadm render.',
      evidence: evidenceFrom('kubeadm', lines.slice(0, 10)),
      transcript: evidenceFrom('kubeadm', lines),
    });
  } finally {
    await host.removeFile(candidate);
  }
}
