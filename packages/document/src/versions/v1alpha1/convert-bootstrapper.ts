import type { ExecModel, KubeadmModel, RetryModel } from '../../model.ts';
import type { BootstrapperSection } from './bootstrapper.ts';
import { milliseconds } from './convert-values.ts';

const DEFAULT_ATTEMPTS = 3;
const DEFAULT_BACKOFF_MS = 10_000;
const DEFAULT_EXEC_TIMEOUT_MS = 20 * 60_000;

type KubeadmSection = BootstrapperSection['kubeadm'];
type ExecSection = BootstrapperSection['exec'];
type Configuration = Readonly<Record<string, unknown>>;

export function toKubeadm(section: KubeadmSection): KubeadmModel {
  const patches = section?.patches;
  return {
    verbosity: section?.verbosity,
    skipPhases: section?.skipPhases ?? [],
    ignorePreflightErrors: section?.ignorePreflightErrors ?? [],
    patchesDirectory: patches === undefined || Array.isArray(patches) ? undefined : patches.directory,
    patches: Array.isArray(patches)
      ? patches.map(({ target, type, patch }) => ({ target, type: type ?? 'strategic', patch }))
      : [],
    retry: toRetry(section?.retry),
  };
}

/**
 * What `extraDocuments` say of the kubelet and of kube-proxy: the same as `node.kubelet.config` and
 * `addons.proxy.config`, so that they become one document each (kubeadm refuses a kind that comes twice).
 */
export function extraConfiguration(section: KubeadmSection): {
  readonly kubelet: Configuration;
  readonly proxy: Configuration;
} {
  const of = (wanted: 'KubeletConfiguration' | 'KubeProxyConfiguration'): Configuration => {
    const {
      apiVersion: _apiVersion,
      kind: _kind,
      ...config
    } = section?.extraDocuments?.find(({ kind }) => kind === wanted) ?? {};
    return config;
  };
  return { kubelet: of('KubeletConfiguration'), proxy: of('KubeProxyConfiguration') };
}

/** @param require `kubernetes.ready.require`, which says what proves the success */
export function toExec(section: ExecSection, require: string | undefined): ExecModel | undefined {
  if (section === undefined) return undefined;
  const byDefault = section.successTest === undefined ? 'KubeletHealthy' : 'Command';
  return {
    command: section.command,
    args: section.args ?? [],
    env: section.env ?? [],
    timeoutMs: milliseconds(section.timeout) ?? DEFAULT_EXEC_TIMEOUT_MS,
    proof: require === 'Command' || require === 'KubeletHealthy' ? require : byDefault,
    successTest: section.successTest?.command,
    failurePatterns: (section.failurePatterns ?? []).map(({ pattern, reason, remedy, retryable }) => ({
      pattern,
      reason,
      remedy,
      retryable: retryable ?? false,
    })),
    reset: section.reset?.command,
    retry: toRetry(section.retry),
  };
}

function toRetry(section: NonNullable<KubeadmSection>['retry']): RetryModel {
  return {
    attempts: section?.attempts ?? DEFAULT_ATTEMPTS,
    backoffMs: milliseconds(section?.backoff) ?? DEFAULT_BACKOFF_MS,
  };
}
