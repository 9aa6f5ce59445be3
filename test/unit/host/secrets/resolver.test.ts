import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { inspect } from 'node:util';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret, type SecretSource, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { MetadataService } from '../../../../src/host/cloud/metadata-service.ts';
import { createHttpClient } from '../../../../src/host/http/client.ts';
import { openHost, openQueryHost } from '../../../../src/host/index.ts';
import { runCommand } from '../../../../src/host/linux/commands.ts';
import { secretResolver } from '../../../../src/host/secrets/resolver.ts';
import { type AwsRole, startAwsApi } from '../../../support/aws-server.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { startServer } from '../../../support/http-servers.ts';
import { startAws } from '../../../support/metadata-servers.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const directory = mkdtempSync(join(tmpdir(), 'machineadm-effects-'));
after(() => rmSync(directory, { recursive: true }));

function program(name: string, script: string): string {
  const path = join(directory, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

const named = (source: SecretSource): SecretValue => ({ name: 'secrets.token', source });
const exec = (command: readonly string[], timeoutMs = 10_000) => named({ kind: 'exec', command, timeoutMs });
const http = (url: string, different: Partial<Extract<SecretSource, { kind: 'http' }>> = {}) =>
  named({ kind: 'http', url, headers: {}, sha256: undefined, pointer: undefined, ...different });

/** A resolver whose pauses take no time. */
function resolver(metadata?: MetadataService) {
  let time = 0;
  const pauses = {
    now: () => time,
    wait: async (ms: number) => {
      time += ms;
    },
    random: () => 1,
  };
  const client = createHttpClient({ proxy: undefined, certificateAuthorities: [] });
  const more = metadata === undefined ? {} : { metadata };
  return secretResolver({ run: (command) => runCommand(command), http: async () => client, pauses, ...more });
}

async function refused(asked: Promise<unknown>, why: RegExp, never = 'hidden-word') {
  await assert.rejects(asked, (error: unknown) => {
    assert.ok(error instanceof MachineadmError, String(error));
    assert.equal(error.reason, 'SecretUnavailable');
    assert.match(error.message, /secrets\.token/);
    assert.match([error.message, ...error.evidence.map(({ text }) => text)].join('\n'), why);
    assert.ok(!inspect(error, { depth: 9 }).includes(never));
    return true;
  });
}

describe('a secret that a program prints', () => {
  test('loses one newline at its end, and is read once', async () => {
    const trace = join(directory, 'trace');
    const value = exec([program('print', `echo asked >>${trace}; printf 'a b\\n\\n'`)]);
    const resolve = resolver();
    assert.equal((await resolve(value)).reveal(), 'a b\n');
    await Promise.all([resolve(value), resolve(value)]);
    assert.equal(readFileSync(trace, 'utf8'), 'asked\n');
  });

  test('gets its arguments as they are and a clean environment', async () => {
    process.env.LEAKED_WORD = 'leaked';
    const value = exec([program('env', 'echo "$1|$2|$LEAKED_WORD|$PATH"'), 'a b', '$HOME']);
    const printed = (await resolver()(value)).reveal();
    delete process.env.LEAKED_WORD;
    assert.match(printed, /^a b\|\$HOME\|\|\/usr\/local\/sbin:/);
  });

  test('that fails is reported with the output of the program, redacted', async () => {
    new Secret('hidden-word');
    await refused(
      resolver()(exec([program('fail', 'echo "no hidden-word today" >&2; exit 3')])),
      /status 3[\s\S]*no \[redacted\] today/,
    );
    await refused(resolver()(exec(['/nonesuch/program'])), /could not be started/);
    await refused(resolver()(exec([program('empty', 'exit 0')])), /it is empty/);
  });

  test('that hangs is killed with all processes it started', async () => {
    const file = join(directory, 'pid');
    const script = `sleep infinity & echo $! >${file}.new; mv ${file}.new ${file}; wait`;
    using clock = fakeClock({ deadlines: true });
    const ended = refused(resolver()(exec([program('hang', script)], 200)), /did not end within 0.2 s/);
    await waitUntil(() => existsSync(file), 'it has begun');
    await clock.until(ended);
    const pid = readFileSync(file, 'utf8').trim();
    // A container's init may leave what it inherits as a zombie.
    const stat = existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : 'Z';
    assert.match(stat, /^Z$|\) Z /);
  });

  test('that prints without an end is refused', async () => {
    await refused(resolver()(exec([program('long', 'head -c 2000000 /dev/zero | tr "\\0" x')])), /1 MiB or more/);
  });

  test('that failed once is read again the next time', async () => {
    const flag = join(directory, 'ready');
    const value = exec([program('later', `cat ${flag}`)]);
    const resolve = resolver();
    await refused(resolve(value), /status 1/);
    writeFileSync(flag, 'now');
    assert.equal((await resolve(value)).reveal(), 'now');
  });
});

describe('a secret from a server', () => {
  test('is the whole answer without one newline, or a part of its JSON', async () => {
    await using server = await startServer((request) => ({
      body: request.url === '/text' ? 'a b\n' : '{"data":{"a/b":[{"t~":"inner"}],"port":6443,"map":{}}}',
    }));
    const resolve = resolver();
    assert.equal((await resolve(http(`${server.url}/text`))).reveal(), 'a b');
    assert.equal((await resolve(http(`${server.url}/json`, { pointer: '/data/a~1b/0/t~0' }))).reveal(), 'inner');
    assert.equal((await resolve(http(`${server.url}/json`, { pointer: '/data/port' }))).reveal(), '6443');
    for (const pointer of ['/data/none', '/data/map', '/data/a~1b/7']) {
      await refused(resolve(http(`${server.url}/json`, { pointer })), /has no text at/);
    }
    await refused(resolve(http(`${server.url}/text`, { pointer: '/a' })), /has no text at/);
  });

  test('is requested with headers that are secrets themselves, once', async () => {
    await using server = await startServer((request) =>
      request.headers.authorization === 'Bearer abc' ? { body: 'granted' } : { status: 401 },
    );
    const header: SecretValue = { name: 'secrets.bearer', source: { kind: 'value', secret: new Secret('Bearer abc') } };
    const value = http(server.url, { headers: { authorization: header } });
    const resolve = resolver();
    assert.equal((await resolve(value)).reveal(), 'granted');
    await resolve(value);
    assert.equal(server.requests.length, 1);
    await refused(resolve(http(server.url)), /HTTP 401/, 'Bearer abc');
    assert.equal(server.requests.length, 2, 'a refusal is not repeated');
  });

  test('must have the digest of the document', async () => {
    await using server = await startServer(() => ({ body: 'hidden-word' }));
    const sha256 = createHash('sha256').update('hidden-word').digest('hex');
    assert.equal((await resolver()(http(server.url, { sha256 }))).reveal(), 'hidden-word');
    await refused(resolver()(http(server.url, { sha256: '0'.repeat(64) })), /another SHA-256/);
  });

  test('that is busy is retried for half a minute, and no longer', async () => {
    let asked = 0;
    await using server = await startServer(() => {
      asked += 1;
      return asked < 4 ? { status: asked === 2 ? 429 : 503 } : { body: 'granted' };
    });
    assert.equal((await resolver()(http(server.url))).reveal(), 'granted');
    await using down = await startServer(() => ({ status: 500 }));
    await refused(resolver()(http(down.url)), /HTTP 500/);
    assert.ok(down.requests.length > 5 && down.requests.length < 20, String(down.requests.length));
    await refused(resolver()(http('http://127.0.0.1:1/')), /ECONNREFUSED/);
  });

  test('that timed out is not requested again, and the remedy is that of the request', async () => {
    await using down = await startServer(() => ({ status: 500 }));
    const resolve = resolver();
    const value = http(down.url);
    await refused(resolve(value), /HTTP 500/);
    const asked = down.requests.length;
    await assert.rejects(resolve(value), { remedy: /Check that the server runs/, retryable: true });
    assert.equal(down.requests.length, asked);
  });

  test('that is larger than 1 MiB, or no text, is refused', async () => {
    await using server = await startServer((request) => ({
      body: request.url === '/long' ? Buffer.alloc(1024 * 1024 + 1, 'x') : Buffer.from([0xff, 0xfe]),
    }));
    await refused(resolver()(http(`${server.url}/long`)), /larger than/);
    await refused(resolver()(http(`${server.url}/binary`)), /not UTF-8/);
  });
});

describe('a secret in AWS', () => {
  const role: AwsRole = { accessKeyId: 'ASIAEXAMPLE', secretAccessKey: 'key-of-the-role', token: 'token-of-the-role' };
  const credentials = {
    Code: 'Success',
    AccessKeyId: role.accessKeyId,
    SecretAccessKey: role.secretAccessKey,
    Token: role.token,
  };
  const startMetadata = (given: object = credentials) =>
    startAws({
      'meta-data/placement/region': 'eu-west-1',
      'meta-data/iam/security-credentials/node-role': JSON.stringify(given),
    });
  const manager = (endpoint: string, different: Partial<Extract<SecretSource, { kind: 'awsSecretsManager' }>> = {}) =>
    named({
      kind: 'awsSecretsManager',
      secretId: 'prod/token',
      region: undefined,
      key: undefined,
      endpoint,
      ...different,
    });

  test('is requested with the role of the machine, signed', async () => {
    await using metadata = await startMetadata();
    await using aws = await startAwsApi(role, 'eu-west-1', (target, body) => {
      if (target === 'AmazonSSM.GetParameter') {
        assert.deepEqual(body, { Name: '/prod/token', WithDecryption: true });
        return { body: { Parameter: { Value: 'of ssm' } } };
      }
      assert.equal(target, 'secretsmanager.GetSecretValue');
      return body.SecretId === 'binary'
        ? { body: { SecretBinary: Buffer.from('bytes').toString('base64') } }
        : { body: { SecretString: '{"token":"inner"}' } };
    });
    const resolve = resolver(new MetadataService({ address: metadata.url }));
    assert.equal((await resolve(manager(aws.url))).reveal(), '{"token":"inner"}');
    assert.equal((await resolve(manager(aws.url, { key: 'token' }))).reveal(), 'inner');
    assert.equal((await resolve(manager(aws.url, { secretId: 'binary' }))).reveal(), 'bytes');
    const parameter = named({ kind: 'awsParameter', name: '/prod/token', region: 'eu-west-1', endpoint: aws.url });
    assert.equal((await resolve(parameter)).reveal(), 'of ssm');
    await refused(resolve(manager(aws.url, { key: 'none' })), /no such value/, 'inner');
  });

  test('that AWS refuses is reported with the type of the error only', async () => {
    await using metadata = await startMetadata();
    await using aws = await startAwsApi(role, 'eu-west-1', () => ({
      status: 400,
      body: { __type: 'ResourceNotFoundException', Message: 'hidden-word' },
    }));
    const resolve = resolver(new MetadataService({ address: metadata.url }));
    await refused(resolve(manager(aws.url)), /HTTP 400 ResourceNotFoundException/);
    assert.equal(aws.requests.length, 1);
    await refused(
      resolve(manager(aws.url, { region: 'eu-north-1' })),
      /InvalidSignatureException/,
      role.secretAccessKey,
    );
  });

  test('is requested again when AWS throttles', async () => {
    await using metadata = await startMetadata();
    let asked = 0;
    await using aws = await startAwsApi(role, 'eu-west-1', () => {
      asked += 1;
      return asked < 3
        ? { status: 400, body: { __type: 'ThrottlingException' } }
        : { body: { SecretString: 'granted' } };
    });
    assert.equal(
      (await resolver(new MetadataService({ address: metadata.url }))(manager(aws.url))).reveal(),
      'granted',
    );
  });

  test('needs a role', async () => {
    await using metadata = await startAws({ 'meta-data/placement/region': 'eu-west-1' });
    await refused(
      resolver(new MetadataService({ address: metadata.url }))(manager('http://127.0.0.1:1')),
      /has no role/,
    );
    await using failing = await startMetadata({ Code: 'Failed' });
    await refused(
      resolver(new MetadataService({ address: failing.url }))(manager('http://127.0.0.1:1')),
      /node-role: Failed/,
    );
  });
});

describe('a read-only host', () => {
  test('starts no program and queries no server for a secret', async () => {
    await using server = await startServer(() => ({ body: 'granted' }));
    const trace = join(directory, 'query-trace');
    const command = exec([program('traced', `touch ${trace}; echo granted`)]);
    const host = openQueryHost();
    assert.equal(await host.secret(command), undefined);
    assert.equal(await host.secret(http(server.url)), undefined);
    assert.equal(existsSync(trace), false);
    assert.equal(server.requests.length, 0);
    const real = openHost({ runId: 'test' });
    assert.equal((await real.secret(command)).reveal(), 'granted');
    assert.equal((await real.secret(http(server.url))).reveal(), 'granted');
    await real.secret(http(server.url));
    assert.equal(existsSync(trace), true);
  });
});
