import { MACHINE_DOCUMENT } from '@machineadm/document/ownership/paths.ts';
import type { Carrier } from './carrier.ts';
import { gzipBase64, sha512 } from './encoding.ts';
import { DIRECTORY, DOWNLOAD_SCRIPT_PATH, PROGRAM, provisionUnit, refusesWindows } from './linux.ts';

/**
 * Writes the document and the unit that runs machineadm. Ignition runs once, before the system starts; the unit runs at
 * every boot until the machine is a node.
 * With `--fetch` it writes the download script instead of letting Ignition fetch an https source: such a source is a
 * single location for a single architecture, and a machine hangs in its initramfs when the location does not answer.
 */
export const ignition: Carrier = {
  consumer: 'Ignition (Flatcar, Fedora CoreOS, …)',
  program: PROGRAM,
  fetches: 'sh',
  secretFormat: 'ignition',
  refuses: refusesWindows,
  async wrap(load) {
    const files = [await file(MACHINE_DOCUMENT, 0o600, load.document)];
    if (load.downloadScript !== undefined) files.push(await file(DOWNLOAD_SCRIPT_PATH, 0o700, load.downloadScript));
    const unit = { name: 'machineadm-provision.service', enabled: true, contents: provisionUnit(load) };
    const config = {
      ignition: { version: load.ignitionVersion },
      storage: { directories: [{ path: DIRECTORY, mode: 0o700 }], files },
      systemd: { units: [unit] },
    };
    return `${JSON.stringify(config)}\n`;
  },
};

/** The digest is that of the uncompressed content (coreos/ignition docs/configuration-v3_3.md), SHA-512 in all of 3.x. */
async function file(path: string, mode: number, content: string): Promise<object> {
  return {
    path,
    mode,
    overwrite: true,
    contents: {
      source: `data:;base64,${await gzipBase64(content)}`,
      compression: 'gzip',
      verification: { hash: `sha512-${await sha512(content)}` },
    },
  };
}
