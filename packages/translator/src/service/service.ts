import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { callersBy } from '../admission/caller.ts';
import { limitConnections } from '../admission/connections.ts';
import { admissionListener } from '../admission/server.ts';
import type { Api } from '../cluster/api.ts';
import { electLeader, pause } from '../cluster/leader.ts';
import { ServedVersions } from '../cluster/related.ts';
import type { Conversions } from '../conversions/pool.ts';
import { type ProviderContext, provideBootstrap } from '../provider/controller.ts';
import { Workloads } from '../provider/workloads.ts';
import { reconcile } from '../reconcile/reconciler.ts';
import { copyConditions } from '../reports/copier.ts';
import { errorText, type Log } from '../telemetry/log.ts';
import { type Metrics, newMetrics } from '../telemetry/metrics.ts';
import type { Configuration } from './configuration.ts';
import { profilesFrom } from './profiles-file.ts';
import { warmUp } from './warm-up.ts';

/** How often a replica looks for a rotated certificate, and for rotated authorities of its callers. */
const CERTIFICATE_INTERVAL_MS = 10_000;
const RETRY_MS = 2_000;
/** A watch of a version that is no longer served ends late. */
const RESYNC_MS = 120_000;
/** A client that sends nothing, or slowly, is not the API server. */
const HEADERS_MS = 5_000;
const REQUEST_MS = 15_000;
/** The API server ends its own idle connections after 90 s; it must not send into one that ends here. */
const IDLE_MS = 100_000;
/** Requests in flight get this long when the service stops. */
const DRAIN_MS = 20_000;

/** A translator that runs. */
export interface Service {
  readonly webhookPort: number;
  readonly healthPort: number;
  readonly metrics: Metrics;
  /** Stops in order: not ready, delay, no new connection, the rest of the requests, the lease. */
  stop(): Promise<void>;
}

/**
 * Starts the translator; undefined = `signal` ended it while it waited for its first certificate. Throws where a port is
 * taken or the first certificate is invalid.
 */
export async function startService(
  configuration: Configuration,
  api: Api,
  version: string,
  log: Log,
  signal: AbortSignal,
  conversions: Conversions,
): Promise<Service | undefined> {
  const metrics = newMetrics();
  const versions = new ServedVersions(api);
  const ended = new AbortController();
  let isReady = false;
  const health = healthServer(metrics, () => isReady);
  const healthPort = await listen(health, configuration.healthPort, configuration.bindAddress);

  const callers = callersBy(
    { proof: configuration.caller, authorities: configuration.callerAuthorities, names: configuration.callerNames },
    api,
  );
  const load = async (): Promise<Loaded> => ({
    ...(await readDirectory(configuration.certificateDirectory)),
    authorities: await callers.authorities(),
  });
  const first = await untilLoaded(load, signal, log);
  if (first === undefined) {
    await close(health);
    return undefined;
  }
  const server = createServer({
    ...tlsOptions(first),
    handshakeTimeout: HEADERS_MS,
    connectionsCheckingInterval: 1_000,
  });
  const profiles = profilesFrom(configuration.profiles);
  const { isProven: isCallerProven } = callers;
  const { providerUsers, deadlineMs } = configuration;
  const translator = { api, versions, profiles, version, conversions, isCallerProven, providerUsers };
  const { updateImage: image } = configuration;
  const updates = image === undefined ? undefined : { ...translator, workloads: new Workloads(api), image };
  server.on('request', admissionListener(translator, callers, { deadlineMs }, log, metrics, updates));
  limitConnections(server);
  server.headersTimeout = HEADERS_MS;
  server.requestTimeout = REQUEST_MS;
  server.keepAliveTimeout = IDLE_MS;
  try {
    await warmUp(conversions, version, signal);
  } catch (error) {
    // A machine waits longer then, or is told why it cannot be converted.
    if (!signal.aborted) log('warn', 'the sample was not converted', { error: errorText(error) });
  }
  const webhookPort = await listen(server, configuration.webhookPort, configuration.bindAddress);
  metrics.certificateExpiry.set(expiryOf(first.certificate).getTime() / 1000);
  isReady = true;
  log('info', 'ready', { version, webhookPort, healthPort });

  const work = [
    rotate(server, first, load, ended.signal, log, metrics),
    lead(configuration, { api, versions, profiles, conversions, version, log, metrics }, ended.signal),
  ];
  return {
    webhookPort,
    healthPort,
    metrics,
    async stop() {
      isReady = false;
      log('info', 'stopping');
      await pause(configuration.shutdownDelayMs, new AbortController().signal);
      const drained = close(server);
      const limit = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
      await drained;
      clearTimeout(limit);
      ended.abort();
      await Promise.all(work);
      await close(health);
      await conversions.close();
      log('info', 'stopped');
    },
  };
}

interface Loaded {
  readonly certificate: string;
  readonly key: string;
  /** Of callers; undefined = no certificate is asked for. */
  readonly authorities: string | undefined;
}

/** A certificate that does not fit is refused with an answer, which says why, and not in the handshake. */
function tlsOptions({ certificate, key, authorities }: Loaded) {
  const client = authorities === undefined ? {} : { ca: authorities, requestCert: true, rejectUnauthorized: false };
  return { cert: certificate, key, minVersion: 'TLSv1.2', ...client } as const;
}

async function untilLoaded(load: () => Promise<Loaded>, signal: AbortSignal, log: Log): Promise<Loaded | undefined> {
  while (!signal.aborted) {
    try {
      return await load();
    } catch (error) {
      log('warn', 'no certificate yet', { error: errorText(error) });
      await pause(RETRY_MS, signal);
    }
  }
  return undefined;
}

/** Serves with the new certificate once there is one; existing connections continue. */
async function rotate(
  server: TlsServer,
  first: Loaded,
  load: () => Promise<Loaded>,
  signal: AbortSignal,
  log: Log,
  metrics: Metrics,
): Promise<void> {
  let served = first;
  for (;;) {
    await pause(CERTIFICATE_INTERVAL_MS, signal);
    if (signal.aborted) return;
    try {
      const loaded = await load();
      if (JSON.stringify(loaded) === JSON.stringify(served)) continue;
      server.setSecureContext(tlsOptions(loaded));
      served = loaded;
      metrics.certificateExpiry.set(expiryOf(loaded.certificate).getTime() / 1000);
      log('info', 'certificate rotated');
    } catch (error) {
      log('warn', 'certificate not read', { error: errorText(error) });
    }
  }
}

/** What one replica does at a time: it checks what is stored, copies the reports of machines, and provides bootstrap data. */
async function lead(configuration: Configuration, context: ProviderContext, signal: AbortSignal): Promise<void> {
  const { namespace, lease: name, identity, leaseDurationMs: durationMs } = configuration;
  const { reportNamespaces, checkIntervalMs, isBootstrapProvider } = configuration;
  const { api, versions, log, metrics } = context;
  const term = async (leading: AbortSignal): Promise<void> => {
    metrics.isLeader.set(1);
    const following = { resyncMs: RESYNC_MS, retryMs: RETRY_MS };
    await Promise.all([
      reconcile(context, { ...following, reportNamespaces, checkIntervalMs }, leading),
      copyConditions(api, versions, { ...following, namespaces: reportNamespaces }, leading, log, metrics),
      ...(isBootstrapProvider
        ? [provideBootstrap(context, { ...following, reportNamespaces, checkIntervalMs }, leading)]
        : []),
    ]);
    metrics.isLeader.set(0);
  };
  const options = { namespace, name, identity, durationMs, retryMs: Math.max(100, durationMs / 5) };
  await electLeader(api, options, term, signal, log);
}

async function listen(server: Server | TlsServer, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

async function close(server: Server | TlsServer): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}

/** Answers probes and Prometheus. `isReady` says whether admission requests are served. */
function healthServer(metrics: Metrics, isReady: () => boolean): Server {
  return createHttpServer((request, response) => {
    const answer = (status: number, text: string, type = 'text/plain; charset=utf-8') =>
      response.writeHead(status, { 'content-type': type }).end(text);
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET') answer(405, 'only GET is allowed\n');
    else if (path === '/healthz') answer(200, 'ok\n');
    else if (path === '/readyz') answer(isReady() ? 200 : 503, isReady() ? 'ok\n' : 'not ready\n');
    else if (path === '/metrics') {
      metrics.registry.metrics().then(
        (text) => answer(200, text, metrics.registry.contentType),
        () => answer(500, 'metrics failed\n'),
      );
    } else answer(404, 'not found\n');
  });
}

/** Certificate and key of a mounted Secret, as cert-manager and the kubelet keep them: read again for each rotation. */
async function readDirectory(directory: string): Promise<{ readonly certificate: string; readonly key: string }> {
  const [certificate, key] = await Promise.all([
    readFile(join(directory, 'tls.crt'), 'utf8'),
    readFile(join(directory, 'tls.key'), 'utf8'),
  ]);
  return { certificate, key };
}

/** When a certificate expires. */
function expiryOf(certificate: string): Date {
  return new X509Certificate(certificate).validToDate;
}
