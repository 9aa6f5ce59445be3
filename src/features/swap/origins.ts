import type { QueryHost } from '../../host/seam/host.ts';

/** Something that turns swap on now or at every boot. */
export interface SwapOrigin {
  /** The unit or file. */
  readonly name: string;
  /** The service that is to be disabled; undefined for a file in which a line is to be removed. */
  readonly service: string | undefined;
  /** The line that turns swap on, as evidence. */
  readonly text: string;
}

/** systemd.unit(5): the first of these directories that has a unit wins. */
export const UNIT_DIRECTORIES = [
  '/etc/systemd/system',
  '/run/systemd/system',
  '/run/systemd/generator.early',
  '/run/systemd/generator',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
  '/run/systemd/generator.late',
];
/** Files that run at boot without being a unit: of systemd and sysvinit, OpenRC, and cron. */
const BOOT_SCRIPTS = ['/etc/rc.local', '/etc/rc.d/rc.local'];
const BOOT_SCRIPT_DIRECTORIES = ['/etc/local.d'];
const CRON_FILES = ['/etc/crontab', '/var/spool/cron/crontabs/root', '/var/spool/cron/root'];
const CRON_DIRECTORIES = ['/etc/cron.d'];
const RUNLEVELS = '/etc/runlevels';
const LONGEST_SCRIPT = 64 * 1024;

/** Options with which swapon(8) turns on nothing but what fstab has, from where the step takes it, or nothing at all. */
const HARMLESS = /^(?:-[a-zA-Z]*[ashV]|--(?:all|show|summary|version|help)(?:=.*)?)$/;

/** The line of a script that turns swap on; undefined where there is none. */
function swapLine(script: string): string | undefined {
  return script
    .split('\n')
    .map((line) => line.trim())
    .find((line) => !line.startsWith('#') && runsSwapon(line));
}

function runsSwapon(line: string): boolean {
  for (const [, words = ''] of line.matchAll(/(?:^|[\s;&|('"`/])swapon((?:\s+[^\s;&|)`]+)+)/g)) {
    if (
      !words
        .trim()
        .split(/\s+/)
        .some((word) => HARMLESS.test(word))
    )
      return true;
  }
  // swapspace(8) is a daemon that makes swap files as they are needed.
  return /^\S*\/swapspace(?:\s|$)/.test(line);
}

/**
 * What turns swap on at boot besides fstab, swap units and zram-generator: enabled services and boot scripts that run
 * swapon. Asks only, and only what is enabled.
 */
export async function swapOrigins(host: QueryHost): Promise<readonly SwapOrigin[]> {
  return [...(await fromUnits(host)), ...(await fromOpenrc(host)), ...(await fromScripts(host))];
}

async function fromUnits(host: QueryHost): Promise<readonly SwapOrigin[]> {
  const origins: SwapOrigin[] = [];
  for (const name of await enabledServices(host)) {
    const unit = await unitText(host, name);
    if (unit === undefined) continue;
    for (const command of commandsOf(unit)) {
      const line = swapLine(command) ?? (await scriptLine(host, command));
      if (line === undefined) continue;
      origins.push({ name, service: name.replace(/\.service$/, ''), text: line });
      break;
    }
  }
  return origins;
}

/** Names of services that a boot starts: what is wanted by something, and what an enabled timer, path or socket starts. */
async function enabledServices(host: QueryHost): Promise<readonly string[]> {
  const names = new Set<string>();
  for (const directory of UNIT_DIRECTORIES) {
    for (const entry of (await host.list(directory)) ?? []) {
      if (!/\.(wants|requires)$/.test(entry)) continue;
      for (const unit of (await host.list(`${directory}/${entry}`)) ?? []) {
        const service = unit.replace(/\.(timer|path|socket)$/, '.service');
        if (service.endsWith('.service')) names.add(service);
      }
    }
  }
  return [...names].sort();
}

async function unitText(host: QueryHost, name: string): Promise<string | undefined> {
  const template = name.includes('@') ? `${name.split('@')[0]}@.service` : name;
  for (const directory of UNIT_DIRECTORIES) {
    for (const file of new Set([name, template])) {
      const text = await host.readText(`${directory}/${file}`);
      if (text !== undefined) return text;
    }
  }
  return undefined;
}

/** ExecStart=, ExecStartPre= and ExecStartPost= of a unit, without the prefixes of systemd.service(5). */
function commandsOf(unit: string): readonly string[] {
  const lines = unit.replace(/\\\n/g, ' ').split('\n');
  return lines.flatMap((line) => /^\s*ExecStart(?:Pre|Post)?\s*=\s*[-@:+!|]*(.+)/.exec(line)?.[1] ?? []);
}

/** The line of the shell script that a command runs, if it is one. */
async function scriptLine(host: QueryHost, command: string): Promise<string | undefined> {
  const words = command.split(/\s+/);
  // `sh -c '…'` was read as it is; `sh /path` runs the path.
  const path = words.find((word) => word.startsWith('/') && !/\/(?:env|sh|bash|dash)$/.test(word));
  return path === undefined ? undefined : await scriptFileLine(host, path);
}

async function scriptFileLine(host: QueryHost, path: string): Promise<string | undefined> {
  const stat = await host.stat(path).catch(() => undefined);
  if (stat?.type !== 'file' && stat?.type !== 'symlink') return undefined;
  const bytes = await host.readRange(path, 0, LONGEST_SCRIPT).catch(() => undefined);
  const script = bytes === undefined ? '' : new TextDecoder().decode(bytes);
  return /^#!\s*\S*(?:\/|\s)(?:ba|da|a)?sh\b|^#!\/sbin\/openrc-run/.test(script) ? swapLine(script) : undefined;
}

async function fromOpenrc(host: QueryHost): Promise<readonly SwapOrigin[]> {
  const origins: SwapOrigin[] = [];
  for (const level of (await host.list(RUNLEVELS)) ?? []) {
    for (const service of (await host.list(`${RUNLEVELS}/${level}`)) ?? []) {
      const line = await scriptFileLine(host, `/etc/init.d/${service}`);
      if (line !== undefined) origins.push({ name: `/etc/init.d/${service}`, service, text: line });
    }
  }
  return origins;
}

async function fromScripts(host: QueryHost): Promise<readonly SwapOrigin[]> {
  const origins: SwapOrigin[] = [];
  const look = async (path: string, atBoot: (text: string) => string): Promise<void> => {
    const line = swapLine(atBoot((await host.readText(path)) ?? ''));
    if (line !== undefined) origins.push({ name: path, service: undefined, text: line });
  };
  for (const path of [...BOOT_SCRIPTS, ...(await entries(host, BOOT_SCRIPT_DIRECTORIES, /\.start$/))]) {
    // Only what may be executed is run (rc-local.service(8), local.d of OpenRC).
    if ((((await host.stat(path))?.mode ?? 0) & 0o111) !== 0) await look(path, (text) => text);
  }
  for (const path of [...CRON_FILES, ...(await entries(host, CRON_DIRECTORIES, /./))]) {
    await look(path, (text) =>
      text
        .split('\n')
        .filter((line) => /^\s*@reboot\s/.test(line))
        .join('\n'),
    );
  }
  return origins;
}

async function entries(host: QueryHost, directories: readonly string[], wanted: RegExp): Promise<readonly string[]> {
  const found: string[] = [];
  for (const directory of directories) {
    for (const name of (await host.list(directory)) ?? []) if (wanted.test(name)) found.push(`${directory}/${name}`);
  }
  return found;
}
