import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { describe, test } from 'node:test';
import type { ConvertedDocument } from '@machineadm/convert/index.ts';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { type Behaviour, behaviour, inRoot } from '../support/behaviour.ts';
import { authority, converting } from '../support/capi.ts';
import { template, templateNames } from '../support/capi-templates.ts';
import type { CaseRoot } from '../support/case-root.ts';
import { runCloudInit } from '../support/cloud-init-run.ts';
import { debianCloudInit } from '../support/debian-cloud-init.ts';
import { ALL_CASES } from '../support/lab.ts';
import { loopDevice } from '../support/loop-device.ts';
import { inNamespaces } from '../support/namespace.ts';
import { needs } from '../support/needs.ts';
import { providerMachine } from '../support/provider-model.ts';

const APPLY = resolve(import.meta.dirname, '../fixtures/features/apply-document.ts');
const SECRET = 'secret';
const CA_HASH = `sha256:${'0'.repeat(64)}`;

/** What the operator puts into the files that a document refers to; SECRET into others. */
const REFERENCES: Readonly<Record<string, () => string>> = {
  'join-token': () => 'abcdef.0123456789abcdef',
  'ca-cert-hash': () => CA_HASH,
  'ca.crt': () => authority('ca.crt'),
  'ca.key': () => authority('ca.key'),
  'etcd.crt': () => authority('etcd/ca.crt'),
  'etcd.key': () => authority('etcd/ca.key'),
  'proxy.crt': () => authority('front-proxy-ca.crt'),
  'proxy.key': () => authority('front-proxy-ca.key'),
  'sa.crt': () => authority('sa.pub'),
  'sa.key': () => authority('sa.key'),
};

// Fetched before the network is gone; the sample needs none.
const cloudInit = ALL_CASES ? debianCloudInit() : { unavailable: 'MACHINEADM_E2E=all' };

type Tree = ReturnType<typeof parse>;

interface Case {
  readonly title: string;
  readonly objects: readonly Tree[];
  readonly spec: Tree;
  readonly version: string;
  readonly kubeadmFails?: boolean;
}

let number = 0;
/** Many templates make the same machine. */
const compared = new Set<string>();

/** Runs both for each machine of an object, and compares them. Returns how many machines are the same. */
async function compare(one: Case): Promise<number> {
  const { documents, decisions } = await converting(one.objects, {
    kubernetesVersion: one.version,
    endpoint: 'api.example:6443',
    caCertHashes: [CA_HASH],
    standalone: true,
  });
  assert.deepEqual(
    decisions.filter(({ severity }) => severity === 'error'),
    [],
  );
  const machines = documents.filter(({ yaml }) => !/platform: Windows/.test(yaml));
  for (const machine of machines) {
    const document = parse(machine.yaml);
    const key = JSON.stringify([{ ...document, metadata: undefined }, one.spec, one.kubeadmFails]);
    if (!compared.has(key)) compareMachine(one, machine, document);
    compared.add(key);
  }
  return machines.length;
}

function compareMachine(
  { title, spec, kubeadmFails = false }: Case,
  { role, yaml }: ConvertedDocument,
  document: Tree,
) {
  // A root of a name that was there before has its files.
  number++;
  const machine = providerMachine(spec, role === 'InitControlPlane', SECRET);
  // systemd takes a pattern, too.
  const environmentFiles = machine.environmentFiles.map((path) => path.replace('*', 'flatcar'));
  const prepare = (root: CaseRoot): void => {
    prepareRoot(root, spec, environmentFiles);
    if (kubeadmFails) writeFileSync(root.outside('/run/case/kubeadm-fails'), '');
  };
  let hasSucceeded = false;
  const theirs = behaviour(`theirs-${number}`, prepare, (root) => {
    for (const file of machine.files) {
      root.shell(`umask 022; mkdir -p '${dirname(file.path)}'`);
      writeFileSync(root.outside(file.path), rendered(file.content, machine.shell), { mode: file.mode });
      root.shell(`chmod ${file.mode.toString(8)} '${file.path}'; chown ${file.owner} '${file.path}'`);
    }
    // The provider's certificates, which machineadm writes with the modes of kubeadm.
    if (document.kubernetes?.pki !== undefined) root.shell('umask 022; mkdir -p /etc/kubernetes/pki');
    const { users, mounts } = spec;
    if (users !== undefined || mounts !== undefined) {
      assert.ok('root' in cloudInit);
      runCloudInit(root, cloudInit.root, `#cloud-config\n${stringify(asCloudConfig(spec))}`, [
        'mounts',
        'users-groups',
      ]);
      // Ignition locks no account (coreos/ignition internal/exec/util/passwd.go).
      for (const { name, passwd = '*' } of machine.shell === 'bash' ? (users ?? []) : [])
        root.shell(`usermod -p '${passwd}' '${name}'`);
      // What it runs itself.
      writeFileSync(root.outside('/run/case/calls'), '');
    }
    writeFileSync(root.outside('/run/case/script'), `${rendered(machine.script, machine.shell)}touch /run/case/end\n`);
    const set = environmentFiles.map((path) => `set -a; . ${path}; set +a; `).join('');
    const { status } = inRoot(root, ['sh', '-c', `umask 022; cd /; ${set}exec ${machine.shell} /run/case/script`]);
    // Cluster API knows a bootstrap that succeeded by this file.
    const isBootstrapped = existsSync(root.outside('/run/cluster-api/bootstrap-success.complete'));
    hasSucceeded = isBootstrapped && (status === 0 || existsSync(root.outside('/run/case/end')));
  });
  const ours = behaviour(`ours-${number}`, prepare, (root) => {
    for (const { file } of [
      ...Object.values<Tree>(document.secrets ?? {}),
      ...Object.values<Tree>(document.variables ?? {}),
    ]) {
      if (file !== undefined)
        writeFileSync(root.outside(file), REFERENCES[basename(file)]?.() ?? `${SECRET}\n`, { mode: 0o600 });
    }
    writeFileSync(root.outside('/run/case/document.yaml'), yaml, { mode: 0o600 });
    const done = inRoot(root, [process.execPath, APPLY, '/run/case/document.yaml']);
    assert.equal(done.status === 0, hasSucceeded, `${title} (${role}): success: ${done.stderr}`);
    if (hasSucceeded) assert.ok(existsSync(root.outside('/run/case/kubeadm')), `${title}: kubeadm did not run`);
    else assert.match(done.stderr, /HookFailed|The hook \w+ failed|kubeadm failed/, `${title}: ${done.stderr}`);
  });
  assertSame(ours, machine.shell === 'sh' && kubeadmFails ? withoutAfter(theirs) : theirs, `${title} (${role})`);
}

function assertSame(ours: Behaviour, theirs: Behaviour, title: string): void {
  assert.deepEqual(ours.calls, theirs.calls, `${title}: calls`);
  assert.deepEqual(ours.kubeadm, theirs.kubeadm, `${title}: what kubeadm runs with`);
  assert.deepEqual(ours.files, theirs.files, `${title}: files`);
  assert.deepEqual(ours.node, theirs.node, `${title}: the node in kubeadm's file`);
  assert.deepEqual(ours.accounts, theirs.accounts, `${title}: accounts`);
  assert.deepEqual(ours.mounts, theirs.mounts, `${title}: mounts`);
}

/** cloud-init runs the commands after a kubeadm that failed, too; machineadm does not (`AfterFailure`). */
function withoutAfter(theirs: Behaviour): Behaviour {
  const last = theirs.calls.findIndex((call) => /^kubeadm (?:init|join)/.test(call));
  return { ...theirs, calls: [...theirs.calls.slice(0, last + 1), ''] };
}

/** What both find: instance data, environment files, disks, and the settings of a kernel of their own. */
function prepareRoot(root: CaseRoot, spec: Tree, environmentFiles: readonly string[]): void {
  const text = JSON.stringify(spec);
  const data = { ds: { meta_data: names(text) }, v1: { local_hostname: 'node-1', instance_id: 'node-1' } };
  writeFileSync(root.outside('/run/cloud-init/instance-data.json'), JSON.stringify(data));
  const put = (path: string, content: string): void => {
    root.shell(`umask 022; mkdir -p '${dirname(path)}'`);
    writeFileSync(root.outside(path), content);
  };
  const variables = new Set(Array.from(text.matchAll(/\$\{?([A-Z][A-Z0-9_]+)/g), ([, name = '']) => name));
  const values = Array.from(variables, (name) => `${name}=${name.toLowerCase().replaceAll('_', '-')}.example\n`);
  for (const path of environmentFiles) put(path, values.join(''));
  for (const [path] of text.matchAll(/\/srv\/(?:proc|sys)(?:\/[\w.*-]+)+/g)) put(path.replaceAll('*', '0'), '');
  for (const [device = ''] of spec.mounts ?? []) {
    if (!device.startsWith('/dev/loop')) continue;
    const made = spawnSync('mkfs.ext4', ['-q', '-F', device], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    const copied = spawnSync('cp', ['-a', device, root.outside(device)], { encoding: 'utf8' });
    assert.equal(copied.status, 0, copied.stderr);
  }
}

/** The provider's keys for cloud-init (bootstrap/kubeadm/pkg/cloudinit/{users,mounts}.go). */
function asCloudConfig({ users, mounts }: Tree): Tree {
  return {
    ...(users === undefined
      ? {}
      : {
          users: users.map((user: Tree) => ({
            name: user.name,
            gecos: user.gecos,
            groups: user.groups,
            homedir: user.homeDir,
            shell: user.shell,
            primary_group: user.primaryGroup,
            passwd: user.passwd,
            lock_passwd: user.lockPassword,
            sudo: user.sudo,
            ssh_authorized_keys: user.sshAuthorizedKeys,
          })),
        }),
    ...(mounts === undefined ? {} : { mounts }),
  };
}

/** As cloud-init renders jinja; Ignition has none. */
function rendered(text: string, shell: 'sh' | 'bash'): string {
  if (shell === 'bash') return text;
  return text.replace(/\{%-? *(?:end)?raw *-?%\}/g, '').replace(/\{\{-? *[\w.[\]"']+ *-?\}\}/g, 'node-1');
}

/** A value for each name of instance data. */
function names(text: string): Readonly<Record<string, string>> {
  const found = text.matchAll(/ds\.meta_data(?:\.|\[\\*["'])(\w+)/g);
  return Object.fromEntries(Array.from(found, ([, name = '']) => [name, 'node-1']));
}

/**
 * Without partitions and the time service, which other tests compare, and away from this kernel. The disks of mounts are
 * loop devices: by path, because this cloud-init takes no labels (cc_mounts.py, sanitize_devname). Ignition is not here.
 */
function reduced({ ntp: _ntp, diskSetup: _diskSetup, ...spec }: Tree, devices: DisposableStack): Tree {
  const { mounts, ...rest } = spec;
  const text = JSON.stringify(rest)
    .replaceAll('/proc/sys/', '/srv/proc/')
    .replace(/(?<![\w/])\/sys\//g, '/srv/sys/');
  if (mounts === undefined || spec.format === 'ignition') return JSON.parse(text);
  const onDisks = mounts.map(([, ...columns]: string[]) => [devices.use(loopDevice(64)).path, ...columns]);
  return { ...JSON.parse(text), mounts: onDisks };
}

const PATHS: Readonly<Record<string, readonly string[]>> = {
  KubeadmConfig: ['spec'],
  KubeadmConfigTemplate: ['spec', 'template', 'spec'],
  KubeadmControlPlane: ['spec', 'kubeadmConfigSpec'],
  KubeadmControlPlaneTemplate: ['spec', 'template', 'spec', 'kubeadmConfigSpec'],
};

function withSpec(object: Tree, path: readonly string[], change: (spec: Tree) => Tree): Tree {
  const [name, ...below] = path;
  return name === undefined ? change(object) : { ...object, [name]: withSpec(object[name] ?? {}, below, change) };
}

interface Example {
  readonly kind?: 'KubeadmConfig' | 'KubeadmControlPlane';
  readonly spec: Tree;
  readonly kubeadmFails?: boolean;
  readonly needsCloudInit?: boolean;
}

const AROUND = {
  preKubeadmCommands: ['export RACK=r7', 'touch /etc/before'],
  postKubeadmCommands: ['kubectl get nodes', 'systemctl status kubelet'],
};

const EXAMPLES: Readonly<Record<string, Example>> = {
  'a control plane: the machine that starts the cluster, and one that joins it; a proxy, set -e, and a test that does not count':
    {
      kind: 'KubeadmControlPlane',
      spec: {
        clusterConfiguration: { apiServer: {} },
        initConfiguration: { nodeRegistration: { name: 'first', kubeletExtraArgs: [{ name: 'v', value: '1' }] } },
        joinConfiguration: { nodeRegistration: { name: 'second', kubeletExtraArgs: [{ name: 'v', value: '2' }] } },
        preKubeadmCommands: [
          'export ROLE=$(grep -l Init /run/kubeadm/* || echo joins) HTTPS_PROXY=http://p:3128',
          'test -f /run/kubeadm/kubeadm.yaml',
          'set -e',
          'test -f /none && exit 1',
          'cd /var',
          'umask 027',
          'x=1',
        ],
        postKubeadmCommands: ['echo "$x $HTTPS_PROXY $ROLE" >/etc/after', 'kubectl get nodes'],
      },
    },
  'a check that fails before kubeadm': {
    spec: {
      joinConfiguration: {},
      preKubeadmCommands: ['set -eu', 'touch /etc/begun', 'test -b /dev/not-there', 'touch /etc/never'],
      postKubeadmCommands: ['touch /etc/never-either'],
    },
  },
  'a template of Flatcar: an environment file, a name that a command fills in': {
    spec: {
      format: 'ignition',
      joinConfiguration: {
        nodeRegistration: {
          name: '${COREOS_CUSTOM_HOSTNAME%.*}',
          kubeletExtraArgs: [{ name: 'provider-id', value: 'x://${COREOS_CUSTOM_ID}' }],
        },
      },
      ignition: {
        containerLinuxConfig: {
          additionalConfig:
            'systemd: {units: [{name: kubeadm.service, dropins: [{name: a.conf, contents: "[Unit]\\nRequires=coreos-metadata.service\\nAfter=coreos-metadata.service\\n[Service]\\nEnvironmentFile=/run/metadata/*\\n"}]}]}',
        },
      },
      files: [{ path: '/etc/prepare.sh', permissions: '0700', content: 'env | grep COREOS_CUSTOM_ID >/etc/seen' }],
      preKubeadmCommands: [
        'export COREOS_CUSTOM_HOSTNAME=${COREOS_CUSTOM_HOSTNAME%.*}',
        "sed -i 's/%[.][*]//' /etc/kubeadm.yml",
        'if [ -d /etc ]; then',
        '/bin/sh /etc/prepare.sh',
        'fi',
        `sed -i -e "s/\\\${COREOS_CUSTOM_HOSTNAME}/$COREOS_CUSTOM_HOSTNAME/" -e "s/\\\${COREOS_CUSTOM_ID}/$COREOS_CUSTOM_ID/" /etc/kubeadm.yml`,
      ],
      postKubeadmCommands: ['touch /etc/joined'],
    },
  },
};

/** Beside the sample above: with MACHINEADM_E2E=all. */
const MORE_EXAMPLES: Readonly<Record<string, Example>> = {
  'a kubeadm that fails in a cloud-config': { spec: { joinConfiguration: {}, ...AROUND }, kubeadmFails: true },
  'a kubeadm that fails with Ignition': {
    spec: { format: 'ignition', joinConfiguration: {}, ...AROUND },
    kubeadmFails: true,
  },
  'a command after kubeadm that fails under set -e': {
    spec: { joinConfiguration: {}, preKubeadmCommands: ['set -e'], postKubeadmCommands: ['false', 'touch /etc/never'] },
  },
  'settings of the kernel, in a file and by commands': {
    spec: {
      joinConfiguration: {},
      files: [{ path: '/etc/sysctl.d/99-k8s.conf', content: 'net.ipv4.ip_forward = 1' }],
      preKubeadmCommands: [
        'echo "vm.swappiness = 0" >>/etc/sysctl.d/99-k8s.conf',
        'sysctl --system',
        'sysctl -w net.core.somaxconn=4096',
        'echo 1 >/srv/proc/net/ipv4/ip_forward',
      ],
    },
  },
  'users with keys, groups and rules, and a mount': {
    needsCloudInit: true,
    spec: {
      joinConfiguration: {},
      users: [
        {
          name: 'capi',
          sudo: 'ALL=(ALL) NOPASSWD:ALL',
          sshAuthorizedKeys: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGf3vMTlzMFzkWEOk6ClCjQ0yNLIN1q7yYpLQqAuVo5B capi'],
        },
        { name: 'open', lockPassword: false },
        { name: 'pat', lockPassword: false, passwd: '$6$salt$abcdefghijklmnopqrstuvwxyz' },
        { name: 'ops', groups: 'users, adm', shell: '/bin/bash', gecos: 'Operations', homeDir: '/home/operations' },
      ],
      mounts: [['LABEL=data', '/var/lib/data', 'ext4', 'noatime']],
      preKubeadmCommands: ['chown capi /var/lib/data', 'id -nG ops >/etc/groups-of-ops'],
    },
  },
};

inNamespaces(import.meta.filename, () => {
  describe("the provider's script, and the document that the converter makes: files, calls in order, kubeadm's environment and node, accounts, mounts, success", () => {
    const examples = ALL_CASES ? { ...EXAMPLES, ...MORE_EXAMPLES } : EXAMPLES;
    for (const [what, { kind = 'KubeadmConfig', spec: given, kubeadmFails, needsCloudInit }] of Object.entries(
      examples,
    )) {
      const skip = needsCloudInit === true ? needs(cloudInit) : false;
      test(what, { skip }, async () => {
        using devices = new DisposableStack();
        const group = kind === 'KubeadmConfig' ? 'bootstrap' : 'controlplane';
        const object = { apiVersion: `${group}.cluster.x-k8s.io/v1beta2`, kind, metadata: { name: 'a' } };
        const spec = reduced(given, devices);
        const objects = [{ ...object, spec: withSpec({}, PATHS[kind]?.slice(1) ?? [], () => spec) }];
        const machines = kind === 'KubeadmConfig' ? 1 : 2;
        assert.equal(
          await compare({ title: what, objects, spec, version: 'v1.35.2', ...(kubeadmFails ? { kubeadmFails } : {}) }),
          machines,
        );
      });
    }
  });

  const absent = needs(cloudInit, 'published templates of Cluster API');
  describe('the same of the published templates', { skip: absent }, () => {
    for (const name of templateNames()) {
      const isUnreleased = /ci-version-dra/.test(name);
      test(name, { skip: isUnreleased ? 'a feature gate of no release' : false }, async () => {
        using devices = new DisposableStack();
        const version = /multitenancy-clusterclass|efs-support|capm3--examples__controlplane/.test(name)
          ? 'v1.26.15'
          : 'v1.35.2';
        const objects: Tree[] = parseAllDocuments(template(name, version)).map((document) => document.toJS());
        // They say what a configuration without any content is for.
        const owners = objects.filter((object) => /^Machine(?:Deployment|Pool)?$/.test(object?.kind));
        for (const object of objects) {
          const path = PATHS[object?.kind];
          if (path === undefined) continue;
          let spec: Tree = {};
          const changed = withSpec(object, path, (one) => (spec = reduced(one, devices)));
          const title = `${name} ${object.kind}`;
          await compare({ title, objects: [changed, ...owners], spec, version });
        }
      });
    }
  });
});
