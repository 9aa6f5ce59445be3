import { unitDropInPath } from '@machineadm/document/ownership/paths.ts';
import type { Host, QueryHost } from '../seam/host.ts';
import { type BootFile, openrcBootFile, systemdBootFile } from '../services/boot-command.ts';
import { openrcEnvironment, systemdEnvironment } from '../services/environment.ts';
import { isOpenrcBooted, openrcName, openrcServiceState, openrcServices } from './openrc.ts';
import { isSystemdBooted, serviceState, systemdServices } from './systemd.ts';

/** What a host asks and tells its service manager. The rest of the program does not know which one that is. */
export type ServiceQueries = Pick<QueryHost, 'service' | 'dropInPath' | 'bootFile' | 'serviceEnvironment'>;

const SYSTEMD: ServiceQueries = {
  service: serviceState,
  dropInPath: unitDropInPath,
  bootFile: systemdBootFile,
  serviceEnvironment: (service, name, file) => systemdEnvironment(unitDropInPath(service, name), file),
};

const OPENRC: ServiceQueries = {
  service: openrcServiceState,
  // Configuration of a service is one file, /etc/conf.d/NAME; there is nothing to drop in beside it.
  dropInPath: () => undefined,
  bootFile: openrcBootFile,
  serviceEnvironment: (service, _name, file) => openrcEnvironment(openrcName(service), file),
};

/**
 * A container or a chroot, in which nothing starts services: none is known to run, and files are laid as for systemd, which
 * reads them when the image boots.
 */
const NONE: ServiceQueries = { ...SYSTEMD, bootFile: (): BootFile | undefined => undefined };

/** Which service manager runs this machine. */
export function serviceManagerKind(): 'systemd' | 'openrc' | 'none' {
  if (isSystemdBooted()) return 'systemd';
  return isOpenrcBooted() ? 'openrc' : 'none';
}

/** The questions to this machine's service manager. */
export function serviceQueries(): ServiceQueries {
  return { systemd: SYSTEMD, openrc: OPENRC, none: NONE }[serviceManagerKind()];
}

/**
 * This machine's service manager. Where there is none, it is systemd's that says so. An aborted `signal` ends the waiting
 * for systemd's jobs. OpenRC's programs start and stop services themselves: ended half-way they would leave half of it.
 */
export function serviceManager(signal?: AbortSignal): Host['services'] {
  return serviceManagerKind() === 'openrc' ? openrcServices() : systemdServices(signal);
}
