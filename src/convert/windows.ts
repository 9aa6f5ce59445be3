import type { Report } from './report.ts';
import type { Spec } from './spec.ts';

const WINDOWS_PATH = /^[A-Za-z]:[\\/]/;

/** Told by its socket or by paths with a drive: the object itself does not say it. */
export function isWindows(spec: Spec): boolean {
  const sockets = [spec.init, spec.join].map((part) => part.get('nodeRegistration', 'criSocket').text() ?? '');
  return (
    sockets.some((socket) => socket.startsWith('npipe:')) || spec.files.some(({ path }) => WINDOWS_PATH.test(path))
  );
}

/**
 * Kubernetes is the same; the rest is told, part by part, and left out. cloudbase-init ignores owners and modes of files and
 * how commands end (cloudbaseinit/plugins/common/userdataplugins/cloudconfigplugins): what is meant by it is for a person
 * to say.
 */
export function withoutHost(spec: Spec, report: Report): Spec {
  for (const { path, at } of spec.files) report.add('WindowsHost', at, `the file ${path}`);
  for (const { name, at } of spec.users) report.add('WindowsHost', at, `the user ${name}`);
  for (const { at } of [...spec.beforeCommands, ...spec.afterCommands]) report.add('WindowsHost', at, 'a command');
  if (spec.time !== undefined) report.add('WindowsHost', spec.time.at, 'the time service');
  for (const { at } of [...spec.disks, ...spec.filesystems, ...spec.mounts, ...spec.bootCommands]) {
    report.add('WindowsHost', at, 'cloudbase-init has no such plug-in either');
  }
  return {
    ...spec,
    files: [],
    users: [],
    groups: [],
    time: undefined,
    disks: [],
    filesystems: [],
    mounts: [],
    bootCommands: [],
    beforeCommands: [],
    afterCommands: [],
    services: [],
  };
}
