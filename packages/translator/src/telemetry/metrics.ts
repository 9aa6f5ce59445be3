import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics of the translator, as docs/cluster-api.md lists them. */
export interface Metrics {
  readonly registry: Registry;
  /** By `outcome` (Translated, Untouched, or the reason why the Secret was kept). */
  readonly admissions: Counter<'outcome'>;
  readonly admissionSeconds: Histogram;
  readonly rejectedRequests: Counter;
  readonly conditionsCopied: Counter;
  readonly copyErrors: Counter;
  readonly foreignReports: Counter;
  readonly checkErrors: Counter;
  readonly isLeader: Gauge;
  /** Unix time at which the certificate of the webhook expires. */
  readonly certificateExpiry: Gauge;
}

export function newMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const named = (name: string, help: string) => ({
    name: `machineadm_translator_${name}`,
    help,
    registers: [registry],
  });
  return {
    registry,
    admissions: new Counter({
      ...named('admissions_total', 'Admission requests for Secrets, by outcome.'),
      labelNames: ['outcome'],
    }),
    admissionSeconds: new Histogram({
      ...named('admission_duration_seconds', 'Time from the whole request to the answer.'),
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    }),
    rejectedRequests: new Counter(
      named(
        'rejected_requests_total',
        'Requests that were refused: not from the API server, too slow, too large, or no review.',
      ),
    ),
    checkErrors: new Counter(
      named(
        'check_errors_total',
        'Stored Secrets that could not be checked, and conditions that could not be written.',
      ),
    ),
    conditionsCopied: new Counter(
      named('conditions_copied_total', 'Reports whose conditions were written to a Machine.'),
    ),
    copyErrors: new Counter(named('copy_errors_total', 'Reports that could not be copied; each is tried again.')),
    foreignReports: new Counter(
      named('foreign_reports_total', 'ConfigMaps that look like a report and do not belong to their Machine.'),
    ),
    isLeader: new Gauge(named('leader', '1 on the replica that checks Secrets and copies reports.')),
    certificateExpiry: new Gauge(
      named('certificate_expiry_timestamp_seconds', 'When the certificate of the webhook expires, in Unix time.'),
    ),
  };
}
