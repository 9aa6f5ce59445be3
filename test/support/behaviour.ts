import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { type parse, parseAllDocuments } from 'yaml';
import { CaseRoot } from './case-root.ts';
import { accountsOf } from './cloud-init-run.ts';

type Tree = ReturnType<typeof parse>;

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
# In a pipe, where two programs write at once: after the one before it.
case "\${0##*/}" in gpg | tar | sha256sum) [ ! -p /dev/stdin ] || cat >/dev/null ;; esac
echo "\${0##*/} $*" | sed 's/--config=/--config /; s#/[^ ]*kubeadm[^ ]*ya\\?ml#FILE#g' >>/run/case/calls
case "\${0##*/} $*" in
"kubeadm version"*) echo v1.35.2 ;;
"kubeadm init"* | "kubeadm join"*)
  { pwd; umask; env | grep -vE '^(PWD|OLDPWD|SHLVL|_|MACHINEADM_[A-Z]+)=' | sort; } >/run/case/kubeadm
  for word; do file=\${word#--config=}; done
  for word; do case $word in --config=*) file=\${word#*=} ;; /*ml) file=$word ;; esac; done
  cp "$file" /run/case/config
  [ ! -e /run/case/kubeadm-fails ] || exit 1 ;;
# What it would set now.
"sysctl --system"* | "sysctl -p"*) cat /etc/sysctl.d/*.conf /etc/sysctl.conf 2>/dev/null | grep '^[a-z]' >>/run/case/calls ;;
# What a script waits for.
curl*configmaps/mhc-test*) echo pass ;;
curl* | hostname*) echo node-1 ;;
esac
exit 0
`;

/** What is of machineadm, of the provider or of cloud-init, and not of the commands; and what is compared in another form. */
const ELSEWHERE =
  /^\/(?:run\/(?:case|machineadm|lock|kubeadm|cluster-api|secrets|metadata|cloud-init|systemd|blkid|mount)(?:\/|$)|tmp\/(?:node-compile-cache|kubeadm\.yml)|tmp$|run$|etc\/kubeadm\.|etc\/systemd\/system\/[^/]+\.d(?:\/|$)|usr\/local|root\/\.|var\/lib\/(?:machineadm|cloud)(?:\/|$)|var\/log\/cloud-init|etc\/(?:cloud|sudoers\.d|kubernetes\/pki)(?:\/|$)|etc\/(?:fstab|hostname|\.pwd\.lock|(?:g?shadow|passwd|group|subuid|subgid)-?)$|home\/[^/]+\/\.ssh(?:\/|$))|__pycache__/;

/** What a machine looks like afterwards, and what happened on it. */
export interface Behaviour {
  readonly files: ReadonlyMap<string, string>;
  readonly calls: readonly string[];
  /** The directory, umask and environment that kubeadm had. */
  readonly kubeadm: readonly string[];
  readonly node: unknown;
  /** Users, groups, keys and rules that are new. */
  readonly accounts: readonly string[];
  /** Of the file systems of disks: mount point, type and options. */
  readonly mounts: readonly string[];
}

/** A machine's behaviour in a root of its own. */
export function behaviour(name: string, prepare: (root: CaseRoot) => void, run: (root: CaseRoot) => void): Behaviour {
  using root = new CaseRoot(name, 'own');
  for (const program of STAND_INS) writeFileSync(root.outside(`/usr/local/bin/${program}`), STAND_IN, { mode: 0o755 });
  // In a pipe, where two programs write at once.
  writeFileSync(root.outside('/usr/local/bin/jq'), '#!/bin/sh\ncat\n', { mode: 0o755 });
  // Without the directory of systemd, cloud-init mounts with options of upstart.
  root.shell(
    `cd /usr/local/bin; chmod 0755 jq ${STAND_INS.join(' ')}; mkdir -p /run/cluster-api /run/kubeadm /run/secrets /run/metadata /run/cloud-init /run/systemd/system; touch /run/case/calls; chmod 0755 /run/cluster-api; : >/etc/fstab`,
  );
  prepare(root);
  const earlier = new Set(Array.from(root.changed(), ([path, looks]) => `${path} ${looks}`));
  const accounts = new Set(accountsOf(root));
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
    // cloud-init also locks an account whose password is disabled (`*`); machineadm leaves it (docs/convert.md).
    accounts: accountsOf(root).filter(
      (line) => !accounts.has(line) && !accounts.has(line.replace(/^(\S+) locked$/, '$1 *')),
    ),
    // The options that mount(8) adds by itself depend on the kernel.
    mounts: root
      .shell('findmnt -rn -o TARGET,FSTYPE,OPTIONS -t ext4,xfs,btrfs || :')
      .split('\n')
      .filter((line) => line !== '')
      .sort(),
  };
}

/** Name and arguments of the node in the file that kubeadm read. */
function nodeOf(text: string): unknown {
  const registration = parseAllDocuments(text)
    .map((one) => one.toJS()?.nodeRegistration)
    .find((one) => one !== undefined && one !== null);
  const args: Tree = registration?.kubeletExtraArgs ?? [];
  const list: [string, unknown][] = Array.isArray(args)
    ? args.map(({ name, value }) => [name, value])
    : Object.entries(args);
  return { name: registration?.name, args: Object.fromEntries(list.map(([name, value]) => [name, String(value)])) };
}

/** Runs a program in a root, with the environment of a service. */
export function inRoot(root: CaseRoot, words: readonly string[]) {
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
