import { exitCode } from '@machineadm/document/exit-codes.ts';
import { buildInfo } from '../cli/build-info.ts';
import { type OutputFormat, printData, printText } from '../cli/output.ts';

/** The apiVersions that can be read, as `document/versions` registers them; a test keeps the two equal. */
export const DOCUMENT_API_VERSIONS: readonly string[] = ['machineadm.dev/v1alpha1'];

/** `machineadm version`. It does not load the document's modules, so that it starts fast. */
export async function version({ output }: { readonly output: OutputFormat }): Promise<number> {
  const { version: agent, commit, node } = buildInfo();
  if (output !== 'text')
    await printData(output, 'Version', { version: agent, commit, node, documentVersions: DOCUMENT_API_VERSIONS });
  else printText(`machineadm ${agent} (commit ${commit}, Node ${node}, reads ${DOCUMENT_API_VERSIONS.join(', ')})`);
  return exitCode('Success');
}
