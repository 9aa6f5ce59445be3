import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubernetesModel } from '@machineadm/document/model/index.ts';
import { loaded, problemsOf } from '../../support/document.ts';

const PEM = '"-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----\\n"';
const init = (more: string): string => `kubernetes: {version: v1.35.2, role: InitControlPlane, ${more}}`;
const worker = (join: string, more = ''): string =>
  `kubernetes: {version: v1.35.2, role: Worker, join: {discovery: ${join}}${more}}`;
const TOKEN = '{token: {token: abcdef.0123456789abcdef, endpoint: "10.0.0.1:6443", unsafeSkipCAVerification: true}}';

async function kubernetesOf(body: string): Promise<KubernetesModel> {
  const { kubernetes } = (await loaded(body)).model;
  assert.ok(kubernetes);
  return kubernetes;
}

describe('a mistake in the bootstrapper is refused', () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    [
      'a moment at which a bootstrap token expires: kubeadm takes a time to live only',
      init('cluster: {bootstrapTokens: [{token: abcdef.0123456789abcdef, expires: "2030-01-01T00:00:00Z"}]}'),
      /bootstrapTokens\[0\]\.expires: kubeadm takes only a time to live/,
    ],
    [
      'a token that may sign and not authenticate',
      init('cluster: {bootstrapTokens: [{token: abcdef.0123456789abcdef, usages: [signing]}]}'),
      /bootstrapTokens\[0\]\.usages: kubeadm gives every token a group/,
    ],
    [
      "kubeadm's own kinds",
      init(
        'bootstrapper: {kubeadm: {extraDocuments: [{apiVersion: kubeadm.k8s.io/v1beta4, kind: InitConfiguration}]}}',
      ),
      /extraDocuments\[0\]\.kind: expected KubeletConfiguration or KubeProxyConfiguration/,
    ],
    [
      'a configuration in a version that kubeadm does not take',
      init(
        'bootstrapper: {kubeadm: {extraDocuments: [{apiVersion: kubelet.config.k8s.io/v1, kind: KubeletConfiguration}]}}',
      ),
      /extraDocuments\[0\]\.apiVersion: expected kubelet\.config\.k8s\.io\/v1beta1/,
    ],
    [
      'two configurations of the kubelet',
      init(
        'node: {kubelet: {config: {maxPods: 5}}}, bootstrapper: {kubeadm: {extraDocuments: [{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, maxPods: 6}]}}',
      ),
      /kubernetes\.node\.kubelet\.config says the same/,
    ],
    [
      'operations in a merge patch',
      init('bootstrapper: {kubeadm: {patches: [{target: etcd, type: merge, patch: [{op: remove, path: /a}]}]}}'),
      /the type json takes a list of operations/,
    ],
    [
      'a patch that a worker does not read',
      worker(TOKEN, ', bootstrapper: {kubeadm: {patches: [{target: kube-apiserver, patch: {a: b}}]}}'),
      /kube-apiserver has no effect for the role Worker/,
    ],
    ['a fourth attempt', init('bootstrapper: {kubeadm: {retry: {attempts: 4}}}'), /retry\.attempts: at most 3/],
    [
      'discovery in two ways',
      worker(`{file: {path: /etc/discovery.conf}, ${TOKEN.slice(1)}`),
      /token and file exclude each other/,
    ],
    ['discovery in no way', worker('{}'), /neither token nor file is given/],
    ['a discovery file of which nothing is known', worker('{file: {}}'), /neither kubeconfig nor the path/],
    [
      'a discovery file in which nobody asks',
      worker('{file: {kubeconfig: {server: "https://a:6443"}}}'),
      /neither user nor join\.tlsBootstrapToken/,
    ],
    [
      'an authority that is not looked at',
      worker(
        `{file: {kubeconfig: {server: "https://a:6443", certificateAuthority: ${PEM}, insecureSkipTLSVerify: true, user: {token: abc}}}}`,
      ),
      /certificateAuthority and insecureSkipTLSVerify exclude each other/,
    ],
    [
      'settings of a proxy that is not wanted',
      init('addons: {proxy: {enabled: false, config: {mode: ipvs}}}'),
      /addons\.proxy\.config: has no effect/,
    ],
    [
      'a renewal of certificates as soon as they are made',
      init('controlPlane: {certificates: {renewBefore: 365d}}'),
      /controlPlane\.certificates\.renewBefore: not shorter than the validity of certificates \(365 days, the default of kubeadm\)/,
    ],
    [
      'a renewal of certificates of a short validity',
      init('cluster: {certificateValidity: 24h}, controlPlane: {certificates: {renewBefore: 2d}}'),
      /not shorter than the validity of certificates \(24h\)/,
    ],
    [
      'a renewal of certificates that are not of kubeadm',
      init('bootstrapper: {exec: {command: k3s}}, controlPlane: {certificates: {renewBefore: 30d}}'),
      /controlPlane\.certificates: has no effect/,
    ],
    [
      "a static pod in the place of kubeadm's",
      init('controlPlane: {staticPods: [{name: etcd, manifest: "{apiVersion: v1, kind: Pod}"}]}'),
      /kubeadm itself writes etcd\.yaml/,
    ],
    [
      'a static pod that is none',
      init('controlPlane: {staticPods: [{name: vip, manifest: "{apiVersion: v1, kind: Service}"}]}'),
      /manifest: not one Pod/,
    ],
    [
      'two bootstrappers',
      init('bootstrapper: {kubeadm: {}, exec: {command: k3s}}'),
      /kubeadm and exec exclude each other/,
    ],
    [
      'a success test that is not there',
      init('bootstrapper: {exec: {command: k3s}}, ready: {require: Command}'),
      /Command is bootstrapper\.exec\.successTest, which is not given/,
    ],
    [
      "kubeadm proved by another program's test",
      init('ready: {require: Command}'),
      /success test of bootstrapper\.exec/,
    ],
    [
      'a proof that needs kubeadm',
      init('bootstrapper: {exec: {command: k3s}}, ready: {require: NodeReady}'),
      /NodeReady can be checked only with kubeadm's kubeconfigs/,
    ],
  ];
  for (const [name, body, expected] of cases) {
    test(name, async () => {
      const problems = await problemsOf(body);
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', expected);
    });
  }
});

describe('the failure patterns of a program', () => {
  const patternsIn = (...patterns: readonly string[]): string => {
    const entries = patterns.map((pattern) => `{pattern: ${JSON.stringify(pattern)}, reason: x}`);
    return init(`bootstrapper: {exec: {command: k3s, failurePatterns: [${entries.join(', ')}]}}`);
  };

  test('may use RE2 syntax: groups, names, flags, classes, repetition', async () => {
    const { exec } = await kubernetesOf(
      patternsIn(
        '(?i)refused',
        '^(a|b)+?c{2,3}$',
        '(?P<host>\\S+):(?<port>\\d+)',
        '[^\\w\\s]\\x41\\p{Greek}',
        '(?s-m:.)',
      ),
    );
    assert.equal(exec?.failurePatterns.length, 5);
  });

  const refused: readonly (readonly [string, string, string])[] = [
    ['a(?=b)', 'RE2 has no lookahead and no lookbehind (at character 2)', 'describe the line itself'],
    ['\\(?=a(?!b)', 'RE2 has no lookahead and no lookbehind (at character 6)', 'describe the line itself'],
    ['(?<=a)b', 'RE2 has no lookahead and no lookbehind (at character 1)', 'describe the line itself'],
    ['(a)\\1', 'RE2 has no backreferences (at character 4)', 'repeat the expression'],
    ['(?<n>a)\\k<n>', 'RE2 has no backreferences (at character 8)', 'repeat the expression'],
    ['\\u00e9', 'RE2 has no escape \\u (at character 1)', 'write the character itself, or \\x{20AC} for \\u20AC'],
    ['a\\Z', 'not an escape of RE2 (at character 2)', 'write the character without the backslash'],
    ['a{1001}', 'a repetition of more than 1000 (at character 2)', 'write * or +, or a smaller number'],
    ['.{0,900}', 'too large a pattern', 'repeat less'],
    ['(', 'not a regular expression of RE2: missing closing )', 'correct the pattern'],
    [
      'x[b-a]',
      'not a regular expression of RE2: invalid character class range (at character 3)',
      'correct the pattern',
    ],
  ];
  for (const [pattern, message, hint] of refused) {
    test(`are refused where RE2 cannot express them: ${pattern}`, async () => {
      const problems = await problemsOf(patternsIn('fine', pattern));
      assert.equal(problems.length, 1, problems.join('\n'));
      const at = 'kubernetes.bootstrapper.exec.failurePatterns[1].pattern: ';
      assert.ok(problems[0]?.includes(`${at}${message} (hint: ${hint}`), problems[0]);
    });
  }
});

describe('the kubernetes section in the model', () => {
  test('a kubelet and a kube-proxy configuration say the same as their fields', async () => {
    const { node, addons } = await kubernetesOf(
      init(
        'bootstrapper: {kubeadm: {extraDocuments: [{apiVersion: kubelet.config.k8s.io/v1beta1, kind: KubeletConfiguration, maxPods: 6}, {apiVersion: kubeproxy.config.k8s.io/v1alpha1, kind: KubeProxyConfiguration, mode: ipvs}]}}',
      ),
    );
    assert.deepEqual(node.kubelet.config, { maxPods: 6 });
    assert.deepEqual(addons.proxy.config, { mode: 'ipvs' });
  });

  test('a patch is strategic unless it says otherwise', async () => {
    const { kubeadm } = await kubernetesOf(
      init(
        'bootstrapper: {kubeadm: {patches: [{target: etcd, patch: {a: 1}}, {target: etcd, type: json, patch: [{}]}]}}',
      ),
    );
    assert.deepEqual(
      kubeadm.patches.map(({ type }) => type),
      ['strategic', 'json'],
    );
    assert.equal(kubeadm.patchesDirectory, undefined);
  });

  test('a retry is tried three times, ten seconds apart', async () => {
    assert.deepEqual((await kubernetesOf(init('node: {}'))).kubeadm.retry, { attempts: 3, backoffMs: 10_000 });
    const { kubeadm } = await kubernetesOf(init('bootstrapper: {kubeadm: {retry: {attempts: 1, backoff: 1m}}}'));
    assert.deepEqual(kubeadm.retry, { attempts: 1, backoffMs: 60_000 });
  });

  test('a discovery kubeconfig names the endpoint', async () => {
    const { join } = await kubernetesOf(
      worker('{file: {kubeconfig: {server: "https://api.example", user: {exec: {command: aws-iam-authenticator}}}}}'),
    );
    assert.ok(join !== undefined && 'path' in join.discovery);
    assert.equal(join.discovery.path, '/run/kubeadm/discovery.conf');
    assert.equal(join.discovery.endpoint, 'api.example:443');
  });

  test('a custom program may have versions, tokens and certificates that kubeadm does not know', async () => {
    const { exec, version } = await kubernetesOf(
      'kubernetes: {version: v1.30.4+k3s1, role: JoinControlPlane, join: {discovery: {token: {token: K10abc::server:xyz, endpoint: "10.0.0.1:6443"}}}, bootstrapper: {exec: {command: k3s-install, successTest: {command: [k3s, kubectl, get, nodes]}}}}',
    );
    assert.equal(version, 'v1.30.4+k3s1');
    assert.equal(exec?.proof, 'Command');
    assert.equal(exec?.timeoutMs, 1_200_000);
  });

  test('without a success test the kubelet proves the node', async () => {
    const { exec } = await kubernetesOf(init('bootstrapper: {exec: {command: k3s-install}}'));
    assert.equal(exec?.proof, 'KubeletHealthy');
  });

  test('retries and success tests do not make it another node', async () => {
    const digest = async (more: string) => (await loaded(init(more))).lastingDigest;
    const renewal = 'controlPlane: {certificates: {renewBefore: 30d}}';
    assert.equal(await digest(renewal), await digest(''), 'the renewal of certificates may be asked for later');
    assert.equal(
      await digest('bootstrapper: {kubeadm: {verbosity: 2}}'),
      await digest('bootstrapper: {kubeadm: {verbosity: 2, retry: {attempts: 1}}}'),
    );
    assert.notEqual(
      await digest('bootstrapper: {kubeadm: {verbosity: 2}}'),
      await digest('bootstrapper: {kubeadm: {verbosity: 3}}'),
    );
  });

  test('labels that are set after the join do not make it another node, and are no arguments of the kubelet', async () => {
    const digest = async (node: string) => (await loaded(init(node))).lastingDigest;
    const role = 'node-role.kubernetes.io/ingress: ""';
    assert.equal(await digest('cluster: {}'), await digest(`node: {labels: {${role}}}`));
    assert.equal(await digest('node: {name: n1}'), await digest(`node: {name: n1, labels: {${role}}}`));
    assert.equal(await digest('node: {labels: {a: b}}'), await digest(`node: {labels: {a: b, ${role}}}`));
    assert.notEqual(await digest('node: {labels: {a: b}}'), await digest(`node: {labels: {a: c, ${role}}}`));
    const { node } = await kubernetesOf(init(`node: {labels: {a: b, ${role}}}`));
    assert.deepEqual([node.labels, node.reservedLabels], [{ a: 'b' }, { 'node-role.kubernetes.io/ingress': '' }]);
  });
});
