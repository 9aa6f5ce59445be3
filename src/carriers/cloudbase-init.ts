import type { Carrier } from './carrier.ts';
import { base64, gzipBase64 } from './encoding.ts';
import { CLOSE_DIRECTORY, WINDOWS_DOCUMENT, WINDOWS_PROGRAM } from './windows.ts';

/**
 * Only what cloudbase-init's cloud-config has: write_files and runcmd (cloudbaseinit/plugins/common/userdataplugins/
 * cloudconfigplugins). It ignores owners, and modes but for the read-only bit, so the first command closes the directory.
 * runcmd becomes one batch file; what its last line ends with is looked at for the codes of a reboot only
 * (cloudbaseinit/plugins/common/execcmd.py): failures are in machineadm's report and nowhere else.
 */
export const cloudbaseInit: Carrier = {
  consumer: 'cloudbase-init (Windows)',
  program: WINDOWS_PROGRAM,
  fetches: false,
  secretFormat: 'cloud-config',
  async wrap({ document, encoding, program }) {
    const [name, content] = encoding === 'base64' ? ['b64', base64(document)] : ['gz+b64', await gzipBase64(document)];
    return `#cloud-config
write_files:
- path: ${WINDOWS_DOCUMENT}
  permissions: '0600'
  encoding: ${name}
  content: ${content}
runcmd:
- '${CLOSE_DIRECTORY} >nul & ${program} provision -d ${WINDOWS_DOCUMENT}'
`;
  },
};
