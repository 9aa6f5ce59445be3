import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { appendFileSync, readdirSync, writeFileSync } from 'node:fs';
import { before, beforeEach, describe, test } from 'node:test';
import { type Identity, newAuthority } from '../../support/api-server.ts';
import type { AwsRole } from '../../support/aws-server.ts';
import { FAULTS, type Fault, startFaultyFront } from '../../support/faulty-front.ts';
import { startAllClouds } from '../../support/metadata-servers.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { startAwsReceiver } from '../../support/receivers/aws.ts';
import { startEventGrid, startStorageQueue } from '../../support/receivers/azure.ts';
import { startPubSub } from '../../support/receivers/gcp.ts';
import { type NatsServer, startNats, whyNoNats } from '../../support/receivers/nats.ts';
import { startCollector } from '../../support/receivers/otlp.ts';
import { type LineFault, startTcpFront } from '../../support/receivers/tcp-front.ts';
import { installRpctool, type ToolFault } from '../../support/receivers/vmware-rpctool.ts';
import {
  assertUndisturbed,
  flushed,
  freshMachine,
  type Provisioned,
  provisionWith,
  reported,
  shell,
  waiting,
} from '../../support/sink-faults.ts';

/** Secrets of the cloud, which the machine has and no receiver may find in a report. */
const ROLE: AwsRole = {
  accessKeyId: 'ASIAEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG',
  token: 'session-token-of-role==',
};
const [OF_ACCOUNT, FOR_STORAGE, FOR_GRID] = ['ya29.default-account', 'token-for-storage', 'token-for-event-grid'];
const OF_CLOUDS = [ROLE.secretAccessKey, ROLE.token, OF_ACCOUNT, FOR_STORAGE, FOR_GRID];
const REGION = 'eu-west-1';
const TOPIC = 'projects/my-project/topics/bootstrap';
const SUBJECT = 'machines.bootstrap';
const API_KEY = 'api-key-of-the-collector';
/** Where each cloud has its metadata service. */
const LINK_LOCAL = '169.254.169.254';

/** A sink of a document, what stands between it and its receiver, and what the receiver took. */
interface Wired {
  readonly name: string;
  readonly sink: object;
  /** Ids in the order in which they came, each as often as it came. */
  readonly taken: () => readonly string[] | Promise<readonly string[]>;
  readonly seen: () => string | Promise<string>;
}

/** Starts what has to be ended with a test. */
class Wiring extends AsyncDisposableStack {
  readonly wired: Wired[] = [];
}

interface HttpReceiver {
  readonly name: string;
  readonly port: number;
  readonly taken: () => readonly string[];
  readonly seen: () => string;
  readonly sinkAt: (base: string) => object;
}

/** Every receiver that speaks HTTP, as strict as its reference. */
async function httpReceivers(stack: AsyncDisposableStack): Promise<readonly HttpReceiver[]> {
  const ids = (received: readonly { readonly id: string }[]) => () => received.map(({ id }) => id);
  const sns = stack.use(await startAwsReceiver({ role: ROLE, region: REGION }));
  const sqs = stack.use(await startAwsReceiver({ role: ROLE, region: REGION, fifo: true }));
  const pubsub = stack.use(await startPubSub(TOPIC, () => OF_ACCOUNT));
  const queue = stack.use(await startStorageQueue(() => FOR_STORAGE));
  const grid = stack.use(await startEventGrid(() => FOR_GRID));
  const collector = stack.use(await startCollector());
  // Long enough for a busy machine: an answer that comes too late is an event that comes twice.
  const own = { timeout: '4s' };
  return [
    {
      name: 'sns',
      ...sns,
      taken: ids(sns.received),
      sinkAt: (base) => ({ type: 'AWS', topicARN: sns.topicARN, endpoint: `${base}/`, ...own }),
    },
    {
      name: 'sqs',
      ...sqs,
      taken: ids(sqs.received),
      sinkAt: (base) => ({ type: 'AWS', queueURL: `${base}${new URL(sqs.queueURL(0)).pathname}`, ...own }),
    },
    {
      name: 'pubsub',
      ...pubsub,
      taken: ids(pubsub.received),
      sinkAt: (base) => ({ type: 'GCP', topic: TOPIC, endpoint: base, ...own }),
    },
    {
      name: 'queue',
      ...queue,
      taken: ids(queue.received),
      sinkAt: (base) => ({ type: 'Azure', queueURL: `${base}/bootstrap`, ...own }),
    },
    {
      name: 'grid',
      ...grid,
      taken: ids(grid.received),
      sinkAt: (base) => ({ type: 'Azure', topicEndpoint: `${base}/api/events`, ...own }),
    },
    {
      name: 'otlp',
      ...collector,
      taken: () => collector.traces.map(({ spans }) => `${spans[0]?.attributes['machineadm.event.id']}`),
      sinkAt: (base) => ({
        type: 'OTLP',
        url: `${base}/v1/traces`,
        headers: { 'X-Api-Key': { secret: 'apiKey' } },
        ...own,
      }),
    },
  ];
}

async function startMetadata(stack: AsyncDisposableStack): Promise<void> {
  const { accessKeyId, secretAccessKey, token } = ROLE;
  const clouds = stack.use(
    await startAllClouds({
      aws: {
        'meta-data/placement/region': REGION,
        'meta-data/iam/security-credentials/nodes': JSON.stringify({
          AccessKeyId: accessKeyId,
          SecretAccessKey: secretAccessKey,
          Token: token,
        }),
      },
      gcp: {
        'instance/service-accounts/default/token': JSON.stringify({
          access_token: OF_ACCOUNT,
          expires_in: 3599,
          token_type: 'Bearer',
        }),
      },
      azure: [
        {
          tokens: {
            'https://storage.azure.com/': FOR_STORAGE,
            'https://eventgrid.azure.net': FOR_GRID,
          },
        },
      ],
    }),
  );
  stack.use(await startTcpFront(clouds.port, { host: LINK_LOCAL, port: 80 }));
}

const natsSink = (servers: readonly string[], more: object = {}) => ({
  type: 'NATS',
  servers,
  subject: SUBJECT,
  timeout: '1s',
  ...more,
});

async function storedIn(nats: NatsServer): Promise<readonly string[]> {
  return (await nats.stored('EVENTS')).map(({ id }) => id);
}

const SECRETS = { apiKey: { value: API_KEY } };

async function provisioned(wired: readonly Wired[], host: object = {}): Promise<Provisioned> {
  const sinks = wired.map(({ name, sink }) => ({ name, ...sink }));
  return await provisionWith(sinks, { secrets: SECRETS, host });
}

/**
 * What is true of every sink and every fault, here of all sinks at once, as one document may have them: the run is
 * undisturbed; what was not taken waits and is told of; once the fault is repaired all of it is delivered, each event
 * once, in order; then nothing is left.
 */
async function assertAllSurvive(wired: readonly Wired[], repair: () => Promise<void>): Promise<void> {
  const run = await provisioned(wired);
  assertUndisturbed(run);
  const { status } = run;
  const left: Record<string, readonly string[]> = {};
  for (const { name, taken } of wired) {
    const report = await reported(name);
    assert.equal(report.state, 'Pending', `${name}: ${JSON.stringify(report)}`);
    assert.ok((report.message ?? '') !== '', `${name} says why`);
    const own = waiting()[name] ?? [];
    assert.equal(own.length, report.pending);
    assert.match(own.at(-1) ?? '', new RegExp(`^${status.runId}\\.\\d+$`), `${name}: the conclusion waits`);
    left[name] = own;
    assert.deepEqual(await taken(), [], `${name} took nothing`);
  }
  await repair();
  // Ends as soon as everything is delivered; a busy machine takes its time.
  const flush = await flushed('--within', '20s');
  assert.equal(flush.status, 0, flush.stdout + flush.stderr);
  for (const { name, taken } of wired)
    assert.deepEqual(await taken(), left[name], `${name}: each event once, in order`);
  assert.deepEqual(waiting(), {});
}

/** A disk for the spool that has no room for anything, until the work is done. */
async function withFullDisk(work: () => Promise<void>): Promise<void> {
  const spool = '/var/lib/machineadm/spool';
  shell(`mkdir -p ${spool}; mount -t tmpfs -o size=16k,mode=700 none ${spool}`);
  try {
    shell(`dd if=/dev/zero of=${spool}/full bs=1k 2>/dev/null || true`);
    await work();
    assert.deepEqual(readdirSync(spool), ['full']);
  } finally {
    shell(`umount -l ${spool}`);
  }
}

inThrowAwayMachine(import.meta.filename, () => {
  before(() => void shell(`ip addr add ${LINK_LOCAL}/32 dev lo`));
  beforeEach(freshMachine);
  const noNats = whyNoNats();

  describe('the sinks of clouds', () => {
    test('are told of a run, all of them, and hear no secret', async () => {
      await using wiring = new Wiring();
      await startMetadata(wiring);
      for (const { sinkAt, port, ...receiver } of await httpReceivers(wiring)) {
        wiring.wired.push({ ...receiver, sink: sinkAt(`http://127.0.0.1:${port}`) });
      }
      const rpctool = wiring.use(installRpctool());
      const values = () => rpctool.values().map((value): { id: string } => JSON.parse(value));
      wiring.wired.push({
        name: 'guestinfo',
        sink: { type: 'Guestinfo' },
        taken: () => values().map(({ id }) => id),
        seen: () => rpctool.values().join('\n'),
      });
      if (noNats === undefined) {
        const nats = wiring.use(await startNats());
        await nats.addStream({ subjects: [SUBJECT] });
        wiring.wired.push({
          name: 'nats',
          sink: natsSink([`nats://127.0.0.1:${nats.port}`]),
          taken: () => storedIn(nats),
          seen: async () => JSON.stringify(await nats.stored('EVENTS')),
        });
      }
      const command = `echo "it is ${API_KEY}" >&2; exit 3`;
      const { run, status, exitMs } = await provisioned(wiring.wired, { hooks: { early: { commands: [command] } } });
      assert.deepEqual([run.status, status.outcome, status.failure?.reason], [10, 'Failed', 'HookFailed']);
      assert.ok(exitMs < 1_500, `the agent ended ${exitMs} ms after its conclusion`);
      for (const { name, taken, seen } of wiring.wired) {
        const report = await reported(name);
        assert.deepEqual([name, report.state, report.message], [name, 'Delivered', undefined]);
        const ids = await taken();
        assert.ok(ids.at(-1)?.startsWith(`${status.runId}.`), name);
        assert.equal(new Set(ids).size, ids.length);
        const heard = await seen();
        // The collector's own key is in a header of its requests, where it belongs, and nowhere else.
        const told = heard.replaceAll(`"x-api-key":"${API_KEY}"`, '');
        for (const secret of [...OF_CLOUDS, API_KEY]) assert.ok(!told.includes(secret), `${name} heard ${secret}`);
        assert.ok(told.includes('HookFailed'), `${name} heard why`);
        // A trace has no evidence.
        if (name !== 'otlp') assert.ok(told.includes('it is [redacted]'), `${name} heard what the hook said`);
      }
      assert.deepEqual(waiting(), {});
    });
  });

  describe('the sinks of clouds that speak HTTP cost a run nothing, and have everything in the end, when each', () => {
    for (const fault of FAULTS) {
      test(fault, async () => {
        await using wiring = new Wiring();
        await startMetadata(wiring);
        const fronts: { fail(fault: Fault | undefined): Promise<void> }[] = [];
        for (const { sinkAt, port, ...receiver } of await httpReceivers(wiring)) {
          const front = wiring.use(await startFaultyFront(port));
          await front.fail(fault);
          fronts.push(front);
          wiring.wired.push({ ...receiver, sink: sinkAt(`http://127.0.0.1:${front.port}`) });
        }
        await assertAllSurvive(wiring.wired, async () => {
          await Promise.all(fronts.map((front) => front.fail(undefined)));
        });
      });
    }

    test('has a name that no resolver answers for', async () => {
      await using wiring = new Wiring();
      await startMetadata(wiring);
      for (const { sinkAt, port, ...receiver } of await httpReceivers(wiring)) {
        wiring.wired.push({ ...receiver, sink: sinkAt(`http://receiver.example:${port}`) });
      }
      const resolver = createSocket('udp4');
      resolver.bind(53, '127.0.0.1');
      await once(resolver, 'listening');
      wiring.defer(() => void resolver.close());
      writeFileSync('/etc/resolv.conf', 'nameserver 127.0.0.1\n');
      await assertAllSurvive(wiring.wired, async () => appendFileSync('/etc/hosts', '\n127.0.0.1 receiver.example\n'));
    });

    test('has a certificate that nobody trusts', async () => {
      const [trusted, other] = [newAuthority('trusted'), newAuthority('other')];
      appendFileSync('/etc/ssl/certs/ca-certificates.crt', trusted.certificate);
      await using wiring = new Wiring();
      await startMetadata(wiring);
      const repairs: (() => Promise<void>)[] = [];
      for (const { sinkAt, port, ...receiver } of await httpReceivers(wiring)) {
        const wrong = await startFaultyFront(port, other.issue('receiver', ['127.0.0.1']));
        repairs.push(async () => {
          await wrong[Symbol.asyncDispose]();
          wiring.use(await startFaultyFront(port, trusted.issue('receiver', ['127.0.0.1']), wrong.port));
        });
        wiring.wired.push({ ...receiver, sink: sinkAt(`https://127.0.0.1:${wrong.port}`) });
      }
      await assertAllSurvive(wiring.wired, async () => void (await Promise.all(repairs.map((repair) => repair()))));
    });

    test('is not there, and the disk is full', () =>
      withFullDisk(async () => {
        await using wiring = new Wiring();
        await startMetadata(wiring);
        const fronts: { fail(fault: Fault | undefined): Promise<void> }[] = [];
        for (const { sinkAt, port, ...receiver } of await httpReceivers(wiring)) {
          const front = wiring.use(await startFaultyFront(port));
          await front.fail('refuses');
          fronts.push(front);
          wiring.wired.push({ ...receiver, sink: sinkAt(`http://127.0.0.1:${front.port}`) });
        }
        await assertAllSurvive(wiring.wired, async () => {
          await Promise.all(fronts.map((front) => front.fail(undefined)));
        });
      }));

    test('is there, but the metadata service of its cloud is not', async () => {
      await using wiring = new Wiring();
      for (const { sinkAt, port, ...receiver } of await httpReceivers(wiring)) {
        if (receiver.name !== 'otlp') wiring.wired.push({ ...receiver, sink: sinkAt(`http://127.0.0.1:${port}`) });
      }
      await assertAllSurvive(wiring.wired, () => startMetadata(wiring));
    });
  });

  describe('a sink of guestinfo costs a run nothing, and has everything in the end, when the tool', () => {
    const faults: readonly ToolFault[] = ['is not installed', 'hangs', 'fails', 'dies at half'];
    async function assertSurvives(fault: ToolFault): Promise<void> {
      using rpctool = installRpctool();
      rpctool.fail(fault);
      const ids = () => rpctool.values().map((value): string => JSON.parse(value).id);
      const sink = { type: 'Guestinfo', timeout: '1s' };
      const wired = { name: 'guestinfo', sink, taken: ids, seen: () => rpctool.values().join('\n') };
      await assertAllSurvive([wired], async () => rpctool.fail(undefined));
    }
    for (const fault of faults) test(fault, () => assertSurvives(fault));
    test('fails, and the disk is full', () => withFullDisk(() => assertSurvives('fails')));
  });

  describe('a sink of NATS costs a run nothing, and has everything in the end, when', { skip: noNats ?? false }, () => {
    const wiredTo = (nats: () => NatsServer, servers: readonly string[], more: object = {}): Wired => ({
      name: 'nats',
      sink: natsSink(servers, more),
      taken: () => storedIn(nats()).catch(() => []),
      seen: () => '',
    });
    const lines: Readonly<Record<string, LineFault>> = {
      'nobody listens': { kind: 'refuses' },
      'the server never answers': { kind: 'silent' },
      'the line breaks at half of what is sent': { kind: 'dropsRequest' },
      'the line is 10 s late': { kind: 'late', byMs: 10_000 },
    };
    async function assertSurvives(fault: LineFault): Promise<void> {
      await using nats = await startNats();
      await nats.addStream({ subjects: [SUBJECT] });
      await using front = await startTcpFront(nats.port);
      await front.become(fault);
      const wired = wiredTo(() => nats, [`nats://127.0.0.1:${front.port}`]);
      await assertAllSurvive([wired], () => front.become({ kind: 'none' }));
    }
    for (const [what, fault] of Object.entries(lines)) test(what, () => assertSurvives(fault));
    test('nobody listens, and the disk is full', () => withFullDisk(() => assertSurvives({ kind: 'refuses' })));

    test('no stream listens, which JetStream answers with 503', async () => {
      await using nats = await startNats();
      const wired = wiredTo(() => nats, [`nats://127.0.0.1:${nats.port}`]);
      await assertAllSurvive([wired], () => nats.addStream({ subjects: [SUBJECT] }));
    });

    test('the stream is full', async () => {
      await using nats = await startNats();
      await nats.addStream({ subjects: [SUBJECT], max_bytes: 10, discard: 'new' });
      const wired = wiredTo(() => nats, [`nats://127.0.0.1:${nats.port}`]);
      await assertAllSurvive([wired], async () => {
        await nats.deleteStream('EVENTS');
        await nats.addStream({ subjects: [SUBJECT] });
      });
    });

    test('no resolver answers for its name', async () => {
      await using nats = await startNats();
      await nats.addStream({ subjects: [SUBJECT] });
      const resolver = createSocket('udp4');
      resolver.bind(53, '127.0.0.1');
      await once(resolver, 'listening');
      try {
        writeFileSync('/etc/resolv.conf', 'nameserver 127.0.0.1\n');
        const wired = wiredTo(() => nats, [`nats://nats.example:${nats.port}`]);
        await assertAllSurvive([wired], async () => appendFileSync('/etc/hosts', '\n127.0.0.1 nats.example\n'));
      } finally {
        resolver.close();
      }
    });

    test('its certificate is one that nobody trusts', async () => {
      // Another name than that of the authority above, which this machine trusts now.
      const [trusted, other] = [newAuthority('trusted for NATS'), newAuthority('other')];
      const start = async (by: typeof trusted, port?: number): Promise<NatsServer> => {
        const identity: Identity = by.issue('nats', ['127.0.0.1']);
        const tls = { ca: by.certificate, host: '127.0.0.1' };
        const server = await startNats({ identity, admin: { tls }, ...(port === undefined ? {} : { port }) });
        await server.addStream({ subjects: [SUBJECT] });
        return server;
      };
      let nats = await start(other);
      try {
        const more = { certificateAuthority: trusted.certificate };
        const wired = wiredTo(() => nats, [`tls://127.0.0.1:${nats.port}`], more);
        await assertAllSurvive([wired], async () => {
          await nats.stop();
          nats = await start(trusted, nats.port);
        });
      } finally {
        await nats.stop();
      }
    });
  });
});
