import type { RE2JSSyntaxException } from 're2js';
import type { Finding } from '../../diagnostics/index.ts';
import { milliseconds } from '../../fields/convert-values.ts';
import { field, object } from '../../fields/field.ts';
import { duration, environmentVariable } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import type { EnvironmentVariable } from '../component.ts';
import { type RetryModel, retry, toRetry } from './retry.ts';

const DEFAULT_EXEC_TIMEOUT_MS = 20 * 60_000;

/** A program in kubeadm's place. */
export interface ExecModel {
  /** Absolute, or a name on root's PATH. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvironmentVariable[];
  readonly timeoutMs: number;
  /** What proves that the node works: `successTest`, or the kubelet's health endpoint. In the place of `ready.require`. */
  readonly proof: 'Command' | 'KubeletHealthy';
  /** Ends with status 0 once the node works. */
  readonly successTest: readonly string[] | undefined;
  readonly failurePatterns: readonly FailurePattern[];
  /** Undoes what the program did, before another attempt and for `machineadm reset`. */
  readonly reset: readonly string[] | undefined;
  readonly retry: RetryModel;
}

/** What a line of the program means, once it failed. */
export interface FailurePattern {
  /** A regular expression in RE2's syntax. */
  readonly pattern: string;
  /** A sentence for people. */
  readonly reason: string;
  readonly remedy: string | undefined;
  /** True where another attempt may succeed. */
  readonly retryable: boolean;
}

/** A program and its arguments. */
const commandLine = z.array(z.string()).min(1);

export const exec = object({
  command: field(
    z.string().regex(/^(?:\/[^\0\n]+|[A-Za-z0-9._+-]+)$/, 'not a program: an absolute path, or a name without "/"'),
    'The program, as an absolute path or a name. It reads the order (role, cluster, node, join, …) as JSON from stdin.',
    { example: '/usr/local/bin/bootstrap-k0s' },
  ),
  args: field(
    z.array(z.string()),
    'Arguments of the program. Every user of the machine can see them, so they must not contain secrets.',
    { default: [], example: ['--verbose'] },
  ),
  env: field(z.array(environmentVariable), 'Environment variables of the program.', {
    default: [],
    example: [{ name: 'LOG_LEVEL', value: 'debug' }],
  }),
  timeout: field(duration, 'How long one attempt may take.', { default: '20m', example: '10m' }),
  successTest: field(
    object({
      command: field(commandLine, 'The program and its arguments.', { example: ['/usr/local/bin/k0s', 'status'] }),
    }),
    'A test that ends with status 0 as soon as the node works.',
    {
      absent: 'the health endpoint of the kubelet is the test',
      example: { command: ['/usr/local/bin/k0s', 'status'] },
    },
  ),
  failurePatterns: field(
    z.array(
      object({
        pattern: field(
          z.string().min(1).max(500),
          'A regular expression that a line matches, in the syntax of RE2 (https://github.com/google/re2/wiki/Syntax), without lookaround and backreferences.',
          { example: 'no space left' },
        ),
        reason: field(z.string().min(1), 'What went wrong, in a sentence.', { example: 'The disk is full.' }),
        remedy: field(z.string().min(1), 'What to do about it.', {
          absent: 'no remedy is reported',
          example: 'Use a larger disk.',
        }),
        retryable: field(z.boolean(), 'Whether another attempt may succeed.', { default: false, example: true }),
      }),
    ),
    'What lines of the output of a failed program mean. They are tried in order on every line.',
    { default: [], example: [{ pattern: 'no space left', reason: 'The disk is full.' }] },
  ),
  reset: field(
    object({
      command: field(commandLine, 'The program and its arguments.', { example: ['/usr/local/bin/k0s', 'status'] }),
    }),
    'A program that undoes what the bootstrapper did, before another attempt and for `machineadm reset`.',
    { absent: 'nothing is undone', example: { command: ['/usr/local/bin/k0s', 'reset'] } },
  ),
  retry,
});

type ExecSection = z.infer<typeof exec>;

/** @param require `kubernetes.ready.require`, which says what proves the success */
export function toExec(section: ExecSection | undefined, require: string | undefined): ExecModel | undefined {
  if (section === undefined) return undefined;
  const byDefault = section.successTest === undefined ? 'KubeletHealthy' : 'Command';
  return {
    command: section.command,
    args: section.args ?? [],
    env: section.env ?? [],
    timeoutMs: milliseconds(section.timeout) ?? DEFAULT_EXEC_TIMEOUT_MS,
    proof: require === 'Command' || require === 'KubeletHealthy' ? require : byDefault,
    successTest: section.successTest?.command,
    failurePatterns: (section.failurePatterns ?? []).map(({ pattern, reason, remedy, retryable }) => ({
      pattern,
      reason,
      remedy,
      retryable: retryable ?? false,
    })),
    reset: section.reset?.command,
    retry: toRetry(section.retry),
  };
}

/** Instructions of a compiled pattern; each may cost a step for each character. A sensible pattern has fewer than 100. */
const LARGEST_PROGRAM = 500;

/** Failure patterns run in RE2, so that no output can make them slow: what RE2 cannot express is refused. */
export async function checkFailurePatterns(section: ExecSection | undefined): Promise<Finding[]> {
  const patterns = section?.failurePatterns ?? [];
  if (patterns.length === 0) return [];
  const { RE2JS, RE2JSSyntaxException } = await import('re2js');
  return patterns.flatMap(({ pattern }, index): Finding[] => {
    const path = ['kubernetes', 'bootstrapper', 'exec', 'failurePatterns', index, 'pattern'];
    try {
      if (RE2JS.compile(pattern).programSize() <= LARGEST_PROGRAM) return [];
      return [{ path, message: 'too large a pattern', hint: 'repeat less: x{1,400} counts as 800 characters' }];
    } catch (error) {
      if (error instanceof RE2JSSyntaxException) return [{ path, ...refusal(pattern, error) }];
      throw error;
    }
  });
}

interface Refusal {
  /** How the part begins that the engine names. */
  readonly part: RegExp;
  readonly message: string;
  readonly hint: string;
}

const REFUSALS: readonly Refusal[] = [
  {
    part: /^\(\?<?[=!]/,
    message: 'RE2 has no lookahead and no lookbehind',
    hint: 'describe the line itself; an earlier entry of the list can match lines that must not count',
  },
  { part: /^\\[1-9k]/, message: 'RE2 has no backreferences', hint: 'repeat the expression in place of \\1' },
  { part: /^\\u/, message: 'RE2 has no escape \\u', hint: 'write the character itself, or \\x{20AC} for \\u20AC' },
  { part: /^\\./, message: 'not an escape of RE2', hint: 'write the character without the backslash' },
  { part: /^\{/, message: 'a repetition of more than 1000', hint: 'write * or +, or a smaller number' },
];

function refusal(pattern: string, { error, input }: RE2JSSyntaxException): Omit<Finding, 'path'> {
  const part = input ?? '';
  const known = REFUSALS.find((candidate) => candidate.part.test(part));
  // Of an error that it cannot place, the engine names the whole pattern.
  const at = known === undefined && part === pattern ? -1 : offsetOf(part, pattern);
  const where = at < 0 ? '' : ` (at character ${at + 1})`;
  if (known !== undefined) return { message: `${known.message}${where}`, hint: known.hint };
  return { message: `not a regular expression of RE2: ${error}${where}`, hint: 'correct the pattern' };
}

/** Where a part begins; an escaped character begins none. */
function offsetOf(part: string, pattern: string): number {
  for (let at = 0; at < pattern.length; at += pattern[at] === '\\' ? 2 : 1) {
    if (pattern.startsWith(part, at)) return at;
  }
  return -1;
}
