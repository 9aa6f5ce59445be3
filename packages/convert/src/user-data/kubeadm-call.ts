import { programOf } from '../shell/programs.ts';
import { commandsIn, type ShellWord, type SimpleCommand } from '../shell/scanner.ts';
import { isMap } from '../values/map.ts';

/** A command that runs `kubeadm init` or `kubeadm join`, and what its flags say in kubeadm's own configuration. */
export interface KubeadmCall {
  readonly verb: 'init' | 'join';
  readonly command: SimpleCommand;
  /** The path of --config. */
  readonly path: string | undefined;
  readonly verbosity: number | undefined;
  /** Parts of the configurations by their kind. */
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Why it cannot be fields of a document; undefined where it can. */
  readonly obstacle: string | undefined;
  /** True: a function of the shell with this name would take its place. */
  readonly isPlain: boolean;
}

type Put = (value: string) => Readonly<Record<string, unknown>>;

const init =
  (...path: readonly string[]): Put =>
  (value) => ({ InitConfiguration: nested(path, value) });
const join =
  (...path: readonly string[]): Put =>
  (value) => ({ JoinConfiguration: nested(path, value) });
const cluster =
  (...path: readonly string[]): Put =>
  (value) => ({ ClusterConfiguration: nested(path, value) });
const listed =
  (put: (list: readonly string[]) => Readonly<Record<string, unknown>>): Put =>
  (value) =>
    put(value.split(','));

/** Flags with a value (k/k cmd/kubeadm/app/cmd/{init,join}.go, cmd/options). */
const INIT: Readonly<Record<string, Put>> = {
  'apiserver-advertise-address': init('localAPIEndpoint', 'advertiseAddress'),
  'apiserver-bind-port': (value) => ({ InitConfiguration: { localAPIEndpoint: { bindPort: Number(value) } } }),
  'apiserver-cert-extra-sans': listed((certSANs) => ({ ClusterConfiguration: { apiServer: { certSANs } } })),
  'cert-dir': cluster('certificatesDir'),
  'certificate-key': init('certificateKey'),
  'control-plane-endpoint': cluster('controlPlaneEndpoint'),
  'cri-socket': init('nodeRegistration', 'criSocket'),
  'feature-gates': (value) => ({
    ClusterConfiguration: {
      featureGates: Object.fromEntries(
        value.split(',').map((gate) => [gate.split('=', 1)[0] ?? '', gate.endsWith('=true')]),
      ),
    },
  }),
  'ignore-preflight-errors': listed((ignorePreflightErrors) => ({
    InitConfiguration: { nodeRegistration: { ignorePreflightErrors } },
  })),
  'image-repository': cluster('imageRepository'),
  'kubernetes-version': cluster('kubernetesVersion'),
  'node-name': init('nodeRegistration', 'name'),
  patches: init('patches', 'directory'),
  'pod-network-cidr': cluster('networking', 'podSubnet'),
  'service-cidr': cluster('networking', 'serviceSubnet'),
  'service-dns-domain': cluster('networking', 'dnsDomain'),
  'skip-phases': listed((skipPhases) => ({ InitConfiguration: { skipPhases } })),
  token: (token) => ({ InitConfiguration: { bootstrapTokens: [{ token }] } }),
};
const JOIN: Readonly<Record<string, Put>> = {
  'apiserver-advertise-address': join('controlPlane', 'localAPIEndpoint', 'advertiseAddress'),
  'apiserver-bind-port': (value) => ({
    JoinConfiguration: { controlPlane: { localAPIEndpoint: { bindPort: Number(value) } } },
  }),
  'certificate-key': join('controlPlane', 'certificateKey'),
  'cri-socket': join('nodeRegistration', 'criSocket'),
  'discovery-file': join('discovery', 'file', 'kubeConfigPath'),
  'discovery-token': join('discovery', 'bootstrapToken', 'token'),
  'discovery-token-ca-cert-hash': listed((caCertHashes) => ({
    JoinConfiguration: { discovery: { bootstrapToken: { caCertHashes } } },
  })),
  'ignore-preflight-errors': listed((ignorePreflightErrors) => ({
    JoinConfiguration: { nodeRegistration: { ignorePreflightErrors } },
  })),
  'node-name': join('nodeRegistration', 'name'),
  patches: join('patches', 'directory'),
  'skip-phases': listed((skipPhases) => ({ JoinConfiguration: { skipPhases } })),
  'tls-bootstrap-token': join('discovery', 'tlsBootstrapToken'),
  token: join('discovery', 'bootstrapToken', 'token'),
};
/** Flags without one. */
const SWITCHES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'skip-certificate-key-print': {},
  'skip-token-print': {},
  // With a certificate key machineadm gives the flag, too; without one it has no use: the key would be printed.
  'upload-certs': {},
  'control-plane': { JoinConfiguration: { controlPlane: {} } },
  'discovery-token-unsafe-skip-ca-verification': {
    JoinConfiguration: { discovery: { bootstrapToken: { unsafeSkipCAVerification: true } } },
  },
};
/** Known flags with a value that no field has. */
const OTHERS = new Set(['config', 'v', 'kubeconfig', 'rootfs', 'token-ttl', 'experimental-patches']);

/** The calls of kubeadm in a text of a shell, also in `sh -c TEXT`. */
export function kubeadmCalls(text: string): readonly KubeadmCall[] {
  return commandsIn(text).flatMap((command) => {
    const program = programOf(command);
    if (program === undefined) return [];
    const call = program.name === 'kubeadm' ? readCall(command, program.args, program.hasEnvironment) : undefined;
    if (call !== undefined) return [call];
    const inner = innerText(program.name, program.args);
    // Text of another shell: only that it runs kubeadm is of interest.
    const obstacle = 'it is run by another shell';
    return inner === undefined ? [] : kubeadmCalls(inner).map((one) => ({ ...one, command, obstacle, isPlain: false }));
  });
}

/** The text that a command gives to another shell. */
export function innerText(name: string, args: readonly ShellWord[]): string | undefined {
  if (name === 'eval') return args.map(({ text }) => text).join(' ');
  if (!/^(?:ba|da|k|z)?sh$|^su$/.test(name)) return undefined;
  const option = args.findIndex(({ text }) => /^-[a-z]{0,9}c$/.test(text));
  return option < 0 ? undefined : args[option + 1]?.text;
}

function readCall(
  command: SimpleCommand,
  args: readonly ShellWord[],
  hasEnvironment: boolean,
): KubeadmCall | undefined {
  let verb: 'init' | 'join' | undefined;
  let obstacle: string | undefined = hasEnvironment ? 'variables are set for it' : undefined;
  const flags: (readonly [string, string])[] = [];
  const positional: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const word = args[index];
    if (word === undefined) break;
    if (word.isExpanded) obstacle ??= 'the shell completes its arguments';
    if (!word.text.startsWith('-')) {
      if (verb === undefined && (word.text === 'init' || word.text === 'join')) verb = word.text;
      // It may be either; a call with an obstacle becomes no field.
      else if (verb === undefined && word.isExpanded) verb = 'join';
      else if (verb === undefined) return undefined;
      else positional.push(word.text);
      continue;
    }
    const flag = word.text.slice(word.text.startsWith('--') ? 2 : 1);
    const equals = flag.indexOf('=');
    const name = equals < 0 ? flag : flag.slice(0, equals);
    if (equals >= 0 || Object.hasOwn(SWITCHES, name)) flags.push([name, equals < 0 ? 'true' : flag.slice(equals + 1)]);
    else if (isValued(name)) {
      index++;
      if (args[index]?.isExpanded === true) obstacle ??= 'the shell completes its arguments';
      flags.push([name, args[index]?.text ?? '']);
    } else {
      flags.push([name, 'true']);
    }
  }
  if (verb === undefined) return undefined;
  const parts = flags.flatMap(([name, value]): Readonly<Record<string, unknown>>[] => {
    if (name === 'config' || name === 'v') return [];
    const put = (verb === 'init' ? INIT : JOIN)[name];
    if (put !== undefined && Object.hasOwn(verb === 'init' ? INIT : JOIN, name)) return [put(value)];
    const isSwitch = Object.hasOwn(SWITCHES, name) && value === 'true';
    if (!isSwitch) obstacle ??= `no field has its flag --${/^[a-z-]{1,60}$/.test(name) ? name : '…'}`;
    return [isSwitch ? (SWITCHES[name] ?? {}) : {}];
  });
  const [endpoint, ...more] = positional;
  if (endpoint !== undefined && (verb === 'init' || more.length > 0)) obstacle ??= 'it has arguments beside its flags';
  if (endpoint !== undefined && verb === 'join') {
    parts.push({ JoinConfiguration: { discovery: { bootstrapToken: { apiServerEndpoint: endpoint } } } });
  }
  const value = (wanted: string): string | undefined => flags.findLast(([name]) => name === wanted)?.[1];
  const verbosity = value('v');
  return {
    verb,
    command,
    path: value('config'),
    verbosity: verbosity === undefined || !/^\d{1,2}$/.test(verbosity) ? undefined : Number(verbosity),
    configuration: parts.reduce<Readonly<Record<string, unknown>>>((all, part) => merged(all, part), {}),
    obstacle,
    isPlain: command.words[0]?.text === 'kubeadm',
  };
}

function isValued(name: string): boolean {
  return Object.hasOwn(INIT, name) || Object.hasOwn(JOIN, name) || OTHERS.has(name);
}

function nested(path: readonly string[], value: unknown): Readonly<Record<string, unknown>> {
  const [name = '', ...below] = path;
  return { [name]: below.length === 0 ? value : nested(below, value) };
}

/** Maps member by member, lists one after the other. */
export function merged(
  one: Readonly<Record<string, unknown>>,
  other: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const result: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = Object.hasOwn(one, name) ? one[name] : undefined;
    if (isMap(before) && isMap(value)) result[name] = merged(before, value);
    else if (Array.isArray(before) && Array.isArray(value)) result[name] = [...new Set<unknown>([...before, ...value])];
    else result[name] = value;
  }
  return result;
}

/** Whether a text of any language names a call of kubeadm: what no reader here understands may still run it. */
export function namesKubeadm(text: string): boolean {
  return /\bkubeadm(?:\.exe)?["']?(?:,?\s{1,20}["']?-{1,2}[\w=-]{1,40}){0,4},?\s{1,20}["']?(?:init|join)\b(?![-\w])/.test(
    text,
  );
}
