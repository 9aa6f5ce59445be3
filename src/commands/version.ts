import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { buildInfo } from '../cli/build-info.ts';
import type { AddCommand } from '../cli/command-tree.ts';
import { outputOption } from '../cli/options.ts';
import { printData, printText } from '../cli/output.ts';
import type { OutputFormat } from '../cli/output-format.ts';

/** The apiVersions that can be read, as `document/versions` registers them; a test keeps the two equal. */
export const DOCUMENT_API_VERSIONS: readonly string[] = ['machineadm.dev/v1alpha1'];

/** It does not load the document's modules, so that it starts fast. */
export const addVersion: AddCommand = (program, done) => {
  program
    .command('version')
    .description('print the version, commit, Node and supported document versions')
    .addOption(outputOption())
    .addHelpText('after', '\nExample:\n  machineadm version -o json')
    .action(async ({ output }: { readonly output: OutputFormat }) => {
      const { version: agent, commit, node } = buildInfo();
      if (output !== 'text')
        await printData(output, 'Version', { version: agent, commit, node, documentVersions: DOCUMENT_API_VERSIONS });
      else printText(`machineadm ${agent} (commit ${commit}, Node ${node}, reads ${DOCUMENT_API_VERSIONS.join(', ')})`);
      done(exitCode('Success'));
    });
};
