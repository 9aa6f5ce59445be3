import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Role } from '@machineadm/document/model/index.ts';
import { exampleDocument } from '@machineadm/document/versions/example.ts';
import { DOCUMENT_VERSIONS } from '@machineadm/document/versions/index.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import { DOCUMENT_API_VERSIONS } from '../../../src/commands/version.ts';
import { load, loaded, problemsOf } from '../../support/document.ts';

const JOIN =
  'join: {discovery: {token: {token: abcdef.0123456789abcdef, endpoint: "10.0.0.1:6443", unsafeSkipCAVerification: true}}}';

describe('rules across fields', () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    [
      'a join without its section',
      'kubernetes: {version: v1.35.2, role: Worker}',
      /kubernetes: the role Worker needs "join"/,
    ],
    [
      'an init with a join',
      `kubernetes: {version: v1.35.2, role: InitControlPlane, ${JOIN}}`,
      /kubernetes\.join: has no effect for the role InitControlPlane/,
    ],
    [
      'a worker with a control plane',
      `kubernetes: {version: v1.35.2, role: Worker, controlPlane: {}, ${JOIN}}`,
      /kubernetes\.controlPlane: has no effect for the role Worker/,
    ],
    [
      'a control-plane join without shared certificates',
      `kubernetes: {version: v1.35.2, role: JoinControlPlane, ${JOIN}}`,
      /a joining control plane needs the shared certificates/,
    ],
    [
      'a cluster that cannot be verified',
      'kubernetes: {version: v1.35.2, role: Worker, join: {discovery: {token: {token: abcdef.0123456789abcdef, endpoint: "a:1"}}}}',
      /the cluster cannot be verified: no caCertHashes/,
    ],
    [
      'hashes and skipping them',
      `kubernetes: {version: v1.35.2, role: Worker, join: {discovery: {token: {token: abcdef.0123456789abcdef, endpoint: "a:1", unsafeSkipCAVerification: true, caCertHashes: ["sha256:${'0'.repeat(64)}"]}}}}`,
      /exclude each other/,
    ],
    [
      'a Kubernetes too old',
      `kubernetes: {version: v1.19.9, role: Worker, ${JOIN}}`,
      /kubernetes\.version: Kubernetes v1\.19\.9 is older than v1\.20/,
    ],
    [
      'two kinds of etcd',
      'kubernetes: {version: v1.35.2, role: InitControlPlane, controlPlane: {etcd: {local: {}, external: {endpoints: ["https://a:2379"], caFile: /a, certFile: /b, keyFile: /c}}}}',
      /etcd: local and external exclude each other/,
    ],
    [
      'a token with ttl and expires',
      'kubernetes: {version: v1.35.2, role: InitControlPlane, cluster: {bootstrapTokens: [{token: abcdef.0123456789abcdef, ttl: 1h, expires: "2030-01-01T00:00:00Z"}]}}',
      /ttl and expires exclude each other/,
    ],
    [
      'two files of one path',
      'host: {files: [{path: /a, content: x}, {path: /a, content: y}]}',
      /host\.files\[1\]\.path: \/a is already written by host\.files\[0\]/,
    ],
    [
      'content that is not base64',
      'host: {files: [{path: /a, content: "%%", encoding: base64}]}',
      /host\.files\[0\]\.content: not base64/,
    ],
    [
      'content that is not gzip',
      'host: {files: [{path: /a, content: aGk=, encoding: gzip+base64}]}',
      /host\.files\[0\]\.content: not gzip/,
    ],
    ['a path that climbs', 'host: {files: [{path: /a/../b, content: x}]}', /a path must not contain "\.\."/],
    [
      'a verbosity that prints secrets',
      'kubernetes: {version: v1.35.2, role: InitControlPlane, bootstrapper: {kubeadm: {verbosity: 8}}}',
      /at most 5: above, kubeadm prints the bodies of requests/,
    ],
  ];
  for (const [what, body, expected] of cases) {
    test(`${what} is refused`, async () => {
      const problems = await problemsOf(`${body}\n`);
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', expected);
    });
  }

  test('a malformed secret is refused without being shown', async () => {
    const body = `secrets: {t: {value: Not-A-Token-At-All}}\nkubernetes: {version: v1.35.2, role: InitControlPlane, cluster: {bootstrapTokens: [{token: {secret: t}}]}, controlPlane: {certificateKey: deadbeef}}\n`;
    const problems = (await problemsOf(body)).join('\n');
    assert.match(problems, /bootstrapTokens\[0\]\.token: malformed: a token is 6 characters/);
    assert.match(problems, /controlPlane\.certificateKey: malformed: a certificate key is 64 hex digits/);
    assert.doesNotMatch(problems, /Not-A-Token|deadbeef/);
  });

  test('a mistyped secret name gets the nearest one', async () => {
    const body =
      'secrets: {joinToken: {value: abcdef.0123456789abcdef}}\nkubernetes: {version: v1.35.2, role: InitControlPlane, cluster: {bootstrapTokens: [{token: {secret: jointoken}}]}}\n';
    assert.match(
      (await problemsOf(body)).join(),
      /no secret of the name "jointoken" \(hint: did you mean "joinToken"\?\)/,
    );
  });
});

describe('the model', () => {
  test('has the documented defaults', async () => {
    const { model } = await loaded(`kubernetes: {version: v1.35.2, role: Worker, ${JOIN}}\n`);
    assert.equal(model.host.swap, 'Unmanaged');
    assert.equal(model.containerd, undefined);
    assert.deepEqual(model.kubernetes?.ready, { require: 'NodeRegistered', timeoutMs: 300_000, endpoint: 'Required' });
    assert.equal(model.kubernetes?.timeouts.overallMs, 1_800_000);
    assert.equal(model.reporting.sentinelPath, '/run/cluster-api/bootstrap-success.complete');
    assert.deepEqual(model.reporting.sinks, [{ kind: 'Journal' }]);
  });

  test('keeps the three meanings of taints apart', async () => {
    const taints = async (text: string) =>
      (await loaded(`kubernetes: {version: v1.35.2, role: Worker, node: {${text}}, ${JOIN}}\n`)).model.kubernetes?.node
        .taints;
    assert.equal(await taints(''), undefined);
    assert.deepEqual(await taints('taints: []'), []);
    assert.deepEqual(await taints('taints: [{key: a, effect: NoSchedule}]'), [
      { key: 'a', value: undefined, effect: 'NoSchedule' },
    ]);
  });

  test('knows a sysctl key in both spellings', async () => {
    const { model } = await loaded(
      'host: {sysctl: {net.ipv4.conf.eth0/100.rp_filter: 0, net/ipv4/conf/eth0.200/rp_filter: 2}}\n',
    );
    assert.deepEqual(model.host.sysctl, [
      { key: 'net/ipv4/conf/eth0.100/rp_filter', value: '0' },
      { key: 'net/ipv4/conf/eth0.200/rp_filter', value: '2' },
    ]);
  });

  test('has the bytes of encoded files, and 0600 for what comes from a secret', async () => {
    const packed = gzipSync('hello').toString('base64');
    const { model } = await loaded(
      `secrets: {s: {value: topsecret}}\nhost: {files: [{path: /a, content: ${packed}, encoding: gzip+base64, owner: "1:2"}, {path: /b, contentFrom: {secret: s}}]}\n`,
    );
    const [a, b] = model.host.files;
    assert.ok(a?.content.kind === 'inline');
    assert.equal(Buffer.from(a.content.bytes).toString(), 'hello');
    assert.deepEqual([a.user, a.group, a.mode], ['1', '2', 0o644]);
    assert.equal(b?.mode, 0o600);
    assert.doesNotMatch(JSON.stringify(b), /topsecret/);
  });
});

describe('the published files', () => {
  for (const role of ['InitControlPlane', 'JoinControlPlane', 'Worker'] as const satisfies readonly Role[]) {
    test(`the example for ${role} is valid as it is`, async () => {
      const result = await load(exampleDocument(role));
      assert.ok(result.ok);
      assert.equal(result.document.model.kubernetes?.role, role);
    });
  }

  test('the JSON Schema describes every section and refuses unknown keys', () => {
    const schema = jsonSchema() ?? {};
    assert.equal(schema.additionalProperties, false);
    assert.deepEqual(
      Object.keys(schema.properties as object).sort(),
      [
        'apiVersion',
        'apply',
        'containerRuntime',
        'hardening',
        'host',
        'images',
        'kind',
        'kubernetes',
        'metadata',
        'reporting',
        'requires',
        'secrets',
        'variables',
      ].sort(),
    );
    assert.deepEqual(schema.required, ['apiVersion', 'kind', 'metadata']);
  });

  test('`version` names the versions that the loader reads', () => {
    assert.deepEqual(
      DOCUMENT_API_VERSIONS,
      DOCUMENT_VERSIONS.map((version) => version.apiVersion),
    );
  });
});
