import type { Model } from '@machineadm/document/model.ts';
import type { Load } from './carrier.ts';

/** Where Linux machines find what a carrier brings. On a disk and not in /run: a run goes on after a reboot. */
export const DIRECTORY = '/etc/machineadm';
export const DOCUMENT = `${DIRECTORY}/bootstrap.yaml`;
export const DOWNLOAD_SCRIPT_PATH = `${DIRECTORY}/download.sh`;

/** Where releases are unpacked into an image; a package has its own place, which `installedProgram` recognises. */
export const PROGRAM = '/usr/local/bin/machineadm';

/**
 * The path where an image of the same kind has machineadm, judged by where it runs now: the path itself where packages and
 * images install programs (`/usr/bin` of a package, `/opt/bin` of Flatcar); undefined for a build or a download.
 */
export function installedProgram(running: string): string | undefined {
  return /^\/(?:usr(?:\/local)?\/s?bin|opt\/bin)\/machineadm$/.test(running) ? running : undefined;
}

/** A machine refuses a document for another system, before it changes anything: here it is told earlier. */
export function refusesWindows({ host }: Model): string | undefined {
  return host.platform === 'linux' ? undefined : 'it is for Windows, by its host.platform';
}

/** The program with its path, or what gets it first: a file system may be mounted noexec, a shell reads it all the same. */
function programOf({ program, downloadScript }: Load): string {
  return downloadScript === undefined ? program : `/bin/sh ${DOWNLOAD_SCRIPT_PATH}`;
}

/** One command line, for a shell and for systemd alike. */
export function provisionCommand(load: Load): string {
  return `${programOf(load)} provision -d ${DOCUMENT}`;
}

/** machineadm-provision.service of packaging/systemd with another command. */
export function provisionUnit(load: Load): string {
  return bootstrapUnit({
    description: 'Bootstrap this machine (machineadm)',
    before: '',
    command: `${programOf(load)} provision --boot`,
    // A run that was killed goes on; one that failed has said why, and the same again would not help. systemd before 244
    // does not know it of a oneshot (NEWS of 244), no system with Ignition 3 is that old.
    service: 'RemainAfterExit=yes\nRestart=on-abnormal\nRestartSec=5s\n',
  });
}

/** machineadm-resume.service of packaging/systemd with another command. */
export function resumeUnit(load: Load): string {
  return bootstrapUnit({
    description: 'Go on with the bootstrap of this machine (machineadm)',
    before: 'Before=cloud-final.service\n',
    command: `${programOf(load)} provision --resume`,
    service: '',
  });
}

interface BootstrapUnit {
  readonly description: string;
  readonly command: string;
  /** Lines of their sections, each ended. */
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
ConditionPathExists=${DOCUMENT}

[Service]
Type=oneshot
${service}ExecStart=${command} -d ${DOCUMENT}
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
