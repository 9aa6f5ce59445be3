import type { Carrier, Load } from './carrier.ts';
import { base64, gzipBase64 } from './encoding.ts';
import { DOCUMENT, DOWNLOAD_SCRIPT_PATH, PROGRAM, provisionCommand, refusesWindows, resumeUnit } from './linux.ts';

const RESUME = 'machineadm-resume.service';

/**
 * A cloud-config in one part, without the header of jinja: what providers of Cluster API parse and rewrite, and nothing in
 * it is evaluated. machineadm is the only command: runcmd becomes a shell script whose last command decides
 * (cloudinit/config/cc_runcmd.py, cc_scripts_user.py). A string and not a list: BYOH reads strings only.
 *
 * A machine that gets machineadm over the network has no unit of ours in its image, so the one that goes on after a reboot
 * in the middle comes along.
 */
export const cloudInit: Carrier = {
  consumer: 'cloud-init',
  program: PROGRAM,
  fetches: 'sh',
  secretFormat: 'cloud-config',
  refuses: refusesWindows,
  async wrap(load) {
    const files = [await file(DOCUMENT, '0600', load.document, load)];
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
