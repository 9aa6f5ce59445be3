import type { TopicEntry } from './entry.ts';

/**
 * What the service manager knows of kubelet and containerd (`unit-lines.ts`). A unit that cannot run explains more than any
 * line of a log, so these lie above the causes that logs name; a unit that just ends with an error is explained by its log.
 */
export const UNITS: readonly TopicEntry[] = [
  unit('unit-kubelet-masked', 'KubeletServiceMissing', 127, /^kubelet(?:\.service)?: masked$/, {
    remedy: 'Unmask and start it: `systemctl unmask kubelet && systemctl start kubelet`; then provision again.',
    example: 'kubelet.service: masked',
    retryable: false,
  }),
  unit('unit-kubelet-not-loadable', 'KubeletServiceMissing', 127, /^kubelet\.service: its unit cannot be loaded /, {
    remedy: 'Correct the unit that `systemctl status kubelet` shows, then run `systemctl daemon-reload`.',
    example: 'kubelet.service: its unit cannot be loaded (bad-setting)',
    retryable: false,
  }),
  {
    ...unit('unit-kubelet-missing', 'KubeletServiceMissing', 116, /^kubelet(?:\.service)?: not installed$/, {
      place: 'kubelet',
      remedy: "Install the kubelet's unit with its kubeadm drop-in, then run `systemctl daemon-reload`.",
      example: 'kubelet.service: not installed',
      retryable: false,
    }),
    // A kubelet that logs was started in another way.
    circumstantial: true,
    // Where nothing waited for the kubelet it is missed by nobody: something else may start it.
    confirmedBy: [{ source: 'kubeadm', pattern: /^\[(?:kubelet-check|wait-control-plane|kubelet-wait-bootstrap)\]/ }],
  },
  unit(
    'unit-kubelet-absent',
    'KubeletNotInstalled',
    129,
    /^kubelet(?:\.service)?: cannot be executed: \S+ does not exist$/,
    {
      place: 'filesystem',
      remedy: 'Install the kubelet at the path that the evidence names, then provision again.',
      example: 'kubelet.service: cannot be executed: /usr/bin/kubelet does not exist',
      retryable: false,
    },
  ),
  unit(
    'unit-not-executable',
    'ProgramNotExecutable',
    128,
    /^(?:kubelet|containerd|crio|cri-docker)(?:\.service)?: cannot be executed: (?!\S+ does not exist$)/,
    {
      place: 'filesystem',
      remedy: 'Install the program that the evidence names again, for the architecture of this machine.',
      example: 'kubelet.service: cannot be executed: /usr/bin/kubelet is truncated',
      retryable: false,
    },
  ),
  unit(
    'unit-kubelet-drop-in',
    'KubeletDropInMissing',
    127,
    /^kubelet(?:\.service)?: starts without kubeadm's drop-in: /,
    {
      remedy:
        'Install /usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf of the kubeadm package, run `systemctl daemon-reload`, then provision again.',
      example: "kubelet.service: starts without kubeadm's drop-in: /usr/bin/kubelet",
      retryable: false,
      cleanup: 'reset',
    },
  ),
  unit(
    'unit-out-of-memory',
    'OutOfMemory',
    127,
    /^(?:kubelet|containerd|crio|cri-docker)(?:\.service)?: killed for lack of memory/,
    {
      place: 'kernel',
      remedy:
        'Raise the memory limit of the unit that the evidence names (MemoryMax), or give the machine more memory.',
      example: 'kubelet.service: killed for lack of memory (MemoryMax=16M), 4 restarts',
      retryable: false,
      cleanup: 'reset',
    },
  ),
  unit('unit-kubelet-killed', 'KubeletKilled', 126, /^kubelet(?:\.service)?: killed by /, {
    remedy:
      'Find what kills the kubelet (a watchdog, a security agent, an administrator) and stop it, then provision again.',
    example: 'kubelet.service: killed by SIGKILL 14 times since the run began',
    retryable: true,
    cleanup: 'reset',
  }),
  unit(
    'unit-containerd-killed',
    'ContainerRuntimeKilled',
    126,
    /^(?:containerd|crio|cri-docker)(?:\.service)?: killed by /,
    {
      remedy:
        'Find what kills the container runtime (a watchdog, a security agent, an administrator) and stop it, then provision again.',
      example: 'containerd.service: killed by SIGKILL 14 times since the run began',
      retryable: true,
      cleanup: 'none',
    },
  ),
  unit('unit-kubelet-stopped', 'KubeletStopped', 112, /^kubelet(?:\.service)?: stopped \(/, {
    remedy: 'Run machineadm provision: it starts the kubelet. If it stops again, find out what stops it.',
    example: 'kubelet.service: stopped (inactive)',
    retryable: true,
  }),
  unit(
    'unit-containerd-stopped',
    'ContainerRuntimeNotRunning',
    112,
    /^(?:containerd|crio|cri-docker)(?:\.service)?: (?:stopped \(|masked$)/,
    {
      remedy:
        'Unmask and start the service that the evidence names (`systemctl unmask containerd`, `systemctl start containerd`), then provision again.',
      example: 'containerd.service: stopped (inactive)',
      retryable: true,
    },
  ),
  unit(
    'unit-static-pod-memory',
    'OutOfMemory',
    126,
    /^(?:etcd|kube-[a-z-]+) ended \d+ times, last for lack of memory/,
    {
      place: 'kernel',
      remedy: "Give the machine more memory, or raise the limit in the component's patch.",
      example: 'kube-apiserver ended 4 times, last for lack of memory (OOMKilled)',
      retryable: false,
      cleanup: 'reset',
    },
  ),
  {
    ...unit(
      'unit-static-pod-not-started',
      'OCIRuntimeCreateFailed',
      72,
      /^(?:etcd|kube-[a-z-]+) ended \d+ times, last because it could not be started/,
      {
        remedy:
          'Read the message of runc (or crun) in the evidence: a limit of processes or memory, a mount source that is missing, a denied capability, AppArmor, seccomp or SELinux, or a kernel that is too old.',
        example: 'etcd ended 4 times, last because it could not be started (StartError)',
        retryable: false,
        cleanup: 'reset',
      },
    ),
    kind: 'generic',
  },
  unit('unit-static-pod-killed', 'StaticPodCrashLoop', 80, /^(?:etcd|kube-[a-z-]+) ended \d+ times, last by SIG/, {
    remedy:
      'Find what kills the component that the evidence names (a failing probe, a security agent, an administrator).',
    example: 'kube-apiserver ended 5 times, last by SIGKILL',
    retryable: true,
    cleanup: 'reset',
  }),
  {
    ...unit(
      'unit-controller-ends',
      'StaticPodCrashLoop',
      58,
      /^kube-(?:controller-manager|scheduler) ended \d+ times, last with exit status 1$/,
      {
        remedy:
          'It ends by design when it loses the API server. The kubelet starts it again, at most 5 minutes after its last end: wait, and provision again. If it ends again, correct what its last error in the evidence names.',
        example: 'kube-controller-manager ended 7 times, last with exit status 1',
        retryable: true,
        cleanup: 'none',
      },
    ),
    kind: 'generic',
  },
  {
    ...unit(
      'unit-static-pod-ends',
      'StaticPodCrashLoop',
      58,
      /^(?:(?:etcd|kube-apiserver) ended \d+ times, last with exit|kube-[a-z-]+ ended \d+ times, last with exit status (?!1$))/,
      {
        remedy: 'Read the last lines of the component in the evidence: `crictl ps -a`, then `crictl logs`.',
        example: 'etcd ended 6 times, last with exit status 1',
        retryable: false,
        cleanup: 'reset',
      },
    ),
    kind: 'generic',
  },
  {
    ...unit(
      'unit-kubelet-given-up',
      'KubeletStartLimitHit',
      56,
      /^kubelet(?:\.service)?: systemd gave up after its restarts/,
      {
        place: 'kubelet',
        remedy:
          'Find the first error in `journalctl -u kubelet`, correct it, and run `systemctl reset-failed kubelet`.',
        example: 'kubelet.service: systemd gave up after its restarts (start-limit-hit), last with exit status 1',
        retryable: false,
        cleanup: 'reset',
      },
    ),
    kind: 'generic',
  },
  {
    ...unit('unit-kubelet-ends', 'KubeletCrashLoop', 54, /^kubelet(?:\.service)?: ends by itself \(/, {
      place: 'kubelet',
      remedy: 'Find the first error in `journalctl -u kubelet` and correct it, then provision again.',
      example: 'kubelet.service: ends by itself (exit-code), last with exit status 1, 7 restarts',
      retryable: false,
      cleanup: 'reset',
    }),
    kind: 'generic',
  },
  {
    ...unit(
      'unit-containerd-ends',
      'ContainerRuntimeNotRunning',
      56,
      /^(?:containerd|crio|cri-docker)(?:\.service)?: (?:systemd gave up after its restarts|ends by itself )/,
      {
        place: 'runtime',
        remedy:
          'Find the first error in the journal of the service that the evidence names (`journalctl -u containerd`) and correct it, then provision again.',
        example: 'containerd.service: ends by itself (exit-code), last with exit status 1, 7 restarts',
        retryable: false,
      },
    ),
    kind: 'generic',
  },
];

function unit(
  id: string,
  reason: TopicEntry['reason'],
  priority: number,
  pattern: RegExp,
  rest: Pick<TopicEntry, 'remedy' | 'example' | 'retryable'> & Partial<Pick<TopicEntry, 'cleanup' | 'place'>>,
): TopicEntry {
  return {
    id,
    ...(rest.place === undefined ? {} : { place: rest.place }),
    source: 'unit',
    only: true,
    kind: 'cause',
    reason,
    priority,
    pattern,
    retryable: rest.retryable,
    cleanup: rest.cleanup ?? 'none',
    remedy: rest.remedy,
    reference: 'src/diagnosis/unit-lines.ts; systemd.service(5), systemd.exec(5)',
    example: rest.example,
  };
}
