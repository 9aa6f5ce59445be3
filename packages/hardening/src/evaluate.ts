import type { Evidence } from '@machineadm/document/outcomes/errors.ts';
import { KUBELET_CONFIG } from '@machineadm/document/ownership/kubernetes-paths.ts';
import { member, scalar, text } from '@machineadm/document/values/untyped.ts';
import { findUncovered } from './audit-policy.ts';
import { type Check, type Component, type Control, describeRule, follows, type Rule } from './controls/control.ts';
import { holdsSecrets, writesEncrypted } from './encryption.ts';
import { evaluateFiles } from './evaluate-files.ts';
import { evaluateSystem } from './evaluate-system.ts';
import { type FoundFile, manifestPath, type NamedFile, type Observed, usable } from './observed.ts';
import { decided, type Verdict } from './verdict.ts';

/** Evaluates one control against the observed state. Pure. */
export function evaluateControl(control: Control, seen: Observed): Verdict {
  const why = whyNotHere(control, seen);
  return why === undefined ? evaluateCheck(control.check, seen) : { state: 'not-applicable', why };
}

/** Why a control does not apply to a machine of this role and version; undefined = it applies. */
function whyNotHere({ applies, since, until }: Control, seen: Observed): string | undefined {
  if (applies === 'control-plane' && !seen.isControlPlane) return 'this machine is no control plane';
  if (applies === 'worker' && seen.isControlPlane) return 'this machine is a control plane';
  if (applies === 'etcd' && !seen.manifests.has('etcd')) return 'this machine runs no local etcd';
  return versionExclusion({ since, until }, seen.minor);
}

/** Why a control does not apply to a version of Kubernetes; undefined = it applies, or the version is unknown. */
export function versionExclusion(
  { since, until }: Pick<Control, 'since' | 'until'>,
  minor: number | undefined,
): string | undefined {
  if (minor === undefined) return undefined;
  if (since !== undefined && minor < since) return `it is about Kubernetes 1.${since} and later; this is 1.${minor}`;
  if (until !== undefined && minor > until) return `it ended with Kubernetes 1.${until}; this is 1.${minor}`;
  return undefined;
}

function evaluateCheck(check: Check, seen: Observed): Verdict {
  switch (check.kind) {
    case 'argument':
      return evaluateArgument(check, seen);
    case 'admission-plugin':
      return evaluatePlugin(check, seen);
    case 'feature-gate':
      return evaluateGate(check, seen);
    case 'kubelet':
      return evaluateKubelet(check, seen);
    case 'kubelet-serving-certificate':
      return evaluateServing(seen);
    case 'kubelet-flag-absent': {
      const flags = seen.kubeletFlags.filter(({ name }) => name === check.flag);
      return decided(
        flags.length === 0,
        flags.length === 0
          ? [{ source: 'kubelet', text: `--${check.flag} is not set` }]
          : flags.map(({ source, name, value }) => ({ source, text: `--${name}=${value}; it must not be set` })),
      );
    }
    case 'audit-policy':
      return evaluatePolicy(check, seen);
    case 'encryption':
      return evaluateEncryption(seen);
    case 'admission-configuration':
      return evaluateAdmission(check, seen);
    case 'mode':
    case 'owner':
      return evaluateFiles(
        check,
        check.paths.flatMap((path): readonly FoundFile[] => seen.files.get(path) ?? []),
        seen,
      );
    default:
      return evaluateSystem(check, seen);
  }
}

/** Every place of a component's arguments: its manifest, and its running processes. */
function argumentPlaces(
  component: Component,
  seen: Observed,
): readonly { readonly source: string; readonly args: ReadonlyMap<string, string> }[] | undefined {
  const manifest = usable(seen.manifests.get(component));
  if (manifest === undefined) return undefined;
  const running = (seen.processes.get(component) ?? []).map((args) => ({ source: `the running ${component}`, args }));
  return [{ source: manifestPath(component), args: manifest.args }, ...running];
}

function noManifest(component: Component): Verdict {
  return decided(false, [{ source: manifestPath(component), text: 'there is no readable manifest' }]);
}

/** The manifest represents the process it starts: a process is reported only where it differs. */
function evaluateArgument({ component, values, rule }: Extract<Check, { kind: 'argument' }>, seen: Observed): Verdict {
  const places = argumentPlaces(component, seen);
  if (places === undefined) return noManifest(component);
  const judged = places.flatMap(({ source, args }) =>
    values.map(({ name }) => {
      const value = argumentValue(name, args, seen);
      return { source, name, value, holds: follows(rule, value) };
    }),
  );
  const wrong = judged.filter(({ holds }) => !holds);
  const describeField = wrong.length > 0 ? wrong : judged.slice(0, values.length);
  return decided(
    wrong.length === 0,
    describeField.map(({ source, name, value, holds }) => ({
      source,
      text: describeSetting(`--${name}`, value, holds, rule),
    })),
  );
}

/** The API server's effective setting, from an argument or from the file that replaces it. */
function argumentValue(name: string, args: ReadonlyMap<string, string>, seen: Observed): string | undefined {
  if (name === 'authorization-mode') return authorizationModes(args, seen);
  if (name === 'anonymous-auth') return args.get(name) ?? anonymousByFile(seen);
  return args.get(name);
}

/**
 * Whether the authentication configuration allows anonymous requests; undefined = not set. The API server refuses to
 * have the argument as well (k/k pkg/kubeapiserver/options/authentication.go).
 */
export function anonymousByFile({ authentication }: Pick<Observed, 'authentication'>): string | undefined {
  const anonymous = member(authentication?.content, 'anonymous');
  return anonymous === undefined || anonymous === null ? undefined : String(member(anonymous, 'enabled') === true);
}

/** An authorization configuration replaces the argument; the API server refuses both at once. */
function authorizationModes(args: ReadonlyMap<string, string>, { authorization }: Observed): string | undefined {
  if (authorization === undefined || args.has('authorization-mode')) return args.get('authorization-mode');
  const authorizers = member(authorization.content, 'authorizers');
  return Array.isArray(authorizers) ? authorizers.map((one) => text(member(one, 'type')) ?? '').join(',') : undefined;
}

function describeSetting(what: string, value: string | undefined, holds: boolean, rule: Rule): string {
  const now = value === undefined ? `${what} is not set` : `${what}=${value}`;
  return holds ? now : `${now}; it must ${describeRule(rule)}`;
}

export function listOf(value: string | undefined): readonly string[] {
  return (value ?? '').split(',').map((item) => item.trim());
}

function evaluatePlugin({ plugin, must }: Extract<Check, { kind: 'admission-plugin' }>, seen: Observed): Verdict {
  const places = argumentPlaces('kube-apiserver', seen);
  if (places === undefined) return noManifest('kube-apiserver');
  const argument = must === 'stay on by default' ? 'disable-admission-plugins' : 'enable-admission-plugins';
  const wantsIt = must === 'be enabled';
  const wrong = places.filter(({ args }) => listOf(args.get(argument)).includes(plugin) !== wantsIt);
  const shown = wrong.length > 0 ? wrong : places.slice(0, 1);
  return decided(
    wrong.length === 0,
    shown.map(({ source, args }) => {
      const now = args.get(argument) === undefined ? `--${argument} is not set` : `--${argument}=${args.get(argument)}`;
      return { source, text: wrong.length === 0 ? now : `${now}; ${plugin} must ${must}` };
    }),
  );
}

function evaluateGate({ gate, never, at }: Extract<Check, { kind: 'feature-gate' }>, seen: Observed): Verdict {
  const wrong: Evidence[] = [];
  const lists: { source: string; value: string }[] = [];
  for (const place of at) {
    if (place === 'kubelet') {
      const set = member(member(seen.kubeletConfig, 'featureGates'), gate);
      if (set !== undefined) lists.push({ source: KUBELET_CONFIG, value: `${gate}=${scalar(set) ?? ''}` });
      const flags = seen.kubeletFlags.filter(({ name }) => name === 'feature-gates');
      lists.push(...flags.map(({ source, value }) => ({ source, value })));
    } else {
      const places = argumentPlaces(place, seen) ?? [];
      lists.push(...places.map(({ source, args }) => ({ source, value: args.get('feature-gates') ?? '' })));
    }
  }
  for (const { source, value } of lists) {
    if (listOf(value.toLowerCase()).includes(`${gate.toLowerCase()}=${never}`)) {
      wrong.push({ source, text: `the feature gate ${gate} is ${never}` });
    }
  }
  return decided(
    wrong.length === 0,
    wrong.length > 0 ? wrong : [{ source: at.join(', '), text: `${gate} is not ${never}` }],
  );
}

/** A dotted field of an untrusted object; undefined = not set. */
export function fieldValue(object: unknown, field: string): unknown {
  return field.split('.').reduce<unknown>((inside, name) => member(inside, name), object);
}

/** The same as text: lists are joined with commas. */
export function fieldText(object: unknown, field: string): string | undefined {
  const value = fieldValue(object, field);
  if (value === undefined || value === null) return undefined;
  return Array.isArray(value) ? value.map((item) => scalar(item) ?? '').join(',') : (scalar(value) ?? '');
}

function evaluateKubelet({ field, flag, rule }: Extract<Check, { kind: 'kubelet' }>, seen: Observed): Verdict {
  if (seen.kubeletConfig === undefined) {
    return decided(false, [{ source: KUBELET_CONFIG, text: 'there is no readable kubelet configuration' }]);
  }
  const flags = seen.kubeletFlags.filter(({ name }) => name === flag);
  const wrong = flags.filter(({ value }) => !follows(rule, value));
  const told = wrong.map(({ source, name, value }) => ({
    source,
    text: describeSetting(`--${name}`, value, false, rule),
  }));
  const value = fieldText(seen.kubeletConfig, field);
  // A flag decides if it is set in all places; otherwise the field counts as well.
  const holds = follows(rule, value) || (flags.length > 0 && wrong.length === 0);
  if (holds && wrong.length === 0) return decided(true, [{ source: KUBELET_CONFIG, text: shown(field, value) }]);
  const field_ = holds
    ? []
    : [{ source: KUBELET_CONFIG, text: `${shown(field, value)}; it must ${describeRule(rule)}` }];
  return decided(false, [...told, ...field_]);
}

function shown(field: string, value: string | undefined): string {
  return value === undefined ? `${field} is not set` : `${field}: ${value}`;
}

function evaluateServing(seen: Observed): Verdict {
  const bootstrapped = fieldText(seen.kubeletConfig, 'serverTLSBootstrap');
  const given = fieldText(seen.kubeletConfig, 'tlsCertFile') ?? flagValue(seen, 'tls-cert-file');
  const evidence = [
    { source: KUBELET_CONFIG, text: shown('serverTLSBootstrap', bootstrapped) },
    { source: KUBELET_CONFIG, text: shown('tlsCertFile', given) },
  ];
  return decided(bootstrapped === 'true' || (given !== undefined && given !== ''), evidence);
}

function flagValue(seen: Observed, flag: string): string | undefined {
  return seen.kubeletFlags.find(({ name }) => name === flag)?.value;
}

function unnamed(argument: string): Verdict {
  return decided(false, [{ source: manifestPath('kube-apiserver'), text: `--${argument} is not set` }]);
}

function unreadable({ path, content }: NamedFile): Verdict | undefined {
  return content === undefined
    ? decided(false, [{ source: path, text: 'it does not exist or is not valid YAML' }])
    : undefined;
}

function evaluatePolicy({ covers }: Extract<Check, { kind: 'audit-policy' }>, { auditPolicy }: Observed): Verdict {
  if (auditPolicy === undefined) return unnamed('audit-policy-file');
  const gaps = findUncovered(auditPolicy.content, covers);
  const wrong = gaps.map((gap) => ({ source: auditPolicy.path, text: gap }));
  const right = [{ source: auditPolicy.path, text: 'it covers the required rules' }];
  return unreadable(auditPolicy) ?? decided(gaps.length === 0, gaps.length === 0 ? right : wrong);
}

function evaluateEncryption({ encryption }: Observed): Verdict {
  if (encryption === undefined) return unnamed('encryption-provider-config');
  const resources = member(encryption.content, 'resources');
  const namesOf = (entry: unknown): readonly unknown[] => {
    const names = member(entry, 'resources');
    return Array.isArray(names) ? names : [];
  };
  // The first entry that names a resource decides for it.
  const ofSecrets: unknown = (Array.isArray(resources) ? resources : []).find((entry) => holdsSecrets(namesOf(entry)));
  const providers = member(ofSecrets, 'providers');
  const first: unknown = Array.isArray(providers) ? providers[0] : undefined;
  const name = typeof first === 'object' && first !== null ? Object.keys(first)[0] : undefined;
  const now = name === undefined ? 'Secrets have no provider' : `the first provider of Secrets is ${name}`;
  return (
    unreadable(encryption) ??
    decided(writesEncrypted(namesOf(ofSecrets), name), [{ source: encryption.path, text: now }])
  );
}

function evaluateAdmission({ plugin }: Extract<Check, { kind: 'admission-configuration' }>, seen: Observed): Verdict {
  const off = argumentPlaces('kube-apiserver', seen)?.find(({ args }) =>
    listOf(args.get('disable-admission-plugins')).includes(plugin),
  );
  if (off !== undefined) {
    return decided(false, [{ source: off.source, text: `--disable-admission-plugins names ${plugin}` }]);
  }
  const { admission } = seen;
  if (admission === undefined) return unnamed('admission-control-config-file');
  const plugins = member(admission.content, 'plugins');
  const has = Array.isArray(plugins) && plugins.some((entry) => text(member(entry, 'name')) === plugin);
  return (
    unreadable(admission) ??
    decided(has, [
      { source: admission.path, text: has ? `it configures ${plugin}` : `it does not configure ${plugin}` },
    ])
  );
}
