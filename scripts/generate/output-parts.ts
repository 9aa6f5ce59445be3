import * as z from 'zod';

/** Schemas that several kinds of output share. docs/reference/json.md shows the description of each field. */
export const text = (meaning: string) => z.string().describe(meaning);
export const optionalText = (meaning: string) => z.exactOptional(z.string()).describe(meaning);
export const texts = (meaning: string) => z.array(z.string()).describe(meaning);
export const count = (meaning: string) => z.int().min(0).describe(meaning);
export const flag = (meaning: string) => z.boolean().describe(meaning);
export const digest = (meaning: string) =>
  z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe(meaning);
export const reason = z
  .string()
  .regex(/^[A-Z][A-Za-z0-9]*$/)
  .describe('the reason; see reasons.md');

export const position = {
  file: text('the file, or another source of the document'),
  line: z.int().min(1).describe('the line in the file, from 1'),
  column: z.int().min(1).describe('the column in the line, from 1'),
};

/** An error or a warning. One about the document has a position, one about the machine does not. */
export const problem = z.looseObject({
  message: text('what is wrong'),
  code: optionalText('for programs: a kind of problem of a document, or a reason'),
  path: optionalText('the field, such as host.files[2].mode; empty for the whole document'),
  file: optionalText('the file of the field'),
  line: z.exactOptional(z.int().min(1)).describe('the line of the field'),
  column: z.exactOptional(z.int().min(1)).describe('the column of the field'),
  hint: optionalText('what to do'),
});
export const problems = (meaning: string) => z.array(problem).describe(meaning);

export const evidence = z
  .array(
    z.looseObject({
      source: text('the log, file or program of the line'),
      text: text('the line, without secrets'),
    }),
  )
  .describe('the lines that prove it');

export const change = z.looseObject({
  id: text('stable; the same in plan, journal, status and events'),
  step: text('the step that makes the change'),
  summary: text('what changes, in one line'),
  action: z.enum(['add', 'change', 'remove', 'run', 'restart']).describe('the kind of the change'),
  scope: z.enum(['base', 'node']).describe('base: part of an image; node: of this machine only'),
  diff: optionalText('in the unified format'),
  commands: z.exactOptional(z.array(z.string())).describe('of hooks; with --diff'),
  knownAfter: optionalText('the step after which the content is known'),
  reboots: z.exactOptional(z.literal(true)).describe('the machine is rebooted after it'),
  field: optionalText('the field of the document that requests it'),
  position: z.exactOptional(z.looseObject(position)).describe('where that field is written'),
});

export const replaced = z
  .array(
    z.looseObject({
      ...position,
      path: text('the field'),
      what: z.enum(['value', 'list', 'section']).describe('what was replaced'),
      removed: flag('true if a null removed it'),
      previous: z.looseObject(position).describe('where the replaced value is written'),
    }),
  )
  .describe('values that a later source of the document replaced');

/** The result of one check, in the same form in the report of every command. */
export const finding = z.looseObject({
  id: text('stable'),
  title: text('what was checked, or the group in which a report shows it'),
  severity: z
    .enum(['passed', 'warning', 'failed', 'undecided', 'skipped'])
    .describe('failed and undecided decide the exit code; skipped: not checked, and the text has the reason'),
  text: text('what was found'),
  reason: z.exactOptional(reason).describe('the reason; see reasons.md'),
  remedy: optionalText('what to do'),
  field: optionalText('the field of the document that it is about'),
  position: z.exactOptional(z.looseObject(position)).describe('where that field is written'),
});
export const findings = (meaning: string) => z.array(finding).describe(meaning);

export const check = z.looseObject({
  id: text('stable'),
  group: text('the group in which the report shows it'),
  state: z.enum(['ok', 'warning', 'failed', 'skipped']).describe('the result'),
  text: text('what was found'),
  reason: z.exactOptional(reason).describe('the reason; see reasons.md'),
  remedy: optionalText('what to do'),
});

export const diagnosis = {
  outcome: z.enum(['success', 'failure']).describe('how the last run of kubeadm, or of machineadm, ended'),
  reason: text('see reasons.md; Unknown if there are only logs and they name no cause; empty on success'),
  summary: text('what failed, in one or two sentences; empty on success'),
  retryable: flag('true if the same command may succeed later with the same input'),
  cleanup: z.enum(['none', 'reset', 'reset+member']).describe('what must be done before another attempt'),
  phase: text('of kubeadm; empty if it is not known'),
  evidence: z
    .array(
      z.looseObject({
        source: text('the log, file or program of the line'),
        line: count('the line in the file, from 1'),
        text: text('the line, without secrets'),
      }),
    )
    .describe('the lines that prove it, the best one first'),
  causes: texts('the reasons from the root cause to the failure that the run saw'),
  symptoms: texts('other reasons that were seen: consequences of the cause, and hints'),
  remedy: text('what to do'),
  confidence: z.number().min(0).max(1).describe('how certain the reason is; 0 with Unknown'),
};

export const version = (program: string) =>
  z
    .exactOptional(
      z.looseObject({
        major: count('the first number'),
        minor: count('the second number'),
        patch: count('the third number'),
        text: text('the version as the program prints it'),
      }),
    )
    .describe(`the version of ${program}; absent if it is not installed`);

export const verifiedFile = {
  name: optionalText('the name in the signed list'),
  path: text('the file'),
  sha256: digest('its SHA-256, in hexadecimal'),
  signedBy: optionalText('the id of the key that signed the list'),
};

/** Keys, and how many of them must have signed. */
export const signers = z.looseObject({
  threshold: count('how many of the keys must sign'),
  keys: texts('the ids of the keys'),
});
