import type * as z from 'zod';
import { milliseconds } from '../../fields/convert-values.ts';
import { choice, field, object } from '../../fields/field.ts';
import { duration } from '../../fields/types.ts';

const DEFAULT_OVERALL_MS = 30 * 60_000;
const DEFAULT_READY_TIMEOUT_MS = 5 * 60_000;

/** undefined leaves kubeadm's own default, but `overallMs`, which is ours. */
export interface TimeoutsModel {
  readonly controlPlaneMs: number | undefined;
  readonly kubeletMs: number | undefined;
  readonly apiMs: number | undefined;
  readonly etcdMs: number | undefined;
  readonly tlsBootstrapMs: number | undefined;
  readonly discoveryMs: number | undefined;
  /** Deadline of the whole run. */
  readonly overallMs: number;
}

export interface ReadyModel {
  readonly require: 'KubeletHealthy' | 'NodeRegistered' | 'NodeReady';
  readonly timeoutMs: number;
  /** For a control plane: whether the control-plane endpoint must lead to it. */
  readonly endpoint: 'Required' | 'Later';
}

export const timeouts = object({
  controlPlane: field(duration, 'How long to wait for the components of the control plane.', {
    absent: 'the default of kubeadm, 4m',
    example: '6m',
  }),
  kubelet: field(duration, 'How long to wait for the kubelet. Needs kubeadm 1.31.', {
    absent: 'the default of kubeadm, 4m',
    example: '6m',
  }),
  api: field(duration, 'How long one request to the API server may be retried. Needs kubeadm 1.31.', {
    absent: 'the default of kubeadm, 1m',
    example: '2m',
  }),
  etcd: field(duration, 'How long one request to etcd may be retried. Needs kubeadm 1.32.', {
    absent: 'the default of kubeadm, 2m',
    example: '4m',
  }),
  tlsBootstrap: field(duration, 'How long to wait for the certificate of the kubelet. Needs kubeadm 1.31.', {
    absent: 'the default of kubeadm, 5m',
    example: '10m',
  }),
  discovery: field(duration, 'How long discovery may take.', { absent: 'the default of kubeadm, 5m', example: '10m' }),
  overall: field(duration, 'How long the whole run may take.', { default: '30m', example: '20m' }),
});

export const ready = object({
  require: field(
    choice({
      KubeletHealthy: 'The health endpoint of the kubelet answers.',
      NodeRegistered: 'The Node is in the API server.',
      NodeReady: 'The Node has the condition Ready, which needs a network plug-in.',
      Command: 'The successTest of bootstrapper.exec ends with status 0.',
    }),
    'The proof: the health endpoint of the kubelet, the Node in the API server, the Node with condition Ready, or the successTest of bootstrapper.exec.',
    {
      absent: 'NodeRegistered; with bootstrapper.exec its successTest, or else KubeletHealthy',
      example: 'NodeReady',
    },
  ),
  timeout: field(duration, 'How long to wait for the proof.', { default: '5m', example: '10m' }),
  endpoint: field(
    choice({
      Required: 'The endpoint must lead to this cluster.',
      Later: 'A run succeeds without it and warns.',
    }),
    'Whether the control-plane endpoint must lead to this control plane: its name resolves, it accepts connections, its certificate is signed by the CA of the cluster, and this cluster answers. For control planes.',
    {
      default: 'Required',
      example: 'Later',
      changes: 'nothing; with Later, a load balancer may be set up after the first control plane',
    },
  ),
});

export function toTimeouts(section: z.infer<typeof timeouts> | undefined): TimeoutsModel {
  return {
    controlPlaneMs: milliseconds(section?.controlPlane),
    kubeletMs: milliseconds(section?.kubelet),
    apiMs: milliseconds(section?.api),
    etcdMs: milliseconds(section?.etcd),
    tlsBootstrapMs: milliseconds(section?.tlsBootstrap),
    discoveryMs: milliseconds(section?.discovery),
    overallMs: milliseconds(section?.overall) ?? DEFAULT_OVERALL_MS,
  };
}

export function toReady(section: z.infer<typeof ready> | undefined): ReadyModel {
  const { require, timeout, endpoint } = section ?? {};
  return {
    // `Command` is for a program of one's own only (`ExecModel.proof`).
    require: require === undefined || require === 'Command' ? 'NodeRegistered' : require,
    timeoutMs: milliseconds(timeout) ?? DEFAULT_READY_TIMEOUT_MS,
    endpoint: endpoint ?? 'Required',
  };
}
