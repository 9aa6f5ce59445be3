import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SEALING_FLAGS, V8_FLAGS } from '../../scripts/build/bundle.ts';
import { fileDigest } from '../../scripts/build/inputs.ts';
import { billOfMaterialsFile, nativeTarget } from '../../scripts/build/runtime.ts';
import { buildInto } from '../../scripts/build.ts';
import { newAuthority } from '../support/api-server.ts';
import { attack } from '../support/attacks.ts';
import { startServer } from '../support/http-servers.ts';
import { needs } from '../support/needs.ts';

const root = resolve(import.meta.dirname, '../..');

describe('the build', () => {
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-build-'));
  const first = join(directory, 'first');
  const second = join(directory, 'second');
  const binary = join(first, 'machineadm');
  const options = {
    root,
    entry: 'test/fixtures/build/main.ts',
    targets: [nativeTarget()],
    commit: 'c0ffee',
    epoch: 1_700_000_000,
  };
  const bill = billOfMaterialsFile(nativeTarget());

  before(async () => {
    await buildInto(first, options);
    await buildInto(second, options);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  function run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): unknown {
    return JSON.parse(execFileSync(binary, args, { encoding: 'utf8', env: environment, cwd: '/' }));
  }

  test('makes one executable that knows its commit', () => {
    assert.deepEqual(run([]), {
      commit: 'c0ffee',
      order: ['order'],
      execArgv: ['--no-warnings', ...SEALING_FLAGS, ...V8_FLAGS],
    });
    assert.equal(statSync(binary).mode & 0o777, 0o755);
  });

  test('runs a module behind a dynamic import only when it is asked for', () => {
    assert.deepEqual(run(['lazy']), {
      commit: 'c0ffee',
      order: ['order', 'lazy'],
      execArgv: ['--no-warnings', ...SEALING_FLAGS, ...V8_FLAGS],
    });
  });

  test('lists its components by name, version, supplier, licence and digest', async () => {
    const bom = JSON.parse(readFileSync(join(first, bill), 'utf8'));
    assert.deepEqual([bom.bomFormat, bom.specVersion], ['CycloneDX', '1.5']);
    // https://cyclonedx.org/docs/1.5/json/: this pattern, and references that are unique and all there
    assert.match(bom.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(bom.metadata.timestamp, '2023-11-14T22:13:20Z');
    assert.equal(bom.metadata.supplier.name, 'The machineadm authors');
    const components: readonly Record<string, unknown>[] = [bom.metadata.component, ...bom.components];
    const refs = components.map((one) => one['bom-ref']);
    assert.equal(new Set(refs).size, refs.length);
    for (const { ref, dependsOn } of bom.dependencies) {
      for (const named of [ref, ...dependsOn]) assert.ok(refs.includes(named), named);
    }
    for (const one of components) {
      for (const field of ['name', 'version', 'supplier', 'licenses', 'purl']) {
        assert.ok(one[field] && one[field] !== '', `${one.name} has no ${field}`);
      }
    }
    assert.equal(bom.metadata.component.hashes[0].content, await fileDigest(binary));
    const named = (name: string) => bom.components.find((one: { name: string }) => one.name === name);
    const distribution = named(nativeTarget().package);
    assert.deepEqual([distribution.version, distribution.hashes[0].alg], [process.versions.node, 'SHA-512']);
    assert.match(distribution.hashes[0].content, /^[0-9a-f]{128}$/);
    const node = named('node');
    assert.deepEqual(
      [node.type, node.cpe],
      ['platform', `cpe:2.3:a:nodejs:node.js:${process.versions.node}:*:*:*:*:*:*:*`],
    );
    assert.equal(named('openssl').version, process.versions.openssl);
    assert.equal(await fileDigest(join(second, bill)), await fileDigest(join(first, bill)));
  });

  test('produces the same bytes from the same inputs', async () => {
    assert.equal(await fileDigest(join(second, 'machineadm')), await fileDigest(binary));
  });

  test('records digests that sha256sum accepts, and the licences', () => {
    execFileSync('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: first, stdio: 'pipe' });
    assert.match(readFileSync(join(first, 'LICENSES.txt'), 'utf8'), /Node\.js is licensed for use as follows/);
  });

  test('leaves nothing else in its output directory', () => {
    assert.deepEqual(readdirSync(first).sort(), [
      'LICENSES.txt',
      'SHA256SUMS',
      'machineadm',
      nativeTarget().file,
      bill,
    ]);
  });

  test(
    'runs no foreign code that NODE_OPTIONS names',
    attack('Environment and process', 'NODE_OPTIONS loads code', () => {
      const trace = join(directory, 'trace');
      const intruder = join(directory, 'intruder.cjs');
      writeFileSync(intruder, `require('node:fs').writeFileSync(${JSON.stringify(trace)}, 'here');`);
      const environment = { NODE_OPTIONS: `--require ${intruder}` };
      // The trap itself works: plain Node falls into it.
      execFileSync(process.execPath, ['-e', ''], { env: environment });
      assert.ok(existsSync(trace), 'the trap does not work');
      rmSync(trace);
      run([], environment);
      assert.ok(!existsSync(trace), 'NODE_OPTIONS ran code inside the binary');
      return 1;
    }),
  );

  describe('is sealed against', () => {
    const authority = newAuthority();
    /** Set when the variable has the effect that it has on any Node. */
    const traps = join(directory, 'traps');
    mkdirSync(traps);
    const certificate = join(traps, 'ca.pem');
    writeFileSync(certificate, authority.certificate);

    /** Runs the program without blocking the servers of this process. */
    async function told(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
      const child = spawn(binary, args, { env, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] });
      const pieces: Buffer[] = [];
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => pieces.push(piece));
      await once(child, 'close');
      return Buffer.concat(pieces).toString();
    }

    const trusting: readonly Readonly<Record<string, string>>[] = [
      { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
      { NODE_EXTRA_CA_CERTS: certificate },
      { SSL_CERT_FILE: certificate, NODE_USE_SYSTEM_CA: '1' },
      { SSL_CERT_DIR: traps, NODE_USE_SYSTEM_CA: '1' },
    ];
    for (const env of trusting) {
      test(
        `a certificate that ${Object.keys(env).join(' and ')} would make it accept`,
        attack(
          'Environment and process',
          `${Object.keys(env).join(' and ')} makes it accept a stranger's certificate`,
          async () => {
            await using server = await startServer(() => ({ body: 'x' }), authority.issue('stranger', ['127.0.0.1']));
            const answers = (await told(['get', server.url], env)).trim().split('\n');
            assert.equal(answers.length, 2, answers.join('\n'));
            for (const answer of answers) assert.match(answer, /certificate/, answer);
            assert.deepEqual(server.requests, []);
            return 1;
          },
        ),
      );
    }

    test(
      'a proxy that the environment names with NODE_USE_ENV_PROXY',
      attack('Environment and process', 'NODE_USE_ENV_PROXY sends requests through a proxy', async () => {
        await using proxy = await startServer(() => ({ body: 'x' }));
        const env = { NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url };
        await told(['get', 'https://127.0.0.1:1/'], env);
        assert.deepEqual(proxy.requests, []);
        return 1;
      }),
    );

    test(
      'the header that NODE_DEBUG would print',
      attack('Environment and process', 'NODE_DEBUG prints the headers of requests', async () => {
        await using server = await startServer(() => ({ body: 'x' }), authority.issue('stranger', ['127.0.0.1']));
        assert.doesNotMatch(
          await told(['get', server.url], { NODE_DEBUG: 'http,https,net,tls,fetch,undici' }),
          /canary-of-the-header|HTTPS? \d+:/,
        );
        return 1;
      }),
    );

    test(
      'an OpenSSL configuration, which can load code',
      attack('Environment and process', 'OPENSSL_CONF loads code', async () => {
        // A FIFO without a writer: a process that opened it would wait for ever.
        const fifo = join(traps, 'openssl.cnf');
        execFileSync('mkfifo', [fifo]);
        assert.throws(
          () =>
            execFileSync(process.execPath, ['-e', ''], { env: { OPENSSL_CONF: fifo }, timeout: 2000, stdio: 'ignore' }),
          /ETIMEDOUT/,
          'the trap does not work',
        );
        assert.match(
          execFileSync(binary, [], { env: { OPENSSL_CONF: fifo }, timeout: 60_000, encoding: 'utf8' }),
          /c0ffee/,
        );
        return 1;
      }),
    );

    for (const name of ['NODE_V8_COVERAGE', 'NODE_COMPILE_CACHE', 'NODE_REDIRECT_WARNINGS']) {
      test(
        `files that ${name} would make it write`,
        { skip: needs('root') },
        attack('Environment and process', `${name} writes files`, () => {
          const target = join(traps, name);
          execFileSync(binary, ['lazy'], { env: { [name]: target }, stdio: 'ignore' });
          // Node makes the directory itself before the first line of a program runs.
          const written =
            existsSync(target) && statSync(target).isDirectory() ? readdirSync(target, { recursive: true }) : [];
          assert.deepEqual(
            written.filter((file) => statSync(join(target, String(file))).isFile()),
            [],
          );
          if (name === 'NODE_REDIRECT_WARNINGS') assert.ok(!existsSync(target));
          return 1;
        }),
      );
    }

    test(
      'every such variable: none reaches the program or its children, all others do',
      attack(
        'Environment and process',
        'NODE_*, OPENSSL_*, SSL_* and SSLKEYLOGFILE reach the program or its children',
        () => {
          const names = ['NODE_DEBUG', 'NODE_ICU_DATA', 'NODE_PENDING_DEPRECATION', 'OPENSSL_MODULES', 'SSLKEYLOGFILE'];
          const env = Object.fromEntries([...names, 'HOME', 'NOTIFY_SOCKET'].map((name) => [name, '/nowhere']));
          assert.deepEqual(run(['env'], env), ['HOME', 'NOTIFY_SOCKET']);
          return 5;
        },
      ),
    );

    test(
      'SIGUSR1, which opens a debugger in any other Node',
      attack('Environment and process', 'SIGUSR1 opens the debugger', async () => {
        const child = spawn(binary, ['wait'], { env: {}, stdio: ['pipe', 'pipe', 'pipe'] });
        const said: Buffer[] = [];
        child.stderr.on('data', (piece: Buffer) => said.push(piece));
        await once(child.stdout, 'data');
        child.kill('SIGUSR1');
        child.stdin.end('still here\n');
        const [answer]: unknown[] = await once(child.stdout, 'data');
        const [status]: unknown[] = await once(child, 'close');
        assert.deepEqual([String(answer), status, Buffer.concat(said).toString()], ['still here\n\n', 0, '']);
        return 1;
      }),
    );

    test(
      'a core dump that holds its memory',
      { skip: needs('a kernel that writes core dumps where a program runs') },
      attack('Environment and process', 'a core dump holds the memory of the process', async () => {
        const canary = `canary-${process.pid}-of-the-memory`;
        /** Whether the core dump of a program that aborts holds a variable of its environment; undefined without a dump. */
        const isInDumpOf = async (program: readonly string[]): Promise<boolean | undefined> => {
          const cwd = mkdtempSync(join(traps, 'core-'));
          const env = { PATH: process.env.PATH ?? '', CANARY: canary };
          const args = ['-c', 'ulimit -c unlimited; exec "$@"', 'sh', ...program];
          const child = spawn('sh', args, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
          await once(child.stdout, 'data');
          child.kill('SIGABRT');
          await once(child, 'close');
          const [dump] = readdirSync(cwd);
          return dump === undefined ? undefined : readFileSync(join(cwd, dump)).includes(canary);
        };
        assert.equal(await isInDumpOf(['sh', '-c', 'echo; read line']), true, 'the trap does not work');
        assert.notEqual(await isInDumpOf([binary, 'wait']), true);
        return 1;
      }),
    );
  });
});
