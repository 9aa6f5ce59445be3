import { beyond, DIGEST, invalid, type Source, valid } from './source.ts';

const DISK = 'device: {path: /dev/a}';
const file = (more: string): string => `host: {files: [{path: /a, ${more}}]}`;
const mounts = (entries: string): string => `host: {storage: {mounts: [${entries}]}}`;
const AD = 'domain: corp.example.com, credentials';

/** `host`, and its differences on Windows. */
export const HOST_VECTORS: readonly Source[] = [
  valid('an empty host', 'host: {}'),
  valid(
    'kernel modules and parameters',
    'host: {kernelModules: [overlay], sysctl: {net.ipv4.ip_forward: 1, net/ipv4/conf/eth0.1/rp_filter: "2"}}',
  ),
  valid('a parameter of 64 bits', 'host: {sysctl: {kernel.shmmax: 18446744073692774399}}'),
  invalid('a parameter that is a list', 'InvalidValue', 'host: {sysctl: {vm.swappiness: ¦[1]}}'),
  invalid('a parameter with an empty part', 'Conflict', 'host: {sysctl: {¦net..ipv4: 1}}'),
  invalid('a parameter that leaves its directory', 'Conflict', 'host: {sysctl: {¦net/../vm: 1}}'),
  invalid('a module with a blank', 'InvalidValue', 'host: {kernelModules: [¦"a b"]}'),
  invalid('an unknown field', 'UnknownField', 'host: {¦hostnam: a}'),
  invalid('an unknown word for swap', 'InvalidValue', 'host: {swap: ¦Off}'),
  invalid('nothing', 'InvalidType', 'host: {files: ¦null}'),

  valid(
    'a disk',
    `host: {storage: {disks: [{${DISK}, partitions: [{size: 20Gi, label: a}, {size: Rest, type: swap}]}]}}`,
  ),
  valid('an mbr table', `host: {storage: {disks: [{${DISK}, table: mbr, partitions: [{size: Rest}]}]}}`),
  valid(
    'every kind of device',
    mounts(
      '{device: {path: /dev/a, partition: 1}, path: /a}, {device: {id: a}, path: /b}, {device: {serial: a}, path: /c}, {device: {label: a}, path: /d}, {device: {partitionLabel: a, timeout: 5m}, path: /e}, {device: {instanceStore: 0}, path: /f}, {device: {azureResource: true}, path: /g}',
    ),
  ),
  valid('swap', mounts('{device: {label: a}, type: swap}')),
  valid(
    'mounts without a device',
    mounts(
      '{source: /a/b, path: /c, type: bind, options: [ro]}, {path: /d, type: tmpfs, options: [size=1g]}, {source: "nfs.example:/e", path: /e, type: nfs4}, {source: "[fd00::1]:/f", path: /f, type: nfs}, {source: /g, type: swap, size: 2Gi}',
    ),
  ),
  valid(
    'mounts without a device that are removed',
    mounts('{source: /a/b, path: /c, type: bind, absent: true}, {source: /g, type: swap, absent: true}'),
  ),
  invalid('no device', 'MissingField', mounts('{device: ¦{}, path: /a}')),
  invalid('two kinds of device', 'InvalidType', mounts('{device: ¦{path: /dev/a, label: a}, path: /a}')),
  invalid('a disk without partitions', 'InvalidValue', `host: {storage: {disks: [{${DISK}, partitions: ¦[]}]}}`),
  invalid(
    'a partition as disk',
    'Conflict',
    'host: {storage: {disks: [{device: {path: /dev/a, partition: ¦1}, partitions: [{size: Rest}]}]}}',
  ),
  invalid(
    'two partitions of the rest',
    'Conflict',
    `host: {storage: {disks: [{${DISK}, partitions: ¦[{size: Rest}, {size: Rest}]}]}}`,
  ),
  beyond(
    'percentages above 100',
    'Conflict',
    `host: {storage: {disks: [{${DISK}, partitions: ¦[{size: 60%}, {size: 60%}]}]}}`,
  ),
  invalid(
    'five partitions of mbr',
    'Conflict',
    `host: {storage: {disks: [{${DISK}, table: mbr, partitions: ¦[{size: 1Gi}, {size: 1Gi}, {size: 1Gi}, {size: 1Gi}, {size: 1Gi}]}]}}`,
  ),
  invalid(
    'a label in mbr',
    'Conflict',
    `host: {storage: {disks: [{${DISK}, table: mbr, partitions: [{size: Rest, label: ¦a}]}]}}`,
  ),
  invalid(
    'a GUID in mbr',
    'Conflict',
    `host: {storage: {disks: [{${DISK}, table: mbr, partitions: [{size: Rest, type: ¦0FC63DAF-8483-4772-8E79-3D69D8477DE4}]}]}}`,
  ),
  invalid(
    'a label with a quote',
    'InvalidValue',
    `host: {storage: {disks: [{${DISK}, partitions: [{size: Rest, label: ¦'a"b'}]}]}}`,
  ),
  beyond(
    'a disk twice',
    'Duplicate',
    `host: {storage: {disks: [{${DISK}, partitions: [{size: Rest}]}, {device: ¦{path: /dev/a}, partitions: [{size: Rest}]}]}}`,
  ),
  invalid(
    'a long label of xfs',
    'Conflict',
    'host: {storage: {filesystems: [{device: {path: /dev/a}, type: xfs, label: ¦a-label-of-15-ch}]}}',
  ),
  valid(
    'the same label of ext4',
    'host: {storage: {filesystems: [{device: {path: /dev/a}, type: ext4, label: a-label-of-15-ch}]}}',
  ),
  invalid(
    'an unknown type of file system',
    'InvalidValue',
    'host: {storage: {filesystems: [{device: {path: /dev/a}, type: ¦ext5}]}}',
  ),
  invalid(
    'a file system without a type',
    'MissingField',
    'host: {storage: {filesystems: [¦{device: {path: /dev/a}}]}}',
  ),
  invalid('swap with a mount point', 'Conflict', mounts('{device: {label: a}, type: swap, path: ¦/a}')),
  invalid('a mount without a mount point', 'Conflict', mounts('¦{device: {label: a}}')),
  invalid('nothing to mount', 'Conflict', mounts('¦{path: /a}')),
  invalid('a device and a source', 'Conflict', mounts('{device: {label: a}, source: ¦/b, path: /a, type: bind}')),
  invalid('a source without a type', 'Conflict', mounts('{source: ¦/b, path: /a}')),
  invalid('a source of another type', 'Conflict', mounts('{source: /b, path: /a, type: ¦ext4}')),
  invalid('a tmpfs of a device', 'Conflict', mounts('{device: ¦{label: a}, path: /a, type: tmpfs}')),
  invalid('a tmpfs of a source', 'Conflict', mounts('{source: ¦/b, path: /a, type: tmpfs}')),
  invalid('a bind mount of a device', 'Conflict', mounts('{device: ¦{label: a}, path: /a, type: bind}')),
  invalid('a bind mount of a server', 'Conflict', mounts('{source: ¦"s:/b", path: /a, type: bind}')),
  invalid('NFS of a directory', 'Conflict', mounts('{source: ¦/b, path: /a, type: nfs}')),
  invalid('a source that is no path', 'InvalidValue', mounts('{source: ¦b, path: /a, type: bind}')),
  invalid('a swap file without a size', 'Conflict', mounts('¦{source: /b, type: swap}')),
  invalid('a size of no swap file', 'Conflict', mounts('{source: /b, path: /a, type: bind, size: ¦1Gi}')),
  invalid(
    'a swap file in a document without swap',
    'Conflict',
    'host: {swap: Disabled, storage: {mounts: [¦{source: /b, type: swap, size: 1Gi}]}}',
  ),
  beyond('a bind mount over its source', 'Conflict', mounts('{source: ¦/a/b, path: /a, type: bind}')),
  beyond(
    'a swap file twice',
    'Duplicate',
    mounts('{source: /a, type: swap, size: 1Gi}, {source: ¦/a, type: swap, size: 1Gi}'),
  ),
  beyond(
    'mounts that need each other',
    'Conflict',
    mounts('{source: ¦/b/x, path: /a, type: bind}, {source: /a/x, path: /b, type: bind}'),
  ),
  invalid('the root as mount point', 'Conflict', mounts('{device: {label: a}, path: ¦/}')),
  invalid('two options in one', 'InvalidValue', mounts('{device: {label: a}, path: /a, options: [¦"noatime,ro"]}')),
  invalid(
    'swap in a document without swap',
    'Conflict',
    'host: {swap: Disabled, storage: {mounts: [¦{device: {label: a}, type: swap}]}}',
  ),
  beyond('a mount point twice', 'Duplicate', mounts('{device: {label: a}, path: /a}, {device: {label: b}, path: ¦/a}')),

  valid(
    'a user',
    'host: {users: [{name: core, uid: 1000, groups: [wheel], passwordHash: "$6$a$b", sudo: [ALL=(ALL) ALL], locked: false}]}',
  ),
  valid('a user without a password', 'host: {users: [{name: core, passwordHash: "*"}]}'),
  invalid('a password instead of its hash', 'Conflict', 'host: {users: [{name: core, passwordHash: ¦correct-horse}]}'),
  invalid('an empty sudo rule', 'InvalidValue', 'host: {users: [{name: core, sudo: ¦[]}]}'),
  invalid('a comment with a colon', 'InvalidValue', 'host: {users: [{name: core, gecos: ¦"a:b"}]}'),
  beyond('a user twice', 'Duplicate', 'host: {users: [{name: core}, {name: ¦core}]}'),
  beyond('an ID twice', 'Duplicate', 'host: {users: [{name: a, uid: 7}, {name: b, uid: ¦7}]}'),

  valid('a file with its content', file('content: "", mode: "0600", owner: root:root')),
  valid(
    'a file with a downloaded content',
    file(`contentFrom: {http: {url: "https://a.example/x", sha256: ${DIGEST}}}`),
  ),
  valid('a line in a file', file('content: x, append: true')),
  valid('base64', file('content: aGk=, encoding: base64')),
  invalid('a file without content', 'Conflict', 'host: {files: [¦{path: /a}]}'),
  invalid('a file with two contents', 'Conflict', 'host: {files: [¦{path: /a, content: x, contentFrom: {file: /b}}]}'),
  invalid('a file without a path', 'MissingField', 'host: {files: [¦{content: x}]}'),
  invalid('an encoding of a copied file', 'Conflict', file('contentFrom: {file: /b}, encoding: ¦base64')),
  invalid(
    'a download that is appended',
    'Conflict',
    file(`append: ¦true, contentFrom: {http: {url: "https://a.example", sha256: ${DIGEST}}}`),
  ),
  invalid('a download without a digest', 'MissingField', file('contentFrom: {http: ¦{url: "https://a.example"}}')),
  invalid(
    'headers over http',
    'Conflict',
    file(`contentFrom: {http: {url: ¦"http://a.example", sha256: ${DIGEST}, headers: {X-A: b}}}`),
  ),
  invalid(
    'credentials over http',
    'Conflict',
    file(`contentFrom: {http: {url: ¦"http://u:p@a.example", sha256: ${DIGEST}}}`),
  ),
  valid('a download over http', file(`contentFrom: {http: {url: "http://a.example", sha256: ${DIGEST}}}`)),
  invalid('two sources of a content', 'InvalidType', file('contentFrom: ¦{file: /b, secret: c}')),
  beyond('what is no base64', 'InvalidValue', file('content: ¦"???", encoding: base64')),
  beyond('a file twice', 'Duplicate', 'host: {files: [{path: /a, content: x}, {path: ¦/a, content: y}]}'),
  beyond('a missing secret', 'UnknownReference', file('contentFrom: {secret: ¦nothing}')),

  valid('a clock', 'host: {time: {servers: [ntp.example], synchronized: {}}}'),
  valid('no time service', 'host: {time: {enabled: false}}'),
  invalid('servers of no time service', 'Conflict', 'host: {time: {enabled: false, servers: ¦[a]}}'),
  invalid('a clock that nothing sets', 'Conflict', 'host: {time: {enabled: false, synchronized: ¦{}}}'),
  invalid('a quoted truth', 'InvalidType', 'host: {time: {enabled: ¦"true"}}'),

  invalid('an invalid proxy', 'Conflict', 'host: {proxy: ¦{no: [a]}}'),
  invalid('a proxy of SOCKS', 'Conflict', 'host: {proxy: {http: ¦"socks5://proxy.example"}}'),
  invalid('a proxy without a scheme', 'Conflict', 'host: {proxy: {https: ¦"proxy.example:3128"}}'),
  invalid('a proxy with a path', 'Conflict', 'host: {proxy: {https: ¦"http://proxy.example/a"}}'),
  invalid(
    'a proxy with credentials for all to read',
    'Conflict',
    'host: {proxy: {http: ¦"http://u:p@proxy.example", for: [environment]}}',
  ),
  invalid(
    'a user of the proxy that is unknown',
    'InvalidValue',
    'host: {proxy: {http: "http://proxy.example", for: [¦docker]}}',
  ),

  valid(
    'a service',
    'host: {services: [{name: sshd, enabled: true, state: Started, dropIns: [{name: a.conf, content: "[Service]\\n"}]}]}',
  ),
  valid('a masked service', 'host: {services: [{name: cups, masked: true, enabled: false, state: Stopped}]}'),
  invalid('a masked service that starts', 'Conflict', 'host: {services: [¦{name: cups, masked: true, enabled: true}]}'),
  invalid('a masked service that runs', 'Conflict', 'host: {services: [¦{name: cups, masked: true, state: Started}]}'),
  invalid(
    'a drop-in with another ending',
    'InvalidValue',
    'host: {services: [{name: sshd, dropIns: [{name: ¦a.txt, content: a}]}]}',
  ),
  beyond('a service twice', 'Duplicate', 'host: {services: [{name: a}, {name: ¦a}]}'),

  valid(
    'a disk that grows',
    'host: {storage: {disks: [{device: {path: /dev/a}, partitions: [{size: 1Gi}, {size: Rest, grow: true}]}], filesystems: [{device: {path: /dev/b}, type: xfs, grow: true}]}}',
  ),
  invalid(
    'a fixed size that grows',
    'Conflict',
    'host: {storage: {disks: [{device: {path: /dev/a}, partitions: [{size: 1Gi, grow: ¦true}]}]}}',
  ),
  beyond(
    'growth before another partition',
    'Conflict',
    'host: {storage: {disks: [{device: {path: /dev/a}, partitions: [{size: Rest, grow: ¦true}, {size: 1Gi}]}]}}',
  ),
  beyond(
    'a percentage of a disk that grows',
    'Conflict',
    'host: {storage: {disks: [{device: {path: /dev/a}, partitions: [{size: ¦50%}, {size: Rest, grow: true}]}]}}',
  ),
  invalid(
    'swap that grows',
    'Conflict',
    'host: {storage: {filesystems: [{device: {path: /dev/b}, type: swap, grow: ¦true}]}}',
  ),

  valid(
    'hooks',
    'host: {hooks: {early: {shell: bash, commands: [a], frequency: Once}, beforeBootstrap: {commands: [b]}, afterBootstrap: {commands: [c], onError: Continue}}}',
  ),
  valid(
    'a hook of another user, with words that no shell interprets',
    'host: {hooks: {afterBootstrap: {commands: [a, [b, "c d"]], rerun: OnChange, user: core, workingDirectory: /opt}}}',
  ),
  valid(
    'a hook whose entries run again if they fail',
    'host: {hooks: {early: {commands: [a], retry: {attempts: 5, delay: 10s, backoff: 2, on: [100]}}}}',
  ),
  invalid(
    'a retry after success',
    'InvalidValue',
    'host: {hooks: {early: {commands: [a], retry: {attempts: 5, on: [¦0]}}}}',
  ),
  invalid('a command without words', 'InvalidValue', 'host: {hooks: {early: {commands: [¦[]]}}}'),
  invalid(
    'a hook that runs again for another reason',
    'InvalidValue',
    'host: {hooks: {early: {commands: [a], rerun: ¦Sometimes}}}',
  ),
  invalid('a hook without commands', 'InvalidValue', 'host: {hooks: {early: {commands: ¦[]}}}'),
  invalid('an empty command', 'InvalidValue', 'host: {hooks: {early: {commands: [¦""]}}}'),
  invalid(
    'a late hook with a frequency',
    'UnknownField',
    'host: {hooks: {afterBootstrap: {commands: [a], ¦frequency: Always}}}',
  ),
  invalid(
    'a zero byte in the environment',
    'InvalidValue',
    'host: {hooks: {early: {commands: [a], environment: {A: ¦"a\\0"}}}}',
  ),
  invalid(
    'secrets at every boot',
    'Conflict',
    'host: {hooks: {early: {commands: [a], frequency: Always, secrets: ¦{A: {secret: a}}}}}\nsecrets: {a: {env: A}}',
  ),
  beyond(
    'a name of the environment twice',
    'Conflict',
    'host: {hooks: {early: {commands: [a], environment: {A: b}, secrets: {A: ¦{secret: a}}}}}\nsecrets: {a: {env: A}}',
  ),

  valid(
    'a domain',
    `host: {hostname: node-1, activeDirectory: {${AD}: {user: joiner, password: x}, computerOU: "OU=Nodes,DC=corp,DC=example,DC=com"}}`,
  ),
  valid('an offline blob', `host: {activeDirectory: {${AD}: {offlineBlob: x}}}`),
  invalid(
    'a domain of one label',
    'InvalidValue',
    'host: {activeDirectory: {domain: ¦corp, credentials: {offlineBlob: x}}}',
  ),
  invalid('a domain without credentials', 'MissingField', 'host: {activeDirectory: ¦{domain: corp.example.com}}'),
  invalid(
    'a place for an account that is there',
    'Conflict',
    `host: {activeDirectory: {${AD}: {offlineBlob: x}, computerOU: ¦"OU=Nodes,DC=corp,DC=example,DC=com"}}`,
  ),
  invalid(
    'a host name that a domain would cut',
    'Conflict',
    `host: {hostname: a-host-name-of-20-ch, activeDirectory: {domain: ¦corp.example.com, credentials: {offlineBlob: x}}}`,
  ),
  invalid(
    'an account with its domain',
    'InvalidValue',
    `host: {activeDirectory: {${AD}: {user: ¦'CORP\\joiner', password: x}}}`,
  ),
  beyond(
    'a place in another domain',
    'Conflict',
    `host: {activeDirectory: {${AD}: {user: a, password: x}, computerOU: ¦"OU=Nodes,DC=other,DC=com"}}`,
  ),

  valid(
    'a Windows machine',
    'host: {platform: Windows, hostname: node-1, files: [{path: "C:/a.txt", content: x, mode: "0644"}], hooks: {early: {shell: powershell, commands: [a]}}}\nreporting: {sinks: [{type: WindowsEventLog}]}',
  ),
  invalid(
    'kernel parameters of Windows',
    'UnsupportedPlatform',
    'host: {platform: Windows, sysctl: ¦{vm.swappiness: 1}}',
  ),
  invalid('storage of Windows', 'UnsupportedPlatform', 'host: {platform: Windows, storage: ¦{}}'),
  invalid('swap of Windows', 'UnsupportedPlatform', 'host: {platform: Windows, swap: ¦Disabled}'),
  invalid('a long computer name', 'UnsupportedPlatform', 'host: {platform: Windows, hostname: ¦a-name-of-16-char}'),
  invalid('a computer name with a dot', 'UnsupportedPlatform', 'host: {platform: Windows, hostname: ¦a.b}'),
  invalid('a computer name of digits', 'UnsupportedPlatform', 'host: {platform: Windows, hostname: ¦"123"}'),
  invalid(
    'an owner on Windows',
    'UnsupportedPlatform',
    'host: {platform: Windows, files: [{path: "C:/a", content: x, owner: ¦root}]}',
  ),
  invalid(
    'a mode on Windows',
    'UnsupportedPlatform',
    'host: {platform: Windows, files: [{path: "C:/a", content: x, mode: ¦"0640"}]}',
  ),
  invalid(
    'a name that no file of Windows has',
    'UnsupportedPlatform',
    'host: {platform: Windows, files: [{path: ¦"C:/con.txt", content: x}]}',
  ),
  invalid(
    'a shell that Windows has not',
    'UnsupportedPlatform',
    'host: {platform: Windows, hooks: {early: {shell: ¦bash, commands: [a]}}}',
  ),
  invalid(
    'a hook of another user on Windows',
    'UnsupportedPlatform',
    'host: {platform: Windows, hooks: {early: {user: ¦core, commands: [a]}}}',
  ),
  invalid(
    'a command of words on Windows',
    'UnsupportedPlatform',
    'host: {platform: Windows, hooks: {early: {commands: [¦[a, b]]}}}',
  ),
  invalid('containerd on Windows', 'UnsupportedPlatform', 'host: {platform: Windows}\ncontainerRuntime: ¦{}'),
  invalid(
    'the journal on Windows',
    'UnsupportedPlatform',
    'host: {platform: Windows}\nreporting: {sinks: [{type: ¦Journal}]}',
  ),
  invalid(
    'a credential of systemd on Windows',
    'UnsupportedPlatform',
    'host: {platform: Windows}\nsecrets: {a: {systemdCredential: ¦a}}',
  ),
  invalid(
    'a control plane on Windows',
    'UnsupportedPlatform',
    'host: {platform: Windows}\nkubernetes: {version: v1.35.2, role: ¦InitControlPlane}',
  ),
  invalid('a path of Windows on Linux', 'UnsupportedPlatform', 'host: {files: [{path: ¦"C:/a", content: x}]}'),
  invalid(
    'a shell that Linux has not',
    'UnsupportedPlatform',
    'host: {hooks: {early: {shell: ¦powershell, commands: [a]}}}',
  ),
  invalid('the event log on Linux', 'UnsupportedPlatform', 'reporting: {sinks: [{type: ¦WindowsEventLog}]}'),
];
