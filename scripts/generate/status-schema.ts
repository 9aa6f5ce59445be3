import type { RunStatus } from '@machineadm/status/status.ts';
import type { RunSummary } from '@machineadm/status/summary.ts';
import * as z from 'zod';
import type { SameFields } from './same-fields.ts';

/**
 * The status document as a schema, for those who read it. `Matches` below keeps it and the TypeScript type one thing:
 * a field added to one of them only does not compile.
 *
 * Readers must accept what they do not know: later agents add properties, steps, warnings and reasons. So a reason is a
 * CamelCase word and not a closed list, and further properties are allowed.
 */
export const instant = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC' });
export const milliseconds = z.number().min(0);
export const optionalText = z.exactOptional(z.string());
const reason = z.string().regex(/^[A-Z][A-Za-z0-9]*$/);

export const step = z.looseObject({
  id: z.string(),
  state: z.enum(['Pending', 'Running', 'Succeeded', 'Unchanged', 'Failed', 'Skipped']),
  changes: z.array(z.string()).readonly().describe('ids of the changes made, in order'),
  startedAt: z.exactOptional(instant),
  durationMs: z.exactOptional(milliseconds),
});

export const failure = z.looseObject({
  reason: reason.describe('see reasons.md'),
  summary: z.string(),
  evidence: z.array(z.looseObject({ source: z.string(), text: z.string() })).readonly(),
  remedy: z.string(),
  retryable: z.boolean().describe('true where the same command may succeed later with the same input'),
  step: optionalText,
  field: z.exactOptional(z.string()).describe('the field of the document that it is about'),
  position: z
    .exactOptional(z.looseObject({ file: z.string(), line: z.int().min(1), column: z.int().min(1) }))
    .describe('where that field is written'),
  causes: z
    .exactOptional(z.array(reason).readonly())
    .describe('from the root cause to what the run saw fail, the reason among them; absent where it is the only one'),
});

const sinkReport = z.looseObject({
  sink: z.string(),
  type: z.string(),
  target: z.string().describe('where it goes, without credentials'),
  state: z.enum(['Delivered', 'Pending', 'Refused', 'Lost', 'Unreadable']),
  pending: z.int().min(0).describe('events that wait for machineadm report flush'),
  updatedAt: instant,
  message: optionalText,
});

export const condition = z.looseObject({
  type: z.enum(['machineadm.dev/BootstrapSucceeded', 'machineadm.dev/AfterBootstrapHooksSucceeded']),
  status: z.enum(['True', 'False', 'Unknown']).describe('False only for a terminal failure'),
  reason,
  message: z.string(),
  lastTransitionTime: instant,
});

export const statusSchema = z
  .looseObject({
    apiVersion: z.literal('machineadm.dev/status/v1'),
    kind: z.literal('BootstrapStatus'),
    command: z.enum(['provision', 'prepare']),
    runId: z.string(),
    agent: z.looseObject({ version: z.string() }),
    machine: z.looseObject({ name: z.string(), namespace: optionalText, cluster: optionalText, uid: optionalText }),
    host: z.looseObject({ machineId: z.string(), bootId: z.string(), hostname: z.string() }),
    document: z.looseObject({
      sha256: z.string(),
      sources: z
        .array(z.string())
        .readonly()
        .optional()
        .describe('the files and directories of the document; - is stdin'),
      apply: z.enum(['Once', 'EveryBoot']).optional().describe('whether units apply it once or at every boot'),
      appliedAt: instant.optional().describe('when a run that succeeded had applied it'),
    }),
    attempt: z.int().min(1).describe('how many runs this instance has seen, this one included'),
    phase: z.enum(['Loading', 'Preflight', 'Host', 'Kubernetes', 'Concluding', 'Concluded']),
    step: optionalText.describe('the step that runs, or ran last'),
    waitingFor: optionalText,
    startedAt: instant,
    updatedAt: instant,
    process: z
      .looseObject({ pid: z.int(), startTicks: z.int() })
      .describe('the process that runs it: a phase before Concluded without this process is a killed run'),
    steps: z.array(step).readonly(),
    warnings: z.array(z.string()).readonly(),
    conditions: z.array(condition).readonly(),
    timeline: z
      .array(z.looseObject({ name: z.string(), sinceBootMs: z.number(), durationMs: milliseconds }))
      .readonly(),
    failedAttempts: z
      .exactOptional(
        z
          .array(
            z.looseObject({
              attempt: z.int().min(1),
              reason: reason.describe('see reasons.md'),
              summary: z.string(),
              step: optionalText,
              endedAt: instant,
              durationMs: milliseconds,
            }),
          )
          .readonly(),
      )
      .describe('attempts to bootstrap that failed in this run and were followed by another'),
    outcome: z
      .exactOptional(z.enum(['Succeeded', 'Failed', 'Interrupted', 'RebootRequired']))
      .describe('set when phase is Concluded'),
    exitCode: z.exactOptional(z.int().min(0).max(255)).describe('see exit-codes.md'),
    failure: z.exactOptional(failure),
    reports: z
      .exactOptional(z.array(sinkReport).readonly())
      .describe('delivery to the remote sinks after the run ended; it changes neither outcome nor exit code'),
  })
  .describe(
    'What a run of machineadm does now and how it ended: /run/machineadm/status.json. Holds no secret. For root and the group machineadm; summary.v1.schema.json is for all users.',
  );

const { command, runId, phase, startedAt, updatedAt, process, outcome, exitCode } = statusSchema.shape;

export const summarySchema = z
  .looseObject({
    apiVersion: z.literal('machineadm.dev/summary/v1'),
    kind: z.literal('BootstrapSummary'),
    command,
    runId,
    phase,
    outcome,
    exitCode,
    reason: z.exactOptional(reason).describe('of the failure, if any: see reasons.md'),
    startedAt,
    updatedAt,
    host: z.looseObject({ bootId: z.string() }),
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
