import {
  all,
  any,
  given,
  is,
  type JsonSchema,
  must,
  not,
  text,
  textWithout,
  VARIABLE,
  when,
  without,
} from '../../fields/conditions.ts';
import { LINUX_ONLY_PARTS } from '../../host-parts/index.ts';
import { WINDOWS_PATH } from './platform.ts';

const HOOKS = ['early', 'beforeBootstrap', 'afterBootstrap'].map((phase) => `host.hooks.${phase}`);

/** Characters that names on NTFS must not contain; `:` is allowed only after the letter of a drive. */
const IMPOSSIBLE_PATH =
  /[<>"|?*]|[. ](?:[\\/]|$)|^\/[^:]*:|^[A-Za-z]:[^:]*:|[\\/](?:[Cc][Oo][Nn]|[Pp][Rr][Nn]|[Aa][Uu][Xx]|[Nn][Uu][Ll]|[Cc][Oo][Mm]\d|[Ll][Pp][Tt]\d)(?:\.[^\\/]*)?(?:[\\/]|$)/;

const windows = (): JsonSchema =>
  all(
    without(
      'containerRuntime',
      'images',
      'hardening',
      ...Object.keys(LINUX_ONLY_PARTS).map((name) => `host.${name}`),
      'host.services[].dropIns',
      'host.services[].absent',
      'host.files[].owner',
      'host.files[].unpack',
      'host.activeDirectory.keytab',
      'host.activeDirectory.servicePrincipals',
      'host.activeDirectory.kerberos',
      'host.activeDirectory.registerAddress',
      'host.activeDirectory.logins',
      'secrets.*.systemdCredential',
      'kubernetes.bootstrapper.exec',
      'kubernetes.node.addresses',
    ),
    must('host.swap', { const: 'Unmanaged' }),
    must('host.hostname', any(VARIABLE, all(text(/^[a-z0-9-]{1,15}$/), textWithout(/^\d+$/)))),
    ...HOOKS.map((hook) => must(`${hook}.shell`, { enum: ['powershell', 'cmd'] })),
    ...HOOKS.flatMap((hook) => [without(`${hook}.user`), must(`${hook}.commands[]`, { type: 'string' })]),
    must('host.hooks.early.frequency', { const: 'Once' }),
    must('host.activeDirectory.onReset', { const: 'Keep' }),
    must('host.files[].mode', text(/^0?(?:600|700|644|755)$/)),
    must('host.files[].directoryMode', text(/^0?(?:700|755)$/)),
    must('host.files[].path', any(VARIABLE, textWithout(IMPOSSIBLE_PATH))),
    must('variables.*.instanceData', text(/^(?:v1\.|ds\.meta[-_]data\.)?(?:local[-_])?hostname$/)),
    must('kubernetes.role', { const: 'Worker' }),
    must('kubernetes.node.criSocket', textWithout(/^unix:/)),
    must('reporting.sinks[].type', not({ enum: ['Journal', 'SystemdNotify'] })),
  );

const linux = (): JsonSchema =>
  all(
    ...['host.files[].path', 'secrets.*.file'].map((path) => must(path, any(VARIABLE, textWithout(WINDOWS_PATH)))),
    must('host.files[].contentFrom.file', textWithout(WINDOWS_PATH)),
    ...HOOKS.flatMap((hook) => [
      must(`${hook}.shell`, { enum: ['sh', 'bash'] }),
      must(`${hook}.workingDirectory`, textWithout(WINDOWS_PATH)),
    ]),
    must('reporting.sinks[].type', not({ const: 'WindowsEventLog' })),
  );

const driver = (name: string): JsonSchema => any(VARIABLE, { const: name });

/** The kubelet has the cgroup driver of the container runtime. */
const sameDriver = (name: string): JsonSchema =>
  all(
    must('kubernetes.node.kubelet.config.cgroupDriver', driver(name)),
    must('kubernetes.node.kubelet.args[]', when(is('name', 'cgroup-driver'), given('value', driver(name)))),
  );

/** What the document as a whole demands, as far as a JSON Schema can judge it: `checkPlatform`, `checkContainerd`, `checkHardening`. */
export function documentConditions(): readonly JsonSchema[] {
  return [
    when(is('host.platform', 'Windows'), windows(), linux()),
    when(
      given('containerRuntime.containerd'),
      when(is('containerRuntime.containerd.cgroupDriver', 'cgroupfs'), sameDriver('cgroupfs'), sameDriver('systemd')),
    ),
    when(given('kubernetes.bootstrapper.exec'), must('hardening.profiles[]', { const: 'cis-os' })),
  ];
}
