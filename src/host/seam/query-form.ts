/**
 * One permitted way to call a program. Arguments are matched word by word; everything that is not listed is refused,
 * including abbreviated (`--prop`) and joined (`-ovalue`, `-cf`) options.
 */
export interface QueryForm {
  /** Options of the program itself, before the words: `containerd -c FILE config dump`. */
  readonly leading?: Readonly<Record<string, RegExp>>;
  /** Leading words that must match exactly. */
  readonly words?: readonly string[];
  /** Options without a value. */
  readonly flags?: readonly string[];
  /** Options with a value, as the next argument or after `=` for long ones. */
  readonly valued?: Readonly<Record<string, RegExp>>;
  /** At least one of these options is required: without it the program would change something. */
  readonly needs?: readonly string[];
  /** Permitted operands. Default: none. */
  readonly operands?: { readonly pattern: RegExp; readonly min?: number; readonly max?: number };
}

/** True when the arguments match this form completely. */
export function matches(form: QueryForm, args: readonly string[]): boolean {
  if (args.some((argument) => argument.includes('\0'))) return false;
  const start = skipLeading(form.leading ?? {}, args);
  const expected = form.words ?? [];
  if (start === undefined || expected.some((word, index) => args[start + index] !== word)) return false;

  const given = new Set<string>();
  const operands: string[] = [];
  for (let index = start + expected.length; index < args.length; index += 1) {
    const argument = args[index] ?? '';
    if (form.flags?.includes(argument)) {
      given.add(argument);
    } else if (argument.startsWith('-') && argument !== '-') {
      const option = valuedOption(form.valued ?? {}, argument, args[index + 1]);
      if (option === undefined) return false;
      given.add(option.name);
      if (option.tookNext) index += 1;
    } else {
      operands.push(argument);
    }
  }

  const { pattern = /^\b$/, min = 0, max = form.operands === undefined ? 0 : Infinity } = form.operands ?? {};
  return (
    (form.needs === undefined || form.needs.some((option) => given.has(option))) &&
    operands.length >= min &&
    operands.length <= max &&
    operands.every((operand) => pattern.test(operand))
  );
}

/** The index of the first word, after options of the program itself; undefined when one of them is refused. */
function skipLeading(leading: Readonly<Record<string, RegExp>>, args: readonly string[]): number | undefined {
  let index = 0;
  while (Object.hasOwn(leading, args[index] ?? '')) {
    const pattern = leading[args[index] ?? ''];
    if (!pattern?.test(args[index + 1] ?? '')) return undefined;
    index += 2;
  }
  return index;
}

function valuedOption(
  valued: Readonly<Record<string, RegExp>>,
  argument: string,
  next: string | undefined,
): { readonly name: string; readonly tookNext: boolean } | undefined {
  const equals = argument.startsWith('--') ? argument.indexOf('=') : -1;
  const name = equals === -1 ? argument : argument.slice(0, equals);
  const value = equals === -1 ? next : argument.slice(equals + 1);
  if (!Object.hasOwn(valued, name) || value === undefined) return undefined;
  return valued[name]?.test(value) ? { name, tookNext: equals === -1 } : undefined;
}
