import assert from 'node:assert/strict';
import { hostPartModels } from '@machineadm/document/host-parts/index.ts';
import type { FileModel, HostModel, Model, UserModel } from '@machineadm/document/model/index.ts';

const NO_PARTS = await hostPartModels(undefined, () => assert.fail('there is no secret'), 'linux');

/** A document that asks for nothing but this part of the host. */
export function hostModel(host: Partial<HostModel> = {}): Model {
  return {
    metadata: { name: 'node-1', namespace: undefined, uid: undefined, cluster: undefined, labels: {} },
    apply: 'Once',
    host: {
      ...NO_PARTS,
      platform: 'linux',
      hostname: undefined,
      rebootPolicy: 'IfRequired',
      kernelModules: [],
      sysctl: [],
      swap: 'Unmanaged',
      activeDirectory: undefined,
      storage: { disks: [], filesystems: [], mounts: [] },
      groups: [],
      users: [],
      files: [],
      time: undefined,
      proxy: undefined,
      certificateAuthorities: [],
      services: [],
      hooks: { early: undefined, beforeBootstrap: undefined, afterBootstrap: undefined },
      ...host,
    },
    containerd: undefined,
    images: { archives: [], required: [] },
    kubernetes: undefined,
    hardening: undefined,
    reporting: { sentinelPath: '/run/cluster-api/bootstrap-success.complete', deadlineMs: 30_000, sinks: [] },
  };
}

/** A user of whom the document says nothing but this. */
export function userModel(user: Partial<UserModel> = {}): UserModel {
  return {
    name: 'ada',
    uid: undefined,
    gecos: undefined,
    primaryGroup: undefined,
    groups: [],
    home: undefined,
    shell: undefined,
    system: false,
    passwordHash: undefined,
    locked: true,
    inactive: false,
    sudo: [],
    sshAuthorizedKeys: undefined,
    ...user,
  };
}

/** A file of which the document says nothing but this. */
export function fileModel(
  path: string,
  content: string | FileModel['content'],
  file: Partial<FileModel> = {},
): FileModel {
  return {
    path,
    content: typeof content === 'string' ? { kind: 'inline', bytes: new TextEncoder().encode(content) } : content,
    mode: 0o644,
    user: 'root',
    group: 'root',
    directoryMode: 0o755,
    append: false,
    ...file,
  };
}
