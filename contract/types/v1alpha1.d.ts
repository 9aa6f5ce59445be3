// Written by `npm run generate` from contract/schema; do not edit.

/** A bootstrap document. */
export interface MachineBootstrap {
  /** The version of the document format. An agent refuses a version that it does not read. */
  readonly apiVersion: 'machineadm.dev/v1alpha1';
  /** The kind of the document. Always MachineBootstrap. */
  readonly kind: 'MachineBootstrap';
  /** What an agent must be or have to apply this document. An older agent in an image refuses the document before it changes anything. Default: any agent that reads the apiVersion applies the document. */
  readonly requires?: {
    /** A condition on the version of the agent. Several comparisons, separated by blanks, must all hold. A pre-release comes before its release: 0.2.0-rc.1 does not satisfy '>=0.2.0'. Default: any version. */
    readonly agentVersion?: string;
    /** Names of features that the agent must have. This version of the format has no optional features yet. */
    readonly features?: readonly (string)[];
  };
  /** The identity of the machine in the management cluster, and of the document on the machine. It appears in reports and in the status. */
  readonly metadata: {
    /** The name of the document, usually that of the Cluster API Machine. It identifies the document on a machine with several. */
    readonly name: string | VariableText;
    /** The namespace of the machine in the management cluster. Default: none is reported. */
    readonly namespace?: string | VariableText;
    /** The UID of the machine in the management cluster. A new UID means a new machine, so state of an earlier one with the same disk is ignored. Default: the instance ID of the cloud, or else the machine ID of the operating system. */
    readonly uid?: string | VariableText;
    /** The name of the cluster that the machine belongs to. Default: none is reported. */
    readonly cluster?: string | VariableText;
    /** Labels of the machine. They appear in reports only; labels of the Node are kubernetes.node.labels. */
    readonly labels?: {
      readonly [key: string]: string;
    };
  };
  /** What the units of machineadm do at a boot after the document was applied. Once does nothing until the document changes; EveryBoot applies it again. */
  readonly apply?: 'Once' | 'EveryBoot';
  /** Named values that only the machine knows. Write ${name} in a field that allows variables; $${name} is the text itself. A variable without a value ends the run before any change. */
  readonly variables?: {
    readonly [key: string]: {
      /** The value itself. */
      readonly value: string;
    } | {
      /** The environment variable of machineadm that holds the value. */
      readonly env: EnvironmentVariableName;
    } | {
      /** A file of KEY=value lines, as systemd, afterburn and Flatcar write it. */
      readonly envFile: {
        /** The path of the file. */
        readonly path: AbsolutePath;
        /** The key whose value is used. */
        readonly key: EnvironmentVariableName;
      };
    } | {
      /** A file whose content is the value. One line break at its end is removed. */
      readonly file: AbsolutePath;
    } | {
      /** A dotted path into cloud-init's instance data. "-" and "_" are the same; names below v1 may be used alone. */
      readonly instanceData: string;
    } | {
      /** A value of the cloud's metadata service, which is reached directly and never through a proxy. */
      readonly metadata: {
        /** The cloud with the metadata service. */
        readonly provider: 'aws' | 'gcp' | 'azure' | 'openstack';
        /** The path of the value, as the service of the provider names it. */
        readonly path: string;
      };
    };
  };
  /** Named secrets. A field refers to one with {secret name}. The value is read when it is needed, and never printed. */
  readonly secrets?: {
    readonly [key: string]: {
      /** The secret itself. It is then part of the user data, which many parties can read; prefer a reference. */
      readonly value: string;
    } | {
      /** A file that holds the secret. One line break at its end is removed. */
      readonly file: MachinePath | VariableText;
    } | {
      /** The environment variable of machineadm that holds the secret. */
      readonly env: EnvironmentVariableName;
    } | {
      /** The name of a systemd credential that the unit of machineadm loads (LoadCredential=). */
      readonly systemdCredential: string;
    } | {
      /** A program that prints the secret. `plan` does not run it. */
      readonly exec: {
        /** The program and its arguments. The secret is what it prints to stdout, without one line break at the end. */
        readonly command: readonly (string)[];
        /** How long the program may run. */
        readonly timeout?: Duration;
      };
    } | {
      /** A secret that is fetched with an HTTP GET request. `plan` does not fetch it. */
      readonly http: {
        /** The URL of the secret. With plain http, allowInsecure is needed unless the server is this machine with a port below 1024. */
        readonly url: HttpUrl | VariableText;
        /** HTTP headers that are sent with every request. A value is a secret, given directly or by name. */
        readonly headers?: {
          readonly [key: string]: Secret;
        };
        /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
        readonly allowInsecure?: boolean;
        /** The SHA-256 digest of the response. A response with another digest is refused. Default: the response is not compared. */
        readonly sha256?: Sha256;
        /** A JSON pointer (RFC 6901) to the secret in a response that is JSON. Default: the whole response is the secret. */
        readonly pointer?: string;
      };
    } | {
      /** A secret of AWS Secrets Manager. The role of the machine must be allowed to read it. */
      readonly awsSecretsManager: {
        /** The name or the ARN of the secret. */
        readonly secretId: string;
        /** The AWS region that holds the secret. Default: the region of the machine. */
        readonly region?: string | VariableText;
        /** The key to read from a secret that is a JSON object. Default: the whole secret is used. */
        readonly key?: string;
        /** The URL of the service, for a VPC endpoint. Default: the public endpoint of the region. */
        readonly endpoint?: HttpUrl | VariableText;
        /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
        readonly allowInsecure?: boolean;
      };
    } | {
      /** A parameter of the AWS Systems Manager Parameter Store. The role of the machine must be allowed to read it. */
      readonly awsParameter: {
        /** The name of the parameter. */
        readonly name: string;
        /** The AWS region that holds the secret. Default: the region of the machine. */
        readonly region?: string | VariableText;
        /** The URL of the service, for a VPC endpoint. Default: the public endpoint of the region. */
        readonly endpoint?: HttpUrl | VariableText;
        /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
        readonly allowInsecure?: boolean;
      };
    };
  };
  /** The operating system of the machine. Default: machineadm does not change the operating system. */
  readonly host?: {
    /** The operating system of the machine. On another one the document is refused. */
    readonly platform?: 'Linux' | 'Windows';
    /** Whether machineadm reboots the machine when a change needs it, and continues after the boot. With Never such a run ends with RebootRequired. */
    readonly rebootPolicy?: 'Never' | 'IfRequired';
    /** The host name of the machine, in lower case. Default: the host name stays as it is. */
    readonly hostname?: string | VariableText;
    /** Entries of /etc/hosts. Lines that others wrote stay as they are. Default: /etc/hosts stays as it is, or gets the machine's own name where `host.hostname` is set. */
    readonly hosts?: {
      /** Addresses with their names. */
      readonly entries?: readonly ({
        /** An IPv4 or IPv6 address. */
        readonly address: string;
        /** Names of the address, the canonical one first. */
        readonly names: readonly (string)[];
      })[];
      /** Adds the machine's own name at 127.0.1.1 if neither another line nor nss-myhostname resolves it. sudo and other programs look it up. `host.hostname` alone does it, too; false leaves the name out. */
      readonly ownName?: boolean;
    };
    /** Configuration files of the network, in the format of the network tool. If the network is lost with the new files, machineadm restores the previous ones. Default: the network stays as it is. */
    readonly network?: {
      /** The tool that reads the files: systemd-networkd, netplan or NetworkManager. */
      readonly tool: 'networkd' | 'netplan' | 'NetworkManager';
      /** The files. A file that leaves the document is removed. */
      readonly files?: readonly ({
        /** The file name, with the suffix that the tool expects. */
        readonly name: string;
        /** The content, byte for byte. */
        readonly content: string;
      })[];
      /** Endpoints that must still be reachable after a change. A default route that existed before must always exist again. */
      readonly keep?: {
        /** A host and TCP port that must accept connections. Default: only the default route counts. */
        readonly endpoint?: HostPort;
        /** How long to wait for the network before the previous files are restored. */
        readonly timeout?: Duration;
      };
    };
    /** The time zone of the machine, by its name in the IANA time zone database. Default: the time zone stays as it is. */
    readonly timezone?: string;
    /** SELinux: its mode, booleans and labels of paths. Files that machineadm writes get the labels of the policy in any case. Default: SELinux stays as it is. */
    readonly selinux?: {
      /** The mode, now and at every boot. Default: the mode stays as it is. */
      readonly mode?: 'Enforcing' | 'Permissive';
      /** Booleans of the policy, set now and at every boot. If a later document does not have one, it keeps its value. */
      readonly booleans?: {
        readonly [key: string]: boolean;
      };
      /** Types of files by path, added to the policy with semanage. If a later document does not have one, it is removed. */
      readonly fileContexts?: readonly ({
        /** A regular expression that matches whole paths (semanage-fcontext(8)). */
        readonly path: string;
        /** The type of these files. */
        readonly type: string;
      })[];
    };
    /** AppArmor profiles, loaded now and at every boot. Default: AppArmor stays as it is. */
    readonly apparmor?: {
      /** The profiles. If a profile leaves the document, it is unloaded and removed. */
      readonly profiles?: readonly ({
        /** The name of the file in /etc/apparmor.d. */
        readonly name: string;
        /** The profile, in the format of apparmor.d(5). */
        readonly content: string;
      })[];
    };
    /** Kernel modules that are loaded now and at every boot. */
    readonly kernelModules?: readonly (string)[];
    /** Kernel parameters by name, with "." or "/" as separator. They are set now and at every boot, and read back. */
    readonly sysctl?: {
      readonly [key: string]: string | number;
    };
    /** Limits of processes: open files, processes, locked memory and the like (getrlimit(2)). Default: the limits of the system stay as they are. */
    readonly limits?: {
      /** Limits of services whose units set no limits (systemd-system.conf(5), DefaultLimit…=), by name in lower case. Running services keep their limits until they restart. */
      readonly services?: {
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly as?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly core?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly cpu?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly data?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly fsize?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly locks?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly memlock?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly msgqueue?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly nofile?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly nproc?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly rss?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly rtprio?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly rttime?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly sigpending?: Limit;
        /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
        readonly stack?: Limit;
      };
      /** Limits of sessions that pam_limits opens, by the user, the "@group" or "*" that they are for (limits.conf(5)). */
      readonly sessions?: {
        readonly [key: string]: {
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly as?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly core?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly cpu?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly data?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly fsize?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly locks?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly memlock?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly msgqueue?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly nofile?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly nproc?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly rss?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly rtprio?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly sigpending?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly stack?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly maxlogins?: Limit;
          /** The limit: a number in the unit that getrlimit(2) has for it, Unlimited, or a soft limit below a hard one. Default: the limit of the system. */
          readonly maxsyslogins?: Limit;
        };
      };
    };
    /** Disabled switches swap off, now and at every boot. Unmanaged leaves it as it is. */
    readonly swap?: 'Disabled' | 'Unmanaged';
    /** Groups of users. An existing group is changed if it differs. */
    readonly groups?: readonly ({
      /** The name of the group. */
      readonly name: string;
      /** The numeric ID of the group. Default: the system chooses one. */
      readonly gid?: number;
      /** Whether the ID comes from the range of system groups. */
      readonly system?: boolean;
      /** Whether the group is removed. */
      readonly absent?: boolean;
    })[];
    /** Users of the machine. An existing user is changed if it differs. */
    readonly users?: readonly ({
      /** The name of the user. */
      readonly name: string;
      /** The numeric ID of the user. Default: the system chooses one. */
      readonly uid?: number;
      /** The full name or a comment. Default: the comment stays as it is. */
      readonly gecos?: string;
      /** The primary group, which is created if it does not exist. Default: the default of useradd, a group with the name of the user. */
      readonly primaryGroup?: string;
      /** Supplementary groups, which are created if they do not exist. */
      readonly groups?: readonly (string)[];
      /** The home directory. Default: the default of useradd, in /home. */
      readonly home?: AbsolutePath;
      /** The login shell. Default: the default of useradd. */
      readonly shell?: AbsolutePath;
      /** Whether the user is a system account, with an ID from that range. */
      readonly system?: boolean;
      /** The password as a hash that crypt(5) reads, or "*" or "!" for none. Default: the password stays as it is. */
      readonly passwordHash?: Secret;
      /** Whether login with the password is disabled. SSH keys still work. */
      readonly locked?: boolean;
      /** Whether the account is expired, so that no one can log in with it. */
      readonly inactive?: boolean;
      /** The sudo rule or rules of the user, without the name. visudo checks them. Default: no rule. */
      readonly sudo?: string | readonly (string)[];
      /** The SSH public keys that may log in. machineadm manages a block of authorized_keys and keeps the other lines. Default: authorized_keys stays as it is. */
      readonly sshAuthorizedKeys?: readonly (string)[];
      /** Whether the user is removed. The home directory is kept. */
      readonly absent?: boolean;
    })[];
    /** The synchronization of the clock. Default: the time service stays as it is. */
    readonly time?: {
      /** Whether the time service runs. With false it is stopped and disabled. */
      readonly enabled?: boolean;
      /** NTP servers, by name or address. Default: those of the distribution. */
      readonly servers?: readonly (string | VariableText)[];
      /** Waits until the clock is synchronized before anything depends on it. Default: the run does not wait. */
      readonly synchronized?: {
        /** How far the clock may be off. */
        readonly within?: Duration;
        /** How long to wait for that. */
        readonly timeout?: Duration;
      };
    };
    /** The HTTP proxy of the machine. At least http or https is required. Default: no proxy is configured. */
    readonly proxy?: {
      /** The URL of the proxy for http requests. It may contain credentials, so it is treated as a secret. Default: http requests go directly. */
      readonly http?: Secret;
      /** The URL of the proxy for https requests. It may contain credentials, so it is treated as a secret. Default: https requests go directly. */
      readonly https?: Secret;
      /** Hosts, domains and subnets that are reached directly, beside this machine, the cluster and the metadata addresses. */
      readonly no?: readonly (string | VariableText)[];
      /** The programs that use the proxy. environment writes it to /etc/environment, which every user can read. */
      readonly for?: readonly ('agent' | 'containerd' | 'kubelet' | 'environment')[];
    };
    /** Certificate authorities that the operating system and the requests of machineadm trust. */
    readonly certificateAuthorities?: readonly ({
      /** The name of the file in the trust store, without its extension. */
      readonly name: string;
      /** The certificate in PEM form. */
      readonly pem: Certificate;
      /** Services that are restarted after a change, once all changes are made, if they run. Default: none. */
      readonly restarts?: readonly (string)[];
      /** Services that reload their configuration after a change, if they run. Default: none. */
      readonly reloads?: readonly (string)[];
    })[];
    /** Makes the machine a member of an Active Directory domain. Default: the machine joins no domain. */
    readonly activeDirectory?: {
      /** The DNS name of the domain. */
      readonly domain: string;
      /** The name of the computer account, at most 15 characters. Default: the first label of the host name. */
      readonly computerName?: string;
      /** The organizational unit in which the computer account is created. Not with an offline blob or a one-time password, whose account exists already. Default: the default container of the domain. */
      readonly computerOU?: string;
      /** How the join is authorized. Safest first: an offline blob for this machine, a one-time password of its prepared account, a delegated account. */
      readonly credentials: {
        /** The provisioning data of an offline domain join (djoin). */
        readonly offlineBlob: Secret;
      } | {
        /** The one-time password of the prepared computer account. */
        readonly oneTimePassword: Secret;
      } | {
        /** The name of an account that may create computers, without the domain. Delegate it to one organizational unit and nothing else. */
        readonly user: string;
        /** The password of the account. */
        readonly password: Secret;
      };
      /** The domain controller to use, by name or address. Default: one that DNS names. */
      readonly domainController?: string;
      /** Whether an existing computer account of this name is taken over. Another machine with the name loses its membership. Not with an offline blob or a one-time password. */
      readonly accountReuse?: boolean;
      /** The action when the domain no longer accepts the keys of this machine. */
      readonly onBroken?: 'Fail' | 'Rejoin';
      /** Leave makes `machineadm reset` delete the computer account, if the domain permits that, and remove the keytab. Keep leaves both. Without effect on Windows. */
      readonly onReset?: 'Keep' | 'Leave';
      /** The path of the keytab with the keys of the computer, with mode 0600. */
      readonly keytab?: AbsolutePath;
      /** Service classes for which the computer gets keys, beside host. */
      readonly servicePrincipals?: readonly (string)[];
      /** The Kerberos configuration of the machine. Default: configuration Managed. */
      readonly kerberos?: {
        /** Managed writes /etc/krb5.conf, with AES keys only, and keeps a backup of what was there. */
        readonly configuration?: 'Managed' | 'Unmanaged';
      };
      /** Whether the address of the machine is registered in the DNS of the domain. */
      readonly registerAddress?: boolean;
      /** Lets users of the domain log in, with sssd. Default: no user of the domain may log in. */
      readonly logins?: {
        /** Groups of the domain whose members may log in, without the domain. */
        readonly allowedGroups: readonly (string)[];
        /** Create creates the home directory at the first login. */
        readonly homeDirectories?: 'None' | 'Create';
      };
      /** How long the join may take. */
      readonly timeout?: Duration;
    };
    /** Services of the operating system. */
    readonly services?: readonly ({
      /** The name of the service. On Linux, .service may be left out. */
      readonly name: string;
      /** Whether the service starts at boot. Default: it stays as it is. */
      readonly enabled?: boolean;
      /** Whether the service is masked, so that nothing can start it. Excludes enabled and state Started. Default: it stays as it is. */
      readonly masked?: boolean;
      /** Whether the service runs now. Default: it stays as it is. */
      readonly state?: 'Started' | 'Stopped';
      /** Drop-ins of the unit. The service restarts if one changes. A drop-in that leaves the document is removed. */
      readonly dropIns?: readonly ({
        /** The file name, which ends in ".conf". */
        readonly name: string;
        /** The content of the drop-in. */
        readonly content: string;
      })[];
      /** Whether the service is stopped and disabled, and its unit in /etc/systemd/system is removed with its drop-ins. A unit of a package cannot be removed: mask it instead. */
      readonly absent?: boolean;
    })[];
    /** Disks, file systems and mounts. A device with data is never formatted unless the document explicitly allows it. Default: storage stays as it is. */
    readonly storage?: {
      /** Disks to partition. */
      readonly disks?: readonly ({
        /** The disk. A whole disk, so without partition. */
        readonly device: Device;
        /** The kind of partition table. mbr ends at 2 TiB and four partitions, and has no labels. */
        readonly table?: 'gpt' | 'mbr';
        /** Whether a partition table or signature that differs from the document may be destroyed. With false, such a disk is an error. A matching table is always kept. */
        readonly wipe?: boolean;
        /** The partitions of the disk in their order. */
        readonly partitions: readonly ({
          /** The label of the partition. An mbr table has none. Default: no label. */
          readonly label?: string | VariableText;
          /** The size with its unit, a percentage of the disk, or Rest for the remaining space. */
          readonly size: string;
          /** What the partition is for, by name or as a GPT type GUID. */
          readonly type?: 'linux' | 'swap' | 'lvm' | 'raid' | 'efi' | 'fat32' | 'ntfs' | string;
          /** Whether the partition grows to the end of a disk that became larger. Only for the last partition, with the size Rest, on a disk without percentages. Its data is kept. */
          readonly grow?: boolean;
        })[];
      })[];
      /** File systems to create. An existing one with the same type and label is kept. */
      readonly filesystems?: readonly ({
        /** The device that the file system is created on. */
        readonly device: Device;
        /** The type of the file system. */
        readonly type: 'ext4' | 'xfs' | 'btrfs' | 'vfat' | 'swap';
        /** The label. The longest one depends on the type: ext4 16 characters, xfs 12, btrfs 255, vfat 11, swap 15. Default: no label. */
        readonly label?: string | VariableText;
        /** Arguments that are passed to mkfs as they are. */
        readonly options?: readonly (string)[];
        /** Whether an existing file system grows to the size of its device. Its data is kept, and it stays mounted. Only ext4, xfs and btrfs can. */
        readonly grow?: boolean;
        /** Whether the device is formatted regardless of its contents. Its data is lost. */
        readonly overwrite?: boolean;
        /** Types of file systems, as blkid names them, that may be formatted over without overwrite. */
        readonly replace?: readonly (string)[];
      })[];
      /** File systems, directories, swap areas and swap files that are mounted now and at every boot. The run fails when one cannot be mounted. */
      readonly mounts?: readonly ({
        /** The device to mount. Default: source, or type tmpfs, says what is mounted. */
        readonly device?: Device;
        /** Instead of a device: the directory of a bind mount, the path of a swap file, or server:/path of NFS. machineadm creates a missing directory or swap file. Default: a device or a tmpfs is mounted. */
        readonly source?: string;
        /** The mount point, which is created if needed. Required, except for type swap, which has none. Default: swap has no mount point. */
        readonly path?: AbsolutePath | VariableText;
        /** The type of the file system, or swap. Required without a device: bind, tmpfs, nfs, nfs4 or swap. Default: the type that is found on the device. */
        readonly type?: string;
        /** Mount options, one in each entry. */
        readonly options?: readonly (string)[];
        /** The size of the swap file that source names, with its unit. Rounded up to MiB. Required for a swap file. Default: only a swap file has a size. */
        readonly size?: string;
        /** Whether the device or source is unmounted from the path, and machineadm's entry in /etc/fstab is removed. The data is kept. A swap file is turned off and deleted. */
        readonly absent?: boolean;
      })[];
    };
    /** Directories that machineadm creates before it writes files. */
    readonly directories?: readonly ({
      /** The path of the directory. Those above it are created if needed. */
      readonly path: AbsolutePath;
      /** The permissions of the directory in octal digits, in quotes. Default: "0755" for a new directory; an existing one keeps its mode. */
      readonly mode?: FileMode;
      /** The user and group that own the directory, as names or numeric IDs. Default: root:root for a new directory; an existing one keeps its owner. */
      readonly owner?: string;
      /** Modes and owner of everything in the directory, except files, directories and links that the document names. With absent, true also removes the contents. Default: the contents stay unchanged; with absent, the directory must be empty. */
      readonly recursive?: {
        /** The permissions of the files in it. Default: they keep their own. */
        readonly mode?: FileMode;
        /** The permissions of the directories in it. Default: they keep their own. */
        readonly directoryMode?: FileMode;
        /** The user and group that own its contents. Default: it keeps its own. */
        readonly owner?: string;
      } | true;
      /** Whether the path is removed. Excludes all other settings of it. */
      readonly absent?: boolean;
      /** Services that are restarted after a change, once all changes are made, if they run. Default: none. */
      readonly restarts?: readonly (string)[];
      /** Services that reload their configuration after a change, if they run. Default: none. */
      readonly reloads?: readonly (string)[];
    })[];
    /** Files that machineadm writes, after mounts and users exist. */
    readonly files?: readonly ({
      /** The path of the file. Directories above it are created if needed. */
      readonly path: MachinePath | VariableText;
      /** The content, byte for byte. Give this or contentFrom. Default: the content comes from contentFrom. */
      readonly content?: string;
      /** Where the content comes from. Give this or content. Default: the content is in content. */
      readonly contentFrom?: {
        /** The name of an entry of `secrets`, which is the content. */
        readonly secret: string;
      } | {
        /** A file on the machine that is copied. */
        readonly file: MachinePath;
      } | {
        /** A download, checked by its digest. */
        readonly http: {
          /** The URL of the download. */
          readonly url: HttpUrl | VariableText;
          /** The SHA-256 digest of the content. A download with another digest is refused. */
          readonly sha256: Sha256;
          /** HTTP headers that are sent with every request. A value is a secret, given directly or by name. */
          readonly headers?: {
            readonly [key: string]: Secret;
          };
          /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
          readonly allowInsecure?: boolean;
        };
      };
      /** How content is encoded in the document. Default: content is plain text. */
      readonly encoding?: 'base64' | 'gzip+base64';
      /** The permissions of the file in octal digits, in quotes. Default: "0644", or "0600" with content from a secret. */
      readonly mode?: FileMode;
      /** The user and group that own the file, as names or numeric IDs. */
      readonly owner?: string;
      /** The permissions of directories that are created above the file. */
      readonly directoryMode?: FileMode;
      /** Whether the content is added once at the end of the file. With false it is the whole file. */
      readonly append?: boolean;
      /** Adds the content to the file between two comments that name it. A changed content replaces the block, and the block is removed with its entry. Default: the content is the whole file, or is appended. */
      readonly block?: {
        /** The name of the block in the file. */
        readonly name: string;
        /** How comments begin in the file. */
        readonly comment?: '#' | '//' | ';' | '--' | '"' | '!' | '<!--';
      };
      /** Whether ${name} in content is replaced by a variable. */
      readonly expand?: boolean;
      /** Unpacks the content, a tar or zip archive, into the directory `path`, which is created if needed. A tar may be compressed with gzip or zstd. Default: the content is the file as it is. */
      readonly unpack?: {
        /** The one member of the archive that becomes the file `path`, by its name in the archive. Default: the archive is unpacked into the directory `path`. */
        readonly member?: string;
        /** The members that are unpacked, by their names without what stripComponents removes. `*` stands for any text without a slash, `**` for any text. Default: all members. */
        readonly include?: readonly (string)[];
        /** The members that are left out of them, in the same form. */
        readonly exclude?: readonly (string)[];
        /** How many leading directories are removed from the names of members. Members with fewer are left out. */
        readonly stripComponents?: number;
      };
      /** Whether the path is removed. Excludes all other settings of it. */
      readonly absent?: boolean;
      /** Services that are restarted after a change, once all changes are made, if they run. Default: none. */
      readonly restarts?: readonly (string)[];
      /** Services that reload their configuration after a change, if they run. Default: none. */
      readonly reloads?: readonly (string)[];
    })[];
    /** Symbolic links that machineadm creates after it has written files. */
    readonly links?: readonly ({
      /** The path of the link. Directories above it are created if needed. */
      readonly path: AbsolutePath;
      /** The target of the link: an absolute path, or one relative to the directory of the link. Required, except with absent. Default: the link is removed. */
      readonly target?: string;
      /** Whether to replace an existing file, or a link to another target. A directory is never replaced. */
      readonly force?: boolean;
      /** Whether the path is removed. Excludes all other settings of it. */
      readonly absent?: boolean;
      /** Services that are restarted after a change, once all changes are made, if they run. Default: none. */
      readonly restarts?: readonly (string)[];
      /** Services that reload their configuration after a change, if they run. Default: none. */
      readonly reloads?: readonly (string)[];
    })[];
    /** Whether a run undoes what earlier runs created or changed for entries that left the document. Anything changed since is kept. */
    readonly prune?: 'Always' | 'Never';
    /** Custom commands at three points of a run. Default: no commands. */
    readonly hooks?: {
      /** Commands that run before anything else is changed. Default: none. */
      readonly early?: EarlyHookGroup;
      /** Commands that run after the files below /run/kubeadm are written, and before the bootstrapper. They may edit those files. Default: none. */
      readonly beforeBootstrap?: HookGroup;
      /** Commands that run after the node is proven to work, and never after a failure. Default: none. */
      readonly afterBootstrap?: HookGroup;
      /** Whether beforeBootstrap, the bootstrapper and afterBootstrap behave as one script of one shell, as the kubeadm provider of Cluster API runs them. The bootstrapper has the exported variables, the working directory and the umask of beforeBootstrap; afterBootstrap continues in that shell. A command that fails is reported, and the run ends only where the script would: by exit, set -e or set -u. */
      readonly singleScript?: boolean;
    };
  };
  /** The container runtime of the node. Default: the runtime of the image is used as it is configured. */
  readonly containerRuntime?: {
    /** The configuration of containerd, /etc/containerd/config.toml and certs.d. machineadm keeps a backup of the previous file and restarts containerd after a change. Default: containerd is left as it is configured. */
    readonly containerd?: {
      /** The version of containerd that must be installed. machineadm installs none: host.files, a hook or a package does. On a node that runs, machineadm upgrade changes it. Default: the version that is installed. */
      readonly version?: string;
      /** Managed writes the whole file. Merge changes only the keys of this section in an existing file. */
      readonly mode?: 'Managed' | 'Merge';
      /** The cgroup driver of every runtime. The kubelet gets the same one. */
      readonly cgroupDriver?: 'systemd' | 'cgroupfs';
      /** The pause image. Default: the one that containerd was built with. */
      readonly sandboxImage?: string;
      /** The snapshotter that stores image layers. Default: the default of containerd, overlayfs. */
      readonly snapshotter?: string;
      /** Deletes compressed layers after they are unpacked, which saves disk space. Default: the default of containerd, false. */
      readonly discardUnpackedLayers?: boolean;
      /** The longest line of a container's log, as a size or Unlimited. Longer lines are split. Default: the default of containerd, 16Ki. */
      readonly maxContainerLogLineSize?: string;
      /** Prevents containers from lowering oom_score_adj below the value of containerd, for machines where that is forbidden (nested machines). Default: the default of containerd, false. */
      readonly restrictOomScoreAdj?: boolean;
      /** Devices through the Container Device Interface. Needs containerd 1.7; on by default from 2.0. Default: the default of containerd. */
      readonly cdi?: {
        /** Whether CDI is on. */
        readonly enabled?: boolean;
        /** Directories with CDI specifications. Default: /etc/cdi and /var/run/cdi. */
        readonly specDirectories?: readonly (AbsolutePath)[];
      };
      /** Where containerd looks for CNI plug-ins and their configuration. Default: the value in the existing file, or else the default of containerd. */
      readonly cni?: {
        /** Directories with CNI plug-ins. More than one needs containerd 2.1. Default: the value in the existing file, or else /opt/cni/bin. */
        readonly binaryDirectories?: readonly (AbsolutePath)[];
        /** The directory with the configuration of CNI. Default: the value in the existing file, or else /etc/cni/net.d. */
        readonly configurationDirectory?: AbsolutePath;
      };
      /** The directory that stores images and containers. Default: the value in the existing file, or else /var/lib/containerd. */
      readonly root?: AbsolutePath;
      /** The directory for state that ends with a reboot. Must differ from root. Default: the value in the existing file, or else /run/containerd. */
      readonly state?: AbsolutePath;
      /** The runtime of pods without a RuntimeClass. With mode Managed it must be runc or an entry of runtimes. Default: runc. */
      readonly defaultRuntime?: string;
      /** OCI runtimes by the handler name of a RuntimeClass. runc always exists. */
      readonly runtimes?: {
        readonly [key: string]: {
          /** The shim of the runtime. Default: by the name; io.containerd.runc.v2 for runc, crun, nvidia and unknown names. */
          readonly type?: string;
          /** The OCI runtime that the shim of runc starts, as a path or the name of a program. Other shims have none. Default: by the name, for crun and nvidia. */
          readonly binary?: AbsolutePath | string;
          /** Whether the program may be installed later. With false, a missing program ends the run before any change. */
          readonly optional?: boolean;
          /** The path of the shim, if it is not on the PATH of containerd. Default: the shim is looked up on the PATH of containerd. */
          readonly path?: AbsolutePath;
          /** The directory for the state of the OCI runtime. Default: the default of the runtime. */
          readonly root?: AbsolutePath;
          /** Annotations of pods that are passed to the runtime. A pattern may end in *. Default: by the name of the runtime. */
          readonly podAnnotations?: readonly (string)[];
          /** Annotations of containers that are passed to the runtime. A pattern may end in *. */
          readonly containerAnnotations?: readonly (string)[];
          /** Whether a privileged container gets no devices of the host. Default: by the name of the runtime, or else false. */
          readonly privilegedWithoutHostDevices?: boolean;
          /** A file with the OCI runtime specification (JSON) that every container starts from. Default: the default of containerd. */
          readonly baseSpec?: AbsolutePath;
          /** The snapshotter of this runtime. Needs containerd 1.7. Default: the value of containerRuntime.containerd.snapshotter. */
          readonly snapshotter?: string;
          /** Further options of the shim, by the names of containerd. SystemdCgroup and BinaryName have their own fields. */
          readonly options?: TomlTable;
        };
      };
      /** Where the images of a registry come from. Each entry becomes one hosts.toml, which is removed with the entry. */
      readonly registries?: readonly ({
        /** The registry, as in the names of its images. _default stands for all others. */
        readonly host: string | VariableText;
        /** The URL of the registry itself, which is used after the mirrors. Default: https:// and the host. */
        readonly server?: string | VariableText;
        /** Mirrors, which are tried first and in this order. */
        readonly mirrors?: readonly ({
          /** The URL of the mirror, without user and query. */
          readonly url: string | VariableText;
          /** What the mirror may do. referrers needs containerd 2.2. */
          readonly capabilities?: readonly ('pull' | 'resolve' | 'push' | 'referrers')[];
          /** The certificate authority of the server, as PEM or as a file on the machine, in addition to those that the operating system trusts. Default: those that the operating system trusts. */
          readonly ca?: Certificate | {
            /** A file with PEM certificates on the machine. */
            readonly file: AbsolutePath;
          };
          /** The certificate that containerd presents to the server (mutual TLS). Default: none is presented. */
          readonly clientCertificate?: ClientCertificate;
          /** Accepts any certificate of the server, so that anyone on the network path can replace images. */
          readonly skipVerify?: boolean;
          /** Whether the API begins at the path of the URL itself instead of at /v2 below it. */
          readonly overridePath?: boolean;
          /** How long to try to connect. Needs containerd 2.0. Default: the default of containerd, 30s. */
          readonly dialTimeout?: Duration;
          /** HTTP headers that are sent with every request. A value is a secret, given directly or by name. */
          readonly headers?: {
            readonly [key: string]: Secret;
          };
          /** User name and password (basic authentication) for every pull on this machine. Default: none. */
          readonly credentials?: {
            /** The user name. */
            readonly username: Secret;
            /** The password or token. */
            readonly password: Secret;
          };
          /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
          readonly allowInsecure?: boolean;
        })[];
        /** Whether the registry itself is used if no mirror has an image. */
        readonly fallback?: boolean;
        /** An image of this registry that is pulled to prove addresses, certificates and credentials. Default: nothing is pulled. */
        readonly verify?: string;
        /** The certificate authority of the server, as PEM or as a file on the machine, in addition to those that the operating system trusts. Default: those that the operating system trusts. */
        readonly ca?: Certificate | {
          /** A file with PEM certificates on the machine. */
          readonly file: AbsolutePath;
        };
        /** The certificate that containerd presents to the server (mutual TLS). Default: none is presented. */
        readonly clientCertificate?: ClientCertificate;
        /** Accepts any certificate of the server, so that anyone on the network path can replace images. */
        readonly skipVerify?: boolean;
        /** Whether the API begins at the path of the URL itself instead of at /v2 below it. */
        readonly overridePath?: boolean;
        /** How long to try to connect. Needs containerd 2.0. Default: the default of containerd, 30s. */
        readonly dialTimeout?: Duration;
        /** HTTP headers that are sent with every request. A value is a secret, given directly or by name. */
        readonly headers?: {
          readonly [key: string]: Secret;
        };
        /** User name and password (basic authentication) for every pull on this machine. Default: none. */
        readonly credentials?: {
          /** The user name. */
          readonly username: Secret;
          /** The password or token. */
          readonly password: Secret;
        };
        /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
        readonly allowInsecure?: boolean;
      })[];
      /** Any other key of the configuration of containerd, in the format of the installed version. machineadm merges it last and compares it with what containerd reports. */
      readonly settings?: TomlTable;
    };
  };
  /** Container images that must be on the machine before the bootstrapper runs. Default: the bootstrapper pulls what it needs. */
  readonly images?: {
    /** Archives that are imported into containerd, in OCI or docker layout, as plain tar, gzip or zstd. With archives and without kubernetes.node.imagePullPolicy the machine counts as air-gapped. */
    readonly archives?: readonly ({
      /** A file on this machine. Excludes url. Default: url names the archive. */
      readonly path?: AbsolutePath;
      /** The URL of an archive, which is downloaded, imported and deleted. Needs sha256. Excludes path. Default: path names the archive. */
      readonly url?: HttpUrl | VariableText;
      /** The SHA-256 digest of the archive as it is stored, compressed or not. Required with url. Default: a local file is not compared. */
      readonly sha256?: Sha256;
      /** HTTP headers that are sent with every request. A value is a secret, given directly or by name. */
      readonly headers?: {
        readonly [key: string]: Secret;
      };
      /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
      readonly allowInsecure?: boolean;
    })[];
    /** Images that must be present before the bootstrapper runs. Of a name with tag and digest, the digest counts. */
    readonly required?: readonly (string)[];
  };
  /** The Kubernetes node that the machine becomes. Default: machineadm configures the operating system only. */
  readonly kubernetes?: {
    /** The exact Kubernetes version. kubeadm on the machine must have the same minor version; nothing is downloaded. */
    readonly version: string;
    /** InitControlPlane creates a cluster, JoinControlPlane adds a control plane machine to one, Worker adds any other machine. */
    readonly role: 'InitControlPlane' | 'JoinControlPlane' | 'Worker';
    /** The program that bootstraps the node. Default: kubeadm with its defaults. */
    readonly bootstrapper?: {
      /** Settings of kubeadm. Excludes exec. Default: the defaults of kubeadm. */
      readonly kubeadm?: {
        /** The log level of kubeadm, 0 to 5. Above 5 kubeadm prints the bodies of requests, which hold secrets. Default: the default of kubeadm, 0. */
        readonly verbosity?: number;
        /** Phases of kubeadm that are left out. */
        readonly skipPhases?: readonly (string)[];
        /** Names of preflight checks of kubeadm whose failure is ignored, or all. */
        readonly ignorePreflightErrors?: readonly (string)[];
        /** Patches for the files that kubeadm writes, as a list or as a directory on the machine. */
        readonly patches?: readonly ({
          /** What is patched. A worker has only kubeletconfiguration. */
          readonly target: 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kubeletconfiguration' | 'corednsdeployment' | 'kubeproxydaemonset';
          /** The kind of patch. */
          readonly type?: 'strategic' | 'merge' | 'json';
          /** The patch itself, a map. For type json it is a list of operations (RFC 6902). */
          readonly patch: {
            readonly [key: string]: unknown;
          } | readonly (unknown)[];
        })[] | {
          /** A directory on the machine with patches, named as kubeadm reads them. */
          readonly directory: AbsolutePath;
        };
        /** A KubeletConfiguration and a KubeProxyConfiguration, passed on unchanged. Settings of kubeadm itself have their own fields. */
        readonly extraDocuments?: readonly ({
          /** The API version of the kind. */
          readonly apiVersion: string;
          /** KubeletConfiguration or KubeProxyConfiguration. */
          readonly kind: string;
          readonly [key: string]: unknown;
        })[];
        /** Whether kubeadm is ended when the kubelet, or a component of the control plane, exits twice because of its own configuration, such as an unknown flag. kubeadm itself would wait for minutes. */
        readonly failFast?: boolean;
        /** How often the bootstrapper is tried if the cause of a failure may be temporary. Default: 3 attempts. */
        readonly retry?: {
          /** The number of attempts, 1 to 3. */
          readonly attempts?: number;
          /** The wait before the second attempt. It doubles before the third. */
          readonly backoff?: Duration;
        };
      };
      /** A program that takes the place of kubeadm. Excludes kubeadm. Default: kubeadm. */
      readonly exec?: {
        /** The program, as an absolute path or a name. It reads the order (role, cluster, node, join, …) as JSON from stdin. */
        readonly command: string;
        /** Arguments of the program. Every user of the machine can see them, so they must not contain secrets. */
        readonly args?: readonly (string)[];
        /** Environment variables of the program. */
        readonly env?: readonly (EnvironmentVariable)[];
        /** How long one attempt may take. */
        readonly timeout?: Duration;
        /** A test that ends with status 0 as soon as the node works. Default: the health endpoint of the kubelet is the test. */
        readonly successTest?: {
          /** The program and its arguments. */
          readonly command: readonly (string)[];
        };
        /** What lines of the output of a failed program mean. They are tried in order on every line. */
        readonly failurePatterns?: readonly ({
          /** A regular expression that a line matches, in the syntax of RE2 (https://github.com/google/re2/wiki/Syntax), without lookaround and backreferences. */
          readonly pattern: string;
          /** What went wrong, in a sentence. */
          readonly reason: string;
          /** What to do about it. Default: no remedy is reported. */
          readonly remedy?: string;
          /** Whether another attempt may succeed. */
          readonly retryable?: boolean;
        })[];
        /** A program that undoes what the bootstrapper did, before another attempt and for `machineadm reset`. Default: nothing is undone. */
        readonly reset?: {
          /** The program and its arguments. */
          readonly command: readonly (string)[];
        };
        /** How often the bootstrapper is tried if the cause of a failure may be temporary. Default: 3 attempts. */
        readonly retry?: {
          /** The number of attempts, 1 to 3. */
          readonly attempts?: number;
          /** The wait before the second attempt. It doubles before the third. */
          readonly backoff?: Duration;
        };
      };
    };
    /** Settings of the cluster. They matter when it is created; a machine that joins reads them from the cluster. Default: the defaults of kubeadm. */
    readonly cluster?: {
      /** The name of the cluster. Default: the default of kubeadm, kubernetes. */
      readonly name?: string;
      /** The stable address of the API servers, as host:port. Default: the address of this machine, which cannot be changed later. */
      readonly controlPlaneEndpoint?: HostPort | VariableText;
      /** The subnets of pods, one of each IP family at most. */
      readonly podSubnets?: readonly (Subnet)[];
      /** The subnets of services, one of each IP family at most. Default: the default of kubeadm, 10.96.0.0/12. */
      readonly serviceSubnets?: readonly (Subnet)[];
      /** The DNS domain of services. Default: the default of kubeadm, cluster.local. */
      readonly dnsDomain?: DnsSubdomain;
      /** The repository of the images of the control plane. Default: the default of kubeadm, registry.k8s.io. */
      readonly imageRepository?: ImageRepository;
      /** Feature gates of kubeadm itself. Those of the components are arguments or kubelet configuration. */
      readonly featureGates?: {
        readonly [key: string]: boolean;
      };
      /** The directory with the certificates of the cluster. */
      readonly certificatesDirectory?: AbsolutePath;
      /** How long certificates are valid. Needs kubeadm 1.31. Default: the default of kubeadm, 365 days. */
      readonly certificateValidity?: Duration;
      /** How long certificates of the authorities are valid. Needs kubeadm 1.31. Default: the default of kubeadm, 3650 days. */
      readonly caCertificateValidity?: Duration;
      /** The algorithm of the keys that kubeadm creates. Default: the default of kubeadm, RSA-2048. */
      readonly encryptionAlgorithm?: 'RSA-2048' | 'RSA-3072' | 'RSA-4096' | 'ECDSA-P256' | 'ECDSA-P384';
      /** Tokens with which other machines can join. Only when the cluster is created. Default: kubeadm creates one. */
      readonly bootstrapTokens?: readonly ({
        /** The token, 6 characters, a dot and 16 characters of a-z and 0-9. */
        readonly token: Secret;
        /** What the token is for. Default: none. */
        readonly description?: string;
        /** How long the token is valid. Excludes expires. Default: the default of kubeadm, 24h. */
        readonly ttl?: Duration;
        /** The time at which the token expires (RFC 3339). kubeadm takes only ttl in its configuration. Excludes ttl. Default: the token expires after ttl. */
        readonly expires?: string;
        /** What the token may be used for. kubeadm needs authentication among them. Default: both. */
        readonly usages?: readonly ('signing' | 'authentication')[];
        /** Groups that a machine with the token belongs to. Default: the default of kubeadm, system:bootstrappers:kubeadm:default-node-token. */
        readonly groups?: readonly (string)[];
      })[];
    };
    /** Certificates and keys of the cluster that exist already. machineadm checks that they belong together. Not for a worker. Default: kubeadm creates or downloads them. */
    readonly pki?: {
      /** The authority of the cluster. Default: kubeadm makes or fetches it. */
      readonly ca?: KeyPair;
      /** The authority of etcd. Default: kubeadm makes or fetches it. */
      readonly etcd?: KeyPair;
      /** The authority of the aggregation layer. Default: kubeadm makes or fetches it. */
      readonly frontProxy?: KeyPair;
      /** The key pair that signs tokens of service accounts. Default: kubeadm makes or fetches it. */
      readonly serviceAccount?: {
        /** The public key in PEM form. */
        readonly publicKey: string | VariableText;
        /** The private key in PEM form. */
        readonly key: Secret;
      };
      /** The certificate with which the API server connects to an external etcd. Default: kubeadm makes it. */
      readonly apiserverEtcdClient?: KeyPair;
    };
    /** The components of the control plane on this machine. Not for a worker. Default: the defaults of kubeadm. */
    readonly controlPlane?: {
      /** The address at which the API server of this machine listens. Default: the default address of the machine, port 6443. */
      readonly apiEndpoint?: {
        /** The IP address that the API server advertises. Default: the address of the default route. */
        readonly advertiseAddress?: string | VariableText;
        /** The port of the API server. Default: the default of kubeadm, 6443. */
        readonly bindPort?: number;
      };
      /** The API server. Default: the defaults of kubeadm. */
      readonly apiServer?: {
        /** Command line arguments. A name may repeat where the component allows it. */
        readonly args?: readonly (Argument)[];
        /** Environment variables of the container. */
        readonly env?: readonly (PodEnvironmentVariable)[];
        /** Paths of the host that are mounted into the container. */
        readonly volumes?: readonly ({
          /** The name of the volume. */
          readonly name: string;
          /** The path on the machine. */
          readonly hostPath: AbsolutePath;
          /** The path in the container. */
          readonly mountPath: AbsolutePath;
          /** Whether the container may only read it. */
          readonly readOnly?: boolean;
          /** What must be at the path on the machine, and whether it is created. Default: nothing is checked. */
          readonly pathType?: 'DirectoryOrCreate' | 'Directory' | 'FileOrCreate' | 'File' | 'Socket' | 'CharDevice' | 'BlockDevice';
        })[];
        /** Further host names and IP addresses that the certificate of the API server is valid for. */
        readonly certSANs?: readonly (string)[];
        /** The audit log of the API server, which records who did what. Default: no audit log. */
        readonly audit?: {
          /** The audit policy, without apiVersion and kind. */
          readonly policy: {
            /** The rules. The first that matches a request decides. */
            readonly rules: readonly ({
              /** How much of a matching request is recorded. */
              readonly level: 'None' | 'Metadata' | 'Request' | 'RequestResponse';
              /** Users that the rule is about. Default: all users. */
              readonly users?: readonly (string)[];
              /** Groups of users that the rule is about. Default: all groups. */
              readonly userGroups?: readonly (string)[];
              /** Verbs that the rule is about. Default: all verbs. */
              readonly verbs?: readonly (string)[];
              /** Resources that the rule is about. Excludes nonResourceURLs. Default: all resources. */
              readonly resources?: readonly ({
                /** The API group, without its version. */
                readonly group?: string;
                /** The resources of the group. pods/log names a subresource. Default: all resources of the group. */
                readonly resources?: readonly (string)[];
                /** Names of objects. They need resources. Default: all objects. */
                readonly resourceNames?: readonly (string)[];
              })[];
              /** Namespaces that the rule is about. Excludes nonResourceURLs. Default: all namespaces. */
              readonly namespaces?: readonly (string)[];
              /** URL paths that the rule is about. "*" may be the last character. Excludes resources and namespaces. Default: the rule is not about URL paths. */
              readonly nonResourceURLs?: readonly (string)[];
              /** Stages of a request at which no event is recorded. */
              readonly omitStages?: readonly ('RequestReceived' | 'ResponseStarted' | 'ResponseComplete' | 'Panic')[];
              /** Whether managedFields are left out of recorded objects. Needs Kubernetes 1.23. */
              readonly omitManagedFields?: boolean;
            })[];
            /** Stages of a request at which no event is recorded. */
            readonly omitStages?: readonly ('RequestReceived' | 'ResponseStarted' | 'ResponseComplete' | 'Panic')[];
            /** Whether managedFields are left out of recorded objects. Needs Kubernetes 1.23. */
            readonly omitManagedFields?: boolean;
          };
          /** Writes events to a file. At least log or webhook is required. Default: no file. */
          readonly log?: {
            /** The path of the file. Its directory is mounted into the pod. */
            readonly path?: AbsolutePath;
            /** How long rotated files are kept, in whole days. */
            readonly maxAge?: Duration;
            /** How many rotated files are kept. */
            readonly maxBackups?: number;
            /** The size at which the file is rotated, in whole Mi. */
            readonly maxSize?: string;
            /** Whether events are batched, or a request waits until they are written. */
            readonly mode?: 'Batch' | 'Blocking' | 'BlockingStrict';
          };
          /** Sends events to a server. At least log or webhook is required. Default: no server. */
          readonly webhook?: {
            /** The URL of the server. */
            readonly server: string;
            /** The name that the certificate of the server must have. Default: the host of server. */
            readonly tlsServerName?: string;
            /** The authority that signs for the server, in PEM form. Default: those that the image of the API server trusts. */
            readonly certificateAuthority?: Certificate;
            /** The certificate that the API server presents to the server. Excludes token. Default: none is presented. */
            readonly clientCertificate?: ClientCertificate;
            /** The bearer token that the API server sends to the server. Excludes clientCertificate. Default: none is sent. */
            readonly token?: Secret;
            /** Whether events are batched, or a request waits until they are sent. */
            readonly mode?: 'Batch' | 'Blocking' | 'BlockingStrict';
          };
        };
        /** How objects are encrypted in etcd. Default: objects are not encrypted. */
        readonly encryptionAtRest?: {
          /** The resources that are encrypted. */
          readonly resources?: readonly (string)[];
          /** The providers, one kind in each entry. The first one encrypts; all of them decrypt. */
          readonly providers: readonly ({
            /** Encryption with keys that the document gives: secretbox takes 32 bytes, aescbc and aesgcm 16, 24 or 32. Default: the entry is another kind of provider. */
            readonly secretbox?: {
              /** The keys. The first one encrypts; all of them decrypt. */
              readonly keys: readonly ({
                /** The name of the key, stored with what it encrypts. */
                readonly name: string;
                /** The key, random bytes in base64. */
                readonly key: Secret;
              })[];
            };
            /** Encryption with keys that the document gives: secretbox takes 32 bytes, aescbc and aesgcm 16, 24 or 32. Default: the entry is another kind of provider. */
            readonly aescbc?: {
              /** The keys. The first one encrypts; all of them decrypt. */
              readonly keys: readonly ({
                /** The name of the key, stored with what it encrypts. */
                readonly name: string;
                /** The key, random bytes in base64. */
                readonly key: Secret;
              })[];
            };
            /** Encryption with keys that the document gives: secretbox takes 32 bytes, aescbc and aesgcm 16, 24 or 32. Default: the entry is another kind of provider. */
            readonly aesgcm?: {
              /** The keys. The first one encrypts; all of them decrypt. */
              readonly keys: readonly ({
                /** The name of the key, stored with what it encrypts. */
                readonly name: string;
                /** The key, random bytes in base64. */
                readonly key: Secret;
              })[];
            };
            /** Encryption with a key management service, through a plug-in on the machine. Default: the entry is another kind of provider. */
            readonly kms?: {
              /** The name of the provider, stored with what it encrypts. */
              readonly name: string;
              /** The socket of the plug-in. */
              readonly endpoint: string;
              /** How long one call may take. */
              readonly timeout?: Duration;
              /** The version of the KMS protocol. v1 is off from Kubernetes 1.29. */
              readonly version?: 'v1' | 'v2';
            };
            /** No encryption, for objects that were written before encryption began. Default: the entry is another kind of provider. */
            readonly identity?: {
            };
          })[];
        };
        /** How the API server checks the identity of users. Give webhook, structured or both. Default: certificates, service accounts and bootstrap tokens. */
        readonly authentication?: {
          /** A server that checks bearer tokens (TokenReview). Default: no server is called. */
          readonly webhook?: {
            /** The URL of the server. */
            readonly server: string;
            /** The name that the certificate of the server must have. Default: the host of server. */
            readonly tlsServerName?: string;
            /** The authority that signs for the server, in PEM form. Default: those that the image of the API server trusts. */
            readonly certificateAuthority?: Certificate;
            /** The certificate that the API server presents to the server. Excludes token. Default: none is presented. */
            readonly clientCertificate?: ClientCertificate;
            /** The bearer token that the API server sends to the server. Excludes clientCertificate. Default: none is sent. */
            readonly token?: Secret;
            /** The API version of the review object. */
            readonly version?: 'v1' | 'v1beta1';
            /** How long an answer is cached. Default: the default of Kubernetes, 2m. */
            readonly cacheTTL?: Duration;
          };
          /** An AuthenticationConfiguration. Needs Kubernetes 1.30, or 1.29 with its feature gate. It replaces the arguments oidc-*. Default: none. */
          readonly structured?: {
            /** Issuers of tokens that are accepted. */
            readonly jwt?: readonly ({
              /** The issuer of the tokens. */
              readonly issuer: {
                /** The URL of the issuer, as the tokens name it. */
                readonly url: HttpsUrl;
                /** The URL of the discovery document, if it is not the default URL of the issuer. Needs Kubernetes 1.30. Default: url and /.well-known/openid-configuration. */
                readonly discoveryURL?: HttpsUrl;
                /** The authority that signs for the issuer, in PEM form. Default: those that the image of the API server trusts. */
                readonly certificateAuthority?: Certificate;
                /** Audiences of tokens that are accepted. More than one needs Kubernetes 1.30. */
                readonly audiences: readonly (string)[];
              };
              /** What must be true of the claims of a token. */
              readonly claimValidationRules?: readonly ({
                /** The claim that must have requiredValue. Excludes expression. Default: expression is the rule. */
                readonly claim?: string;
                /** The value that the claim must have. Belongs to claim. Default: the empty text. */
                readonly requiredValue?: string;
                /** A CEL expression over claims that must be true. Excludes claim. Default: claim is the rule. */
                readonly expression?: string;
                /** The message when the expression is false. Belongs to expression. Default: a message of the API server. */
                readonly message?: string;
              })[];
              /** How claims become the attributes of a user. */
              readonly claimMappings: {
                /** The name of the user. */
                readonly username: {
                  /** The claim that holds the value. Excludes expression. Default: expression gives the value. */
                  readonly claim?: string;
                  /** A prefix for the value of the claim, "" for none. Required with claim. Default: an expression has no prefix. */
                  readonly prefix?: string;
                  /** A CEL expression that gives the value. Excludes claim. Default: claim gives the value. */
                  readonly expression?: string;
                };
                /** The groups of the user. Default: no groups. */
                readonly groups?: {
                  /** The claim that holds the value. Excludes expression. Default: expression gives the value. */
                  readonly claim?: string;
                  /** A prefix for the value of the claim, "" for none. Required with claim. Default: an expression has no prefix. */
                  readonly prefix?: string;
                  /** A CEL expression that gives the value. Excludes claim. Default: claim gives the value. */
                  readonly expression?: string;
                };
                /** The UID of the user. Default: no UID. */
                readonly uid?: {
                  /** The claim that holds the value. Excludes expression. Default: expression gives the value. */
                  readonly claim?: string;
                  /** A CEL expression that gives the value. Excludes claim. Default: claim gives the value. */
                  readonly expression?: string;
                };
                /** Further attributes of the user. */
                readonly extra?: readonly ({
                  /** The key, in lower case and with a domain. */
                  readonly key: string;
                  /** A CEL expression that gives the value. */
                  readonly valueExpression: string;
                })[];
              };
              /** What must be true of the user that a token becomes. */
              readonly userValidationRules?: readonly ({
                /** A CEL expression over the user that must be true. */
                readonly expression: string;
                /** The message when the expression is false. Default: a message of the API server. */
                readonly message?: string;
              })[];
            })[];
            /** Requests without a credential. Needs Kubernetes 1.31, or its feature gate. Default: the default of Kubernetes, enabled. */
            readonly anonymous?: {
              /** Whether such requests are served. */
              readonly enabled: boolean;
              /** The only paths at which they are served. kubeadm needs /readyz, /livez and /healthz. Default: all paths. */
              readonly paths?: readonly (string)[];
            };
          };
        };
        /** How the API server decides what a user may do. Give webhook or structured. Default: Node and RBAC. */
        readonly authorization?: {
          /** The authorizers in their order. All three are required. */
          readonly modes?: readonly ('Node' | 'RBAC' | 'Webhook')[];
          /** A server that decides about requests (SubjectAccessReview). Excludes structured. Default: no server is called. */
          readonly webhook?: {
            /** The URL of the server. */
            readonly server: string;
            /** The name that the certificate of the server must have. Default: the host of server. */
            readonly tlsServerName?: string;
            /** The authority that signs for the server, in PEM form. Default: those that the image of the API server trusts. */
            readonly certificateAuthority?: Certificate;
            /** The certificate that the API server presents to the server. Excludes token. Default: none is presented. */
            readonly clientCertificate?: ClientCertificate;
            /** The bearer token that the API server sends to the server. Excludes clientCertificate. Default: none is sent. */
            readonly token?: Secret;
            /** The API version of the review object. */
            readonly version?: 'v1' | 'v1beta1';
            /** How long the answer "allowed" is cached. */
            readonly authorizedTTL?: Duration;
            /** How long the answer "not allowed" is cached. */
            readonly unauthorizedTTL?: Duration;
          };
          /** An AuthorizationConfiguration, the authorizers in their order. Needs Kubernetes 1.30. Excludes modes and webhook. Default: modes. */
          readonly structured?: readonly ({
            /** The kind of authorizer. Node and RBAC must be among them. */
            readonly type: 'Node' | 'RBAC' | 'Webhook';
            /** The name of the authorizer in metrics. */
            readonly name: DnsSubdomain;
            /** The server of an authorizer of type Webhook. Default: the type is not Webhook. */
            readonly webhook?: {
              /** The URL of the server. */
              readonly server: string;
              /** The name that the certificate of the server must have. Default: the host of server. */
              readonly tlsServerName?: string;
              /** The authority that signs for the server, in PEM form. Default: those that the image of the API server trusts. */
              readonly certificateAuthority?: Certificate;
              /** The certificate that the API server presents to the server. Excludes token. Default: none is presented. */
              readonly clientCertificate?: ClientCertificate;
              /** The bearer token that the API server sends to the server. Excludes clientCertificate. Default: none is sent. */
              readonly token?: Secret;
              /** The API version of the review object. */
              readonly version?: 'v1' | 'v1beta1';
              /** How long the answer "allowed" is cached. */
              readonly authorizedTTL?: Duration;
              /** How long the answer "not allowed" is cached. */
              readonly unauthorizedTTL?: Duration;
              /** How long one request may take, at most 30s. */
              readonly timeout?: Duration;
              /** What happens when the server does not answer. */
              readonly failurePolicy: 'NoOpinion' | 'Deny';
              /** CEL expressions. The server is called only if all are true. */
              readonly matchConditions?: readonly (string)[];
            };
          })[];
        };
        /** The admission plug-ins of the API server. Default: the default ones and NodeRestriction. */
        readonly admission?: {
          /** Plug-ins that are enabled beside the default ones and NodeRestriction. */
          readonly enable?: readonly (string)[];
          /** Plug-ins that are disabled. */
          readonly disable?: readonly (string)[];
          /** The configuration of plug-ins. Default: the defaults of the plug-ins. */
          readonly config?: readonly ({
            /** The plug-in. */
            readonly plugin: string;
            /** The configuration in the format of the plug-in. For PodSecurity and EventRateLimit omit apiVersion and kind: machineadm chooses them. */
            readonly configuration: {
              readonly [key: string]: unknown;
            };
          })[];
        };
      };
      /** The controller manager. Default: the defaults of kubeadm. */
      readonly controllerManager?: Component;
      /** The scheduler. Default: the defaults of kubeadm. */
      readonly scheduler?: Component;
      /** Where etcd runs, on the control plane machines or elsewhere. Default: kubeadm runs etcd on this machine. */
      readonly etcd?: {
        /** The etcd member that kubeadm runs as a static pod. Excludes external. Default: the defaults of kubeadm. */
        readonly local?: {
          /** The directory of the data. Use a directory below a mount point and not the mount point itself. Default: the default of kubeadm, /var/lib/etcd. */
          readonly dataDirectory?: AbsolutePath;
          /** The repository of the image. Default: kubernetes.cluster.imageRepository. */
          readonly imageRepository?: ImageRepository;
          /** The tag of the image. Default: the default of kubeadm. */
          readonly imageTag?: ImageTag;
          /** Command line arguments. A name may repeat where the component allows it. */
          readonly args?: readonly (Argument)[];
          /** Environment variables of the container. */
          readonly env?: readonly (PodEnvironmentVariable)[];
          /** Further names that the server certificate of etcd is valid for. */
          readonly serverCertSANs?: readonly (string)[];
          /** Further names that the peer certificate of etcd is valid for. */
          readonly peerCertSANs?: readonly (string)[];
        };
        /** An etcd cluster that is managed elsewhere. Excludes local. Default: kubeadm runs etcd on this machine. */
        readonly external?: {
          /** The URLs of the members. */
          readonly endpoints: readonly (string)[];
          /** The URLs at which the members serve HTTP, where that is apart from gRPC. Needs kubeadm 1.35. Default: endpoints. */
          readonly httpEndpoints?: readonly (string)[];
          /** A file on the machine with the certificate of etcd's authority. */
          readonly caFile: AbsolutePath;
          /** A file on the machine with the client certificate. */
          readonly certFile: AbsolutePath;
          /** A file on the machine with the key of the client certificate. */
          readonly keyFile: AbsolutePath;
        };
      };
      /** The key, 64 hex digits, that encrypts the certificates which control plane machines share. A joining control plane needs this or pki. Default: certificates are not shared through the cluster. */
      readonly certificateKey?: Secret;
      /** The renewal of the certificates of kubeadm on this machine. Default: only an upgrade to another version renews certificates. */
      readonly certificates?: {
        /** How long before they expire "machineadm upgrade" renews the certificates of kubeadm on this machine. Shorter than kubernetes.cluster.certificateValidity. Default: only an upgrade to another version renews certificates. */
        readonly renewBefore?: Duration;
      };
      /** Pods that must run before the API server answers, such as kube-vip. */
      readonly staticPods?: readonly ({
        /** The name of the file below /etc/kubernetes/manifests, without ".yaml". */
        readonly name: DnsSubdomain;
        /** One Pod, as YAML or JSON. */
        readonly manifest: string;
        /** Auto mounts super-admin.conf instead of admin.conf where kubeadm init needs it (from 1.29). AsWritten changes nothing. */
        readonly adminKubeconfig?: 'Auto' | 'AsWritten';
      })[];
    };
    /** The Node object and the kubelet of this machine. Default: the defaults of kubeadm. */
    readonly node?: {
      /** The name of the Node. Default: the host name in lower case. */
      readonly name?: DnsSubdomain | VariableText;
      /** The ID by which the cloud provider knows the machine. Cluster API compares it. Default: the cloud provider sets it. */
      readonly providerID?: string;
      /** Selects the addresses of the node from those of the machine, for the kubelet (`--node-ip`) and the API server of a control plane. Default: the kubelet and kubeadm take the address of the default route. */
      readonly addresses?: {
        /** The interface that has the addresses. Excludes routeTo. Default: any interface. */
        readonly interface?: string;
        /** Selects the interface of a route: `Default` for the default route of each IP family, an IP address for the route to it. Excludes interface. Default: any interface. */
        readonly routeTo?: string | 'Default';
        /** Subnets that have the addresses. The node gets one address of each IP family in this list; the first family is the primary one. Default: `0.0.0.0/0`: one IPv4 address; if routeTo is an IPv6 address, `::/0`. */
        readonly subnets?: readonly (string)[];
        /** How long a run waits for the addresses. */
        readonly timeout?: Duration;
      };
      /** Labels of the Node, set by the kubelet when it registers. Those that a kubelet may not set (`node-role.kubernetes.io/…`) are set after the join: a control plane does, for a worker the report names them. */
      readonly labels?: {
        readonly [key: string]: string | VariableText;
      };
      /** Taints of the Node when it registers. An empty list means none. If the Node exists already, a control plane adds them after the join; for a worker the report names them. Default: the default of kubeadm for the role. */
      readonly taints?: readonly ({
        /** The key of the taint. */
        readonly key: string;
        /** The value of the taint. */
        readonly value?: string;
        /** What happens to pods that do not tolerate the taint. */
        readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
      })[];
      /** The socket of the container runtime, as a URL. Default: the socket of containerd if the document configures it, otherwise that of the one runtime of the machine (containerd, CRI-O or cri-dockerd). */
      readonly criSocket?: string;
      /** When kubeadm pulls its images. Default: the default of kubeadm, IfNotPresent; Never with images.archives. */
      readonly imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never';
      /** Whether kubeadm pulls one image after the other. false needs kubeadm 1.31. Default: the default of kubeadm, true. */
      readonly imagePullSerial?: boolean;
      /** Settings of the kubelet. Default: the defaults of kubeadm. */
      readonly kubelet?: {
        /** Fields of KubeletConfiguration v1beta1. */
        readonly config?: {
          readonly [key: string]: unknown;
        };
        /** Command line arguments of the kubelet. Prefer config where it has a field. */
        readonly args?: readonly (Argument)[];
      };
    };
    /** How a machine that joins finds its cluster. Required for the roles JoinControlPlane and Worker. Default: the role InitControlPlane has none. */
    readonly join?: {
      /** How the cluster is found and verified, by token or by file. */
      readonly discovery: {
        /** Discovery with a bootstrap token. Excludes file. Default: file is used. */
        readonly token?: {
          /** The bootstrap token. */
          readonly token: Secret;
          /** The address of the API server, as host:port. */
          readonly endpoint: HostPort | VariableText;
          /** The hashes of the public key of the cluster's authority. Required unless unsafeSkipCAVerification is set. */
          readonly caCertHashes?: readonly (string | VariableText)[];
          /** Joins without verifying the cluster. Anyone on the network path can take over the node. Excludes caCertHashes. */
          readonly unsafeSkipCAVerification?: boolean;
        };
        /** Discovery with a kubeconfig file. Excludes token. Default: token is used. */
        readonly file?: {
          /** The path of the file. */
          readonly path?: AbsolutePath | VariableText;
          /** The content that machineadm writes to the file. Default: something else writes the file. */
          readonly kubeconfig?: {
            /** The URL of the API server. */
            readonly server: string | VariableText;
            /** The name that the certificate of the server must have. Default: the host of server. */
            readonly tlsServerName?: string;
            /** Accepts any certificate of the server. Excludes certificateAuthority. */
            readonly insecureSkipTLSVerify?: boolean;
            /** The authority of the cluster in PEM form. Default: the one in the ConfigMap cluster-info. */
            readonly certificateAuthority?: Certificate | VariableText;
            /** A proxy for the connection to the API server. Default: no proxy. */
            readonly proxyURL?: string | VariableText;
            /** How the machine proves its identity. Default: join.tlsBootstrapToken is the proof. */
            readonly user?: {
              /** A credential plug-in of client-go. */
              readonly exec: {
                /** The program. */
                readonly command: string;
                /** Arguments of the program. */
                readonly args?: readonly (string)[];
                /** Environment variables of the program. */
                readonly env?: readonly (EnvironmentVariable)[];
                /** The version of the plug-in protocol. */
                readonly apiVersion?: 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1';
                /** Whether the program gets the address and the authority of the cluster. */
                readonly provideClusterInfo?: boolean;
              };
            } | {
              /** A bearer token. */
              readonly token: Secret;
            };
          };
        };
      };
      /** The token with which the kubelet asks for its certificate. Default: the credential of the discovery. */
      readonly tlsBootstrapToken?: Secret;
      /** The file to which the certificate of the cluster's authority is written. */
      readonly caCertPath?: AbsolutePath;
    };
    /** The addons that kubeadm installs when it creates a cluster. Default: CoreDNS and kube-proxy. */
    readonly addons?: {
      /** The addon CoreDNS. Default: enabled, with the image of kubeadm. */
      readonly dns?: {
        /** Whether kubeadm installs the addon. */
        readonly enabled?: boolean;
        /** The repository of the image. Default: kubernetes.cluster.imageRepository. */
        readonly imageRepository?: ImageRepository;
        /** The tag of the image. Default: the default of kubeadm. */
        readonly imageTag?: ImageTag;
      };
      /** The addon kube-proxy. Default: enabled, with the defaults of kubeadm. */
      readonly proxy?: {
        /** Whether kubeadm installs the addon. */
        readonly enabled?: boolean;
        /** Fields of KubeProxyConfiguration v1alpha1. */
        readonly config?: {
          readonly [key: string]: unknown;
        };
      };
    };
    /** How long kubeadm and the whole run wait. Default: the defaults of kubeadm, and 30m for the whole run. */
    readonly timeouts?: {
      /** How long to wait for the components of the control plane. Default: the default of kubeadm, 4m. */
      readonly controlPlane?: Duration;
      /** How long to wait for the kubelet. Needs kubeadm 1.31. Default: the default of kubeadm, 4m. */
      readonly kubelet?: Duration;
      /** How long one request to the API server may be retried. Needs kubeadm 1.31. Default: the default of kubeadm, 1m. */
      readonly api?: Duration;
      /** How long one request to etcd may be retried. Needs kubeadm 1.32. Default: the default of kubeadm, 2m. */
      readonly etcd?: Duration;
      /** How long to wait for the certificate of the kubelet. Needs kubeadm 1.31. Default: the default of kubeadm, 5m. */
      readonly tlsBootstrap?: Duration;
      /** How long discovery may take. Default: the default of kubeadm, 5m. */
      readonly discovery?: Duration;
      /** How long the whole run may take. */
      readonly overall?: Duration;
    };
    /** What must be true before the run is a success. Default: NodeRegistered within 5m. */
    readonly ready?: {
      /** The proof: the health endpoint of the kubelet, the Node in the API server, the Node with condition Ready, or the successTest of bootstrapper.exec. Default: NodeRegistered; with bootstrapper.exec its successTest, or else KubeletHealthy. */
      readonly require?: 'KubeletHealthy' | 'NodeRegistered' | 'NodeReady' | 'Command';
      /** How long to wait for the proof. */
      readonly timeout?: Duration;
      /** Whether the control-plane endpoint must lead to this control plane: its name resolves, it accepts connections, its certificate is signed by the CA of the cluster, and this cluster answers. For control planes. */
      readonly endpoint?: 'Required' | 'Later';
    };
  };
  /** The security benchmarks that machineadm applies to the machine and audits. See docs/hardening.md. Default: no benchmark is applied. */
  readonly hardening?: {
    /** The benchmarks: cis-level-1 and cis-level-2 (CIS Kubernetes v1.12), stig (DISA Kubernetes STIG V1R9), cis-os (network and kernel). */
    readonly profiles: readonly ('cis-level-1' | 'cis-level-2' | 'stig' | 'cis-os')[];
    /** IDs of controls to apply although they are off by default, because they can break clusters or belong to a profile that is not chosen. */
    readonly include?: readonly ('cis-1.1.1' | 'cis-1.1.2' | 'cis-1.1.3' | 'cis-1.1.4' | 'cis-1.1.5' | 'cis-1.1.6' | 'cis-1.1.7' | 'cis-1.1.8' | 'cis-1.1.9' | 'cis-1.1.10' | 'cis-1.1.11' | 'cis-1.1.12' | 'cis-1.1.13' | 'cis-1.1.14' | 'cis-1.1.15' | 'cis-1.1.16' | 'cis-1.1.17' | 'cis-1.1.18' | 'cis-1.1.19' | 'cis-1.1.20' | 'cis-1.1.21' | 'cis-1.2.1' | 'cis-1.2.2' | 'cis-1.2.3' | 'cis-1.2.4' | 'cis-1.2.5' | 'cis-1.2.6' | 'cis-1.2.7' | 'cis-1.2.8' | 'cis-1.2.9' | 'cis-1.2.10' | 'cis-1.2.11' | 'cis-1.2.12' | 'cis-1.2.13' | 'cis-1.2.14' | 'cis-1.2.15' | 'cis-1.2.16' | 'cis-1.2.17' | 'cis-1.2.18' | 'cis-1.2.19' | 'cis-1.2.20' | 'cis-1.2.21' | 'cis-1.2.22' | 'cis-1.2.23' | 'cis-1.2.24' | 'cis-1.2.25' | 'cis-1.2.26' | 'cis-1.2.27' | 'cis-1.2.28' | 'cis-1.2.29' | 'cis-1.2.30' | 'cis-1.3.1' | 'cis-1.3.2' | 'cis-1.3.3' | 'cis-1.3.4' | 'cis-1.3.5' | 'cis-1.3.6' | 'cis-1.3.7' | 'cis-1.4.1' | 'cis-1.4.2' | 'cis-2.1' | 'cis-2.2' | 'cis-2.3' | 'cis-2.4' | 'cis-2.5' | 'cis-2.6' | 'cis-2.7' | 'cis-3.1.1' | 'cis-3.1.2' | 'cis-3.1.3' | 'cis-3.2.1' | 'cis-3.2.2' | 'cis-4.1.1' | 'cis-4.1.2' | 'cis-4.1.3' | 'cis-4.1.4' | 'cis-4.1.5' | 'cis-4.1.6' | 'cis-4.1.7' | 'cis-4.1.8' | 'cis-4.1.9' | 'cis-4.1.10' | 'cis-4.2.1' | 'cis-4.2.2' | 'cis-4.2.3' | 'cis-4.2.4' | 'cis-4.2.5' | 'cis-4.2.6' | 'cis-4.2.7' | 'cis-4.2.8' | 'cis-4.2.9' | 'cis-4.2.10' | 'cis-4.2.11' | 'cis-4.2.12' | 'cis-4.2.13' | 'cis-4.2.14' | 'cis-4.3.1' | 'stig-V-242376' | 'stig-V-242377' | 'stig-V-242378' | 'stig-V-242379' | 'stig-V-242380' | 'stig-V-242381' | 'stig-V-242382' | 'stig-V-242383' | 'stig-V-242384' | 'stig-V-242385' | 'stig-V-242386' | 'stig-V-242387' | 'stig-V-242388' | 'stig-V-242389' | 'stig-V-242390' | 'stig-V-242391' | 'stig-V-242392' | 'stig-V-242393' | 'stig-V-242394' | 'stig-V-242395' | 'stig-V-242396' | 'stig-V-242397' | 'stig-V-242398' | 'stig-V-242399' | 'stig-V-242400' | 'stig-V-242401' | 'stig-V-242402' | 'stig-V-242403' | 'stig-V-242404' | 'stig-V-242405' | 'stig-V-242406' | 'stig-V-242407' | 'stig-V-242408' | 'stig-V-242409' | 'stig-V-242410' | 'stig-V-242411' | 'stig-V-242412' | 'stig-V-242413' | 'stig-V-242414' | 'stig-V-242415' | 'stig-V-242417' | 'stig-V-242418' | 'stig-V-242419' | 'stig-V-242420' | 'stig-V-242421' | 'stig-V-242422' | 'stig-V-242423' | 'stig-V-242424' | 'stig-V-242425' | 'stig-V-242426' | 'stig-V-242427' | 'stig-V-242428' | 'stig-V-242429' | 'stig-V-242430' | 'stig-V-242431' | 'stig-V-242432' | 'stig-V-242433' | 'stig-V-242434' | 'stig-V-242435' | 'stig-V-242436' | 'stig-V-242437' | 'stig-V-242438' | 'stig-V-242442' | 'stig-V-242443' | 'stig-V-242444' | 'stig-V-242445' | 'stig-V-242446' | 'stig-V-242447' | 'stig-V-242448' | 'stig-V-242449' | 'stig-V-242450' | 'stig-V-242451' | 'stig-V-242452' | 'stig-V-242453' | 'stig-V-242454' | 'stig-V-242455' | 'stig-V-242456' | 'stig-V-242457' | 'stig-V-242458' | 'stig-V-242459' | 'stig-V-242460' | 'stig-V-242461' | 'stig-V-242462' | 'stig-V-242463' | 'stig-V-242464' | 'stig-V-242465' | 'stig-V-242466' | 'stig-V-242467' | 'stig-V-242468' | 'stig-V-245541' | 'stig-V-245542' | 'stig-V-245543' | 'stig-V-245544' | 'stig-V-254800' | 'stig-V-254801' | 'cis-os-3.3.1' | 'cis-os-3.3.2' | 'cis-os-3.3.3' | 'cis-os-3.3.4' | 'cis-os-3.3.5' | 'cis-os-3.3.6' | 'cis-os-3.3.7' | 'cis-os-3.3.8' | 'cis-os-3.3.9' | 'cis-os-3.3.10' | 'cis-os-3.3.11' | 'cis-os-1.5.1' | 'cis-os-1.5.2' | 'cis-os-1.5.3' | 'cis-os-1.1.1.1' | 'cis-os-1.1.1.2' | 'cis-os-1.1.1.3' | 'cis-os-1.1.1.4' | 'cis-os-1.1.1.5' | 'cis-os-1.1.1.9' | 'cis-os-3.2.1' | 'cis-os-3.2.2' | 'cis-os-3.2.3' | 'cis-os-1.1.1.6' | 'cis-os-1.1.1.7' | 'cis-os-1.1.1.8' | 'cis-os-3.2.4' | 'k8s-base-modules' | 'k8s-base-sysctl' | 'k8s-protect-kernel-defaults')[];
    /** Controls that are not applied, each with its reason. An audit lists them. */
    readonly exceptions?: readonly ({
      /** The ID of the control. */
      readonly id: 'cis-1.1.1' | 'cis-1.1.2' | 'cis-1.1.3' | 'cis-1.1.4' | 'cis-1.1.5' | 'cis-1.1.6' | 'cis-1.1.7' | 'cis-1.1.8' | 'cis-1.1.9' | 'cis-1.1.10' | 'cis-1.1.11' | 'cis-1.1.12' | 'cis-1.1.13' | 'cis-1.1.14' | 'cis-1.1.15' | 'cis-1.1.16' | 'cis-1.1.17' | 'cis-1.1.18' | 'cis-1.1.19' | 'cis-1.1.20' | 'cis-1.1.21' | 'cis-1.2.1' | 'cis-1.2.2' | 'cis-1.2.3' | 'cis-1.2.4' | 'cis-1.2.5' | 'cis-1.2.6' | 'cis-1.2.7' | 'cis-1.2.8' | 'cis-1.2.9' | 'cis-1.2.10' | 'cis-1.2.11' | 'cis-1.2.12' | 'cis-1.2.13' | 'cis-1.2.14' | 'cis-1.2.15' | 'cis-1.2.16' | 'cis-1.2.17' | 'cis-1.2.18' | 'cis-1.2.19' | 'cis-1.2.20' | 'cis-1.2.21' | 'cis-1.2.22' | 'cis-1.2.23' | 'cis-1.2.24' | 'cis-1.2.25' | 'cis-1.2.26' | 'cis-1.2.27' | 'cis-1.2.28' | 'cis-1.2.29' | 'cis-1.2.30' | 'cis-1.3.1' | 'cis-1.3.2' | 'cis-1.3.3' | 'cis-1.3.4' | 'cis-1.3.5' | 'cis-1.3.6' | 'cis-1.3.7' | 'cis-1.4.1' | 'cis-1.4.2' | 'cis-2.1' | 'cis-2.2' | 'cis-2.3' | 'cis-2.4' | 'cis-2.5' | 'cis-2.6' | 'cis-2.7' | 'cis-3.1.1' | 'cis-3.1.2' | 'cis-3.1.3' | 'cis-3.2.1' | 'cis-3.2.2' | 'cis-4.1.1' | 'cis-4.1.2' | 'cis-4.1.3' | 'cis-4.1.4' | 'cis-4.1.5' | 'cis-4.1.6' | 'cis-4.1.7' | 'cis-4.1.8' | 'cis-4.1.9' | 'cis-4.1.10' | 'cis-4.2.1' | 'cis-4.2.2' | 'cis-4.2.3' | 'cis-4.2.4' | 'cis-4.2.5' | 'cis-4.2.6' | 'cis-4.2.7' | 'cis-4.2.8' | 'cis-4.2.9' | 'cis-4.2.10' | 'cis-4.2.11' | 'cis-4.2.12' | 'cis-4.2.13' | 'cis-4.2.14' | 'cis-4.3.1' | 'stig-V-242376' | 'stig-V-242377' | 'stig-V-242378' | 'stig-V-242379' | 'stig-V-242380' | 'stig-V-242381' | 'stig-V-242382' | 'stig-V-242383' | 'stig-V-242384' | 'stig-V-242385' | 'stig-V-242386' | 'stig-V-242387' | 'stig-V-242388' | 'stig-V-242389' | 'stig-V-242390' | 'stig-V-242391' | 'stig-V-242392' | 'stig-V-242393' | 'stig-V-242394' | 'stig-V-242395' | 'stig-V-242396' | 'stig-V-242397' | 'stig-V-242398' | 'stig-V-242399' | 'stig-V-242400' | 'stig-V-242401' | 'stig-V-242402' | 'stig-V-242403' | 'stig-V-242404' | 'stig-V-242405' | 'stig-V-242406' | 'stig-V-242407' | 'stig-V-242408' | 'stig-V-242409' | 'stig-V-242410' | 'stig-V-242411' | 'stig-V-242412' | 'stig-V-242413' | 'stig-V-242414' | 'stig-V-242415' | 'stig-V-242417' | 'stig-V-242418' | 'stig-V-242419' | 'stig-V-242420' | 'stig-V-242421' | 'stig-V-242422' | 'stig-V-242423' | 'stig-V-242424' | 'stig-V-242425' | 'stig-V-242426' | 'stig-V-242427' | 'stig-V-242428' | 'stig-V-242429' | 'stig-V-242430' | 'stig-V-242431' | 'stig-V-242432' | 'stig-V-242433' | 'stig-V-242434' | 'stig-V-242435' | 'stig-V-242436' | 'stig-V-242437' | 'stig-V-242438' | 'stig-V-242442' | 'stig-V-242443' | 'stig-V-242444' | 'stig-V-242445' | 'stig-V-242446' | 'stig-V-242447' | 'stig-V-242448' | 'stig-V-242449' | 'stig-V-242450' | 'stig-V-242451' | 'stig-V-242452' | 'stig-V-242453' | 'stig-V-242454' | 'stig-V-242455' | 'stig-V-242456' | 'stig-V-242457' | 'stig-V-242458' | 'stig-V-242459' | 'stig-V-242460' | 'stig-V-242461' | 'stig-V-242462' | 'stig-V-242463' | 'stig-V-242464' | 'stig-V-242465' | 'stig-V-242466' | 'stig-V-242467' | 'stig-V-242468' | 'stig-V-245541' | 'stig-V-245542' | 'stig-V-245543' | 'stig-V-245544' | 'stig-V-254800' | 'stig-V-254801' | 'cis-os-3.3.1' | 'cis-os-3.3.2' | 'cis-os-3.3.3' | 'cis-os-3.3.4' | 'cis-os-3.3.5' | 'cis-os-3.3.6' | 'cis-os-3.3.7' | 'cis-os-3.3.8' | 'cis-os-3.3.9' | 'cis-os-3.3.10' | 'cis-os-3.3.11' | 'cis-os-1.5.1' | 'cis-os-1.5.2' | 'cis-os-1.5.3' | 'cis-os-1.1.1.1' | 'cis-os-1.1.1.2' | 'cis-os-1.1.1.3' | 'cis-os-1.1.1.4' | 'cis-os-1.1.1.5' | 'cis-os-1.1.1.9' | 'cis-os-3.2.1' | 'cis-os-3.2.2' | 'cis-os-3.2.3' | 'cis-os-1.1.1.6' | 'cis-os-1.1.1.7' | 'cis-os-1.1.1.8' | 'cis-os-3.2.4' | 'k8s-base-modules' | 'k8s-base-sysctl' | 'k8s-protect-kernel-defaults';
      /** Why the control is not applied, for the reader of the audit. */
      readonly reason: string;
    })[];
  };
  /** Receivers of the outcome of a run, in addition to the status file and the exit code. Default: the journal and the sentinel. */
  readonly reporting?: {
    /** The file whose existence means that the node works. Cluster API's bootstrap contract asks for it. Default: the path of Cluster API. */
    readonly sentinel?: {
      /** The path of the sentinel. Its content is "success" and a line break. */
      readonly path: AbsolutePath;
    };
    /** How long a separate process retries delivery to remote sinks after the run has ended. Reports that remain are spooled and sent later. */
    readonly deadline?: Duration;
    /** Receivers of the events of a run. A receiver that is down neither fails nor delays a bootstrap. */
    readonly sinks?: readonly (JournalSink | ConsoleSink | SystemdNotifySink | WindowsEventLogSink | ExecSink | KubernetesSink | NodeSink | NATSSink | AWSSink | GCPSink | AzureSink | OTLPSink | GuestinfoSink | WebhookSink)[];
  };
}

/** A text that holds a reference to a variable, such as ${rack}. Its form is checked once the value is known. */
export type VariableText = string;

/** The name of an environment variable. */
export type EnvironmentVariableName = string;

/** An absolute path of Linux, without "//" and "..". */
export type AbsolutePath = string;

/** An absolute path, on Windows with its drive, without "..". */
export type MachinePath = string;

/** A duration, as one or more numbers with a unit (ms, s, m, h, d). */
export type Duration = string;

/** An http or https URL. */
export type HttpUrl = string;

/** A secret, written down or by the name of an entry of `secrets`. */
export type Secret = string | {
  /** The name of an entry of `secrets`. */
  readonly secret: string;
};

/** A SHA-256 digest, in 64 lower-case hex digits. */
export type Sha256 = string;

/** A host and a port from 1 to 65535. An IPv6 address is in brackets. */
export type HostPort = string;

export type Limit = number | 'Unlimited' | {
  /** The limit with which a process starts. The process may raise it up to the hard limit. */
  readonly soft: number | 'Unlimited';
  /** The limit that a process cannot exceed. */
  readonly hard: number | 'Unlimited';
};

/** One or more certificates in PEM form. */
export type Certificate = string;

/** A block device, named in one of several ways. */
export type Device = {
  /** The path of the device. */
  readonly path: AbsolutePath | VariableText;
  /** The number of a partition of the disk. Default: the whole disk. */
  readonly partition?: number;
  /** How long to wait for the device to appear. */
  readonly timeout?: Duration;
} | {
  /** The name of the device below /dev/disk/by-id. */
  readonly id: string | VariableText;
  /** The number of a partition of the disk. Default: the whole disk. */
  readonly partition?: number;
  /** How long to wait for the device to appear. */
  readonly timeout?: Duration;
} | {
  /** The serial number of the disk. */
  readonly serial: string;
  /** The number of a partition of the disk. Default: the whole disk. */
  readonly partition?: number;
  /** How long to wait for the device to appear. */
  readonly timeout?: Duration;
} | {
  /** The label of the file system on the device. */
  readonly label: string | VariableText;
  /** How long to wait for the device to appear. */
  readonly timeout?: Duration;
} | {
  /** The label of the partition (GPT). */
  readonly partitionLabel: string;
  /** How long to wait for the device to appear. */
  readonly timeout?: Duration;
} | {
  /** The number of a local disk of the cloud machine, from 0: instance store of AWS, local disks of Azure, local SSD of Google Cloud. */
  readonly instanceStore: number;
  /** The number of a partition of the disk. Default: the whole disk. */
  readonly partition?: number;
  /** How long to wait for the device to appear. */
  readonly timeout?: Duration;
} | {
  /** The resource disk of an Azure machine. */
  readonly azureResource: true;
  /** The number of a partition of the disk. Default: the whole disk. */
  readonly partition?: number;
  /** How long to wait for the device to appear. */
  readonly timeout?: Duration;
};

/** Permissions of a file, in three or four octal digits. */
export type FileMode = string;

/** Commands of one shell process. */
export type EarlyHookGroup = {
  /** The shell that runs the commands. Default: sh, or powershell on Windows. */
  readonly shell?: 'sh' | 'bash' | 'powershell' | 'cmd';
  /** Fail ends the run at the first entry that fails. Continue reports it and runs the next entry. */
  readonly onError?: 'Fail' | 'Continue';
  /** How long the whole group may run. After that its processes are killed. */
  readonly timeout?: Duration;
  /** Whether a group that ran to its end runs again in a later run: Never, OnChange if its commands, environment, user or working directory changed since its last run, or Always. A group with commands that never ran is another group, and runs. */
  readonly rerun?: 'Never' | 'OnChange' | 'Always';
  /** The user that the commands run as, with its groups. It must exist when the group runs. Not on Windows. */
  readonly user?: string;
  /** The working directory of the commands. It must exist when the group runs. Default: /, or the directory of machineadm on Windows. */
  readonly workingDirectory?: MachinePath;
  /** The commands: text for the shell, or a list of a program and its arguments, which the shell does not interpret. They run in order in one shell process, so exports persist from one entry to the next. */
  readonly commands: readonly (string | readonly (string)[])[];
  /** Environment variables of all entries. A value may contain ${name}, which is replaced by a variable of the document. */
  readonly environment?: {
    readonly [key: string]: string | VariableText;
  };
  /** Environment variables with the path of a file that holds the secret. The file has mode 0600, is stored in memory, and is removed after the group. Not with frequency Always. */
  readonly secrets?: {
    readonly [key: string]: {
      /** The name of an entry of `secrets`. */
      readonly secret: string;
    };
  };
  /** Whether ${name} in commands is replaced by a variable. A value with a character that a shell interprets is refused; use environment for it. */
  readonly expand?: boolean;
  /** When an entry that fails runs again in the same run, in the shell as it was before the entry: for locks of package managers, downloads, and a network that is not up yet. The timeout of the group includes all attempts and pauses. Only with onError Fail. Default: an entry that fails ends the group. */
  readonly retry?: {
    /** How often an entry may run, the first time included: 2 to 100. */
    readonly attempts: number;
    /** The pause before the second attempt. */
    readonly delay?: Duration;
    /** The factor by which each further pause is longer than the one before it: 1 to 10. */
    readonly backoff?: number;
    /** The exit statuses after which an entry runs again: apt ends with 100 if another process holds its lock. Default: all but 0. */
    readonly on?: readonly (number)[];
  };
  /** Once runs the group once on a machine, Always at every boot. */
  readonly frequency?: 'Once' | 'Always';
};

/** Commands of one shell process. */
export type HookGroup = {
  /** The shell that runs the commands. Default: sh, or powershell on Windows. */
  readonly shell?: 'sh' | 'bash' | 'powershell' | 'cmd';
  /** Fail ends the run at the first entry that fails. Continue reports it and runs the next entry. */
  readonly onError?: 'Fail' | 'Continue';
  /** How long the whole group may run. After that its processes are killed. */
  readonly timeout?: Duration;
  /** Whether a group that ran to its end runs again in a later run: Never, OnChange if its commands, environment, user or working directory changed since its last run, or Always. A group with commands that never ran is another group, and runs. */
  readonly rerun?: 'Never' | 'OnChange' | 'Always';
  /** The user that the commands run as, with its groups. It must exist when the group runs. Not on Windows. */
  readonly user?: string;
  /** The working directory of the commands. It must exist when the group runs. Default: /, or the directory of machineadm on Windows. */
  readonly workingDirectory?: MachinePath;
  /** The commands: text for the shell, or a list of a program and its arguments, which the shell does not interpret. They run in order in one shell process, so exports persist from one entry to the next. */
  readonly commands: readonly (string | readonly (string)[])[];
  /** Environment variables of all entries. A value may contain ${name}, which is replaced by a variable of the document. */
  readonly environment?: {
    readonly [key: string]: string | VariableText;
  };
  /** Environment variables with the path of a file that holds the secret. The file has mode 0600, is stored in memory, and is removed after the group. Not with frequency Always. */
  readonly secrets?: {
    readonly [key: string]: {
      /** The name of an entry of `secrets`. */
      readonly secret: string;
    };
  };
  /** Whether ${name} in commands is replaced by a variable. A value with a character that a shell interprets is refused; use environment for it. */
  readonly expand?: boolean;
  /** When an entry that fails runs again in the same run, in the shell as it was before the entry: for locks of package managers, downloads, and a network that is not up yet. The timeout of the group includes all attempts and pauses. Only with onError Fail. Default: an entry that fails ends the group. */
  readonly retry?: {
    /** How often an entry may run, the first time included: 2 to 100. */
    readonly attempts: number;
    /** The pause before the second attempt. */
    readonly delay?: Duration;
    /** The factor by which each further pause is longer than the one before it: 1 to 10. */
    readonly backoff?: number;
    /** The exit statuses after which an entry runs again: apt ends with 100 if another process holds its lock. Default: all but 0. */
    readonly on?: readonly (number)[];
  };
};

/** A table of TOML. Its values are strings, numbers, booleans, lists and tables. */
export type TomlTable = {
  readonly [key: string]: string | number | boolean | readonly (string | number | boolean | TomlTable)[] | TomlTable;
};

/** A certificate and its key, with which a client proves its identity (mutual TLS). */
export type ClientCertificate = {
  /** The certificate in PEM form, with the intermediate certificates that the other side needs. */
  readonly certificate: Certificate;
  /** The private key of the certificate in PEM form. */
  readonly key: Secret;
};

/** An environment variable. */
export type EnvironmentVariable = {
  /** The name of the environment variable. */
  readonly name: EnvironmentVariableName;
  /** The value of the environment variable. Write numbers and booleans in quotes. */
  readonly value: string;
};

/** A subnet in CIDR form. */
export type Subnet = string;

/** A DNS subdomain (RFC 1123) in lower case, as names of Kubernetes objects are. */
export type DnsSubdomain = string;

/** A repository of images without a tag, in lower case. */
export type ImageRepository = string;

/** A certificate and its key. */
export type KeyPair = {
  /** The certificate in PEM form. */
  readonly certificate: CertificateOfTheCluster | VariableText;
  /** The private key in PEM form. Default: only the certificate is handed out. */
  readonly key?: Secret;
};

/** One or more certificates in PEM form. */
export type CertificateOfTheCluster = string;

/** A command line argument of a component. */
export type Argument = {
  /** The name of the argument without leading dashes. */
  readonly name: string;
  /** The value of the argument. Write numbers and booleans in quotes. */
  readonly value: string;
};

/** An environment variable. */
export type PodEnvironmentVariable = EnvironmentVariable | {
  /** The name of the environment variable. */
  readonly name: EnvironmentVariableName;
  /** A value of the pod itself. A static pod has no access to objects of the API. */
  readonly valueFrom: {
    /** A field of the pod. */
    readonly fieldRef: {
      /** The path of the field. */
      readonly fieldPath: string;
      /** The API version that the path belongs to. Default: the default of Kubernetes, v1. */
      readonly apiVersion?: string;
    };
  } | {
    /** A resource request or limit of a container. */
    readonly resourceFieldRef: {
      /** The resource. */
      readonly resource: string;
      /** The container. Default: the container that has the variable. */
      readonly containerName?: string;
      /** The unit of the value. Default: the default of Kubernetes, 1. */
      readonly divisor?: string;
    };
  };
};

/** An https URL. */
export type HttpsUrl = string;

/** A component of the control plane. */
export type Component = {
  /** Command line arguments. A name may repeat where the component allows it. */
  readonly args?: readonly (Argument)[];
  /** Environment variables of the container. */
  readonly env?: readonly (PodEnvironmentVariable)[];
  /** Paths of the host that are mounted into the container. */
  readonly volumes?: readonly ({
    /** The name of the volume. */
    readonly name: string;
    /** The path on the machine. */
    readonly hostPath: AbsolutePath;
    /** The path in the container. */
    readonly mountPath: AbsolutePath;
    /** Whether the container may only read it. */
    readonly readOnly?: boolean;
    /** What must be at the path on the machine, and whether it is created. Default: nothing is checked. */
    readonly pathType?: 'DirectoryOrCreate' | 'Directory' | 'FileOrCreate' | 'File' | 'Socket' | 'CharDevice' | 'BlockDevice';
  })[];
};

/** The tag of an image. */
export type ImageTag = string;

/** Structured entries of journald, or syslog on machines without journald. */
export type JournalSink = {
  /** The kind of receiver. */
  readonly type: 'Journal';
};

/** One line for each event on a console. A run never waits for a reader. */
export type ConsoleSink = {
  /** The kind of receiver. */
  readonly type: 'Console';
  /** The console that gets one line for each event. */
  readonly device?: string;
};

/** The status line of the systemd unit that started machineadm, which needs NotifyAccess=all. */
export type SystemdNotifySink = {
  /** The kind of receiver. */
  readonly type: 'SystemdNotify';
};

/** Entries of the Application log of Windows, with the source machineadm. */
export type WindowsEventLogSink = {
  /** The kind of receiver. */
  readonly type: 'WindowsEventLog';
};

/** A program that reads each event from stdin. */
export type ExecSink = {
  /** The kind of receiver. */
  readonly type: 'Exec';
  /** The program and its arguments. It is started for each event and reads it from stdin as one line of JSON. */
  readonly command: readonly (string)[];
  /** Environment variables of the program. A value is a secret, given directly or by name. */
  readonly environment?: {
    readonly [key: string]: Secret;
  };
  /** The name of the sink in messages and tables. Two sinks must not have the same name. Default: the type of the sink. */
  readonly name?: string;
  /** The events that are delivered. */
  readonly events?: readonly ('started' | 'stepChanged' | 'waiting' | 'warning' | 'concluded' | 'readinessChanged')[];
  /** How long one delivery may take. */
  readonly timeout?: Duration;
};

/** The conditions of this machine in a ConfigMap of the management cluster. */
export type KubernetesSink = {
  /** The kind of receiver. */
  readonly type: 'Kubernetes';
  /** A kubeconfig for the management cluster, instead of server, certificateAuthority and token or clientCertificate. It may not refer to files. Default: server, certificateAuthority and a credential say the same. */
  readonly kubeconfig?: Secret;
  /** The URL of the API server of the management cluster. It is reached directly, not through host.proxy. Needed unless kubeconfig is given. Default: kubeconfig holds it. */
  readonly server?: HttpsUrl | VariableText;
  /** The name that the certificate of the server must have. Default: the host of server. */
  readonly tlsServerName?: DnsSubdomain;
  /** The PEM certificates of the authority that signs for the API server of the management cluster. No other authority is accepted. Needed unless kubeconfig is given. Default: kubeconfig holds it. */
  readonly certificateAuthority?: Certificate;
  /** A bearer token, such as one of a ServiceAccount. Excludes clientCertificate. Default: clientCertificate or kubeconfig holds the credential. */
  readonly token?: Secret;
  /** The certificate that the sink presents to the receiver (mutual TLS). Default: none is presented. */
  readonly clientCertificate?: ClientCertificate;
  /** The ConfigMap that gets the conditions of this machine. It must exist; the machine needs the permission to patch it, and no other. */
  readonly configMap: {
    /** The namespace of the ConfigMap. */
    readonly namespace: string | VariableText;
    /** The name of the ConfigMap. */
    readonly name: DnsSubdomain | VariableText;
  };
  /** The name of the sink in messages and tables. Two sinks must not have the same name. Default: the type of the sink. */
  readonly name?: string;
  /** The events that are delivered. */
  readonly events?: readonly ('started' | 'stepChanged' | 'waiting' | 'warning' | 'concluded' | 'readinessChanged')[];
  /** How long one delivery may take. */
  readonly timeout?: Duration;
};

/** The conditions of this machine on its own Node, written with the credential of the kubelet. */
export type NodeSink = {
  /** The kind of receiver. */
  readonly type: 'Node';
  /** The kubeconfig of the kubelet, whose credential writes the conditions onto the Node. */
  readonly kubeconfig?: AbsolutePath;
  /** The name of the sink in messages and tables. Two sinks must not have the same name. Default: the type of the sink. */
  readonly name?: string;
  /** The events that are delivered. The Node exists only after the machine has joined. */
  readonly events?: readonly ('started' | 'stepChanged' | 'waiting' | 'warning' | 'concluded' | 'readinessChanged')[];
  /** How long one delivery may take. */
  readonly timeout?: Duration;
};

/** A subject of NATS that a stream of JetStream stores. */
export type NATSSink = {
  /** The kind of receiver. */
  readonly type: 'NATS';
  /** The servers, tried in a new random order each time. A tls:// server must speak TLS; port 4222 is the default. */
  readonly servers: readonly (string)[];
  /** The subject that events are published to. A stream of JetStream must listen on it. */
  readonly subject: string;
  /** The stream that must store the events. Default: any stream that listens on the subject. */
  readonly stream?: string;
  /** How the sink proves its identity. A token or a password is sent as it is, so it needs tls:// or allowInsecure. Default: none. */
  readonly credentials?: {
    /** A token. */
    readonly token: Secret;
  } | {
    /** A user name. */
    readonly user: string;
    /** The password of the user. */
    readonly password: Secret;
  } | {
    /** The content of a .creds file, which holds a JWT and a seed. The seed is never sent. */
    readonly credentialsFile: Secret;
  } | {
    /** The seed of a user (nkey). It is never sent. */
    readonly nkey: Secret;
  };
  /** The prefix of the subjects that the server answers on. */
  readonly inboxPrefix?: string;
  /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
  readonly allowInsecure?: boolean;
  /** PEM certificates that this sink trusts beside those of the system and of host.certificateAuthorities. Default: none beside those. */
  readonly certificateAuthority?: Certificate;
  /** The certificate that the sink presents to the receiver (mutual TLS). Default: none is presented. */
  readonly clientCertificate?: ClientCertificate;
  /** The name of the sink in messages and tables. Two sinks must not have the same name. Default: the type of the sink. */
  readonly name?: string;
  /** The events that are delivered. */
  readonly events?: readonly ('started' | 'stepChanged' | 'waiting' | 'warning' | 'concluded' | 'readinessChanged')[];
  /** How long one delivery may take. */
  readonly timeout?: Duration;
};

/** A topic of SNS or a queue of SQS, with the role of the machine (IMDSv2). */
export type AWSSink = {
  /** The kind of receiver. */
  readonly type: 'AWS';
  /** The ARN of an SNS topic, FIFO or standard. Give this or queueURL. Default: queueURL is the receiver. */
  readonly topicARN?: string;
  /** The URL of an SQS queue, FIFO or standard. Give this or topicARN. Default: topicARN is the receiver. */
  readonly queueURL?: string;
  /** The AWS region of the topic or queue. Default: the region in topicARN or queueURL, or else that of the machine. */
  readonly region?: string;
  /** The URL of SNS, for a VPC endpoint. Not with queueURL, which names the queue. Default: the public endpoint of the region. */
  readonly endpoint?: HttpUrl;
  /** An S3 bucket for events above 64 KiB. Default: events above 252 KiB are sent shortened. */
  readonly bucket?: {
    /** The name of the bucket. */
    readonly name: string;
    /** The prefix of the object keys, with a "/" at its end. */
    readonly prefix?: string;
    /** The AWS region of the bucket. Default: the region of the topic or queue. */
    readonly region?: string;
    /** The URL of S3, for a VPC endpoint. Default: the public endpoint of the region. */
    readonly endpoint?: HttpUrl;
    /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
    readonly allowInsecure?: boolean;
  };
  /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
  readonly allowInsecure?: boolean;
  /** The name of the sink in messages and tables. Two sinks must not have the same name. Default: the type of the sink. */
  readonly name?: string;
  /** The events that are delivered. */
  readonly events?: readonly ('started' | 'stepChanged' | 'waiting' | 'warning' | 'concluded' | 'readinessChanged')[];
  /** How long one delivery may take. */
  readonly timeout?: Duration;
};

/** A topic of Google Cloud Pub/Sub, with the service account of the machine. */
export type GCPSink = {
  /** The kind of receiver. */
  readonly type: 'GCP';
  /** The Pub/Sub topic, as projects/PROJECT/topics/TOPIC. */
  readonly topic: string;
  /** The service account to use, one of those attached to the machine. Default: the default service account of the machine. */
  readonly serviceAccount?: string;
  /** The URL of Pub/Sub, for a regional or private endpoint. */
  readonly endpoint?: HttpUrl;
  /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
  readonly allowInsecure?: boolean;
  /** The name of the sink in messages and tables. Two sinks must not have the same name. Default: the type of the sink. */
  readonly name?: string;
  /** The events that are delivered. */
  readonly events?: readonly ('started' | 'stepChanged' | 'waiting' | 'warning' | 'concluded' | 'readinessChanged')[];
  /** How long one delivery may take. */
  readonly timeout?: Duration;
};

/** A queue of Azure Storage or a topic of Event Grid, with the managed identity of the machine. */
export type AzureSink = {
  /** The kind of receiver. */
  readonly type: 'Azure';
  /** The URL of a queue of Azure Storage. Give this or topicEndpoint. Default: topicEndpoint is the receiver. */
  readonly queueURL?: string;
  /** The endpoint of an Event Grid topic with the CloudEvents 1.0 schema. Give this or queueURL. Default: queueURL is the receiver. */
  readonly topicEndpoint?: string;
  /** The client ID of a user-assigned managed identity. Default: the system-assigned identity, or the only one. */
  readonly clientID?: string;
  /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
  readonly allowInsecure?: boolean;
  /** The name of the sink in messages and tables. Two sinks must not have the same name. Default: the type of the sink. */
  readonly name?: string;
  /** The events that are delivered. */
  readonly events?: readonly ('started' | 'stepChanged' | 'waiting' | 'warning' | 'concluded' | 'readinessChanged')[];
  /** How long one delivery may take. */
  readonly timeout?: Duration;
};

/** A collector of OpenTelemetry, which gets the run as a trace (OTLP/HTTP, JSON). */
export type OTLPSink = {
  /** The kind of receiver. */
  readonly type: 'OTLP';
  /** The URL of the collector, complete with its path. The run is sent as one trace with a span for each step (OTLP/HTTP, JSON). */
  readonly url: HttpUrl;
  /** HTTP headers that are sent with every request. A value is a secret, given directly or by name. */
  readonly headers?: {
    readonly [key: string]: Secret;
  };
  /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
  readonly allowInsecure?: boolean;
  /** The span that the run belongs to (W3C Trace Context). Default: the run starts a new trace. */
  readonly traceparent?: string;
  /** PEM certificates that this sink trusts beside those of the system and of host.certificateAuthorities. Default: none beside those. */
  readonly certificateAuthority?: Certificate;
  /** The certificate that the sink presents to the receiver (mutual TLS). Default: none is presented. */
  readonly clientCertificate?: ClientCertificate;
  /** The name of the sink in messages and tables. Two sinks must not have the same name. Default: the type of the sink. */
  readonly name?: string;
  /** How long one delivery may take. */
  readonly timeout?: Duration;
};

/** The guestinfo variables of a vSphere virtual machine, set through VMware Tools. */
export type GuestinfoSink = {
  /** The kind of receiver. */
  readonly type: 'Guestinfo';
  /** The name of the sink in messages and tables. Two sinks must not have the same name. Default: the type of the sink. */
  readonly name?: string;
  /** The events that are delivered. */
  readonly events?: readonly ('started' | 'stepChanged' | 'waiting' | 'warning' | 'concluded' | 'readinessChanged')[];
  /** How long one delivery may take. */
  readonly timeout?: Duration;
};

/** An HTTP endpoint that gets each event as a CloudEvent. */
export type WebhookSink = {
  /** The kind of receiver. */
  readonly type: 'Webhook';
  /** The URL that gets each event as a CloudEvent in a POST request. It is no secret, so put tokens into headers. Redirects are not followed. */
  readonly url: HttpUrl;
  /** The key that signs each request (Standard Webhooks), as whsec_ and 24 to 64 bytes in base64. Default: requests are not signed. */
  readonly secret?: Secret;
  /** A second key that signs as well, while the receiver changes from one key to the next. Default: one key signs. */
  readonly previousSecret?: Secret;
  /** HTTP headers that are sent with every request. A value is a secret, given directly or by name. */
  readonly headers?: {
    readonly [key: string]: Secret;
  };
  /** Permits this one request to send or fetch secrets and credentials without TLS, where anyone on the network path can read them, or any user of this machine who listens on the port. Not needed for a loopback address with a port below 1024 on which only root can listen (not on Windows, nor from net.ipv4.ip_unprivileged_port_start on). */
  readonly allowInsecure?: boolean;
  /** PEM certificates that this sink trusts beside those of the system and of host.certificateAuthorities. Default: none beside those. */
  readonly certificateAuthority?: Certificate;
  /** The certificate that the sink presents to the receiver (mutual TLS). Default: none is presented. */
  readonly clientCertificate?: ClientCertificate;
  /** The name of the sink in messages and tables. Two sinks must not have the same name. Default: the type of the sink. */
  readonly name?: string;
  /** The events that are delivered. */
  readonly events?: readonly ('started' | 'stepChanged' | 'waiting' | 'warning' | 'concluded' | 'readinessChanged')[];
  /** How long one delivery may take. */
  readonly timeout?: Duration;
};
