import { parse, stringify } from 'smol-toml';
import { parse as parseYaml } from 'yaml';
import { EVERYTHING } from './all-cases.ts';
import type { MemoryHost, MemoryMachine } from './memory-host.ts';
import { APPARMOR, apparmorParser, PROFILE, SELINUX, SELINUX_PROGRAMS } from './security-modules.ts';
import { wholeMachine } from './whole-machine.ts';

const ROUTES =
  'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t0100000A\t0003\t0\t0\t0\t0\n';

const KUBERNETES = {
  version: 'v1.34.1',
  role: 'InitControlPlane',
  controlPlane: {
    apiServer: { audit: { log: {}, policy: { rules: [{ level: 'None' }] } } },
    staticPods: [{ name: 'kube-vip', manifest: 'apiVersion: v1\nkind: Pod\nmetadata: {name: kube-vip}\n' }],
  },
};

const written: { readonly host: object; readonly secrets: object } = parseYaml(EVERYTHING);

/** The same with a domain, hooks for every boot and Kubernetes: a document that manages everything which one can. */
export const WHOLE_DOCUMENT = {
  ...written,
  host: {
    ...written.host,
    apparmor: { profiles: [{ name: 'k8s-nginx', content: PROFILE }] },
    activeDirectory: {
      domain: 'corp.example.com',
      credentials: { user: 'joiner', password: { secret: 'token' } },
      logins: { allowedGroups: ['admins'] },
    },
    hooks: { early: { frequency: 'Always', commands: ['true'] } },
  },
  kubernetes: KUBERNETES,
};

/** Whose document has early hooks for the boots to come. */
export const AT_EVERY_BOOT = 'host:\n  hooks: {early: {frequency: Always, commands: ["true"]}}\n';

/** A machine with all that the documents above need, and with more. */
export function driftMachine(
  more: Pick<MemoryMachine, 'files' | 'kernelFiles' | 'services' | 'programs' | 'http'> = {},
): MemoryHost {
  return wholeMachine({
    files: {
      [SELINUX.config]: 'SELINUX=permissive\nSELINUXTYPE=targeted\n',
      [SELINUX.boolean]: '0 0',
      '/var/lib/selinux/targeted/active/x': '',
      [APPARMOR.enabled]: 'Y\n',
      [APPARMOR.loaded]: '',
      '/proc/net/route': ROUTES,
      '/etc/app/lines.conf': 'theirs\n',
      '/etc/app/block.conf': 'theirs\n',
      '/srv/app/in/file': 'x',
      ...more.files,
    },
    http: more.http ?? (() => ({ body: 'tool\n' })),
    kernelFiles: { [SELINUX.enforce]: '0', ...more.kernelFiles },
    services: { 'systemd-networkd': { active: true, enabled: true }, ...more.services },
    programs: {
      ...SELINUX_PROGRAMS,
      apparmor_parser: apparmorParser,
      networkctl: () => ({}),
      containerd: ({ input }) => ({ stdout: typeof input === 'string' ? stringify(parse(input)) : '' }),
      runc: () => ({}),
      'containerd-shim-runc-v2': () => ({}),
      ...more.programs,
    },
  });
}
