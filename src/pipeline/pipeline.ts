import type { Platform } from '@machineadm/document/model/index.ts';
import { directoryAddress } from '../features/active-directory/directory-address.ts';
import { directoryLogins } from '../features/active-directory/directory-logins/index.ts';
import { activeDirectory } from '../features/active-directory/index.ts';
import { windowsDomain } from '../features/active-directory/windows/index.ts';
import { apiServer } from '../features/api-server/index.ts';
import { apparmor } from '../features/apparmor/index.ts';
import { archives } from '../features/archives/index.ts';
import { certificateAuthorities } from '../features/certificate-authorities/index.ts';
import { windowsCertificateAuthorities } from '../features/certificate-authorities/windows.ts';
import { containerd } from '../features/containerd/index.ts';
import { controlPlaneFiles } from '../features/control-plane-files/index.ts';
import { directories } from '../features/directories/index.ts';
import { execBootstrapper } from '../features/exec-bootstrapper/index.ts';
import { execReadiness } from '../features/exec-readiness/index.ts';
import { files } from '../features/files/index.ts';
import { groups } from '../features/groups/index.ts';
import { hardening } from '../features/hardening/index.ts';
import { bootHooks } from '../features/hooks/boot.ts';
import { afterBootstrapHooks, beforeBootstrapHooks, earlyHooks } from '../features/hooks/index.ts';
import {
  windowsAfterBootstrapHooks,
  windowsBeforeBootstrapHooks,
  windowsEarlyHooks,
} from '../features/hooks/windows.ts';
import { hostname } from '../features/hostname/index.ts';
import { windowsHostname } from '../features/hostname/windows.ts';
import { hosts } from '../features/hosts/index.ts';
import { images } from '../features/images/index.ts';
import { kernelModules } from '../features/kernel-modules/index.ts';
import { kubeadmConfig } from '../features/kubeadm/config.ts';
import { kubeadmImages } from '../features/kubeadm/images.ts';
import { kubeadm } from '../features/kubeadm/index.ts';
import { kubeadmReset } from '../features/kubeadm/reset.ts';
import { kubeletArguments } from '../features/kubelet-arguments/index.ts';
import { limits } from '../features/limits/index.ts';
import { links } from '../features/links/index.ts';
import { network } from '../features/network/index.ts';
import { nodeAddresses } from '../features/node-addresses/index.ts';
import { nodeLabels } from '../features/node-labels/index.ts';
import { pki } from '../features/pki/index.ts';
import { proxy } from '../features/proxy/index.ts';
import { windowsProxy } from '../features/proxy/windows.ts';
import { readiness } from '../features/readiness/index.ts';
import { registries } from '../features/registries/index.ts';
import { restarts } from '../features/restarts/index.ts';
import { selinux } from '../features/selinux/index.ts';
import { sentinel } from '../features/sentinel/index.ts';
import { services } from '../features/services/index.ts';
import { staticPods } from '../features/static-pods/index.ts';
import { disks } from '../features/storage/disks.ts';
import { filesystems } from '../features/storage/filesystems.ts';
import { mounts } from '../features/storage/mounts.ts';
import { swap } from '../features/swap/index.ts';
import { sysctl } from '../features/sysctl/index.ts';
import { clock } from '../features/time/clock.ts';
import { time } from '../features/time/index.ts';
import { windowsTime } from '../features/time/windows.ts';
import { windowsClock } from '../features/time/windows-clock.ts';
import { timezone } from '../features/timezone/index.ts';
import { upgradeCertificates } from '../features/upgrade/certificates.ts';
import { upgradeContainerd } from '../features/upgrade/containerd.ts';
import { upgradeContainerdState } from '../features/upgrade/containerd-state.ts';
import { upgradeControlPlane } from '../features/upgrade/control-plane.ts';
import { upgradeDrain } from '../features/upgrade/drain.ts';
import { upgradeKubeadm } from '../features/upgrade/kubeadm.ts';
import { upgradeKubelet } from '../features/upgrade/kubelet.ts';
import { upgradeKubeletSettings } from '../features/upgrade/kubelet-settings.ts';
import { upgradeProof } from '../features/upgrade/proof.ts';
import { upgradeState } from '../features/upgrade/state.ts';
import { users } from '../features/users/index.ts';
import type { FeatureStep, StepsById } from '../step/feature-step.ts';
import { removalsOf } from '../undo/removals/index.ts';

/** The parts of a run, in their order. */
export interface Pipeline {
  readonly host: readonly FeatureStep[];
  readonly kubernetes: readonly FeatureStep[];
  /** Publishes that everything before it succeeded and lasted. */
  readonly conclusion: readonly FeatureStep[];
  readonly afterBootstrap: readonly FeatureStep[];
}

/** It undoes what the other steps did, as far as the document no longer requests it. */
export const removals = removalsOf(() => STEPS_BY_ID);

/** The boot sequence. The order of this list is the only thing that decides the order of steps. */
export const PIPELINE: Pipeline = {
  host: [
    upgradeState, // before anything of an upgrade
    upgradeContainerdState,
    earlyHooks,
    bootHooks,
    hostname,
    hosts, // after the host name, which it makes resolvable
    network,
    timezone,
    selinux, // before files that are written with the labels of its policy
    apparmor,
    time,
    clock,
    proxy,
    certificateAuthorities,
    kernelModules,
    sysctl,
    limits,
    swap,
    disks,
    filesystems,
    mounts,
    groups,
    users,
    kubeadmReset, // before files, which may lie below /etc/kubernetes, where it removes what an earlier attempt left
    removals, // before new files, to make room for them
    directories,
    files,
    archives, // after files, which may provide them
    links,
    activeDirectory, // after files and the clock: it needs resolv.conf and the right time to find the domain
    directoryAddress, // this and the one before use the computer's keys
    directoryLogins,
    services,
    restarts, // after all steps that may require one
    containerd,
    registries, // before images: access is proved before anything is pulled
    images,
    upgradeContainerd, // after images, among which that of a pod's sandbox may be new
  ],
  kubernetes: [
    nodeAddresses, // before what is made of them: the configuration of kubeadm
    pki,
    controlPlaneFiles,
    kubeadmConfig,
    staticPods,
    beforeBootstrapHooks, // may edit what kubeadmConfig and staticPods wrote
    kubeadmImages, // after the hooks, which may provide images too
    kubeadm,
    execBootstrapper, // instead of kubeadm
    upgradeKubeadm, // of a node that was bootstrapped before
    upgradeDrain,
    upgradeKubeletSettings, // after kubeadm, which writes those of the cluster
    upgradeKubelet,
    upgradeCertificates, // after kubeadm, which renews those of the pods that it replaces
    upgradeControlPlane, // after kubeadm, which writes the manifests of another version
    apiServer, // also changes the configuration of a running one
    hardening, // of files that kubeadm wrote; before readiness, which proves that the node works with it
    readiness,
    nodeLabels, // after the node is there
    execReadiness,
    upgradeProof, // after readiness, which proves the rest
  ],
  conclusion: [sentinel], // only after readiness was proved
  afterBootstrap: [afterBootstrapHooks],
};

/**
 * The same for a Windows machine: documents cannot use the steps that are missing here (`platform.ts` of the document). Steps
 * for files, services and Kubernetes are the same as on Linux: the host abstracts paths, permissions and the service
 * manager.
 */
const WINDOWS: Pipeline = {
  host: [
    windowsEarlyHooks,
    windowsHostname, // before the domain, which uses the machine's name
    windowsTime,
    windowsClock,
    windowsProxy,
    windowsCertificateAuthorities,
    kubeadmReset,
    files,
    windowsDomain, // after the clock, which must be right for a join
    services,
    restarts,
  ],
  kubernetes: [
    kubeadmConfig,
    windowsBeforeBootstrapHooks,
    kubeadm,
    kubeletArguments, // its service does not read the file that kubeadm wrote for it
    readiness,
    nodeLabels,
  ],
  conclusion: [sentinel],
  afterBootstrap: [windowsAfterBootstrapHooks],
};

/** The boot sequence of a platform. */
export function pipelineFor(platform: Platform): Pipeline {
  return platform === 'windows' ? WINDOWS : PIPELINE;
}

/** Every step of Linux in order. */
export const ALL_STEPS: readonly FeatureStep[] = stepsFor('all', 'linux');

const OF_WINDOWS = stepsFor('all', 'windows').filter(({ id }) => ALL_STEPS.every((step) => step.id !== id));

/** Every step by its id: those of Linux in order, and those that only Windows has. */
export const STEPS_BY_ID: StepsById = new Map([...ALL_STEPS, ...OF_WINDOWS].map((step) => [step.id, step]));

/** The steps of a run: all of them, or for an image bake those of the host. */
export function stepsFor(scope: 'base' | 'all', platform: Platform): readonly FeatureStep[] {
  const { host, kubernetes, conclusion, afterBootstrap } = pipelineFor(platform);
  return scope === 'base' ? host : [...host, ...kubernetes, ...conclusion, ...afterBootstrap];
}
