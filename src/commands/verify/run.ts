import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { type OutputFormat, printData, printNotice, printText } from '../../cli/output.ts';
import { loadTrust } from '../../trust/trust-directory.ts';
import { type Proof, verifyFiles } from '../../trust/verify.ts';

export interface VerifyOptions {
  readonly file: readonly string[];
  readonly sha256?: string;
  readonly signature?: string;
  readonly bundle?: string;
  readonly list?: string;
  readonly release?: string;
  readonly key?: readonly string[];
  readonly trustDirectory: string;
  /** The file that remembers what was verified. */
  readonly memory?: string;
  readonly output: OutputFormat;
}

/** `machineadm verify`: verifies files and changes nothing. */
export async function verifyCommand(paths: readonly string[], options: VerifyOptions): Promise<number> {
  const { sha256, signature, bundle, list, release } = options;
  const proof: Proof = {
    ...omitUndefined({ sha256, signature, bundle, list, version: release }),
  };
  const trust = await loadTrust(options.key ?? [], options.trustDirectory, options.memory);
  const files = await verifyFiles(paths, proof, trust, new Date());
  for (const warning of new Set(files.flatMap(({ warnings }) => warnings))) {
    printNotice(`machineadm: warning: ${warning}`);
  }
  if (options.output !== 'text') await printData(options.output, 'Verification', { verified: true, files });
  else {
    const by = (key: string | undefined): string => (key === undefined ? '' : `, signed by ${key}`);
    printText(
      files.map((file) => `verified ${file.path}  ${file.sha256}  by ${file.by}${by(file.signedBy)}`).join('\n'),
    );
  }
  return exitCode('Success');
}
