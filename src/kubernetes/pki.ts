import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { EtcdModel, KeyPair, KubernetesModel } from '@machineadm/document/model/index.ts';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  CERTIFICATE_MODE,
  CERTIFICATES_DIRECTORY_MODE,
  KEY_MODE,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { NewFile } from '../host/seam/host.ts';

/** The certificates and keys in the document, and what is needed to read them. */
export interface PkiInput {
  readonly kubernetes: KubernetesModel;
  /** The PEM text of a key. */
  readonly secrets: (value: SecretValue) => string;
}

/** A key pair with its field in the document and its files. */
interface PlacedPair {
  readonly field: string;
  readonly pair: KeyPair;
  readonly certificatePath: string;
  /** undefined where no key belongs to this certificate. */
  readonly keyPath: string | undefined;
  readonly isAuthority: boolean;
}

/**
 * The files of the document's PKI, at the paths that kubeadm reads: below the certificates directory, and for an
 * external etcd at the paths that its section names. Call `checkPki` first.
 */
export function pkiFiles(input: PkiInput): readonly NewFile[] {
  const files: NewFile[] = [];
  for (const { pair, certificatePath, keyPath } of placedPairs(input.kubernetes)) {
    files.push(publicFile(certificatePath, pair.certificate));
    if (pair.key !== undefined && keyPath !== undefined) files.push(keyFile(keyPath, input.secrets(pair.key)));
  }
  const { serviceAccount } = input.kubernetes.pki;
  if (serviceAccount !== undefined) {
    const directory = input.kubernetes.cluster.certificatesDirectory;
    files.push(
      publicFile(`${directory}/sa.pub`, serviceAccount.publicKey),
      keyFile(`${directory}/sa.key`, input.secrets(serviceAccount.key)),
    );
  }
  return files;
}

/**
 * Checks every certificate and key, before kubeadm would fail half-way or only warn: it parses, the key belongs to the
 * certificate, an authority is one, and `now` is in its validity. Throws one `PKIInvalid` that lists all problems by
 * field; `ClockSkew` where the only problem is that they are not valid yet.
 */
export function checkPki(input: PkiInput & { readonly now: Date }): void {
  const problems: Evidence[] = [];
  for (const placed of placedPairs(input.kubernetes)) problems.push(...checkPair(placed, input));
  const { serviceAccount } = input.kubernetes.pki;
  if (serviceAccount !== undefined) {
    problems.push(...checkServiceAccount(serviceAccount.publicKey, input.secrets(serviceAccount.key)));
  }
  if (problems.length === 0) return;
  const told = problems.map(({ source, text }) => `${source}: ${text}`).join('; ');
  const clock = problems.some(({ text }) => text.includes("this machine's clock"));
  // The certificates are issued before the machine boots: a future one shows that the clock is behind.
  if (problems.every(({ text }) => text.startsWith(NOT_YET_VALID))) {
    throw new MachineadmError({
      reason: 'ClockSkew',
      summary: `The clock of this machine is behind the cluster's certificates: ${told}.`,
      remedy:
        'Set the clock, or let it be synchronised before kubeadm runs: host.time with servers that answer, and ' +
        '"synchronized: {}" to wait for them. Then run again.',
      evidence: problems,
      retryable: true,
      exit: 'HostStepFailed',
    });
  }
  throw new MachineadmError({
    reason: 'PKIInvalid',
    summary: `The cluster's certificates or keys cannot be used: ${told}.`,
    remedy: `Correct the named fields of the document${clock ? ', or the time of this machine where its clock is wrong' : ''}.`,
    evidence: problems,
  });
}

/** The beginning of the finding about a future certificate. */
const NOT_YET_VALID = 'it is valid only from';

function placedPairs(kubernetes: KubernetesModel): readonly PlacedPair[] {
  const { pki, cluster, controlPlane } = kubernetes;
  const directory = cluster.certificatesDirectory;
  const below = (name: string) => ({
    certificatePath: `${directory}/${name}.crt`,
    keyPath: `${directory}/${name}.key`,
  });
  const placed: PlacedPair[] = [];
  const place = (
    name: 'ca' | 'etcd' | 'frontProxy' | 'apiserverEtcdClient',
    paths: Pick<PlacedPair, 'certificatePath' | 'keyPath'>,
  ): void => {
    const pair = pki[name];
    if (pair === undefined) return;
    placed.push({ field: `kubernetes.pki.${name}`, pair, ...paths, isAuthority: name !== 'apiserverEtcdClient' });
  };
  place('ca', below('ca'));
  place('etcd', etcdAuthority(controlPlane.etcd) ?? below('etcd/ca'));
  place('frontProxy', below('front-proxy-ca'));
  place('apiserverEtcdClient', etcdClient(controlPlane.etcd) ?? below('apiserver-etcd-client'));
  return placed;
}

/** The key of an external etcd's authority does not belong on this machine. */
function etcdAuthority(etcd: EtcdModel): Pick<PlacedPair, 'certificatePath' | 'keyPath'> | undefined {
  return etcd.kind === 'external' ? { certificatePath: etcd.caFile, keyPath: undefined } : undefined;
}

function etcdClient(etcd: EtcdModel): Pick<PlacedPair, 'certificatePath' | 'keyPath'> | undefined {
  return etcd.kind === 'external' ? { certificatePath: etcd.certFile, keyPath: etcd.keyFile } : undefined;
}

function publicFile(path: string, content: string): NewFile {
  return { path, content: endingInNewline(content), mode: CERTIFICATE_MODE, ...OWNED_BY_ROOT };
}

function keyFile(path: string, content: string): NewFile {
  return { path, content: endingInNewline(content), mode: KEY_MODE, ...OWNED_BY_ROOT };
}

const OWNED_BY_ROOT = { uid: 0, gid: 0, directoryMode: CERTIFICATES_DIRECTORY_MODE };

function endingInNewline(pem: string): string {
  return pem.endsWith('\n') ? pem : `${pem}\n`;
}

function checkPair(placed: PlacedPair, input: PkiInput & { readonly now: Date }): readonly Evidence[] {
  const { pair, field } = placed;
  const problems: Evidence[] = [];
  const certificate = parsePublic(
    [pair.certificate, `${field}.certificate`],
    'certificate',
    (pem) => new X509Certificate(pem),
    problems,
  );
  if (certificate !== undefined) problems.push(...checkCertificate(certificate, placed, input.now));
  // A key that is not written is not read either.
  if (pair.key === undefined || placed.keyPath === undefined) return problems;
  const key = parsePrivateKey(input.secrets(pair.key), `${field}.key`, problems);
  if (certificate !== undefined && key !== undefined && !certificate.checkPrivateKey(key)) {
    problems.push({ source: `${field}.key`, text: 'the key does not belong to the certificate' });
  }
  return problems;
}

function checkCertificate(certificate: X509Certificate, placed: PlacedPair, now: Date): readonly Evidence[] {
  const source = `${placed.field}.certificate`;
  const problems: Evidence[] = [];
  if (placed.isAuthority && !certificate.ca)
    problems.push({ source, text: 'it is not a certificate authority (CA:TRUE)' });
  const { validFromDate, validToDate } = certificate;
  if (validFromDate.getTime() > now.getTime()) {
    problems.push({
      source,
      text: `${NOT_YET_VALID} ${validFromDate.toISOString()}, and this machine's clock says ${now.toISOString()}`,
    });
  }
  if (validToDate.getTime() <= now.getTime()) {
    problems.push({
      source,
      text: `it expired at ${validToDate.toISOString()}, and this machine's clock says ${now.toISOString()}`,
    });
  }
  return problems;
}

function checkServiceAccount(publicKey: string, privateKey: string): readonly Evidence[] {
  const field = 'kubernetes.pki.serviceAccount';
  const problems: Evidence[] = [];
  const expected = parsePublic([publicKey, `${field}.publicKey`], 'public key', createPublicKey, problems);
  const key = parsePrivateKey(privateKey, `${field}.key`, problems);
  if (expected !== undefined && key !== undefined && !createPublicKey(key).equals(expected)) {
    problems.push({ source: `${field}.key`, text: 'the key does not belong to the public key' });
  }
  return problems;
}

/** Certificate and public-key files are readable by root's group: they must not contain a private key. */
function holdsPrivateKey(pem: string): boolean {
  return /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem);
}

/** A PEM text that must be public. Of several certificates the first counts, as for kubeadm (k/k cmd/kubeadm/app/util/pkiutil). */
function parsePublic<Parsed>(
  [pem, source]: readonly [pem: string, source: string],
  what: string,
  parse: (pem: string) => Parsed,
  problems: Evidence[],
): Parsed | undefined {
  try {
    if (!holdsPrivateKey(pem)) return parse(pem);
    problems.push({ source, text: 'it holds a private key, which belongs in the field key' });
  } catch {
    problems.push({ source, text: `it is not a ${what} in PEM` });
  }
  return undefined;
}

/**
 * kubeadm accepts RSA and ECDSA keys without a passphrase. The parser's message is withheld, because it may quote a
 * secret.
 */
function parsePrivateKey(pem: string, source: string, problems: Evidence[]): KeyObject | undefined {
  if (/ENCRYPTED/.test(pem)) {
    problems.push({ source, text: 'the key has a passphrase, which kubeadm cannot ask for' });
    return undefined;
  }
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === 'rsa' || key.asymmetricKeyType === 'ec') return key;
    problems.push({ source, text: `kubeadm accepts RSA and ECDSA keys, not ${key.asymmetricKeyType ?? 'this kind'}` });
    return undefined;
  } catch {
    problems.push({ source, text: 'it is not a private key in PEM' });
    return undefined;
  }
}
