import { createHash } from 'node:crypto';
import { answered, type StandIn, type WindowsState } from './windows-stand-ins.ts';

/**
 * What Windows answers to the scripts of name, time, environment, trust and processes. Composed: Win32_ComputerSystem, the
 * registry and System.Security.Cryptography.X509Certificates as Microsoft Learn describes them.
 */
export function systemStandIns(state: WindowsState): readonly (readonly [string, StandIn])[] {
  const { time, environment } = state;
  return [
    [
      'rename-computer',
      (input) => {
        const { name } = JSON.parse(input) as { name: string };
        // ERROR_ACCESS_DENIED: a member of a domain is renamed with an account of the domain only.
        if (state.partOfDomain) return answered('rename-computer', { code: 5, pending: state.pendingHostname });
        state.pendingHostname = name.toUpperCase();
        state.atNextBoot.push((booted) => {
          booted.hostname = name;
        });
        return answered('rename-computer', { code: 0, pending: state.pendingHostname });
      },
    ],
    ['read-time', () => answered('read-time', { ...time })],
    [
      'write-time',
      (input) => {
        time.servers = (JSON.parse(input) as { servers: string }).servers;
        time.type = 'NTP';
        return answered('write-time', { ...time });
      },
    ],
    ['read-environment', (input) => answered('read-environment', environmentOf(state, input))],
    [
      'write-service-environment',
      (input) => {
        const { service, lines } = JSON.parse(input) as { service: string; lines: string[] };
        environment.services[service] = lines;
        return answered('write-service-environment', { lines });
      },
    ],
    [
      'write-machine-environment',
      (input) => {
        const { variables } = JSON.parse(input) as { variables: { name: string; value: string | null }[] };
        for (const { name, value } of variables) {
          if (value === null) delete environment.machine[name];
          else environment.machine[name] = value;
        }
        return answered('write-machine-environment', { written: variables.map(({ name }) => name) });
      },
    ],
    ['read-authorities', () => answered('read-authorities', state.authorities.map(described))],
    [
      'change-authorities',
      (input) => {
        const { add, remove } = JSON.parse(input) as { add: { der: string; name: string }[]; remove: string[] };
        const left = state.authorities.filter((one) => !remove.includes(described(one).thumbprint));
        state.authorities = [...left, ...add];
        return answered('change-authorities', { count: state.authorities.length });
      },
    ],
    [
      'end-processes',
      (input) => {
        const { processes } = JSON.parse(input) as { processes: { pid: number }[] };
        const ended = processes.map(({ pid }) => ({ pid, ...(state.processes[pid] ?? { name: '', state: 'gone' }) }));
        return answered('end-processes', ended);
      },
    ],
  ];
}

function environmentOf({ environment, services }: WindowsState, input: string) {
  const request = JSON.parse(input) as { services: string[]; names: string[] };
  const machine = Object.fromEntries(request.names.map((name) => [name, environment.machine[name] ?? null]));
  const found = request.services.map((name) => ({
    name,
    exists: services[name] !== undefined,
    lines: environment.services[name] ?? [],
  }));
  return { machine, services: found };
}

function described({ der, name }: { readonly der: string; readonly name: string }) {
  const digest = (algorithm: string) => createHash(algorithm).update(Buffer.from(der, 'base64')).digest('hex');
  return { sha256: digest('sha256'), thumbprint: digest('sha1').toUpperCase(), name };
}
