import {
  ABSENT,
  attribute,
  drift,
  edit,
  type FeatureCases,
  FOLLOWS,
  gone,
  put,
  UNDONE,
} from '../../../support/feature-cases.ts';

const file = (path: string, more = ''): string => `files: [{path: ${path}, content: "ours\\n"${more}}]`;

export const cases: FeatureCases = {
  everything: `host:
  files:
    - {path: /etc/systemd/system/agent.service, content: "[Service]\\nExecStart=/bin/agent\\n[Install]\\nWantedBy=multi-user.target\\n"}
    - {path: /etc/app/app.conf, content: "a = 1\\n", mode: "0640", owner: "ada:users", directoryMode: "0755"}
    - {path: /etc/app/lines.conf, content: "b = 2\\n", append: true}
    - {path: /etc/app/block.conf, content: "c = 3\\n", block: {name: settings}}
    - {path: /etc/app/data.bin, content: AAEC, encoding: base64}
    - {path: /etc/app/secret, contentFrom: {secret: token}}
    - {path: /etc/app/copy.conf, contentFrom: {file: /etc/app/app.conf}}
    - {path: /opt/app/tool, contentFrom: {http: {url: "https://files.example/tool", sha256: 67948dd9afd6afe5043b0029d5aa7cf0f8b2824baf16f4f097d40d830edb686d}}, mode: "0755"}
    - {path: /etc/app/identity, content: "\${zone}\\n", expand: true}
    - {path: /etc/app/old.conf, absent: true}
secrets: {token: {value: hunter2hunter2}}
variables: {zone: {value: zone-1}}`,
  undo: {
    'a new file': file('/etc/new.conf'),
    'a new file in new directories': file('/opt/app/etc/app.conf', ', directoryMode: "0700"'),
    'a file that was there': file('/etc/hosts'),
    'a file of a user': file('/etc/app/secret.conf', ', mode: "0640", owner: "root:wheel"'),
    'a file whose mode differs': 'files: [{path: /etc/app/plain.conf, content: "a=1\\n", mode: "0600"}]',
    'lines behind those of others': file('/etc/environment', ', append: true'),
    'many files': `files: [${[1, 2, 3, 4, 5].map((n) => `{path: /etc/many/${n}, content: "${n}"}`).join(', ')}]`,
    'rules of sysusers and tmpfiles': [
      'files:',
      '  - {path: /etc/sysusers.d/app.conf, content: "g app\\n"}',
      '  - {path: /etc/tmpfiles.d/app.conf, content: "d /run/app\\n"}',
    ].join('\n'),
    'a block in a file of others': file('/etc/environment', ', block: {name: site}'),
    'a file that goes': 'files: [{path: /etc/app/secret.conf, absent: true}]',
  },
  drifts: {
    'host.files[].path': [drift('no file', gone('/etc/app/app.conf'), 'files//etc/app/app.conf')],
    'host.files[].content': [drift('another content', edit('/etc/app/app.conf', '1', '2'), 'files//etc/app/app.conf')],
    'host.files[].contentFrom.secret': [
      drift('another content', edit('/etc/app/secret', 'hunter2', 'x'), 'files//etc/app/secret'),
    ],
    'host.files[].contentFrom.file': [
      drift('another content', edit('/etc/app/copy.conf', '1', '2'), 'files//etc/app/copy.conf'),
    ],
    'host.files[].contentFrom.http.**': [
      drift('another content', edit('/opt/app/tool', 'tool', 'x'), 'files//opt/app/tool'),
      drift('no file', gone('/opt/app/tool'), 'files//opt/app/tool'),
    ],
    'host.files[].encoding': [
      drift('another content', (m) => put(m, '/etc/app/data.bin', { content: 'x' }), 'files//etc/app/data.bin'),
    ],
    'host.files[].mode': [
      drift('another mode', attribute('/etc/app/app.conf', { mode: 0o644 }), 'files//etc/app/app.conf'),
    ],
    'host.files[].owner': [
      drift('another user', attribute('/etc/app/app.conf', { uid: 0 }), 'files//etc/app/app.conf'),
      drift('another group', attribute('/etc/app/app.conf', { gid: 0 }), 'files//etc/app/app.conf'),
    ],
    'host.files[].directoryMode': { none: 'of directories that are made; host.directories keeps the mode of one' },
    'host.files[].append': [
      drift('no such line', edit('/etc/app/lines.conf', 'b = 2\n', ''), 'files//etc/app/lines.conf'),
    ],
    'host.files[].block.*': [
      drift('another content of the block', edit('/etc/app/block.conf', 'c = 3', 'c = 4'), 'files//etc/app/block.conf'),
      drift('no block', (m) => put(m, '/etc/app/block.conf', { content: 'theirs\n' }), 'files//etc/app/block.conf'),
    ],
    'host.files[].expand': [
      drift('another value', edit('/etc/app/identity', 'zone-1', 'zone-2'), 'files//etc/app/identity'),
    ],
    'host.files[].absent': [drift('is there', (m) => m.put('/etc/app/old.conf', 'x'), 'removals/etc/app/old.conf')],
    'host.files[].restarts[]': { none: FOLLOWS },
    'host.files[].reloads[]': { none: FOLLOWS },
  },
  dropped: {
    'host.files[].**': UNDONE,
    'host.files[].absent': ABSENT,
  },
};
