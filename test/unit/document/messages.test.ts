import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { foreignFields } from '@machineadm/document/diagnostics/foreign-fields.ts';
import { SchemaFields } from '@machineadm/document/schema/published-fields.ts';
import { isPlainWord, quoted } from '@machineadm/document/text/quotable.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import { problemsOf } from '../../support/document.ts';

/** A body, and its only problem without the place. */
const MISTAKES: readonly (readonly [string, string, string])[] = [
  [
    'a role that is a part of two',
    'kubernetes: {version: v1.35.2, role: ControlPlane}\n',
    'kubernetes.role: expected one of InitControlPlane, JoinControlPlane, Worker, found "ControlPlane" (hint: did you mean "InitControlPlane" or "JoinControlPlane"?)',
  ],
  [
    'two roles',
    'kubernetes: {version: v1.35.2, role: [Worker]}\n',
    'kubernetes.role: expected one of InitControlPlane, JoinControlPlane, Worker, found a list (hint: write its only entry, without the list)',
  ],
  [
    'a switch for a choice',
    'host: {swap: false}\n',
    'host.swap: expected one of Disabled, Unmanaged, found false (hint: write Disabled)',
  ],
  [
    'a switch for a number',
    'host: {sysctl: {net.ipv4.ip_forward: true}}\n',
    'host.sysctl["net.ipv4.ip_forward"]: expected a whole number of at most 64 bits, or a string, found true (hint: write 1)',
  ],
  [
    "kubeadm's name of a field, with another below it",
    'kubernetes: {version: v1.35.2, role: InitControlPlane, nodeRegistration: {kubeletExtraArgs: {v: "4"}}}\n',
    'kubernetes.nodeRegistration: unknown key (hint: use kubernetes.node (kubeletExtraArgs: use kubernetes.node.kubelet.args))',
  ],
  [
    "cloud-init's name of a field",
    'host: {files: [{path: /etc/x, content: a, permissions: "0600"}]}\n',
    'host.files[0].permissions: unknown key (hint: use mode)',
  ],
  [
    'a field in the wrong section',
    'kubernetes: {version: v1.35.2, role: InitControlPlane, users: [{name: a}]}\n',
    'kubernetes.users: unknown key (hint: did you mean "host.users"?)',
  ],
  [
    'a field one level too deep',
    'host: {time: {timezone: Europe/Berlin}}\n',
    'host.time.timezone: unknown key (hint: did you mean "host.timezone"?)',
  ],
  [
    'a required key under another name',
    'host: {storage: {filesystems: [{device: {path: /dev/sdz}, filesystem: ext4}]}}\n',
    'host.storage.filesystems[0].filesystem: unknown key (hint: did you mean "type"?)',
  ],
  [
    'a device that is only its path',
    'host: {storage: {mounts: [{device: /dev/sdz, path: /srv/data}]}}\n',
    'host.storage.mounts[0].device: expected a device: one of {path}, {id}, {serial}, {label}, {partitionLabel}, {instanceStore}, {azureResource: true}, found "/dev/sdz" (hint: write {path: "/dev/sdz"})',
  ],
  [
    'a taint as kubectl writes it',
    'kubernetes: {version: v1.35.2, role: InitControlPlane, node: {taints: ["key=value:NoSchedule"]}}\n',
    'kubernetes.node.taints[0]: expected a map, found a string (hint: write {key: key, value: value, effect: NoSchedule})',
  ],
  [
    'a sink that does not exist',
    'reporting: {sinks: [{type: Slack}]}\n',
    'reporting.sinks[0].type: expected one of Journal, Console, SystemdNotify, WindowsEventLog, Exec, Kubernetes, Node, NATS, AWS, GCP, Azure, OTLP, Guestinfo, Webhook, found "Slack"',
  ],
  [
    'a label key with a blank',
    'kubernetes: {version: v1.35.2, role: InitControlPlane, node: {labels: {"bad label!": x}}}\n',
    'kubernetes.node.labels: "bad label!" is not a label key: use letters, digits, "-", "_" and ".", such as example.com/rack',
  ],
  [
    'a relative path',
    'host: {files: [{path: etc/x, content: a}]}\n',
    'host.files[0].path: "etc/x" is not an absolute path (hint: write "/etc/x")',
  ],
  [
    'a secret that is not declared',
    'host: {files: [{path: /etc/x, contentFrom: {secret: joinToken}}]}\n',
    'host.files[0].contentFrom.secret: no secret of the name "joinToken" (hint: add it under "secrets")',
  ],
  [
    'a key that is indented deeper than the one above it',
    'host:\n  hostname: node-1\n   swap: Disabled\n',
    'not YAML: a key that is indented deeper than the key above it, which has a value already (hint: indent both alike; if the lines are one value, put it in quotes)',
  ],
];

describe('a mistake in a document is one problem, which names the thing', () => {
  for (const [title, body, expected] of MISTAKES) {
    test(title, async () => {
      const problems = await problemsOf(body);
      assert.deepEqual(
        problems.map((line) => line.replace(/^doc\.yaml:\d+:\d+ {2}/, '')),
        [expected],
      );
    });
  }
});

/** A secret in each place where a habit or a slip can put one. */
const SECRETS = [
  'abcdef.0123456789abcdef',
  'hunter2hunter3',
  'S3cr3tP4ssw0rd',
  'QmFzZVNpeHR5Rm91clRleHQ',
  'c0ffee00c0ffee00',
];

describe('a misplaced secret', () => {
  for (const secret of SECRETS) {
    test(`${secret} is in no message`, async () => {
      const bodies = [
        `host: {"${secret}": 1}\n`,
        `host: {swap: "${secret}"}\n`,
        `host: {hostname: "_${secret}"}\n`,
        `host: {files: [{path: "${secret}", content: a}]}\n`,
        `host: {files: [{path: /etc/x, contentFrom: {secret: "${secret}"}}]}\n`,
        `host: {hostname: "\${${secret}}"}\n`,
        `reporting: {sinks: [{type: "${secret}"}]}\n`,
        `kubernetes: {version: "${secret}", role: Worker}\n`,
        `kubernetes: {version: v1.35.2, role: Worker, node: {labels: {"${secret}!": x}}}\n`,
        `secrets: {a: {"${secret}": x}}\n`,
      ];
      for (const body of bodies) {
        const problems = await problemsOf(body);
        assert.notEqual(problems.length, 0, body);
        assert.ok(!problems.join('\n').includes(secret), problems.join('\n'));
      }
    });
  }

  test('is no key of a secret that is printed, whatever it looks like', async () => {
    const [problem = ''] = await problemsOf('secrets: {a: {correcthorse: x}}\n');
    assert.ok(!problem.includes('correcthorse'), problem);
  });

  test('is no key without a value that is printed', async () => {
    const [problem = ''] = await problemsOf('host: {correcthorse}\n');
    assert.ok(!problem.includes('correcthorse'), problem);
  });

  test('is not quoted out of a URL', () => {
    for (const text of ['http://user:pass@host', 'https://host/?token=abc', 'a'.repeat(65), 'line\nbreak'])
      assert.equal(quoted(text), undefined, text);
  });
});

describe('a word', () => {
  for (const word of ['kubeletExtraArgs', 'podCIDR', 'write_files', 'ipv4Address', 'sha256', 'x-y.z/k'])
    test(`${word} is plain`, () => assert.ok(isPlainWord(word)));
  for (const word of ['', '8080', 'Xc4n4ry', 'aBcDeFgH', 'bcdfghjkl', 'abc1234', 'a'.repeat(65)])
    test(`${word.slice(0, 20)} is not plain`, () => assert.ok(!isPlainWord(word)));
});

test('every field that replaces one of another tool exists', () => {
  const fields = new SchemaFields(jsonSchema() ?? {});
  for (const [foreign, use] of foreignFields()) {
    for (const [path] of use.matchAll(/(?:host|kubernetes)\.[\w.[\]]+/g))
      assert.ok('type' in fields.find(path), `${foreign}: ${path}`);
  }
});
