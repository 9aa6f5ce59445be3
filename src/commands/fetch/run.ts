import type { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { durationOf } from '../../cli/duration.ts';
import { type OutputFormat, printData, printNotice, printText } from '../../cli/output.ts';
import { usageError } from '../../cli/usage-error.ts';
import { openDownloadSource } from '../../trust/download-source.ts';
import { type Fetched, fetchFiles, fetchRelease } from '../../trust/fetch.ts';
import { defaultMemoryPath } from '../../trust/memory.ts';
import { loadTrust } from '../../trust/trust-directory.ts';

export interface FetchOptions {
  readonly from: readonly string[];
  readonly outputDir?: string;
  readonly release?: string;
  readonly platform?: readonly string[];
  readonly sha256?: string;
  readonly key?: readonly string[];
  readonly trustDirectory: string;
  /** The file that remembers what was verified. */
  readonly memory?: string;
  readonly ca?: readonly string[];
  readonly authorization?: readonly string[];
  readonly proxy?: string;
  readonly timeout: string;
  readonly output: OutputFormat;
}

/** `machineadm fetch`: downloads and verifies files. A file gets its name only after it was verified. */
export async function fetchCommand(names: readonly string[], options: FetchOptions): Promise<number> {
  const { release, outputDir: to, output } = options;
  if (to === undefined) throw usage('--output-dir is missing: where the files go');
  if ((release === undefined) === (names.length === 0)) throw usage('give either --release or names of files');
  if (release !== undefined && options.sha256 !== undefined) throw usage('--sha256 is for one file');
  if (release === undefined && options.platform !== undefined) throw usage('--platform is for a release');
  const deadlineMs = durationOf('--timeout', options.timeout);
  const now = new Date();
  const memoryPath = options.memory ?? defaultMemoryPath();
  const trusted = { trust: await loadTrust(options.key ?? [], options.trustDirectory, memoryPath), memoryPath };
  const { sources, client } = await openDownloadSource({
    locations: options.from,
    certificateAuthorities: options.ca ?? [],
    authorizations: options.authorization ?? [],
    proxy: options.proxy,
  });
  try {
    const attempts = {
      deadlineMs,
      onFailure: (_: unknown, error: MachineadmError) => printNotice(`machineadm: ${error.message} [${error.reason}]`),
    };
    const fetched =
      release === undefined
        ? await fetchFiles({ names, sha256: options.sha256, to }, sources, trusted, now, attempts)
        : await fetchRelease({ version: release, platforms: options.platform, to }, sources, trusted, now, attempts);
    await printFetched(fetched, output);
    return exitCode('Success');
  } finally {
    await client.close();
  }
}

async function printFetched(fetched: Fetched, output: OutputFormat): Promise<void> {
  for (const warning of fetched.warnings) printNotice(`machineadm: warning: ${warning}`);
  if (output !== 'text') {
    await printData(output, 'FetchedFiles', { ...fetched, warnings: fetched.warnings.map((message) => ({ message })) });
    return;
  }
  const lines = fetched.files.map(({ path, sha256, changed }) => `${changed ? 'fetched' : 'kept'} ${path}  ${sha256}`);
  printText([...lines, `verified, from ${fetched.from}${by(fetched.signedBy)}`].join('\n'));
}

function by(key: string | undefined): string {
  return key === undefined ? '' : `, signed by ${key}`;
}

function usage(summary: string): MachineadmError {
  return usageError(summary, 'Correct the options.');
}
