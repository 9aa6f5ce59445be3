import type { QueryHost } from '../../host/seam/host.ts';

/** A word of the script that a shell found where it does not belong. Reserved words and operators tell no secret. */
const TOLD_WORD = /^(?:\W+|newline|word|if|then|else|elif|fi|for|while|until|do|done|case|esac|in|end of file|EOF)$/;

/** What a shell does not understand of a script. */
export interface SyntaxTrouble {
  /** Counted from 1; undefined where the shell names none. */
  readonly line: number | undefined;
  /** Without the script's own words, which may be secrets. */
  readonly text: string;
  /** The script ends, or becomes another program, in a line above: a shell that reads line by line may never come here. */
  readonly isBehindEnd: boolean;
}

/** Words that begin or end something, wherever they stand. */
const RESERVED =
  /(?:^|\s)(?:if|then|elif|else|fi|for|in|do|done|while|until|case|esac|select|function|time|coproc)(?=\s|$)/;
/** Words of a simple command, and to which file it writes: no shell finds a mistake in them. */
const PLAIN = /^[\w./:=,@%+-]+(?:[ \t]+(?:>>?[ \t]*)?[\w./:=,@%+-]+)*$/;

/**
 * Lets a shell read a script without executing it; undefined: it understands it all, or is not installed. bash is asked again
 * with extglob, which a line of the script itself may set.
 */
export async function syntaxTrouble(
  host: QueryHost,
  shell: 'sh' | 'bash',
  script: string,
): Promise<SyntaxTrouble | undefined> {
  const lines = script.split('\n');
  if (lines.every((line) => line.trim() === '' || (PLAIN.test(line.trim()) && !RESERVED.test(line)))) return undefined;
  const ask = async (...args: readonly string[]) => await host.query({ program: shell, args, input: `${script}\n` });
  const { status, stderr } = await ask('-n');
  if (status === 0 || status === 127) return undefined;
  if (shell === 'bash' && (await ask('-O', 'extglob', '-n')).status === 0) return undefined;
  const said = stderr.split('\n').find((line) => /syntax error|unexpected|unterminated|bad /i.test(line)) ?? '';
  const line = /(?:line |: )(\d+): /.exec(said)?.[1];
  const above = lines.slice(0, line === undefined ? undefined : Number(line) - 1);
  const introduction = /syntax error:? ?/i.exec(said) ?? /(?<!\d)\d+: /.exec(said);
  const text = said
    .slice(introduction === null ? 0 : introduction.index + introduction[0].length)
    .replace(/[`'"]([^`'"]+)['"]/g, (quoted, word: string) => (TOLD_WORD.test(word) ? quoted : 'a word'));
  return {
    line: line === undefined ? undefined : Number(line),
    text: `syntax error${text === '' ? '' : `: ${text}`}`,
    isBehindEnd: above.some((one) => /^(?:exit|return|exec)\b/.test(one)),
  };
}
