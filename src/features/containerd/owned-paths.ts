import type { TomlTable } from '@machineadm/document/model/index.ts';
import { REGISTRY_FILES, registryDirectories } from '@machineadm/document/ownership/paths.ts';
import { stringAt } from '../../container-runtime/toml-tree.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { OwnedPath } from '../../step/index.ts';
import { CONFIGURATION_PATH, registryTable } from './configuration.ts';
import { parseToml } from './found.ts';
import type { ContainerdDesired } from './inspect.ts';

/** The registry directories in the configuration of this machine, or in the settings of the document. */
export async function ownedPaths(host: QueryHost, { model }: ContainerdDesired): Promise<readonly OwnedPath[]> {
  if (model.registries.length === 0) return [];
  const directory = configPathOf(model.settings) ?? configPathOf(await currentTree(host));
  if (directory === undefined) return [];
  return model.registries.flatMap((registry, index) =>
    registryDirectories(registry.host).map((name) => ({
      field: ['containerRuntime', 'containerd', 'registries', index],
      path: `${directory}/${name}`,
      kind: 'names' as const,
      names: REGISTRY_FILES,
    })),
  );
}

function configPathOf(tree: TomlTable): string | undefined {
  return stringAt(registryTable(tree), ['config_path'])?.split(':')[0];
}

/** `inspect` reports a file that is not TOML. */
async function currentTree(host: QueryHost): Promise<TomlTable> {
  const text = await host.readText(CONFIGURATION_PATH);
  const parsed = text === undefined ? undefined : await parseToml(text);
  return parsed !== undefined && 'tree' in parsed ? parsed.tree : {};
}
