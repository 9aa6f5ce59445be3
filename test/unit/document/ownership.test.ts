import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { canonicalPath } from '@machineadm/document/ownership/collisions.ts';
import { problemsOf } from '../../support/document.ts';

const AUTHORITY = '"-----BEGIN CERTIFICATE-----\\nMIIB\\n-----END CERTIFICATE-----\\n"';
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8s0Yv5zv6m2bJf0l5VfBqk1Jb3r8y8kQh8o2T1xq9Z ada';
const KUBERNETES = 'kubernetes: {version: v1.34.1, role: InitControlPlane';

/** A document with one file; its `path` stands at line 6. */
function withFile(file: string, section: string, rest = ''): string {
  return `host:\n  files:\n    - {path: ${file}}\n  ${section}\n${rest}`;
}

/** The other part of the document by its field, as a problem ends with it. */
function managedBy(field: string): RegExp {
  return new RegExp(
    `^doc\\.yaml:6:14 {2}host\\.files\\[0\\]\\.path: .*managed by ${field.replace(/[[\].]/g, '\\$&')} \\(doc\\.yaml:\\d+:\\d+\\) \\(hint: .+\\)$`,
  );
}

describe('a file of the document on a path that another part of it manages', () => {
  const text = ', content: x';
  const cases: readonly (readonly [file: string, field: string, section: string, rest?: string])[] = [
    [`/etc/hostname${text}`, 'host.hostname', 'hostname: node-1'],
    [`/etc/cloud/cloud.cfg.d/99-machineadm-hostname.cfg${text}`, 'host.hostname', 'hostname: node-1'],
    [`/etc/modules-load.d/91-machineadm-n1.conf${text}`, 'host.kernelModules', 'kernelModules: [overlay]'],
    [`/etc/sysctl.d/99-zzz-machineadm-n1.conf${text}`, 'host.sysctl', 'sysctl: {vm.swappiness: 1}'],
    [`/etc/fstab${text}`, 'host.swap', 'swap: Disabled'],
    [`/etc/systemd/zram-generator.conf${text}`, 'host.swap', 'swap: Disabled'],
    [`/etc/systemd/system/dev-sdb1.swap${text}`, 'host.swap', 'swap: Disabled'],
    [`/etc/fstab${text}`, 'host.storage.mounts', 'storage: {mounts: [{device: {label: a}, path: /srv}]}'],
    [`/etc/passwd${text}`, 'host.users', 'users: [{name: ada}]'],
    [`/etc/group${text}`, 'host.groups', 'groups: [{name: ada}]'],
    [`/etc/sudoers.d/90-machineadm-ada${text}`, 'host.users[0].sudo', 'users: [{name: ada}]'],
    [
      `/home/ada/.ssh/authorized_keys${text}`,
      'host.users[0].sshAuthorizedKeys',
      `users: [{name: ada, sshAuthorizedKeys: [${KEY}]}]`,
    ],
    [
      `/srv/ada/.ssh/authorized_keys${text}`,
      'host.users[0].sshAuthorizedKeys',
      `users: [{name: ada, home: /srv/ada, sshAuthorizedKeys: [${KEY}]}]`,
    ],
    [`/etc/chrony.conf${text}`, 'host.time.servers', 'time: {servers: [ntp.example]}'],
    [`/etc/chrony/chrony.conf${text}`, 'host.time.servers', 'time: {servers: [ntp.example]}'],
    [`/etc/ntp.conf${text}`, 'host.time.servers', 'time: {servers: [ntp.example]}'],
    [`/etc/systemd/timesyncd.conf.d/90-machineadm.conf${text}`, 'host.time', 'time: {servers: [ntp.example]}'],
    [`/etc/environment${text}`, 'host.proxy', 'proxy: {http: "http://p:1", for: [environment]}'],
    [`/etc/machineadm/proxy.env${text}`, 'host.proxy', 'proxy: {http: "http://p:1", for: [kubelet]}'],
    [
      `/etc/systemd/system/kubelet.service.d/20-machineadm-proxy.conf${text}`,
      'host.proxy',
      'proxy: {http: "http://p:1", for: [kubelet]}',
    ],
    [`/etc/conf.d/containerd${text}`, 'host.proxy', 'proxy: {http: "http://p:1", for: [containerd]}'],
    [
      `/usr/local/share/ca-certificates/machineadm-a.crt${text}`,
      'host.certificateAuthorities',
      `certificateAuthorities: [{name: a, pem: ${AUTHORITY}}]`,
    ],
    [
      `/etc/ssl/certs/ca-certificates.crt${text}`,
      'host.certificateAuthorities',
      `certificateAuthorities: [{name: a, pem: ${AUTHORITY}}]`,
    ],
    [
      `/etc/systemd/system/app.service.d/a.conf${text}`,
      'host.services[0].dropIns[0]',
      'services: [{name: app, dropIns: [{name: a.conf, content: x}]}]',
    ],
    [`/etc/systemd/system/app.service${text}`, 'host.services[0].masked', 'services: [{name: app, masked: true}]'],
    [
      `/etc/containerd/config.toml${text}`,
      'containerRuntime.containerd',
      '',
      'containerRuntime: {containerd: {mode: Merge}}',
    ],
    ...['hosts.toml', 'machineadm-ca.pem'].map(
      (name) =>
        [
          `/etc/containerd/certs.d/reg.example_5000_/${name}${text}`,
          'containerRuntime.containerd.registries[0]',
          '',
          'containerRuntime: {containerd: {registries: [{host: "reg.example:5000", mirrors: [{url: "https://m"}]}]}}',
        ] as const,
    ),
    [`/run/kubeadm/kubeadm.yaml${text}`, 'kubernetes', '', `${KUBERNETES}}`],
    [`/var/lib/kubelet/config.yaml${text}`, 'kubernetes', '', `${KUBERNETES}}`],
    [`/etc/kubernetes/manifests/etcd.yaml${text}`, 'kubernetes', '', `${KUBERNETES}}`],
    [
      `/etc/kubernetes/audit-policy.yaml${text}`,
      'kubernetes.controlPlane.apiServer.audit',
      '',
      `${KUBERNETES}, controlPlane: {apiServer: {audit: {log: {}, policy: {rules: [{level: None}]}}}}}`,
    ],
  ];
  for (const [file, field, section, rest] of cases) {
    test(`${file.split(',')[0]} and ${field} is refused, with the place of both`, async () => {
      const problems = await problemsOf(withFile(file, section, rest));
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', managedBy(field));
    });
  }

  test('is refused in every spelling of the path', async () => {
    for (const path of ['/etc/./hostname', '/etc/hostname/', '/etc/././hostname/.']) {
      const problems = await problemsOf(withFile(`${path}, content: x`, 'hostname: node-1'));
      assert.match(problems.join('\n'), managedBy('host.hostname'), path);
    }
    assert.equal(canonicalPath('//var//run/./x/'), '/run/x');
    assert.equal(canonicalPath('/var/lock/y'), '/run/lock/y');
    assert.equal(canonicalPath('/var/running'), '/var/running');
    assert.equal(canonicalPath('/'), '/');
  });

  test('is reported together with other mistakes of the document', async () => {
    const problems = await problemsOf(
      `host:\n  hostname: n\n  swap: Off\n  files: [{path: /etc/hostname, content: x}]\n`,
    );
    assert.equal(problems.length, 2, problems.join('\n'));
    assert.match(problems.join('\n'), /swap: .*\n.*already managed by host\.hostname/);
  });

  test('of machineadm itself is refused', async () => {
    for (const path of ['/run/machineadm/lock', '/var/run/machineadm/x', '/var/lib/machineadm/journal']) {
      const problems = await problemsOf(withFile(`${path}, content: x`, ''));
      assert.match(
        problems.join('\n'),
        /files\[0\]\.path: \S+ belongs to machineadm itself \(hint: choose another path\)$/,
      );
    }
  });
});

describe('what two parts of a document may share', () => {
  const cases: readonly (readonly [what: string, body: string])[] = [
    [
      'lines of fstab',
      'host:\n  swap: Disabled\n  storage: {mounts: [{device: {label: a}, path: /srv}]}\n  files: [{path: /etc/fstab, append: true, content: "tmpfs /x tmpfs rw 0 0\\n"}]\n',
    ],
    [
      'lines of /etc/environment',
      'host:\n  proxy: {http: "http://p:1", for: [environment]}\n  files: [{path: /etc/environment, append: true, content: "A=b\\n"}]\n',
    ],
    [
      'keys of a user',
      `host:\n  users: [{name: ada, sshAuthorizedKeys: [${KEY}]}]\n  files: [{path: /home/ada/.ssh/authorized_keys, append: true, content: "k\\n"}]\n`,
    ],
    [
      "a certificate beside those of the document, which has a name of one's own",
      `host:\n  certificateAuthorities: [{name: a, pem: ${AUTHORITY}}]\n  files: [{path: /usr/local/share/ca-certificates/own.crt, content: x}]\n`,
    ],
    [
      'a registry that the document does not name elsewhere',
      'host:\n  files: [{path: /etc/containerd/certs.d/other/hosts.toml, content: x}]\ncontainerRuntime: {containerd: {registries: [{host: quay.io, mirrors: [{url: "https://m"}]}]}}\n',
    ],
    [
      'a configuration of chrony where the document names no servers',
      'host:\n  time: {enabled: true}\n  files: [{path: /etc/chrony/chrony.conf, content: x}]\n',
    ],
    [
      'certificates that are files, and a manifest of a pod beside those of kubeadm',
      `host:\n  files: [{path: /etc/kubernetes/pki/ca.crt, content: x}, {path: /etc/kubernetes/manifests/kube-vip.yaml, content: x}]\n${KUBERNETES}}\n`,
    ],
    [
      'what a phase writes that kubeadm skips',
      `host:\n  files: [{path: /var/lib/kubelet/config.yaml, content: x}]\n${KUBERNETES}, bootstrapper: {kubeadm: {skipPhases: [kubelet-start]}}}\n`,
    ],
    [
      'a service that runs for its section',
      'host: {services: [{name: containerd, state: Started, enabled: true}]}\ncontainerRuntime: {containerd: {}}\n',
    ],
    [
      'a file below a mount',
      'host:\n  storage: {mounts: [{device: {label: a}, path: /srv}]}\n  files: [{path: /srv/a, content: x}]\n',
    ],
  ];
  for (const [what, body] of cases) {
    test(what, async () => {
      assert.deepEqual(await problemsOf(body), []);
    });
  }
});

describe('two parts of a document that contradict each other', () => {
  const cases: readonly (readonly [what: string, body: string, message: RegExp])[] = [
    [
      'one file in two spellings',
      'host:\n  files:\n    - {path: /run/a, content: x}\n    - {path: /var/run/a, content: y, append: true}\n',
      /^doc\.yaml:7:14 {2}host\.files\[1\]\.path: lines are added to \/var\/run\/a, and the whole file is managed by host\.files\[0\]\.path \(doc\.yaml:6:14\)/,
    ],
    [
      'a file where another needs a directory',
      'host:\n  files:\n    - {path: /etc/a/b, content: x}\n    - {path: /etc/a, content: y}\n',
      /\/etc\/a and \/etc\/a\/b cannot both exist|\/etc\/a\/b and \/etc\/a cannot both exist/,
    ],
    [
      'a file on a mount point',
      'host:\n  storage: {mounts: [{device: {label: a}, path: /srv/}]}\n  files: [{path: /srv, content: x}]\n',
      /files\[0\]\.path: \/srv is a file here, and the mount point of host\.storage\.mounts\[0\]\.path \(doc/,
    ],
    [
      'a mount over what was written before it',
      'host:\n  sysctl: {vm.swappiness: 1}\n  storage: {mounts: [{device: {label: a}, path: /etc/sysctl.d}]}\n',
      /mounts\[0\]\.path: the mount on \/etc\/sysctl\.d would hide \/etc\/sysctl\.d\/99-zzz-machineadm-n1\.conf, written before by host\.sysctl/,
    ],
    [
      'a mount over the journal',
      'host:\n  storage: {mounts: [{device: {label: a}, path: /var}]}\n',
      /mounts\[0\]\.path: the mount would hide \/var\/lib\/machineadm\/journal, where machineadm keeps its state \(hint: choose another path\)$/,
    ],
    [
      'a line of swap that is added',
      'host:\n  swap: Disabled\n  files: [{path: /etc/fstab, append: true, content: "/swap none swap sw 0 0\\n"}]\n',
      /files\[0\]: \/etc\/fstab switches swap on, contrary to host\.swap \(doc\.yaml:5:9\)/,
    ],
    [
      'a unit of swap',
      'host:\n  swap: Disabled\n  files: [{path: /run/systemd/system/swap.swap, content: x}]\n',
      /switches swap on, contrary to host\.swap/,
    ],
    [
      'a drop-in of a service and of the proxy',
      'host:\n  proxy: {http: "http://p:1", for: [kubelet]}\n  services: [{name: kubelet, dropIns: [{name: 20-machineadm-proxy.conf, content: x}]}]\n',
      /services\[0\]\.dropIns\[0\]: \S+ is already managed by host\.proxy/,
    ],
    [
      'a service twice, with and without its suffix',
      'host:\n  services:\n    - {name: app, dropIns: [{name: a.conf, content: x}]}\n    - {name: app.service, dropIns: [{name: a.conf, content: y}]}\n',
      /services\[1\]\.dropIns\[0\]: \S+ is already managed by host\.services\[0\]\.dropIns\[0\]/,
    ],
    [
      'containerd stopped and needed',
      'host: {services: [{name: containerd.service, state: Stopped}]}\ncontainerRuntime: {containerd: {}}\n',
      /services\[0\]: containerd\.service must run and start at boot for containerRuntime\.containerd \(doc/,
    ],
    [
      'the kubelet disabled and needed',
      `host: {services: [{name: kubelet, enabled: false}]}\n${KUBERNETES}}\n`,
      /services\[0\]: kubelet must run and start at boot for kubernetes \(doc/,
    ],
    [
      'a time service started and switched off',
      'host: {time: {enabled: false}, services: [{name: chronyd, state: Started}]}\n',
      /services\[0\]: chronyd keeps the time, which is switched off by host\.time\.enabled \(doc/,
    ],
  ];
  for (const [what, body, message] of cases) {
    test(what, async () => {
      const problems = await problemsOf(body);
      assert.ok(problems.length >= 1);
      assert.match(problems.join('\n'), message);
    });
  }
});
