import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loaded, problemsOf } from '../../support/document.ts';

interface Case {
  /** Parts of `kubernetes`, as YAML in braces. */
  readonly cluster?: string;
  readonly rest?: string;
  readonly role?: string;
  /** The place, and what is said of it. */
  readonly said: RegExp;
}

const documentOf = ({ cluster = '{}', rest = '', role = 'InitControlPlane' }: Omit<Case, 'said'>): string =>
  `kubernetes:\n  version: v1.35.2\n  role: ${role}\n  cluster: ${cluster}\n${rest === '' ? '' : `  ${rest}\n`}`;
const argument = (component: string, name: string, value: string): string =>
  `controlPlane: {${component}: {args: [{name: ${name}, value: "${value}"}]}}`;
const kubelet = (name: string, value: string, more = ''): string =>
  `node: {${more}kubelet: {args: [{name: ${name}, value: "${value}"}]}}`;
const config = (fields: string, more = ''): string => `node: {${more}kubelet: {config: {${fields}}}}`;

const REFUSED: Readonly<Record<string, Case>> = {
  'a range of services beside the subnets': {
    cluster: '{serviceSubnets: [10.96.0.0/16]}',
    rest: argument('apiServer', 'service-cluster-ip-range', '10.97.0.0/16'),
    said: /apiServer\.args\[0\]\.value: differs from kubernetes\.cluster\.serviceSubnets, which is 10\.96\.0\.0\/16/,
  },
  'a range of services beside the default': {
    rest: argument('apiServer', 'service-cluster-ip-range', '10.97.0.0/16'),
    said: /apiServer\.args\[0\]\.value: differs from kubernetes\.cluster\.serviceSubnets, which is 10\.96\.0\.0\/12/,
  },
  'another port of the API server': {
    rest: argument('apiServer', 'secure-port', '8443'),
    said: /apiServer\.args\[0\]\.value: differs from kubernetes\.controlPlane\.apiEndpoint\.bindPort, which is 6443/,
  },
  'two sockets': {
    rest: kubelet('container-runtime-endpoint', 'unix:///run/crio/crio.sock', 'criSocket: "unix:///run/a.sock", '),
    said: /args\[0\]\.value: differs from kubernetes\.node\.criSocket, which is unix:\/\/\/run\/a\.sock/,
  },
  'two sockets, one in the configuration': {
    rest: config('containerRuntimeEndpoint: "unix:///run/crio/crio.sock"', 'criSocket: "unix:///run/a.sock", '),
    said: /config\.containerRuntimeEndpoint: differs from kubernetes\.node\.criSocket/,
  },
  'tokens with one name': {
    cluster: '{bootstrapTokens: [{token: abcdef.0123456789abcdef}, {token: abcdef.fedcba9876543210}]}',
    said: /bootstrapTokens\[1\]\.token: the part before the dot is also that of kubernetes\.cluster\.bootstrapTokens\[0\]/,
  },
  'pods among the default services': {
    cluster: '{podSubnets: [10.100.0.0/16]}',
    said: /podSubnets\[0\]: shares addresses with 10\.96\.0\.0\/12, which kubeadm gives to services/,
  },
  'families without one in common': {
    cluster: '{podSubnets: [10.244.0.0/16], serviceSubnets: ["fd00::/112"]}',
    said: /podSubnets: pods have IPv4 only, and services IPv6 only \(fd00::\/112\): no service would reach a pod/,
  },
  'families without one in common, services by default': {
    cluster: '{podSubnets: ["fd00::/48"]}',
    said: /podSubnets: pods have IPv6 only, and services IPv4 only \(10\.96\.0\.0\/12\)/,
  },
  'an unspecified endpoint': {
    cluster: '{controlPlaneEndpoint: "0.0.0.0:6443"}',
    said: /controlPlaneEndpoint: no machine can be reached at 0\.0\.0\.0/,
  },
  'an unspecified endpoint of IPv6': {
    cluster: '{controlPlaneEndpoint: "[::]:6443"}',
    said: /controlPlaneEndpoint: no machine can be reached at ::/,
  },
  'a multicast address to advertise': {
    rest: 'controlPlane: {apiEndpoint: {advertiseAddress: 224.0.0.5}}',
    said: /advertiseAddress: kubeadm takes no multicast or link-local address/,
  },
  'a link-local address to advertise': {
    rest: 'controlPlane: {apiEndpoint: {advertiseAddress: "fe80::1"}}',
    said: /advertiseAddress: kubeadm takes no multicast or link-local address/,
  },
  'the port of the kubelet for the API server': {
    rest: 'controlPlane: {apiEndpoint: {bindPort: 10250}}',
    said: /bindPort: the kubelet listens on this port of a control plane/,
  },
  'the port of etcd for the API server': {
    rest: 'controlPlane: {apiEndpoint: {bindPort: 2379}}',
    said: /bindPort: etcd listens on this port of a control plane/,
  },
};

const WARNED: Readonly<Record<string, Case>> = {
  'an endpoint among the services': {
    cluster: '{controlPlaneEndpoint: "10.96.0.10:6443"}',
    said: /controlPlaneEndpoint: is in the subnet of services \(10\.96\.0\.0\/12\)/,
  },
  'an advertised address among the services': {
    cluster: '{serviceSubnets: ["fd00::/112"]}',
    rest: 'controlPlane: {apiEndpoint: {advertiseAddress: "fd00::7"}}',
    said: /advertiseAddress: is in the subnet of services \(fd00::\/112\)/,
  },
  'a node among the services': {
    rest: kubelet('node-ip', '10.97.0.7'),
    said: /node\.kubelet\.args\[0\]\.value: is in the subnet of services/,
  },
  'a subnet of pods for the controller manager alone': {
    cluster: '{podSubnets: [10.244.0.0/16]}',
    rest: argument('controllerManager', 'cluster-cidr', '10.1.0.0/16'),
    said: /controllerManager\.args\[0\]\.value: differs from kubernetes\.cluster\.podSubnets, which is 10\.244\.0\.0\/16/,
  },
  'services for the controller manager alone': {
    rest: argument('controllerManager', 'service-cluster-ip-range', '10.1.0.0/16'),
    said: /controllerManager\.args\[0\]\.value: differs from kubernetes\.cluster\.serviceSubnets/,
  },
  'an advertised address as an argument': {
    rest: 'controlPlane: {apiEndpoint: {advertiseAddress: 10.0.0.5}, apiServer: {args: [{name: advertise-address, value: 10.0.0.6}]}}',
    said: /apiServer\.args\[0\]\.value: differs from kubernetes\.controlPlane\.apiEndpoint\.advertiseAddress/,
  },
  'taints as an argument beside others': {
    rest: kubelet('register-with-taints', 'b=:NoSchedule', 'taints: [{key: a, effect: NoSchedule}], '),
    said: /args\[0\]\.value: differs from kubernetes\.node\.taints, which is a=:NoSchedule: the kubelet takes the argument only/,
  },
  'a cluster DNS outside of the services': {
    rest: config('clusterDNS: [10.200.0.10]'),
    said: /config\.clusterDNS\[0\]: is not in the subnet of services \(10\.96\.0\.0\/12\)/,
  },
  'a cluster DNS outside of the services, as an argument': {
    rest: kubelet('cluster-dns', '10.96.0.10,10.200.0.10'),
    said: /args\[0\]\.value: is not in the subnet of services/,
  },
  'another domain': {
    rest: config('clusterDomain: other.local'),
    said: /config\.clusterDomain: differs from kubernetes\.cluster\.dnsDomain, which is cluster\.local/,
  },
  'an argument against the configuration': {
    rest: 'node: {kubelet: {config: {maxPods: 100}, args: [{name: max-pods, value: "50"}]}}',
    said: /args\[0\]\.value: the kubelet takes this, and not kubernetes\.node\.kubelet\.config\.maxPods/,
  },
  'an argument twice': {
    rest: 'node: {kubelet: {args: [{name: max-pods, value: "50"}, {name: max-pods, value: "60"}]}}',
    said: /args\[0\]: kubelet ignores this: max-pods is given again at kubernetes\.node\.kubelet\.args\[1\]/,
  },
  'another file of the kubelet': {
    rest: kubelet('config', '/etc/kubelet.yaml'),
    said: /args\[0\]\.value: the kubelet would not read \/var\/lib\/kubelet\/config\.yaml, which kubeadm writes for it/,
  },
  'node ports over ports of the node': {
    rest: argument('apiServer', 'service-node-port-range', '6000-11000'),
    said: /apiServer\.args\[0\]\.value: a service may get a port .*: 6443, 10248, 10249, 10250, 10256, 10257, 10259/,
  },
  'node ports by their number over a port of the node': {
    rest: argument('apiServer', 'service-node-port-range', '6000+500'),
    said: /apiServer\.args\[0\]\.value: a service may get a port .*: 6443/,
  },
};

const NOTHING: Readonly<Record<string, Omit<Case, 'said'>>> = {
  'the same range of services': {
    cluster: '{serviceSubnets: [10.96.0.0/16]}',
    rest: argument('apiServer', 'service-cluster-ip-range', '10.96.0.0/16'),
  },
  'a variable': { rest: argument('apiServer', 'secure-port', '$(PORT)') },
  'the same socket without its scheme': {
    rest: kubelet('container-runtime-endpoint', '/run/a.sock', 'criSocket: "unix:///run/a.sock", '),
  },
  'a DNS cache of the node': { rest: config('clusterDNS: [169.254.20.10]') },
  'the same taints in another order': {
    rest: kubelet(
      'register-with-taints',
      'b:NoSchedule,a=x:NoExecute',
      'taints: [{key: a, value: x, effect: NoExecute}, {key: b, effect: NoSchedule}], ',
    ),
  },
  'a taint as an argument alone': { rest: kubelet('register-with-taints', 'a=:NoSchedule', 'taints: [], ') },
  'a list that grows with each argument': {
    rest: 'controlPlane: {apiServer: {args: [{name: service-account-issuer, value: "https://a.example"}, {name: service-account-issuer, value: "https://b.example"}]}}',
  },
  'a port of etcd, which runs elsewhere': {
    rest: 'controlPlane: {apiEndpoint: {bindPort: 2379}, etcd: {external: {endpoints: ["https://10.0.0.9:2379"], caFile: /e/ca.crt, certFile: /e/c.crt, keyFile: /e/c.key}}}',
  },
  'pods of both families, services of one': { cluster: '{podSubnets: [10.244.0.0/16, "fd00::/48"]}' },
  'a loopback address to advertise, which kubeadm takes for a wish': {
    rest: 'controlPlane: {apiEndpoint: {advertiseAddress: 127.0.0.1}}',
  },
  'usual node ports': { rest: argument('apiServer', 'service-node-port-range', '30000-32767') },
};

const warningsOf = async (one: Omit<Case, 'said'>): Promise<readonly string[]> =>
  (await loaded(documentOf(one))).warnings.map(({ path, message }) => `${path}: ${message}`);

describe('what a document says twice or against itself', () => {
  for (const [what, one] of Object.entries(REFUSED)) {
    test(`is refused where it cannot work: ${what}`, async () => {
      const problems = await problemsOf(documentOf(one));
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems.join(), one.said);
    });
  }
  for (const [what, one] of Object.entries(WARNED)) {
    test(`is a warning where it works otherwise than it reads: ${what}`, async () => {
      const warnings = await warningsOf(one);
      assert.equal(warnings.length, 1, warnings.join('\n'));
      assert.match(warnings.join(), one.said);
    });
  }
  for (const [what, one] of Object.entries(NOTHING)) {
    test(`is not found where it is right: ${what}`, async () => {
      assert.deepEqual(await warningsOf(one), []);
    });
  }
});
