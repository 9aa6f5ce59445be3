import { DIGEST, init, invalid, PEM, type Source, valid } from './source.ts';

/** A format of values: a field with this format, valid values and invalid values. */
interface Form {
  readonly of: string;
  /** The document, with the value at `@`. */
  readonly field: string;
  readonly good: readonly string[];
  /** As YAML, mostly quoted strings. */
  readonly bad: readonly string[];
  /** A value of another type; absent if no other type is tested. */
  readonly otherType?: string;
}

const FORMS: readonly Form[] = [
  {
    of: 'a duration',
    field: 'host: {time: {synchronized: {within: @}}}',
    good: ['5s', '500ms', '1h30m', '365d', '0s'],
    bad: ['"5"', '""', '"-5s"', '"5 s"', '"1.5h"', '"5s\\n"', '"5S"'],
    otherType: '5',
  },
  {
    of: 'an absolute path',
    field: 'reporting: {sentinel: {path: @}}',
    good: ['/', '/a', '/a/b/', '/.hidden/..x/...', '"/a b"', '"/a\\tb"'],
    bad: ['a', '""', '//a', '/a//b', '/a/../b', '/..', '"/a\\n"', '"/a\\0b"', 'C:/a'],
    otherType: '[]',
  },
  {
    of: 'a file mode',
    field: 'host: {files: [{path: /a, content: x, mode: @}]}',
    good: ['"0644"', '"644"', '"4755"', '"01777"'],
    bad: ['"0888"', '"rw"', '"64"', '"0644\\n"', '"000644"'],
    otherType: '644',
  },
  {
    of: 'an owner',
    field: 'host: {files: [{path: /a, content: x, owner: @}]}',
    good: ['root', 'core:operators', '"1000:1000"'],
    bad: ['":root"', '"root:"', '"a b"', '"a:b:c"'],
  },
  {
    of: 'a host name',
    field: 'host: {hostname: @}',
    good: ['node-1', 'a', 'node-1.example.com', '"1"', 'a'.repeat(63)],
    bad: [
      'Node',
      '-a',
      'a-',
      'a..b',
      'a_b',
      '"a "',
      '"node-1\\n"',
      'a'.repeat(64),
      `${'a'.repeat(40)}.${'b'.repeat(40)}`,
    ],
    otherType: '1',
  },
  {
    of: 'host and port',
    field: init('cluster: {controlPlaneEndpoint: @}'),
    good: ['"10.0.0.10:6443"', '"[2001:db8::1]:6443"', '"api.example:1"', '"a:65535"'],
    bad: [
      '"a"',
      '"a:0"',
      '"a:65536"',
      '"a:99999"',
      '"a:123456"',
      '":6443"',
      '"2001:db8::1:6443"',
      '"https://a:6443"',
      '"a:6443\\n"',
    ],
  },
  {
    of: 'an http or https URL',
    field: `host: {files: [{path: /a, contentFrom: {http: {sha256: ${DIGEST}, url: @}}}]}`,
    good: ['https://a.example/x', 'http://a.example', '"https://a.example:8443/x?y=1#z"', '"https://[2001:db8::1]/x"'],
    bad: [
      'a.example/x',
      'ftp://a.example/x',
      '"https:a.example"',
      '"https://"',
      '"https://a.example/a b"',
      'HTTPS://a.example',
      '"https:\\\\\\\\a.example"',
    ],
    otherType: '1',
  },
  {
    of: 'an https URL',
    field:
      'reporting: {sinks: [{type: Kubernetes, certificateAuthority: PEM, token: x, configMap: {namespace: a, name: b}, server: @}]}'.replace(
        'PEM',
        PEM,
      ),
    good: ['https://a.example:6443'],
    bad: ['http://a.example:6443', '"a.example:6443"'],
  },
  {
    of: 'a SHA-256 digest',
    field: 'images: {archives: [{url: "https://a.example/x", sha256: @}]}',
    good: [`"${DIGEST}"`],
    bad: [`"${DIGEST}0"`, `"${DIGEST.toUpperCase()}"`, '"sha256:00"', '"00"'],
  },
  {
    of: 'a DNS subdomain',
    field: init('node: {name: @}'),
    good: ['node-1', 'a.b.c', '"0"'],
    bad: ['Node', 'a_b', '"a."', `${'a'.repeat(64)}`, `${'a.'.repeat(126)}ab`],
  },
  {
    of: 'an image repository',
    field: init('cluster: {imageRepository: @}'),
    good: ['registry.k8s.io', 'registry.example:5000/a/b', '"[2001:db8::1]:5000/a"', 'a.b_c-d/e'],
    bad: [
      'Registry.example',
      '"registry.example/a b"',
      'registry.example/K8S',
      'registry.example:tag/x',
      '"a/"',
      '"/a"',
    ],
  },
  {
    of: 'an image tag',
    field: init('controlPlane: {etcd: {local: {imageTag: @}}}'),
    good: ['v3.6.5-0', '"3.6"', '_a'],
    bad: ['-a', '"a b"', '""', 'a'.repeat(129)],
  },
  {
    of: 'a subnet',
    field: init('cluster: {podSubnets: [@], serviceSubnets: [192.0.2.0/24, "2001:db8:5e::/112"]}'),
    good: ['10.244.0.0/16', '"fd00:10::/64"'],
    bad: ['10.244.0.0', '10.244.0.0/', '"x/16"', '"10.244.0.0/16\\n"'],
  },
  {
    of: 'a Kubernetes version',
    field: 'kubernetes: {role: InitControlPlane, version: @}',
    good: ['v1.35.2', 'v1.33.0-rc.1', 'v1.30.1+k3s1'],
    bad: ['1.35.2', 'v1.35', 'stable', '"v1.35.2\\n"'],
    otherType: '1.35',
  },
  {
    of: 'the value of a label',
    field: init('node: {labels: {a: @}}'),
    good: ['b', '""', 'a.b_c-d', 'a'.repeat(63)],
    bad: ['"a b"', '-a', 'a'.repeat(64)],
    otherType: 'true',
  },
  {
    of: 'a user name',
    field: 'host: {groups: [{name: @}]}',
    good: ['operators', 'Operators', 'a.b', '_a', 'a$', 'a-b_c'],
    bad: ['-a', '1a', '"a b"', 'a'.repeat(33)],
  },
  {
    of: 'the ID of a group',
    field: 'host: {groups: [{name: a, gid: @}]}',
    good: ['0', '2000', '4294967294'],
    bad: ['-1', '4294967295'],
    otherType: '"0"',
  },
  {
    of: 'a size of a partition',
    field: 'host: {storage: {disks: [{device: {path: /dev/a}, partitions: [{size: @}]}]}}',
    good: ['20Gi', '1.5Ti', '100G', '50%', 'Rest'],
    bad: ['"20"', '"20 Gi"', '"0%"', '"101%"', 'rest', '"20Gi\\n"'],
    otherType: '20',
  },
  {
    of: 'an SSH public key',
    field: 'host: {users: [{name: core, sshAuthorizedKeys: [@]}]}',
    good: ['ssh-ed25519 AAAAC3Nz core@example', '"no-pty ssh-rsa AAAA="', 'ecdsa-sha2-nistp256 AAAA'],
    bad: ['AAAAC3Nz', '"ssh-ed25519"', '"ssh-ed25519 AAAA\\nssh-rsa BBBB"'],
  },
  {
    of: 'a proxy',
    field: 'host: {proxy: {http: @}}',
    good: ['http://proxy.example:3128', '"https://user:pw@proxy.example/"'],
    bad: [],
  },
  {
    of: 'a certificate',
    field: 'host: {certificateAuthorities: [{name: a, pem: @}]}',
    good: [PEM],
    bad: ['""', 'MIIB', '"-----BEGIN CERTIFICATE-----"', '"-----BEGIN CERTIFICATE----------END CERTIFICATE-----"'],
  },
  {
    of: 'an environment variable',
    field: 'variables: {a: {env: @}}',
    good: ['HOME', '_a1'],
    bad: ['1A', 'A-B', '""', '"A B"'],
  },
  {
    of: 'a label of a resource group',
    field: init(
      'controlPlane: {apiServer: {audit: {log: {}, policy: {rules: [{level: None, resources: [{group: @}]}]}}}}',
    ),
    good: ['""', 'apps', 'rbac.authorization.k8s.io'],
    bad: ['apps/v1', 'Apps', '-a'],
  },
  {
    of: 'a port',
    field: init('controlPlane: {apiEndpoint: {bindPort: @}}'),
    good: ['1', '6443', '65535'],
    bad: ['0', '65536', '-1'],
    otherType: '"6443"',
  },
];

export const TYPE_VECTORS: readonly Source[] = FORMS.flatMap(({ of, field, good, bad, otherType }) => [
  ...good.map((value) =>
    valid(
      `${of}: ${value}`,
      field.replace('@', () => value),
    ),
  ),
  ...bad.map((value) =>
    invalid(
      `not ${of}: ${value}`,
      'InvalidValue',
      field.replace('@', () => `¦${value}`),
    ),
  ),
  ...(otherType === undefined
    ? []
    : [
        invalid(
          `another type than ${of}: ${otherType}`,
          'InvalidType',
          field.replace('@', () => `¦${otherType}`),
        ),
      ]),
]);
