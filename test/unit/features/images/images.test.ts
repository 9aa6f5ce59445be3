import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { joined } from '@machineadm/archives/stored-bytes.ts';
import type { ImagesModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { images, importsAtATime } from '../../../../src/features/images/index.ts';
import { CriError } from '../../../../src/host/cri/client.ts';
import type { CriImage } from '../../../../src/host/cri/queries.ts';
import type { Command, Host } from '../../../../src/host/seam/host.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { containerdModel } from '../../../support/containerd-model.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { dockerArchive, sha256 } from '../../../support/image-archive.ts';
import { type MemoryHost, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const PAUSE = dockerArchive(['registry.k8s.io/pause:3.10']);
const ETCD = dockerArchive(['registry.k8s.io/etcd:3.5'], 'etcd');
const PAUSE_PATH = '/opt/images/pause.tar';

const model = (part: Partial<ImagesModel>, managed = true) => ({
  ...hostModel(),
  containerd: managed ? containerdModel() : undefined,
  images: { archives: [], required: [], ...part },
});

const archive = (path: string, digest?: string) => ({ kind: 'file' as const, path, sha256: digest });

interface Runtime {
  readonly host: MemoryHost;
  readonly store: CriImage[];
  /** The bytes ctr was given, import by import. */
  readonly imported: Buffer[];
}

/** What a command reads from its standard input. */
async function inputOf({ input }: Command): Promise<Buffer> {
  return typeof input === 'object' ? await joined(input) : Buffer.from(input ?? '');
}

/** A machine whose ctr puts what it knows by its bytes into the store; everything else is an error of its own words. */
function machine(
  files: Record<string, Uint8Array>,
  options: { readonly stderr?: string; readonly store?: CriImage[] } = {},
) {
  const store = options.store ?? [];
  const imported: Buffer[] = [];
  const host = memoryHost({
    files,
    cri: { images: async () => store },
    programs: {
      async ctr(command) {
        const bytes = await inputOf(command);
        imported.push(bytes);
        if (options.stderr !== undefined) return { status: 1, stderr: options.stderr };
        for (const [known, tag] of [
          [PAUSE, 'registry.k8s.io/pause:3.10'],
          [ETCD, 'registry.k8s.io/etcd:3.5'],
        ] as const) {
          if (bytes.equals(known.bytes)) store.push({ id: known.id, tags: [tag], digests: [] });
        }
        return { stdout: 'unpacking\n' };
      },
    },
  });
  return { host, store, imported } satisfies Runtime;
}

const failsWith = (reason: Reason, summary: RegExp) => (error: unknown) => {
  assert.ok(error instanceof MachineadmError, String(error));
  assert.equal(error.reason, reason);
  assert.match(error.message, summary);
  assert.notEqual(error.remedy, '');
  return true;
};

describe('images', () => {
  test('a document without images asks for nothing', async () => {
    assert.deepEqual(await planned(images, machine({}).host, model({})), []);
  });

  test('archives are imported into k8s.io through the standard input of ctr, and proven over CRI', async () => {
    const { host, imported } = machine({ [PAUSE_PATH]: PAUSE.bytes });
    const run = await runStep(images, host, model({ archives: [archive(PAUSE_PATH)] }));
    assert.deepEqual(
      run.changes.map((change) => change.id),
      ['images/opt/images/pause.tar'],
    );
    assert.deepEqual(host.log, ['run ctr --address /run/containerd/containerd.sock -n k8s.io images import -']);
    assert.deepEqual(imported, [PAUSE.bytes]);
    assert.deepEqual(run.output, ['ctr: unpacking']);
    assert.deepEqual(run.left, []);
    assert.equal(run.waits.at(-1), undefined);
  });

  test('a compressed archive is decompressed before: containerd 1.x takes plain tar only', async () => {
    const { host, imported } = machine({ [PAUSE_PATH]: gzipSync(PAUSE.bytes) });
    const run = await runStep(images, host, model({ archives: [archive(PAUSE_PATH)] }));
    assert.deepEqual(imported, [PAUSE.bytes]);
    assert.deepEqual(run.left, []);
  });

  test('an archive whose images are all there is left alone', async () => {
    const store = [{ id: PAUSE.id, tags: ['registry.k8s.io/pause:3.10'], digests: [] }];
    const { host } = machine({ [PAUSE_PATH]: PAUSE.bytes }, { store });
    assert.deepEqual(await planned(images, host, model({ archives: [archive(PAUSE_PATH)] })), []);
  });

  test('the same name with another id is another image: it is imported', async () => {
    const store = [{ id: `sha256:${'0'.repeat(64)}`, tags: ['registry.k8s.io/pause:3.10'], digests: [] }];
    const { host } = machine({ [PAUSE_PATH]: PAUSE.bytes }, { store });
    const changes = await planned(images, host, model({ archives: [archive(PAUSE_PATH)] }));
    assert.deepEqual(
      changes.map((change) => change.id),
      ['images/opt/images/pause.tar'],
    );
  });

  test('an archive that was removed after its import is not missed, as long as its images are there', async () => {
    const { host, store } = machine({ [PAUSE_PATH]: PAUSE.bytes });
    const wanted = model({ archives: [archive(PAUSE_PATH)] });
    const { notes } = await runStep(images, host, wanted);
    host.take(PAUSE_PATH);
    const record = { ...EMPTY_RECORD, notes };
    assert.deepEqual(await planned(images, host, wanted, { record }), []);
    store.length = 0;
    assert.equal((await planned(images, host, wanted, { record })).length, 1);
  });

  test('a compressed archive is not decompressed again while it is the same file', async () => {
    const { host } = machine({ [PAUSE_PATH]: gzipSync(PAUSE.bytes) });
    const wanted = model({ archives: [archive(PAUSE_PATH)] });
    const { notes } = await runStep(images, host, wanted);
    const record = { ...EMPTY_RECORD, notes };
    assert.deepEqual(await planned(images, host, wanted, { record }), []);
    host.put(PAUSE_PATH, gzipSync(ETCD.bytes));
    const [change] = await planned(images, host, wanted, { record });
    assert.match(change?.summary ?? '', /etcd:3\.5/, 'another file under the same name is looked into');
  });

  test('before containerd runs, what it has is known after the containerd step', async () => {
    const down = memoryHost({
      files: { [PAUSE_PATH]: PAUSE.bytes },
      programs: { ctr: () => ({}) },
      cri: { images: () => Promise.reject(new CriError('/run/c.sock', 'ListImages', 14, 'connect ENOENT')) },
    });
    const part = { archives: [archive(PAUSE_PATH)], required: ['registry.k8s.io/pause:3.10'] };
    const changes = await planned(images, down, model(part));
    assert.deepEqual(
      changes.map(({ id, knownAfter }) => [id, knownAfter]),
      [
        ['images/opt/images/pause.tar', 'containerd'],
        ['images/required', 'containerd'],
      ],
    );
    await assert.rejects(
      planned(images, down, model(part, false)),
      failsWith('ContainerdUnhealthy', /ListImages/),
      'a runtime that no step starts must be there',
    );
  });

  test('required images are checked after the imports, and found in whatever form they are written', async () => {
    const { host } = machine({ [PAUSE_PATH]: PAUSE.bytes });
    const required = ['registry.k8s.io/pause:3.10'];
    const run = await runStep(images, host, model({ archives: [archive(PAUSE_PATH)], required }));
    assert.deepEqual(
      run.changes.map((change) => change.id),
      ['images/opt/images/pause.tar', 'images/required'],
    );
    assert.deepEqual(run.left, []);
  });

  test('all missing required images are named at once', async () => {
    const { host } = machine({});
    const required = ['registry.k8s.io/pause:3.10', 'busybox'];
    await assert.rejects(
      runStep(images, host, model({ required })),
      failsWith('ImageMissing', /registry\.k8s\.io\/pause:3\.10, busybox/),
    );
    assert.deepEqual(host.log, []);
  });

  test('a SHA-256 that differs is reported before anything is imported, with path, want and got', async () => {
    const { host } = machine({ [PAUSE_PATH]: PAUSE.bytes });
    const want = 'f'.repeat(64);
    await assert.rejects(
      runStep(images, host, model({ archives: [archive(PAUSE_PATH, want)] })),
      failsWith('ImageArchiveUnreadable', new RegExp(`pause\\.tar.*${sha256(PAUSE.bytes)}.*${want}`)),
    );
    assert.deepEqual(host.log, []);
  });

  test('the right SHA-256 is accepted', async () => {
    const { host } = machine({ [PAUSE_PATH]: PAUSE.bytes });
    const run = await runStep(images, host, model({ archives: [archive(PAUSE_PATH, sha256(PAUSE.bytes))] }));
    assert.deepEqual(run.left, []);
  });

  for (const [kind, bytes] of [
    ['a plain', PAUSE.bytes],
    ['a compressed', gzipSync(PAUSE.bytes)],
  ] as const) {
    test(`${kind} archive that is replaced after its digest was verified: containerd gets what was verified`, async () => {
      const { host, imported } = machine({ [PAUSE_PATH]: bytes });
      const replacing: Host = {
        ...host,
        async run(command) {
          host.put(PAUSE_PATH, gzipSync(ETCD.bytes));
          return await host.run(command);
        },
      };
      await runStep(images, replacing, model({ archives: [archive(PAUSE_PATH, sha256(bytes))] }));
      assert.deepEqual(imported, [PAUSE.bytes]);
    });
  }

  test('a damaged archive: its digest explains more than its tar', async () => {
    const { host } = machine({ [PAUSE_PATH]: PAUSE.bytes.subarray(0, 700) });
    const wanted = (digest?: string) => planned(images, host, model({ archives: [archive(PAUSE_PATH, digest)] }));
    await assert.rejects(wanted(), failsWith('ImageArchiveUnreadable', /pause\.tar.*cut short/));
    await assert.rejects(wanted('f'.repeat(64)), failsWith('ImageArchiveUnreadable', /SHA-256/));
  });

  test('an archive that is not there yet is planned, and fails when it still is not there', async () => {
    const { host } = machine({});
    const wanted = model({ archives: [archive(PAUSE_PATH)] });
    assert.match((await planned(images, host, wanted))[0]?.summary ?? '', /not there yet/);
    await assert.rejects(runStep(images, host, wanted), failsWith('ImageArchiveUnreadable', /does not exist/));
  });

  test('archives that are not there are named all at once, before any is imported', async () => {
    const { host, imported } = machine({ [PAUSE_PATH]: PAUSE.bytes });
    const wanted = model({ archives: [PAUSE_PATH, '/opt/a.tar', '/opt/b.tar'].map((path) => archive(path)) });
    await assert.rejects(
      runStep(images, host, wanted),
      failsWith('ImageArchiveUnreadable', /2 image archives do not exist: \/opt\/a\.tar, \/opt\/b\.tar/),
    );
    assert.deepEqual(imported, []);
  });

  test('an import that was cut off is made again, though its names are there: its layers may not be', async () => {
    const store = [{ id: PAUSE.id, tags: ['registry.k8s.io/pause:3.10'], digests: [] }];
    const { host, imported } = machine({ [PAUSE_PATH]: PAUSE.bytes }, { store });
    const wanted = model({ archives: [archive(PAUSE_PATH)] });
    const record = { ...EMPTY_RECORD, interrupted: new Set(['images/opt/images/pause.tar']) };
    const [change] = await planned(images, host, wanted, { record });
    assert.equal(change?.repeatable, false, 'so that the journal knows when it began');
    assert.ok(change !== undefined);
    await runStep(images, host, wanted, { record });
    assert.deepEqual(imported, [PAUSE.bytes]);
  });

  test('as many archives are imported at a time as half of the memory available affords, three at most', async () => {
    const GIB = 1024 ** 3;
    assert.deepEqual([0, GIB / 4, GIB, 1.5 * GIB, 64 * GIB].map(importsAtATime), [1, 1, 2, 3, 3]);
    const meminfo = 'MemTotal:        4000000 kB\nMemAvailable:    1048576 kB\n';
    const { host } = machine({ [PAUSE_PATH]: PAUSE.bytes, '/proc/meminfo': Buffer.from(meminfo) });
    const [change] = await planned(images, host, model({ archives: [archive(PAUSE_PATH)] }));
    assert.equal(change?.concurrently, 2);
  });

  describe('an archive from a URL', () => {
    const bytes = gzipSync(PAUSE.bytes);
    const url = 'https://files.example/k8s/pause.tar.gz?token=s3cret';
    const from = (headers: Readonly<Record<string, SecretValue>> = {}) =>
      model({ archives: [{ kind: 'http', url, sha256: sha256(bytes), headers }] });
    const serving = (body: Uint8Array) => {
      const store: CriImage[] = [];
      const host = memoryHost({
        cri: { images: async () => store },
        http: () => ({ body }),
        programs: {
          async ctr(command) {
            assert.deepEqual(await inputOf(command), PAUSE.bytes);
            store.push({ id: PAUSE.id, tags: ['registry.k8s.io/pause:3.10'], digests: [] });
            return {};
          },
        },
      });
      return host;
    };
    const path = `/var/lib/machineadm/images/${sha256(bytes)}`;

    test('is downloaded, imported and deleted; its name holds no token', async () => {
      const host = serving(bytes);
      const run = await runStep(images, host, from());
      assert.deepEqual(host.log, [
        'http GET https://files.example/k8s/pause.tar.gz',
        `write ${path} 0600 0:0`,
        'run ctr --address /run/containerd/containerd.sock -n k8s.io images import -',
        `remove ${path}`,
      ]);
      assert.deepEqual(run.left, []);
      assert.match(run.changes[0]?.id ?? '', /^images\/[0-9a-f]{12}\/pause\.tar\.gz$/);
      assert.doesNotMatch(JSON.stringify([run.changes.map(({ id, summary }) => [id, summary]), run.waits]), /s3cret/);
      assert.deepEqual(await planned(images, host, from(), { record: { ...EMPTY_RECORD, notes: run.notes } }), []);
    });

    test('that a killed run had downloaded is not downloaded again', async () => {
      const host = serving(bytes);
      host.put(path, bytes);
      await runStep(images, host, from());
      assert.equal(
        host.log.some((line) => line.startsWith('http')),
        false,
      );
      assert.equal(host.text(path), undefined);
    });

    test('that a killed run had downloaded for another document is removed', async () => {
      const host = serving(bytes);
      const old = ['0'.repeat(64), `.${'1'.repeat(64)}.machineadm-new`].map(
        (name) => `/var/lib/machineadm/images/${name}`,
      );
      for (const left of old) host.put(left, 'cut off');
      const run = await runStep(images, host, from());
      assert.equal(run.changes[0]?.id, 'images/downloads');
      assert.deepEqual(run.left, []);
      assert.deepEqual(
        old.map((left) => host.text(left)),
        [undefined, undefined],
      );
    });

    test('of another digest is DownloadFailed, and containerd gets nothing of it', async () => {
      const host = serving(gzipSync(ETCD.bytes));
      await assert.rejects(runStep(images, host, from()), failsWith('DownloadFailed', /SHA-256/));
      assert.equal(
        host.log.some((line) => line.startsWith('run ctr')),
        false,
      );
    });

    test("is the node's where it needs a secret, and the image's otherwise", async () => {
      const secret: SecretValue = { name: 'token', source: { kind: 'value', secret: new Secret('t0ken') } };
      const scopes = async (wanted: ReturnType<typeof model>) =>
        (await planned(images, serving(bytes), wanted)).map(({ scope }) => scope);
      assert.deepEqual(await scopes(from({ Authorization: secret })), ['node']);
      assert.deepEqual(await scopes(from()), ['node'], 'its query may hold a token');
      const open = model({
        archives: [{ kind: 'http', url: 'https://files.example/a', sha256: sha256(bytes), headers: {} }],
      });
      assert.deepEqual(await scopes(open), ['base']);
    });
  });

  for (const [stderr, reason] of [
    ['ctr: write /var/lib/containerd/ingest: no space left on device', 'DiskFull'],
    ['ctr: content digest sha256:0 not found', 'ImageArchiveUnreadable'],
    ['ctr: something new', 'HostStepFailed'],
  ] as const) {
    test(`ctr says "${stderr}": ${reason}`, async () => {
      const { host } = machine({ [PAUSE_PATH]: PAUSE.bytes }, { stderr });
      await assert.rejects(
        runStep(images, host, model({ archives: [archive(PAUSE_PATH)] })),
        failsWith(reason, /pause\.tar/),
      );
    });
  }

  test('ctr missing is found before any change', async () => {
    const desired = images.desired(
      model({ archives: [archive(PAUSE_PATH)] }),
      (await import('../../../support/facts.ts')).facts(),
    );
    assert.ok(desired);
    const missing = await images.preflight?.(memoryHost(), desired);
    assert.deepEqual(
      missing?.map(({ reason, what }) => [reason, what]),
      [['ContainerRuntimeMissing', 'ctr is not installed']],
    );
  });
});

describe('images that are gone after their import', () => {
  const whyGone = async (space: string, config?: string) => {
    const host = memoryHost({
      files: config === undefined ? {} : { '/var/lib/kubelet/config.yaml': config },
      programs: { findmnt: () => ({ stdout: `${space}\n` }) },
    });
    const desired = images.desired(model({ required: ['registry.k8s.io/pause:3.10'] }), facts());
    assert.ok(desired !== undefined);
    return await images.whyNotEffective?.(host, desired, []);
  };
  const GIB = 2 ** 30;

  test('are explained by a disk above the threshold of the kubelet', async () => {
    const why = await whyGone(`${100 * GIB} ${10 * GIB}`);
    assert.equal(
      why?.summary,
      'images were imported and are gone again: the file system of /var/lib/containerd is 90 % full (10.0 GiB of 100.0 GiB free now), and from 85 % on the kubelet removes images that no container uses',
    );
    assert.match(
      why?.remedy ?? '',
      /^Free space .* or raise imageGCHighThresholdPercent in kubernetes\.node\.kubelet\.config/,
    );
    assert.equal(why?.evidence.length, 1);
  });

  test('are not explained by a disk below the threshold that the kubelet has, or one that is not known', async () => {
    assert.equal(await whyGone(`${100 * GIB} ${16 * GIB}`), undefined);
    assert.equal(await whyGone(`${100 * GIB} ${10 * GIB}`, 'imageGCHighThresholdPercent: 95\n'), undefined);
    assert.equal(await whyGone(`${100 * GIB} ${1 * GIB}`, 'imageGCHighThresholdPercent: 100\n'), undefined);
    assert.equal(await whyGone('nothing'), undefined);
  });
});
