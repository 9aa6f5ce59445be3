import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ctrArguments,
  isPresent,
  missingOf,
  nameByDigest,
  untilPresent,
} from '../../../src/container-runtime/image-presence.ts';
import type { CriImage } from '../../../src/host/cri/queries.ts';
import type { Execution } from '../../../src/step/index.ts';
import { memoryHost } from '../../support/memory-host.ts';

const STORE = { socket: 'unix:///run/containerd/containerd.sock' };
const [A, B] = [`sha256:${'a'.repeat(64)}`, `sha256:${'b'.repeat(64)}`];
const PAUSE: CriImage = { id: A, tags: ['registry.k8s.io/pause:3.10'], digests: [`registry.k8s.io/pause@${B}`] };

describe('an image of an archive', () => {
  const table: readonly (readonly [string, string | undefined, string | undefined, boolean])[] = [
    ['with its name and id is there', 'registry.k8s.io/pause:3.10', A, true],
    ['with its name is there, where the archive does not say the id', 'registry.k8s.io/pause:3.10', undefined, true],
    ['whose tag moved is not there', 'registry.k8s.io/pause:3.10', B, false],
    ['of another tag is not there', 'registry.k8s.io/pause:3.9', A, false],
    ['without a name is there by its id', undefined, A, true],
    ['without a name and with another id is not there', undefined, B, false],
    ['without name and id is not there', undefined, undefined, false],
  ];
  for (const [what, name, id, expected] of table)
    test(what, () =>
      assert.equal(isPresent([{ ...PAUSE, id: 'x', tags: [], digests: [] }, PAUSE], { name, id }), expected),
    );

  test('is missing by its reference, in the order of the references', () => {
    const required = ['b:1', 'registry.k8s.io/pause:3.10', `registry.k8s.io/pause@${B}`, A, 'a:1'];
    assert.deepEqual(missingOf(required, [PAUSE]), ['b:1', 'a:1']);
  });

  test('is waited for until it appears, or the time is over, or the run ends', async () => {
    let asked = 0;
    const host = memoryHost({ cri: { images: async () => (asked++ === 0 ? [] : [PAUSE]) } });
    const { signal } = new AbortController();
    assert.deepEqual(await untilPresent(host, STORE, { signal }, (present) => present.length > 0, 60_000), [PAUSE]);
    assert.equal(asked, 2);
    assert.deepEqual(await untilPresent(host, STORE, { signal }, () => false, 0), [PAUSE]);
    assert.equal(asked, 3);
    const ended = AbortSignal.abort(new Error('the run ends'));
    await assert.rejects(
      untilPresent(host, STORE, { signal: ended }, () => false, 60_000),
      /the run ends/,
    );
  });
});

describe('the name by digest', () => {
  const listing = [
    'REF TYPE DIGEST SIZE PLATFORMS LABELS',
    `registry.k8s.io/other:1 application/x ${B} 1 MiB linux -`,
    `registry.k8s.io/pause:3.10 application/x ${B} 1 MiB linux -`,
    `localhost:5000/team/app application/x ${A} 1 MiB linux -`,
    'registry.k8s.io/broken:1 application/x sha256:short 1 MiB linux -',
  ].join('\n');

  async function named(references: readonly string[], { list = 0, tag = 0 } = {}) {
    const warnings: string[] = [];
    const host = memoryHost({
      programs: {
        ctr: ({ args = [] }) =>
          args.includes('ls') ? { status: list, stdout: listing } : { status: tag, stderr: ' it is locked\n' },
      },
    });
    const execution: Execution = {
      signal: new AbortController().signal,
      waitingFor() {},
      output() {},
      warn: (message) => warnings.push(message),
      release() {},
      remember() {},
    };
    await nameByDigest(host, STORE, references, execution);
    return { ran: host.log, asked: host.queries, warnings };
  }
  const SOCKET = '/run/containerd/containerd.sock';

  test('is given to the image of that repository and digest', async () => {
    const { ran, asked, warnings } = await named([`registry.k8s.io/pause@${B}`, `registry.k8s.io/pause:3.10@${B}`]);
    assert.deepEqual(asked, [`ctr -a ${SOCKET} -n k8s.io images ls`]);
    assert.deepEqual(ran, [
      `run ctr --address ${SOCKET} -n k8s.io images tag registry.k8s.io/pause:3.10 registry.k8s.io/pause@${B}`,
    ]);
    assert.deepEqual(warnings, []);
  });

  test('is given to a repository with a port, too', async () => {
    const { ran } = await named([`localhost:5000/team/app@${A}`]);
    assert.match(ran.join(), /tag localhost:5000\/team\/app localhost:5000\/team\/app@sha256:a/);
  });

  test('is not given where it is not asked for, or no content has it', async () => {
    assert.deepEqual((await named(['registry.k8s.io/pause:3.10'])).asked, []);
    assert.deepEqual((await named([`registry.k8s.io/pause@${A}`, 'registry.k8s.io/broken@sha256:short'])).ran, []);
    assert.deepEqual((await named([`registry.k8s.io/pause@${B}`], { list: 1 })).ran, []);
  });

  test('that cannot be given is warned of', async () => {
    const { warnings } = await named([`registry.k8s.io/pause@${B}`], { tag: 1 });
    assert.deepEqual(warnings, [
      `registry.k8s.io/pause:3.10 could not be named registry.k8s.io/pause@${B}: it is locked`,
    ]);
  });

  test('and everything else is asked of the socket, with and without its scheme', () => {
    for (const socket of [STORE.socket, SOCKET])
      assert.deepEqual(ctrArguments({ socket }), ['--address', SOCKET, '-n', 'k8s.io']);
  });
});
