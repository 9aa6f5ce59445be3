import type { PathSegment } from '../diagnostics/index.ts';
import { hostPartClaims } from '../host-parts/index.ts';
import type { Model } from '../model/index.ts';
import type { Claim } from '../ownership/claim.ts';
import {
  CONTAINERD_CONFIGURATION,
  ORIGINAL_SUFFIX,
  PREVIOUS_SUFFIX,
  REGISTRIES_DIRECTORY,
  REGISTRY_FILES,
  registryDirectories,
} from '../ownership/paths.ts';
import type { StepId } from '../ownership/step-ids.ts';

type Kind = Claim['kind'];

/** What the steps of the host manage, section by section. */
export function hostClaims(model: Model): readonly Claim[] {
  const { host, containerd } = model;
  return [...hostPartClaims(host, model), ...(containerd === undefined ? [] : containerdClaims(containerd))];
}

function claim(step: StepId, field: readonly PathSegment[], kind: Kind, path: string, names?: RegExp): Claim {
  return names === undefined ? { step, field, path, kind } : { step, field, path, kind, names };
}

/** A claim of each of these paths. */
function claims(step: StepId, field: readonly PathSegment[], kind: Kind, ...paths: readonly string[]): Claim[] {
  return paths.map((path) => claim(step, field, kind, path));
}

function containerdClaims({ registries }: NonNullable<Model['containerd']>): Claim[] {
  const field = ['containerRuntime', 'containerd'];
  const copies = [ORIGINAL_SUFFIX, PREVIOUS_SUFFIX].map((suffix) => `${CONTAINERD_CONFIGURATION}${suffix}`);
  return [
    ...claims('containerd', field, 'file', CONTAINERD_CONFIGURATION, ...copies),
    ...registries.flatMap(({ host }, index) =>
      registryDirectories(host).map((name) => {
        const directory = `${REGISTRIES_DIRECTORY}/${name}`;
        return claim('containerd', [...field, 'registries', index], 'names', directory, REGISTRY_FILES);
      }),
    ),
  ];
}
