import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Code, Decision } from '@machineadm/convert/index.ts';
import { parse } from 'yaml';
import { converting } from '../../support/capi.ts';

/**
 * Every leaf of KubeadmConfigSpec v1beta2 has a line here: a value for it, and where the document has it, or the code that
 * tells what became of it. `fields.tsv` lists the leaves, as the CRD has them.
 */
type Spec = Readonly<Record<string, unknown>>;

interface Field {
  readonly path: string;
  readonly value: unknown;
  /** Where the document has it. */
  readonly at?: string;
  /** What it is there; default: the same value. */
  readonly is?: unknown;
  /** What the report must say. */
  readonly code?: Code;
  /** What must stand beside it for it to mean something. */
  readonly beside?: Spec;
}

const INIT: Spec = { initConfiguration: {}, clusterConfiguration: {} };
const JOIN: Spec = { joinConfiguration: { discovery: { bootstrapToken: DISCOVERY() } } };

function DISCOVERY(): Spec {
  return {
    token: 'abcdef.0123456789abcdef',
    apiServerEndpoint: 'api:6443',
    caCertHashes: [`sha256:${'0'.repeat(64)}`],
  };
}

const field = (
  path: string,
  value: unknown,
  at: string,
  is: unknown = value,
  beside: Spec = {},
  code?: Code,
): Field => ({
  path,
  value,
  at,
  is,
  beside,
  ...(code === undefined ? {} : { code }),
});
const told = (path: string, value: unknown, code: Code, beside: Spec = {}): Field => ({ path, value, code, beside });

/** A list item with these fields, at a path such as `clusterConfiguration.apiServer.extraArgs`. */
function item(list: string, fields: Spec): Spec {
  return list.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), [fields]) as Spec;
}

function environment(owner: string, target: string): Field[] {
  const list = `${owner}.extraEnvs`;
  const path = `${list}[].valueFrom`;
  const named = (rest: Spec = {}): Spec => item(list, { name: 'X', ...rest });
  const field_ = named({ valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } });
  const resource = named({ valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } });
  const unusable = {
    configMapKeyRef: ['key', 'name'],
    secretKeyRef: ['key', 'name'],
    fileKeyRef: ['key', 'path', 'volumeName'],
  };
  return [
    field(`${list}[].name`, 'X', `${target}.env[0].name`, 'X', item(list, { value: 'y' })),
    field(`${list}[].value`, 'y', `${target}.env[0].value`, 'y', named()),
    field(
      `${path}.fieldRef.fieldPath`,
      'status.podIP',
      `${target}.env[0].valueFrom.fieldRef.fieldPath`,
      undefined,
      named(),
    ),
    field(`${path}.fieldRef.apiVersion`, 'v1', `${target}.env[0].valueFrom.fieldRef.apiVersion`, 'v1', field_),
    field(
      `${path}.resourceFieldRef.resource`,
      'limits.cpu',
      `${target}.env[0].valueFrom.resourceFieldRef.resource`,
      undefined,
      named(),
    ),
    field(
      `${path}.resourceFieldRef.containerName`,
      'c',
      `${target}.env[0].valueFrom.resourceFieldRef.containerName`,
      'c',
      resource,
    ),
    field(`${path}.resourceFieldRef.divisor`, 1, `${target}.env[0].valueFrom.resourceFieldRef.divisor`, '1', resource),
    ...Object.entries(unusable).flatMap(([kind, names]) => [
      ...names.map((name) => told(`${path}.${kind}.${name}`, 'x', 'ValueFromUnusable', named())),
      told(`${path}.${kind}.optional`, true, 'ValueFromUnusable', named()),
    ]),
  ];
}

function args(list: string, target: string): Field[] {
  return [
    field(`${list}[].name`, 'v', `${target}[0].name`, 'v', item(list, { value: '2' })),
    field(`${list}[].value`, '2', `${target}[0].value`, '2', item(list, { name: 'v' })),
  ];
}

function component(name: string): Field[] {
  const owner = `clusterConfiguration.${name}`;
  const target = `kubernetes.controlPlane.${name}`;
  const volumes = `${owner}.extraVolumes`;
  const whole = { name: 'a', hostPath: '/a', mountPath: '/b' };
  const volume = (key: string, value: unknown) =>
    field(`${volumes}[].${key}`, value, `${target}.volumes[0].${key}`, value, item(volumes, whole));
  return [
    ...args(`${owner}.extraArgs`, `${target}.args`),
    ...environment(owner, target),
    volume('name', 'etc'),
    volume('hostPath', '/etc/a'),
    volume('mountPath', '/etc/b'),
    volume('readOnly', true),
    volume('pathType', 'File'),
  ].map((one) => ({ ...one, beside: merge(INIT, one.beside ?? {}) }));
}

function ofBoth(configuration: 'initConfiguration' | 'joinConfiguration'): Field[] {
  const base = configuration === 'initConfiguration' ? INIT : JOIN;
  const node = `${configuration}.nodeRegistration`;
  const taint = (key: string, value: unknown) =>
    field(
      `${node}.taints[].${key}`,
      value,
      `kubernetes.node.taints[0].${key}`,
      value,
      item(`${node}.taints`, { key: 'a', effect: 'NoExecute' }),
    );
  const timeout = (name: string, target: string) =>
    field(`${configuration}.timeouts.${name}Seconds`, 90, `kubernetes.timeouts.${target}`, '1m30s');
  return [
    field(
      `${node}.name`,
      '{{ ds.meta_data["local-hostname"] }}',
      'kubernetes.node.name',
      '${ds_meta_data_local_hostname}',
      {},
      'VariableMade',
    ),
    field(`${node}.criSocket`, 'unix:///run/crio/crio.sock', 'kubernetes.node.criSocket'),
    field(`${node}.ignorePreflightErrors[]`, 'Swap', 'kubernetes.bootstrapper.kubeadm.ignorePreflightErrors[0]'),
    field(`${node}.imagePullPolicy`, 'Never', 'kubernetes.node.imagePullPolicy'),
    field(`${node}.imagePullSerial`, false, 'kubernetes.node.imagePullSerial'),
    ...args(`${node}.kubeletExtraArgs`, 'kubernetes.node.kubelet.args'),
    taint('key', 'b'),
    taint('value', 'c'),
    taint('effect', 'NoSchedule'),
    told(
      `${node}.taints[].timeAdded`,
      '2026-01-01T00:00:00Z',
      'TaintTimeDropped',
      item(`${node}.taints`, { key: 'a', effect: 'NoExecute' }),
    ),
    field(`${configuration}.patches.directory`, '/etc/patches', 'kubernetes.bootstrapper.kubeadm.patches.directory'),
    field(`${configuration}.skipPhases[]`, 'preflight', 'kubernetes.bootstrapper.kubeadm.skipPhases[0]'),
    timeout('controlPlaneComponentHealthCheck', 'controlPlane'),
    timeout('discovery', 'discovery'),
    timeout('etcdAPICall', 'etcd'),
    timeout('kubeletHealthCheck', 'kubelet'),
    timeout('kubernetesAPICall', 'api'),
    timeout('tlsBootstrap', 'tlsBootstrap'),
  ].map((one) => ({ ...one, beside: merge(base, one.beside ?? {}) }));
}

const CLUSTER: Field[] = (() => {
  const etcd = 'clusterConfiguration.etcd';
  const external = { endpoints: ['https://10.0.0.1:2379'], caFile: '/a', certFile: '/b', keyFile: '/c' };
  const outside = (key: string, value: unknown, list = false) =>
    field(
      `${etcd}.external.${key}${list ? '[]' : ''}`,
      value,
      `kubernetes.controlPlane.etcd.external.${key}${list ? '[0]' : ''}`,
      value,
      {
        clusterConfiguration: { etcd: { external } },
      },
    );
  const local = 'kubernetes.controlPlane.etcd.local';
  return [
    field('clusterConfiguration.apiServer.certSANs[]', 'api.example', 'kubernetes.controlPlane.apiServer.certSANs[0]'),
    field(
      'clusterConfiguration.caCertificateValidityPeriodDays',
      3650,
      'kubernetes.cluster.caCertificateValidity',
      '3650d',
    ),
    field('clusterConfiguration.certificateValidityPeriodDays', 180, 'kubernetes.cluster.certificateValidity', '180d'),
    field('clusterConfiguration.certificatesDir', '/etc/pki', 'kubernetes.cluster.certificatesDirectory'),
    field('clusterConfiguration.controlPlaneEndpoint', 'api:6443', 'kubernetes.cluster.controlPlaneEndpoint'),
    field('clusterConfiguration.dns.imageRepository', 'r.example/dns', 'kubernetes.addons.dns.imageRepository'),
    field('clusterConfiguration.dns.imageTag', 'v1', 'kubernetes.addons.dns.imageTag'),
    field('clusterConfiguration.encryptionAlgorithm', 'ECDSA-P384', 'kubernetes.cluster.encryptionAlgorithm'),
    field('clusterConfiguration.featureGates', { PublicKeysECDSA: true }, 'kubernetes.cluster.featureGates'),
    field('clusterConfiguration.imageRepository', 'r.example', 'kubernetes.cluster.imageRepository'),
    outside('endpoints', 'https://10.0.0.2:2379', true),
    outside('caFile', '/etc/ca'),
    outside('certFile', '/etc/cert'),
    outside('keyFile', '/etc/key'),
    field(`${etcd}.local.dataDir`, '/var/lib/etcd-disk/data', `${local}.dataDirectory`),
    field(`${etcd}.local.imageRepository`, 'r.example', `${local}.imageRepository`),
    field(`${etcd}.local.imageTag`, '3.6', `${local}.imageTag`),
    field(`${etcd}.local.peerCertSANs[]`, 'p', `${local}.peerCertSANs[0]`),
    field(`${etcd}.local.serverCertSANs[]`, 's', `${local}.serverCertSANs[0]`),
    ...args(`${etcd}.local.extraArgs`, `${local}.args`),
    ...environment(`${etcd}.local`, local),
  ].map((one) => ({ ...one, beside: merge(INIT, one.beside ?? {}) }));
})();

const TOKENS: Field[] = (() => {
  const list = 'initConfiguration.bootstrapTokens';
  const at = 'kubernetes.cluster.bootstrapTokens[0]';
  const token = { token: 'abcdef.0123456789abcdef' };
  const beside = merge(INIT, item(list, token));
  return [
    field(
      `${list}[].token`,
      'abcdef.0123456789abcdef',
      'secrets.bootstrapToken.value',
      'abcdef.0123456789abcdef',
      INIT,
    ),
    field(`${list}[].description`, 'mine', `${at}.description`, 'mine', beside),
    field(`${list}[].ttlSeconds`, 3600, `${at}.ttl`, '1h', beside),
    told(`${list}[].expires`, '2030-01-01T00:00:00Z', 'TokenExpires', beside),
    field(`${list}[].groups[]`, 'system:bootstrappers:a', `${at}.groups[0]`, 'system:bootstrappers:a', beside),
    field(`${list}[].usages[]`, 'authentication', `${at}.usages[0]`, 'authentication', beside),
    field(
      'initConfiguration.localAPIEndpoint.advertiseAddress',
      '10.0.0.1',
      'kubernetes.controlPlane.apiEndpoint.advertiseAddress',
      undefined,
      INIT,
    ),
    field(
      'initConfiguration.localAPIEndpoint.bindPort',
      443,
      'kubernetes.controlPlane.apiEndpoint.bindPort',
      undefined,
      INIT,
    ),
  ];
})();

const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const OTHER_PEM = PEM.replace('AAAA', 'BBBB');

const DISCOVERIES: Field[] = (() => {
  const token = 'joinConfiguration.discovery.bootstrapToken';
  const at = 'kubernetes.join.discovery.token';
  const file = 'joinConfiguration.discovery.file';
  const kubeconfig = 'kubernetes.join.discovery.file.kubeconfig';
  const exec = { command: '/bin/plugin' };
  const cluster = { server: 'https://api:6443', certificateAuthorityData: btoa(PEM) };
  const byFile = (kubeConfig: Spec): Spec => ({
    joinConfiguration: { discovery: { file: { kubeConfigPath: '/d', kubeConfig } } },
  });
  const whole = byFile({ cluster, user: { exec } });
  const inFile = (key: string, value: unknown, target: string, is: unknown = value) =>
    field(`${file}.kubeConfig.${key}`, value, `${kubeconfig}.${target}`, is, whole);
  const unchecked = byFile({ cluster: { server: 'https://api:6443' }, user: { exec } });
  const unsafe = {
    joinConfiguration: {
      discovery: { bootstrapToken: { token: 'abcdef.0123456789abcdef', apiServerEndpoint: 'api:6443' } },
    },
  };
  const control = merge(JOIN, { joinConfiguration: { controlPlane: {} } });
  const endpoint = 'joinConfiguration.controlPlane.localAPIEndpoint';
  return [
    field(`${token}.apiServerEndpoint`, 'other:6443', `${at}.endpoint`, 'other:6443', JOIN),
    field(`${token}.caCertHashes[]`, `sha256:${'1'.repeat(64)}`, `${at}.caCertHashes[0]`, undefined, JOIN),
    field(`${token}.token`, 'bbbbbb.0123456789abcdef', 'secrets.joinToken.value', undefined, JOIN),
    field(`${token}.unsafeSkipCAVerification`, true, `${at}.unsafeSkipCAVerification`, true, unsafe),
    inFile('cluster.certificateAuthorityData', btoa(OTHER_PEM), 'certificateAuthority', OTHER_PEM),
    field(
      `${file}.kubeConfig.cluster.insecureSkipTLSVerify`,
      true,
      `${kubeconfig}.insecureSkipTLSVerify`,
      true,
      unchecked,
    ),
    inFile('cluster.proxyURL', 'http://proxy:3128', 'proxyURL'),
    inFile('cluster.server', 'https://other:6443', 'server'),
    inFile('cluster.tlsServerName', 'api.example', 'tlsServerName'),
    told(`${file}.kubeConfig.user.authProvider.name`, 'azure', 'AuthProviderRefused', byFile({ cluster })),
    told(`${file}.kubeConfig.user.authProvider.config`, { a: 'b' }, 'AuthProviderRefused', byFile({ cluster })),
    inFile('user.exec.apiVersion', 'client.authentication.k8s.io/v1beta1', 'user.exec.apiVersion'),
    inFile('user.exec.args[]', 'token', 'user.exec.args[0]'),
    inFile('user.exec.command', '/bin/other', 'user.exec.command'),
    field(
      `${file}.kubeConfig.user.exec.env[].name`,
      'A',
      `${kubeconfig}.user.exec.env[0].name`,
      'A',
      byFile({ cluster, user: { exec: { ...exec, env: [{ value: 'b' }] } } }),
    ),
    field(
      `${file}.kubeConfig.user.exec.env[].value`,
      'b',
      `${kubeconfig}.user.exec.env[0].value`,
      'b',
      byFile({ cluster, user: { exec: { ...exec, env: [{ name: 'A' }] } } }),
    ),
    inFile('user.exec.provideClusterInfo', true, 'user.exec.provideClusterInfo'),
    field(`${file}.kubeConfigPath`, '/etc/discovery.conf', 'kubernetes.join.discovery.file.path', undefined, whole),
    field(
      'joinConfiguration.discovery.tlsBootstrapToken',
      'cccccc.0123456789abcdef',
      'secrets.tlsBootstrapToken.value',
      undefined,
      JOIN,
    ),
    field('joinConfiguration.caCertPath', '/etc/ca.crt', 'kubernetes.join.caCertPath', undefined, JOIN),
    field(
      `${endpoint}.advertiseAddress`,
      '10.0.0.1',
      'kubernetes.controlPlane.apiEndpoint.advertiseAddress',
      undefined,
      control,
    ),
    field(`${endpoint}.bindPort`, 443, 'kubernetes.controlPlane.apiEndpoint.bindPort', undefined, control),
  ];
})();

const STORAGE: Field[] = (() => {
  const disks = 'diskSetup.partitions';
  const disk = (fields: Spec): Spec => item(disks, { device: '/dev/sdb', layout: true, tableType: 'gpt', ...fields });
  const layout = (fields: Spec): Spec => item(disks, { device: '/dev/sdb', tableType: 'gpt', diskLayout: [fields] });
  const at = 'host.storage.disks[0]';
  const list = 'diskSetup.filesystems';
  const filesystem = item(list, { device: '/dev/sdc', filesystem: 'ext4', partition: '1' });
  const made = 'host.storage.filesystems[0]';
  return [
    field(`${disks}[].device`, '/dev/vdb', `${at}.device.path`, '/dev/vdb', disk({})),
    field(
      `${disks}[].layout`,
      true,
      `${at}.partitions[0].size`,
      'Rest',
      item(disks, { device: '/dev/sdb', tableType: 'gpt' }),
    ),
    field(`${disks}[].overwrite`, true, `${at}.wipe`, true, disk({}), 'DiskOverwrite'),
    field(`${disks}[].tableType`, 'mbr', `${at}.table`, 'mbr', disk({})),
    field(
      `${disks}[].diskLayout[].percentage`,
      60,
      `${at}.partitions[0].size`,
      '60%',
      item(disks, { device: '/dev/sdb', tableType: 'gpt', diskLayout: [{ percentage: 30 }, { percentage: 40 }] }),
    ),
    field(
      `${disks}[].diskLayout[].partitionType`,
      'LVM',
      `${at}.partitions[0].type`,
      'lvm',
      layout({ percentage: 100 }),
      'PartitionTypeCorrected',
    ),
    field(
      `${list}[].device`,
      'ephemeral0.1',
      `${made}.device`,
      { azureResource: true, partition: 1 },
      merge(filesystem, item(disks, { device: '/dev/disk/azure/scsi1/lun0', layout: false })),
      'DeviceAlias',
    ),
    field(`${list}[].extraOpts[]`, '-q', `${made}.options[0]`, '-q', filesystem),
    field(`${list}[].filesystem`, 'xfs', `${made}.type`, 'xfs', filesystem),
    field(`${list}[].label`, 'etcd', `${made}.label`, 'etcd', filesystem),
    field(`${list}[].overwrite`, true, `${made}.overwrite`, true, filesystem),
    field(`${list}[].partition`, 'none', `${made}.device`, { path: '/dev/sdc' }, filesystem, 'FilesystemNotFormatted'),
    field(`${list}[].replaceFS`, 'ntfs', `${made}.replace[0]`, 'ntfs', filesystem),
    field(
      'mounts[][]',
      'LABEL=etcd',
      'host.storage.mounts[0].device',
      { label: 'etcd' },
      { mounts: [['', '/var/lib/disk']] },
      'MountRequired',
    ),
  ];
})();

const HOST: Field[] = (() => {
  const file = (fields: Spec): Spec => item('files', { path: '/etc/a', ...fields });
  const user = (fields: Spec = {}): Spec => item('users', { name: 'ada', ...fields });
  const made = 'host.files[0]';
  const at = 'host.users[0]';
  const from = { contentFrom: { secret: { name: 's', key: 'k' } } };
  const passwordFrom = { passwdFrom: { secret: { name: 's', key: 'k' } } };
  const clc = `storage:\n  files:\n    - {path: /etc/b, filesystem: root, mode: 0600, contents: {inline: c}}\n`;
  return [
    field('files[].path', '/etc/b', `${made}.path`, '/etc/b', file({ content: 'a\n' })),
    field('files[].owner', 'ada', `${made}.owner`, 'ada:root', file({ content: 'a\n' })),
    field('files[].permissions', '0755', `${made}.mode`, '0755', file({ content: 'a\n' })),
    field('files[].encoding', 'base64', `${made}.encoding`, 'base64', file({ content: 'YQ==' })),
    field('files[].append', true, `${made}.append`, true, file({ content: 'a\n' })),
    field('files[].content', 'a', `${made}.content`, 'a\n', file({}), 'NewlineNormalised'),
    field(
      'files[].contentFormat',
      'Template',
      `${made}.content`,
      'v1.35.2\n',
      file({ content: '{{ .controlPlane.version }}\n' }),
      'TemplateRendered',
    ),
    field(
      'files[].contentFrom.secret.key',
      'key',
      'secrets.s-key.file',
      '/run/secrets/s-key',
      file(from),
      'SecretReferenced',
    ),
    field(
      'files[].contentFrom.secret.name',
      'name',
      'secrets.name-k.file',
      '/run/secrets/name-k',
      file(from),
      'SecretReferenced',
    ),
    field('users[].name', 'eve', `${at}.name`, 'eve', user()),
    field('users[].gecos', 'Ada', `${at}.gecos`, 'Ada', user()),
    field('users[].groups', 'adm, wheel', `${at}.groups`, ['adm', 'wheel'], user()),
    field('users[].homeDir', '/srv/ada', `${at}.home`, '/srv/ada', user()),
    field('users[].shell', '/bin/bash', `${at}.shell`, '/bin/bash', user()),
    field('users[].primaryGroup', 'staff', `${at}.primaryGroup`, 'staff', user()),
    field('users[].sudo', 'ALL=(ALL) ALL', `${at}.sudo`, 'ALL=(ALL) ALL', user()),
    field('users[].sshAuthorizedKeys[]', 'ssh-ed25519 AAAA a', `${at}.sshAuthorizedKeys[0]`, undefined, user()),
    field('users[].lockPassword', false, `${at}.locked`, false, user({ passwd: '$6$a$b' })),
    field('users[].passwd', '$6$a$b', 'secrets.password-ada.value', '$6$a$b', user()),
    field(
      'users[].passwdFrom.secret.key',
      'key',
      'secrets.s-key.file',
      '/run/secrets/s-key',
      user(passwordFrom),
      'SecretReferenced',
    ),
    field(
      'users[].passwdFrom.secret.name',
      'name',
      'secrets.name-k.file',
      '/run/secrets/name-k',
      user(passwordFrom),
      'SecretReferenced',
    ),
    told('users[].inactive', true, 'UserInactive', user()),
    field('ntp.enabled', false, 'host.time.enabled', false),
    field('ntp.servers[]', 'ntp.example', 'host.time.servers[0]'),
    field('bootCommands[]', 'echo a', 'host.hooks.early.commands[0]', 'echo a', {}, 'EveryBoot'),
    field('preKubeadmCommands[]', 'echo a', 'host.hooks.beforeBootstrap.commands[0]', 'echo a', {}, 'HookContinues'),
    field('postKubeadmCommands[]', 'echo a', 'host.hooks.afterBootstrap.commands[0]', 'echo a', {}, 'AfterFailure'),
    field('format', 'ignition', 'host.hooks.beforeBootstrap.shell', 'bash', { preKubeadmCommands: ['echo a'] }),
    field('ignition.containerLinuxConfig.additionalConfig', clc, `${made}.path`, '/etc/b', { format: 'ignition' }),
    told('ignition.containerLinuxConfig.strict', true, 'StrictDropped', { format: 'ignition' }),
    field('verbosity', 3, 'kubernetes.bootstrapper.kubeadm.verbosity'),
  ];
})();

const FIELDS: readonly Field[] = [
  ...HOST,
  ...STORAGE,
  ...CLUSTER,
  ...component('apiServer'),
  ...component('controllerManager'),
  ...component('scheduler'),
  ...TOKENS,
  ...DISCOVERIES,
  ...ofBoth('initConfiguration'),
  ...ofBoth('joinConfiguration'),
];

/** Lists are merged item by item. */
function merge(one: unknown, other: unknown): Spec;
function merge(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) {
    const length = Math.max(one.length, other.length);
    return Array.from({ length }, (_item, index) =>
      index in other ? (index in one ? merge(one[index], other[index]) : other[index]) : one[index],
    );
  }
  if (!isMap(one) || !isMap(other)) return other;
  const entries = Object.entries(other).map(([key, value]) => [key, key in one ? merge(one[key], value) : value]);
  return { ...one, ...Object.fromEntries(entries) };
}

function isMap(value: unknown): value is Spec {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `files[].content` with a value, as an object. */
function nested(path: string, value: unknown): Spec {
  const names = path.replaceAll('[]', '.[]').split('.');
  return names.reduceRight<unknown>((inner, name) => (name === '[]' ? [inner] : { [name]: inner }), value) as Spec;
}

function valueAt(document: unknown, path: string): unknown {
  return path
    .replaceAll('[', '.')
    .replaceAll(']', '')
    .split('.')
    .reduce<unknown>((value, name) => Reflect.get(Object(value), name), document);
}

describe('every field of KubeadmConfigSpec', () => {
  const rows = readFileSync(join(import.meta.dirname, '../../fixtures/capi/fields.tsv'), 'utf8')
    .trim()
    .split('\n')
    .slice(1);

  test('has a line in this test', () => {
    assert.equal(rows.length, 223);
    assert.deepEqual(FIELDS.map(({ path }) => path).sort(), rows.map((row) => row.split('\t')[0] ?? '').sort());
    // L is lossless by the table: a code in the place of a value would be a loss.
    const lossless = new Set(
      rows.map((row) => row.split('\t')).flatMap(([path, , , kind]) => (kind === 'L' ? path : [])),
    );
    assert.equal(lossless.size, 147);
    const lost = FIELDS.filter(({ path, at }) => at === undefined && lossless.has(path)).map(({ path }) => path);
    assert.deepEqual(lost, [
      // kubeadm sets a ttl beside it and then refuses both (cmd/kubeadm/app/apis/bootstraptoken/v1/defaults.go).
      'initConfiguration.bootstrapTokens[].expires',
      // The kubelet registers taints without a time (pkg/util/taints, parseTaint): kubeadm hands it a flag.
      'initConfiguration.nodeRegistration.taints[].timeAdded',
      'joinConfiguration.nodeRegistration.taints[].timeAdded',
    ]);
  });

  for (const { path, value, at, is = value, code, beside = {} } of FIELDS) {
    test(`${path}${at === undefined ? '' : ` is ${at}`}${code === undefined ? '' : `, told as ${code}`}`, async () => {
      const needsNothing = /^(?:files|users|ntp|boot|pre|post|format|ignition|verbosity|disk|mounts)/.test(path);
      const without = needsNothing ? merge(INIT, beside) : beside;
      const { document, decisions } = await converted(merge(without, nested(path, value)));
      const codes = decisions.map((one) => one.code);
      assert.ok(!codes.includes('UnknownField'), JSON.stringify(decisions));
      if (code !== undefined) assert.ok(codes.includes(code), codes.join());
      const earlier = await convertedOnce(without);
      if (at === undefined) {
        const times = (all: readonly Decision[]) => all.filter((one) => one.code === code).length;
        assert.ok(times(decisions) > times(earlier.decisions), 'it is this field that is told');
        return;
      }
      assert.deepEqual(
        decisions.filter(({ severity }) => severity === 'error'),
        [],
      );
      assert.deepEqual(valueAt(document, at), is);
      assert.notDeepEqual(valueAt(earlier.document, at), is, 'it is this field that makes it so');
    });
  }
});

const CONVERTED = new Map<string, ReturnType<typeof converted>>();

/** The same spec stands beside many fields. */
function convertedOnce(spec: Spec): ReturnType<typeof converted> {
  const key = JSON.stringify(spec);
  const known = CONVERTED.get(key) ?? converted(spec);
  CONVERTED.set(key, known);
  return known;
}

async function converted(spec: Spec): Promise<{ document: unknown; decisions: readonly Decision[] }> {
  const config = {
    apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
    kind: 'KubeadmConfig',
    metadata: { name: 'a' },
    spec,
  };
  const options = { kubernetesVersion: 'v1.35.2', controlPlaneVersion: 'v1.35.2' };
  const { documents, decisions } = await converting([config], options);
  return { document: parse(documents.at(-1)?.yaml ?? ''), decisions };
}
