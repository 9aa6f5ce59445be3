import type { Model } from '@machineadm/document/model/index.ts';
import { MACHINE_DOCUMENT } from '@machineadm/document/ownership/paths.ts';
import type { Load } from './carrier.ts';

/** Where carriers write their files on Linux: on a disk instead of /run, because a run resumes after a reboot. */
export const DIRECTORY = '/etc/machineadm';
export const DOWNLOAD_SCRIPT_PATH = `${DIRECTORY}/download.sh`;

/** Where releases are unpacked in an image. `installedProgram` recognises the different path of a package. */
export const PROGRAM = '/usr/local/bin/machineadm';

/**
 * The path of machineadm in an image like this one, derived from the path of the running program: that path where
 * packages and images install programs (`/usr/bin` of a package, `/opt/bin` of Flatcar); undefined for a build or a
 * download.
 */
export function installedProgram(running: string): string | undefined {
  return /^\/(?:usr(?:\/local)?\/s?bin|opt\/bin)\/machineadm$/.test(running) ? running : undefined;
}

/**
 * The machine would refuse a document for another system before it changes anything; this reports the problem earlier.
 */
export function refusesWindows({ host }: Model): string | undefined {
  return host.platform === 'linux' ? undefined : 'it is for Windows, by its host.platform';
}

/**
 * The program with its path, or the download script before it. The script is passed to a shell, which works on a file
 * system that is mounted noexec.
 */
function programOf({ program, downloadScript }: Load): string {
  return downloadScript === undefined ? program : `/bin/sh ${DOWNLOAD_SCRIPT_PATH}`;
}

/** One command line, for a shell and for systemd alike. */
export function provisionCommand(load: Load): string {
  return `${programOf(load)} provision -d ${MACHINE_DOCUMENT}`;
}

/** machineadm-provision.service of packaging/systemd with another command. */
export function provisionUnit(load: Load): string {
  return bootstrapUnit({
    description: 'Bootstrap this machine (machineadm)',
    before: '',
    command: `${programOf(load)} provision --boot`,
    // systemd restarts a killed run. It does not restart a failed one: the failure is reported, and a retry would not
    // help. systemd before 244 ignores this setting for a oneshot service (NEWS of 244); every system with Ignition 3
    // is newer.
    service: 'RemainAfterExit=yes\nRestart=on-abnormal\nRestartSec=5s\n',
  });
}

/** machineadm-resume.service of packaging/systemd with another command. */
export function resumeUnit(load: Load): string {
  return bootstrapUnit({
    description: 'Resume the bootstrap of this machine (machineadm)',
    before: 'Before=cloud-final.service\n',
    command: `${programOf(load)} provision --resume`,
    service: '',
  });
}

interface BootstrapUnit {
  readonly description: string;
  readonly command: string;
  /** Lines of the unit's sections, each ended by a newline. */
  readonly before: string;
  readonly service: string;
}

function bootstrapUnit({ description, command, before, service }: BootstrapUnit): string {
  return `[Unit]
Description=${description}
Documentation=man:machineadm(1)
Wants=network-online.target
After=network-online.target local-fs.target containerd.service machineadm-hooks.service machineadm-sentinel.service
After=cloud-init.service cloud-init-network.service
${before}RequiresMountsFor=/var/lib/machineadm
ConditionPathExists=${MACHINE_DOCUMENT}

[Service]
Type=oneshot
${service}ExecStart=${command} -d ${MACHINE_DOCUMENT}
TimeoutStartSec=infinity
TimeoutStopSec=60s
KillMode=mixed
NotifyAccess=all
LimitCORE=0
UnsetEnvironment=NODE_OPTIONS NODE_EXTRA_CA_CERTS OPENSSL_CONF
StandardOutput=journal+console

[Install]
WantedBy=multi-user.target
`;
}
