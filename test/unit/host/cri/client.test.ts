import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CriError, connectCri, removePods } from '../../../../src/host/cri/client.ts';
import { messageField, ProtobufMessage, stringField, varintField } from '../../../../src/host/cri/protobuf.ts';
import { probePod } from '../../../../src/host/cri/workloads.ts';

/** What the stand-in runtime does with one call; the real ones are asked in test/integration. */
type Behaviour = (stream: ServerHttp2Stream, request: ProtobufMessage, path: string) => void;

let behaviour: Behaviour = () => {};
let directory = '';
let socket = '';
const server = createServer();
const sessions = new Set<ServerHttp2Session>();

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'machineadm-cri-'));
  socket = join(directory, 'runtime.sock');
  server.on('session', (session) => sessions.add(session));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    const parts: Buffer[] = [];
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('end', () =>
      behaviour(stream, new ProtobufMessage(Buffer.concat(parts).subarray(5)), String(headers[':path'])),
    );
  });
  server.listen(socket);
  await once(server, 'listening');
});

after(async () => {
  for (const session of sessions) session.destroy();
  server.close();
  await rm(directory, { recursive: true });
});

function answer(stream: ServerHttp2Stream, message: Uint8Array): void {
  const framed = Buffer.alloc(5 + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, 5);
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  // In two pieces, as a large answer comes.
  stream.write(framed.subarray(0, 3));
  stream.end(framed.subarray(3));
}

function refuse(stream: ServerHttp2Stream, code: number, message: string): void {
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc',
      'grpc-status': `${code}`,
      'grpc-message': encodeURIComponent(message),
    },
    { endStream: true },
  );
}

/** Matches a CriError of a gRPC code, which is also the run's reason when nothing handles it. */
const criError = (code: number, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof CriError);
  assert.equal(error.reason, 'ContainerdUnhealthy');
  assert.equal(error.code, code);
  assert.match(error.message, text);
  assert.notEqual(error.remedy, '');
  return true;
};

describe('CRI client', () => {
  test('version asks runtime.v1 and reads name and version', async () => {
    let asked = '';
    behaviour = (stream, _request, path) => {
      asked = path;
      answer(stream, Buffer.concat([stringField(2, 'containerd'), stringField(3, '1.6.20')]));
    };
    const version = await connectCri(`unix://${socket}`).version();
    assert.deepEqual(version, { runtimeName: 'containerd', runtimeVersion: '1.6.20' });
    assert.equal(asked, '/runtime.v1.RuntimeService/Version');
  });

  test('status lists the conditions', async () => {
    const condition = (type: string, ready: number, message: string) =>
      messageField(1, Buffer.concat([stringField(1, type), varintField(2, ready), stringField(4, message)]));
    behaviour = (stream) =>
      answer(
        stream,
        messageField(
          1,
          Buffer.concat([condition('RuntimeReady', 1, ''), condition('NetworkReady', 0, 'cni plugin not initialized')]),
        ),
      );
    assert.deepEqual(await connectCri(socket).status(), [
      { type: 'RuntimeReady', status: true, reason: '', message: '' },
      { type: 'NetworkReady', status: false, reason: '', message: 'cni plugin not initialized' },
    ]);
  });

  test('cgroup driver: SYSTEMD is the default of the enum, CGROUPFS is one', async () => {
    behaviour = (stream) => answer(stream, messageField(1, new Uint8Array(0)));
    assert.equal(await connectCri(socket).cgroupDriver(), 'systemd');
    behaviour = (stream) => answer(stream, messageField(1, varintField(1, 1)));
    assert.equal(await connectCri(socket).cgroupDriver(), 'cgroupfs');
  });

  test('cgroup driver is unknown where RuntimeConfig is not implemented, as in containerd 1.x', async () => {
    behaviour = (stream) => refuse(stream, 12, 'unknown method RuntimeConfig');
    assert.equal(await connectCri(socket).cgroupDriver(), undefined);
  });

  test('a missing CRI plugin is an Unimplemented that names the plugin in its remedy', async () => {
    behaviour = (stream) => refuse(stream, 12, 'unknown service runtime.v1.RuntimeService');
    await assert.rejects(connectCri(socket).version(), (error) => {
      assert.ok(error instanceof CriError);
      assert.equal(error.reason, 'CRIv1Unimplemented');
      assert.equal(error.exit, 'HostStepFailed');
      assert.match(error.message, /unknown service runtime\.v1\.RuntimeService/);
      assert.match(error.remedy, /disabled_plugins/);
      return true;
    });
  });

  test('configuration: only three values of the JSON are kept, from the default runtime', async () => {
    const config = {
      sandboxImage: 'registry.k8s.io/pause:3.6',
      restrictOOMScoreAdj: true,
      containerd: {
        defaultRuntimeName: 'nvidia',
        runtimes: { runc: { options: { SystemdCgroup: false } }, nvidia: { options: { SystemdCgroup: true } } },
      },
      registry: { configs: { r: { auth: { password: 'p' } } } },
    };
    let verbose: boolean | undefined;
    behaviour = (stream, request) => {
      verbose = request.boolean(1);
      const entry = Buffer.concat([stringField(1, 'config'), stringField(2, JSON.stringify(config))]);
      answer(stream, messageField(2, entry));
    };
    assert.deepEqual(await connectCri(socket).configuration(), {
      cgroupDriver: 'systemd',
      sandboxImage: 'registry.k8s.io/pause:3.6',
      restrictOomScoreAdj: true,
    });
    assert.equal(verbose, true);
  });

  test('configuration is unknown if the runtime returns none, or no JSON', async () => {
    const unknown = { cgroupDriver: undefined, sandboxImage: undefined, restrictOomScoreAdj: undefined };
    behaviour = (stream) => answer(stream, new Uint8Array(0));
    assert.deepEqual(await connectCri(socket).configuration(), unknown);
    behaviour = (stream) =>
      answer(stream, messageField(2, Buffer.concat([stringField(1, 'config'), stringField(2, '{"cont')])));
    assert.deepEqual(await connectCri(socket).configuration(), unknown);
  });

  test('images carry id, tags and digests', async () => {
    const image = Buffer.concat([
      stringField(1, 'sha256:aa'),
      stringField(2, 'registry.k8s.io/pause:3.10'),
      stringField(3, 'registry.k8s.io/pause@sha256:bb'),
      varintField(4, 4096),
    ]);
    behaviour = (stream) => answer(stream, messageField(1, image));
    assert.deepEqual(await connectCri(socket).images(), [
      { id: 'sha256:aa', tags: ['registry.k8s.io/pause:3.10'], digests: ['registry.k8s.io/pause@sha256:bb'] },
    ]);
  });

  test('exited containers: only those are requested, newest end first, and one that has gone meanwhile is omitted', async () => {
    const container = (id: string) =>
      messageField(
        1,
        Buffer.concat([
          stringField(1, id),
          messageField(
            8,
            Buffer.concat([stringField(1, 'io.kubernetes.container.name'), stringField(2, 'kube-apiserver')]),
          ),
          messageField(
            8,
            Buffer.concat([stringField(1, 'io.kubernetes.pod.name'), stringField(2, 'kube-apiserver-n')]),
          ),
          messageField(
            8,
            Buffer.concat([stringField(1, 'io.kubernetes.pod.namespace'), stringField(2, 'kube-system')]),
          ),
        ]),
      );
    let filter: bigint | undefined;
    behaviour = (stream, request, path) => {
      if (path.endsWith('/ListContainers')) {
        filter = request.message(1)?.message(2)?.integer(1);
        return answer(stream, Buffer.concat([container('old'), container('new'), container('gone')]));
      }
      const id = request.string(1);
      if (id === 'gone') return refuse(stream, 5, 'not found');
      const finishedAt = id === 'old' ? 1_000_000_000 : 2_000_000_000;
      return answer(
        stream,
        messageField(
          1,
          Buffer.concat([varintField(6, finishedAt), varintField(7, 137), stringField(15, `/var/log/pods/${id}.log`)]),
        ),
      );
    };
    const containers = await connectCri(socket).exitedContainers();
    assert.equal(filter, 2n);
    assert.deepEqual(
      containers.map(({ id, finishedAtMs, exitCode, logPath }) => ({ id, finishedAtMs, exitCode, logPath })),
      [
        { id: 'new', finishedAtMs: 2000, exitCode: 137, logPath: '/var/log/pods/new.log' },
        { id: 'old', finishedAtMs: 1000, exitCode: 137, logPath: '/var/log/pods/old.log' },
      ],
    );
    assert.deepEqual([containers[0]?.name, containers[0]?.namespace], ['kube-apiserver', 'kube-system']);
  });

  test('the pods that are ready and the containers that run are listed with their names and starts', async () => {
    const filters: (bigint | undefined)[] = [];
    behaviour = (stream, request, path) => {
      const method = path.split('/').at(-1) ?? '';
      if (method.startsWith('List')) filters.push(request.message(1)?.message(2)?.integer(1));
      const metadata = Buffer.concat([stringField(1, 'etcd-a'), stringField(3, 'kube-system')]);
      if (method === 'ListPodSandbox')
        return answer(stream, messageField(1, Buffer.concat([stringField(1, 'p1'), messageField(2, metadata)])));
      if (method === 'ListContainers') {
        const of = (id: string) =>
          messageField(
            1,
            Buffer.concat([stringField(1, id), stringField(2, 'p1'), messageField(3, stringField(1, 'etcd'))]),
          );
        return answer(stream, Buffer.concat([of('c1'), of('gone')]));
      }
      if (request.string(1) === 'gone') return refuse(stream, 5, 'not found');
      answer(stream, messageField(1, varintField(5, 1_700_000_000)));
    };
    assert.deepEqual(await connectCri(socket).workloads(), {
      pods: [{ id: 'p1', name: 'kube-system/etcd-a' }],
      containers: [{ id: 'c1', name: 'kube-system/etcd-a/etcd', startedAt: '1700000000' }],
    });
    assert.deepEqual(filters, [0n, 1n]);
  });

  for (const parent of ['', 'system.slice']) {
    test(`a probe runs a pod in the network of the machine and removes it, with what a killed run left (${parent})`, async () => {
      const calls: string[] = [];
      let left = ['old'];
      behaviour = (stream, request, path) => {
        const method = path.split('/').at(-1) ?? '';
        if (method === 'ListPodSandbox') {
          assert.deepEqual([...(request.message(1)?.map(3) ?? [])], [['machineadm.dev/probe', 'containerd']]);
          return answer(stream, Buffer.concat(left.map((id) => messageField(1, stringField(1, id)))));
        }
        if (method === 'RunPodSandbox') {
          const config = request.message(1);
          const linux = config?.message(8);
          calls.push(`${method} ${config?.message(1)?.string(1)} ${linux?.string(1)}`.trim());
          assert.equal(linux?.message(2)?.message(1)?.integer(1), 2n, 'NODE');
          left = ['new'];
        } else calls.push(`${method} ${request.string(1)}`);
        if (method === 'RemovePodSandbox') left = [];
        answer(stream, new Uint8Array(0));
      };
      await probePod(`unix://${socket}`, parent, new AbortController().signal);
      assert.deepEqual(calls, [
        'StopPodSandbox old',
        'RemovePodSandbox old',
        `RunPodSandbox machineadm-probe ${parent}`.trim(),
        'StopPodSandbox new',
        'RemovePodSandbox new',
      ]);
    });
  }

  test('a probe that cannot start says why', async () => {
    behaviour = (stream, _request, path) => {
      if (path.endsWith('ListPodSandbox')) return answer(stream, new Uint8Array(0));
      refuse(stream, 2, 'failed to create shim task');
    };
    await assert.rejects(
      probePod(`unix://${socket}`, '', new AbortController().signal),
      criError(2, /failed to create shim task/),
    );
  });

  test('pods are stopped and removed one after the other; one that is gone meanwhile is no error', async () => {
    const calls: string[] = [];
    const pods = ['one', 'two'].map((id) => messageField(1, stringField(1, id)));
    behaviour = (stream, request, path) => {
      const method = path.split('/').at(-1) ?? '';
      if (method === 'ListPodSandbox') return answer(stream, Buffer.concat(pods));
      calls.push(`${method} ${request.string(1)}`);
      if (method === 'RemovePodSandbox' && request.string(1) === 'one') return refuse(stream, 5, 'not found');
      answer(stream, new Uint8Array(0));
    };
    assert.equal(await removePods(`unix://${socket}`, new AbortController().signal), 2);
    assert.deepEqual(calls, [
      'StopPodSandbox one',
      'RemovePodSandbox one',
      'StopPodSandbox two',
      'RemovePodSandbox two',
    ]);
  });

  test('a pod that cannot be stopped is an error, and no other pod is changed', async () => {
    behaviour = (stream, _request, path) => {
      if (path.endsWith('ListPodSandbox')) return answer(stream, messageField(1, stringField(1, 'one')));
      refuse(stream, 2, 'failed to kill container');
    };
    await assert.rejects(
      removePods(`unix://${socket}`, new AbortController().signal),
      criError(2, /failed to kill container/),
    );
  });

  test('a runtime that never answers costs the deadline and no more', async () => {
    behaviour = () => {};
    await assert.rejects(connectCri(socket, 150).version(), criError(4, /no answer within 150 ms/));
  });

  test('a runtime that dies in the middle of a call is Unavailable', async () => {
    behaviour = (stream) => stream.session?.destroy();
    await assert.rejects(connectCri(socket).version(), criError(14, /./));
  });

  test('an answer that is no gRPC message is an error, not a wrong value', async () => {
    behaviour = (stream) => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.from('hello'));
    };
    await assert.rejects(connectCri(socket).version(), criError(13, /cannot be decoded/));
  });

  test('a server that does not speak gRPC is an error', async () => {
    behaviour = (stream) => {
      stream.respond({ ':status': 404 });
      stream.end('nothing here');
    };
    await assert.rejects(connectCri(socket).version(), criError(14, /HTTP 404/));
  });

  test('no socket: Unavailable, with the error of the operating system', async () => {
    await assert.rejects(connectCri(join(directory, 'absent.sock')).version(), criError(14, /ENOENT/));
  });
});
