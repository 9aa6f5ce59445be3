import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { attack } from '../../support/attacks.ts';
import { HEADER, problemsOf } from '../../support/document.ts';

const DIGEST = '0'.repeat(64);
const HEADERS = 'headers: {authorization: {secret: s}}';
const REGISTRY = 'containerRuntime: {containerd: {registries: [{host: r.example, ';
const PASSWORD = 'credentials: {username: someone, password: a-password}';
const ARN = 'arn:aws:sns:eu-west-1:123456789012:b';

/** Each place from which a credential or a secret goes over the network: its document, and what of it is readable. */
const PLACES: Readonly<Record<string, readonly [(url: string, more: string) => string, string, string]>> = {
  'a secret from a server': [
    (url, more) => `secrets: {x: {http: {url: '${url}'${more}}}}\n`,
    'secrets.x.http.url',
    'the secret',
  ],
  'a secret of AWS from another endpoint': [
    (url, more) => `secrets: {x: {awsSecretsManager: {secretId: a, endpoint: '${url}'${more}}}}\n`,
    'secrets.x.awsSecretsManager.endpoint',
    'the secret',
  ],
  'a parameter of AWS from another endpoint': [
    (url, more) => `secrets: {x: {awsParameter: {name: a, endpoint: '${url}'${more}}}}\n`,
    'secrets.x.awsParameter.endpoint',
    'the secret',
  ],
  'a file with headers': [
    (url, more) =>
      `secrets: {s: {file: /s}}\nhost: {files: [{path: /a, contentFrom: {http: {url: '${url}', sha256: '${DIGEST}', ${HEADERS}${more}}}}]}\n`,
    'host.files[0].contentFrom.http.url',
    'the headers',
  ],
  'an image archive with headers': [
    (url, more) =>
      `secrets: {s: {file: /s}}\nimages: {archives: [{url: '${url}', sha256: '${DIGEST}', ${HEADERS}${more}}]}\n`,
    'images.archives[0].url',
    'the headers',
  ],
  'a webhook with headers': [
    (url, more) =>
      `secrets: {s: {file: /s}}\nreporting: {sinks: [{type: Webhook, url: '${url}', ${HEADERS}${more}}]}\n`,
    'reporting.sinks[0].url',
    'the headers',
  ],
  'traces with headers': [
    (url, more) => `secrets: {s: {file: /s}}\nreporting: {sinks: [{type: OTLP, url: '${url}', ${HEADERS}${more}}]}\n`,
    'reporting.sinks[0].url',
    'the headers',
  ],
  'a registry with a password': [
    (url, more) => `${REGISTRY}server: '${url}', ${PASSWORD}${more}}]}}\n`,
    'containerRuntime.containerd.registries[0].server',
    'the password',
  ],
  'a mirror of images with a password': [
    (url, more) => `${REGISTRY}mirrors: [{url: '${url}', ${PASSWORD}${more}}]}]}}\n`,
    'containerRuntime.containerd.registries[0].mirrors[0].url',
    'the password',
  ],
  'a mirror of images with headers': [
    (url, more) => `secrets: {s: {file: /s}}\n${REGISTRY}mirrors: [{url: '${url}', ${HEADERS}${more}}]}]}}\n`,
    'containerRuntime.containerd.registries[0].mirrors[0].url',
    'the headers',
  ],
  ...Object.fromEntries(
    (
      [
        ['a topic of SNS', `{type: AWS, topicARN: '${ARN}', endpoint: '<url>'<more>}`, 'endpoint'],
        ['a queue of SQS', `{type: AWS, queueURL: '<url>/123456789012/b'<more>}`, 'queueURL'],
        [
          'a bucket of S3',
          `{type: AWS, topicARN: '${ARN}', bucket: {name: reports, endpoint: '<url>'<more>}}`,
          'bucket.endpoint',
        ],
        ['a queue of Azure', `{type: Azure, queueURL: '<url>/bootstrap'<more>}`, 'queueURL'],
        ['a topic of Azure', `{type: Azure, topicEndpoint: '<url>/api/events'<more>}`, 'topicEndpoint'],
        [
          'a topic of Pub/Sub',
          `{type: GCP, topic: projects/my-project/topics/b-1, endpoint: '<url>'<more>}`,
          'endpoint',
        ],
      ] as const
    ).map(([what, sink, field]) => [
      what,
      [
        (url: string, more: string) =>
          `reporting: {sinks: [${sink.replace('<url>', url.replace(/\/p$/, '')).replace('<more>', more)}]}\n`,
        `reporting.sinks[0].${field}`,
        'the identity of the machine',
      ] as const,
    ]),
  ),
};

describe('over plain http', () => {
  for (const [what, [document, path, exposed]] of Object.entries(PLACES)) {
    test(
      `${what}: refused, and allowed to this machine, over https and where it says so`,
      attack('Credentials over plain http', `${what}, over plain http`, async () => {
        const problems = await problemsOf(document('http://x.example/p', ''));
        assert.equal(problems.length, 1, problems.join('\n'));
        assert.ok(
          problems[0]?.endsWith(
            `${path}: ${exposed} would be readable on the way, and the URL is plain http (hint: write https://; allowInsecure: true beside it permits this one)`,
          ),
          problems[0],
        );
        for (const url of ['https://x.example/p', 'http://127.0.0.1:1023/p', 'http://localhost/p', 'http://[::1]:80/p'])
          assert.deepEqual(await problemsOf(document(url, '')), [], url);
        assert.deepEqual(await problemsOf(document('http://x.example/p', ', allowInsecure: true')), []);
        for (const url of ['http://127.0.0.1.x.example/p', 'http://localhost.x.example/p'])
          assert.equal((await problemsOf(document(url, ''))).length, 1, url);
        for (const url of [
          'http://127.0.0.1:1024/p',
          'http://localhost:08099/p',
          'http://[::1]:8200',
          'http://127.9.9.9:65535/',
        ])
          assert.match(
            (await problemsOf(document(url, '')))[0] ?? '',
            /any user of this machine who listens on this port|port/,
            url,
          );
        return 7;
      }),
    );
  }

  for (const [what, [document, path]] of Object.entries(PLACES)) {
    test(
      `${what}: refused on a port below 1024 on which every user may listen`,
      attack('Credentials over plain http', `${what}, to a port that is not for root alone`, async () => {
        const body = document('http://127.0.0.1:300/p', '');
        const on = async (unprivilegedFrom?: number) => {
          const source = { name: 'doc.yaml', bytes: new TextEncoder().encode(HEADER + body) };
          const options = { agentVersion: '0.1.0', ...(unprivilegedFrom === undefined ? {} : { unprivilegedFrom }) };
          const result = await loadDocument([source], options);
          return result.ok ? [] : result.problems.map(formatDiagnostic);
        };
        for (const safe of [undefined, 301, 1024, 65_535]) assert.deepEqual(await on(safe), []);
        for (const start of [0, 80, 300]) {
          const problems = await on(start);
          assert.equal(problems.length, 1);
          const why = `net.ipv4.ip_unprivileged_port_start is ${start} on this machine`;
          assert.ok(problems[0]?.includes(`${path}: `) && problems[0].includes(why), problems[0]);
          assert.match(problems[0] ?? '', /or set net\.ipv4\.ip_unprivileged_port_start to 1024; allowInsecure: true/);
        }
        return 3;
      }),
    );
  }

  test('the setting of the document counts, in either spelling, and Windows has no ports of an administrator', async () => {
    const sink =
      'secrets: {s: {file: /s}}\nreporting: {sinks: [{type: Webhook, url: "http://localhost/p", headers: {a: {secret: s}}}]}\n';
    for (const key of ['net.ipv4.ip_unprivileged_port_start', 'net/ipv4/ip_unprivileged_port_start']) {
      assert.deepEqual(await problemsOf(`${sink}host: {sysctl: {${key}: 81}}\n`), []);
      const [problem = ''] = await problemsOf(`${sink}host: {sysctl: {${key}: 80}}\n`);
      assert.match(problem, /net\.ipv4\.ip_unprivileged_port_start is 80 in host\.sysctl/);
    }
    const [problem = ''] = await problemsOf(`${sink.replace('/s}', "'C:\\s'}")}host: {platform: Windows}\n`);
    assert.match(problem, /on Windows every user may listen on every port/);
    const nats =
      'reporting: {sinks: [{type: NATS, servers: ["nats://[::1]:422"], subject: a.b, credentials: {token: abcdefgh}}]}\n';
    const [told = ''] = await problemsOf(`${nats}host: {sysctl: {net.ipv4.ip_unprivileged_port_start: 422}}\n`);
    assert.match(told, /reporting\.sinks\[0\]\.servers\[0\]: the credentials would be readable for any user/);
    assert.deepEqual(await problemsOf(`${nats}host: {sysctl: {net.ipv4.ip_unprivileged_port_start: 423}}\n`), []);
  });

  test('a URL without a credential is accepted; credentials in the URL count', async () => {
    const file = (url: string): string =>
      `host: {files: [{path: /a, contentFrom: {http: {url: '${url}', sha256: '${DIGEST}'}}}]}\n`;
    assert.deepEqual(await problemsOf(file('http://x.example/p')), []);
    assert.match(
      (await problemsOf(file('http://u:p@x.example/p')))[0] ?? '',
      /the credentials of the URL would be readable/,
    );
    assert.deepEqual(await problemsOf("reporting: {sinks: [{type: Webhook, url: 'http://x.example/p'}]}\n"), []);
  });

  test('a token of NATS may be sent if the document allows it', async () => {
    const sink = (more: string): string =>
      `reporting: {sinks: [{type: NATS, servers: ['nats://x.example'], subject: a.b, credentials: {token: abcdefgh}${more}}]}\n`;
    assert.equal((await problemsOf(sink(''))).length, 1);
    const local = (server: string) => sink('').replace('nats://x.example', server);
    assert.match((await problemsOf(local('nats://127.0.0.1')))[0] ?? '', /any user of this machine/);
    assert.match((await problemsOf(local('nats://localhost:4222')))[0] ?? '', /any user of this machine/);
    assert.deepEqual(await problemsOf(local('nats://[::1]:422')), []);
    assert.deepEqual(await problemsOf(sink(', allowInsecure: true')), []);
  });
});
