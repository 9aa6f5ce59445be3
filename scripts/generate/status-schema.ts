import { MACHINE_STATES, type RunStatus } from '@machineadm/status/status.ts';
import type { RunSummary } from '@machineadm/status/summary.ts';
import * as z from 'zod';
import type { SameFields } from './same-fields.ts';

/**
 * The schema of the status document. `Matches` below keeps it consistent with the TypeScript type: a field in only one of
 * them does not compile.
 *
 * Readers must accept unknown values: later versions add properties, steps, warnings and reasons. A reason is therefore any
 * CamelCase word, and additional properties are allowed.
 */
export const instant = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC' });
export const milliseconds = z.number().min(0);
const optionalText = (meaning: string) => z.exactOptional(z.string()).describe(meaning);
const reason = z
  .string()
  .regex(/^[A-Z][A-Za-z0-9]*$/)
  .describe('see reasons.md');

export const step = z.looseObject({
  id: z.string().describe('stable; the same in plan, journal and events'),
  state: z.enum(['Pending', 'Running', 'Succeeded', 'Unchanged', 'Failed', 'Skipped']).describe('how far the step is'),
  changes: z.array(z.string()).readonly().describe('ids of the changes made, in order'),
  startedAt: z.exactOptional(instant).describe('when the step began'),
  durationMs: z.exactOptional(milliseconds).describe('how long the step took'),
});

export const failure = z.looseObject({
  reason,
  summary: z.string().describe('what failed, and why'),
  evidence: z
    .array(
      z.looseObject({
        source: z.string().describe('the log, file or program of the line'),
        text: z.string().describe('the line, without secrets'),
      }),
    )
    .readonly()
    .describe('the lines that prove it'),
  remedy: z.string().describe('what to do'),
  retryable: z.boolean().describe('true if the same command may succeed later with the same input'),
  step: optionalText('the step that failed'),
  field: z.exactOptional(z.string()).describe('the field of the document that it is about'),
  position: z
    .exactOptional(
      z.looseObject({
        file: z.string().describe('the file, or another source of the document'),
        line: z.int().min(1).describe('the line in the file, from 1'),
        column: z.int().min(1).describe('the column in the line, from 1'),
      }),
    )
    .describe('where that field is written'),
  causes: z
    .exactOptional(z.array(reason).readonly())
    .describe('from the root cause to what the run saw fail, the reason among them; absent if it is the only one'),
});

export const timeline = z
  .array(
    z.looseObject({
      name: z.string().describe('the part of the boot or of the run'),
      sinceBootMs: z.number().describe('when it began, from the start of the kernel'),
      durationMs: milliseconds.describe('how long it took'),
    }),
  )
  .readonly()
  .describe('where the time went, from the start of the kernel');

export const sinkReport = z.looseObject({
  sink: z.string().describe('the name of the sink'),
  type: z.string().describe('the type of the sink'),
  target: z.string().describe('where it goes, without credentials'),
  state: z.enum(['Delivered', 'Pending', 'Refused', 'Lost', 'Unreadable']).describe('what became of its events'),
  pending: z.int().min(0).describe('events that wait for machineadm report flush'),
  updatedAt: instant.describe('when this state was found'),
  message: optionalText('the last error'),
});

export const condition = z.looseObject({
  type: z
    .enum([
      'machineadm.dev/BootstrapSucceeded',
      'machineadm.dev/AfterBootstrapHooksSucceeded',
      'machineadm.dev/NodeLabelsSet',
    ])
    .describe('what the condition is about'),
  status: z.enum(['True', 'False', 'Unknown']).describe('False only for a terminal failure'),
  reason,
  message: z.string().describe('the same for people'),
  lastTransitionTime: instant.describe('when the status changed last'),
});

/** Fields that the status and the events share. */
export const identity = {
  agent: z
    .looseObject({ version: z.string().describe('the version of machineadm') })
    .describe('the program of the run'),
  machine: z
    .looseObject({
      name: z.string().describe('metadata.name of the document'),
      namespace: optionalText('metadata.namespace'),
      cluster: optionalText('metadata.cluster'),
      uid: optionalText('metadata.uid'),
    })
    .describe('the machine in the management cluster'),
  host: z
    .looseObject({
      machineId: z.string().describe('/etc/machine-id, or the MachineGuid of Windows'),
      bootId: z.string().describe('the id of the boot'),
      hostname: z.string().describe('the host name'),
      nodeAddresses: z
        .exactOptional(z.array(z.string()).readonly())
        .describe('the addresses that kubernetes.node.addresses selected, the primary one first'),
    })
    .describe('the machine itself'),
};

/** Shared with events. */
export const probableCause = z
  .looseObject({
    reason: z.string().describe('a reason of reasons.md'),
    summary: z.string().describe('what probably prevents it'),
    remedy: z.string().describe('what to do'),
    evidence: z
      .array(z.looseObject({ source: z.string().describe('where it was seen'), text: z.string().describe('the line') }))
      .readonly()
      .describe('the lines that prove it, the most telling first'),
    since: instant.describe('when it was seen first'),
  })
  .describe('while the bootstrapper waits: what it probably waits for in vain');

/** Shared with `doctor`. */
export const machineState = z.enum(MACHINE_STATES).describe('what machineadm made of this machine so far');

export const statusSchema = z
  .looseObject({
    apiVersion: z.literal('machineadm.dev/status/v1').describe('the version of this format'),
    kind: z.literal('BootstrapStatus').describe('the kind of this object'),
    command: z.enum(['provision', 'prepare', 'upgrade']).describe('the command of the run'),
    runId: z.string().describe('the id of the run'),
    ...identity,
    document: z
      .looseObject({
        sha256: z.string().describe('SHA-256 of the merged document'),
        sources: z
          .array(z.string())
          .readonly()
          .optional()
          .describe('the files and directories of the document; - is stdin'),
        apply: z.enum(['Once', 'EveryBoot']).optional().describe('whether units apply it once or at every boot'),
        appliedAt: instant.optional().describe('when a run that succeeded had applied it'),
      })
      .describe('the document of the run'),
    attempt: z.int().min(1).describe('how many runs this instance has seen, this one included'),
    phase: z
      .enum(['Loading', 'Preflight', 'Host', 'Kubernetes', 'Concluding', 'Concluded'])
      .describe('the part of the run'),
    step: optionalText('the step that runs, or ran last'),
    waitingFor: optionalText('what the step waits for'),
    probableCause: z.exactOptional(probableCause),
    startedAt: instant.describe('when the run began'),
    updatedAt: instant.describe('when this file was written'),
    process: z
      .looseObject({
        pid: z.int().describe('its process id'),
        startTicks: z.int().describe('when it started, as in /proc/PID/stat'),
      })
      .describe('the process that runs it: a phase before Concluded without this process is a killed run'),
    steps: z.array(step).readonly().describe('the steps of the run, in order'),
    warnings: z.array(z.string()).readonly().describe('what the operator should know'),
    conditions: z.array(condition).readonly().describe('conditions as those of Cluster API'),
    timeline,
    failedAttempts: z
      .exactOptional(
        z
          .array(
            z.looseObject({
              attempt: z.int().min(1).describe('its number in the run'),
              reason,
              summary: z.string().describe('what failed, and why'),
              step: optionalText('the step that failed'),
              endedAt: instant.describe('when it failed'),
              durationMs: milliseconds.describe('how long it took'),
            }),
          )
          .readonly(),
      )
      .describe('attempts to bootstrap that failed in this run and were followed by another'),
    outcome: z
      .exactOptional(z.enum(['Succeeded', 'Failed', 'Interrupted', 'RebootRequired']))
      .describe('set when phase is Concluded'),
    exitCode: z.exactOptional(z.int().min(0).max(255)).describe('see exit-codes.md'),
    failure: z.exactOptional(failure).describe('why the run failed'),
    forManagement: z
      .exactOptional(
        z.looseObject({
          node: z.string().describe('the name of the Node'),
          labels: z.array(z.string()).readonly().describe('the labels, as key=value'),
          taints: z.array(z.string()).readonly().describe('the taints, as key=value:Effect'),
          commands: z.array(z.string()).readonly().describe('what sets them, for an administrator'),
        }),
      )
      .describe('what only the management side may set on the Node; absent when the Node has it'),
    reports: z
      .exactOptional(z.array(sinkReport).readonly())
      .describe('delivery to the remote sinks after the run ended; it changes neither outcome nor exit code'),
    thisMachine: z
      .exactOptional(
        z.looseObject({
          state: machineState,
          documents: z
            .array(
              z.looseObject({
                name: z.string().describe('metadata.name; its files where an earlier version did not record it'),
                command: z.enum(['provision', 'prepare']).describe('the command of its last run'),
                sources: z.array(z.string()).readonly().describe('the files and directories of its last run'),
                outcome: z
                  .enum(['Succeeded', 'Failed', 'Interrupted', 'RebootRequired', 'Running'])
                  .describe('how its last run ended'),
                at: instant.describe('when that run ended, or began where it did not'),
              }),
            )
            .readonly()
            .describe('the documents that were applied to this machine, or begun, and were not reset'),
        }),
      )
      .describe('only in the output of machineadm status, for users who may read the journal'),
  })
  .describe(
    'What a run of machineadm does now and how it ended: /run/machineadm/status.json. Holds no secret. For root and the group machineadm; summary.v1.schema.json is for all users.',
  );

const { command, runId, phase, startedAt, updatedAt, process, outcome, exitCode } = statusSchema.shape;

export const summarySchema = z
  .looseObject({
    apiVersion: z.literal('machineadm.dev/summary/v1').describe('the version of this format'),
    kind: z.literal('BootstrapSummary').describe('the kind of this object'),
    command,
    runId,
    phase,
    outcome,
    exitCode,
    reason: z.exactOptional(reason).describe('of the failure, if any: see reasons.md'),
    startedAt,
    updatedAt,
    host: z.looseObject({ bootId: z.string().describe('the id of the boot') }).describe('the machine'),
    process,
  })
  .describe(
    'What every user of the machine may know of a run: /run/machineadm/summary.json, written after each status. Words of fixed lists, times and numbers; no text.',
  );

type Matches = [
  SameFields<z.infer<typeof statusSchema>, RunStatus>,
  SameFields<z.infer<typeof summarySchema>, Omit<RunSummary, 'reason'> & { readonly reason?: string }>,
];
const matches: Matches = [true, true];
void matches;
