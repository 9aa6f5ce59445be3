import { InvalidArgumentError } from 'commander';

/** `text` is for people; all other formats show the same data. */
export type OutputFormat = 'text' | DataFormat;
export type DataFormat = 'json' | 'yaml' | 'name' | `jsonpath=${string}`;

/** Reads the value of `-o`. */
export function parseOutputFormat(value: string): OutputFormat {
  const format = formatOf(value);
  if (format !== undefined) return format;
  if (value === 'jsonpath') throw new InvalidArgumentError("Write the path behind it: -o jsonpath='{.kind}'.");
  throw new InvalidArgumentError(
    'It is a format: text, json, yaml, name or jsonpath={.field}. Files are written with --output-file or --output-dir.',
  );
}

function formatOf(value: string): OutputFormat | undefined {
  if (value === 'text' || value === 'json' || value === 'yaml' || value === 'name') return value;
  const [, path] = /^jsonpath=(.*)$/s.exec(value) ?? [];
  return path === undefined ? undefined : `jsonpath=${path}`;
}

/** The format that a command line asks for, even a wrong command line: its error is printed in that format. */
export function formatIn(argv: readonly string[]): OutputFormat {
  const values = argv.flatMap((word, index) => {
    if (word === '-o' || word === '--output') return [argv[index + 1] ?? ''];
    const [, value] = /^(?:-o|--output=)(.+)$/s.exec(word) ?? [];
    return value === undefined ? [] : [value];
  });
  return values.map(formatOf).findLast((format) => format !== undefined) ?? 'text';
}
