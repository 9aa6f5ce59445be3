import { openrcScriptPath, unitPath } from '@machineadm/document/ownership/paths.ts';
import type { BootCommand, BootFile } from '../seam/services.ts';

/** Variables that make Node load code or trust certificates at its start, in a program that runs as root. */
const DISTRUSTED_VARIABLES = 'NODE_OPTIONS NODE_EXTRA_CA_CERTS OPENSSL_CONF';

/**
 * A systemd unit that runs once at boot.
 * It runs after cloud-init's stages that identify the instance, because on a copied disk only these can detect a new
 * instance (cloud-init 24.3 renamed cloud-init.service; a missing unit has no effect on the order).
 */
export function systemdBootFile(boot: BootCommand): BootFile {
  const service = `${boot.name}.service`;
  // A removed program, with or without its package, must not fail at every boot (203/EXEC): the unit is skipped.
  const condition = `ConditionFileIsExecutable=${boot.command[0]?.replaceAll('%', '%%')}\n`;
  const before = (boot.before ?? []).map((name) => `${name}.service`).join(' ');
  const documentation = boot.documentation === undefined ? '' : `Documentation=${boot.documentation}\n`;
  return {
    service,
    path: unitPath(service),
    mode: 0o644,
    content: `# Written by machineadm; the next machineadm provision restores it.
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
 * An OpenRC service script (openrc-run(8)) that runs once at boot, in the runlevel default. The command's output goes
 * to the log that `serviceLog` reads. It stays `started` after it ran, like a unit with RemainAfterExit. A missing
 * service has no effect on the order there either.
 */
export function openrcBootFile(boot: BootCommand): BootFile {
  const before = (boot.before ?? []).join(' ');
  return {
    service: boot.name,
    path: openrcScriptPath(boot.name),
    mode: 0o755,
    content: `#!/sbin/openrc-run
# Written by machineadm; the next machineadm provision restores it.
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

/** POSIX XCU 2.2.2: within single quotes every character is literal, except a single quote. */
function shellWord(word: string): string {
  return /^[A-Za-z0-9_./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
