import { type Finding, type PathSegment, withCode } from '../../diagnostics/index.ts';
import type { SecretField } from '../../fields/types.ts';
import { minorOf, OLDEST_MINOR } from '../../kubernetes-releases/minor.ts';
import { checkApiServer, checkApiServerOfExec } from '../api-server/index.ts';
import { type SecretsSection, writtenValue } from '../secrets.ts';
import { checkRenewal } from './certificates.ts';
import { checkArgumentValues } from './checks-argument-values.ts';
import { checkExec, checkExtraConfiguration, checkPatches, checkReady } from './checks-bootstrapper.ts';
import { checkClusterAddresses } from './checks-cluster-addresses.ts';
import { checkComponents } from './checks-components.ts';
import { checkControlCharacters } from './checks-control-characters.ts';
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
