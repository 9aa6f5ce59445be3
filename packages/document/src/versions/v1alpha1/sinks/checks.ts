import type { Finding } from '../../../diagnostics.ts';
import { checkAWSSink } from './aws.ts';
import { checkAzureSink } from './azure.ts';
import type { SinkSection } from './index.ts';
import { checkKubernetesSink } from './kubernetes.ts';
import { checkNATSSink } from './nats.ts';

/** What the schema of a sink cannot say: mistakes across its fields. */
export function checkSinks(sinks: readonly SinkSection[]): Finding[] {
  return sinks.flatMap((sink, index) => {
    const path = ['reporting', 'sinks', index];
    switch (sink.type) {
      case 'AWS':
        return checkAWSSink(sink, path);
      case 'Azure':
        return checkAzureSink(sink, path);
      case 'Kubernetes':
        return checkKubernetesSink(sink, path);
      case 'NATS':
        return checkNATSSink(sink, path);
      default:
        return [];
    }
  });
}
