import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type DocumentTree, merge } from './documents.ts';

const PROGRAM = resolve(import.meta.dirname, '../fixtures/kubeadm-stand-in/kubeadm');

/** Where the stand-in keeps its state, and reads how to fail. */
export const STATE = '/run/stand-in';

/** Writes a file of a throw-away machine. */
export function put(path: string, content: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  writeFileSync(path, content);
  chmodSync(path, mode);
}

/** Installs the stand-in for kubeadm, and a kubelet that only tells its version. */
export function installStandIn(path = '/usr/local/sbin/kubeadm'): void {
  put('/usr/local/sbin/kubelet', '#!/bin/sh\necho Kubernetes v1.31.4\n', 0o755);
  copyFileSync(PROGRAM, path);
  chmodSync(path, 0o755);
}

/** A document for the stand-in: a node of this role, which reports nothing. */
export function standInDocument(
  name: string,
  role: 'InitControlPlane' | 'JoinControlPlane' | 'Worker',
  kubernetes: DocumentTree,
): DocumentTree {
  const token = { token: { secret: 'token' }, endpoint: '127.0.0.1:1', unsafeSkipCAVerification: true };
  const document = {
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    secrets: { token: { value: 'abcdef.0123456789abcdef' }, certificateKey: { value: 'c'.repeat(64) } },
    metadata: { name },
    kubernetes: {
      version: 'v1.31.4',
      role,
      ...(role === 'InitControlPlane' ? {} : { join: { discovery: { token } } }),
      ...(role === 'JoinControlPlane' ? { controlPlane: { certificateKey: { secret: 'certificateKey' } } } : {}),
      node: { name },
      ready: { require: 'KubeletHealthy', timeout: '1s' },
    },
    reporting: { sinks: [] },
  };
  return merge(document, { kubernetes });
}
