import { openrcConfigurationPath } from '@machineadm/document/ownership/paths.ts';

/** How a service manager gives a service the variables of a file, at its next start. */
export interface ServiceEnvironment {
  readonly path: string;
  /** Text that makes the service read the file. */
  readonly lines: string;
  /** True where others write into the same file: the lines are a marked block in it. False: the file is all ours. */
  readonly shared: boolean;
}

/**
 * A drop-in of systemd. `Environment=` would do without a second file, but everybody may read it (`systemctl show`), and
 * it expands `%` (systemd.exec(5)), as percent-encoded passwords hold it. A file that is missing does not keep the
 * service from starting.
 *
 * @param dropIn path of the drop-in
 * @param file absolute path of a file of KEY='value' lines
 */
export function systemdEnvironment(dropIn: string, file: string): ServiceEnvironment {
  const lines = `# Written by machineadm.\n[Service]\nEnvironmentFile=-${file}\n`;
  return { path: dropIn, lines, shared: false };
}

/**
 * The configuration of an OpenRC service, which is a piece of shell that openrc-run reads before the script (OpenRC
 * sh/openrc-run.sh.in). It may be read by everybody; the file that holds the values need not be.
 */
export function openrcEnvironment(service: string, file: string): ServiceEnvironment {
  const lines = `if [ -r ${file} ]; then set -a; . ${file}; set +a; fi\n`;
  return { path: openrcConfigurationPath(service), lines, shared: true };
}
