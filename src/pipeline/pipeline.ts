import type { Platform } from '@machineadm/document/model.ts';
import { activeDirectory } from '../steps/active-directory/index.ts';
import { apiServer } from '../steps/api-server.ts';
import { apparmor } from '../steps/apparmor.ts';
import { archives } from '../steps/archives/index.ts';
import { bootHooks } from '../steps/boot-hooks.ts';
import { certificateAuthorities } from '../steps/certificate-authorities/index.ts';
import { containerd } from '../steps/containerd/index.ts';
import { controlPlaneFiles } from '../steps/control-plane-files.ts';
import { directories } from '../steps/directories.ts';
import { directoryAddress } from '../steps/directory-address.ts';
import { directoryLogins } from '../steps/directory-logins/index.ts';
import { execBootstrapper } from '../steps/exec-bootstrapper.ts';
import { execReadiness } from '../steps/exec-readiness.ts';
import { files } from '../steps/files.ts';
import { groups } from '../steps/groups.ts';
import { hardening } from '../steps/hardening/index.ts';
import { afterBootstrapHooks, beforeBootstrapHooks, earlyHooks } from '../steps/hooks.ts';
import { hostname } from '../steps/hostname.ts';
import { hosts } from '../steps/hosts.ts';
import { images } from '../steps/images.ts';
import { kernelModules } from '../steps/kernel-modules.ts';
import { kubeadm } from '../steps/kubeadm.ts';
import { kubeadmConfig } from '../steps/kubeadm-config.ts';
import { kubeadmImages } from '../steps/kubeadm-images.ts';
import { kubeadmReset } from '../steps/kubeadm-reset.ts';
import { kubeletArguments } from '../steps/kubelet-arguments.ts';
import { limits } from '../steps/limits.ts';
import { links } from '../steps/links.ts';
import { network } from '../steps/network/index.ts';
import { nodeAddresses } from '../steps/node-addresses.ts';
import { nodeLabels } from '../steps/node-labels.ts';
import { pki } from '../steps/pki.ts';
import { proxy } from '../steps/proxy/index.ts';
import { readiness } from '../steps/readiness.ts';
import { registries } from '../steps/registries.ts';
import { removals } from '../steps/removals.ts';
import { restarts } from '../steps/restarts.ts';
import { selinux } from '../steps/selinux.ts';
import { sentinel } from '../steps/sentinel.ts';
import { services } from '../steps/services.ts';
import { staticPods } from '../steps/static-pods.ts';
import type { Step } from '../steps/step.ts';
import { disks } from '../steps/storage/disks.ts';
import { filesystems } from '../steps/storage/filesystems.ts';
import { mounts } from '../steps/storage/mounts.ts';
import { swap } from '../steps/swap.ts';
import { sysctl } from '../steps/sysctl.ts';
import { clock } from '../steps/time/clock.ts';
import { time } from '../steps/time/index.ts';
import { timezone } from '../steps/timezone.ts';
import { upgradeCertificates } from '../steps/upgrade/certificates.ts';
import { upgradeDrain } from '../steps/upgrade/drain.ts';
import { upgradeKubeadm } from '../steps/upgrade/kubeadm.ts';
import { upgradeKubelet } from '../steps/upgrade/kubelet.ts';
import { upgradeKubeletSettings } from '../steps/upgrade/kubelet-settings.ts';
import { upgradeProof } from '../steps/upgrade/proof.ts';
import { upgradeState } from '../steps/upgrade/state.ts';
import { users } from '../steps/users.ts';
import { windowsCertificateAuthorities } from '../steps/windows/certificate-authorities.ts';
import { windowsClock } from '../steps/windows/clock.ts';
import { windowsAfterBootstrapHooks, windowsBeforeBootstrapHooks, windowsEarlyHooks } from '../steps/windows/hooks.ts';
import { windowsHostname } from '../steps/windows/hostname.ts';
import { windowsProxy } from '../steps/windows/proxy.ts';
import { windowsTime } from '../steps/windows/time.ts';
import { windowsDomain } from '../steps/windows-domain/index.ts';

/** The parts of a run, in their order. */
export interface Pipeline {
  readonly host: readonly Step[];
  readonly kubernetes: readonly Step[];
  /** Publishes that everything before it succeeded and lasted. */
  readonly conclusion: readonly Step[];
  readonly afterBootstrap: readonly Step[];
}

/** The boot sequence. The order of this list is the only thing that decides the order of steps. */
export const PIPELINE: Pipeline = {
  host: [
    upgradeState, // before anything of an upgrade
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
 * The same for a Windows machine: documents cannot use the steps that are missing here (`checks-platform.ts`). Steps
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
export const ALL_STEPS: readonly Step[] = stepsFor('all', 'linux');

/** The steps of a run: all of them, or for an image bake those of the host. */
export function stepsFor(scope: 'base' | 'all', platform: Platform): readonly Step[] {
  const { host, kubernetes, conclusion, afterBootstrap } = pipelineFor(platform);
  return scope === 'base' ? host : [...host, ...kubernetes, ...conclusion, ...afterBootstrap];
}
