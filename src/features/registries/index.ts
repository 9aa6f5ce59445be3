import { createHash } from 'node:crypto';
import { type ErrorDetails, MachineadmError } from '@machineadm/document/errors.ts';
import type { RegistryModel } from '@machineadm/document/model.ts';
import type { Reason } from '@machineadm/document/reasons.ts';
import { IMAGES_LEFT } from '../../container-runtime/image-failures.ts';
import { CriError } from '../../host/cri/client.ts';
import type { Host } from '../../host/seam/host.ts';
import { runtimeSocket } from '../../kubernetes/runtime-socket.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, Execution } from '../../step/index.ts';

export interface RegistriesDesired {
  readonly socket: string;
  readonly proofs: readonly { readonly registry: RegistryModel; readonly image: string }[];
}

export interface RegistriesActual {
  /** By change id: what was proven last. */
  readonly proven: ReadonlyMap<string, unknown>;
}

export interface RegistryProof {
  readonly registry: RegistryModel;
  readonly image: string;
  readonly socket: string;
  readonly mark: string;
}

/**
 * Proves registries by pulling one image each through containerd, where the document names one (`verify`): this uses
 * the same mirrors, certificates and credentials as the kubelet (`ctr` uses none of them, containerd/containerd#6438).
 * containerd reports problems of a hosts.toml only in its log and falls back to the registry itself. Done once for each
 * configuration of a registry.
 */
export const registries: FeatureStep<RegistriesDesired, RegistriesActual, RegistryProof> = {
  id: 'registries',
  section: 'containerRuntime.containerd.registries',
  isRequested: STAYS,
  leaves: IMAGES_LEFT,
  programs: { needs: ['containerd'] },

  desired(model, facts) {
    const proofs = (model.containerd?.registries ?? []).flatMap((registry) =>
      registry.verify === undefined ? [] : [{ registry, image: registry.verify }],
    );
    return proofs.length === 0 ? undefined : { socket: runtimeSocket(model, facts), proofs };
  },

  async inspect(_host, _desired, record) {
    return { proven: record.notes };
  },

  plan({ socket, proofs }, { proven }) {
    return proofs.flatMap(({ registry, image }): readonly Change<RegistryProof>[] => {
      const mark = markOf(registry);
      const id = `registries/${registry.host}`;
      if (proven.get(id) === mark) return [];
      return [
        {
          id,
          summary: `pull ${image}, to prove where the images of ${registry.host} come from`,
          action: 'run',
          // The network of a bake is not the machine's.
          scope: 'node',
          ineffective: 'ImagePullFailed',
          payload: { registry, image, socket, mark },
        },
      ];
    });
  },

  apply: prove,
};

async function prove(host: Host, { payload }: Change<RegistryProof>, execution: Execution): Promise<void> {
  const { registry, image, socket, mark } = payload;
  execution.waitingFor(`the pull of ${image}`);
  try {
    await host.pullImage(socket, image, execution.signal);
  } catch (error) {
    throw error instanceof CriError ? explained(error, registry, image) : error;
  } finally {
    execution.waitingFor(undefined);
  }
  execution.remember(mark);
}

/** The proven configuration of a registry, without its secrets, which print as nothing. */
function markOf(registry: RegistryModel): string {
  return createHash('sha256').update(JSON.stringify(registry)).digest('hex');
}

type Cause = readonly [pattern: RegExp, reason: Reason, remedy: string, retryable: boolean];

/** Error texts of Go's crypto/x509, net/http and net, and of containerd's resolver and authorizer. */
const CAUSES: readonly Cause[] = [
  [
    /certificate signed by unknown authority|unable to (?:read|load) CA cert/,
    'ImageRegistryTLSUntrusted',
    'Give the CA of that server as `ca` beside its URL; one on the registry itself does not count for its mirrors.',
    false,
  ],
  [
    /x509: |tls: /,
    'ImageRegistryTLSUntrusted',
    'The certificate of that server must be valid now and name the host of the URL; `openssl s_client` shows it.',
    false,
  ],
  [
    /failed to fetch \w+ token/,
    'ImagePullUnauthorized',
    'That server hands out tokens. containerd before 2.1 does not show it the credentials of the document (containerd/containerd#11092): use a registry that takes basic authentication, or credentials of pods or of the kubelet; for a newer one correct them.',
    false,
  ],
  [
    /401 Unauthorized|403 Forbidden|unauthorized|authorization failed|access denied|no basic auth credentials/i,
    'ImagePullUnauthorized',
    'Correct the credentials or headers of that server; those of a mirror belong beside the URL of the mirror.',
    false,
  ],
  [
    /server gave HTTP response to HTTPS client/,
    'ImageRegistryPlainHTTP',
    'That server speaks http: write its URL so.',
    false,
  ],
  [
    /no such host|server misbehaving|Temporary failure in name resolution/,
    'ImagePullDNSFailure',
    'The name of that server does not resolve here: correct it, or the DNS of this machine.',
    true,
  ],
  [
    /429 Too Many Requests|toomanyrequests/i,
    'ImagePullRateLimited',
    'The registry limits requests: wait, or use credentials or a mirror.',
    true,
  ],
  [
    /connection refused|i\/o timeout|no route to host|network is unreachable|connection reset|TLS handshake timeout|deadline exceeded|EOF/i,
    'ImageRegistryUnreachable',
    'That server does not answer from here: look at its address, the route, a firewall and the proxy.',
    true,
  ],
  [
    /not found|404 Not Found|manifest unknown/i,
    'ImageNotFound',
    'No mirror or registry has that image: name one that the mirror has; a mirror below a path may need overridePath.',
    false,
  ],
];

function explained(error: CriError, { host, mirrors, fallback }: RegistryModel, image: string): MachineadmError {
  const told = error.evidence[0]?.text ?? error.message;
  const [, reason, remedy, retryable] = CAUSES.find(([pattern]) => pattern.test(told)) ?? [
    /$/,
    'ImagePullFailed' as const,
    'Read the evidence, and `journalctl -u containerd` for a hosts.toml that it could not read.',
    true,
  ];
  const asked = [...mirrors.map(({ url }) => url), ...(fallback ? [host] : [])];
  const details: ErrorDetails = {
    reason,
    summary: `containerd could not pull ${image}, which proves the registry ${host}`,
    remedy,
    evidence: [
      { source: 'CRI PullImage', text: told },
      { source: 'containerRuntime.containerd.registries', text: `asked in turn: ${asked.join(', ')}` },
    ],
    retryable,
    // Under kubeadm the same reasons have its exit code.
    exit: 'HostStepFailed',
    cause: error,
  };
  return new MachineadmError(details);
}
