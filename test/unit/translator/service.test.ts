import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as send } from 'node:http';
import { request as sendTls } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Api, ApiError, type Request } from '@machineadm/translator/cluster/api.ts';
import type { Conversions } from '@machineadm/translator/conversions/pool.ts';
import { NO_PROFILES } from '@machineadm/translator/handover/profiles.ts';
import type { Configuration } from '@machineadm/translator/service/configuration.ts';
import { readCommandLine } from '@machineadm/translator/service/configuration.ts';
import { profilesFrom } from '@machineadm/translator/service/profiles-file.ts';
import { type Service, startService } from '@machineadm/translator/service/service.ts';
import { warmUp } from '@machineadm/translator/service/warm-up.ts';
import { newAuthority } from '../../support/api-server.ts';
import { DIRECT_CONVERSIONS } from '../../support/direct-conversions.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { waitUntil } from '../../support/wait-until.ts';

interface Line {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

const AUTHORITY = newAuthority();

/** An API server on which a lease can be held, and which has nothing else. */
class LeaseOnly implements Api {
  readonly certificateAuthority = AUTHORITY.certificate;
  readonly writes: Request[] = [];

  async request(request: Request): Promise<unknown> {
    if ((request.method ?? 'GET') === 'GET') throw new ApiError(404, 'not found');
    this.writes.push(request);
    return {};
  }

  async watch(): Promise<void> {}
}

describe('the service of the translator', () => {
  let directory = '';
  let service: Service;
  let configuration: Configuration;
  const log: Line[] = [];
  const api = new LeaseOnly();
  let closed = 0;
  const samples: string[] = [];
  const conversions = {
    convertSecret: async (namespace: string) => {
      samples.push(`convert ${namespace}`);
      return { yaml: '', format: 'cloud-config' as const, codes: [] };
    },
    wrapConverted: async (namespace: string) => {
      samples.push(`wrap ${namespace}`);
      return '';
    },
    mergedText: () => assert.fail('nothing is merged'),
    configUpdateProblem: () => assert.fail('nothing is updated'),
    configProblems: () => assert.fail('nothing is checked'),
    close: async () => {
      closed += 1;
    },
  };
  const start = (
    different: Partial<Configuration> = {},
    signal = new AbortController().signal,
    by: Conversions = conversions,
  ) =>
    startService(
      { ...configuration, ...different },
      api,
      '1.2.3',
      (level, message, fields = {}) => void log.push({ level, message, ...fields }),
      signal,
      by,
    );

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-service-'));
    const { certificate, key } = AUTHORITY.issue('translator', ['127.0.0.1']);
    writeFileSync(join(directory, 'tls.crt'), certificate);
    writeFileSync(join(directory, 'tls.key'), key);
    const args = ['--bind-address=127.0.0.1', '--webhook-port=0', '--health-port=0', '--shutdown-delay=0'];
    const line = readCommandLine(
      [...args, '--namespace=system', '--identity=me', `--certificate-directory=${directory}`],
      {},
      '1.2.3',
    );
    assert.ok(line.kind === 'run');
    ({ configuration } = line);
    service = (await start()) ?? assert.fail('it did not start');
  });
  after(() => rmSync(directory, { recursive: true }));

  interface Answer {
    readonly status: number | undefined;
    readonly type: string | undefined;
    readonly text: string;
  }

  function answerOf(sent: ReturnType<typeof send>, body?: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      sent.once('error', reject);
      sent.once('response', (response) => {
        let text = '';
        response.on('data', (piece: Buffer) => {
          text += piece.toString();
        });
        response.once('end', () =>
          resolve({ status: response.statusCode, type: response.headers['content-type'], text }),
        );
      });
      sent.end(body);
    });
  }
  const health = (path: string, method = 'GET') =>
    answerOf(send({ host: '127.0.0.1', port: service.healthPort, path, method, agent: false }));
  const webhook = (path: string, { method = 'POST', headers = {}, body = '' } = {}) =>
    answerOf(
      sendTls({
        host: '127.0.0.1',
        port: service.webhookPort,
        path,
        method,
        headers,
        agent: false,
        ca: AUTHORITY.certificate,
      }),
      body,
    );
  const metric = async (name: string): Promise<string | undefined> =>
    (await health('/metrics')).text.split('\n').find((line) => line.startsWith(`machineadm_translator_${name}`));

  test('answers probes and Prometheus, and nothing else, in plain text', async () => {
    const type = 'text/plain; charset=utf-8';
    assert.deepEqual(await health('/healthz?verbose'), { status: 200, type, text: 'ok\n' });
    assert.deepEqual(await health('/readyz'), { status: 200, type, text: 'ok\n' });
    assert.deepEqual(await health('/readyz', 'POST'), { status: 405, type, text: 'only GET is allowed\n' });
    assert.deepEqual(await health('/'), { status: 404, type, text: 'not found\n' });
    const metrics = await health('/metrics');
    assert.deepEqual([metrics.status, metrics.type], [200, 'text/plain; version=0.0.4; charset=utf-8']);
  });

  test('says when it is ready, leads, and knows when its certificate expires', async () => {
    const [ready] = log;
    assert.deepEqual([...new Set(samples)], ['convert sample', 'wrap sample']);
    const { webhookPort, healthPort } = service;
    assert.deepEqual(ready, { level: 'info', message: 'ready', version: '1.2.3', webhookPort, healthPort });
    await waitUntil(() => api.writes.length > 0, 'a lease');
    assert.match(api.writes[0]?.path ?? '', /\/namespaces\/system\/leases/);
    await waitUntil(
      async () => (await metric('leader')) === 'machineadm_translator_leader 1',
      'the metric of the leader',
    );
    const expiry = Number((await metric('certificate_expiry_timestamp_seconds '))?.split(' ')[1]);
    assert.ok(expiry * 1000 > Date.now(), `${expiry}`);
  });

  const REVIEW = {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u1',
      operation: 'CREATE',
      namespace: 'clusters',
      object: { metadata: { name: 's' }, type: 'Opaque', data: {} },
    },
  };

  test('answers a review of a Secret that is not its business, counts it, and keeps the Secret', async () => {
    const { status, type, text } = await webhook('/translate?timeout=10s', { body: JSON.stringify(REVIEW) });
    assert.deepEqual([status, type], [200, 'application/json']);
    const { response, kind } = JSON.parse(text);
    assert.deepEqual(
      [kind, response.uid, response.allowed, response.patch],
      ['AdmissionReview', 'u1', true, undefined],
    );
    assert.equal(await metric('admissions_total{'), 'machineadm_translator_admissions_total{outcome="Untouched"} 1');
    assert.equal(
      await metric('admission_duration_seconds_count'),
      'machineadm_translator_admission_duration_seconds_count 1',
    );
  });

  test('answers the aggregation layer that it has no OpenAPI, without a word', async () => {
    const before = log.length;
    for (const path of ['/openapi/v2', '/openapi/v3', '/apis?timeout=32s'])
      assert.equal((await webhook(path, { method: 'GET' })).status, 404, path);
    assert.deepEqual(log.slice(before), []);
  });

  test('refuses what is not a review, says why, and counts it', async () => {
    const refused = async (path: string, wish: Parameters<typeof webhook>[1]) => {
      const { status, text } = await webhook(path, wish);
      return [status, JSON.parse(text).message];
    };
    const before = log.length;
    assert.deepEqual(await refused('/other', {}), [404, 'not found']);
    assert.deepEqual(await refused('/translate', { method: 'PUT' }), [405, 'only POST is allowed']);
    const large = { headers: { 'content-length': `${4 * 1024 * 1024 + 1}` } };
    assert.deepEqual(await refused('/translate', large), [413, 'the review is too large']);
    const none = [400, 'the body is not an AdmissionReview of admission.k8s.io/v1'];
    for (const body of ['', '{', '{}', JSON.stringify({ ...REVIEW, kind: 'Pod' })])
      assert.deepEqual(await refused('/translate', { body }), none);
    assert.equal(await metric('rejected_requests_total'), 'machineadm_translator_rejected_requests_total 7');
    const [first] = log.slice(before);
    assert.deepEqual(first, { level: 'warn', message: 'request refused', status: 404, reason: 'not found' });
  });

  test('waits for its first certificate, and gives up when it is stopped meanwhile', async () => {
    using clock = fakeClock({ deadlines: true });
    const stopping = new AbortController();
    clock.at(5_000, () => stopping.abort());
    const before = log.length;
    const started = start({ certificateDirectory: join(directory, 'none') }, stopping.signal);
    assert.equal(await clock.until(started), undefined);
    const waits = log.slice(before).filter(({ message }) => message === 'no certificate yet');
    // How many depends on how long the machine takes to look.
    assert.ok(waits.length > 0 && waits.every(({ level }) => level === 'warn'), JSON.stringify(waits));
    assert.match(String(waits[0]?.error), /ENOENT/);
  });

  test('is ready although its sample cannot be converted, and logs why', async () => {
    const before = log.length;
    const failing = { ...conversions, convertSecret: async () => await Promise.reject(new Error('no thread')) };
    const other = (await start({}, undefined, failing)) ?? assert.fail('it did not start');
    assert.deepEqual(
      log.slice(before, before + 2).map(({ message, error }) => [message, error]),
      [
        ['the sample was not converted', 'no thread'],
        ['ready', undefined],
      ],
    );
    await other.stop();
    closed = 0;
  });

  test('has a sample that can be converted', async () => {
    const wrapped: string[] = [];
    const watched: Conversions = {
      ...DIRECT_CONVERSIONS,
      wrapConverted: async (...args) => {
        const userData = await DIRECT_CONVERSIONS.wrapConverted(...args);
        wrapped.push(userData);
        return userData;
      },
    };
    await warmUp(watched, '1.2.3', new AbortController().signal);
    assert.ok(wrapped.length > 0);
    for (const userData of wrapped) assert.match(userData, /^#cloud-config\n.*machineadm provision -d /s);
  });

  test('stops in order: no longer ready, the lease, the workers', async () => {
    await service.stop();
    assert.deepEqual(
      log.slice(-3).map(({ message }) => message),
      ['stopping', 'no longer leader', 'stopped'],
    );
    assert.equal(closed, 1);
    await assert.rejects(webhook('/translate'), { code: 'ECONNREFUSED' });
    await assert.rejects(health('/healthz'), { code: 'ECONNREFUSED' });
  });

  test('reads its profiles again when their file changes, and refuses what it cannot read', async () => {
    assert.equal(await profilesFrom(undefined)(), NO_PROFILES);
    const path = join(directory, 'profiles.yaml');
    const profiles = profilesFrom(path);
    assert.deepEqual(await profiles(), NO_PROFILES, 'the ConfigMap is optional');
    await assert.rejects(profilesFrom(directory)(), {
      reason: 'OptionsInvalid',
      message: /^the profiles cannot be read: EISDIR/,
    });
    writeFileSync(path, 'profiles: {a: {}}\n');
    const first = await profiles();
    assert.deepEqual(Object.keys(first.profiles), ['a']);
    assert.equal(await profiles(), first);
    writeFileSync(path, 'profiles: {b: {}}\n');
    assert.deepEqual(Object.keys((await profiles()).profiles), ['b']);
  });
});
