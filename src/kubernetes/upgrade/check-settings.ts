import { componentGates } from '@machineadm/document/kubernetes-releases/component-gates.ts';
import { type Component, removedFlag } from '@machineadm/document/kubernetes-releases/flags.ts';
import { kubeadmGate } from '@machineadm/document/kubernetes-releases/kubeadm.ts';
import { includes } from '@machineadm/document/kubernetes-releases/minor.ts';
import { KUBELET_CONFIG, KUBELET_FLAGS_ENVIRONMENT } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { isRecord } from '@machineadm/document/values/shape.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import { foreignYaml } from '@machineadm/document/yaml/foreign-yaml.ts';
import { readManifest } from '@machineadm/kubeadm/api-server/manifest.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { manifestPath } from './kept-state.ts';
import type { UpgradeObstacle } from './obstacle.ts';
import { VERSIONED } from './running-version.ts';

/** Where the arguments of the kubelet that are not kubeadm's are, on Debian and on Red Hat. */
const KUBELET_DEFAULTS = ['/etc/default/kubelet', '/etc/sysconfig/kubelet'];

/** kubeadm wrote them itself, and its upgrade removes them (k/k cmd/kubeadm/app/phases/upgrade/postupgrade.go). */
const OF_KUBEADM: ReadonlySet<string> = new Set(['container-runtime', 'network-plugin', 'pod-infra-container-image']);

/**
 * What the new version no longer takes, of what runs here: a document is checked for its own version, and says nothing of
 * arguments that an administrator, an image or an older document set.
 *
 * @param minor of the version that the node gets
 */
export async function settingObstacles(
  host: QueryHost,
  minor: number,
  configuration: unknown,
): Promise<readonly UpgradeObstacle[]> {
  const found: UpgradeObstacle[] = [];
  for (const component of VERSIONED) {
    const source = await host.readText(manifestPath(component));
    const words = source === undefined ? [] : ((await readManifest(source))?.command ?? []);
    found.push(...argumentObstacles(component, words, minor, manifestPath(component)));
  }
  for (const path of [KUBELET_FLAGS_ENVIRONMENT, ...KUBELET_DEFAULTS]) {
    const words = ((await host.readText(path)) ?? '').split(/[\s"']+/);
    found.push(...argumentObstacles('kubelet', words, minor, path));
  }
  const kubelet = await foreignYaml((await host.readText(KUBELET_CONFIG)) ?? '');
  found.push(...gateObstacles(member(kubelet, 'featureGates'), minor, KUBELET_CONFIG));
  found.push(...kubeadmGateObstacles(member(configuration, 'featureGates'), minor));
  return found;
}

function argumentObstacles(
  component: Component,
  words: readonly string[],
  minor: number,
  where: string,
): readonly UpgradeObstacle[] {
  return words.flatMap((word) => {
    const [, name, value = ''] = /^--([a-z0-9-]+)(?:=(.*))?$/.exec(word) ?? [];
    if (name === undefined) return [];
    if (name === 'feature-gates') return gateObstacles(gatesIn(value), minor, where);
    const gone = removedFlag(component, name, minor);
    if (gone === undefined || (where === KUBELET_FLAGS_ENVIRONMENT && OF_KUBEADM.has(name))) return [];
    return [
      obstacle(
        `${where}: ${component} 1.${minor} no longer has --${name}`,
        `In ${where} and the ConfigMap kubeadm-config: ${gone.remedy}.`,
      ),
    ];
  });
}

function gatesIn(value: string): Readonly<Record<string, boolean>> {
  return Object.fromEntries(value.split(',').map((gate) => [gate.split('=')[0] ?? '', gate.endsWith('=true')]));
}

function gateObstacles(gates: unknown, minor: number, where: string): readonly UpgradeObstacle[] {
  if (!isRecord(gates)) return [];
  const known = componentGates();
  return Object.entries(gates).flatMap(([name, value]) => {
    const gate = known.get(name);
    if (gate === undefined || name === '') return [];
    if (!includes(gate, minor) && (gate.since ?? 0) <= minor) {
      return [
        obstacle(
          `${where}: the feature gate ${name} is gone with Kubernetes 1.${(gate.until ?? minor) + 1}`,
          `Remove it from ${where} and from the cluster's configuration.`,
        ),
      ];
    }
    const locked = gate.lockedTo ?? true;
    if (gate.lockedSince === undefined || gate.lockedSince > minor || value === locked) return [];
    return [
      obstacle(
        `${where}: the feature gate ${name} cannot be ${String(value)} since Kubernetes 1.${gate.lockedSince}`,
        `Remove it from ${where} and from the cluster's configuration.`,
      ),
    ];
  });
}

function kubeadmGateObstacles(gates: unknown, minor: number): readonly UpgradeObstacle[] {
  if (!isRecord(gates)) return [];
  return Object.keys(gates).flatMap((name) => {
    const gate = kubeadmGate(name);
    if (gate === undefined || includes(gate, minor)) return [];
    return [
      obstacle(
        `the ConfigMap kubeadm-config has the feature gate ${name}, which kubeadm 1.${minor} does not know`,
        `Remove it there: kubectl -n kube-system edit configmap kubeadm-config.`,
      ),
    ];
  });
}

function obstacle(what: string, remedy: string): UpgradeObstacle {
  return { reason: 'PreflightFailed', what, remedy };
}
