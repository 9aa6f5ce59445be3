import { openrcConfigurationPath } from '@machineadm/document/ownership/paths.ts';
import type { ServiceEnvironment } from '../seam/services.ts';

/**
 * A systemd drop-in. `Environment=` would need no second file, but every user may read it (`systemctl show`), and it
 * expands `%` (systemd.exec(5)), which occurs in percent-encoded passwords. A missing file does not keep the service
 * from starting.
 *
 * @param dropIn path of the drop-in
 * @param file absolute path of a file of KEY='value' lines
 */
export function systemdEnvironment(dropIn: string, file: string): ServiceEnvironment {
  const lines = `# Written by machineadm.\n[Service]\nEnvironmentFile=-${file}\n`;
  return { path: dropIn, lines, shared: false };
}

/**
 * The configuration of an OpenRC service, a piece of shell that openrc-run reads before the script (OpenRC
 * sh/openrc-run.sh.in). Every user may read it; the file with the values can be restricted.
 */
export function openrcEnvironment(service: string, file: string): ServiceEnvironment {
  const lines = `if [ -r ${file} ]; then set -a; . ${file}; set +a; fi\n`;
  return { path: openrcConfigurationPath(service), lines, shared: true };
}
