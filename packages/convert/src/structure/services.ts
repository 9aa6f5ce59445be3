import type { ProxySection } from '@machineadm/document/host-parts/proxy.ts';
import type { ServicesSection } from '@machineadm/document/host-parts/services.ts';
import type { Lifting } from './lifting.ts';

/** Drop-ins of services, including the proxy, and the commands that activate them. */
export function liftServices(lifting: Lifting): void {
  liftProxy(lifting);
  liftDropIns(lifting);
  liftEnabled(lifting);
  // A remaining command may have made the change that another command activates.
  const left = (pattern: RegExp): boolean =>
    lifting.commands.some((command) => pattern.test(command) && !RESTARTS.test(command.trim()));
  const units = lifting.files.some(({ path }) => path.startsWith('/etc/systemd/system/')) || left(/systemd/);
  if (!units) lifting.takeCommands(/^systemctl\s+daemon-reload$/, 'done where a unit changed');
  const configuration = lifting.files.some(({ path }) => /^\/etc\/containerd\/(?!certs\.d\/)/.test(path));
  if (units || configuration || left(/\/etc\/containerd/)) return;
  lifting.takeCommands(RESTARTS, 'done where its configuration changed');
}

const RESTARTS = /^systemctl\s+(?:restart|reload-or-restart)\s+containerd(?:\.service)?$/;

const DROP_IN = /^\/etc\/systemd\/system\/([^/]+)\.service\.d\/([^/]+\.conf)$/;

type ProxyValues = Readonly<Record<'http' | 'https' | 'no', string | undefined>>;

/** Drop-ins that only set a proxy, for containerd and the kubelet; the same proxy for all of them. */
function liftProxy(lifting: Lifting): void {
  const found = lifting.files.flatMap((file) => {
    const service = DROP_IN.exec(file.path)?.[1];
    const values =
      service === 'containerd' || service === 'kubelet'
        ? proxyOf(lifting.textOf(file, { isPrivate: true }))
        : undefined;
    return values === undefined ? [] : [{ file, service, values }];
  });
  const [first] = found;
  if (first === undefined || lifting.host.proxy !== undefined) return;
  if (found.some(({ values }) => JSON.stringify(values) !== JSON.stringify(first.values))) return;
  const { http, https, no } = first.values;
  const services = (['containerd', 'kubelet'] as const).filter((name) => found.some(({ service }) => service === name));
  const proxy: ProxySection = {
    http,
    https,
    no:
      no === undefined
        ? undefined
        : no
            .split(',')
            .map((one) => one.trim())
            .filter((one) => one !== ''),
    for: [...services],
  };
  lifting.host = { ...lifting.host, proxy };
  for (const { file } of found) lifting.takeFile(file, 'host.proxy');
}

/** systemd.exec(5), Environment=: one or more assignments per line, quoted or not. */
function proxyOf(text: string | undefined): ProxyValues | undefined {
  const values: Record<'http' | 'https' | 'no', string | undefined> = {
    http: undefined,
    https: undefined,
    no: undefined,
  };
  for (const line of (text ?? '').split('\n').map((one) => one.trim())) {
    if (line === '' || line === '[Service]' || /^[#;]/.test(line)) continue;
    const rest = /^Environment=(.+)$/.exec(line)?.[1];
    if (rest === undefined) return undefined;
    for (const [, quoted, plain] of rest.matchAll(/"([^"]*)"|(\S+)/g)) {
      const [, name, value] = /^(https?|no)_proxy=(.*)$/i.exec(quoted ?? plain ?? '') ?? [];
      const key = name?.toLowerCase();
      if (value === undefined || (key !== 'http' && key !== 'https' && key !== 'no')) return undefined;
      // Upper and lower case are for different programs, and have the same meaning.
      if (values[key] !== undefined && values[key] !== value) return undefined;
      values[key] = value;
    }
  }
  return values.http === undefined && values.https === undefined ? undefined : values;
}

/** Other drop-ins become those of the service, which restarts after a change. */
function liftDropIns(lifting: Lifting): void {
  for (const file of lifting.files) {
    const [, service, name] = DROP_IN.exec(file.path) ?? [];
    const content = lifting.textOf(file);
    if (service === undefined || name === undefined || content === undefined) continue;
    change(lifting, service, (one) => ({ ...one, dropIns: [...(one.dropIns ?? []), { name, content }] }));
    lifting.takeFile(file, `host.services, a drop-in of ${service}`);
  }
}

function liftEnabled(lifting: Lifting): void {
  const commands = /^systemctl\s+(enable|disable|mask)\s+(--now\s+)?([A-Za-z0-9:_.@-]+)$/;
  for (const [, verb, now, unit = ''] of lifting.takeCommands(commands, 'host.services')) {
    const name = unit.replace(/\.service$/, '');
    const starts = verb === 'enable';
    const state = now === undefined ? {} : { state: starts ? ('Started' as const) : ('Stopped' as const) };
    change(lifting, name, (one) => ({
      ...one,
      ...(verb === 'mask' ? { masked: true } : { enabled: starts }),
      ...state,
    }));
  }
}

type Service = ServicesSection[number];

function change(lifting: Lifting, name: string, update: (service: Service) => Service): void {
  const services = lifting.host.services ?? [];
  const known = services.find((one) => one.name === name);
  const updated = update(known ?? { name });
  lifting.host = {
    ...lifting.host,
    services: known === undefined ? [...services, updated] : services.map((one) => (one === known ? updated : one)),
  };
}
