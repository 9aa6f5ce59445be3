import * as z from 'zod';
import { OUTPUT_API_VERSION } from '../../src/cli/output.ts';
import { OUTPUT_KINDS, type OutputKind } from '../../src/cli/output-kinds.ts';
import { failure, instant, milliseconds, optionalText, step } from './status-schema.ts';

/**
 * What `-o json` prints, by kind. Readers must accept fields that they do not know: later agents add some. A test holds the
 * real output of every command against these (test/integration/outputs.test.ts).
 */
const text = z.string();
const texts = z.array(text);
const count = z.int().min(0);
const digest = z.string().regex(/^[0-9a-f]{64}$/);
const reason = z
  .string()
  .regex(/^[A-Z][A-Za-z0-9]*$/)
  .describe('see reasons.md');
const position = { file: text, line: z.int().min(1), column: z.int().min(1) };

/** One shape for everything that is wrong, or may be: of a document with its place, of a machine without. */
const problem = z.looseObject({
  message: text,
  code: optionalText.describe('for programs: a kind of problem of a document, or a reason'),
  path: optionalText.describe('the field, such as host.files[2].mode; empty for the whole document'),
  file: optionalText,
  line: z.exactOptional(z.int().min(1)),
  column: z.exactOptional(z.int().min(1)),
  hint: optionalText.describe('what to do'),
});
const problems = z.array(problem);

const evidence = z.array(z.looseObject({ source: text, text }));

const change = z.looseObject({
  id: text.describe('stable; the same in plan, journal, status and events'),
  step: text,
  summary: text,
  action: z.enum(['add', 'change', 'remove', 'run', 'restart']),
  scope: z.enum(['base', 'node']).describe('base: part of an image; node: of this machine only'),
  diff: optionalText.describe('in the unified format'),
  commands: z.exactOptional(texts).describe('of hooks; with --diff'),
  knownAfter: optionalText.describe('the step after which the content is known'),
  reboots: z.exactOptional(z.literal(true)).describe('the machine is rebooted after it'),
  field: optionalText.describe('of the document, which asks for it'),
  position: z.exactOptional(z.looseObject(position)),
});

const replaced = z.array(
  z.looseObject({
    ...position,
    path: text,
    what: z.enum(['value', 'list', 'section']),
    removed: z.boolean(),
    previous: z.looseObject(position),
  }),
);

/** What one check found: the same in the report of every command that checks something. */
const finding = z.looseObject({
  id: text.describe('stable'),
  title: text.describe('what was checked, or the group in which a report shows it'),
  severity: z
    .enum(['passed', 'warning', 'failed', 'undecided', 'skipped'])
    .describe('failed and undecided decide the exit code; skipped: not looked at, and the text says why'),
  text,
  reason: z.exactOptional(reason),
  remedy: optionalText,
  field: optionalText.describe('of the document, which it is about'),
  position: z.exactOptional(z.looseObject(position)),
});
const findings = z.array(finding);

const check = z.looseObject({
  id: text,
  group: text,
  state: z.enum(['ok', 'warning', 'failed', 'skipped']),
  text,
  reason: z.exactOptional(reason),
  remedy: optionalText,
});

const diagnosis = {
  outcome: z.enum(['success', 'failure']),
  reason: text.describe('see reasons.md; Unknown where logs alone name no cause; empty on success'),
  summary: text,
  retryable: z.boolean().describe('true where the same command may succeed later with the same input'),
  cleanup: z.enum(['none', 'reset', 'reset+member']).describe('what must precede another attempt'),
  phase: text.describe('of kubeadm; empty where it is not known'),
  evidence: z.array(z.looseObject({ source: text, line: count, text })),
  causes: texts,
  symptoms: texts,
  remedy: text,
  confidence: z.number().min(0).max(1),
};

const version = z.looseObject({ major: count, minor: count, patch: count, text });

const verifiedFile = { name: optionalText, path: text, sha256: digest, signedBy: optionalText };

const FIELDS: Readonly<Record<OutputKind, z.ZodRawShape>> = {
  Bundle: { path: text, bytes: count },
  ConformanceReport: {
    contract: text,
    profile: z.enum(['host', 'kubernetes', 'windows']),
    verdict: z.enum(['kept', 'broken', 'notProven']).describe('of every MUST that applies'),
    conforms: z.boolean().describe('true where the verdict is kept'),
    reason: z.exactOptional(reason),
    os: z.looseObject({ id: text, version: text }),
    clauses: z.array(
      z.looseObject({
        id: text,
        level: z.enum(['MUST', 'SHOULD']),
        title: text,
        state: z.enum(['kept', 'broken', 'notProven', 'notApplicable']),
        text,
        remedy: optionalText,
      }),
    ),
    findings: findings.describe('the clauses in the terms of all checks'),
  },
  Diagnosis: diagnosis,
  DoctorReport: {
    verdict: z.exactOptional(z.looseObject(diagnosis)).describe('of the last run, or of the node'),
    findings,
    checks: z.array(check).describe('the findings as the first versions had them'),
    failed: count,
    warnings: count.describe('how many checks warn'),
  },
  DocumentOrigins: {
    fields: z.array(z.looseObject({ path: text, value: z.unknown(), origin: text.describe('file:line:column') })),
    replaced,
  },
  Error: {
    error: z.looseObject({ reason, summary: text, remedy: optionalText, evidence: z.exactOptional(evidence) }),
    problems: problems.describe('of the document, where that is what was wrong'),
  },
  Facts: {
    facts: z.looseObject({
      platform: z.enum(['linux', 'windows']),
      architecture: text,
      os: z.looseObject({ id: text, version: text }),
      kernel: text,
      serviceManager: z.enum(['systemd', 'openrc', 'none', 'windows']),
      hostname: text,
      machineId: text,
      bootId: text,
      cloudInstanceId: optionalText,
      nodeAddresses: texts,
      isRoot: z.boolean(),
      containerd: z.exactOptional(version),
      kubeadm: z.exactOptional(version),
      kubelet: z.exactOptional(version),
    }),
    hardware: z.looseObject({
      system: z.record(z.string(), z.string()).describe('what the firmware says'),
      cpu: z.looseObject({ model: text, threads: count, isVirtual: z.boolean() }),
      memory: z.looseObject({ total: count, available: count, swap: count }).describe('bytes'),
      disks: z.array(z.looseObject({ name: text, model: optionalText, bytes: count })),
      network: z.array(z.looseObject({ name: text, driver: optionalText, mac: optionalText, mtu: count, state: text })),
    }),
    variables: z.looseObject({
      instanceData: texts.describe("paths of cloud-init's instance data that have a value here"),
    }),
  },
  FetchedFiles: {
    from: text,
    files: z.array(z.looseObject({ ...verifiedFile, changed: z.boolean() })),
    signedBy: optionalText,
    warnings: problems,
  },
  HardeningAudit: {
    profiles: texts,
    node: z.looseObject({ hostname: text, role: optionalText, kubelet: optionalText }),
    exceptionsOf: z.enum(['document', 'record', 'nobody']),
    summary: z.looseObject({ pass: count, fail: count, exception: count, notApplicable: count }),
    controls: z.array(
      z.looseObject({
        id: text,
        state: z.enum(['pass', 'fail', 'exception', 'not-applicable']),
        level: text,
        title: text,
        evidence,
        reason: optionalText,
      }),
    ),
    findings: findings.describe('the controls in the terms of all checks'),
  },
  ImageList: {
    airGapped: z.boolean(),
    images: z.array(z.looseObject({ image: text, for: texts, certain: z.boolean() })),
    unknown: texts,
  },
  ImageReadiness: {
    ready: z.boolean(),
    reason: z.exactOptional(reason),
    changes: z.array(change).describe('of the document that are not made'),
    findings: z
      .array(finding.extend({ what: text.describe('its id'), why: text.describe('its text') }))
      .describe('these changes, what should not be in the image, and what is missing'),
  },
  KubeadmConfiguration: {
    command: z.enum(['init', 'join']),
    flags: texts,
    documents: z.array(z.looseObject({ apiVersion: text, kind: text })),
    files: z.array(z.looseObject({ path: text, content: text })),
    unresolved: texts.describe('fields that depend on variables that are not known here'),
  },
  Plan: {
    changes: z.array(change),
    remarks: z
      .array(z.looseObject({ step: text, message: text }))
      .describe('what to know of a step beside its changes: work that is not repeated, or that is not known yet'),
    problems: z
      .array(problem.extend({ step: text, code: reason }))
      .describe('what steps need and do not find: provision refuses to begin'),
    findings: findings.describe(
      'all that the preflight found, as doctor tells it: problems, warnings, what could not be checked',
    ),
    refusal: z
      .exactOptional(z.looseObject({ reason, summary: text, remedy: text }))
      .describe('what provision would refuse with, while there are problems'),
    restarts: texts.describe('services'),
    reboots: z.boolean(),
    warnings: problems.describe('of the document'),
    replaced,
  },
  ReportFlush: {
    reports: z.array(
      z.looseObject({
        sink: text,
        type: text,
        target: text,
        state: z.enum(['Delivered', 'Pending', 'Refused', 'Lost', 'Unreadable']),
        pending: count,
        updatedAt: instant,
        message: optionalText,
      }),
    ),
  },
  ReportTest: {
    sinks: z.array(
      z.looseObject({
        sink: text,
        type: text,
        target: text,
        result: z.enum(['Taken', 'Refused', 'Failed']),
        durationMs: milliseconds,
        message: optionalText,
      }),
    ),
  },
  ResetResult: {
    done: z.boolean().describe('false for --dry-run, and where it was not confirmed'),
    actions: texts,
  },
  ResidueAudit: {
    residues: z.array(
      z.looseObject({
        path: text,
        tool: text,
        mode: text,
        uid: count,
        gid: count,
        worldReadable: z.boolean(),
        secrets: texts.describe('their names'),
        forms: texts,
        state: z.enum(['Found', 'Scrubbed', 'Kept']),
        why: optionalText,
      }),
    ),
    findings: findings.describe('residues and what was skipped in the terms of all checks'),
    searched: texts,
    skipped: z.array(z.looseObject({ what: text, why: text })),
  },
  RunEvent: {
    type: z.enum(['started', 'step', 'waiting', 'warning', 'concluded']),
    time: instant,
    runId: text,
    phase: text,
    attempt: z.exactOptional(count),
    step: z.exactOptional(step).describe('of the type step'),
    stepId: optionalText.describe('of the type waiting'),
    waitingFor: optionalText,
    message: optionalText.describe('of the type warning'),
    outcome: optionalText.describe('of the type concluded'),
    exitCode: z.exactOptional(z.int().min(0).max(255)),
    failure: z.exactOptional(failure),
  },
  Timeline: {
    runId: text,
    timeline: z.array(z.looseObject({ name: text, sinceBootMs: z.number(), durationMs: milliseconds })),
  },
  Validation: {
    valid: z.boolean(),
    documentVersion: optionalText.describe('the apiVersion of the document'),
    sha256: z.exactOptional(digest).describe('of the merged document'),
    reason: z.exactOptional(reason),
    problems,
    warnings: problems,
    unresolved: z.exactOptional(texts).describe('fields that depend on variables of the machine'),
    replaced: z.exactOptional(replaced),
  },
  Verification: {
    verified: z.literal(true),
    files: z.array(z.looseObject({ ...verifiedFile, by: text, warnings: texts })),
  },
  Version: { version: text, commit: text, node: text, documentVersions: texts },
};

/** The JSON Schema of each kind, by its file below `contract/`. */
export function outputSchemas(): ReadonlyMap<string, object> {
  return new Map(
    OUTPUT_KINDS.map((kind) => {
      const schema = z.looseObject({
        apiVersion: z.literal(OUTPUT_API_VERSION),
        kind: z.literal(kind),
        ...FIELDS[kind],
      });
      const $id = `https://machineadm.dev/schema/output/v1/${kind}.json`;
      return [`output/${kind}.json`, { $id, ...z.toJSONSchema(schema) }];
    }),
  );
}
