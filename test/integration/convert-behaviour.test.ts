import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { converting } from '../support/capi.ts';
import { TEMPLATES_ABSENT, template, templateNames } from '../support/capi-templates.ts';
import { CaseRoot } from '../support/case-root.ts';
import { ALL_CASES } from '../support/lab.ts';
import { inNamespaces } from '../support/namespace.ts';
import { providerMachine } from '../support/provider-model.ts';

const APPLY = resolve(import.meta.dirname, '../fixtures/steps/apply-document.ts');
const SECRET = 'secret';
const ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin',
  LANG: 'C.UTF-8',
  HOME: '/root',
};

/** Programs that would want a real machine, a network or time: they write down how they are called. */
const STAND_INS =
  'kubeadm systemctl hostnamectl hostname ctr crictl update-ca-certificates curl wget apt apt-get apt-mark yum dnf tdnf zypper snap ip iptables modprobe sysctl netplan reboot swapoff swapon ufw timedatectl localectl kubectl az aws nmcli restorecon setenforce growpart resize2fs dhclient containerd mkfs.ext4 sleep gpg tar sha256sum install dpkg systemd-run firewall-cmd cloud-init update-initramfs pkill kill'.split(
    ' ',
  );
const STAND_IN = `#!/bin/sh
echo "\${0##*/} $*" | sed 's/--config=/--config /; s#/[^ ]*kubeadm[^ ]*ya\\?ml#FILE#g' >>/run/case/calls
case "\${0##*/} $*" in
"kubeadm version"*) echo v1.35.2 ;;
"kubeadm init"* | "kubeadm join"*)
  { pwd; umask; env | grep -vE '^(PWD|OLDPWD|SHLVL|_|MACHINEADM_[A-Z]+)=' | sort; } >/run/case/kubeadm
  for word; do file=\${word#--config=}; done
  for word; do case $word in --config=*) file=\${word#*=} ;; /*ml) file=$word ;; esac; done
  cp "$file" /run/case/config ;;
# What a script waits for.
curl*configmaps/mhc-test*) echo pass ;;
curl* | hostname*) echo node-1 ;;
esac
exit 0
`;

/** What is of machineadm or of the provider, and not of the commands. */
const ELSEWHERE =
  /^\/(?:run\/(?:case|machineadm|lock|kubeadm|cluster-api|secrets|metadata|cloud-init)(?:\/|$)|tmp\/(?:node-compile-cache|kubeadm\.yml)|tmp$|run$|etc\/kubeadm\.|etc\/systemd\/system\/[^/]+\.d(?:\/|$)|usr\/local|root\/\.|var\/lib\/machineadm|srv\/)/;

interface Behaviour {
  readonly files: ReadonlyMap<string, string>;
  readonly calls: readonly string[];
  /** The directory, umask and environment that kubeadm had. */
  readonly kubeadm: readonly string[];
  readonly node: unknown;
}

type Tree = ReturnType<typeof parse>;

/** A machine's behaviour in a root of its own. */
function behaviour(name: string, prepare: (root: CaseRoot) => void, run: (root: CaseRoot) => void): Behaviour {
  using root = new CaseRoot(name, 'own');
  for (const program of STAND_INS) writeFileSync(root.outside(`/usr/local/bin/${program}`), STAND_IN, { mode: 0o755 });
  // In a pipe, where two programs write at once.
  writeFileSync(root.outside('/usr/local/bin/jq'), '#!/bin/sh\ncat\n', { mode: 0o755 });
  root.shell(
    `cd /usr/local/bin; chmod 0755 jq ${STAND_INS.join(' ')}; mkdir -p /run/cluster-api /run/kubeadm /run/secrets /run/metadata /run/cloud-init; touch /run/case/calls; chmod 0755 /run/cluster-api`,
  );
  prepare(root);
  const earlier = new Set(Array.from(root.changed(), ([path, looks]) => `${path} ${looks}`));
  run(root);
  const files = new Map<string, string>();
  for (const [path, looks] of root.changed()) {
    if (ELSEWHERE.test(path) || earlier.has(`${path} ${looks}`)) continue;
    const found = lstatSync(root.outside(path));
    const who = `${found.mode.toString(8)} ${found.uid}:${found.gid}`;
    files.set(path, found.isFile() ? `${who} ${readFileSync(root.outside(path), 'utf8')}` : who);
  }
  const text = (path: string) => (existsSync(root.outside(path)) ? readFileSync(root.outside(path), 'utf8') : '');
  return {
    files,
    // systemd itself would start what kubeadm.service requires.
    calls: text('/run/case/calls')
      .split('\n')
      .filter(
        (call) =>
          !/^(?:systemctl (?:is-active|start (?:containerd\.service ?)?(?:coreos-metadata\.service)?$)|sleep|kubeadm config validate)/.test(
            call,
          ),
      ),
    kubeadm: text('/run/case/kubeadm').split('\n'),
    node: nodeOf(text('/run/case/config')),
  };
}

/** Name and arguments of the node in the file that kubeadm read. */
function nodeOf(text: string): unknown {
  const registration = parseAllDocuments(text)
    .map((one) => one.toJS()?.nodeRegistration)
    .find((one) => one !== undefined && one !== null);
  const args = registration?.kubeletExtraArgs ?? [];
  const list: [string, unknown][] = Array.isArray(args)
    ? args.map(({ name, value }) => [name, value])
    : Object.entries(args);
  return { name: registration?.name, args: Object.fromEntries(list.map(([name, value]) => [name, String(value)])) };
}

let number = 0;

/** Runs both, and compares them. */
async function compare(title: string, objects: readonly Tree[], spec: Tree, version: string): Promise<number> {
  const { documents, decisions } = await converting(objects, {
    kubernetesVersion: version,
    endpoint: 'api.example:6443',
    caCertHashes: [`sha256:${'0'.repeat(64)}`],
    standalone: true,
  });
  assert.deepEqual(
    decisions.filter(({ severity }) => severity === 'error'),
    [],
  );
  let compared = 0;
  for (const { role, yaml } of documents) {
    if (role === 'JoinControlPlane' || /platform: Windows/.test(yaml)) continue;
    compared++;
    // A root of a name that was there before has its files.
    number++;
    const machine = providerMachine(spec, role === 'InitControlPlane', SECRET);
    // systemd takes a pattern, too.
    const environmentFiles = machine.environmentFiles.map((path) => path.replace('*', 'flatcar'));
    const variables = [
      ...new Set(Array.from(JSON.stringify(spec).matchAll(/\$\{?([A-Z][A-Z0-9_]+)/g), ([, name = '']) => name)),
    ];
    const prepare = (root: CaseRoot): void => {
      const data = { ds: { meta_data: names(spec) }, v1: { local_hostname: 'node-1', instance_id: 'node-1' } };
      writeFileSync(root.outside('/run/cloud-init/instance-data.json'), JSON.stringify(data));
      for (const path of environmentFiles) {
        mkdirSync(dirname(root.outside(path)), { recursive: true });
        writeFileSync(
          root.outside(path),
          variables.map((name) => `${name}=${name.toLowerCase().replaceAll('_', '-')}.example\n`).join(''),
        );
      }
    };
    const theirs = behaviour(`theirs-${number}`, prepare, (root) => {
      for (const file of machine.files) {
        root.shell(`umask 022; mkdir -p '${dirname(file.path)}'`);
        writeFileSync(root.outside(file.path), rendered(file.content, machine.shell), { mode: file.mode });
        root.shell(`chmod ${file.mode.toString(8)} '${file.path}'; chown ${file.owner} '${file.path}'`);
      }
      writeFileSync(root.outside('/run/case/script'), rendered(machine.script, machine.shell));
      const set = environmentFiles.map((path) => `set -a; . ${path}; set +a; `).join('');
      inRoot(root, ['sh', '-c', `umask 022; cd /; ${set}exec ${machine.shell} /run/case/script`]);
    });
    const ours = behaviour(`ours-${number}`, prepare, (root) => {
      const document = parse(yaml);
      for (const { file } of [
        ...Object.values<Tree>(document.secrets ?? {}),
        ...Object.values<Tree>(document.variables ?? {}),
      ]) {
        if (file !== undefined)
          writeFileSync(root.outside(file), /join-token$/.test(file) ? 'abcdef.0123456789abcdef' : `${SECRET}\n`, {
            mode: 0o600,
          });
      }
      writeFileSync(root.outside('/run/case/document.yaml'), yaml, { mode: 0o600 });
      const done = inRoot(root, [process.execPath, APPLY, '/run/case/document.yaml']);
      const ranKubeadm = existsSync(root.outside('/run/case/kubeadm'));
      // What a script passes over in silence is a failure here, and nothing else is.
      if (done.status !== 0) assert.match(done.stderr, /HookFailed|The hook \w+ failed/, `${title}: ${done.stderr}`);
      else assert.ok(ranKubeadm, `${title}: kubeadm did not run`);
    });
    assert.deepEqual(ours.calls, theirs.calls, `${title} (${role}): calls`);
    assert.deepEqual(ours.kubeadm, theirs.kubeadm, `${title} (${role}): what kubeadm runs with`);
    assert.deepEqual(ours.files, theirs.files, `${title} (${role}): files`);
    assert.deepEqual(ours.node, theirs.node, `${title} (${role}): the node in kubeadm's file`);
  }
  return compared;
}

function inRoot(root: CaseRoot, words: readonly string[]) {
  const [program = '', ...args] = root.wrapper;
  const done = spawnSync(program, [...args, ...words], {
    encoding: 'utf8',
    env: ENVIRONMENT,
    // For a script that waits for what never comes; unshare(1) itself waits for its child whatever milder signal it gets.
    timeout: 300_000,
    killSignal: 'SIGKILL',
  });
  assert.equal(done.error, undefined, `${words.join(' ')} does not end`);
  return done;
}

/** As cloud-init renders jinja; Ignition has none. */
function rendered(text: string, shell: 'sh' | 'bash'): string {
  if (shell === 'bash') return text;
  return text.replace(/\{%-? *(?:end)?raw *-?%\}/g, '').replace(/\{\{-? *[\w.[\]"']+ *-?\}\}/g, 'node-1');
}

/** A value for each name of instance data. */
function names(spec: Tree): Readonly<Record<string, string>> {
  const found = JSON.stringify(spec).matchAll(/ds\.meta_data(?:\.|\[\\*["'])(\w+)/g);
  return Object.fromEntries(Array.from(found, ([, name = '']) => [name, 'node-1']));
}

const OTHER_TEST = new Set(['users', 'ntp', 'diskSetup', 'mounts']);

/** Without accounts, disks and time, which test/integration/convert-effects.test.ts compares, and away from this kernel. */
function reduced(spec: Tree): Tree {
  const rest = Object.fromEntries(Object.entries(spec).filter(([name]) => !OTHER_TEST.has(name)));
  return JSON.parse(
    JSON.stringify(rest)
      .replaceAll('/proc/sys/', '/srv/proc/')
      .replace(/(?<![\w/])\/sys\//g, '/srv/sys/'),
  );
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

const EXAMPLES: Readonly<Record<string, Tree>> = {
  'a proxy, set -e, and a test that does not count': {
    joinConfiguration: {},
    preKubeadmCommands: [
      'export HTTPS_PROXY=http://p:3128',
      'set -e',
      'test -f /none && exit 1',
      'cd /var',
      'umask 027',
      'x=1',
    ],
    postKubeadmCommands: ['echo "$x $HTTPS_PROXY" >/etc/after', 'kubectl get nodes'],
  },
  'a check that fails before kubeadm': {
    joinConfiguration: {},
    preKubeadmCommands: ['set -eu', 'touch /etc/begun', 'test -b /dev/not-there', 'touch /etc/never'],
    postKubeadmCommands: ['touch /etc/never-either'],
  },
  'a template of Flatcar: an environment file, a name that a command fills in': {
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
};

inNamespaces(import.meta.filename, () => {
  describe("the provider's script, and the document that the converter makes: files, calls in order, kubeadm's surroundings and node", () => {
    for (const [what, spec] of Object.entries(EXAMPLES)) {
      test(what, async () => {
        const object = {
          apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
          kind: 'KubeadmConfig',
          metadata: { name: 'a' },
          spec,
        };
        assert.equal(await compare(what, [object], spec, 'v1.35.2'), 1);
      });
    }
  });

  const skip = ALL_CASES ? TEMPLATES_ABSENT : 'with MACHINEADM_E2E=all only';
  describe('the same of the published templates', { skip }, () => {
    for (const name of templateNames()) {
      test(name, async () => {
        let compared = 0;
        const version = /multitenancy-clusterclass|efs-support|capm3--examples__controlplane/.test(name)
          ? 'v1.26.15'
          : 'v1.35.2';
        if (/ci-version-dra/.test(name)) return;
        const objects: Tree[] = parseAllDocuments(template(name, version)).map((document) => document.toJS());
        // They say what a configuration without any content is for.
        const owners = objects.filter((object) => /^Machine(?:Deployment|Pool)?$/.test(object?.kind));
        for (const object of objects) {
          const path = PATHS[object?.kind];
          if (path === undefined) continue;
          let spec: Tree = {};
          const changed = withSpec(object, path, (one) => (spec = reduced(one)));
          compared += await compare(`${name} ${object.kind}`, [changed, ...owners], spec, version);
        }
        assert.ok(compared >= 0);
      });
    }
  });
});
