import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { oneLine } from '@machineadm/document/text/printable.ts';
import { entryText, journalEntry, messageId } from '@machineadm/status/journal-entry.ts';
import type { RunEvent } from '@machineadm/status/status.ts';
import type { Host } from '../../host/seam/host.ts';
import type { Sink } from '../sink.ts';
import { LoggerShell } from './logger-shell.ts';

const JOURNAL_SOCKET = '/run/systemd/journal/socket';
/** Where syslog daemons listen (syslog(3)). */
const SYSLOG_SOCKET = '/dev/log';

/**
 * Writes structured entries to journald through `logger --journald` (util-linux, logger(1)): Node has no local datagram
 * sockets, which journald's native protocol needs. One program per entry, sequentially, started by one shell.
 * Without a journal the same lines go to syslog, without the fields that it does not support; the first of them says
 * so.
 */
export function journalSink(host: Pick<Host, 'run' | 'stat'>): Sink {
  let toSyslog = false;
  let hasSaidSo = false;
  const shell = new LoggerShell(host);
  return {
    name: 'Journal',
    async open() {
      if ((await host.stat(JOURNAL_SOCKET))?.type === 'socket') return;
      // systemd's /dev/log is a link into its own directory, and not a socket.
      toSyslog = (await host.stat(SYSLOG_SOCKET))?.type === 'socket';
      if (toSyslog) return;
      throw new MachineadmError({
        reason: 'HostStepFailed',
        summary: `there is neither a journal (${JOURNAL_SOCKET}) nor a syslog (${SYSLOG_SOCKET}) on this machine`,
        remedy: 'Start a syslog daemon before machineadm, or remove the Journal sink from the document.',
      });
    },
    async deliver(event, signal) {
      if (!toSyslog) return await shell.log('--journald', journalEntry(event), signal);
      const options = `-t machineadm -p daemon.${SEVERITIES[messageId(event).priority]}`;
      const first = hasSaidSo ? '' : `${NO_JOURNAL}\n`;
      await shell.log(options, `${first}${syslogLines(event)}`, signal);
      hasSaidSo = true;
    },
    close: (signal) => shell.close(signal),
  };
}

const NO_JOURNAL = 'this machine has no journald: the run logs to syslog instead';

/** As logger(1) names them. */
const SEVERITIES = { 3: 'err', 4: 'warning', 5: 'notice', 6: 'info', 7: 'debug' } as const;

/** One syslog line each; empty lines would be empty entries. */
function syslogLines(event: RunEvent): string {
  const lines = entryText(event).split('\n').map(oneLine);
  return lines.flatMap((line) => (line === '' ? [] : [`${line}\n`])).join('');
}
