import type { Model } from '@machineadm/document/model/index.ts';
import { RESTART_KUBELET } from '../../src/host/windows/services.ts';
import { stepsFor } from '../../src/pipeline/pipeline.ts';
import type { Step } from '../../src/step/index.ts';
import {
  type ApiServer,
  type Authority,
  kubeconfig,
  newAuthority,
  nodeObject,
  startApiServer,
  startHealthz,
} from './api-server.ts';
import { loaded } from './document.ts';
import { domainStep, domainThatAccepts } from './windows-domain.ts';
import { type Recording, type WindowsMachine, windowsMachine } from './windows-machine.ts';

export const TOKEN = 'abcdef.0123456789abcdef';
export const KUBELET_FLAGS = '/var/lib/kubelet/kubeadm-flags.env';
export const SENTINEL = 'C:\\run\\cluster-api\\bootstrap-success.complete';

const IMAGE_BUILDER = {
  composed: 'image-builder images/capi/ansible/windows/roles/kubernetes/templates/RestartKubelet.ps1',
};

/** Machine UUID and start number of the fake machine, as its kubelet reports them. */
const FIRMWARE = '4C4C4544-0042-4D10-8052-B7C04F4E3333';

/** A document for a Windows worker, with a domain to be a member of or without. */
export async function workerModel(
  different: { readonly domain?: false; readonly hostname?: string } = {},
): Promise<Model> {
  const name = different.hostname === undefined ? '' : `  hostname: ${different.hostname}\n`;
  const domain =
    different.domain === false
      ? `host:\n  platform: Windows\n${name}`
      : `host:
  platform: Windows
${name}  activeDirectory:
    domain: corp.example.com
    credentials: {user: joiner, password: {secret: joinPassword}}
`;
  const { model } = await loaded(`secrets:
  joinPassword: {value: Passw0rd-of-the-joiner}
  token: {value: ${TOKEN}}
${domain}kubernetes:
  version: v1.35.2
  role: Worker
  node: {kubelet: {args: [{name: node-labels, value: pool=windows}]}}
  join: {discovery: {token: {token: {secret: token}, endpoint: api.example.com:6443, unsafeSkipCAVerification: true}}}
  ready: {require: NodeReady, timeout: 5m}
`);
  return model;
}

/** The steps of a Windows machine as they are, but for the network that the domain is reached by. */
export function workerSteps(domain: Step = domainStep()): readonly Step[] {
  return stepsFor('all', 'windows').map((step) => (step.id === domain.id ? domain : step));
}

/** A Windows worker and the cluster it joins: a real API server and a real kubelet health endpoint on the loopback. */
export interface Worker extends AsyncDisposable {
  readonly machine: WindowsMachine;
  readonly cluster: ApiServer;
  /** Whether the API server has the Node. */
  registered: boolean;
  ready: boolean;
  /** Whether the kubelet answers that it is healthy. */
  healthy: boolean;
}

export async function windowsWorker(
  different: { readonly recordings?: readonly Recording[]; readonly nssm?: true; readonly systemUuid?: string } = {},
): Promise<Worker> {
  const authority: Authority = newAuthority();
  const healthz = await startHealthz();
  const machine = windowsMachine({ files: { [RESTART_KUBELET]: '# of the image' } });
  const worker: Worker = {
    machine,
    registered: false,
    ready: true,
    get healthy() {
      return healthz.status === 200;
    },
    set healthy(healthy) {
      healthz.status = healthy ? 200 : 500;
    },
    cluster: await startApiServer(authority, (path) => {
      if (!worker.registered || path !== '/api/v1/nodes/win-node-1') return undefined;
      return nodeObject({
        name: 'win-node-1',
        ready: worker.ready ? 'True' : 'False',
        machineID: machine.state.hostname,
        bootID: `${machine.state.bootNumber}`,
        systemUUID: different.systemUuid ?? FIRMWARE,
      });
    }),
    async [Symbol.asyncDispose]() {
      await machine[Symbol.asyncDispose]();
      await worker.cluster[Symbol.asyncDispose]();
      await healthz[Symbol.asyncDispose]();
    },
  };
  if (different.nssm === true) {
    const { kubelet } = machine.state.services;
    if (kubelet !== undefined) kubelet.path = 'C:\\k\\nssm.exe';
  }
  machine.record(
    ...domainThatAccepts(),
    VALID,
    joining(worker, authority, healthz.port),
    restarting(),
    ...(different.recordings ?? []),
  );
  return worker;
}

const VALID: Recording = {
  program: 'kubeadm.exe',
  args: ['config', 'validate', '--config=/run/kubeadm/kubeadm-join-config.yaml.candidate'],
  stdout: 'ok\n',
  from: { composed: 'k/k cmd/kubeadm/app/cmd/config.go' },
};

/** A kubeadm join that ends well: it leaves the kubelet's credential, configuration and arguments, and starts it. */
function joining(worker: Worker, authority: Authority, healthzPort: number): Recording {
  return {
    program: 'kubeadm.exe',
    args: ['join', '--config=/run/kubeadm/kubeadm-join-config.yaml'],
    stdout: [
      '[preflight] Running pre-flight checks',
      '[preflight] Reading configuration from the "kubeadm-config" ConfigMap in namespace "kube-system"...',
      '[kubelet-start] Writing kubelet configuration to file "\\\\var\\\\lib\\\\kubelet\\\\config.yaml"',
      '[kubelet-start] Writing kubelet environment file with flags to file "\\\\var\\\\lib\\\\kubelet\\\\kubeadm-flags.env"',
      '[kubelet-start] Starting the kubelet',
      '[kubelet-check] The kubelet is healthy after 2.0 seconds',
      '[kubelet-start] Waiting for the kubelet to perform the TLS Bootstrap',
      '',
      'This node has joined the cluster:',
      '* Certificate signing request was sent to apiserver and a response was received.',
      '* The Kubelet was informed of the new secure connection details.',
      '',
    ].join('\n'),
    effect: ({ state }) => {
      const client = authority.issue('system:node:win-node-1');
      const { machine } = worker;
      machine.write('/etc/kubernetes/kubelet.conf', kubeconfig(worker.cluster.url, authority.certificate, client));
      machine.write('/etc/kubernetes/pki/ca.crt', authority.certificate);
      machine.write('/var/lib/kubelet/config.yaml', `kind: KubeletConfiguration\nhealthzPort: ${healthzPort}\n`);
      machine.write(KUBELET_FLAGS, 'KUBELET_KUBEADM_ARGS="--node-labels=pool=windows"\n');
      const { kubelet } = state.services;
      if (kubelet !== undefined) Object.assign(kubelet, { state: 'Running', pid: 5000 });
      worker.registered = true;
    },
    from: { composed: 'k/k cmd/kubeadm/app/cmd/join.go and phases/join/kubelet.go, v1.35; the same on every platform' },
  };
}

/** The image's own script: the service is made anew with kubeadm's arguments. */
function restarting(): Recording {
  return {
    program: 'powershell.exe',
    args: ['-NoLogo', '-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', RESTART_KUBELET],
    stdout: 'kubelet service deleted successfully, restarting\r\n[SC] CreateService SUCCESS\r\n',
    effect: ({ state }) => {
      const { kubelet } = state.services;
      if (kubelet === undefined) return;
      Object.assign(kubelet, { state: 'Running', pid: 5004, path: `${kubelet.path} --node-labels=pool=windows` });
    },
    from: IMAGE_BUILDER,
  };
}
