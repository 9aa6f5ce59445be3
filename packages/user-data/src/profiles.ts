import type { Model } from '@machineadm/document/model/index.ts';
import type { CarrierName } from './carriers.ts';

/** What a carrier has to know about an infrastructure provider of Cluster API. */
export interface Profile {
  /** The display name. */
  readonly title: string;
  /** The largest user data it accepts, in bytes; undefined = no limit that a document reaches. */
  readonly limitBytes: number | undefined;
  /** Whether the limit applies to the carrier itself or to its base64. */
  readonly counted: 'raw' | 'base64';
  /** Carriers that the provider supports. */
  readonly formats: readonly CarrierName[];
  readonly encoding: 'gzip+base64' | 'base64';
  /** Further remarks, one sentence each. */
  readonly notes: readonly string[];
  /** What this document lacks for the provider, one sentence each. */
  readonly lacks?: (model: Model) => readonly string[];
}

const KIBIBYTE = 1024;
/** etcd limits every object of Kubernetes to 1.5 MiB; the data of a Secret is limited to 1 MiB. */
const SECRET_LIMIT = 1024 * KIBIBYTE;

const BOTH = ['cloud-init', 'ignition'] as const satisfies readonly CarrierName[];
const WITH_WINDOWS = [...BOTH, 'cloudbase-init'] as const satisfies readonly CarrierName[];

function profile(
  title: string,
  limitBytes: number | undefined,
  formats: readonly CarrierName[],
  more: Partial<Profile> = {},
): Profile {
  return { title, limitBytes, counted: 'raw', formats, encoding: 'gzip+base64', notes: [], ...more };
}

/** Keyed by the short names of the providers' repositories (cluster-api-provider-aws is capa). */
const PROFILES = {
  capa: profile('AWS EC2 user data', 16 * KIBIBYTE, [...WITH_WINDOWS, 'script'], {
    notes: [
      'By default it stores user data in Secrets Manager and fetches it in a boothook, which some releases of cloud-init break. User data this small does not need that: set cloudInit.insecureSkipSecretsManagerSecrets.',
    ],
  }),
  capz: profile('Azure customData', 64 * KIBIBYTE - 1, WITH_WINDOWS, {
    notes: [
      'Its VM extension waits 300 s for the sentinel and then reports BootstrapSucceeded=False. If the bootstrap takes longer, disable the extension (disableExtensionOperations).',
    ],
  }),
  capv: profile('vSphere guestinfo', 64 * KIBIBYTE, WITH_WINDOWS, { counted: 'base64' }),
  capm3: profile('Metal3 config drive', SECRET_LIMIT, BOTH),
  capo: profile('OpenStack user_data', 65_535, WITH_WINDOWS, { counted: 'base64' }),
  caph: profile('Hetzner Cloud user_data', 32 * KIBIBYTE, BOTH, {
    notes: ['It reads `cloud-init status` over SSH. A failure of machineadm is also a failure of cloud-init.'],
  }),
  capx: profile('Nutanix guest customization', SECRET_LIMIT, BOTH, {
    notes: ['For Ignition, the image must be a Flatcar of 2025 or later: older ones do not know the platform.'],
  }),
  capc: profile('CloudStack userdata', 32 * KIBIBYTE, BOTH, { counted: 'base64' }),
  capl: profile('Linode metadata', 65_535, ['cloud-init']),
  capmox: profile('Proxmox NoCloud image', SECRET_LIMIT, BOTH, {
    notes: ['It silently ignores unknown formats.'],
  }),
  capk: profile('KubeVirt Secret', SECRET_LIMIT, BOTH, {
    notes: ['It adds a user to the cloud-config, and reads the sentinel over SSH as that user.'],
  }),
  byoh: profile('BYOH Secret', SECRET_LIMIT, ['cloud-init'], {
    notes: ['Its agent runs the commands with `bash -c`, and reads write_files itself.'],
  }),
  capd: profile('Docker (CAPD, for tests)', undefined, ['cloud-init'], {
    // CAPD's shim decodes only once (cluster-api
    // test/infrastructure/docker/internal/provisioning/cloudinit/writefiles.go).
    encoding: 'base64',
    notes: [
      'It adds settings for containers only to commands that begin with kubeadm, which this user data does not contain. Put these settings into the document.',
    ],
    lacks: lacksForContainers,
  }),
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof PROFILES;

/**
 * The kubelet settings that CAPD needs in a container, each as an argument and, where one exists, as a field of its
 * configuration.
 */
const CONTAINER_KUBELET: Readonly<Record<string, string | undefined>> = {
  'fail-swap-on': 'failSwapOn',
  'cgroup-root': 'cgroupRoot',
  'runtime-cgroups': undefined,
  'eviction-hard': 'evictionHard',
  'image-gc-high-threshold': 'imageGCHighThresholdPercent',
};

const CONTAINER_CHECKS = ['SystemVerification', 'Swap', 'FileContent--proc-sys-net-bridge-bridge-nf-call-iptables'];

/** What CAPD adds to kubeadm's command line and configuration (…/cloudinit/runcmd.go, kubeadm.go). */
function lacksForContainers({ kubernetes }: Model): readonly string[] {
  if (kubernetes === undefined) return [];
  const { ignorePreflightErrors } = kubernetes.kubeadm;
  const { args, config } = kubernetes.node.kubelet;
  const checks = CONTAINER_CHECKS.filter((check) => ![check, 'all'].some((one) => ignorePreflightErrors.includes(one)));
  const settings = Object.entries(CONTAINER_KUBELET)
    .filter(
      ([name, field]) => !args.some((argument) => argument.name === name) && !(field !== undefined && field in config),
    )
    .map(([name]) => name);
  return [
    ...(checks.length === 0
      ? []
      : [`kubernetes.bootstrapper.kubeadm.ignorePreflightErrors lacks ${checks.join(', ')}.`]),
    ...(settings.length === 0 ? [] : [`kubernetes.node.kubelet.args lacks ${settings.join(', ')}.`]),
  ];
}

/** The size of this user data as a provider counts it, in bytes. */
export function countedBytes({ counted }: Profile, userData: string): number {
  const bytes = new TextEncoder().encode(userData).length;
  return counted === 'raw' ? bytes : Math.ceil(bytes / 3) * 4;
}

/** The names of the providers whose limit is lower. */
export function tooLargeFor(format: CarrierName, userData: string): readonly ProfileName[] {
  return profileNames().filter((name) => {
    const { formats, limitBytes } = profileNamed(name);
    return (
      formats.includes(format) && limitBytes !== undefined && countedBytes(profileNamed(name), userData) > limitBytes
    );
  });
}

export function profileNames(): readonly ProfileName[] {
  return Object.keys(PROFILES).filter((name): name is ProfileName => Object.hasOwn(PROFILES, name));
}

export function profileNamed(name: ProfileName): Profile {
  return PROFILES[name];
}
