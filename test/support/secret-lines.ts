/**
 * Lines with a secret that nobody told the redactor, as files and logs of nodes have them. `%` stands for the secret
 * part, and the alphabet says which random one takes its place: so that no line of this file is a credential.
 */
export interface SecretLine {
  readonly line: string;
  readonly secret: 'word' | 'base64' | 'hex' | 'letters' | 'capitals' | 'lower';
  readonly length: number;
}

const line = (text: string, secret: SecretLine['secret'] = 'letters', length = 36): SecretLine => ({
  line: text,
  secret,
  length,
});

export const SECRET_LINES: readonly SecretLine[] = [
  line('curl -H "Authorization: Bearer %" https://api.example.com/v1'),
  line("+ curl -sS -H 'Authorization: Basic %' https://registry.example.com/v2/", 'base64', 24),
  line('Authorization: Basic %', 'base64', 24),
  line('Authorization: Bearer %', 'lower', 20),
  line('authorization: Token %', 'hex', 40),
  line('x-api-key: %', 'lower', 24),
  line('X-Vault-Token: hvs.%', 'letters', 90),
  line('Cookie: session=%', 'lower', 24),
  line('aws_access_key_id = AKIA%', 'capitals', 16),
  line('aws_secret_access_key = %', 'base64', 40),
  line('AWS_SECRET_ACCESS_KEY=%', 'base64', 40),
  line('export AWS_SESSION_TOKEN="%"', 'base64', 120),
  line('request failed, credentials AKIA%: access denied', 'capitals', 16),
  line('used the key % for it', 'base64', 40),
  line('DB_PASSWORD=%', 'word', 12),
  line('password: %', 'word', 12),
  line('  "password": "%",', 'word', 12),
  line("db-password: '%'", 'word', 12),
  line('spring.datasource.password=%', 'word', 12),
  line('  auth = "%"', 'base64', 24),
  line('{"auths":{"registry.example.com":{"auth":"%"}}}', 'base64', 24),
  line('  identitytoken = "%"', 'lower', 24),
  line('    client-key-data: %', 'base64', 200),
  line('    token: %', 'lower', 24),
  line('kubeadm join 10.0.0.1:6443 --token abcdef.% --discovery-token-ca-cert-hash sha256:00', 'lower', 16),
  line('kubeadm join --certificate-key %', 'hex', 64),
  line('certificateKey: %', 'hex', 64),
  line('mount -t cifs -o username=svc,password=% //server/share /mnt', 'word', 12),
  line('useradd --password % svc', 'word', 14),
  line('svc:$6$%/x.9:19000:0:99999:7:::', 'letters', 40),
  line('HTTPS_PROXY=http://user:%@proxy.example.com:3128', 'word', 12),
  line('fetching https://user:%@git.example.com/x.git', 'word', 12),
  line('GET https://bucket.example.com/file?X-Amz-Signature=%&X-Amz-Expires=60', 'hex', 64),
  line('GET https://account.example.com/c?sv=2020&sig=%', 'base64', 44),
  line('postgresql://svc:%@db.example.com/app', 'word', 12),
  line('Server=db;User Id=svc;Password=%;Encrypt=true', 'word', 12),
  line('DefaultEndpointsProtocol=https;AccountKey=%;EndpointSuffix=x', 'base64', 86),
  line('token ghp_% is not valid', 'letters', 36),
  line('using glpat-%', 'letters', 20),
  line('xoxb-%', 'lower', 40),
  line('AIza%', 'letters', 35),
  line('eyJhbGciOiJSUzI1NiJ9.%.c2ln', 'letters', 60),
  line('-----BEGIN RSA PRIVATE KEY-----\\n%\\n-----END RSA PRIVATE KEY-----', 'base64', 64),
  line('%', 'base64', 64),
  line('{"message":"+ curl -H \\"Authorization: Bearer %\\" https://x"}', 'lower', 24),
  line('{"env":[{"name":"API_TOKEN","value":"%"}]}', 'letters', 36),
  line('npm config set //registry.example.com/:_authToken npm_%', 'letters', 36),
  line('Environment="ANY_NAME=%"', 'word', 12),
  line('net use \\\\server\\share /user:svc password=%', 'word', 12),
];

const ALPHABETS: Readonly<Record<SecretLine['secret'], string>> = {
  word: 'abcdefghijkmnpqrstuvwxyz23456789-!',
  base64: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
  hex: '0123456789abcdef',
  letters: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
  capitals: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  lower: 'abcdefghijklmnopqrstuvwxyz0123456789',
};

let state = 20261122;

/** Mulberry32: the same secrets in each run, so that a line that is missed once is missed always. */
function random(): number {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}

/** The line with a random secret in it, and the secret. */
export function withSecret({ line: text, secret, length }: SecretLine): {
  readonly text: string;
  readonly value: string;
} {
  const alphabet = ALPHABETS[secret];
  const value = Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
  return { text: text.replace('%', value), value };
}

/** As `withSecret`; the place is the last `%`, because a `%` may be the separator of user and password before it. */
export function withSecretAt(line: SecretLine): { readonly text: string; readonly value: string } {
  const at = line.line.lastIndexOf('%');
  const { value } = withSecret({ ...line, line: '%' });
  return { text: `${line.line.slice(0, at)}${value}${line.line.slice(at + 1)}`, value };
}

/** Lines of nodes that a diagnosis needs as they are. */
export const PLAIN_LINES: readonly string[] = [
  'kube-apiserver: --anonymous-auth must be "false"',
  // kubernetes/kubernetes cmd/kubeadm/app/cmd/init.go, placeholderToken
  'kubeadm join 10.0.0.10:6443 --token <value withheld> --discovery-token-ca-cert-hash sha256:0011',
  'hostnamectl --no-ask-password set-hostname cp-0',
  'kubeadm join 10.0.0.1:6443 --discovery-token-ca-cert-hash sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
  'E1122 09:33:26.123456 1234 kubelet.go:2412] "Error getting node" err="node \\"node-1\\" not found"',
  'Get "https://10.0.0.1:6443/api/v1/nodes?fieldSelector=metadata.name%3Dnode-1&limit=500&resourceVersion=0": dial tcp 10.0.0.1:6443: connect: connection refused',
  'error execution phase preflight: couldn\'t validate the identity of the API Server: could not find a JWS signature in the cluster-info ConfigMap for token ID "abcdef"',
  'failed to pull image "registry.k8s.io/kube-apiserver:v1.29.3": rpc error: code = NotFound',
  'registry.k8s.io/pause@sha256:7031c1b283388d2c2e09b57badb803c05ebed362dc88d84b480cc47f72a21097',
  'container 4f5e0c9b5a7d4e0f8f3f1c2b3a4958676f5e0c9b5a7d4e0f8f3f1c2b3a495867 exited with 1',
  'Unauthorized: authentication required, token expired or invalid',
  'x509: certificate signed by unknown authority (possibly because of "crypto/rsa: verification error" while trying to verify candidate authority certificate "kubernetes")',
  'Secret "kubeadm-certs" was not found in the "kube-system" Namespace. This Secret might have expired.',
  'the bootstrap token is expired; create a new one with "kubeadm token create"',
  '      --service-account-signing-key-file=/etc/kubernetes/pki/sa.key --tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'tokenTTL: 24h0m0s',
  'bootstrapTokens:',
  'usages: [signing, authentication]',
  'token: ""',
  'secretName: kubelet-serving',
  'secretRef: {name: node}',
  'imagePullSecrets:',
  'passwordFile: /etc/machineadm/password',
  'automountServiceAccountToken: true',
  'authentication:',
  'authorization-mode: Node,RBAC',
  'anonymous-auth=false',
  '2026-11-22T09:33:26.123456Z host machineadm[1234]: step kubeadm-init took 43.2 s',
  'systemd[1]: kubelet.service: Scheduled restart job, restart counter is at 5.',
  '/var/lib/kubelet/pods/3c1b9a1e-8f1c-4f5e-9b0e-0a1b2c3d4e5f/volumes/kubernetes.io~projected/kube-api-access-x7k2p',
  'kube-system_kube-apiserver-Node1_1a2b3c_Etcd',
  'io.containerd.grpc.v1.cri.ContainerdRuntimeV2RuncOptions',
  'ImagePullBackOff CrashLoopBackOff CreateContainerConfigError ControlPlaneComponentsHealthCheckSucceeded',
  'runId 0f8fad5b-d9cd-469f-a165-70867728950e bootId 9d9f0a7c1b2e4d3fa0b1c2d3e4f50617',
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl admin@example',
  'basic authentication is not supported, use a bearer token instead',
  '2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 link/ether 52:54:00:12:34:56',
  'HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\kubelet',
];
