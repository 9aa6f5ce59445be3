import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { hardenModel } from '@machineadm/hardening/harden-model.ts';

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n';

async function judged(
  body: string,
): Promise<{ readonly problems: readonly string[]; readonly model: Model | undefined }> {
  const result = await loadDocument([{ name: 'd', bytes: new TextEncoder().encode(HEADER + body) }], {
    agentVersion: '0.1.0',
    complete: async (model) => hardenModel(model),
  });
  return result.ok
    ? { problems: [], model: result.document.model }
    : { problems: result.problems.map(formatDiagnostic), model: undefined };
}

const node = (rest: string, hardening = '{profiles: [cis-level-1]}', version = 'v1.33.2') =>
  `hardening: ${hardening}\nkubernetes:\n  version: ${version}\n  role: InitControlPlane\n${rest}`;

const INCLUDE_ENCRYPTION = '{profiles: [cis-level-1], include: [cis-1.2.28]}';
const SECRETBOX = `secretbox: {keys: [{name: a, key: ${Buffer.alloc(32, 7).toString('base64')}}]}`;
const PLAIN_FIRST = `{resources: [secrets], providers: [{identity: {}}, {${SECRETBOX}}]}`;
const OTHERS_ONLY = `{resources: [configmaps], providers: [{${SECRETBOX}}]}`;

describe('hardening', () => {
  const wrong: readonly (readonly [string, string, RegExp])[] = [
    ['an unknown profile', 'hardening: {profiles: [cis-level-3]}', /hardening\.profiles\[0\]: .*cis-level-1/],
    ['an unknown id', 'hardening: {profiles: [stig], include: [cis-9.9.9]}', /hardening\.include\[0\]: /],
    [
      'an exception without a reason',
      'hardening: {profiles: [stig], exceptions: [{id: stig-V-242376, reason: " "}]}',
      /exceptions\[0\]\.reason: an exception needs a reason/,
    ],
    [
      'an exception twice',
      'hardening: {profiles: [cis-level-1], exceptions: [{id: cis-1.2.15, reason: a}, {id: cis-1.2.15, reason: b}]}',
      /exceptions\[1\]\.id: cis-1\.2\.15 is named already \(hint: keep one of them\)/,
    ],
    [
      'an id that is included and excepted',
      'hardening: {profiles: [cis-level-1], include: [cis-1.2.11], exceptions: [{id: cis-1.2.11, reason: a}]}',
      /include\[0\]: cis-1\.2\.11 is among the exceptions, too/,
    ],
    [
      'an exception from what is not asked for',
      'hardening: {profiles: [cis-level-1], exceptions: [{id: stig-V-242376, reason: a}]}',
      /exceptions\[0\]\.id: stig-V-242376 is in none of the profiles chosen/,
    ],
    [
      'a program in the place of kubeadm',
      'hardening: {profiles: [cis-level-1]}\nkubernetes: {version: v1.33.2, role: InitControlPlane, bootstrapper: {exec: {command: k3s}}}',
      /profiles\[0\]: cis-level-1 is for nodes that kubeadm created/,
    ],
    [
      'an argument that contradicts',
      node('  controlPlane: {apiServer: {args: [{name: v, value: "2"}, {name: profiling, value: "true"}]}}'),
      /d:8:60 {2}kubernetes\.controlPlane\.apiServer\.args\[1\]: contradicts cis-1\.2\.15: it must be "false" \(hint: change it, or add \{id: cis-1\.2\.15, reason: …\} to hardening\.exceptions\)/,
    ],
    [
      'a section that contradicts',
      node('  controlPlane: {apiServer: {audit: {policy: {rules: [{level: Metadata}]}, log: {maxAge: 168h}}}}'),
      /kubernetes\.controlPlane\.apiServer\.audit: contradicts cis-1\.2\.17: it must be at least 30/,
    ],
    [
      'an audit policy that leaves out what is asked for',
      node(
        '  controlPlane: {apiServer: {audit: {policy: {rules: [{level: Metadata}]}, log: {}}}}',
        '{profiles: [cis-level-2]}',
      ),
      /d:8:\d+ {2}kubernetes\.controlPlane\.apiServer\.audit\.policy: contradicts cis-3\.2\.2: it must cover .*create pods is logged at Metadata, not at Request/,
    ],
    [
      'encryption that writes in the clear',
      node(`  controlPlane: {apiServer: {encryptionAtRest: ${PLAIN_FIRST}}}`, INCLUDE_ENCRYPTION),
      /apiServer\.encryptionAtRest: contradicts cis-1\.2\.28: it must encrypt secrets/,
    ],
    [
      'encryption of everything but secrets',
      node(`  controlPlane: {apiServer: {encryptionAtRest: ${OTHERS_ONLY}}}`, INCLUDE_ENCRYPTION),
      /apiServer\.encryptionAtRest: contradicts cis-1\.2\.28: it must encrypt secrets/,
    ],
    [
      'no encryption where it is asked for',
      node('', INCLUDE_ENCRYPTION),
      /cis-1\.2\.28 needs encryption at rest, whose keys only the document can provide/,
    ],
    [
      'anonymous requests that a file lets in',
      node(
        '  controlPlane: {apiServer: {authentication: {structured: {anonymous: {enabled: true}}}}}',
        '{profiles: [], include: [cis-1.2.1]}',
      ),
      /apiServer\.authentication\.structured\.anonymous: contradicts cis-1\.2\.1: it must be "false"/,
    ],
    [
      'an admission plugin that is switched off',
      node('  controlPlane: {apiServer: {admission: {disable: [NamespaceLifecycle]}}}'),
      /apiServer\.admission: contradicts cis-1\.2\.13: it must not name NamespaceLifecycle/,
    ],
    [
      'an admission plugin that is configured and switched off',
      node('  controlPlane: {apiServer: {admission: {disable: [PodSecurity]}}}', '{profiles: [stig]}'),
      /apiServer\.admission: contradicts stig-V-254800: it must not name PodSecurity/,
    ],
    [
      "the kubelet's configuration",
      node('  node: {kubelet: {config: {authentication: {anonymous: {enabled: true}}}}}'),
      /kubernetes\.node\.kubelet\.config\.authentication\.anonymous\.enabled: contradicts cis-4\.2\.1/,
    ],
    [
      "the kubelet's flags",
      node('  node: {kubelet: {args: [{name: read-only-port, value: "10255"}]}}'),
      /kubernetes\.node\.kubelet\.args\[0\]: contradicts cis-4\.2\.4/,
    ],
    [
      "a node's name that is not the host's",
      `host: {hostname: a}\n${node('  node: {name: b}')}`,
      /kubernetes\.node\.name: contradicts cis-4\.2\.7: it must be host\.hostname \(a\)/,
    ],
    [
      "kube-proxy's address",
      node('  addons: {proxy: {config: {metricsBindAddress: "0.0.0.0:10249"}}}'),
      /metricsBindAddress: contradicts cis-4\.3\.1/,
    ],
    [
      'a kernel setting',
      'host: {sysctl: {net.ipv4.tcp_syncookies: 0}}\nhardening: {profiles: [cis-os]}',
      /host\.sysctl.*: contradicts cis-os-3\.3\.10: it must be 1/,
    ],
    [
      'a module',
      'host: {kernelModules: [hfs]}\nhardening: {profiles: [cis-os]}',
      /host\.kernelModules\[0\]: contradicts cis-os-1\.1\.1\.3: it must not be loaded/,
    ],
    [
      'a file that is too open',
      'host: {files: [{path: /etc/cni/net.d/10-x.conf, content: "{}"}]}\nhardening: {profiles: [cis-level-1]}',
      /host\.files\[0\]: contradicts cis-1\.1\.9: it must have a mode of at most "0600"/,
    ],
    [
      'what only the document can bring',
      node('', '{profiles: [cis-level-1], include: [cis-1.2.27]}'),
      /cis-1\.2\.27 needs the argument encryption-provider-config/,
    ],
    [
      'the certificate of a kubelet',
      node('', '{profiles: [], include: [stig-V-242425]}'),
      /stig-V-242425 needs tlsCertFile, which only the document can set/,
    ],
  ];
  for (const [what, body, expected] of wrong) {
    test(`${what} is refused`, async () => {
      const { problems } = await judged(body);
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', expected);
    });
  }

  test('an exception resolves a conflict', async () => {
    const args = '  controlPlane: {apiServer: {args: [{name: profiling, value: "true"}]}}';
    const { problems, model } = await judged(
      node(args, '{profiles: [cis-level-1], exceptions: [{id: cis-1.2.15, reason: we profile}]}'),
    );
    assert.deepEqual(problems, []);
    const values = model?.kubernetes?.controlPlane.apiServer.args.filter(({ name }) => name === 'profiling');
    assert.deepEqual(values, [{ name: 'profiling', value: 'true' }]);
  });

  test('a setting of the document stays if it satisfies the control', async () => {
    const { problems, model } = await judged(
      node(
        '  controlPlane: {apiServer: {audit: {policy: {rules: [{level: Request}]}, log: {maxAge: 2160h, maxBackups: 20, maxSize: 200Mi}}}}\n  node: {kubelet: {config: {podPidsLimit: 100}}}',
      ),
    );
    assert.deepEqual(problems, []);
    const { audit, args } = model?.kubernetes?.controlPlane.apiServer ?? {};
    assert.deepEqual(audit?.policy.rules, [{ level: 'Request' }]);
    assert.ok(args?.every(({ name }) => !name.startsWith('audit-')));
    assert.equal(model?.kubernetes?.node.kubelet.config.podPidsLimit, 100);
  });

  test('sections that satisfy the controls about their files are taken as they are', async () => {
    const sections = `audit: {policy: {rules: [{level: RequestResponse}]}, log: {maxAge: 720h, maxBackups: 10, maxSize: 100Mi}}, encryptionAtRest: {resources: [secrets], providers: [{${SECRETBOX}}]}, authentication: {structured: {anonymous: {enabled: false}}}`;
    const { problems, model } = await judged(
      node(
        `  controlPlane: {apiServer: {${sections}}}`,
        '{profiles: [cis-level-2, stig], include: [cis-1.2.1, cis-1.2.27, cis-1.2.28]}',
      ),
    );
    assert.deepEqual(problems, []);
    const { audit, args } = model?.kubernetes?.controlPlane.apiServer ?? {};
    assert.deepEqual(audit?.policy.rules, [{ level: 'RequestResponse' }]);
    // The API server refuses the argument beside the file's word, and two of the same.
    assert.deepEqual(
      args?.filter(({ name }) => /^(anonymous-auth|encryption-|audit-policy|audit-log-path)/.test(name)),
      [],
    );
  });

  test('lists of admission plugins are merged', async () => {
    const { model } = await judged(
      node(
        '  controlPlane: {apiServer: {admission: {enable: [PodNodeSelector]}}}',
        '{profiles: [cis-level-1], include: [cis-1.2.11]}',
      ),
    );
    assert.deepEqual(model?.kubernetes?.controlPlane.apiServer.admission?.enable, [
      'PodNodeSelector',
      'AlwaysPullImages',
    ]);
  });

  test('rp_filter and accept_ra are left alone; ip_forward stays on', async () => {
    const { model } = await judged('hardening: {profiles: [cis-os]}');
    const keys = model?.host.sysctl.map(({ key }) => key) ?? [];
    assert.ok(keys.includes('net/ipv4/conf/all/accept_redirects'));
    assert.deepEqual(
      keys.filter((key) => /rp_filter|accept_ra$/.test(key)),
      [],
    );
    assert.equal(model?.host.sysctl.find(({ key }) => key === 'net/ipv4/ip_forward')?.value, '1');
    const denial = model?.host.files.find(({ path }) => path === '/etc/modprobe.d/90-machineadm-hardening.conf');
    assert.ok(denial?.content.kind === 'inline');
    assert.match(new TextDecoder().decode(denial.content.bytes), /^install cramfs \/bin\/false\nblacklist cramfs$/m);
  });

  test('anonymous-auth=false adds probes that need no anonymous access', async () => {
    const { model } = await judged(node('', '{profiles: [cis-level-1], include: [cis-1.2.1]}'));
    const [patch] = model?.kubernetes?.kubeadm.patches ?? [];
    assert.equal(patch?.target, 'kube-apiserver');
    assert.match(JSON.stringify(patch?.patch), /"livenessProbe":\{"httpGet":null,"tcpSocket":\{"port":6443\}\}/);
  });

  test('without the section nothing changes', async () => {
    const { model } = await judged('kubernetes: {version: v1.33.2, role: InitControlPlane}');
    assert.equal(model?.hardening, undefined);
    assert.deepEqual(model?.kubernetes?.controlPlane.apiServer.args, []);
  });
});
