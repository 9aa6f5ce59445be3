import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import * as z from 'zod';
import { CALLER_PROOFS, type CallerProof } from '../admission/caller.ts';

const HELP = `usage: machineadm-translator [options]

  --kubeconfig FILE             default: the cluster that this pod runs in
  --namespace NAME              of the translator's own objects (default: $POD_NAMESPACE)
  --identity NAME               of this replica (default: $POD_NAME)
  --profiles FILE               profiles of machines, in YAML; read again when it changes, may be missing
  --report-namespace NAME       machines in this namespace may report to this cluster; repeat for several
  --caller PROOF                how the API server proves that it calls: ClientCertificate, FrontProxy, Token,
                                or Unauthenticated (default): then no credential and no secret leaves in an answer
  --caller-ca FILE              authorities of client certificates of the API server
  --caller-name NAME            common name of the certificate, or user of the token; repeat for several
  --provider-user NAME          user whose Secrets are translated; repeat for several
                                (default: the service account of the kubeadm bootstrap provider, as clusterctl installs it)
  --update-image NAME           update machines in place for Cluster API too, with pods of this image of machineadm
                                (default: off)
  --bootstrap-provider          be the bootstrap provider of MachineadmConfig too (default: off)
  --bind-address ADDRESS        default: ::
  --webhook-port PORT           default: 9443
  --health-port PORT            /healthz, /readyz and /metrics (default: 8080)
  --certificate-directory DIR   tls.crt and tls.key (default: /etc/machineadm-translator/tls)
  --lease NAME                  that elects the leader (default: machineadm-translator)
  --lease-duration TIME         after which another replica takes over, in seconds (default: 15)
  --deadline TIME               of a translation, in seconds; shorter than the webhook's timeout (default: 8)
  --budget TIME                 how long one conversion may run, in seconds (default: 3)
  --workers N                   conversions at the same time (default: the processors, at most 2)
  --check-interval TIME         between two checks of all Secrets, in seconds (default: 30)
  --shutdown-delay TIME         between SIGTERM and the last connection, in seconds (default: 5)
  --version, --help
`;

export interface Configuration {
  readonly kubeconfig: string | undefined;
  readonly namespace: string;
  readonly identity: string;
  readonly profiles: string | undefined;
  readonly reportNamespaces: readonly string[];
  readonly caller: CallerProof;
  readonly callerAuthorities: string | undefined;
  readonly callerNames: readonly string[];
  readonly providerUsers: readonly string[];
  /** undefined = no machine is updated in place. */
  readonly updateImage: string | undefined;
  readonly isBootstrapProvider: boolean;
  readonly bindAddress: string;
  readonly webhookPort: number;
  readonly healthPort: number;
  readonly certificateDirectory: string;
  readonly lease: string;
  readonly leaseDurationMs: number;
  readonly deadlineMs: number;
  readonly budgetMs: number;
  readonly workers: number;
  readonly checkIntervalMs: number;
  readonly shutdownDelayMs: number;
}

export type CommandLine =
  | { readonly kind: 'run'; readonly configuration: Configuration }
  | { readonly kind: 'print'; readonly text: string }
  | { readonly kind: 'usage'; readonly message: string };

const SERVICE = 'machineadm-translator';
const text = { type: 'string' } as const;
const list = { type: 'string', multiple: true } as const;
const FLAG = 'bootstrap-provider';
const LISTS: ReadonlySet<string> = new Set(['report-namespace', 'caller-name', 'provider-user']);
/** The account of the kubeadm bootstrap provider, as clusterctl installs it. */
const PROVIDER = 'system:serviceaccount:capi-kubeadm-bootstrap-system:capi-kubeadm-bootstrap-manager';

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
  caller: z.enum(CALLER_PROOFS).default('Unauthenticated'),
  'caller-ca': z.string().optional(),
  'caller-name': z.array(z.string().min(1)).default([]),
  'provider-user': z.array(z.string().min(1)).default([PROVIDER]),
  'update-image': z.string().min(1).optional(),
  [FLAG]: z.boolean().default(false),
  'bind-address': z.string().default('::'),
  'webhook-port': Port.default(9443),
  'health-port': Port.default(8080),
  'certificate-directory': z.string().default('/etc/machineadm-translator/tls'),
  lease: Name.default(SERVICE),
  'lease-duration': seconds(15, 1),
  deadline: seconds(8, 0.001),
  budget: seconds(3, 0.001),
  workers: z.coerce.number().int().min(1).max(16).default(Math.min(2, availableParallelism())),
  'check-interval': seconds(30, 0.1),
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
    const options = Object.fromEntries(names.map((name) => [name, LISTS.has(name) ? list : text]));
    const flags = { version: { type: 'boolean' }, help: { type: 'boolean' }, [FLAG]: { type: 'boolean' } } as const;
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
  const problem = callerProblem(data);
  if (problem !== undefined) return { kind: 'usage', message: problem };
  return { kind: 'run', configuration: configurationOf(data) };
}

/** Options without which a proof would be none. */
function callerProblem(values: z.infer<typeof Values>): string | undefined {
  const { caller } = values;
  if (caller === 'ClientCertificate' && values['caller-ca'] === undefined) {
    return '--caller ClientCertificate needs --caller-ca';
  }
  if ((caller === 'ClientCertificate' || caller === 'Token') && values['caller-name'].length === 0) {
    return `--caller ${caller} needs --caller-name`;
  }
  return undefined;
}

function configurationOf(values: z.infer<typeof Values>): Configuration {
  return {
    kubeconfig: values.kubeconfig,
    namespace: values.namespace,
    identity: values.identity,
    profiles: values.profiles,
    reportNamespaces: values['report-namespace'],
    caller: values.caller,
    callerAuthorities: values['caller-ca'],
    callerNames: values['caller-name'],
    providerUsers: values['provider-user'],
    updateImage: values['update-image'],
    isBootstrapProvider: values[FLAG],
    bindAddress: values['bind-address'],
    webhookPort: values['webhook-port'],
    healthPort: values['health-port'],
    certificateDirectory: values['certificate-directory'],
    lease: values.lease,
    leaseDurationMs: values['lease-duration'],
    deadlineMs: values.deadline,
    budgetMs: values.budget,
    workers: values.workers,
    checkIntervalMs: values['check-interval'],
    shutdownDelayMs: values['shutdown-delay'],
  };
}
