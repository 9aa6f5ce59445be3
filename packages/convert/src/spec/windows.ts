import { parseMode } from '@machineadm/document/text/units.ts';
import type { HostSection } from '@machineadm/document/versions/v1alpha1/host.ts';
import type { Report } from '../report/report.ts';
import type { FileSpec, Spec } from './spec.ts';

const WINDOWS_PATH = /^[A-Za-z]:[\\/]/;

/** Recognised by its socket or by paths with a drive: the object itself does not state it. */
export function platformOf(spec: Spec): NonNullable<HostSection['platform']> {
  const sockets = [spec.init, spec.join].map((part) => part.get('nodeRegistration', 'criSocket').text() ?? '');
  const isWindows =
    sockets.some((socket) => socket.startsWith('npipe:')) || spec.files.some(({ path }) => WINDOWS_PATH.test(path));
  return isWindows ? 'Windows' : 'Linux';
}

/** Removes what a document does not support on Windows; each is reported. */
export function withoutLinuxOnly(spec: Spec, report: Report): Spec {
  for (const { name, at } of spec.users) report.add('WindowsHost', at, `the user ${name}`);
  for (const { name, at } of spec.groups) report.add('WindowsHost', at, `the group ${name}`);
  for (const { name, at } of spec.services) report.add('WindowsHost', at, `the service ${name}`);
  for (const { at } of [...spec.disks, ...spec.filesystems, ...spec.mounts, ...spec.bootCommands]) {
    report.add('WindowsHost', at, 'cloudbase-init has no such plug-in either');
  }
  return {
    ...spec,
    direct: undefined,
    users: [],
    groups: [],
    disks: [],
    filesystems: [],
    mounts: [],
    bootCommands: [],
    services: [],
  };
}

/**
 * The modes that Windows' permissions can represent. cloudbase-init ignores them (cloudbaseinit/plugins/common/
 * userdataplugins/cloudconfigplugins/write_files.py, os.chmod), so all users can read files that were meant for root.
 */
export function windowsMode(mode: string, { path, owner, permissions, at }: FileSpec, report: Report): string {
  const bits = parseMode(mode);
  const owned = (bits & 0o100) === 0 ? '0600' : '0700';
  const shared = (bits & 0o001) === 0 ? '0644' : '0755';
  if (owner !== undefined || permissions !== undefined) report.add('WindowsPermissions', at, path);
  return (bits & 0o007) === 0 ? owned : shared;
}
