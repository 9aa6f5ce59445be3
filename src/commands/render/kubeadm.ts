import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { renderKubeadm } from '@machineadm/kubeadm/index.ts';
import { fieldsOfMachine, lackingWithout } from '@machineadm/kubeadm/unresolved.ts';
import { buildInfo } from '../../cli/build-info.ts';
import type { DocumentOptions } from '../../cli/options.ts';
import { printData, printText } from '../../cli/output.ts';
import { usageError } from '../../cli/usage-error.ts';
import { openDocument } from '../../pipeline/load.ts';

export interface RenderOptions extends DocumentOptions {
  readonly kubeadmVersion?: string;
}

/**
 * `machineadm render kubeadm`: prints kubeadm's configuration for any version. It reads only the document and works on
 * any machine.
 */
export async function renderKubeadmCommand(options: RenderOptions): Promise<number> {
  const document = await openDocument(options.document, buildInfo().version);
  const { model } = document;
  const { kubernetes, containerd, host } = model;
  if (kubernetes === undefined) {
    throw new MachineadmError({
      reason: 'NotExpressible',
      summary: 'the document has no "kubernetes" section',
      remedy: 'The document only prepares a host, so there is no configuration for kubeadm.',
      exit: 'DocumentInvalid',
    });
  }
  const asked = options.kubeadmVersion ?? kubernetes.version;
  const kubeadm = parseVersion(asked);
  if (kubeadm === undefined) {
    throw usageError(
      `--kubeadm-version: "${asked}" is not a version`,
      'Write it as kubeadm prints it, such as v1.31.4.',
    );
  }
  const { command, text, flags, files } = renderKubeadm({
    kubernetes,
    kubeadm,
    secrets: () => '[redacted]',
    nodeName: host.hostname,
    cgroupDriver: containerd?.cgroupDriver,
  });
  const unknown = fieldsOfMachine(document).filter(
    (path) => path.startsWith('kubernetes.') || path === 'host.hostname',
  );
  if (options.output !== 'text') {
    const { parseAllDocuments } = await import('yaml');
    await printData(options.output, 'KubeadmConfiguration', {
      command,
      flags,
      documents: parseAllDocuments(redact(text)).map((one): unknown => one.toJS()),
      files: files.map(({ path, content }) => ({ path, content: String(content) })),
      unresolved: unknown,
    });
    return exitCode('Success');
  }
  const notes = [`# kubeadm ${command} --config FILE ${flags.join(' ')}`.trimEnd()];
  if (unknown.length > 0) {
    notes.push('# Not as the machine will have it, because only the machine has the values of these:');
    for (const path of unknown) notes.push(`#   ${lackingWithout(path)}`);
  }
  for (const file of files)
    notes.push(
      `# ${file.path}:`,
      ...String(file.content)
        .trimEnd()
        .split('\n')
        .map((line) => `#   ${line}`),
    );
  // Arguments, variables and settings of other programs can contain secrets too, although no field says so.
  // In the first document: kubeadm refuses one that has comments only.
  printText(redact(text.replace(/^---\n/, () => `---\n${notes.join('\n')}\n`)));
  return exitCode('Success');
}
