import { unitDropInPath } from '@machineadm/document/ownership/paths.ts';
import type { Host, QueryHost } from '../seam/host.ts';
import type { BootFile } from '../seam/services.ts';
import { openrcBootFile, systemdBootFile } from '../services/boot-command.ts';
import { openrcEnvironment, systemdEnvironment } from '../services/environment.ts';
import { isOpenrcBooted, openrcName, openrcServiceState, openrcServices } from './openrc.ts';
import { isSystemdBooted, serviceState, systemdServices } from './systemd.ts';

/** A host's access to its service manager. The rest of the program does not depend on its kind. */
export type ServiceQueries = Pick<QueryHost, 'service' | 'dropInPath' | 'bootFile' | 'serviceEnvironment'>;

const SYSTEMD: ServiceQueries = {
  service: (name) => serviceState(name),
  dropInPath: unitDropInPath,
  bootFile: systemdBootFile,
  serviceEnvironment: (service, name, file) => systemdEnvironment(unitDropInPath(service, name), file),
};

const OPENRC: ServiceQueries = {
  service: (name) => openrcServiceState(name),
  // The configuration of a service is a single file, /etc/conf.d/NAME; there are no drop-ins.
  dropInPath: () => undefined,
  bootFile: openrcBootFile,
  serviceEnvironment: (service, _name, file) => openrcEnvironment(openrcName(service), file),
};

/**
 * A container or a chroot, in which nothing starts services: no service counts as running, and files are written as for
 * systemd, which reads them when the image boots.
 */
const NONE: ServiceQueries = { ...SYSTEMD, bootFile: (): BootFile | undefined => undefined };

/** Which service manager runs this machine. */
export function serviceManagerKind(): 'systemd' | 'openrc' | 'none' {
  if (isSystemdBooted()) return 'systemd';
  return isOpenrcBooted() ? 'openrc' : 'none';
}

/** The queries to this machine's service manager. */
export function serviceQueries(): ServiceQueries {
  return { systemd: SYSTEMD, openrc: OPENRC, none: NONE }[serviceManagerKind()];
}

/**
 * This machine's service manager. Without any, the calls fail as systemd's do. An aborted `signal` ends waiting for
 * systemd's jobs. OpenRC's programs start and stop services themselves, so they are never interrupted.
 */
export function serviceManager(signal?: AbortSignal): Host['services'] {
  return serviceManagerKind() === 'openrc' ? openrcServices() : systemdServices(signal);
}
