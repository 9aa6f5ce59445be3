import type { AdmissionModel } from '@machineadm/document/model/index.ts';
import type { Control } from './controls/control.ts';

/** Its apiVersion and kind follow from the plugin and the minor of Kubernetes when the file is written. */
type Entry = AdmissionModel['config'][number];

/** CIS 1.2.9: some limit for the whole server. */
const EVENT_RATE_LIMIT: Entry = {
  plugin: 'EventRateLimit',
  configuration: { limits: [{ type: 'Server', qps: 5000, burst: 20000 }] },
};

/** STIG V-254800. Pod networks and kube-proxy are privileged: without the exemption a cluster gets none. */
const POD_SECURITY: Entry = {
  plugin: 'PodSecurity',
  configuration: {
    defaults: {
      enforce: 'baseline',
      'enforce-version': 'latest',
      audit: 'restricted',
      'audit-version': 'latest',
      warn: 'restricted',
      'warn-version': 'latest',
    },
    exemptions: { usernames: [], runtimeClasses: [], namespaces: ['kube-system'] },
  },
};

/** The requirements of these controls for the API server's admission configuration. */
export function admissionConfiguration(controls: readonly Control[]): readonly Entry[] {
  const entries = controls.flatMap(({ check }): readonly Entry[] => {
    if (check.kind === 'admission-configuration') return [POD_SECURITY];
    return check.kind === 'admission-plugin' && check.plugin === 'EventRateLimit' ? [EVENT_RATE_LIMIT] : [];
  });
  return [...new Set(entries)];
}
