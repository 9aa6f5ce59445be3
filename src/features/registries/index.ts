import { createHash } from 'node:crypto';
import type { RegistryModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { IMAGES_LEFT } from '../../container-runtime/image-failures.ts';
import { pullFailure } from '../../container-runtime/pull-failures.ts';
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

function explained(error: CriError, { host, mirrors, fallback }: RegistryModel, image: string): MachineadmError {
  const { reason, remedy, retryable, text } = pullFailure(error);
  const tried = [...mirrors.map(({ url }) => url), ...(fallback ? [host] : [])];
  return new MachineadmError({
    reason,
    summary: `containerd could not pull ${image}, which proves the registry ${host}`,
    remedy,
    evidence: [
      { source: 'CRI PullImage', text },
      { source: 'containerRuntime.containerd.registries', text: `asked in turn: ${tried.join(', ')}` },
    ],
    retryable,
    // Under kubeadm the same reasons have its exit code.
    exit: 'HostStepFailed',
    cause: error,
  });
}
