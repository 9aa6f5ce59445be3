import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { oneLine } from '@machineadm/document/text/printable.ts';
import { formatEvent } from '@machineadm/status/progress.ts';
import type { Host } from '../../host/seam/host.ts';
import type { Sink } from '../sink.ts';

/**
 * Sets the status of the unit that started machineadm, which `systemctl status` displays. Uses systemd-notify(1),
 * because Node has no local datagram sockets (sd_notify(3)); the unit must accept messages of its children
 * (NotifyAccess=all).
 * @param socket NOTIFY_SOCKET of this process; undefined without a listening unit
 */
export function systemdNotifySink(
  host: Pick<Host, 'run'>,
  socket: string | undefined = process.env.NOTIFY_SOCKET,
): Sink {
  return {
    name: 'SystemdNotify',
    async open() {
      if (socket !== undefined && socket !== '') return;
      throw new MachineadmError({
        reason: 'HostStepFailed',
        summary: 'no systemd unit receives notifications of this process (NOTIFY_SOCKET is not set)',
        remedy: 'Start machineadm from a unit with NotifyAccess=all, or remove the SystemdNotify sink.',
      });
    },
    async deliver(event, signal) {
      const text = formatEvent(event);
      if (text === undefined) return;
      const args = [`--status=${oneLine(text)}`];
      const env = { NOTIFY_SOCKET: socket ?? '' };
      const result = await host.run({ program: 'systemd-notify', args, env, signal });
      if (result.status === 0) return;
      throw new Error(`systemd-notify: ${oneLine(result.stderr) || `status ${result.status}`}`);
    },
    async close() {
      // Nothing is open: each message is a separate program.
    },
  };
}
