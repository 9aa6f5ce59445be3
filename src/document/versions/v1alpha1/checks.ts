import { nearestName, type PathSegment } from '../../diagnostics.ts';
import { MachineadmError } from '../../errors.ts';
import type { Finding } from '../version.ts';
import { decodeContent } from './content.ts';
import type { SecretField } from './fields.ts';
import type { FileSection } from './host.ts';
import type { KubernetesSection } from './kubernetes.ts';
import type { Sections } from './sections.ts';
import { canonicalSysctlKey } from './sysctl-key.ts';

/** Mistakes across fields, section by section. A section that has mistakes of its own is absent and not judged. */

const TOKEN = /^[a-z0-9]{6}\.[a-z0-9]{16}$/;
const CERTIFICATE_KEY = /^[0-9a-f]{64}$/;

/** kubeadm before 1.20 has no lab, no golden and no users left (v1beta2 began in 1.15). */
const OLDEST_MINOR = 20;

/** Every reference by name must exist under `secrets`. */
export function checkSecretNames(sections: Sections): Finding[] {
  const known = Object.keys(sections.secrets ?? {});
  const findings: Finding[] = [];
  const visit = (value: unknown, path: readonly PathSegment[]) => {
    if (Array.isArray(value)) {
      value.forEach((item, index) => {
        visit(item, [...path, index]);
      });
    } else if (value !== null && typeof value === 'object') {
      for (const [key, item] of Object.entries(value)) {
        if (key === 'secret' && typeof item === 'string' && Object.keys(value).length === 1) {
          if (!known.includes(item)) findings.push(unknownSecret([...path, key], item, known));
        } else visit(item, [...path, key]);
      }
    }
  };
  visit(sections.host?.files, ['host', 'files']);
  // The kubelet's configuration is free-form: a key called `secret` there is not ours.
  const { node: _node, ...rest } = sections.kubernetes ?? {};
  visit(rest, ['kubernetes']);
  return findings;
}

function unknownSecret(path: readonly PathSegment[], name: string, known: readonly string[]): Finding {
  const near = nearestName(name, known);
  const hint =
    near !== undefined
      ? `did you mean "${near}"?`
      : known.length > 0
        ? `"secrets" has ${known.join(', ')}`
        : 'add it under "secrets"';
  return { path, message: `no secret of the name "${name}"`, hint, about: ['secrets', name] };
}

export function checkHost(sections: Sections): Finding[] {
  const { host } = sections;
  if (host === undefined) return [];
  const findings: Finding[] = [];
  const paths = new Map<string, number>();
  host.files?.forEach((file, index) => {
    findings.push(...checkFile(file, index));
    const first = paths.get(file.path);
    if (first === undefined) paths.set(file.path, index);
    else {
      findings.push({
        path: ['host', 'files', index, 'path'],
        message: `${file.path} is already written by host.files[${first}]`,
        hint: 'keep one of them',
      });
    }
  });
  const keys = new Map<string, string>();
  for (const key of Object.keys(host.sysctl ?? {})) {
    const canonical = canonicalSysctlKey(key);
    const first = keys.get(canonical);
    if (first !== undefined) {
      const message = `the same key as "${first}", in another spelling`;
      findings.push({ path: ['host', 'sysctl', key], message, hint: 'keep one of them' });
    }
    keys.set(canonical, key);
    if (canonical.split('/').some((part) => part === '' || part === '.' || part === '..')) {
      findings.push({ path: ['host', 'sysctl', key], message: 'a key may hold neither ".." nor an empty part' });
    }
  }
  return findings;
}

function checkFile(file: FileSection, index: number): Finding[] {
  const path = ['host', 'files', index];
  if (file.content !== undefined && file.contentFrom !== undefined) {
    const about = [...path, 'contentFrom'];
    return [{ path, message: 'content and contentFrom exclude each other', hint: 'keep one of them', about }];
  }
  if (file.content === undefined && file.contentFrom === undefined) {
    const about = [...path, 'content'];
    return [
      { path, message: 'neither content nor contentFrom is given', hint: 'content: "" makes an empty file', about },
    ];
  }
  if (file.encoding !== undefined && file.content === undefined) {
    return [{ path: [...path, 'encoding'], message: 'encoding describes content, which is not given' }];
  }
  return [];
}

/** Encoded contents must decode; what is compressed must not be damaged or endless. */
export async function checkFileContents(sections: Sections): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [index, file] of (sections.host?.files ?? []).entries()) {
    if (file.content === undefined || file.encoding === undefined) continue;
    try {
      await decodeContent(file.content, file.encoding);
    } catch (error) {
      const path = ['host', 'files', index, 'content'];
      if (error instanceof MachineadmError) findings.push({ path, message: 'not gzip, or larger than 4 MiB unpacked' });
      else findings.push({ path, message: 'not base64, though encoding says so' });
    }
  }
  return findings;
}

export function checkKubernetes(sections: Sections): Finding[] {
  const { kubernetes } = sections;
  if (kubernetes === undefined) return [];
  return [
    ...checkVersion(kubernetes),
    ...checkRole(kubernetes),
    ...checkDiscovery(kubernetes),
    ...checkSecretFormats(kubernetes, sections.secrets ?? {}),
    ...checkExclusions(kubernetes),
  ];
}

function checkVersion({ version }: KubernetesSection): Finding[] {
  const [major, minor] = version.slice(1).split('.').map(Number);
  if (major === 1 && (minor ?? 0) >= OLDEST_MINOR) return [];
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
  if (role === 'JoinControlPlane') {
    const hasKeys = kubernetes.pki?.ca?.key !== undefined;
    if (kubernetes.controlPlane?.certificateKey === undefined && !hasKeys) {
      findings.push({
        path: ['kubernetes', 'controlPlane'],
        message: 'a joining control plane needs the shared certificates',
        hint: 'give controlPlane.certificateKey, or the key pairs under pki',
        about: ['kubernetes', 'controlPlane', 'certificateKey'],
      });
    }
  }
  return findings;
}

function checkDiscovery({ join }: KubernetesSection): Finding[] {
  if (join === undefined) return [];
  const { caCertHashes, unsafeSkipCAVerification } = join.discovery.token;
  const path = ['kubernetes', 'join', 'discovery', 'token'];
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
    const literal = literalOf(field, secrets);
    // The value itself is never shown.
    if (literal !== undefined && !pattern.test(literal)) {
      findings.push({ path: ['kubernetes', ...path], message: `malformed: ${form}` });
    }
  };
  const tokenForm = 'a token is 6 characters, a dot and 16 characters of a-z and 0-9';
  kubernetes.cluster?.bootstrapTokens?.forEach((token, index) => {
    check(['cluster', 'bootstrapTokens', index, 'token'], token.token, TOKEN, tokenForm);
  });
  check(['join', 'discovery', 'token', 'token'], kubernetes.join?.discovery.token.token, TOKEN, tokenForm);
  check(['join', 'tlsBootstrapToken'], kubernetes.join?.tlsBootstrapToken, TOKEN, tokenForm);
  const key = kubernetes.controlPlane?.certificateKey;
  check(['controlPlane', 'certificateKey'], key, CERTIFICATE_KEY, 'a certificate key is 64 hex digits (32 bytes)');
  return findings;
}

/** The value of a secret field where the document itself holds it. */
function literalOf(field: SecretField | undefined, secrets: NonNullable<Sections['secrets']>): string | undefined {
  if (field === undefined || typeof field === 'string') return field;
  const source = secrets[field.secret];
  return source !== undefined && 'value' in source ? source.value : undefined;
}

function checkExclusions(kubernetes: KubernetesSection): Finding[] {
  const findings: Finding[] = [];
  const { etcd } = kubernetes.controlPlane ?? {};
  if (etcd?.local !== undefined && etcd.external !== undefined) {
    const path = ['kubernetes', 'controlPlane', 'etcd'];
    findings.push({ path, message: 'local and external exclude each other', hint: 'keep one of them' });
  }
  kubernetes.cluster?.bootstrapTokens?.forEach((token, index) => {
    if (token.ttl !== undefined && token.expires !== undefined) {
      const path = ['kubernetes', 'cluster', 'bootstrapTokens', index];
      findings.push({ path, message: 'ttl and expires exclude each other', hint: 'keep one of them' });
    }
  });
  return findings;
}
