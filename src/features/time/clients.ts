import { TIME_SERVICES } from '@machineadm/document/ownership/paths.ts';
import type { QueryHost, ServiceState } from '../../host/seam/host.ts';
import {
  type ConfigurationFile,
  chronyConfiguration,
  ntpConfiguration,
  timesyncdConfiguration,
} from './configuration.ts';
import { type ClockReading, chronyReading, ntpReading, timesyncdReading } from './readings.ts';

/** A program that keeps the clock right. */
export interface TimeClient {
  /** What its service is called, by distribution; the first that is there counts, others are aliases of it. */
  readonly services: readonly string[];
  /** Its files with these servers; none = as the distribution had them. */
  configuration(host: QueryHost, servers: readonly string[]): Promise<readonly ConfigurationFile[]>;
  reading(host: QueryHost): Promise<ClockReading>;
}

/** In the order of preference where none of them runs. */
export const TIME_CLIENTS: readonly TimeClient[] = [
  // Debian and Ubuntu; RHEL, SUSE, Amazon.
  { services: TIME_SERVICES.chrony, configuration: chronyConfiguration, reading: chronyReading },
  {
    services: TIME_SERVICES.timesyncd,
    configuration: timesyncdConfiguration,
    reading: timesyncdReading,
  },
  // Debian 12 and later; Debian 11 and Ubuntu; RHEL 7, SUSE, Flatcar.
  { services: TIME_SERVICES.ntpd, configuration: ntpConfiguration, reading: ntpReading },
];

/** A client that is installed and can run, with its service. */
export interface InstalledClient {
  readonly client: TimeClient;
  readonly service: string;
  readonly state: ServiceState;
}

/** The clients that are installed, in order of preference: one that runs comes first. A masked one is not wanted. */
export async function installedClients(host: QueryHost): Promise<readonly InstalledClient[]> {
  const found = await Promise.all(
    TIME_CLIENTS.map(async (client) => {
      const looks = client.services.map(async (service) => ({ client, service, state: await host.service(service) }));
      return (await Promise.all(looks)).filter(({ state }) => state.exists && !state.masked).slice(0, 1);
    }),
  );
  return found.flat().toSorted((a, b) => Number(b.state.active) - Number(a.state.active));
}
