import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  KUBEADM_CONFIG_MODE,
  KUBEADM_INIT_CONFIG,
  KUBEADM_JOIN_CONFIG,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { Version } from '@machineadm/document/text/program-version.ts';
import { type RenderedKubeadm, type RenderInput, renderKubeadm } from '@machineadm/kubeadm/index.ts';
import type { KubeadmCommand } from '@machineadm/kubeadm/output.ts';
import type { Host, NewFile, QueryHost } from '../../host/seam/host.ts';
import { resolveSecrets } from '../secrets.ts';

export interface KubeadmConfigInput {
  readonly kubernetes: KubernetesModel;
  readonly kubeadm: Version;
  readonly cgroupDriver: 'systemd' | 'cgroupfs' | undefined;
}

/** A file for kubeadm, and the same text without secrets. */
export interface KubeadmFile {
  readonly file: NewFile;
  readonly shown: string;
}

const REDACTED = '[redacted]';

export function kubeadmConfigPath(command: KubeadmCommand): string {
  return command === 'init' ? KUBEADM_INIT_CONFIG : KUBEADM_JOIN_CONFIG;
}

/** Renders with every secret redacted: for display, and for parts that depend on no secret. Pure. */
export function renderRedacted(input: KubeadmConfigInput): RenderedKubeadm {
  return render(input, () => REDACTED);
}

/**
 * Renders with the values of secrets; undefined when resolving one of them has side effects, which a read-only host
 * must not cause. Throws `SecretUnavailable`, and the errors of `renderKubeadm`.
 */
export async function kubeadmFiles(host: Host, input: KubeadmConfigInput): Promise<readonly KubeadmFile[]>;
export async function kubeadmFiles(
  host: QueryHost,
  input: KubeadmConfigInput,
): Promise<readonly KubeadmFile[] | undefined>;
export async function kubeadmFiles(
  host: QueryHost,
  input: KubeadmConfigInput,
): Promise<readonly KubeadmFile[] | undefined> {
  const { wanted, shown } = renderCollecting(input);
  const secrets = await resolveSecrets(host, wanted);
  if (secrets === undefined) return undefined;
  const rendered = render(input, secrets);
  return [
    ...rendered.files.map(({ path, content, mode }, index) => ({
      file: { path, content, mode },
      shown: shown.files[index]?.content ?? '',
    })),
    // Written last: all files that it refers to exist before it.
    {
      file: { path: kubeadmConfigPath(rendered.command), content: rendered.text, mode: KUBEADM_CONFIG_MODE },
      shown: shown.text,
    },
  ];
}

/** The secrets of kubeadm's files; none where the version cannot express the document. */
export function kubeadmSecrets(input: KubeadmConfigInput): readonly SecretValue[] {
  try {
    return renderCollecting(input).wanted;
  } catch (error) {
    if (error instanceof MachineadmError) return [];
    throw error;
  }
}

function renderCollecting(input: KubeadmConfigInput) {
  const wanted: SecretValue[] = [];
  const shown = render(input, (value) => {
    wanted.push(value);
    return REDACTED;
  });
  return { wanted, shown };
}

function render(input: KubeadmConfigInput, secrets: RenderInput['secrets']): RenderedKubeadm {
  const { kubernetes, kubeadm, cgroupDriver } = input;
  return renderKubeadm({ kubernetes, kubeadm, cgroupDriver, secrets });
}
