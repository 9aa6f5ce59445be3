import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as send } from 'node:https';
import { type AddressInfo, connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { limitConnections } from '@machineadm/translator/admission/connections.ts';
import { ReceivedBodies } from '@machineadm/translator/admission/received.ts';
import { readCommandLine } from '@machineadm/translator/service/configuration.ts';
import { type Service, startService } from '@machineadm/translator/service/service.ts';
import { newAuthority } from '../../support/api-server.ts';
import { goldenUserData } from '../../support/capi.ts';
import { DIRECT_CONVERSIONS } from '../../support/direct-conversions.ts';
import { ENABLED, ManagementCluster, patched, patchOf, reviewOf } from '../../support/management-cluster.ts';
import { waitUntil } from '../../support/wait-until.ts';

const WORKER = goldenUserData('02-worker-registry-mirrors', 'join-worker');
const SERVER = newAuthority('webhook');
const CALLER = newAuthority('apiserver');
const SIGNING_SECRET = `whsec_${Buffer.alloc(32, 'machineadm').toString('base64')}`;
const PROFILES = `profiles:
  reporting: {report: {server: 'https://management.example:6443'}}
  signed:
    document: {secrets: {signing: {value: ${SIGNING_SECRET}}}}
    sinks: [{type: Webhook, url: 'https://reports.example.com/machines', secret: {secret: signing}}]
`;

interface Answer {
  readonly status: number;
  readonly body: { readonly message?: string; readonly [key: string]: unknown };
}

/** A translator of its own, with its own management cluster. */
async function translatorWith(...args: readonly string[]) {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-attacks-'));
  const { certificate, key } = SERVER.issue('translator', ['127.0.0.1']);
  writeFileSync(join(directory, 'tls.crt'), certificate);
  writeFileSync(join(directory, 'tls.key'), key);
  writeFileSync(join(directory, 'callers.pem'), CALLER.certificate);
  writeFileSync(join(directory, 'profiles.yaml'), PROFILES);
  const line = readCommandLine(
    [
      '--bind-address=127.0.0.1',
      '--webhook-port=0',
      '--health-port=0',
      '--shutdown-delay=0',
      '--namespace=system',
      '--identity=me',
      `--certificate-directory=${directory}`,
      `--profiles=${join(directory, 'profiles.yaml')}`,
      '--report-namespace=clusters',
      ...args.map((one) => one.replace('DIRECTORY', directory)),
    ],
    {},
    '0.1.0',
  );
  assert.ok(line.kind === 'run', JSON.stringify(line));
  const api = new ManagementCluster();
  api.addCluster();
  const service: Service =
    (await startService(
      line.configuration,
      api,
      '0.1.0',
      () => undefined,
      new AbortController().signal,
      DIRECT_CONVERSIONS,
    )) ?? assert.fail('it did not start');
  const post = (body: string, options: object = {}, path = '/translate'): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = send({
        host: '127.0.0.1',
        port: service.webhookPort,
        path,
        method: 'POST',
        agent: false,
        ca: SERVER.certificate,
        ...options,
      });
      sent.once('error', reject).once('response', (response) => {
        let text = '';
        response.on('data', (piece: Buffer) => {
          text += piece.toString();
        });
        response.once('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
      });
      sent.end(body);
    });
  return {
    api,
    post,
    port: service.webhookPort,
    async [Symbol.asyncDispose]() {
      await service.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

/** The document and everything else in the answer, decoded as far as base64 goes. */
function textOf(answer: Answer): string {
  const patch = JSON.stringify(patchOf(answer.body));
  return `${JSON.stringify(answer.body)}${patch}`;
}

const identity = (name: string, authority = CALLER) => {
  const { certificate, key } = authority.issue(name);
  return { cert: certificate, key };
};

describe('a request that is not from the API server', () => {
  test('is refused before its body is read, whatever it presents', async () => {
    await using translator = await translatorWith(
      '--caller=ClientCertificate',
      '--caller-ca=DIRECTORY/callers.pem',
      '--caller-name=kube-apiserver',
    );
    const { api, post } = translator;
    const machine = api.addMachine('prod-a-md-0-aaaaa');
    const review = reviewOf(machine.secret(WORKER));
    for (const [options, message] of [
      [{}, 'no valid client certificate'],
      [identity('kube-apiserver', newAuthority('apiserver')), 'no valid client certificate'],
      [identity('somebody'), 'the client certificate has another name'],
    ] as const) {
      const { status, body } = await post(review, options);
      assert.deepEqual([status, body.message], [401, message]);
    }
    const { status, body } = await post(review, identity('kube-apiserver'));
    assert.equal(status, 200);
    assert.equal(patchOf(body)[0]?.path, '/data/value');
  });

  test('gets neither a token nor a secret where the API server has no proof, and changes nothing', async () => {
    await using translator = await translatorWith();
    const { api, post } = translator;
    const victim = api.addMachine('victim-md-0-aaaaa', {
      annotations: { 'machineadm.dev/bootstrap-profile': 'reporting' },
    });
    await waitUntil(
      () => api.objects.has('/api/v1/namespaces/clusters/serviceaccounts/machineadm-report-victim-md-0-aaaaa'),
      'the objects of the report, by the leader',
    );
    const before = api.writes.filter((call) => !call.includes('/leases')).length;
    const forged = await post(reviewOf(victim.secret(WORKER)));
    assert.equal(forged.status, 200);
    assert.doesNotMatch(textOf(forged), /token-of-machineadm-report/);
    assert.ok(!api.calls.some((call) => call.endsWith('/token')), 'no token was requested');
    assert.match(textOf(forged), /no report: the API server does not prove that it is the caller/);

    const signed = api.addMachine('signed-md-0-aaaaa', {
      annotations: { 'machineadm.dev/bootstrap-profile': 'signed' },
    });
    const answer = await post(reviewOf(signed.secret(WORKER)));
    assert.ok(!textOf(answer).includes(SIGNING_SECRET));
    assert.match(textOf(answer), /CallerUnknown: the profile contains values of secrets \(secrets\.signing\)/);
    assert.equal(api.writes.filter((call) => !call.includes('/leases')).length, before, 'nothing was written');
  });

  test('gets an answer only about an object that it knows: the uid of the KubeadmConfig cannot be guessed', async () => {
    await using translator = await translatorWith();
    const { api, post } = translator;
    const machine = api.addMachine('prod-a-md-0-aaaaa');
    const secret = machine.secret(WORKER);
    const [owner] = (secret.metadata as unknown as { ownerReferences: object[] }).ownerReferences;
    const guessed = {
      ...secret,
      metadata: { ...secret.metadata, ownerReferences: [{ ...owner, uid: '00000000-0000-4000-8000-000000000000' }] },
    };
    assert.deepEqual(patchOf((await post(reviewOf(guessed))).body), []);
  });

  test('through the front proxy counts only if the user is the API server itself', async () => {
    await using translator = await frontProxied();
    const { api, post } = translator;
    const review = reviewOf(api.addMachine('prod-a-md-0-aaaaa').secret(WORKER));
    const path = '/apis/translator.machineadm.dev/v1/reviews';
    const as = (user: string | undefined, name = 'front-proxy-client') => ({
      ...identity(name),
      headers: user === undefined ? {} : { 'x-remote-user': user },
    });
    assert.equal((await post(review, as('system:apiserver'), path)).status, 200);
    for (const options of [
      as('eve'),
      as(undefined),
      as('system:apiserver', 'another'),
      { headers: { 'x-remote-user': 'system:apiserver' } },
    ]) {
      assert.equal((await post(review, options, path)).status, 401);
    }
  });
});

/** With the front proxy's authority where an API server publishes it. */
async function frontProxied() {
  const original = ManagementCluster.prototype.request;
  ManagementCluster.prototype.request = async function (request) {
    if (!request.path.endsWith('/configmaps/extension-apiserver-authentication'))
      return await original.call(this, request);
    return {
      data: {
        'requestheader-client-ca-file': CALLER.certificate,
        'requestheader-allowed-names': '["front-proxy-client"]',
        'requestheader-username-headers': '["X-Remote-User"]',
      },
    };
  };
  try {
    return await translatorWith('--caller=FrontProxy');
  } finally {
    ManagementCluster.prototype.request = original;
  }
}

describe('who writes the Secret', () => {
  test('must be the bootstrap provider: a moved, restored or forged Secret stays as it is', async () => {
    await using translator = await translatorWith();
    const { api, post } = translator;
    const secret = api.addMachine('prod-a-md-0-aaaaa').secret(WORKER);
    for (const username of ['kubernetes-admin', 'system:serviceaccount:velero:velero', '']) {
      assert.deepEqual(patchOf((await post(reviewOf(secret, { userInfo: { username } }))).body), []);
    }
    assert.equal(patchOf((await post(reviewOf(secret))).body).length > 0, true);
  });

  test('does not matter for a machine that booted already', async () => {
    await using translator = await translatorWith();
    const { api, post } = translator;
    for (const [name, change] of [
      ['booted-md-0-aaaaa', { providerID: 'aws:///a/i-1' }],
      ['given-md-0-aaaaa', { dataSecretName: 'given-md-0-aaaaa' }],
    ] as const) {
      const secret = api.addMachine(name, change).secret(WORKER);
      assert.deepEqual(patchOf((await post(reviewOf(secret))).body), [], name);
    }
  });
});

describe('the connections of an attacker', () => {
  test('that announce bodies and send nothing take no place of others', async () => {
    await using translator = await translatorWith();
    const { api, post, port } = translator;
    const idle = Array.from({ length: 16 }, () => {
      const socket = connectTls({ port, host: '127.0.0.1', ca: SERVER.certificate });
      socket.on('error', () => undefined);
      socket.write('POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 4194304\r\n\r\n');
      return socket;
    });
    const answer = await post(reviewOf(api.addMachine('prod-a-md-0-aaaaa', { labels: ENABLED }).secret(WORKER)));
    assert.equal(answer.status, 200);
    assert.equal(patchOf(answer.body)[0]?.path, '/data/value');
    for (const socket of idle) socket.destroy();
  });

  test('that send nothing at all, or no headers, are ended', async () => {
    await using translator = await translatorWith();
    const { port } = translator;
    const ended = await Promise.all(
      ['', 'POST /translate HTTP/1.1\r\n'].map(
        (text) =>
          new Promise<boolean>((resolve) => {
            const socket =
              text === ''
                ? connectTcp(port, '127.0.0.1')
                : connectTls({ port, host: '127.0.0.1', ca: SERVER.certificate });
            socket.on('error', () => undefined).once('close', () => resolve(true));
            socket.on('data', () => undefined);
            if (text !== '') socket.write(text);
          }),
      ),
    );
    assert.deepEqual(ended, [true, true]);
  });

  test('are the first to go when there are too many', async () => {
    const { certificate, key } = SERVER.issue('translator', ['127.0.0.1']);
    const server = createServer({ cert: certificate, key }, (_, response) => response.end('here'));
    limitConnections(server, 8);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const from = (localAddress: string): Socket => {
      const socket = connectTcp({ port, host: '127.0.0.1', localAddress });
      return socket.on('error', () => undefined);
    };
    const attackers = Array.from({ length: 8 }, () => from('127.0.0.2'));
    await Promise.all(attackers.map((one) => new Promise((resolve) => one.once('connect', resolve))));
    const others = Array.from({ length: 3 }, () => from('127.0.0.3'));
    await waitUntil(() => attackers.filter(({ destroyed }) => destroyed).length === 3, 'three attackers are gone');
    assert.ok(others.every(({ destroyed }) => !destroyed));
    for (const socket of [...attackers, ...others]) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('bodies in flight', () => {
  let server: ReturnType<typeof createServer>;
  let port = 0;
  const bodies = new ReceivedBodies(300_000);
  const results: string[] = [];

  before(async () => {
    const { certificate, key } = SERVER.issue('translator', ['127.0.0.1']);
    server = createServer({ cert: certificate, key }, (request, response) => {
      void bodies
        .read(request, 60_000, async (body) => body.length)
        .then((read) => {
          results.push(`${request.socket.remoteAddress} ${'unread' in read ? read.unread.status : read.used}`);
          response.writeHead('unread' in read ? read.unread.status : 200, { connection: 'close' }).end();
        });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  });
  after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test('of the peer that holds the most are given up first', async () => {
    const slow = Array.from({ length: 4 }, () => {
      const from = connectTcp({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
      const socket = connectTls({ socket: from, ca: SERVER.certificate, checkServerIdentity: () => undefined });
      socket.on('error', () => undefined).on('data', () => undefined);
      socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n');
      socket.write(Buffer.alloc(70_000));
      return socket;
    });
    await waitUntil(() => bodies.bytes === 280_000, 'the bytes of the slow ones');
    const sent = send({ port, host: '127.0.0.1', localAddress: '127.0.0.3', method: 'POST', ca: SERVER.certificate });
    const status = await new Promise<number | undefined>((resolve, reject) => {
      sent.once('error', reject).once('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.end(Buffer.alloc(90_000));
    });
    assert.equal(status, 200);
    assert.ok(results.includes('127.0.0.3 90000'), JSON.stringify(results));
    assert.deepEqual(
      results.filter((one) => one.startsWith('127.0.0.2')),
      ['127.0.0.2 503'],
    );
    for (const socket of slow) socket.destroy();
    await waitUntil(() => bodies.bytes === 0, 'nothing counts any longer');
  });
});

test('a stored Secret that was kept says why, and one that is translated later no longer does', async () => {
  await using translator = await translatorWith();
  const { api, post } = translator;
  const machine = api.addMachine('prod-a-md-0-aaaaa', { annotations: { 'machineadm.dev/bootstrap-profile': 'none' } });
  const secret = machine.secret(WORKER);
  const kept = patched(secret, (await post(reviewOf(secret))).body) as {
    metadata: { annotations?: object };
    data: object;
  };
  assert.deepEqual(kept.data, secret.data);
  assert.match(JSON.stringify(kept.metadata.annotations), /OptionsInvalid: .*there is no profile/);
  const again = api.addMachine('prod-a-md-0-aaaaa');
  const update = { ...again.secret(WORKER), metadata: { ...secret.metadata, annotations: kept.metadata.annotations } };
  const answer = await post(reviewOf(update, { operation: 'UPDATE', oldObject: kept }));
  const stored = patched(update, answer.body) as { metadata: { annotations?: object } };
  assert.deepEqual(Object.keys(stored.metadata.annotations ?? {}), [
    'machineadm.dev/translated',
    'machineadm.dev/translation',
  ]);
});
