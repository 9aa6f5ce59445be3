import type { JoinModel, KubernetesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { DEFAULT_CA_CERTIFICATE } from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { omitEmpty, omitUndefined } from '@machineadm/document/values/defined.ts';
import { bootstrapTokens } from './bootstrap-tokens.ts';
import { clusterConfiguration } from './cluster.ts';
import { discoveryFields, discoveryFiles } from './discovery.ts';
import { type Fields, goDuration, listOrNothing } from './fields.ts';
import { kubeletConfiguration, kubeProxyConfiguration } from './kubelet.ts';
import { localAPIEndpoint, nodeRegistration, timeouts } from './node.ts';
import { type Patches, patches, type RenderedFile } from './patches.ts';
import { phasesToSkip } from './phases.ts';
import { type Problem, Problems } from './problems.ts';
import { type KubeadmTarget, kubeadmTarget } from './version.ts';
import { writeYaml } from './yaml.ts';

export type { RenderedFile } from './patches.ts';
export { type KubeadmConfigVersion, kubeadmConfigVersion } from './version.ts';

export interface RenderInput {
  readonly kubernetes: KubernetesModel;
  /** The kubeadm binary found: it decides what can be said. */
  readonly kubeadm: Version;
  /** The text of a secret; `[redacted]` where the result is only shown. */
  readonly secrets: (value: SecretValue) => string;
  /** The node's name where the document gives none; undefined leaves it to kubeadm. */
  readonly nodeName?: string | undefined;
  /** containerd's driver; undefined where it is not known or not ours. */
  readonly cgroupDriver?: 'systemd' | 'cgroupfs' | undefined;
}

export interface RenderedKubeadm {
  readonly command: 'init' | 'join';
  /** A multi-document YAML file; the same input gives the same bytes. Holds what `secrets` returned. */
  readonly text: string;
  /** The same as objects, in the order of the text. */
  readonly documents: readonly object[];
  /** Arguments beside `--config`; never a secret. */
  readonly flags: readonly string[];
  /** Files that kubeadm reads beside its configuration. */
  readonly files: readonly RenderedFile[];
}

/**
 * Turns our model into what one kubeadm binary understands. Throws `KubeadmUnsupported`, and one `NotExpressible` that
 * lists every field which this kubeadm has no words for: nothing asked for is lost silently. What belongs to the whole
 * cluster (`kubernetes.cluster`, components, addons) is rendered for init only: a joining machine reads it from the
 * cluster.
 */
export function renderKubeadm(input: RenderInput): RenderedKubeadm {
  const problems = new Problems();
  const rendered = render(input, problems);
  problems.throwIfAny(kubeadmTarget(input.kubeadm));
  return rendered;
}

/** The fields that this kubeadm has no words for; none: `renderKubeadm` does not throw `NotExpressible`. */
export function renderingProblems(input: RenderInput): readonly Problem[] {
  const problems = new Problems();
  render(input, problems);
  return problems.found;
}

function render(input: RenderInput, problems: Problems): RenderedKubeadm {
  const target = kubeadmTarget(input.kubeadm);
  const command = input.kubernetes.role === 'InitControlPlane' ? 'init' : 'join';
  const skipped = phasesToSkip(input.kubernetes, command, target, problems);
  const patching = patches(input.kubernetes, command, target, problems);
  const run: Run = { ...input, target, problems, skipped, patching };

  const documents = command === 'init' ? initDocuments(run) : [joinConfiguration(run)];
  const join = input.kubernetes.join;
  const discovery = join === undefined ? [] : discoveryFiles(join.discovery, input.secrets, target, problems);
  const files = [...patching.files, ...discovery];
  return { command, text: writeYaml(documents), documents, flags: flags(run, command), files };
}

interface Run extends RenderInput {
  readonly target: KubeadmTarget;
  readonly problems: Problems;
  readonly skipped: readonly string[];
  readonly patching: Patches;
}

function initDocuments(run: Run): readonly Fields[] {
  const { kubernetes, target, problems } = run;
  const kubelet = kubeletConfiguration(kubernetes, run.cgroupDriver);
  const kubeProxy = kubeProxyConfiguration(kubernetes);
  return [
    clusterConfiguration(kubernetes, target, problems),
    omitUndefined({
      apiVersion: `kubeadm.k8s.io/${target.configVersion}`,
      kind: 'InitConfiguration',
      bootstrapTokens: listOrNothing(bootstrapTokens(kubernetes.cluster.bootstrapTokens, run.secrets, problems)),
      nodeRegistration: registration(run),
      localAPIEndpoint: localAPIEndpoint(kubernetes),
      certificateKey: certificateKey(run),
      ...fieldsOfBothCommands(run),
    }),
    ...(kubelet === undefined ? [] : [kubelet]),
    ...(kubeProxy === undefined ? [] : [kubeProxy]),
  ];
}

function joinConfiguration(run: Run): Fields {
  const { kubernetes, target } = run;
  const join = kubernetes.join;
  if (join === undefined) {
    throw new MachineadmError({
      reason: 'DocumentInvalid',
      summary: `kubernetes.join is missing: a machine with the role ${kubernetes.role} must be able to find its cluster.`,
      remedy: 'Add kubernetes.join.discovery with the token, the endpoint and the hashes of the CA.',
    });
  }
  return omitUndefined({
    apiVersion: `kubeadm.k8s.io/${target.configVersion}`,
    kind: 'JoinConfiguration',
    nodeRegistration: registration(run),
    caCertPath: join.caCertPath === DEFAULT_CA_CERTIFICATE ? undefined : join.caCertPath,
    discovery: discovery(run, join),
    // Its presence is what makes this a join of a control plane.
    controlPlane:
      kubernetes.role === 'JoinControlPlane'
        ? omitUndefined({ localAPIEndpoint: localAPIEndpoint(kubernetes), certificateKey: certificateKey(run) })
        : undefined,
    ...fieldsOfBothCommands(run),
  });
}

/** v1beta2 has neither skipPhases nor patches (k/k#101923, k/k#103063): flags say it there. */
function fieldsOfBothCommands(run: Run): Fields {
  const inFile = run.target.configVersion !== 'v1beta2';
  return {
    skipPhases: inFile ? listOrNothing(run.skipped) : undefined,
    patches: inFile && run.patching.directory !== undefined ? { directory: run.patching.directory } : undefined,
    timeouts: timeouts(run.kubernetes, run.target, run.problems),
  };
}

function registration(run: Run): Fields | undefined {
  const name = run.kubernetes.node.name ?? run.nodeName;
  return omitEmpty(nodeRegistration(run.kubernetes, name, run.target, run.problems));
}

function discovery(run: Run, join: JoinModel): Fields {
  const timeout = run.kubernetes.timeouts.discoveryMs;
  return omitUndefined({
    ...discoveryFields(join.discovery, run.secrets),
    tlsBootstrapToken: join.tlsBootstrapToken === undefined ? undefined : run.secrets(join.tlsBootstrapToken),
    timeout: run.target.configVersion !== 'v1beta4' && timeout !== undefined ? goDuration(timeout) : undefined,
  });
}

function certificateKey(run: Run): string | undefined {
  const key = run.kubernetes.controlPlane.certificateKey;
  return key === undefined ? undefined : run.secrets(key);
}

/** kubeadm's verbosity from which bodies of requests, Secrets among them, are printed is 8; 5 is the last useful one. */
const HIGHEST_VERBOSITY = 5;

/** kubeadm allows these beside `--config` (k/k cmd/kubeadm/app/apis/kubeadm/validation, `ValidateMixedArguments`). */
function flags(run: Run, command: 'init' | 'join'): readonly string[] {
  const { kubernetes, target, skipped, patching } = run;
  const given: string[] = [];
  const verbosity = kubernetes.kubeadm.verbosity;
  if (verbosity !== undefined) given.push(`--v=${Math.min(verbosity, HIGHEST_VERBOSITY)}`);
  if (command === 'init') {
    // init prints a live token and, with --upload-certs, the certificate key.
    given.push('--skip-token-print', '--skip-certificate-key-print');
    if (kubernetes.controlPlane.certificateKey !== undefined) given.push('--upload-certs');
  }
  if (target.configVersion === 'v1beta2') {
    if (skipped.length > 0) given.push(`--skip-phases=${skipped.join(',')}`);
    if (patching.directory !== undefined) given.push(`--experimental-patches=${patching.directory}`);
  }
  return given;
}
