import type { LocalSinkModel } from '@machineadm/document/model/index.ts';
import type { Host } from '../../host/seam/host.ts';
import type { Sink } from '../sink.ts';
import { consoleSink } from './console.ts';
import { journalSink } from './journal.ts';
import { systemdNotifySink } from './systemd-notify.ts';
import { windowsEventLogSink } from './windows-event-log.ts';

/** The sinks of this machine in a document, not open yet. */
export function sinksOf(models: readonly LocalSinkModel[], host: Pick<Host, 'run' | 'stat'>): readonly Sink[] {
  return models.map((model) => sinkOf(model, host));
}

function sinkOf(model: LocalSinkModel, host: Pick<Host, 'run' | 'stat'>): Sink {
  switch (model.kind) {
    case 'Journal':
      return journalSink(host);
    case 'Console':
      return consoleSink(model.device);
    case 'SystemdNotify':
      return systemdNotifySink(host);
    case 'WindowsEventLog':
      return windowsEventLogSink(host);
  }
}
