import type { Finding } from '@machineadm/document/diagnostics/index.ts';
import type { HostModel, KubernetesModel } from '@machineadm/document/model/index.ts';
import { scalar } from '@machineadm/document/values/untyped.ts';
import { contradiction } from './contradiction.ts';
import { type Check, type Control, describeRule, follows } from './controls/control.ts';
import { fieldText } from './evaluate.ts';

/**
 * The kubelet's part of the controls: its configuration, the flags that would override it, and kube-proxy's addresses.
 */
export function hardenKubelet(
  kubernetes: KubernetesModel,
  host: Pick<HostModel, 'hostname'>,
  controls: readonly Control[],
  { renders }: { readonly renders: boolean },
): { readonly kubernetes: KubernetesModel; readonly findings: readonly Finding[] } {
  const findings: Finding[] = [];
  const { node } = kubernetes;
  const { config: given, args } = node.kubelet;
  const config: Record<string, unknown> = { ...given };
  for (const control of controls) {
    const { check } = control;
    switch (check.kind) {
      case 'kubelet': {
        const now = fieldText(given, check.field);
        if (now !== undefined && !follows(check.rule, now)) {
          findings.push(contradiction(fieldPath(check.field, given), control, describeRule(check.rule)));
        } else if (now === undefined && renders && !control.kubeadmLeavesIt) {
          // Covers only what the document can set; all rendered fields are top-level.
          if (check.value === undefined) findings.push(wanted(control, check.field));
          else config[check.field] = check.value;
        }
        findings.push(...flagsOf(args, check, control));
        break;
      }
      case 'kubelet-serving-certificate':
        if (renders && given.tlsCertFile === undefined) config.serverTLSBootstrap = true;
        break;
      case 'kubelet-flag-absent':
        args.forEach(({ name }, index) => {
          if (name !== check.flag) return;
          findings.push(contradiction(['kubernetes', 'node', 'kubelet', 'args', index], control, 'not be set'));
        });
        // kubeadm sets the kubelet's name where it differs from the host name (k/k
        // cmd/kubeadm/app/phases/kubelet/flags.go).
        if (host.hostname !== undefined && node.name !== undefined && host.hostname !== node.name) {
          const must = `be host.hostname (${host.hostname}): else the kubelet needs --${check.flag}`;
          findings.push(contradiction(['kubernetes', 'node', 'name'], control, must));
        }
        break;
      case 'kube-proxy-metrics': {
        const address = kubernetes.addons.proxy.config.metricsBindAddress;
        if (address === undefined || /^(127\.|\[?::1\]?:|$)/.test(scalar(address) ?? '')) break;
        const path = ['kubernetes', 'addons', 'proxy', 'config', 'metricsBindAddress'];
        findings.push(contradiction(path, control, 'be an address of this machine only'));
        break;
      }
      case 'feature-gate': {
        const gates = given.featureGates;
        if (check.at.includes('kubelet') && fieldText(gates, check.gate) === check.never) {
          const path = ['kubernetes', 'node', 'kubelet', 'config', 'featureGates', check.gate];
          findings.push(contradiction(path, control, `not be ${check.never}`));
        }
        break;
      }
    }
  }
  return { kubernetes: { ...kubernetes, node: { ...node, kubelet: { config, args } } }, findings };
}

function fieldPath(field: string, given: Readonly<Record<string, unknown>>): readonly string[] {
  const [top = ''] = field.split('.');
  const inside = given[top] === undefined ? [] : field.split('.');
  return ['kubernetes', 'node', 'kubelet', 'config', ...inside];
}

function wanted(control: Control, field: string): Finding {
  return {
    path: ['kubernetes', 'node', 'kubelet'],
    message: `${control.id} needs ${field}, which only the document can set`,
    hint: `give kubernetes.node.kubelet.config.${field}, or remove ${control.id} from hardening.include`,
  };
}

function flagsOf(
  args: KubernetesModel['node']['kubelet']['args'],
  check: Extract<Check, { kind: 'kubelet' }>,
  control: Control,
): readonly Finding[] {
  return args.flatMap(({ name, value }, index) => {
    if (name !== check.flag || follows(check.rule, value)) return [];
    return [contradiction(['kubernetes', 'node', 'kubelet', 'args', index], control, describeRule(check.rule))];
  });
}
