import { MACHINE_DOCUMENT } from '@machineadm/document/ownership/paths.ts';
import type { Carrier, Load } from './carrier.ts';
import { base64, gzipBase64 } from './encoding.ts';
import { DOWNLOAD_SCRIPT_PATH, PROGRAM, provisionCommand, refusesWindows, resumeUnit } from './linux.ts';

const RESUME = 'machineadm-resume.service';

/**
 * A cloud-config in one part, without the jinja header: providers of Cluster API parse and rewrite it, and nothing in
 * it is evaluated. machineadm is the only command: runcmd becomes a shell script whose last command sets the exit
 * status (cloudinit/config/cc_runcmd.py, cc_scripts_user.py). The command is a string, because BYOH does not read
 * lists.
 * A machine that downloads machineadm has none of our units in its image. So the user data includes the unit that
 * resumes a run after a reboot.
 */
export const cloudInit: Carrier = {
  consumer: 'cloud-init',
  program: PROGRAM,
  fetches: 'sh',
  secretFormat: 'cloud-config',
  refuses: refusesWindows,
  async wrap(load) {
    const files = [await file(MACHINE_DOCUMENT, '0600', load.document, load)];
    if (load.downloadScript === undefined) return cloudConfig(files, provisionCommand(load));
    files.push(
      await file(DOWNLOAD_SCRIPT_PATH, '0700', load.downloadScript, load),
      await file(`/etc/systemd/system/${RESUME}`, '0644', resumeUnit(load), load),
    );
    return cloudConfig(files, `systemctl enable -q ${RESUME}; ${provisionCommand(load)}`);
  },
};

function cloudConfig(files: readonly string[], command: string): string {
  return `#cloud-config\nwrite_files:\n${files.join('')}runcmd:\n- ${command}\n`;
}

async function file(path: string, permissions: string, content: string, { encoding }: Load): Promise<string> {
  const [name, encoded] = encoding === 'base64' ? ['b64', base64(content)] : ['gz+b64', await gzipBase64(content)];
  return `- path: ${path}
  owner: root:root
  permissions: '${permissions}'
  encoding: ${name}
  content: ${encoded}
`;
}
