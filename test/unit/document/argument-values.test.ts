import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { problemsOf } from '../../support/document.ts';

const init = (more: string, version = 'v1.36.2'): string =>
  `kubernetes: {version: ${version}, role: InitControlPlane, ${more}}\n`;
const argument = (component: string, name: string, value: string, version?: string): string =>
  init(`controlPlane: {${component}: {args: [{name: ${name}, value: ${JSON.stringify(value)}}]}}`, version);
const apiServer = (name: string, value: string, version?: string): string =>
  argument('apiServer', name, value, version);
const kubelet = (name: string, value: string): string =>
  init(`node: {kubelet: {args: [{name: ${name}, value: ${JSON.stringify(value)}}]}}`);
const configuration = (fields: string): string => init(`node: {kubelet: {config: {${fields}}}}`);

const told = async (body: string): Promise<readonly string[]> =>
  (await problemsOf(body)).map((line) => line.replace(/^\S+\s+/, ''));

/** Each was refused by a kube-apiserver, kube-controller-manager, kube-scheduler or kubelet 1.36, or by its sources. */
const REFUSED: readonly (readonly [string, string, string | RegExp])[] = [
  [
    'a duration without a unit',
    apiServer('event-ttl', '3600'),
    'must be a duration, such as "10s" or "1h30m" (hint: "3600s" for seconds)',
  ],
  [
    'a duration in days',
    argument('controllerManager', 'cluster-signing-duration', '30d'),
    'must be a duration, such as "10s" or "1h30m" (hint: "720h": there is no unit for days)',
  ],
  ['an empty duration', apiServer('request-timeout', ''), 'must be a duration, such as "10s" or "1h30m"'],
  ['yes', argument('scheduler', 'leader-elect', 'yes'), 'must be "true" or "false"'],
  ['a number with a unit', apiServer('audit-log-maxsize', '100M'), 'must be a whole number'],
  ['a decimal fraction', kubelet('max-pods', '1.5'), 'must be a whole number'],
  ['a rate that is a word', argument('controllerManager', 'node-eviction-rate', 'high'), 'must be a number'],
  ['a name for an address', apiServer('bind-address', 'localhost'), 'must be an IP address'],
  ['a verbosity', argument('scheduler', 'v', 'debug'), 'must be a whole number'],
  [
    'a format of the audit log',
    apiServer('audit-log-format', 'JSON'),
    'is not a value that is known (hint: did you mean "json"?)',
  ],
  [
    'a mode of authorization in another case',
    apiServer('authorization-mode', 'Node,Rbac'),
    '"Rbac" is not known (hint: did you mean "RBAC"?)',
  ],
  [
    'a cipher suite of OpenSSL',
    apiServer('tls-cipher-suites', 'TLS_AES_128_GCM_SHA256,ECDHE-RSA-AES128-GCM-SHA256'),
    /^"ECDHE-RSA-AES128-GCM-SHA256" is not known \(hint: /,
  ],
  [
    'a version of TLS as it is written elsewhere',
    kubelet('tls-min-version', 'TLS1.2'),
    /^is not a value that is known \(hint: .*VersionTLS12/,
  ],
  [
    'a version of an API that the minor has no more',
    apiServer('runtime-config', 'autoscaling/v2beta2=true'),
    'kube-apiserver 1.36 has no API autoscaling/v2beta2 (hint: known: autoscaling/v1, autoscaling/v2)',
  ],
  [
    'a group without its domain',
    apiServer('runtime-config', 'resource/v1beta1=true'),
    'kube-apiserver 1.36 has no API resource/v1beta1 (hint: did you mean "resource.k8s.io"?)',
  ],
  [
    'an API that comes later',
    apiServer('runtime-config', 'resource.k8s.io/v1beta2=true', 'v1.32.4'),
    /^kube-apiserver 1\.32 has no API resource\.k8s\.io\/v1beta2/,
  ],
  [
    'all alpha APIs without a value',
    apiServer('runtime-config', 'api/alpha'),
    'api/alpha must be true or false (hint: api/alpha=true)',
  ],
  [
    'a kind in place of an API',
    apiServer('runtime-config', 'CronJob=true'),
    'CronJob is not the name of an API (hint: such as batch/v1 or api/alpha)',
  ],
  [
    'a hairpin mode of the kubelet',
    configuration('hairpinMode: veth'),
    /^the kubelet does not know this value \(hint: .*hairpin-veth/,
  ],
  [
    'an enforcement in a list',
    configuration('enforceNodeAllocatable: [pods, kubeReserved]'),
    'the kubelet does not know this value (hint: did you mean "kube-reserved"?)',
  ],
  ['a limit', configuration('oomScoreAdj: 2000'), 'must be from -1000 to 1000'],
  ['a least number', configuration('containerLogMaxFiles: 1'), 'must be 2 or more'],
  [
    'a value in an object of the configuration',
    configuration('memorySwap: {swapBehavior: UnlimitedSwap}'),
    /^the kubelet does not know this value \(hint: .*LimitedSwap/,
  ],
  [
    'a value in a patch',
    init(
      'bootstrapper: {kubeadm: {patches: [{target: kubeletconfiguration, type: json, patch: [{op: add, path: /maxPods, value: -1}]}]}}',
    ),
    'must be 0 or more',
  ],
];

describe('values that a component does not start with', () => {
  for (const [what, body, expected] of REFUSED) {
    test(what, async () => {
      const [first, ...others] = await told(body);
      assert.deepEqual(others, []);
      const text = first?.replace(/^\S+: /, '') ?? '';
      if (typeof expected === 'string') assert.equal(text, expected);
      else assert.match(text, expected);
    });
  }
});

describe("files of the document with the kubelet's configuration", () => {
  const files = (name: string, content: string, more: string): string =>
    `host: {files: [{path: ${name}, content: ${JSON.stringify(content)}}]}\n${init(more)}`;
  const patched = 'bootstrapper: {kubeadm: {patches: {directory: /etc/patches}}}';
  const dropIns = 'node: {kubelet: {args: [{name: config-dir, value: /etc/kubelet.d}]}}';
  const place = 'host.files[0].content';

  test('are patches for kubeadm', async () => {
    const name = '/etc/patches/kubeletconfiguration1+merge.yaml';
    assert.deepEqual(await told(files(name, 'maxPods: many\nevictionhard: {}\n', patched)), [
      `${place}: maxPods: must be a whole number`,
      `${place}: evictionhard: the kubelet 1.36 has no field "evictionhard" here (hint: did you mean "evictionHard"?)`,
    ]);
    const json = '/etc/patches/kubeletconfiguration+json.json';
    assert.deepEqual(await told(files(json, '[{"op": "add", "path": "/oomScoreAdj", "value": 2000}]', patched)), [
      `${place}: [0].value: must be from -1000 to 1000`,
    ]);
  });

  test('are drop-ins of the kubelet', async () => {
    const content = 'kind: KubeletConfiguration\nsyncFrequency: 10\n';
    assert.deepEqual(await told(files('/etc/kubelet.d/10-sync.conf', content, dropIns)), [
      `${place}: syncFrequency: must be a duration, such as "10s" or "1h30m"`,
    ]);
  });

  test('are no others', async () => {
    for (const [name, more] of [
      ['/etc/patches/kube-apiserver+merge.yaml', patched],
      ['/etc/other/kubeletconfiguration1+merge.yaml', patched],
      ['/etc/kubelet.d/README', dropIns],
    ] as const) {
      assert.deepEqual(await told(files(name, 'maxPods: many\n', more)), []);
    }
  });
});

describe('values that a component takes', () => {
  const accepted: readonly (readonly [string, string])[] = [
    ['durations', apiServer('event-ttl', '1h30m')],
    ['zero without a unit', apiServer('shutdown-delay-duration', '0')],
    ['a hexadecimal number', apiServer('max-requests-inflight', '0x190')],
    ['a boolean of Go', argument('controllerManager', 'profiling', 'F')],
    ['an IPv6 address', apiServer('bind-address', '::')],
    ['cipher suites', apiServer('tls-cipher-suites', 'TLS_AES_128_GCM_SHA256, TLS_RSA_WITH_AES_128_CBC_SHA')],
    ['APIs', apiServer('runtime-config', 'api/alpha=true,batch/v1,resource.k8s.io/v1alpha3=true')],
    ['a resource of an API', apiServer('runtime-config', 'extensions/v1beta1/deployments=false')],
    ['an API of a minor whose APIs are not known', apiServer('runtime-config', 'batch/v2alpha1=true', 'v1.21.0')],
    ['a flag that takes any text', apiServer('service-account-issuer', '10')],
    [
      'a value that is known on the machine',
      `variables:\n  ADDRESS: {envFile: {path: /run/metadata, key: ADDRESS}}\n${apiServer('bind-address', '${ADDRESS}')}`,
    ],
    ['a variable of the container', apiServer('bind-address', '$(POD_IP)')],
    ['numbers of the kubelet', configuration('oomScoreAdj: -999, maxPods: 0, port: 0')],
  ];
  for (const [what, body] of accepted) {
    test(what, async () => assert.deepEqual(await problemsOf(body), []));
  }
});
