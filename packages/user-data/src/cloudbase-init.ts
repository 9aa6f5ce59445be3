import type { Carrier, Load } from './carrier.ts';
import { base64, gzipBase64 } from './encoding.ts';
import {
  CLOSE_DIRECTORY,
  provisionOnWindows,
  refusesLinux,
  WINDOWS_DOCUMENT,
  WINDOWS_DOWNLOAD_SCRIPT,
  WINDOWS_PROGRAM,
} from './windows.ts';

/**
 * Uses only what cloudbase-init supports of cloud-config: write_files and runcmd
 * (cloudbaseinit/plugins/common/userdataplugins/ cloudconfigplugins). It ignores owners, and modes except the read-only
 * bit, so the first command restricts the directory. runcmd becomes one batch file. Its exit status only matters for
 * the reboot codes (cloudbaseinit/plugins/common/execcmd.py), which machineadm is configured to use: a failure is
 * visible in the report only.
 */
export const cloudbaseInit: Carrier = {
  consumer: 'cloudbase-init (Windows)',
  program: WINDOWS_PROGRAM,
  fetches: 'powershell',
  secretFormat: 'cloud-config',
  refuses: refusesLinux,
  async wrap(load) {
    const files = [await file(WINDOWS_DOCUMENT, load.document, load)];
    if (load.downloadScript !== undefined) files.push(await file(WINDOWS_DOWNLOAD_SCRIPT, load.downloadScript, load));
    return `#cloud-config
write_files:
${files.join('')}runcmd:
- '${CLOSE_DIRECTORY} >nul & ${provisionOnWindows(load)} --exit-codes=cloudbase-init'
`;
  },
};

async function file(path: string, content: string, { encoding }: Load): Promise<string> {
  const [name, encoded] = encoding === 'base64' ? ['b64', base64(content)] : ['gz+b64', await gzipBase64(content)];
  return `- path: ${path}
  permissions: '0600'
  encoding: ${name}
  content: ${encoded}
`;
}
