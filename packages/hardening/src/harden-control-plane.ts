import type { Finding } from '@machineadm/document/diagnostics/index.ts';
import type {
  AdmissionModel,
  ApiServerModel,
  Argument,
  ComponentModel,
  EtcdModel,
  HostPathVolume,
  KubernetesModel,
} from '@machineadm/document/model/index.ts';
import { apiServerComponent } from '@machineadm/kubeadm/api-server-component.ts';
import { type AuditCoverage, auditPolicyFor, findUncovered } from './audit-policy.ts';
import { contradiction } from './contradiction.ts';
import { type Check, type Component, type Control, describeRule, follows, type Mount } from './controls/control.ts';
import { writesEncrypted } from './encryption.ts';
import { listOf } from './evaluate.ts';

type Plane = KubernetesModel['controlPlane'];

const API_SERVER = ['kubernetes', 'controlPlane', 'apiServer'];

/** The components whose arguments the document can set, and the field for each. */
const FIELDS: Readonly<Record<Component, readonly string[]>> = {
  'kube-apiserver': [...API_SERVER, 'args'],
  'kube-controller-manager': ['kubernetes', 'controlPlane', 'controllerManager', 'args'],
  'kube-scheduler': ['kubernetes', 'controlPlane', 'scheduler', 'args'],
  etcd: ['kubernetes', 'controlPlane', 'etcd', 'local', 'args'],
};

/** The control plane's part of the controls: arguments, mounts for them, and the sections whose files they refer to. */
export function hardenControlPlane(
  kubernetes: KubernetesModel,
  controls: readonly Control[],
): { readonly kubernetes: KubernetesModel; readonly findings: readonly Finding[] } {
  if (kubernetes.role === 'Worker') return { kubernetes, findings: [] };
  const plane = new PlaneDraft(kubernetes.controlPlane);
  for (const control of controls) {
    const { check } = control;
    if (check.kind === 'argument') plane.argument(control, check);
    if (check.kind === 'admission-plugin') plane.plugin(control, check);
    if (check.kind === 'admission-configuration') {
      plane.plugin(control, { kind: 'admission-plugin', plugin: check.plugin, must: 'stay on by default' });
    }
    if (check.kind === 'feature-gate') plane.gate(control, check);
    plane.findings.push(...sectionContradictions(kubernetes.controlPlane.apiServer, control));
  }
  const coverage = coverageOf(controls);
  if (coverage !== undefined) plane.auditPolicy(coverage);
  for (const entry of admissionConfiguration(controls)) plane.admission(entry);
  return {
    kubernetes: { ...withProbes(kubernetes, controls), controlPlane: plane.finished() },
    findings: plane.findings,
  };
}

/** The required audit policy, as a file or as coverage; the stricter of two. */
function coverageOf(controls: readonly Control[]): AuditCoverage | undefined {
  const checks = controls.map(({ check }) => check);
  if (checks.some((check) => check.kind === 'audit-policy' && check.covers === 'everything')) return 'everything';
  const asked = checks.some(
    (check) =>
      check.kind === 'audit-policy' ||
      (check.kind === 'argument' && check.values.some(({ name }) => name === 'audit-policy-file')),
  );
  return asked ? 'key-concerns' : undefined;
}

/**
 * Without anonymous requests the kubelet's probes get 401 (kubernetes/kubernetes#100581), so they check the port
 * instead. A patches directory of the user must contain this itself.
 */
function withProbes(kubernetes: KubernetesModel, controls: readonly Control[]): KubernetesModel {
  const { kubeadm, controlPlane } = kubernetes;
  const refusesAnonymous = controls.some(
    ({ check }) => check.kind === 'argument' && check.values.some(({ name }) => name === 'anonymous-auth'),
  );
  if (!refusesAnonymous || kubeadm.patchesDirectory !== undefined) return kubernetes;
  const probe = { httpGet: null, tcpSocket: { port: controlPlane.apiEndpoint.bindPort ?? 6443 } };
  const container = { name: 'kube-apiserver', livenessProbe: probe, readinessProbe: probe, startupProbe: probe };
  const patch = { spec: { containers: [container] } };
  const patches = [{ target: 'kube-apiserver', type: 'strategic', patch } as const, ...kubeadm.patches];
  return { ...kubernetes, kubeadm: { ...kubeadm, patches } };
}

/** The control plane's model while controls are applied to it. */
class PlaneDraft {
  readonly findings: Finding[] = [];
  readonly #given: Plane;
  readonly #args = new Map<Component, Argument[]>();
  readonly #volumes: HostPathVolume[];
  #audit: ApiServerModel['audit'];
  #admission: ApiServerModel['admission'];

  constructor(given: Plane) {
    this.#given = given;
    this.#args.set('kube-apiserver', [...given.apiServer.args]);
    this.#args.set('kube-controller-manager', [...given.controllerManager.args]);
    this.#args.set('kube-scheduler', [...given.scheduler.args]);
    if (given.etcd.kind === 'local') this.#args.set('etcd', [...given.etcd.args]);
    this.#volumes = [...given.apiServer.volumes];
    this.#audit = given.apiServer.audit;
    this.#admission = given.apiServer.admission;
  }

  /** The value of an argument, set directly or through a section of the document. */
  names(component: Component, name: string): string | undefined {
    const anonymous = this.#given.apiServer.authentication?.structured?.anonymous;
    if (component === 'kube-apiserver' && name === 'anonymous-auth' && anonymous !== undefined) {
      // The API server refuses the argument together with it (k/k pkg/kubeapiserver/options/authentication.go).
      return String(anonymous.enabled);
    }
    const args =
      component === 'kube-apiserver' ? apiServerComponent(this.#apiServer()).args : this.#args.get(component);
    return args?.find((argument) => argument.name === name)?.value;
  }

  /** A policy, for a document without one. */
  auditPolicy(coverage: AuditCoverage): void {
    if (this.names('kube-apiserver', 'audit-policy-file') !== undefined) return;
    this.#audit = { policy: auditPolicyFor(coverage), log: undefined, webhook: undefined };
  }

  /** The configuration of an admission plugin, for a document without one. */
  admission(entry: AdmissionModel['config'][number]): void {
    const { enable = [], disable = [], config = [] } = this.#admission ?? {};
    const names = this.#given.apiServer.args.some(({ name }) => name === 'admission-control-config-file');
    if (names || config.some(({ plugin }) => plugin === entry.plugin)) return;
    this.#admission = { enable, disable, config: [...config, entry] };
  }

  add(component: Component, argument: Argument, mount?: Mount): void {
    this.#args.get(component)?.push(argument);
    if (mount === undefined || this.#volumes.some(({ name }) => name === mount.name)) return;
    const { name, path, readOnly, pathType } = mount;
    this.#volumes.push({ name, hostPath: path, mountPath: path, readOnly, pathType });
  }

  argument(control: Control, { component, values, rule, mount }: Extract<Check, { kind: 'argument' }>): void {
    if (!this.#args.has(component)) return;
    for (const { name, value } of values) {
      const now = this.names(component, name);
      if (now !== undefined) {
        if (!follows(rule, now)) this.#contradicts(control, component, name, describeRule(rule));
      } else if (control.kubeadmLeavesIt || rule.is.kind === 'nothing' || name === 'audit-policy-file') continue;
      else if (value !== '') this.add(component, { name, value }, mount);
      else {
        this.findings.push({
          path: ['kubernetes', 'controlPlane'],
          message: `${control.id} needs the argument ${name}, whose file only the document can provide`,
          hint: `give kubernetes.controlPlane.apiServer.encryptionAtRest, or remove ${control.id} from hardening.include`,
        });
      }
    }
  }

  /** Lists are merged with kubeadm's: an argument would replace kubeadm's plugins. */
  plugin(control: Control, { plugin, must }: Extract<Check, { kind: 'admission-plugin' }>): void {
    const component = 'kube-apiserver';
    const enabled = this.names(component, 'enable-admission-plugins');
    const disabled = listOf(this.names(component, 'disable-admission-plugins'));
    if (must !== 'not be enabled' && disabled.includes(plugin)) {
      this.#contradicts(control, component, 'disable-admission-plugins', `not name ${plugin}`);
    } else if (must === 'not be enabled') {
      if (listOf(enabled).includes(plugin)) {
        this.#contradicts(control, component, 'enable-admission-plugins', `not name ${plugin}`);
      }
    } else if (must === 'be enabled') this.#enable(plugin, enabled, control.kubeadmLeavesIt);
  }

  gate(control: Control, { gate, never, at }: Extract<Check, { kind: 'feature-gate' }>): void {
    for (const component of at) {
      if (component === 'kubelet') continue;
      const gates = listOf(this.names(component, 'feature-gates'));
      if (gates.includes(`${gate}=${never}`)) {
        this.#contradicts(control, component, 'feature-gates', `not name ${gate}=${never}`);
      }
    }
  }

  finished(): Plane {
    const { controllerManager, scheduler, etcd } = this.#given;
    const args = (component: Component): readonly Argument[] => this.#args.get(component) ?? [];
    const withArgs = <Model extends ComponentModel>(model: Model, component: Component): Model => ({
      ...model,
      args: args(component),
    });
    const hardenedEtcd: EtcdModel = etcd.kind === 'local' ? { ...etcd, args: args('etcd') } : etcd;
    return {
      ...this.#given,
      apiServer: this.#apiServer(),
      controllerManager: withArgs(controllerManager, 'kube-controller-manager'),
      scheduler: withArgs(scheduler, 'kube-scheduler'),
      etcd: hardenedEtcd,
    };
  }

  #apiServer(): ApiServerModel {
    const { apiServer } = this.#given;
    return {
      ...apiServer,
      args: this.#args.get('kube-apiserver') ?? [],
      volumes: this.#volumes,
      audit: this.#audit,
      admission: this.#admission,
    };
  }

  /** kubeadm enables NodeRestriction, unless the document has a list (k/k controlplane/manifests.go). */
  #enable(plugin: string, enabled: string | undefined, byKubeadm: boolean): void {
    if (enabled === undefined && byKubeadm) return;
    const present = enabled === undefined ? ['NodeRestriction'] : listOf(enabled);
    if (enabled !== undefined && present.includes(plugin)) return;
    if (this.#admission !== undefined && this.#admission.enable.length > 0) {
      this.#admission = { ...this.#admission, enable: [...this.#admission.enable, plugin] };
      return;
    }
    const args = this.#args.get('kube-apiserver') ?? [];
    const value = [...new Set([...present, plugin])].join(',');
    const without = args.filter(({ name }) => name !== 'enable-admission-plugins');
    this.#args.set('kube-apiserver', [...without, { name: 'enable-admission-plugins', value }]);
  }

  #contradicts(control: Control, component: Component, name: string, must: string): void {
    const index = this.#indexOf(component, name);
    const path = index === -1 ? sectionOf(component, name) : [...FIELDS[component], index];
    this.findings.push(contradiction(path, control, must));
  }

  /** The source of an argument; hardening's additions come after the document's. */
  #indexOf(component: Component, name: string): number {
    const { apiServer, controllerManager, scheduler, etcd } = this.#given;
    const given = {
      'kube-apiserver': apiServer.args,
      'kube-controller-manager': controllerManager.args,
      'kube-scheduler': scheduler.args,
      etcd: etcd.kind === 'local' ? etcd.args : [],
    }[component];
    return given.findIndex((argument) => argument.name === name);
  }
}

const SECTIONS: readonly (readonly [argument: RegExp, ...section: readonly string[]])[] = [
  [/^audit-/, 'audit'],
  [/admission/, 'admission'],
  [/^encryption-/, 'encryptionAtRest'],
  [/^authorization-/, 'authorization'],
  [/^anonymous-auth$/, 'authentication', 'structured', 'anonymous'],
];

/** The field of the document that an argument is derived from. */
function sectionOf(component: Component, name: string): readonly string[] {
  if (component !== 'kube-apiserver') return FIELDS[component];
  const [, ...section] = SECTIONS.find(([pattern]) => pattern.test(name)) ?? [undefined, 'args'];
  return [...API_SERVER, ...section];
}

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
function admissionConfiguration(controls: readonly Control[]): readonly Entry[] {
  const entries = controls.flatMap(({ check }): readonly Entry[] => {
    if (check.kind === 'admission-configuration') return [POD_SECURITY];
    return check.kind === 'admission-plugin' && check.plugin === 'EventRateLimit' ? [EVENT_RATE_LIMIT] : [];
  });
  return [...new Set(entries)];
}

/**
 * Where a section of the API server contradicts a control about its file: the document's file is kept, so the control
 * would be dropped silently. The audit checks files that the document names in `args`.
 */
function sectionContradictions(apiServer: ApiServerModel, control: Control): readonly Finding[] {
  const { audit, encryptionAtRest } = apiServer;
  const { id, check } = control;
  if (check.kind === 'audit-policy' && audit !== undefined) {
    const gaps = findUncovered(audit.policy, check.covers);
    const must = `cover what the control asks for: ${gaps.join(', ')}`;
    return gaps.length === 0 ? [] : [contradiction([...API_SERVER, 'audit', 'policy'], control, must)];
  }
  if (check.kind !== 'encryption') return [];
  if (encryptionAtRest !== undefined) {
    const [first] = encryptionAtRest.providers;
    if (writesEncrypted(encryptionAtRest.resources, first?.kind)) return [];
    const must = 'encrypt secrets, with aescbc, secretbox or kms as the first provider';
    return [contradiction([...API_SERVER, 'encryptionAtRest'], control, must)];
  }
  if (apiServerComponent(apiServer).args.some(({ name }) => name === 'encryption-provider-config')) return [];
  return [
    {
      path: ['kubernetes', 'controlPlane'],
      message: `${id} needs encryption at rest, whose keys only the document can provide`,
      hint: `give ${API_SERVER.join('.')}.encryptionAtRest, or remove ${id} from hardening.include`,
    },
  ];
}
