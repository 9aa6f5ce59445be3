import { MACHINE_DOCUMENT } from '@machineadm/document/ownership/paths.ts';
import type { Carrier } from './carrier.ts';
import { gzipBase64 } from './encoding.ts';
import { DIRECTORY, DOWNLOAD_SCRIPT_PATH, PROGRAM, provisionCommand, refusesWindows } from './linux.ts';

/**
 * A script for every system that can only run one: AWS user data and cloud-init's `#!`, a remote shell, the last step
 * of an installer. Its exit status is that of machineadm. A truncated script does nothing: gzip fails without the end
 * of its data, and nothing runs.
 */
export const script: Carrier = {
  consumer: 'any POSIX shell with base64 and gzip',
  program: PROGRAM,
  fetches: 'sh',
  secretFormat: undefined,
  refuses: refusesWindows,
  async wrap(load) {
    const laid = [await writeCommand(MACHINE_DOCUMENT, load.document)];
    if (load.downloadScript !== undefined) laid.push(await writeCommand(DOWNLOAD_SCRIPT_PATH, load.downloadScript));
    return `#!/bin/sh
set -eu
umask 077
mkdir -p ${DIRECTORY}
${laid.join('')}exec ${provisionCommand(load)}
`;
  },
};

async function writeCommand(path: string, content: string): Promise<string> {
  return `base64 -d <<'END' | gzip -dc > ${path}.new
${(await gzipBase64(content)).replace(/.{76}(?=.)/g, '$&\n')}
END
mv -f ${path}.new ${path}
`;
}
