import { describe, test } from 'node:test';
import { exampleDocument } from '@machineadm/document/index.ts';
import { compareTranscript, Transcript } from '../../support/machine-in-memory.ts';

const INVALID = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: Web_1}
reporting:
  sinks:
    - {type: Webhook, name: a, url: ftp://x}
    - {type: Pigeon}
    - {type: Webhook, name: a, url: "https://x.example", events: [started, nothing]}
host:
  hostname: -x-
  swap: yes
  sysctl: {net.ipv4.ip_forward: [1]}
  files:
    - {path: relative, content: x, mode: "999"}
    - {path: /a, content: x, contentFrom: {secret: missing}}
    - {path: /a, link: /b}
  users: [{name: root, uid: -1}, {name: ada, sshAuthorizedKeys: [nonsense]}]
  services: [{name: x.service, state: Running}]
  storage: {disks: [{device: {path: sdb}, partitions: []}]}
  network: {tool: ifupdown}
  time: {servers: ["a b"], timezone: Mars/Olympus}
kubernetes:
  version: "1.35"
  role: Worker
  join: {discovery: {}}
containerRuntime: {containerd: {edition: v3}}
hardening: {profiles: [cis-level-9]}
secrets: {a: {file: relative}, b: {env: "1X", vault: x}}
variables: {x: {}}
`;

const DROP_IN = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: node-1}
host:
  sysctl: {vm.max_map_count: 262144}
  files:
    - {path: /etc/motd, content: "hello\\n"}
`;

/** Compressed bytes and their numbers depend on the version of zlib. */
const withoutCompression = (text: string): string =>
  text
    .replace(/[A-Za-z0-9+/]{40,}=*/g, 'BASE64')
    .replace(/\d+ (of \d+ bytes.*,) \d+ %/g, 'N $1 N %')
    .replace(/: \d+ bytes$/gm, ': N bytes');

describe('the output of commands that only read documents', () => {
  test('explains fields, and names similar ones for a wrong path', async () => {
    using story = new Transcript();
    for (const field of [
      '',
      'kubernetes',
      'kubernetes.role',
      'kubernetes.join.discovery',
      'kubernetes.join.discovery.token',
      'kubernetes.controlPlane.etcd',
      'host.files',
      'host.files.mode',
      'host.storage.disks',
      'host.hooks.early',
      'host.swap',
      'reporting.sinks',
      'reporting.sinks.Webhook',
      'secrets',
      'containerRuntime.containerd.registries',
      'host.flies',
      'reporting.sinks.Pigeon',
    ])
      await story.run(`explain ${field}`.trim());
    for (const field of ['host.network', 'host.time', 'kubernetes.node', 'reporting.sinks.Kafka'])
      await story.run(`explain --recursive ${field}`);
    compareTranscript('explain', story);
  });

  test('lists every problem of a document, as text and for programs', async () => {
    using story = new Transcript();
    story.file('invalid.yaml', INVALID);
    story.file('broken.yaml', 'a: [b\nc: "\n');
    story.file('other.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n');
    story.file('empty.yaml', '');
    for (const name of ['invalid', 'broken', 'other', 'empty', 'absent'])
      await story.run(`validate -f DIR/${name}.yaml`);
    for (const format of ['json', 'yaml', 'name', 'jsonpath={.problems[0]}', 'xml'])
      await story.run(`validate -f DIR/invalid.yaml -o ${format}`);
    await story.run('validate');
    compareTranscript('validate', story);
  });

  test('shows what a document comes to: configuration, images, and the files of kubeadm', async () => {
    using story = new Transcript();
    for (const role of ['InitControlPlane', 'JoinControlPlane', 'Worker'] as const) {
      story.file(`${role}.yaml`, exampleDocument(role));
      for (const command of ['validate', 'config show', 'images list', 'render kubeadm'])
        await story.run(`${command} -f DIR/${role}.yaml`);
    }
    story.file('drop-in.yaml', DROP_IN);
    for (const line of [
      'config show --origin -f DIR/Worker.yaml -f DIR/drop-in.yaml',
      'config show -f DIR/drop-in.yaml -o json',
      'images list -f DIR/Worker.yaml -o json',
      'images list -f DIR/drop-in.yaml',
      'render kubeadm -f DIR/drop-in.yaml',
      'validate -f DIR/drop-in.yaml -o json',
      'version -o json',
    ])
      await story.run(line);
    compareTranscript('documents', story);
  });

  test('wraps a document in each format of user data', async () => {
    using story = new Transcript();
    story.file('drop-in.yaml', DROP_IN);
    for (const format of ['cloud-init', 'ignition', 'cloudbase-init', 'unattend', 'talos', 'script'])
      await story.run(`wrap --format ${format} --binary /usr/local/bin/machineadm -f DIR/drop-in.yaml`);
    await story.run('wrap --format cloud-init --binary /opt/machineadm --secret node-1 -f DIR/drop-in.yaml');
    await story.run('wrap --format ignition --ignition-version 3.0.0 --binary /opt/machineadm -f DIR/drop-in.yaml');
    await story.run('wrap --format talos --provider capa --binary /opt/machineadm -f DIR/drop-in.yaml');
    await story.run('wrap --format cloud-init --fetch https://x.example/releases --release 1.2.3 -f DIR/drop-in.yaml');
    await story.run('wrap -f DIR/drop-in.yaml');
    compareTranscript('wrap', story, withoutCompression);
  });
});
