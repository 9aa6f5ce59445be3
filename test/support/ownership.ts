import assert from 'node:assert/strict';
import { claimsOf, OWN_STEP } from '@machineadm/document/claims/index.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { canonicalPath } from '@machineadm/document/ownership/collisions.ts';
import type { Host } from '../../src/host/seam/host.ts';
import type { OwnedPath } from '../../src/step/index.ts';

/** Steps that change what other steps own, each once it is theirs to change. */
const ALSO_OWNED: Readonly<Record<string, readonly string[]>> = {
  // The control plane that runs: files of the API server, and the manifest that kubeadm wrote.
  'api-server': ['control-plane-files', 'kubeadm'],
  'kubeadm-reset': ['kubeadm', 'pki'],
  // Manifests that a killed kubeadm had moved away.
  'upgrade-kubeadm': ['kubeadm'],
  // The manifests of the pods that hold certificates.
  'upgrade-certificates': ['kubeadm'],
  'upgrade-control-plane': ['kubeadm'],
};

/** What a step takes away that an earlier document asked for, and this one does not. */
const OF_EARLIER_DOCUMENTS: Readonly<Record<string, RegExp>> = {
  'hooks-boot': /^\/etc\/(?:systemd\/system\/machineadm-hooks\.service|init\.d\/machineadm-hooks)$/,
  proxy: /^\/etc\/(?:environment|conf\.d\/[^/]+)$/,
  containerd: /^\/etc\/containerd\/certs\.d\/[^/]+\/(?:hosts\.toml|machineadm-)/,
  apparmor: /^\/etc\/apparmor\.d\//,
  network: /^\/etc\/systemd\/network\//,
  'api-server': /^\/etc\/kubernetes\/(?:audit|authentication|authorization|admission|encryption)/,
};

/** What a step writes that kubeadm wrote before, and that nobody owns. */
const OF_KUBEADM: Readonly<Record<string, RegExp>> = {
  'upgrade-kubelet-settings': /^\/var\/lib\/kubelet\/(?:config\.yaml|kubeadm-flags\.env)$/,
  'upgrade-certificates': /^\/etc\/kubernetes\/(?:pki\/.+\.(?:crt|key)|[a-z-]+\.conf)$/,
};

/** Steps that change no file of their own but modes and settings of files that are there, which the profiles name. */
const WITHOUT_FILES: ReadonlySet<string> = new Set(['hardening']);

/**
 * The same host. A path that the table of a document
 * (`document/ownership`) does not know as this step's own fails the test: the table must not drift from the steps.
 */
export function ownedBy(step: string, model: Model, host: Host, more: readonly OwnedPath[]): Host {
  if (model.host.platform !== 'linux' || WITHOUT_FILES.has(step)) return host;
  const steps = [step, OWN_STEP, ...(ALSO_OWNED[step] ?? [])];
  const claims = [...claimsOf(model).filter((claim) => steps.includes(claim.step)), ...more];
  const check = (path: string): void => {
    const known =
      claims.some((claim) => covers(claim, canonicalPath(path))) ||
      [OF_EARLIER_DOCUMENTS, OF_KUBEADM].some((paths) => paths[step]?.test(path) === true);
    assert.ok(known, `${step} writes ${path}, which document/ownership does not know as its own`);
  };
  return {
    ...host,
    async writeFile(file) {
      check(file.path);
      await host.writeFile(file);
    },
    async writeLink(path, target) {
      check(path);
      await host.writeLink(path, target);
    },
    async removeFile(path) {
      check(path);
      await host.removeFile(path);
    },
  };
}

/** Whether a claim is of this path. */
function covers({ kind, path: claimed, names }: OwnedPath, path: string): boolean {
  const own = canonicalPath(claimed);
  if (kind === 'file' || kind === 'lines') return own === path;
  if (!path.startsWith(`${own}/`)) return false;
  const rest = path.slice(own.length + 1);
  return kind === 'tree' || (kind === 'names' && names?.test(rest) === true);
}
