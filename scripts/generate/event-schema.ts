import type { ReportEvent } from '@machineadm/status/event.ts';
import * as z from 'zod';
import type { SameFields } from './same-fields.ts';
import { condition, failure, identity, instant, milliseconds, probableCause, step, timeline } from './status-schema.ts';

const reportCondition = condition.extend({
  type: z.enum([...condition.shape.type.options, 'machineadm.dev/NodeHealthy']).describe('what the condition is about'),
});

/** The schema of the events for remote sinks. Readers must accept unknown fields and values, as in the status. */
export const eventSchema = z
  .looseObject({
    apiVersion: z.literal('machineadm.dev/event/v1').describe('the version of this format'),
    kind: z.literal('BootstrapEvent').describe('the kind of this object'),
    id: z.string().describe('the idempotency key: each delivery of this event carries the same'),
    type: z
      .enum(['started', 'stepChanged', 'waiting', 'warning', 'concluded', 'readinessChanged'])
      .describe('what happened'),
    test: z.exactOptional(z.literal(true)).describe('set by machineadm report test: nothing happened'),
    runId: z.string().describe('the id of the run'),
    sequence: z.int().min(1).describe('of the run; not every sink receives every event'),
    time: instant.describe('RFC 3339, UTC, by the clock of the machine, which may be wrong before it was set'),
    sinceBootMs: milliseconds.describe('by a clock that does not jump'),
    command: z
      .enum(['provision', 'prepare', 'upgrade', 'watch'])
      .describe('watch: machineadm report watch, which is no run'),
    ...identity,
    document: z
      .looseObject({ sha256: z.string().describe('SHA-256 of the merged document') })
      .describe('the document of the run'),
    attempt: z.int().min(1).describe('how many runs this instance has seen, this one included'),
    phase: z
      .enum(['Loading', 'Preflight', 'Host', 'Kubernetes', 'Concluding', 'Concluded'])
      .describe('the part of the run'),
    message: z.string().describe('what happened, in one line for people'),
    conditions: z.array(reportCondition).readonly().describe('conditions as those of Cluster API'),
    step: z.exactOptional(step).describe('of stepChanged only'),
    waitingFor: z.exactOptional(z.string()).describe('of waiting only'),
    probableCause: z
      .exactOptional(probableCause)
      .describe('while the bootstrapper waits: what it probably waits for in vain'),
    outcome: z.exactOptional(z.enum(['Succeeded', 'Failed', 'Interrupted', 'RebootRequired'])).describe('of concluded'),
    exitCode: z.exactOptional(z.int().min(0).max(255)).describe('of concluded'),
    failure: z.exactOptional(failure).describe('of concluded'),
    warnings: z.exactOptional(z.array(z.string()).readonly()).describe('of concluded'),
    steps: z.exactOptional(z.array(step).readonly()).describe('of concluded'),
    timeline: z.exactOptional(timeline).describe('of concluded'),
    omitted: z.exactOptional(z.array(z.string()).readonly()).describe('what was left out or cut to fit the sink'),
  })
  .describe('What a machine that runs machineadm tells a sink of its document. Holds no secret.');

type Matches = SameFields<z.infer<typeof eventSchema>, ReportEvent>;
const matches: Matches = true;
void matches;
