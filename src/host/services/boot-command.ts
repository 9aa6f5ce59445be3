import { openrcScriptPath, unitPath } from '@machineadm/document/ownership/paths.ts';

/** A machineadm command that the service manager runs once at every boot. */
export interface BootCommand {
  /** Name of the service: `machineadm-sentinel`. */
  readonly name: string;
  /** One line for people. */
  readonly description: string;
  /** An URL that explains it. */
  readonly documentation?: string;
  /** Absolute path of a program and its arguments. */
  readonly command: readonly string[];
  /** Services that are not started before it ended, well or badly. One that does not exist orders nothing. */
  readonly before?: readonly string[];
  /** True where it runs commands of the document, which may start programs that gain privileges or change domains. */
  readonly mayGainPrivileges?: true;
}

/** What makes a service manager run a boot command: a file to lay, and the service to enable once it was read. */
export interface BootFile {
  /** As `host.service` and `host.services` take it. */
  readonly service: string;
  readonly path: string;
  readonly content: string;
  readonly mode: number;
}

/** What Node would read at its start and let another person's code or trust into a program that runs as root. */
const DISTRUSTED_VARIABLES = 'NODE_OPTIONS NODE_EXTRA_CA_CERTS OPENSSL_CONF';

/**
 * A unit of systemd that runs once at boot.
 *
 * It follows cloud-init's stages that identify the instance, because on a copied disk only they know that it is another
 * one (cloud-init 24.3 renamed cloud-init.service; a unit that does not exist orders nothing).
 */
export function systemdBootFile(boot: BootCommand): BootFile {
  const service = `${boot.name}.service`;
  // A program that was removed, with its package or without, is no failure at every boot (203/EXEC): the unit is skipped.
  const condition = `ConditionFileIsExecutable=${boot.command[0]?.replaceAll('%', '%%')}\n`;
  const before = (boot.before ?? []).map((name) => `${name}.service`).join(' ');
  const documentation = boot.documentation === undefined ? '' : `Documentation=${boot.documentation}\n`;
  return {
    service,
    path: unitPath(service),
    mode: 0o644,
    content: `# Written by machineadm; it is put back as it was by the next machineadm provision.
[Unit]
Description=${boot.description.replaceAll('%', '%%')}
${documentation}RequiresMountsFor=/var/lib/machineadm
${condition}After=local-fs.target cloud-init-local.service cloud-init.service cloud-init-network.service
${before === '' ? '' : `Before=${before}\n`}
[Service]
Type=oneshot
ExecStart=${boot.command.map(unitWord).join(' ')}
LimitCORE=0
UnsetEnvironment=${DISTRUSTED_VARIABLES}
${boot.mayGainPrivileges === true ? '' : 'NoNewPrivileges=yes\n'}
[Install]
WantedBy=multi-user.target
`,
  };
}

/**
 * A service script of OpenRC (openrc-run(8)) that runs once at boot, in the runlevel default. What the command says goes to
 * the log that `serviceLog` reads. It stays `started` after it ran, as a unit with RemainAfterExit does. A service that
 * does not exist orders nothing there either.
 */
export function openrcBootFile(boot: BootCommand): BootFile {
  const before = (boot.before ?? []).join(' ');
  return {
    service: boot.name,
    path: openrcScriptPath(boot.name),
    mode: 0o755,
    content: `#!/sbin/openrc-run
# Written by machineadm; it is put back as it was by the next machineadm provision.
description=${shellWord(boot.description)}

depend() {
	after bootmisc localmount mountall.sh bootmisc.sh hostname cloud-init-local cloud-init cloud-init-network
${before === '' ? '' : `\tbefore ${before}\n`}}

start() {
	[ -x ${shellWord(boot.command[0] ?? '')} ] || return 0
	ebegin ${shellWord(boot.description)}
	ulimit -c 0
	unset ${DISTRUSTED_VARIABLES}
	${boot.command.map(shellWord).join(' ')} >>/var/log/${boot.name}.log 2>&1
	eend $?
}
`,
  };
}

/** systemd.service(5), "COMMAND LINES": quotes, backslashes, specifiers (%) and variables ($). */
function unitWord(word: string): string {
  const escaped = word.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[A-Za-z0-9_./:=@%$+-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}

/** POSIX XCU 2.2.2: between single quotes everything stands for itself, but a single quote. */
function shellWord(word: string): string {
  return /^[A-Za-z0-9_./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
