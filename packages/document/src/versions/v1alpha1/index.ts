import { type PathSegment, withCode } from '../../diagnostics/index.ts';
import { checkHostParts } from '../../host-parts/index.ts';
import { checkContainerd } from '../../sections/containerd/index.ts';
import { checkHardening } from '../../sections/hardening.ts';
import { checkImages } from '../../sections/images.ts';
import { checkKubernetes } from '../../sections/kubernetes/checks.ts';
import { checkIdentity } from '../../sections/kubernetes/checks-identity.ts';
import { checkKubeletFiles } from '../../sections/kubernetes/checks-kubelet-configuration.ts';
import { checkManifests } from '../../sections/kubernetes/control-plane.ts';
import { checkFailurePatterns } from '../../sections/kubernetes/exec.ts';
import type { KubernetesSection } from '../../sections/kubernetes/index.ts';
import { withoutReservedLabels } from '../../sections/kubernetes/node.ts';
import { checkReporting } from '../../sections/reporting.ts';
import { isExpandable, isShellText, variableSources } from '../../sections/variables.ts';
import { API_VERSIONS } from '../api-versions.ts';
import type { ChangeablePart, DocumentVersion } from '../version.ts';
import { toModel } from './convert.ts';
import { entryKeys } from './entry-keys.ts';
import { lint } from './lint.ts';
import { checkPlatform } from './platform.ts';
import { checkSecretNames } from './secret-names.ts';
import { type Sections, sections } from './sections.ts';
import { checkTransport } from './transport.ts';

/** machineadm.dev/v1alpha1. */
export const v1alpha1: DocumentVersion<Sections> = {
  apiVersion: API_VERSIONS[0],
  sections,
  features: [],
  variables: {
    section: 'variables',
    sources: (section) => variableSources(section as Sections['variables']),
    isExpandable,
    isShellText,
  },
  entryKeys,
  keepsNumber,
  check: async (parsed, unprivilegedFrom) => [
    ...withCode('UnknownReference', checkSecretNames(parsed)),
    ...(await checkHostParts(parsed)),
    ...withCode('UnsupportedPlatform', checkPlatform(parsed)),
    ...(parsed.reporting === undefined ? [] : checkReporting(parsed.reporting, parsed.secrets ?? {})),
    ...(parsed.images === undefined ? [] : checkImages(parsed.images)),
    ...checkTransport(parsed, unprivilegedFrom),
    ...(parsed.containerRuntime?.containerd === undefined
      ? []
      : checkContainerd(parsed.containerRuntime.containerd, parsed.kubernetes?.node?.kubelet)),
    ...(parsed.kubernetes === undefined ? [] : checkKubernetes(parsed.kubernetes, parsed.secrets ?? {})),
    ...(parsed.kubernetes === undefined || parsed.kubernetes.bootstrapper?.exec !== undefined
      ? []
      : checkIdentity(parsed.kubernetes, parsed.host?.hostname)),
    ...(parsed.kubernetes === undefined || parsed.kubernetes.bootstrapper?.exec !== undefined
      ? []
      : await checkKubeletFiles(parsed.kubernetes, parsed.host?.files ?? [])),
    ...withCode('InvalidValue', await checkManifests(parsed.kubernetes?.controlPlane)),
    ...withCode('InvalidValue', await checkFailurePatterns(parsed.kubernetes?.bootstrapper?.exec)),
    ...(parsed.hardening === undefined
      ? []
      : checkHardening(parsed.hardening, parsed.kubernetes?.bootstrapper?.exec !== undefined)),
  ],
  lint,
  lasting: ({ kubernetes: section }, version = section?.version, without = []) =>
    section === undefined || version === undefined ? undefined : lastingKubernetes({ ...section, version }, without),
  toModel,
};

/**
 * Tokens expire, so every document has new ones; waits and deadlines change nothing on the machine, and the renewal of
 * certificates nothing of its configuration.
 */
function lastingKubernetes(section: KubernetesSection, without: readonly ChangeablePart[]): unknown {
  const { join: _join, timeouts: _timeouts, ready: _ready, bootstrapper, node: given, ...others } = section;
  const node = withoutReservedLabels(without.includes('kubelet') ? withoutKubelet(given) : given);
  const { bootstrapTokens: _tokens, ...cluster } = section.cluster ?? {};
  const { certificateKey: _key, certificates: _certificates, apiServer, ...rest } = section.controlPlane ?? {};
  const kept = without.includes('controlPlane') ? withoutSettings(rest) : rest;
  const controlPlane = { ...kept, ...lastingApiServer(apiServer, bootstrapper?.exec !== undefined) };
  const { retry: _retry, ...kubeadm } = bootstrapper?.kubeadm ?? {};
  const {
    retry: _execRetry,
    timeout: _timeout,
    successTest: _test,
    failurePatterns: _patterns,
    ...exec
  } = bootstrapper?.exec ?? {};
  return {
    ...others,
    ...(node === undefined ? {} : { node }),
    cluster,
    controlPlane,
    ...(bootstrapper === undefined ? {} : { bootstrapper: { kubeadm, exec } }),
  };
}

/** A document may begin to speak of the kubelet later. */
function withoutKubelet(section: KubernetesSection['node']): KubernetesSection['node'] {
  if (section?.kubelet === undefined) return section;
  const { kubelet: _kubelet, ...others } = section;
  return Object.keys(others).length === 0 ? undefined : others;
}

type ControlPlaneSection = NonNullable<KubernetesSection['controlPlane']>;

/** The same for the static pods that an upgrade can change. */
function withoutSettings(
  section: Partial<ControlPlaneSection>,
): Omit<ControlPlaneSection, 'controllerManager' | 'scheduler'> {
  const { controllerManager: _manager, scheduler: _scheduler, etcd, ...others } = section;
  if (etcd?.local === undefined) return etcd === undefined ? others : { ...others, etcd };
  const { args: _args, env: _env, ...local } = etcd.local;
  return Object.keys(local).length === 0 ? others : { ...others, etcd: { local } };
}

type ApiServerSection = NonNullable<NonNullable<KubernetesSection['controlPlane']>['apiServer']>;

/**
 * What the step api-server can change on a control plane that runs is not lasting: arguments, variables, volumes and
 * files. Where nothing else is said, nothing is: a document may begin to speak of it later.
 */
function lastingApiServer(
  section: ApiServerSection | undefined,
  ownProgram: boolean,
): { readonly apiServer?: ApiServerSection } {
  if (section === undefined) return {};
  if (ownProgram) return { apiServer: section };
  return section.certSANs === undefined ? {} : { apiServer: { certSANs: section.certSANs } };
}

/** Parts of the document in the words of another program, whose numbers are handed to it as they are written. */
const OTHERS_WORDS = [
  ['host', 'sysctl'],
  ['containerRuntime', 'containerd', 'settings'],
  ['containerRuntime', 'containerd', 'runtimes', '*', 'options'],
  ['kubernetes', 'node', 'kubelet', 'config'],
  ['kubernetes', 'addons', 'proxy', 'config'],
  ['kubernetes', 'bootstrapper', 'kubeadm', 'patches', '*', 'patch'],
  ['kubernetes', 'bootstrapper', 'kubeadm', 'extraDocuments'],
  ['kubernetes', 'controlPlane', 'apiServer', 'admission', 'config', '*', 'configuration'],
];

function keepsNumber(path: readonly PathSegment[]): boolean {
  return OTHERS_WORDS.some(
    (parts) => parts.length < path.length && parts.every((part, index) => part === '*' || part === path[index]),
  );
}
