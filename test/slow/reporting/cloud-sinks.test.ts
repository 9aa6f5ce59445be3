import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { before, beforeEach, describe, test } from 'node:test';
import { type Identity, newAuthority } from '../../support/api-server.ts';
import type { AwsRole } from '../../support/aws-server.ts';
import {
  describeFaults,
  type Faulty,
  type FaultySink,
  makeKnown,
  type StartFaulty,
  silenceResolver,
} from '../../support/faults-at-once.ts';
import { type Fault, type FaultyFront, startFaultyFront } from '../../support/faulty-front.ts';
import { startAllClouds } from '../../support/metadata-servers.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { startAwsReceiver } from '../../support/receivers/aws.ts';
import { startEventGrid, startStorageQueue } from '../../support/receivers/azure.ts';
import { startPubSub } from '../../support/receivers/gcp.ts';
import { type NatsServer, natsPackage, startNats } from '../../support/receivers/nats.ts';
import { startCollector } from '../../support/receivers/otlp.ts';
import { type LineFault, startTcpFront } from '../../support/receivers/tcp-front.ts';
import { installRpctool, type ToolFault } from '../../support/receivers/vmware-rpctool.ts';
import {
  delivered,
  EXIT_MS,
  freshMachine,
  type Provisioned,
  provisionWith,
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
  // Any local user could listen on a port of the receivers, so that plain HTTP must be asked for.
  const own = (base: string) => ({
    timeout: '20s',
    ...(base.startsWith('http:') ? { allowInsecure: true } : {}),
  });
  return [
    {
      name: 'sns',
      ...sns,
      taken: ids(sns.received),
      sinkAt: (base) => ({ type: 'AWS', topicARN: sns.topicARN, endpoint: `${base}/`, ...own(base) }),
    },
    {
      name: 'sqs',
      ...sqs,
      taken: ids(sqs.received),
      sinkAt: (base) => ({ type: 'AWS', queueURL: `${base}${new URL(sqs.queueURL(0)).pathname}`, ...own(base) }),
    },
    {
      name: 'pubsub',
      ...pubsub,
      taken: ids(pubsub.received),
      sinkAt: (base) => ({ type: 'GCP', topic: TOPIC, endpoint: base, ...own(base) }),
    },
    {
      name: 'queue',
      ...queue,
      taken: ids(queue.received),
      sinkAt: (base) => ({ type: 'Azure', queueURL: `${base}/bootstrap`, ...own(base) }),
    },
    {
      name: 'grid',
      ...grid,
      taken: ids(grid.received),
      sinkAt: (base) => ({ type: 'Azure', topicEndpoint: `${base}/api/events`, ...own(base) }),
    },
    {
      name: 'otlp',
      ...collector,
      taken: () => collector.traces.map(({ spans }) => `${spans[0]?.attributes['machineadm.event.id']}`),
      sinkAt: (base) => ({
        type: 'OTLP',
        url: `${base}/v1/traces`,
        headers: { 'X-Api-Key': { secret: 'apiKey' } },
        ...own(base),
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
  timeout: '20s',
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

inThrowAwayMachine(import.meta.filename, () => {
  before(() => void shell(`ip addr add ${LINK_LOCAL}/32 dev lo`));
  beforeEach(freshMachine);
  const noNats = needs(natsPackage());

  describe('the sinks of clouds', () => {
    test('all receive the events of a run, without any secret', async () => {
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
      if (noNats === false) {
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
      assert.ok(exitMs < EXIT_MS, `the agent ended ${exitMs} ms after its conclusion`);
      for (const { name, taken, seen } of wiring.wired) {
        const report = await delivered(name);
        assert.deepEqual([name, report.state, report.message], [name, 'Delivered', undefined]);
        const ids = await taken();
        assert.ok(ids.at(-1)?.startsWith(`${status.runId}.`), name);
        assert.equal(new Set(ids).size, ids.length);
        const heard = await seen();
        // The collector's own key is in a header of its requests, where it belongs, and nowhere else.
        const told = heard.replaceAll(`"x-api-key":"${API_KEY}"`, '');
        for (const secret of [...OF_CLOUDS, API_KEY]) assert.ok(!told.includes(secret), `${name} heard ${secret}`);
        assert.ok(told.includes('HookFailed'), `${name} heard why`);
        // A trace has no evidence, and the arguments of guestinfo's tool, which every local user can read, have none either.
        const hasEvidence = !['otlp', 'guestinfo'].includes(name);
        assert.equal(told.includes('it is [redacted]'), hasEvidence, `${name} heard what the hook said`);
      }
      assert.deepEqual(waiting(), {});
    });
  });

  /** All sinks that speak HTTP, each behind something of its own that fails. */
  async function behindFronts(fault: Fault, stack: AsyncDisposableStack): Promise<Faulty> {
    const fronts: FaultyFront[] = [];
    const sinks: FaultySink[] = [];
    for (const { name, sinkAt, port, taken } of await httpReceivers(stack)) {
      const front = stack.use(await startFaultyFront(port));
      await front.fail(fault);
      fronts.push(front);
      sinks.push({
        name: `${name}-${fault.replaceAll(' ', '-')}`,
        sink: sinkAt(`http://127.0.0.1:${front.port}`),
        taken,
      });
    }
    return { sinks, repair: () => Promise.all(fronts.map((front) => front.fail(undefined))) };
  }
  const fronts = (faults: readonly Fault[]): Readonly<Record<string, StartFaulty>> =>
    Object.fromEntries(faults.map((fault) => [fault, (stack) => behindFronts(fault, stack)]));

  const tool = (fault: ToolFault): StartFaulty =>
    async function broken(stack) {
      const rpctool = stack.use(installRpctool());
      rpctool.fail(fault);
      const taken = () => rpctool.values().map((value): string => JSON.parse(value).id);
      return {
        sinks: [{ name: 'guestinfo', sink: { type: 'Guestinfo', timeout: '20s' }, taken }],
        repair: () => rpctool.fail(undefined),
      };
    };

  const natsLine = (name: string, fault: LineFault): StartFaulty =>
    async function broken(stack) {
      const nats = stack.use(await startNats());
      await nats.addStream({ subjects: [SUBJECT] });
      const front = stack.use(await startTcpFront(nats.port));
      await front.become(fault);
      return {
        sinks: [{ name, sink: natsSink([`nats://127.0.0.1:${front.port}`]), taken: () => storedIn(nats) }],
        repair: () => front.become({ kind: 'none' }),
      };
    };

  // A document has at most 32 sinks, and a machine one vmware-rpctool: so these are some machines and not one.
  const COST_NOTHING = 'cost a run nothing, and have everything in the end, when each';
  const METADATA: StartFaulty = async (stack) => {
    await startMetadata(stack);
    return { sinks: [], repair: () => undefined };
  };

  describeFaults(
    `the sinks of clouds that speak HTTP ${COST_NOTHING}`,
    {
      'has its metadata service': METADATA,
      ...fronts(['refuses', 'never answers', 'answers 500', 'answers 429']),
      'is guestinfo, whose tool hangs': tool('hangs'),
    },
    { secrets: SECRETS },
  );

  describeFaults(
    `the sinks of clouds, too, ${COST_NOTHING}`,
    {
      'has its metadata service': METADATA,
      ...fronts(['drops at half the body', 'is 10 s late']),

      async 'has a name that no resolver answers for'(stack) {
        const sinks = (await httpReceivers(stack)).map(({ name, sinkAt, port, taken }) => ({
          name: `${name}-unresolved`,
          sink: sinkAt(`http://receiver.example:${port}`),
          taken,
        }));
        await silenceResolver(stack);
        return { sinks, repair: () => makeKnown('receiver.example') };
      },

      async 'has a certificate that nobody trusts'(stack) {
        const [trusted, other] = [newAuthority('trusted'), newAuthority('other')];
        appendFileSync('/etc/ssl/certs/ca-certificates.crt', trusted.certificate);
        const [right, wrong] = [trusted, other].map((authority) => authority.issue('receiver', ['127.0.0.1']));
        const repairs: (() => Promise<void>)[] = [];
        const sinks: FaultySink[] = [];
        for (const { name, sinkAt, port, taken } of await httpReceivers(stack)) {
          const front = await startFaultyFront(port, wrong);
          repairs.push(async () => {
            await front[Symbol.asyncDispose]();
            stack.use(await startFaultyFront(port, right, front.port));
          });
          sinks.push({ name: `${name}-untrusted`, sink: sinkAt(`https://127.0.0.1:${front.port}`), taken });
        }
        return { sinks, repair: () => Promise.all(repairs.map((repair) => repair())) };
      },

      'is guestinfo, whose tool fails': tool('fails'),
    },
    { secrets: SECRETS },
  );

  describeFaults(
    `the sinks of clouds, on a machine whose disk is full, ${COST_NOTHING}`,
    {
      'has its metadata service': METADATA,
      refuses: (stack) => behindFronts('refuses', stack),
      ...(noNats === false ? { 'is NATS, and nobody listens': natsLine('nats', { kind: 'refuses' }) } : {}),
      'is guestinfo, whose tool dies at half': tool('dies at half'),
    },
    { secrets: SECRETS, fullDisk: true },
  );

  describeFaults(
    `the sinks of clouds, where there is no metadata service, ${COST_NOTHING}`,
    {
      async 'asks for one'(stack) {
        const sinks = (await httpReceivers(stack))
          .filter(({ name }) => name !== 'otlp')
          .map(({ name, sinkAt, port, taken }) => ({ name, sink: sinkAt(`http://127.0.0.1:${port}`), taken }));
        return { sinks, repair: () => startMetadata(stack) };
      },
      'is guestinfo, whose tool is not installed': tool('is not installed'),
    },
    { secrets: SECRETS },
  );

  describeFaults(
    'sinks of NATS cost a run nothing, and have everything in the end, when',
    {
      'nobody listens': natsLine('refusing', { kind: 'refuses' }),
      'the server never answers': natsLine('silent', { kind: 'silent' }),
      'the line breaks at half of what is sent': natsLine('broken', { kind: 'dropsRequest' }),
      'the line is 10 s late': natsLine('late', { kind: 'late', byMs: 10_000 }),

      async 'no stream listens, which JetStream answers with 503'(stack) {
        const nats = stack.use(await startNats());
        const sink = natsSink([`nats://127.0.0.1:${nats.port}`]);
        const taken = () => storedIn(nats).catch(() => []);
        return { sinks: [{ name: 'no-stream', sink, taken }], repair: () => nats.addStream({ subjects: [SUBJECT] }) };
      },

      async 'the stream is full'(stack) {
        const nats = stack.use(await startNats());
        await nats.addStream({ subjects: [SUBJECT], max_bytes: 10, discard: 'new' });
        const sink = natsSink([`nats://127.0.0.1:${nats.port}`]);
        return {
          sinks: [{ name: 'full', sink, taken: () => storedIn(nats) }],
          async repair() {
            await nats.deleteStream('EVENTS');
            await nats.addStream({ subjects: [SUBJECT] });
          },
        };
      },

      async 'no resolver answers for its name'(stack) {
        const nats = stack.use(await startNats());
        await nats.addStream({ subjects: [SUBJECT] });
        await silenceResolver(stack);
        const sink = natsSink([`nats://nats.example:${nats.port}`]);
        const taken = () => storedIn(nats);
        return { sinks: [{ name: 'unresolved', sink, taken }], repair: () => makeKnown('nats.example') };
      },

      async 'its certificate is one that nobody trusts'(stack) {
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
        stack.defer(() => nats.stop());
        const more = { certificateAuthority: trusted.certificate };
        const sink = natsSink([`tls://127.0.0.1:${nats.port}`], more);
        return {
          sinks: [{ name: 'untrusted', sink, taken: () => storedIn(nats) }],
          async repair() {
            await nats.stop();
            nats = await start(trusted, nats.port);
          },
        };
      },
    },
    { skip: noNats },
  );
}, ['ip']);
