import type { Check } from './controls/control.ts';
import type { Observed } from './observed.ts';
import type { Verdict } from './verdict.ts';

type SystemCheck = Extract<
  Check,
  {
    kind:
      | 'sysctl'
      | 'module-denied'
      | 'modules-loaded'
      | 'impossible'
      | 'kube-proxy-metrics'
      | 'services'
      | 'not-on-the-node';
  }
>;

/** The kernel, services, and controls that hardening only checks. */
export function evaluateSystem(check: SystemCheck, seen: Observed): Verdict {
  switch (check.kind) {
    case 'sysctl':
      return evaluateKernel(check, seen);
    case 'module-denied':
      return evaluateDenied(check.module, seen);
    case 'modules-loaded': {
      const absent = check.modules.filter((module) => !seen.modules.loaded.has(module));
      return {
        state: absent.length === 0 ? 'holds' : 'fails',
        evidence: check.modules.map((module) => ({
          source: '/sys/module',
          text: absent.includes(module) ? `${module} is not in the kernel` : `${module} is in the kernel`,
        })),
      };
    }
    case 'impossible':
      return { state: 'fails', evidence: [{ source: 'Kubernetes', text: check.why }] };
    case 'kube-proxy-metrics':
      return evaluateProxy(seen);
    case 'services':
      return evaluateServices(check, seen);
    case 'not-on-the-node':
      return { state: 'not-applicable', why: `a node cannot show ${check.what}` };
  }
}

function evaluateKernel({ values, optional }: Extract<Check, { kind: 'sysctl' }>, seen: Observed): Verdict {
  const judged = Object.entries(values).flatMap(([key, wanted]) => {
    const now = seen.kernel.get(key);
    if (now === undefined && optional.includes(key)) return [];
    return [{ key, wanted, now, holds: now === wanted }];
  });
  if (judged.length === 0) return { state: 'not-applicable', why: 'this kernel has no such setting' };
  const wrong = judged.filter(({ holds }) => !holds);
  return {
    state: wrong.length === 0 ? 'holds' : 'fails',
    evidence: (wrong.length > 0 ? wrong : judged).map(({ key, wanted, now, holds }) => ({
      source: `/proc/sys/${key}`,
      text: holds ? wanted : `${now ?? 'it is not set'}; it must be ${wanted}`,
    })),
  };
}

function evaluateDenied(module: string, { modules }: Observed): Verdict {
  const isLoaded = modules.loaded.has(module);
  const isDenied = modules.denied.has(module);
  const text = isLoaded
    ? `${module} is in the kernel${isDenied ? ', though denied: it leaves with the next boot' : ''}`
    : `${module} is ${isDenied ? 'denied' : 'not denied'}`;
  return { state: isDenied && !isLoaded ? 'holds' : 'fails', evidence: [{ source: 'modprobe -c', text }] };
}

function evaluateProxy({ proxyMetrics }: Observed): Verdict {
  if (proxyMetrics.length === 0) return { state: 'not-applicable', why: 'no kube-proxy of kubeadm runs here' };
  // Unset, it is 127.0.0.1:10249 (k/k pkg/proxy/apis/config/v1alpha1/defaults.go).
  const wrong = proxyMetrics.filter(
    (address) => address !== '' && !/^(127\.\d+\.\d+\.\d+|\[?::1\]?)(:\d+)?$/.test(address),
  );
  return {
    state: wrong.length === 0 ? 'holds' : 'fails',
    evidence: (wrong.length > 0 ? wrong : proxyMetrics).map((address) => ({
      source: 'ConfigMap kube-system/kube-proxy',
      text: `metricsBindAddress: "${address}"${wrong.length > 0 ? '; it must be an address of this machine only' : ''}`,
    })),
  };
}

function evaluateServices({ services, must }: Extract<Check, { kind: 'services' }>, seen: Observed): Verdict {
  const does = (service: string): boolean => {
    const state = seen.services.get(service);
    return (must === 'not run' ? state?.active : state?.enabled) === true;
  };
  const wrong = services.filter(does);
  const [is, isNot] = must === 'not run' ? ['runs', 'does not run'] : ['is enabled', 'is not enabled'];
  return {
    state: wrong.length === 0 ? 'holds' : 'fails',
    evidence: (wrong.length > 0 ? wrong : services).map((service) => ({
      source: service,
      text: wrong.length > 0 ? `it ${is}; it must ${must}` : `it ${isNot}`,
    })),
  };
}
