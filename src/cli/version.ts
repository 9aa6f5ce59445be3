import { exitCode } from '@machineadm/document/exit-codes.ts';
import { buildInfo } from './build-info.ts';
import { type OutputFormat, printData, printText } from './output.ts';

/** The apiVersions it reads, as `document/versions` registers them; a test keeps the two equal. */
export const DOCUMENT_API_VERSIONS: readonly string[] = ['machineadm.dev/v1alpha1'];

/** `machineadm version`. Loads nothing of the document: start-up is a feature. */
export async function version({ output }: { readonly output: OutputFormat }): Promise<number> {
  const { version: agent, commit, node } = buildInfo();
  if (output !== 'text')
    await printData(output, 'Version', { version: agent, commit, node, documentVersions: DOCUMENT_API_VERSIONS });
  else printText(`machineadm ${agent} (commit ${commit}, Node ${node}, reads ${DOCUMENT_API_VERSIONS.join(', ')})`);
  return exitCode('Success');
}
