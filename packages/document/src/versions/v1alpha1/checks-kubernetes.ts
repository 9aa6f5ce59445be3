import { type Finding, type PathSegment, withCode } from '../../diagnostics.ts';
import { minorOf, OLDEST_MINOR } from '../../kubernetes-releases/minor.ts';
import { checkApiServer, checkApiServerOfExec } from '../../sections/api-server/index.ts';
import {
  checkBootstrapTokens,
  checkExec,
  checkExtraConfiguration,
  checkPatches,
  checkReady,
  checkStaticPods,
} from './checks-bootstrapper.ts';
import { checkComponents } from './checks-components.ts';
import { checkControlCharacters } from './checks-control-characters.ts';
import { checkKubeadmConfiguration } from './checks-kubeadm-cluster.ts';
import { checkNode } from './checks-node.ts';
import type { SecretField } from './fields.ts';
import type { KubernetesSection } from './kubernetes.ts';
import { writtenValue } from './secrets.ts';
import type { Sections } from './sections.ts';

export const TOKEN = /^[a-z0-9]{6}\.[a-z0-9]{16}$/;
export const CERTIFICATE_KEY = /^[0-9a-f]{64}$/;

/** Mistakes across the fields of `kubernetes`. */
export function checkKubernetes(sections: Sections): Finding[] {
  const { kubernetes } = sections;
  if (kubernetes === undefined) return [];
  const secrets = sections.secrets ?? {};
  const always = [...checkRole(kubernetes), ...checkDiscoveryForm(kubernetes), ...checkExclusions(kubernetes)];
  const ownProgram = kubernetes.bootstrapper?.exec !== undefined;
  return [
    ...always,
    ...(ownProgram
      ? [...checkExec(kubernetes), ...checkApiServerOfExec(kubernetes.controlPlane?.apiServer ?? {})]
      : checkKubeadm(kubernetes, secrets)),
  ];
}

/** What holds for kubeadm only: another program has its own versions, tokens and ways to share certificates. */
function checkKubeadm(kubernetes: KubernetesSection, secrets: NonNullable<Sections['secrets']>): Finding[] {
  return [
    ...checkVersion(kubernetes),
    ...checkSharedCertificates(kubernetes),
    ...checkVerification(kubernetes),
    ...checkSecretFormats(kubernetes, secrets),
    ...checkBootstrapTokens(kubernetes),
    ...checkExtraConfiguration(kubernetes),
    ...checkPatches(kubernetes),
    ...checkStaticPods(kubernetes),
    ...checkReady(kubernetes),
    ...checkApiServer(kubernetes.controlPlane?.apiServer ?? {}, kubernetes.version, secrets),
    ...withCode('RefusedByKubernetes', checkKubeadmConfiguration(kubernetes)),
    ...withCode('UnsupportedVersion', checkComponents(kubernetes)),
    ...withCode('RefusedByKubernetes', checkNode(kubernetes)),
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
        about: ['kubernetes', 'join'],
      });
    }
    useless(['cluster', 'bootstrapTokens'], kubernetes.cluster?.bootstrapTokens);
  }
  if (role === 'Worker') {
    useless(['controlPlane'], kubernetes.controlPlane);
    useless(['pki'], kubernetes.pki);
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
      about: ['kubernetes', 'controlPlane', 'certificateKey'],
    },
  ];
}

const DISCOVERY = ['kubernetes', 'join', 'discovery'];

/** By token or by file; and a file says something. */
function checkDiscoveryForm({ join }: KubernetesSection): Finding[] {
  if (join === undefined) return [];
  const { token, file } = join.discovery;
  if (token !== undefined && file !== undefined) {
    return [{ path: DISCOVERY, message: 'token and file exclude each other', hint: 'keep one of them' }];
  }
  if (token === undefined && file === undefined) {
    const hint = 'token: {token, endpoint, caCertHashes}, or file: {kubeconfig: {server, user}}';
    return [{ path: DISCOVERY, message: 'neither token nor file is given', hint, about: [...DISCOVERY, 'token'] }];
  }
  if (file === undefined) return [];
  const path = [...DISCOVERY, 'file'];
  if (file.kubeconfig === undefined && file.path === undefined) {
    return [{ path, message: 'neither kubeconfig nor the path of one is given', about: [...path, 'kubeconfig'] }];
  }
  const { kubeconfig } = file;
  if (kubeconfig === undefined) return [];
  if (kubeconfig.insecureSkipTLSVerify === true && kubeconfig.certificateAuthority !== undefined) {
    const message = 'certificateAuthority and insecureSkipTLSVerify exclude each other';
    return [{ path: [...path, 'kubeconfig'], message, hint: 'keep the authority' }];
  }
  if (kubeconfig.user === undefined && join.tlsBootstrapToken === undefined) {
    return [
      {
        path: [...path, 'kubeconfig'],
        message: 'the machine cannot prove who it is: neither user nor join.tlsBootstrapToken is given',
        about: [...path, 'kubeconfig', 'user'],
      },
    ];
  }
  return [];
}

function checkVerification({ join }: KubernetesSection): Finding[] {
  const token = join?.discovery.token;
  if (token === undefined) return [];
  const { caCertHashes, unsafeSkipCAVerification } = token;
  const path = [...DISCOVERY, 'token'];
  const hasHashes = (caCertHashes ?? []).length > 0;
  if (hasHashes && unsafeSkipCAVerification === true) {
    return [{ path, message: 'caCertHashes and unsafeSkipCAVerification exclude each other', hint: 'keep the hashes' }];
  }
  if (!hasHashes && unsafeSkipCAVerification !== true) {
    return [
      {
        path,
        message: 'the cluster cannot be verified: no caCertHashes',
        hint: "openssl x509 -pubkey -in ca.crt | openssl rsa -pubin -outform der | sha256sum gives the CA's",
      },
    ];
  }
  return [];
}

function checkSecretFormats(kubernetes: KubernetesSection, secrets: NonNullable<Sections['secrets']>): Finding[] {
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
