import { type Finding, type PathSegment, withCode } from '../../diagnostics/index.ts';
import type { SecretField } from '../../fields/types.ts';
import { acceptsPatches } from '../../kubernetes-releases/kubeadm.ts';
import { minorOf, OLDEST_MINOR } from '../../kubernetes-releases/minor.ts';
import { checkApiServer, checkApiServerOfExec } from '../api-server/index.ts';
import { type SecretsSection, writtenValue } from '../secrets.ts';
import { checkRenewal } from './certificates.ts';
import { checkArgumentValues } from './checks-argument-values.ts';
import { checkClusterAddresses } from './checks-cluster-addresses.ts';
import { checkComponents } from './checks-components.ts';
import { checkKubeadmConfiguration } from './checks-kubeadm-cluster.ts';
import { checkKubeletConfiguration } from './checks-kubelet-configuration.ts';
import { checkKubeletContradictions } from './checks-kubelet-contradictions.ts';
import { checkNodeAddresses } from './checks-node-addresses.ts';
import { checkSaidTwice } from './checks-said-twice.ts';
import { checkBootstrapTokens, TOKEN } from './cluster.ts';
import { CERTIFICATE_KEY, checkStaticPods } from './control-plane.ts';
import type { KubernetesSection } from './index.ts';
import { checkDiscoveryForm, checkVerification } from './join.ts';
import { checkNode } from './node.ts';

/** Mistakes across the fields of `kubernetes`. */
export function checkKubernetes(kubernetes: KubernetesSection, secrets: SecretsSection): Finding[] {
  const always = [...checkRole(kubernetes), ...checkDiscoveryForm(kubernetes.join), ...checkExclusions(kubernetes)];
  const ownProgram = kubernetes.bootstrapper?.exec !== undefined;
  return [
    ...always,
    ...(ownProgram
      ? [...checkExec(kubernetes), ...checkApiServerOfExec(kubernetes.controlPlane?.apiServer ?? {})]
      : checkKubeadm(kubernetes, secrets)),
  ];
}

/** What holds for kubeadm only: another program has its own versions, tokens and ways to share certificates. */
function checkKubeadm(kubernetes: KubernetesSection, secrets: SecretsSection): Finding[] {
  return [
    ...checkVersion(kubernetes),
    ...checkSharedCertificates(kubernetes),
    ...checkVerification(kubernetes.join),
    ...checkSecretFormats(kubernetes, secrets),
    ...checkTokenNames(kubernetes, secrets),
    ...checkBootstrapTokens(kubernetes.cluster),
    ...checkRenewal(kubernetes),
    ...checkExtraConfiguration(kubernetes),
    ...checkPatches(kubernetes),
    ...checkStaticPods(kubernetes.controlPlane),
    ...checkReady(kubernetes),
    ...checkNodeAddresses(kubernetes),
    ...checkClusterAddresses(kubernetes),
    ...checkSaidTwice(kubernetes),
    ...checkApiServer(kubernetes.controlPlane?.apiServer ?? {}, kubernetes.version, secrets),
    ...withCode('RefusedByKubernetes', checkKubeadmConfiguration(kubernetes)),
    ...withCode('UnsupportedVersion', checkComponents(kubernetes)),
    ...withCode('RefusedByKubernetes', checkArgumentValues(kubernetes)),
    ...withCode('RefusedByKubernetes', checkKubeletConfiguration(kubernetes)),
    ...withCode('RefusedByKubernetes', checkKubeletContradictions(kubernetes)),
    ...withCode('RefusedByKubernetes', checkNode(kubernetes.node, kubernetes.controlPlane)),
    ...withCode('RefusedByKubernetes', checkControlCharacters(kubernetes)),
  ];
}

function checkVersion({ version }: KubernetesSection): Finding[] {
  if (version.startsWith('v1.') && minorOf(version) >= OLDEST_MINOR) return [];
  return [{ path: ['kubernetes', 'version'], message: `Kubernetes ${version} is older than v1.${OLDEST_MINOR}` }];
}

/** What a role needs, and what would have no effect in it: nothing is dropped silently. */
function checkRole(kubernetes: KubernetesSection): Finding[] {
  const { role } = kubernetes;
  const findings: Finding[] = [];
  const useless = (path: readonly string[], given: unknown) => {
    if (given === undefined) return;
    findings.push({
      path: ['kubernetes', ...path],
      message: `has no effect for the role ${role}`,
      hint: 'remove it, or change kubernetes.role',
    });
  };
  if (role === 'InitControlPlane') useless(['join'], kubernetes.join);
  else {
    if (kubernetes.join === undefined) {
      findings.push({
        path: ['kubernetes'],
        message: `the role ${role} needs "join"`,
        hint: 'join: {discovery: {token: {token, endpoint, caCertHashes}}}',
        about: [['kubernetes', 'join']],
      });
    }
    useless(['cluster', 'bootstrapTokens'], kubernetes.cluster?.bootstrapTokens);
  }
  if (role === 'Worker') {
    useless(['controlPlane'], kubernetes.controlPlane);
    useless(['pki'], kubernetes.pki);
    useless(['ready', 'endpoint'], kubernetes.ready?.endpoint);
  }
  return findings;
}

function checkSharedCertificates({ role, pki, controlPlane }: KubernetesSection): Finding[] {
  if (role !== 'JoinControlPlane' || controlPlane?.certificateKey !== undefined || pki?.ca?.key !== undefined)
    return [];
  return [
    {
      path: ['kubernetes', 'controlPlane'],
      message: 'a joining control plane needs the shared certificates',
      hint: 'give controlPlane.certificateKey, or the key pairs under pki',
      about: [
        ['kubernetes', 'controlPlane', 'certificateKey'],
        ['kubernetes', 'pki'],
      ],
    },
  ];
}

function checkSecretFormats(kubernetes: KubernetesSection, secrets: SecretsSection): Finding[] {
  const findings: Finding[] = [];
  const check = (path: readonly PathSegment[], field: SecretField | undefined, pattern: RegExp, form: string) => {
    const literal = writtenValue(field, secrets);
    // The value itself is never shown.
    if (literal !== undefined && !pattern.test(literal)) {
      findings.push({ path: ['kubernetes', ...path], message: `malformed: ${form}` });
    }
  };
  const tokenForm = 'a token is 6 characters, a dot and 16 characters of a-z and 0-9';
  kubernetes.cluster?.bootstrapTokens?.forEach((token, index) => {
    check(['cluster', 'bootstrapTokens', index, 'token'], token.token, TOKEN, tokenForm);
  });
  check(['join', 'discovery', 'token', 'token'], kubernetes.join?.discovery.token?.token, TOKEN, tokenForm);
  check(['join', 'tlsBootstrapToken'], kubernetes.join?.tlsBootstrapToken, TOKEN, tokenForm);
  const key = kubernetes.controlPlane?.certificateKey;
  check(['controlPlane', 'certificateKey'], key, CERTIFICATE_KEY, 'a certificate key is 64 hex digits (32 bytes)');
  return findings;
}

/** A bootstrap token is stored under the part before its dot: of two with one such part, only the last would be stored. */
function checkTokenNames({ cluster }: KubernetesSection, secrets: SecretsSection): Finding[] {
  const names = (cluster?.bootstrapTokens ?? []).map(({ token }) => writtenValue(token, secrets)?.split('.')[0]);
  return names.flatMap((name, index): Finding[] => {
    const first = names.indexOf(name);
    if (name === undefined || first === index) return [];
    const path = ['kubernetes', 'cluster', 'bootstrapTokens'];
    const message = 'the part before the dot is also that of';
    return [
      {
        code: 'Duplicate',
        path: [...path, index, 'token'],
        message,
        other: [...path, first, 'token'],
        hint: 'use another token',
      },
    ];
  });
}

function checkExclusions(kubernetes: KubernetesSection): Finding[] {
  const findings: Finding[] = [];
  const { etcd } = kubernetes.controlPlane ?? {};
  if (etcd?.local !== undefined && etcd.external !== undefined) {
    const path = ['kubernetes', 'controlPlane', 'etcd'];
    findings.push({ path, message: 'local and external exclude each other', hint: 'keep one of them' });
  }
  kubernetes.cluster?.bootstrapTokens?.forEach((token, index) => {
    if (token.ttl === undefined || token.expires === undefined) return;
    const path = ['kubernetes', 'cluster', 'bootstrapTokens', index];
    findings.push({ path, message: 'ttl and expires exclude each other', hint: 'keep one of them' });
  });
  if (kubernetes.bootstrapper?.kubeadm !== undefined && kubernetes.bootstrapper.exec !== undefined) {
    const path = ['kubernetes', 'bootstrapper'];
    findings.push({ path, message: 'kubeadm and exec exclude each other', hint: 'keep one of them' });
  }
  const { proxy } = kubernetes.addons ?? {};
  if (proxy?.enabled === false && proxy.config !== undefined) {
    const path = ['kubernetes', 'addons', 'proxy', 'config'];
    findings.push({ path, message: 'has no effect: the proxy is not enabled', hint: 'remove one of them' });
  }
  return findings;
}

/** kubeadm refuses a kind that comes twice in its file, so each configuration is said in one place. */
function checkExtraConfiguration({ bootstrapper, node, addons }: KubernetesSection): Finding[] {
  const findings: Finding[] = [];
  const seen = new Set<string>();
  bootstrapper?.kubeadm?.extraDocuments?.forEach(({ kind }, index) => {
    const path = ['kubernetes', 'bootstrapper', 'kubeadm', 'extraDocuments', index];
    const elsewhere = kind === 'KubeletConfiguration' ? node?.kubelet?.config : addons?.proxy?.config;
    const place = kind === 'KubeletConfiguration' ? 'kubernetes.node.kubelet.config' : 'kubernetes.addons.proxy.config';
    if (seen.has(kind))
      findings.push({ code: 'Duplicate', path, message: `a second ${kind}`, hint: 'keep one of them' });
    else if (elsewhere !== undefined) {
      findings.push({ path, message: `${place} says the same`, hint: 'keep one of them' });
    }
    seen.add(kind);
  });
  return findings;
}

/** A worker has neither static pods of the control plane nor, as every joining machine, an addon to patch. */
function checkPatches({ role, bootstrapper }: KubernetesSection): Finding[] {
  const patches = bootstrapper?.kubeadm?.patches;
  if (!Array.isArray(patches)) return [];
  return patches.flatMap(({ target }, index): Finding[] => {
    if (acceptsPatches(target, role)) return [];
    const path = ['kubernetes', 'bootstrapper', 'kubeadm', 'patches', index, 'target'];
    return [{ path, message: `${target} has no effect for the role ${role}`, hint: 'remove it' }];
  });
}

function checkReady({ ready }: KubernetesSection): Finding[] {
  if (ready?.require !== 'Command') return [];
  const path = ['kubernetes', 'ready', 'require'];
  return [{ path, message: 'Command is the success test of bootstrapper.exec, which is not given' }];
}

/** A program of one's own: what it is not asked for would be lost. */
function checkExec({ bootstrapper, ready, controlPlane, node }: KubernetesSection): Finding[] {
  const findings: Finding[] = [];
  const require = ready?.require;
  const path = ['kubernetes', 'ready', 'require'];
  if (require === 'NodeRegistered' || require === 'NodeReady') {
    const message = `${require} can be checked only with kubeadm's kubeconfigs`;
    findings.push({ path, message, hint: 'write Command with bootstrapper.exec.successTest, or KubeletHealthy' });
  }
  if (require === 'Command' && bootstrapper?.exec?.successTest === undefined) {
    const message = 'Command is bootstrapper.exec.successTest, which is not given';
    findings.push({ path, message, hint: 'add the test, or write KubeletHealthy' });
  }
  if (ready?.endpoint !== undefined) {
    const message = 'has no effect with bootstrapper.exec';
    findings.push({
      path: ['kubernetes', 'ready', 'endpoint'],
      message,
      hint: 'check the endpoint in its successTest',
    });
  }
  if (node?.addresses !== undefined) {
    const message = 'has no effect: only kubeadm gets the addresses of its node from machineadm';
    findings.push({
      path: ['kubernetes', 'node', 'addresses'],
      message,
      hint: 'set them in the arguments of the program',
    });
  }
  if (controlPlane?.certificates !== undefined) {
    const message = 'has no effect: machineadm renews the certificates of kubeadm only';
    const at = ['kubernetes', 'controlPlane', 'certificates'];
    findings.push({ path: at, message, hint: 'let the program renew its certificates' });
  }
  if (controlPlane?.staticPods !== undefined) {
    const message = 'has no effect: only kubeadm has a known manifests directory';
    findings.push({ path: ['kubernetes', 'controlPlane', 'staticPods'], message, hint: 'write them with host.files' });
  }
  return findings;
}

/**
 * What YAML forbids (https://yaml.org/spec/1.2.2/#51-character-set) and go-yaml refuses as "control characters are not
 * allowed"; and what only looks allowed: no command line holds NUL, and no name of Kubernetes any of the others.
 */
const FORBIDDEN = /(?![\t\n\r\u0085])[\p{Cc}\ufeff\ufffe\uffff]/u;

/** Of a line in /var/lib/kubelet/kubeadm-flags.env. */
const LINE_BREAK = /[\r\n]/;

/** Control characters in what kubeadm, the components or the API server get. */
function checkControlCharacters({ bootstrapper, ...kubernetes }: KubernetesSection): Finding[] {
  const findings: Finding[] = [];
  const visit = (value: unknown, path: readonly PathSegment[]): void => {
    if (typeof value === 'string') {
      const at = value.search(FORBIDDEN);
      if (at < 0) return;
      const code = value.charCodeAt(at).toString(16).padStart(4, '0').toUpperCase();
      findings.push({ path, message: `a control character, U+${code}, after ${at} others`, hint: 'remove it' });
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, [...path, index]);
    } else if (value !== null && typeof value === 'object') {
      for (const [key, item] of Object.entries(value)) visit(item, [...path, key]);
    }
  };
  visit({ ...kubernetes, bootstrapper: { kubeadm: bootstrapper?.kubeadm } }, ['kubernetes']);
  kubernetes.node?.kubelet?.args?.forEach(({ value }, index) => {
    if (!LINE_BREAK.test(value)) return;
    const path = ['kubernetes', 'node', 'kubelet', 'args', index, 'value'];
    findings.push({ path, message: 'a line break: kubeadm writes the arguments of the kubelet as one line' });
  });
  return findings;
}
