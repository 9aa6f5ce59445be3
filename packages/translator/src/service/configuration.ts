import { parseArgs } from 'node:util';
import { errorMessage } from '@machineadm/document/errors.ts';
import * as z from 'zod';
import { DEFAULT_LIFETIME_MS } from '../certificates/self-managed.ts';

const HELP = `usage: machineadm-translator [options]

  --kubeconfig FILE             default: the cluster that this pod runs in
  --namespace NAME              of the translator's own objects (default: $POD_NAMESPACE)
  --identity NAME               of this replica (default: $POD_NAME)
  --profiles FILE               profiles of machines, in YAML; read again when it changes
  --report-namespace NAME       copy reports of machines in this namespace to their Machines; repeat for several
  --bind-address ADDRESS        default: ::
  --webhook-port PORT           default: 9443
  --health-port PORT            /healthz, /readyz and /metrics (default: 8080)
  --certificate-directory DIR   tls.crt and tls.key, for example of cert-manager; without it the translator makes its own
  --dns-name NAME               in the certificate that it makes; repeat for several (default: the Service machineadm-translator)
  --certificate-secret NAME     that holds this certificate (default: machineadm-translator-tls)
  --certificate-lifetime TIME   of the certificate that it makes, in seconds (default: 7776000)
  --certificate-overlap TIME    between a new authority and its first use, in seconds (default: 60)
  --webhook-configuration NAME  whose caBundle it keeps up to date (default: machineadm-translator)
  --lease NAME                  that elects the leader (default: machineadm-translator)
  --lease-duration TIME         after which another replica takes over, in seconds (default: 15)
  --deadline TIME               of a translation, in seconds; shorter than the webhook's timeout (default: 8)
  --shutdown-delay TIME         between SIGTERM and the last connection, in seconds (default: 5)
  --version, --help
`;

export interface Configuration {
  readonly kubeconfig: string | undefined;
  readonly namespace: string;
  readonly identity: string;
  readonly profiles: string | undefined;
  readonly reportNamespaces: readonly string[];
  readonly bindAddress: string;
  readonly webhookPort: number;
  readonly healthPort: number;
  /** undefined = self-managed. */
  readonly certificateDirectory: string | undefined;
  readonly dnsNames: readonly string[];
  readonly certificateSecret: string;
  readonly certificateLifetimeMs: number;
  readonly certificateOverlapMs: number;
  readonly webhookConfiguration: string;
  readonly lease: string;
  readonly leaseDurationMs: number;
  readonly deadlineMs: number;
  readonly shutdownDelayMs: number;
}

export type CommandLine =
  | { readonly kind: 'run'; readonly configuration: Configuration }
  | { readonly kind: 'print'; readonly text: string }
  | { readonly kind: 'usage'; readonly message: string };

const SERVICE = 'machineadm-translator';
const text = { type: 'string' } as const;
const list = { type: 'string', multiple: true } as const;

const Name = z.string().regex(/^[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?$/, 'is not the name of an object');
const Port = z.coerce.number().int().min(0).max(65_535);
const seconds = (fallback: number, least = 0) =>
  z.coerce
    .number()
    .min(least)
    .max(315_360_000)
    .default(fallback)
    .transform((value) => Math.round(value * 1000));

const Values = z.object({
  kubeconfig: z.string().optional(),
  namespace: Name,
  identity: z.string().min(1),
  profiles: z.string().optional(),
  'report-namespace': z.array(Name).default([]),
  'bind-address': z.string().default('::'),
  'webhook-port': Port.default(9443),
  'health-port': Port.default(8080),
  'certificate-directory': z.string().optional(),
  'dns-name': z.array(z.string()).optional(),
  'certificate-secret': Name.default(`${SERVICE}-tls`),
  'certificate-lifetime': seconds(DEFAULT_LIFETIME_MS / 1000, 1),
  'certificate-overlap': seconds(60),
  'webhook-configuration': Name.default(SERVICE),
  lease: Name.default(SERVICE),
  'lease-duration': seconds(15, 1),
  deadline: seconds(8, 0.001),
  'shutdown-delay': seconds(5),
});

/** Reads the command line of the translator. */
export function readCommandLine(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  version: string,
): CommandLine {
  let values: Readonly<Record<string, unknown>>;
  try {
    const names = Object.keys(Values.shape);
    const options = Object.fromEntries(
      names.map((name) => [name, name === 'dns-name' || name === 'report-namespace' ? list : text]),
    );
    const flags = { version: { type: 'boolean' }, help: { type: 'boolean' } } as const;
    ({ values } = parseArgs({ args: [...args], options: { ...options, ...flags }, allowPositionals: false }));
  } catch (error) {
    return { kind: 'usage', message: errorMessage(error) };
  }
  if (values.help === true) return { kind: 'print', text: HELP };
  if (values.version === true) return { kind: 'print', text: `machineadm-translator ${version}\n` };
  const fallbacks = { namespace: environment.POD_NAMESPACE, identity: environment.POD_NAME };
  const { success, data, error } = Values.safeParse({ ...fallbacks, ...values });
  if (!success) {
    const messages = error.issues.map(({ path, message }) => `--${path[0]?.toString()}: ${message}`);
    return { kind: 'usage', message: [...new Set(messages)].join('; ') };
  }
  return { kind: 'run', configuration: configurationOf(data) };
}

function configurationOf(values: z.infer<typeof Values>): Configuration {
  const { namespace } = values;
  return {
    kubeconfig: values.kubeconfig,
    namespace,
    identity: values.identity,
    profiles: values.profiles,
    reportNamespaces: values['report-namespace'],
    bindAddress: values['bind-address'],
    webhookPort: values['webhook-port'],
    healthPort: values['health-port'],
    certificateDirectory: values['certificate-directory'],
    dnsNames: values['dns-name'] ?? [`${SERVICE}.${namespace}.svc`, `${SERVICE}.${namespace}.svc.cluster.local`],
    certificateSecret: values['certificate-secret'],
    certificateLifetimeMs: values['certificate-lifetime'],
    certificateOverlapMs: values['certificate-overlap'],
    webhookConfiguration: values['webhook-configuration'],
    lease: values.lease,
    leaseDurationMs: values['lease-duration'],
    deadlineMs: values.deadline,
    shutdownDelayMs: values['shutdown-delay'],
  };
}
