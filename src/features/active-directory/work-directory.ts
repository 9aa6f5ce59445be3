import { RUN_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import type { Host } from '../../host/seam/host.ts';

/** Temporary directory for the tools; in memory, and accessible to root only. */
export const WORK_DIRECTORY = `${RUN_DIRECTORY}/active-directory`;

/** Messages are matched in English only; tickets and temporary files are removed afterwards. */
export const TOOL_ENVIRONMENT: Readonly<Record<string, string>> = {
  LC_ALL: 'C',
  TMPDIR: WORK_DIRECTORY,
  KRB5CCNAME: `FILE:${WORK_DIRECTORY}/tickets`,
};

/** Runs the work with an empty directory, which is always removed. */
export async function withWorkDirectory(host: Host, work: () => Promise<void>): Promise<void> {
  // A killed adcli leaves its Kerberos configuration, and a killed run perhaps a blob.
  const wipe = () => host.run({ program: 'rm', args: ['-r', '-f', '--one-file-system', '--', WORK_DIRECTORY] });
  await wipe();
  await host.makeDirectory(WORK_DIRECTORY, 0o700);
  try {
    await work();
  } finally {
    await wipe();
  }
}
