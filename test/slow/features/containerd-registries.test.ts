import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { ContainerdModel, RegistryModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { containerdStep } from '../../../src/features/containerd/index.ts';
import { registries as registriesStep } from '../../../src/features/registries/index.ts';
import { gatherFacts, openHost } from '../../../src/host/index.ts';
import type { Facts } from '../../../src/host/seam/facts.ts';
import { newAuthority } from '../../support/api-server.ts';
import { ContainerdDaemon } from '../../support/containerd-daemon.ts';
import { containerdModel, registryEndpoint } from '../../support/containerd-model.ts';
import { debianContainerd, SUITES } from '../../support/debian-containerd.ts';
import { hostModel } from '../../support/host-model.ts';
import { type ImageRegistry, startRegistry } from '../../support/image-registry.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { runStep } from '../../support/run-step.ts';

const CERTS = '/etc/containerd/certs.d';
const PASSWORD = 'corr3ct-h0rse "battery" staple';
const step = containerdStep({ healthyWithin: 15_000, healthyAgainWithin: 15_000 });

const secret = (name: string, value: string): SecretValue => ({
  name,
  source: { kind: 'value', secret: new Secret(value) },
});
const credentials = (password = PASSWORD) => ({
  username: secret('registry-user', 'puller'),
  password: secret('registry-password', password),
});

const failsWith = (reason: Reason, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof MachineadmError, String(error));
  const told = [error.message, error.remedy, ...error.evidence.map((one) => one.text)].join('\n');
  assert.equal(error.reason, reason, told);
  assert.match(told, text);
  assert.equal(error.exit, 'HostStepFailed');
  assert.doesNotMatch(told, /corr3ct/);
  return true;
};

const available = SUITES.map((suite) => ({ suite, found: debianContainerd(suite) }));
for (const { suite, found } of available) {
  if ('unavailable' in found) test(`registries of containerd of ${suite}`, { skip: needs(found) }, () => {});
}

inThrowAwayMachine(import.meta.filename, () => {
  const authority = newAuthority('registry test CA');
  const identity = authority.issue('registry', ['127.0.0.1']);

  for (const { suite, found } of available) {
    if ('unavailable' in found) continue;
    const daemon = new ContainerdDaemon();
    const host = daemon.on(openHost({ runId: 'test' }));
    let facts: Facts;

    const model = (registries: readonly RegistryModel[], containerd: Partial<ContainerdModel> = {}) => ({
      ...hostModel(),
      containerd: containerdModel({
        cgroupDriver: 'cgroupfs',
        sandboxImage: 'r.example/pause:3.10',
        root: `/run/containerd-${suite}`,
        registries,
        ...containerd,
      }),
    });
    /** Mirrors of a registry that does not exist, so that nobody else can answer. */
    const mirrored = (name: string, ...mirrors: RegistryModel['mirrors']): RegistryModel => ({
      host: `${name}.invalid`,
      server: registryEndpoint(undefined),
      fallback: false,
      mirrors,
      verify: `${name}.invalid/team/app:1`,
    });
    const configured = async (...registries: readonly RegistryModel[]) => {
      const run = await runStep(step, host, model(registries), { facts });
      assert.deepEqual(run.left, []);
      return run;
    };
    const proven = (...registries: readonly RegistryModel[]) =>
      runStep(registriesStep, host, model(registries), { facts });
    const imageIds = async () => (await host.cri('/run/containerd/containerd.sock').images()).map(({ id }) => id);

    describe(`registries of containerd of ${suite}`, () => {
      before(async () => {
        daemon.install(found.root);
        facts = await gatherFacts(host);
        await configured();
      });
      after(() => daemon.stop());

      const serving = async (
        wish: Parameters<typeof startRegistry>[0],
        use: (mirror: ImageRegistry) => Promise<void>,
      ) => {
        await using mirror = await startRegistry(wish);
        await use(mirror);
      };

      test('TLS with a CA of its own and basic authentication: pulled through the mirror, without a restart', async () => {
        await serving({ identity, credentials: `puller:${PASSWORD}` }, async (mirror) => {
          const { pid } = daemon.state;
          const ca = { kind: 'pem', pem: authority.certificate } as const;
          const registry = mirrored('own', registryEndpoint(mirror.url, { ca, credentials: credentials() }));
          const run = await configured(registry);
          assert.deepEqual(
            run.changes.map(({ id, scope }) => `${id} ${scope}`),
            ['containerd/registries/own.invalid node'],
          );
          assert.doesNotMatch(run.changes[0]?.diff ?? '', /cHVsbGVy|corr3ct/);
          assert.match(run.changes[0]?.diff ?? '', /Authorization = "\[redacted\]"/);
          assert.equal(statSync(`${CERTS}/own.invalid/hosts.toml`).mode & 0o777, 0o600);
          await proven(registry);
          assert.equal(daemon.state.pid, pid);
          assert.ok((await imageIds()).includes(mirror.id));
          assert.ok(mirror.requests.some((line) => line.includes('/v2/team/app/blobs/')));
          assert.deepEqual((await configured(registry)).changes, []);
        });
      });

      test('the CA is missing: the reason names it', async () => {
        await serving({ identity }, async (mirror) => {
          const registry = mirrored('untrusted', registryEndpoint(mirror.url));
          await configured(registry);
          await assert.rejects(
            proven(registry),
            failsWith(
              'ImageRegistryTLSUntrusted',
              /signed by unknown authority[\s\S]*`ca`|`ca`[\s\S]*unknown authority/,
            ),
          );
        });
      });

      test('a CA in a file that is gone: the same reason', async () => {
        await serving({ identity }, async (mirror) => {
          const ca = { kind: 'file', path: '/etc/no-such-ca.crt' } as const;
          const registry = mirrored('gone', registryEndpoint(mirror.url, { ca }));
          await configured(registry);
          await assert.rejects(proven(registry), failsWith('ImageRegistryTLSUntrusted', /no-such-ca\.crt/));
        });
      });

      test('the wrong password, and none', async () => {
        await serving({ credentials: `puller:${PASSWORD}` }, async (mirror) => {
          for (const given of [{ credentials: credentials('wrong-password') }, {}]) {
            const registry = mirrored('closed', registryEndpoint(mirror.url, given));
            await configured(registry);
            await assert.rejects(proven(registry), failsWith('ImagePullUnauthorized', /closed\.invalid/));
          }
        });
      });

      test('a registry that hands out tokens sees the credentials since 2.1; before, the reason says why not', async () => {
        await serving({ credentials: `puller:${PASSWORD}`, tokens: true }, async (mirror) => {
          const registry = mirrored('tokens', registryEndpoint(mirror.url, { credentials: credentials() }));
          await configured(registry);
          if (suite === 'sid') await proven(registry);
          else await assert.rejects(proven(registry), failsWith('ImagePullUnauthorized', /hands out tokens/));
          assert.ok(mirror.requests.some((line) => line.endsWith(' /token')));
          assert.equal((await imageIds()).includes(mirror.id), suite === 'sid');
        });
      });

      test('a client certificate', async () => {
        await serving({ identity, clientAuthority: authority.certificate }, async (mirror) => {
          const client = authority.issue('a node');
          const clientCertificate = { certificate: client.certificate, key: secret('client-key', client.key) };
          const ca = { kind: 'pem', pem: authority.certificate } as const;
          const registry = mirrored('mutual', registryEndpoint(mirror.url, { ca, clientCertificate }));
          await configured(registry);
          await proven(registry);
          assert.ok((await imageIds()).includes(mirror.id));
          await assert.rejects(
            async () => {
              const without = mirrored('mutual', registryEndpoint(mirror.url, { ca }));
              const run = await configured(without);
              assert.match(run.changes[0]?.summary ?? '', /without machineadm-/);
              await proven(without);
            },
            failsWith('ImageRegistryTLSUntrusted', /tls: /),
          );
        });
      });

      test('any certificate where the document says so', async () => {
        await serving({ identity }, async (mirror) => {
          const registry = mirrored('any', registryEndpoint(mirror.url, { skipVerify: true }));
          await configured(registry);
          await proven(registry);
        });
      });

      test('a path of its own, and headers', async () => {
        await serving({ prefix: '/mirror', credentials: 'header:way' }, async (mirror) => {
          const headers = { authorization: secret('header', `Basic ${Buffer.from('header:way').toString('base64')}`) };
          const at = (overridePath: boolean) =>
            mirrored('path', registryEndpoint(`${mirror.url}/mirror`, { overridePath, headers }));
          await configured(at(true));
          await proven(at(true));
          assert.ok(mirror.requests.every((line) => line.includes(' /mirror/team/app/')));
          await configured(at(false));
          await assert.rejects(proven(at(false)), failsWith('ImageNotFound', /overridePath/));
        });
      });

      test('the second mirror serves when the first is down, and none does when both are', async () => {
        const dead = registryEndpoint('http://127.0.0.1:9');
        await serving({}, async (mirror) => {
          const registry = mirrored('second', dead, registryEndpoint(mirror.url));
          await configured(registry);
          await proven(registry);
          assert.ok(mirror.requests.length > 0);
        });
        const registry = mirrored('dead', dead);
        await configured(registry);
        await assert.rejects(proven(registry), failsWith('ImageRegistryUnreachable', /connection refused/));
      });

      test('plain http behind https', async () => {
        await serving({}, async (mirror) => {
          const registry = mirrored('plain', registryEndpoint(mirror.url.replace('http:', 'https:')));
          await configured(registry);
          await assert.rejects(proven(registry), failsWith('ImageRegistryPlainHTTP', /speaks http/));
        });
      });

      test('a registry without mirrors: what its own server needs', async () => {
        await serving({ identity }, async (mirror) => {
          const name = mirror.url.slice('https://'.length);
          const ca = { kind: 'pem', pem: authority.certificate } as const;
          const registry: RegistryModel = {
            host: name,
            server: registryEndpoint(undefined, { ca }),
            fallback: true,
            mirrors: [],
            verify: `${name}/own/app:1`,
          };
          await configured(registry);
          await proven(registry);
          assert.ok((await imageIds()).includes(mirror.id));
        });
      });

      test('_default serves what has no entry, also after an entry was removed', async () => {
        await serving({}, async (mirror) => {
          const everything = { ...mirrored('unused', registryEndpoint(mirror.url)), host: '_default' };
          const one = mirrored('entry', registryEndpoint('http://127.0.0.1:9'));
          await configured(everything, one);
          const run = await configured({ ...everything, verify: 'entry.invalid/team/app:1' });
          assert.deepEqual(
            run.changes.map(({ id }) => id),
            ['containerd/registries/remove/entry.invalid'],
          );
          await proven({ ...everything, verify: 'entry.invalid/team/app:1' });
          assert.ok((await imageIds()).includes(mirror.id));
        });
      });

      test('a hosts.toml of the operator is kept, and restored when the document no longer names the registry', async () => {
        const path = `${CERTS}/theirs.invalid/hosts.toml`;
        await host.writeFile({ path, content: 'server = "https://theirs.example"\n', mode: 0o640 });
        await configured(mirrored('theirs', registryEndpoint('http://127.0.0.1:9')));
        assert.match(readFileSync(path, 'utf8'), /127\.0\.0\.1:9/);
        await configured();
        assert.equal(readFileSync(path, 'utf8'), 'server = "https://theirs.example"\n');
        assert.equal(statSync(path).mode & 0o777, 0o640);
        assert.deepEqual(await host.list(`${CERTS}/theirs.invalid`), ['hosts.toml']);
      });

      test('a directory of another spelling takes precedence for containerd, and so for machineadm', async () => {
        await serving({}, async (mirror) => {
          await host.makeDirectory(`${CERTS}/spelled.invalid_5000_`, 0o755);
          writeFileSync(`${CERTS}/spelled.invalid_5000_/hosts.toml`, '');
          const registry = { ...mirrored('spelled', registryEndpoint(mirror.url)), host: 'spelled.invalid:5000' };
          const wanted = { ...registry, verify: 'spelled.invalid:5000/team/app:1' };
          await configured(wanted);
          await proven(wanted);
        });
      });
    });
  }
});
