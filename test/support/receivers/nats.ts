import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstreamManager, type StreamConfig } from '@nats-io/jetstream';
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';
import type { Identity } from '../api-server.ts';
import { debianPackages } from '../debian-packages.ts';
import { eventIn, type Received } from './receiver.ts';

export interface NatsServer extends AsyncDisposable {
  readonly port: number;
  addStream(config: Partial<StreamConfig>): Promise<void>;
  deleteStream(name: string): Promise<void>;
  /** What a stream holds, in its order. */
  stored(stream: string): Promise<readonly Received[]>;
  stop(): Promise<void>;
}

export interface NatsServerOptions {
  /** Default: any. */
  readonly port?: number;
  /** Lines of configuration beside the listener and JetStream. */
  readonly configuration?: string;
  /** How the administrator connects. */
  readonly admin?: Partial<ConnectionOptions>;
  readonly identity?: Identity;
  /** Whom it demands a certificate of. */
  readonly clientAuthority?: string;
}

/** Debian's nats-server, unpacked. */
export function natsPackage() {
  return debianPackages('test-nats-server', ['nats-server'], 'usr/sbin/nats-server');
}

/** A real nats-server of Debian with JetStream, on loopback, with everything in a directory of its own. */
export async function startNats(options: NatsServerOptions = {}): Promise<NatsServer> {
  const packages = natsPackage();
  if ('unavailable' in packages) throw new Error(packages.unavailable);
  const directory = mkdtempSync(join(tmpdir(), 'machineadm-nats-'));
  const port = options.port ?? (await freePort());
  const { identity } = options;
  let tls = '';
  if (identity !== undefined) {
    const files = { cert_file: identity.certificate, key_file: identity.key, ca_file: options.clientAuthority };
    const lines = Object.entries(files).flatMap(([name, pem]) => {
      if (pem === undefined) return [];
      writeFileSync(join(directory, name), pem, { mode: 0o600 });
      return [`${name}: "${join(directory, name)}"`];
    });
    tls = `tls { ${lines.join(', ')}${options.clientAuthority === undefined ? '' : ', verify: true'} }`;
  }
  const configuration = [
    `listen: 127.0.0.1:${port}`,
    `jetstream { store_dir: "${directory}" }`,
    tls,
    options.configuration ?? '',
  ];
  writeFileSync(join(directory, 'server.conf'), configuration.join('\n'), { mode: 0o600 });
  const child = spawn(join(packages.root, 'usr/sbin/nats-server'), ['-c', join(directory, 'server.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (piece: Buffer) => {
    log += piece.toString();
  });
  let admin: NatsConnection | undefined;
  const stop = async (): Promise<void> => {
    await admin?.close();
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    admin = await connected({ servers: `127.0.0.1:${port}`, timeout: 2_000, ...options.admin }, child, () => log);
  } catch (error) {
    await stop();
    throw error;
  }
  const manager = await jetstreamManager(admin, { checkAPI: false });
  return {
    port,
    async addStream(config) {
      await manager.streams.add({ name: 'EVENTS', ...config });
    },
    async deleteStream(name) {
      await manager.streams.delete(name);
    },
    async stored(stream) {
      const { state } = await manager.streams.info(stream);
      const received: Received[] = [];
      if (state.messages === 0) return received;
      for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
        const message = await manager.streams.getMessage(stream, { seq });
        if (message === null) continue;
        const event = eventIn(new TextDecoder().decode(message.data));
        received.push({ id: message.header.get('Nats-Msg-Id'), event });
      }
      return received;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function connected(options: ConnectionOptions, child: ChildProcess, log: () => string): Promise<NatsConnection> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await connect({ ...options, reconnect: false });
    } catch (error) {
      if (attempt === 60 || child.exitCode !== null) throw new Error(`nats-server: ${log()}`, { cause: error });
      await sleep(50);
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return address !== null && typeof address === 'object' ? address.port : 0;
}
