import type { HostModel, KubernetesModel } from '@machineadm/document/model/index.ts';
import { ADMISSION_CONFIG, DEFAULT_CERTIFICATES_DIRECTORY } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { apiServerComponent } from '@machineadm/kubeadm/api-server-component.ts';
import { ADMISSION_MOUNT } from './controls/build.ts';
import { type Check, type Component, type Control, follows } from './controls/control.ts';
import { anonymousByFile, evaluateControl, fieldText, fieldValue, listOf } from './evaluate.ts';
import { allowedMode } from './evaluate-files.ts';
import { hostPathOf, type ManifestEdit } from './manifest.ts';
import { COMPONENTS, type Observed, usable } from './observed.ts';

/** The remediation of controls that are not satisfied: one entry for each place of a setting. */
export interface Remediations {
  /** An empty list: the manifest is right, and the running process is older. */
  readonly manifests: ReadonlyMap<Component, readonly ManifestEdit[]>;
  /** Dotted fields of the kubelet's configuration; null removes one. */
  readonly kubeletFields: ReadonlyMap<string, unknown>;
  /** Flags to remove, by the file that contains them. */
  readonly kubeletFlags: ReadonlyMap<string, readonly string[]>;
  readonly modes: ReadonlyMap<string, number>;
  readonly owners: ReadonlyMap<string, { readonly uid: number; readonly gid: number }>;
  readonly services: readonly { readonly name: string; readonly act: 'stop' | 'disable' }[];
  /** Ids of the controls, by place. */
  readonly controls: ReadonlyMap<keyof Omit<Remediations, 'controls'> | Component, readonly string[]>;
}

/** The document's values for the settings of a control. */
export interface Wanted {
  readonly kubernetes: KubernetesModel;
  readonly host: Pick<HostModel, 'hostname'>;
  /** As the kubelet would name itself. */
  readonly hostname: string;
}

/** The changes that satisfy these controls. Pure. Does not include what must be changed elsewhere (in the cluster). */
export function remediationsFor(controls: readonly Control[], seen: Observed, wanted: Wanted): Remediations {
  const draft = new Draft(seen, wanted);
  for (const control of controls) {
    if (evaluateControl(control, seen).state === 'fails') draft.remediate(control);
  }
  return draft.remediations;
}

class Draft {
  readonly remediations = {
    manifests: new Map<Component, ManifestEdit[]>(),
    kubeletFields: new Map<string, unknown>(),
    kubeletFlags: new Map<string, string[]>(),
    modes: new Map<string, number>(),
    owners: new Map<string, { uid: number; gid: number }>(),
    services: [] as { name: string; act: 'stop' | 'disable' }[],
    controls: new Map<keyof Omit<Remediations, 'controls'> | Component, string[]>(),
  };
  readonly #seen: Observed;
  readonly #wanted: Wanted;

  constructor(seen: Observed, wanted: Wanted) {
    this.#seen = seen;
    this.#wanted = wanted;
  }

  remediate({ id, check }: Control): void {
    if (check.kind === 'argument') this.#argument(id, check);
    if (check.kind === 'admission-plugin') this.#plugin(id, check);
    if (check.kind === 'admission-configuration') this.#admissionConfiguration(id, check.plugin);
    if (check.kind === 'feature-gate') this.#gate(id, check);
    if (check.kind === 'kubelet') this.#kubelet(id, check);
    if (check.kind === 'kubelet-serving-certificate') this.#field(id, 'serverTLSBootstrap', true);
    // With a different name than the host's the kubelet would register a different Node: the flag is kept then.
    if (check.kind === 'kubelet-flag-absent') this.#flag(id, check.flag, (value) => value === this.#wanted.hostname);
    if (check.kind === 'mode') this.#modes(id, check);
    if (check.kind === 'owner') this.#owners(id, check);
    if (check.kind === 'services') this.#services(id, check);
  }

  #modes(id: string, check: Extract<Check, { kind: 'mode' }>): void {
    for (const file of check.paths.flatMap((path) => this.#seen.files.get(path) ?? [])) {
      const allowed = allowedMode(check, file);
      if (file.isUnread === true || allowed === undefined || (file.mode & ~allowed) === 0) continue;
      this.remediations.modes.set(file.path, (this.remediations.modes.get(file.path) ?? file.mode) & allowed);
      this.#for('modes', id);
    }
  }

  #owners(id: string, { paths, user, group }: Extract<Check, { kind: 'owner' }>): void {
    const [uid, gid] = [this.#seen.users.get(user), this.#seen.groups.get(group)];
    if (uid === undefined || gid === undefined) return;
    for (const file of paths.flatMap((path) => this.#seen.files.get(path) ?? [])) {
      if (file.isUnread === true || (file.uid === uid && file.gid === gid)) continue;
      this.remediations.owners.set(file.path, { uid, gid });
      this.#for('owners', id);
    }
  }

  #services(id: string, { services, must }: Extract<Check, { kind: 'services' }>): void {
    for (const name of services) {
      const state = this.#seen.services.get(name);
      const does = must === 'not run' ? state?.active : state?.enabled;
      if (does !== true) continue;
      this.remediations.services.push({ name, act: must === 'not run' ? 'stop' : 'disable' });
      this.#for('services', id);
    }
  }

  #for(place: keyof Omit<Remediations, 'controls'> | Component, id: string): void {
    const ids = this.remediations.controls.get(place) ?? [];
    if (!ids.includes(id)) this.remediations.controls.set(place, [...ids, id]);
  }

  #edit(id: string, component: Component, ...edits: readonly ManifestEdit[]): void {
    this.remediations.manifests.set(component, [...(this.remediations.manifests.get(component) ?? []), ...edits]);
    this.#for(component, id);
  }

  #argument(id: string, { component, values, rule, mount }: Extract<Check, { kind: 'argument' }>): void {
    const manifest = usable(this.#seen.manifests.get(component));
    if (manifest === undefined) return;
    const edits = values.flatMap(({ name, value: usual }): readonly ManifestEdit[] => {
      if (follows(rule, manifest.args.get(name))) return [];
      // The API server refuses both; only the document can change the file.
      if (name === 'authorization-mode' && manifest.args.has('authorization-config')) return [];
      if (name === 'anonymous-auth' && !manifest.args.has(name) && anonymousByFile(this.#seen) !== undefined) return [];
      if (rule.is.kind === 'nothing') return [{ kind: 'remove', name }];
      const asked = this.#documentArgument(component, name);
      const value = asked !== undefined && follows(rule, asked) ? asked : this.#here(name, usual);
      return value === '' ? [] : [{ kind: 'set', name, value }];
    });
    const mounts = mount !== undefined && edits.length > 0 && hostPathOf(manifest, mount.path) === undefined;
    const isOlder = values.every(({ name }) => follows(rule, manifest.args.get(name)));
    if (edits.length > 0 || isOlder)
      this.#edit(id, component, ...edits, ...(mounts ? [{ kind: 'mount', mount } as const] : []));
  }

  /** kubeadm's default value, with this machine's paths. */
  #here(name: string, usual: string): string {
    const { cluster, controlPlane } = this.#wanted.kubernetes;
    if (name === 'secure-port') return String(controlPlane.apiEndpoint.bindPort ?? usual);
    if (!usual.startsWith(`${DEFAULT_CERTIFICATES_DIRECTORY}/`)) return usual;
    return `${cluster.certificatesDirectory}${usual.slice(DEFAULT_CERTIFICATES_DIRECTORY.length)}`;
  }

  #documentArgument(component: Component, name: string): string | undefined {
    const { apiServer, controllerManager, scheduler, etcd } = this.#wanted.kubernetes.controlPlane;
    const args = {
      'kube-apiserver': apiServerComponent(apiServer).args,
      'kube-controller-manager': controllerManager.args,
      'kube-scheduler': scheduler.args,
      etcd: etcd.kind === 'local' ? etcd.args : [],
    }[component];
    return args.find((argument) => argument.name === name)?.value;
  }

  #plugin(id: string, { plugin, must }: Extract<Check, { kind: 'admission-plugin' }>): void {
    const manifest = usable(this.#seen.manifests.get('kube-apiserver'));
    if (manifest === undefined) return;
    const list = (name: string): readonly string[] => listOf(manifest.args.get(name)).filter((item) => item !== '');
    const without = (name: string): ManifestEdit => {
      const left = list(name).filter((item) => item !== plugin);
      return left.length === 0 ? { kind: 'remove', name } : { kind: 'set', name, value: left.join(',') };
    };
    if (must !== 'be enabled') {
      const from = must === 'not be enabled' ? 'enable-admission-plugins' : 'disable-admission-plugins';
      this.#edit(id, 'kube-apiserver', without(from));
      return;
    }
    const name = 'enable-admission-plugins';
    const earlier = this.remediations.manifests
      .get('kube-apiserver')
      ?.findLast((edit) => edit.kind === 'set' && edit.name === name);
    const present = earlier?.kind === 'set' ? listOf(earlier.value) : list(name);
    this.#edit(id, 'kube-apiserver', { kind: 'set', name, value: [...new Set([...present, plugin])].join(',') });
    if (plugin === 'EventRateLimit') this.#admission(id);
  }

  #admissionConfiguration(id: string, plugin: 'PodSecurity'): void {
    const disabled = usable(this.#seen.manifests.get('kube-apiserver'))?.args.get('disable-admission-plugins');
    if (listOf(disabled).includes(plugin)) {
      this.#plugin(id, { kind: 'admission-plugin', plugin, must: 'stay on by default' });
    }
    this.#admission(id);
  }

  /** The step control-plane-files writes the file itself. */
  #admission(id: string): void {
    const manifest = usable(this.#seen.manifests.get('kube-apiserver'));
    const name = 'admission-control-config-file';
    if (manifest === undefined || manifest.args.has(name)) return;
    const value = this.#documentArgument('kube-apiserver', name) ?? ADMISSION_CONFIG;
    const mounts = hostPathOf(manifest, ADMISSION_MOUNT.path) === undefined;
    const mount = mounts ? [{ kind: 'mount', mount: ADMISSION_MOUNT } as const] : [];
    this.#edit(id, 'kube-apiserver', { kind: 'set', name, value }, ...mount);
  }

  #gate(id: string, { gate, never, at }: Extract<Check, { kind: 'feature-gate' }>): void {
    const name = 'feature-gates';
    const wrong = `${gate}=${never}`.toLowerCase();
    for (const component of COMPONENTS) {
      const value = usable(this.#seen.manifests.get(component))?.args.get(name);
      const gates = listOf(value);
      const left = gates.filter((entry) => entry.toLowerCase() !== wrong);
      if (value === undefined || !at.includes(component) || left.length === gates.length) continue;
      const edit: ManifestEdit =
        left.length === 0 ? { kind: 'remove', name } : { kind: 'set', name, value: left.join(',') };
      this.#edit(id, component, edit);
    }
    if (at.includes('kubelet') && fieldText(this.#seen.kubeletConfig, `featureGates.${gate}`) === never) {
      this.#field(id, `featureGates.${gate}`, null);
    }
  }

  #kubelet(id: string, { field, flag, rule, value }: Extract<Check, { kind: 'kubelet' }>): void {
    if (flag !== undefined) this.#flag(id, flag, (given) => !follows(rule, given));
    if (follows(rule, fieldText(this.#seen.kubeletConfig, field)) || value === undefined) return;
    const { config } = this.#wanted.kubernetes.node.kubelet;
    const asked = fieldText(config, field);
    this.#field(id, field, asked !== undefined && follows(rule, asked) ? fieldValue(config, field) : value);
  }

  #field(id: string, field: string, value: unknown): void {
    if (this.#seen.kubeletConfig === undefined) return;
    this.remediations.kubeletFields.set(field, value);
    this.#for('kubeletFields', id);
  }

  #flag(id: string, flag: string, isWrong: (value: string) => boolean): void {
    for (const { name, value, source } of this.#seen.kubeletFlags) {
      if (name !== flag || !isWrong(value) || !source.startsWith('/')) continue;
      const flags = this.remediations.kubeletFlags.get(source) ?? [];
      if (!flags.includes(flag)) this.remediations.kubeletFlags.set(source, [...flags, flag]);
      this.#for('kubeletFlags', id);
    }
  }
}
