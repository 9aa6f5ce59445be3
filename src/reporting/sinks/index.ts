import type { SinkModel } from '../../document/model.ts';
import type { Host } from '../../host/host.ts';
import type { Sink } from '../sink.ts';
import { consoleSink } from './console.ts';
import { journalSink } from './journal.ts';

/** The sinks that a document asks for, not yet open. */
export function sinksOf(models: readonly SinkModel[], host: Pick<Host, 'run' | 'stat'>): readonly Sink[] {
  return models.map((model) => sinkOf(model, host));
}

function sinkOf(model: SinkModel, host: Pick<Host, 'run' | 'stat'>): Sink {
  switch (model.kind) {
    case 'Journal':
      return journalSink(host);
    case 'Console':
      return consoleSink(model.device);
  }
}
