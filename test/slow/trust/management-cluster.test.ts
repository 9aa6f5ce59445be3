import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { renderDownloadScript } from '@machineadm/user-data/download-script.ts';
import { agent } from '../../support/agent.ts';
import { kubeconfig, newAuthority } from '../../support/api-server.ts';
import { debianPackages } from '../../support/debian-packages.ts';
import { type KubeApiServer, startKubeApiServer } from '../../support/kube-apiserver.ts';
import { kubernetesProgram } from '../../support/kubernetes-release.ts';
import { needs } from '../../support/needs.ts';
import { askingOnce, newKey, type TestRelease, testRelease } from '../../support/release.ts';

const PACKAGING = resolve(import.meta.dirname, '../../../packaging/management-cluster');
const CREDENTIALS = '/api/v1/namespaces/machineadm-system/secrets/release-mirror-credentials';
const VERSION = '1.4.2';

/** Debian's nginx, unpacked only: its package would start it. Or why it cannot be run. */
function findNginx(): { readonly program: string } | { readonly unavailable: string } {
  const found = debianPackages('test-nginx', ['nginx'], 'usr/sbin/nginx');
  if ('unavailable' in found) return found;
  const program = join(found.root, 'usr/sbin/nginx');
  const { status, stderr } = spawnSync(program, ['-v'], { encoding: 'utf8' });
  return status === 0 ? { program } : { unavailable: `nginx does not run here: ${stderr.trim()}` };
}

/** The download script installs for root only. */
const missing = needs('root', 'x86-64', 'curl', 'a kube-apiserver (npm run lab -- build)');
const nginxFound = missing === false ? findNginx() : { unavailable: missing };
const skip = needs(nginxFound);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describe('the mirror of a management cluster', { skip, timeout: 600_000 }, () => {
  let server: KubeApiServer;
  let scratch = '';
  let port = 0;
  let nginx: ChildProcess;
  let release: TestRelease;
  let publicKey = '';
  const authority = newAuthority();

  before(
    async () => {
      server = await startKubeApiServer();
      scratch = mkdtempSync(join(tmpdir(), 'machineadm-mirror-'));
      const token = server.admin.token?.reveal() ?? '';
      writeFileSync(join(scratch, 'kubeconfig'), kubeconfig(server.url, server.certificateAuthority, { token }));
      await server.ask('POST', '/api/v1/namespaces', { metadata: { name: 'machineadm-system' } });
      const applied = run(kubernetesProgram('kubectl'), ['apply', '-f', join(PACKAGING, 'release-mirror.yaml')]);
      assert.equal(applied.status, 0, applied.stderr);
      const key = newKey();
      writeFileSync(join(scratch, 'publisher.pem'), key.pem);
      writeFileSync(join(scratch, 'ca.pem'), authority.certificate);
      publicKey = key.publicKey;
      release = await testRelease(scratch, VERSION, key);
      port = await freePort();
      await serve();
    },
    { timeout: 300_000 },
  );
  after(async () => {
    if (nginx?.exitCode === null) {
      nginx.kill('SIGTERM');
      await once(nginx, 'exit');
    }
    await server?.[Symbol.asyncDispose]();
    if (scratch !== '') rmSync(scratch, { recursive: true, force: true });
  });

  function run(program: string, args: readonly string[]) {
    const env = {
      PATH: `${dirname(kubernetesProgram('kubectl'))}:${process.env.PATH}`,
      KUBECONFIG: join(scratch, 'kubeconfig'),
      HOME: scratch,
    };
    return spawnSync(program, args, { encoding: 'utf8', env });
  }
  const mint = (...args: string[]) =>
    run(join(PACKAGING, 'mint-download-credential.sh'), ['--namespace', 'machineadm-system', ...args]);

  /** What the kubelet does with the Secret that the Deployment mounts. */
  async function mountCredentials(): Promise<void> {
    const secret = (await server.ask('GET', CREDENTIALS)) as { data?: Record<string, string> };
    const directory = join(scratch, 'credentials');
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory);
    for (const [name, value] of Object.entries(secret.data ?? {})) {
      writeFileSync(join(directory, name), Buffer.from(value, 'base64'));
    }
  }

  /** A real nginx with the configuration that the API server holds; only its paths, port and user are this test's. */
  async function serve(): Promise<void> {
    const path = '/api/v1/namespaces/machineadm-system/configmaps/release-mirror';
    const { data } = (await server.ask('GET', path)) as { data: Record<string, string> };
    const configuration = (data['nginx.conf'] ?? '')
      .replaceAll('/etc/mirror', scratch)
      .replaceAll(/(?<= )\/tmp\/(?!machineadm)/g, `${scratch}/`)
      .replace('/srv/release', join(scratch, 'release'))
      .replace('listen 8443', `listen 127.0.0.1:${port}`);
    assert.match(configuration, /auth_basic_user_file/);
    writeFileSync(join(scratch, 'nginx.conf'), `user root;\n${configuration}`);
    mkdirSync(join(scratch, 'tls'));
    const identity = authority.issue('release-mirror', ['127.0.0.1']);
    writeFileSync(join(scratch, 'tls/tls.crt'), identity.certificate);
    writeFileSync(join(scratch, 'tls/tls.key'), identity.key);
    await mountCredentials();
    const program = 'program' in nginxFound ? nginxFound.program : '';
    nginx = spawn(program, ['-p', scratch, '-c', join(scratch, 'nginx.conf')], { stdio: 'ignore' });
    for (
      let tries = 0;
      tries < 100 && spawnSync('curl', ['-sk', `https://127.0.0.1:${port}/healthz`]).status !== 0;
      tries += 1
    ) {
      await sleep(100);
    }
  }

  function download(credential: string): { status: number | null; stderr: string; installed: string[] } {
    const directory = mkdtempSync(join(scratch, 'bin-'));
    const script = renderDownloadScript({
      version: VERSION,
      keys: [{ publicKey }],
      locations: [{ url: `https://127.0.0.1:${port}`, authorizationFile: credential, pinned: true }],
      certificateAuthorities: authority.certificate,
      directories: [directory],
      deadlineSeconds: 120,
    }).replace('CONSOLE=/dev/console', 'CONSOLE=/dev/null');
    const { status, stderr } = spawnSync('sh', ['-s'], { input: askingOnce(script), encoding: 'utf8' });
    return { status, stderr, installed: readdirSync(directory) };
  }

  test('lets a machine with its own credential install from it, and fetch from it', async () => {
    const minted = mint('--machine', 'prod-a-md-0-x7k2p');
    assert.equal(minted.status, 0, minted.stderr);
    const credential = join(scratch, 'credential');
    writeFileSync(credential, minted.stdout, { mode: 0o600 });
    await mountCredentials();
    const result = download(credential);
    assert.deepEqual([result.status, result.installed], [0, ['machineadm']], result.stderr);

    const url = `https://127.0.0.1:${port}`;
    const words = [
      '--to',
      join(scratch, 'copy'),
      '--key',
      join(scratch, 'publisher.pem'),
      '--ca',
      join(scratch, 'ca.pem'),
      '--memory',
      join(scratch, 'trust.json'),
    ];
    const fetched = await agent([
      'fetch',
      '--release',
      VERSION,
      '--from',
      url,
      '--authorization',
      `${url}=${credential}`,
      ...words,
    ]);
    assert.equal(fetched.status, 0, fetched.stderr);
    assert.deepEqual(readdirSync(join(scratch, 'copy', VERSION)).sort(), [...release.files.keys()].sort());
  });

  test("refuses a machine with no credential, another's or a revoked one, and a name that is a path", async () => {
    const first = mint('--machine', 'prod-a-md-0-first');
    const credential = join(scratch, 'credential-first');
    writeFileSync(credential, first.stdout, { mode: 0o600 });
    await mountCredentials();
    assert.equal(download(credential).status, 0);
    assert.equal(mint('--machine', 'prod-a-md-0-first', '--revoke').status, 0);
    await mountCredentials();
    const revoked = download(credential);
    assert.deepEqual([revoked.status, revoked.installed], [67, []]);
    assert.match(revoked.stderr, /403/);

    const status = (user: string) =>
      spawnSync(
        'curl',
        ['-sk', '-o', '/dev/null', '-w', '%{http_code}', '-u', `${user}:x`, `https://127.0.0.1:${port}/`],
        {
          encoding: 'utf8',
        },
      ).stdout;
    assert.deepEqual(['prod-a-md-0-x7k2p', '../tls/tls.crt', '.', 'nobody', 'Prod'].map(status), [
      '401',
      '403',
      '403',
      '403',
      '403',
    ]);
  });

  test('stores only a verifier of a credential', async () => {
    const { stdout } = mint('--machine', 'prod-a-md-0-hash');
    const password =
      Buffer.from(stdout.trim().replace('Authorization: Basic ', ''), 'base64').toString().split(':')[1] ?? '';
    assert.match(password, /^[0-9a-f]{64}$/);
    const { data } = (await server.ask('GET', CREDENTIALS)) as { data: Record<string, string> };
    const kept = Buffer.from(data['prod-a-md-0-hash'] ?? '', 'base64').toString();
    assert.match(kept, /^prod-a-md-0-hash:\$5\$/);
    assert.ok(!kept.includes(password));
  });

  test('issues no credential for an invalid name', () => {
    for (const name of ['../x', 'A', 'a..b', '-a', '']) assert.equal(mint('--machine', name).status, 2, name);
  });
});
