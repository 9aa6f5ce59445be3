/**
 * Paths on a Linux machine that steps manage. Each is defined here once: the steps use it, and the check of a document
 * finds a second owner with it (`claims/index.ts`), without the machine.
 */

export const FSTAB = '/etc/fstab';
/** hostname(5): the static name. OpenRC's service (init.d/hostname.in) and Debian's hostname.sh read it first. */
export const HOSTNAME_FILE = '/etc/hostname';
export const CLOUD_INIT_HOSTNAME_FILE = '/etc/cloud/cloud.cfg.d/99-machineadm-hostname.cfg';
export const HOSTS_FILE = '/etc/hosts';
export const CLOUD_INIT_HOSTS_FILE = '/etc/cloud/cloud.cfg.d/99-machineadm-hosts.cfg';
/** Where each tool reads its files (systemd.network(5), netplan(5), nm-settings-keyfile(5)). */
export const NETWORK_DIRECTORIES = {
  networkd: '/etc/systemd/network',
  netplan: '/etc/netplan',
  NetworkManager: '/etc/NetworkManager/system-connections',
} as const;
export const SELINUX_CONFIGURATION = '/etc/selinux/config';
/** Where AppArmor reads the profiles of a machine, by their names (apparmor.d(5)). */
export const APPARMOR_DIRECTORY = '/etc/apparmor.d';
/** localtime(5): a link into the database of time zones. */
export const LOCALTIME = '/etc/localtime';
/** The name of the zone, where the distribution keeps it: Debian and Gentoo. */
export const TIMEZONE_FILE = '/etc/timezone';
export const ZRAM_CONFIGURATION = '/etc/systemd/zram-generator.conf';
/** Databases of accounts, of which each account is a line (passwd(5), shadow(5), group(5), gshadow(5)). */
export const ACCOUNT_DATABASES: readonly string[] = ['/etc/passwd', '/etc/shadow', '/etc/group', '/etc/gshadow'];

/**
 * One file per user, so that a mistake for one user does not affect others. sudo skips names with a dot (sudoers(5)).
 */
export function sudoersPath(user: string): string {
  // sudo skips files with a dot in their name (sudoers(5)); no name of a user has a plus sign.
  return `/etc/sudoers.d/90-machineadm-${user.replaceAll('.', '+')}`;
}

export function authorizedKeysPath(home: string): string {
  return `${home}/.ssh/authorized_keys`;
}

/** The default directory of home directories (useradd(8), HOME). */
export function usualHome(user: string): string {
  return user === 'root' ? '/root' : `/home/${user}`;
}

/** Name of a file of ours in a directory of a time service. */
export const TIME_DROP_IN = '90-machineadm.conf';
export const TIMESYNCD_CONFIGURATION = `/etc/systemd/timesyncd.conf.d/${TIME_DROP_IN}`;
/** The first that exists: Debian and Ubuntu; RHEL, SUSE, Amazon. */
export const CHRONY_CONFIGURATIONS = ['/etc/chrony/chrony.conf', '/etc/chrony.conf'] as const;
/** ntpsec keeps its own file on Debian. */
export const NTP_CONFIGURATIONS = ['/etc/ntpsec/ntp.conf', '/etc/ntp.conf'] as const;
/** The service names of time clients, by client and distribution. */
export const TIME_SERVICES = {
  chrony: ['chrony', 'chronyd'],
  timesyncd: ['systemd-timesyncd'],
  ntpd: ['ntpsec', 'ntp', 'ntpd'],
} as const;

/** The proxy variables for services, which may contain credentials: for root only. */
export const PROXY_FILE = '/etc/machineadm/proxy.env';
/** pam_env(8) sets it for every login. */
export const ENVIRONMENT_FILE = '/etc/environment';
export const PROXY_DROP_IN = '20-machineadm-proxy.conf';
/** Services that get the proxy. The agent has it from the document itself. */
export const PROXY_SERVICES = ['containerd', 'kubelet'] as const;

/** The unit types of systemd(1); a name without one of these suffixes is that of a service. */
const UNIT_SUFFIX = /\.(service|socket|target|timer|path|mount|automount|swap|slice|scope|device)$/;
/** Units of the administrator (systemd.unit(5)). */
export const UNIT_DIRECTORY = '/etc/systemd/system';

/** The full name of a unit. */
export function unitName(service: string): string {
  return UNIT_SUFFIX.test(service) ? service : `${service}.service`;
}

export function unitPath(service: string): string {
  return `${UNIT_DIRECTORY}/${unitName(service)}`;
}

/** The directory of an administrator's drop-ins (systemd.unit(5)); only names that end in `.conf` are read. */
export function unitDropInPath(service: string, file: string): string {
  return `${unitPath(service)}.d/${file}`;
}

export function openrcScriptPath(service: string): string {
  return `/etc/init.d/${service}`;
}

export function openrcConfigurationPath(service: string): string {
  return `/etc/conf.d/${service}`;
}

/** Names of our services that run at every boot. */
export const HOOKS_SERVICE = 'machineadm-hooks';
export const SENTINEL_SERVICE = 'machineadm-sentinel';

/** The directories of operating systems for added certificate authorities, and their generated bundles. */
export const TRUST_STORES = {
  suse: { directory: '/etc/pki/trust/anchors', bundle: '/var/lib/ca-certificates/ca-bundle.pem' },
  redHat: {
    directory: '/etc/pki/ca-trust/source/anchors',
    bundle: '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  },
  flatcar: { directory: '/etc/ssl/certs', bundle: '/etc/ssl/certs/ca-certificates.crt' },
  debian: { directory: '/usr/local/share/ca-certificates', bundle: '/etc/ssl/certs/ca-certificates.crt' },
} as const;
/** We may remove files with this prefix in directories of others. */
export const OWN_FILE_PREFIX = 'machineadm-';

export const CONTAINERD_CONFIGURATION = '/etc/containerd/config.toml';
/**
 * Suffixes of copies: of a file of containerd as machineadm found it, which its configuration starts from, and of the one before
 * a change. Earlier versions kept the first of krb5.conf, sssd.conf and nsswitch.conf, too.
 */
export const ORIGINAL_SUFFIX = '.machineadm-orig';
export const PREVIOUS_SUFFIX = '.machineadm-previous';
export const REGISTRIES_DIRECTORY = '/etc/containerd/certs.d';
export const REGISTRY_HOSTS_FILE = 'hosts.toml';

/** containerd looks for `host_port_` before `host:port` (core/remotes/docker/config/hosts.go, HostDirFromRoot). */
export function registryDirectories(host: string): readonly string[] {
  const other = host.replace(/:(\d+)$/, '_$1_');
  return other === host ? [host] : [other, host];
}

export const KERBEROS_CONFIGURATION = '/etc/krb5.conf';
export const SSSD_CONFIGURATION_PATH = '/etc/sssd/sssd.conf';
export const NAME_SERVICE_SWITCH = '/etc/nsswitch.conf';

/** machineadm's own state, which no document may write: see contract/CONTRACT.md. */
export const STATE_DIRECTORY = '/var/lib/machineadm';
/** The network files from before a change that is not confirmed yet. */
export const NETWORK_TRIAL = `${STATE_DIRECTORY}/network-trial.json`;
export const RUN_DIRECTORY = '/run/machineadm';
/** The document of a machine, where its user data or its image provide one. */
export const MACHINE_DOCUMENT = '/etc/machineadm/bootstrap.yaml';
/** Its members may read the status. Packages create the group; machineadm only looks it up. */
export const STATUS_GROUP = 'machineadm';
/** The controls of the last hardening, for `audit` without a document. */
export const HARDENING_RECORD = `${STATE_DIRECTORY}/hardening.json`;
/** The file that tells providers of Cluster API of the success (contract of bootstrap providers). */
export const DEFAULT_SENTINEL = '/run/cluster-api/bootstrap-success.complete';
/** Where hooks leave what they did; the next node starts without it. */
export const HOOKS_DIRECTORY = `${STATE_DIRECTORY}/hooks`;
/** Archives while they are unpacked. */
export const ARCHIVES_DIRECTORY = `${STATE_DIRECTORY}/archives`;
/** What an upgrade of Kubernetes keeps: the previous files and programs, and the snapshot of etcd. */
export const UPGRADE_DIRECTORY = `${STATE_DIRECTORY}/upgrade`;
/** The keys that encrypt what may be secret in the state, encrypted for this machine. */
export const SEALING_KEYS_DIRECTORY = `${STATE_DIRECTORY}/keys`;
/** Copies of what was there before the first change, for a reset. */
export const PRIOR_STATE_DIRECTORY = `${STATE_DIRECTORY}/prior-state`;

/** The names that we may write and remove in a registry's directory, and the copy of a foreign file. */
export const REGISTRY_FILES = new RegExp(
  `^(?:${REGISTRY_HOSTS_FILE.replace('.', '\\.')}(?:${ORIGINAL_SUFFIX.replace('.', '\\.')})?|${OWN_FILE_PREFIX}[^/]*)$`,
);

/** containerd's socket; on Windows also kubeadm's default (k/k cmd/kubeadm/app/constants/constants_windows.go). */
export const DEFAULT_CRI_SOCKETS: Readonly<Record<'linux' | 'windows', string>> = {
  linux: 'unix:///run/containerd/containerd.sock',
  windows: 'npipe:////./pipe/containerd-containerd',
};

/** Directories without which a system is none, or that hold what others keep there. */
const CRITICAL_DIRECTORIES: ReadonlySet<string> = new Set(
  `/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp /usr /var
  /boot/efi /etc/apt /etc/containerd /etc/default /etc/init.d /etc/kubernetes /etc/kubernetes/manifests /etc/kubernetes/pki
  /etc/pam.d /etc/pki /etc/security /etc/ssh /etc/ssl /etc/sudoers.d /etc/systemd /etc/systemd/system /run/lock /run/systemd
  /run/user /usr/bin /usr/include /usr/lib /usr/lib64 /usr/libexec /usr/local /usr/local/bin /usr/local/sbin /usr/sbin
  /usr/share /var/cache /var/lib /var/lib/containerd /var/lib/dpkg /var/lib/etcd /var/lib/kubelet /var/lib/rpm
  /var/lib/systemd /var/local /var/log /var/mail /var/opt /var/spool /var/tmp ${STATE_DIRECTORY} ${RUN_DIRECTORY}`.split(
    /\s+/,
  ),
);
const CRITICAL_FILES: ReadonlySet<string> = new Set([
  ...ACCOUNT_DATABASES,
  ...[FSTAB, '/etc/inittab', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/machine-id', '/etc/nsswitch.conf'],
  ...['/etc/os-release', '/etc/passwd-', '/etc/profile', '/etc/shells', '/etc/ssh/sshd_config', '/etc/sudoers'],
]);

/** Whether a machine needs what is at this path: it is never removed. */
export function isCriticalPath(path: string): boolean {
  const plain = `/${path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')}`;
  return CRITICAL_DIRECTORIES.has(plain) || CRITICAL_FILES.has(plain) || /^\/(?:dev|proc|sys)\//.test(plain);
}
