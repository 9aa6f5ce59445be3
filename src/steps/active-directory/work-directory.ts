import type { Host } from '../../host/seam/host.ts';

/** Where the tools may write for the time of their work; in memory, and of root alone. */
export const WORK_DIRECTORY = '/run/machineadm/active-directory';

/** Texts are told apart in English only; tickets and temporary files end with the work. */
export const TOOL_ENVIRONMENT: Readonly<Record<string, string>> = {
  LC_ALL: 'C',
  TMPDIR: WORK_DIRECTORY,
  KRB5CCNAME: `FILE:${WORK_DIRECTORY}/tickets`,
};

/** Does the work with an empty directory, which is gone afterwards, whatever happened. */
export async function withWorkDirectory(host: Host, work: () => Promise<void>): Promise<void> {
  // A killed adcli leaves its Kerberos configuration behind, and a killed run of ours perhaps a blob.
  const wipe = () => host.run({ program: 'rm', args: ['-r', '-f', '--one-file-system', '--', WORK_DIRECTORY] });
  await wipe();
  await host.makeDirectory(WORK_DIRECTORY, 0o700);
  try {
    await work();
  } finally {
    await wipe();
  }
}
