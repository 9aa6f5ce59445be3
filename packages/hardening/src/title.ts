import { formatMode } from '@machineadm/document/text/units.ts';
import { type Check, type Control, describeRule } from './controls/control.ts';

/** A one-line title of a control, in our own words. */
export function titleOf({ check }: Pick<Control, 'check'>): string {
  switch (check.kind) {
    case 'argument':
      return `${check.component}: ${check.values.map(({ name }) => `--${name}`).join(' and ')} must ${describeRule(check.rule)}`;
    case 'admission-plugin':
      return `kube-apiserver: the admission plugin ${check.plugin} must ${check.must}`;
    case 'feature-gate':
      return `${check.at.join(', ')}: the feature gate ${check.gate} must not be ${check.never}`;
    case 'kubelet':
      return `kubelet: ${check.field} must ${describeRule(check.rule)}`;
    case 'kubelet-serving-certificate':
      return 'kubelet: a serving certificate that is not its own (serverTLSBootstrap or tlsCertFile)';
    case 'kubelet-flag-absent':
      return `kubelet: --${check.flag} must not be set`;
    case 'mode':
      return `${files(check)}: a mode of at most ${formatMode(check.atMost)}`;
    case 'owner':
      return `${files(check)}: owned by ${check.user}:${check.group}`;
    case 'sysctl':
      return Object.entries(check.values)
        .map(([key, value]) => `${key} = ${value}`)
        .join(', ');
    case 'module-denied':
      return `the kernel module ${check.module} is denied and not loaded`;
    case 'modules-loaded':
      return `the kernel modules ${check.modules.join(' and ')} are there`;
    case 'impossible':
      return check.wants;
    case 'kube-proxy-metrics':
      return 'kube-proxy: metricsBindAddress must be an address of this machine only';
    case 'audit-policy':
      return check.covers === 'everything'
        ? 'the audit policy logs every request with its bodies'
        : 'the audit policy covers Secrets, tokens, workloads and ways into pods';
    case 'encryption':
      return 'Secrets are encrypted at rest: aescbc, secretbox or kms first';
    case 'admission-configuration':
      return `the admission configuration has ${check.plugin}`;
    case 'services':
      return `${check.services.join(', ')} must ${check.must}`;
    case 'not-on-the-node':
      return check.what;
  }
}

function files({ paths }: Extract<Check, { kind: 'mode' | 'owner' }>): string {
  return [...new Set(paths.map((path) => path.replace(/^\/lib\//, '/usr/lib/')))].join(', ');
}
