import type { Server } from 'node:http';
import { createServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { recordOutcome } from '../admission/record.ts';
import { admissionListener } from '../admission/server.ts';
import { readDirectory } from '../certificates/directory.ts';
import { expiryOf, SelfManagedCertificate } from '../certificates/self-managed.ts';
import type { Api } from '../cluster/api.ts';
import { ServedVersions } from '../cluster/related.ts';
import type { Conversions } from '../conversion-worker.ts';
import { copyConditions } from '../reports/copier.ts';
import type { Configuration } from './configuration.ts';
import { healthServer } from './health.ts';
import { electLeader, pause } from './leader.ts';
import { errorText, type Log } from './log.ts';
import { type Metrics, newMetrics } from './metrics.ts';
import { profilesFrom } from './profiles-file.ts';

/** How often a replica looks for a rotated certificate, and the leader whether one is due. */
const CERTIFICATE_INTERVAL_MS = 10_000;
const RETRY_MS = 2_000;
const RESYNC_MS = 600_000;
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

  const certificates = certificateSource(configuration, api);
  const first = await untilLoaded(certificates.load, signal, log);
  if (first === undefined) {
    await close(health);
    return undefined;
  }
  const server = createServer({ cert: first.certificate, key: first.key, minVersion: 'TLSv1.2' });
  const recording = new Set<Promise<void>>();
  const translator = { api, versions, profiles: profilesFrom(configuration.profiles), version, conversions };
  const listener = admissionListener(translator, { deadlineMs: configuration.deadlineMs }, log, metrics, (outcome) => {
    const done = recordOutcome(api, outcome)
      .catch((error: unknown) => {
        metrics.recordErrors.inc();
        log('warn', 'outcome not recorded', { error: errorText(error) });
      })
      .finally(() => recording.delete(done));
    recording.add(done);
  });
  server.on('request', listener);
  // A connection that sends nothing must not stay: the API server keeps its own alive for 90 s.
  server.headersTimeout = 10_000;
  server.requestTimeout = 30_000;
  const webhookPort = await listen(server, configuration.webhookPort, configuration.bindAddress);
  metrics.certificateExpiry.set(expiryOf(first.certificate).getTime() / 1000);
  isReady = true;
  log('info', 'ready', { version, webhookPort, healthPort });

  const work = [
    rotate(server, first, certificates.load, ended.signal, log, metrics),
    lead(configuration, api, versions, certificates.maintain, ended.signal, log, metrics),
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
      await Promise.all(recording);
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
}

interface CertificateSource {
  readonly load: () => Promise<Loaded>;
  /** For the leader; undefined = another program renews it. */
  readonly maintain: ((pause: (milliseconds: number) => Promise<void>) => Promise<boolean>) | undefined;
}

function certificateSource(configuration: Configuration, api: Api): CertificateSource {
  const { certificateDirectory } = configuration;
  if (certificateDirectory !== undefined) {
    return { load: () => readDirectory(certificateDirectory), maintain: undefined };
  }
  const own = new SelfManagedCertificate(api, {
    namespace: configuration.namespace,
    secretName: configuration.certificateSecret,
    webhookConfiguration: configuration.webhookConfiguration,
    dnsNames: configuration.dnsNames,
    lifetimeMs: configuration.certificateLifetimeMs,
    overlapMs: configuration.certificateOverlapMs,
  });
  return { load: () => own.current(), maintain: (wait) => own.maintain(wait) };
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
      if (loaded.certificate === served.certificate && loaded.key === served.key) continue;
      server.setSecureContext({ cert: loaded.certificate, key: loaded.key, minVersion: 'TLSv1.2' });
      served = loaded;
      metrics.certificateExpiry.set(expiryOf(loaded.certificate).getTime() / 1000);
      log('info', 'certificate rotated');
    } catch (error) {
      log('warn', 'certificate not read', { error: errorText(error) });
    }
  }
}

/** What one replica does at a time: the certificate, and the conditions of machines. */
async function lead(
  configuration: Configuration,
  api: Api,
  versions: ServedVersions,
  maintain: CertificateSource['maintain'],
  signal: AbortSignal,
  log: Log,
  metrics: Metrics,
): Promise<void> {
  const { namespace, lease: name, identity, leaseDurationMs: durationMs, reportNamespaces } = configuration;
  const term = async (leading: AbortSignal): Promise<void> => {
    metrics.isLeader.set(1);
    const copying = { namespaces: reportNamespaces, resyncMs: RESYNC_MS, retryMs: RETRY_MS };
    await Promise.all([
      copyConditions(api, versions, copying, leading, log, metrics),
      maintain === undefined ? undefined : keepCertificate(maintain, leading, log),
    ]);
    // It leads even if it has nothing to copy and another program renews the certificate.
    while (!leading.aborted) await pause(RESYNC_MS, leading);
    metrics.isLeader.set(0);
  };
  const options = { namespace, name, identity, durationMs, retryMs: Math.max(100, durationMs / 5) };
  await electLeader(api, options, term, signal, log);
}

async function keepCertificate(
  maintain: NonNullable<CertificateSource['maintain']>,
  signal: AbortSignal,
  log: Log,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const isRenewed = await maintain(async (milliseconds) => {
        await pause(milliseconds, signal);
        signal.throwIfAborted();
      });
      if (isRenewed) log('info', 'certificate renewed');
    } catch (error) {
      if (!signal.aborted) log('warn', 'certificate not maintained', { error: errorText(error) });
    }
    await pause(CERTIFICATE_INTERVAL_MS, signal);
  }
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
