import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type ParseArgsConfig, parseArgs } from 'node:util';

/**
 * Parses the options of a script with `parseArgs`. `--help` prints the comment at the top of the script and its options, and
 * exits with 0. An invalid option prints one line and exits with 2.
 *
 * @param script path of the script (`import.meta.filename`)
 */
export function readOptions<const Config extends ParseArgsConfig>(
  script: string,
  config: Config,
): ReturnType<typeof parseArgs<Config>> {
  if (process.argv.slice(2).includes('--help')) {
    console.log(helpOf(readFileSync(script, 'utf8'), config.options ?? {}));
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    const [why] = (error instanceof Error ? error.message : String(error)).split('. ');
    console.error(`${basename(script, '.ts')}: ${why} (--help lists the options)`);
    process.exit(2);
  }
}

/** The first documentation comment of a source, and a line for each option. */
export function helpOf(source: string, options: NonNullable<ParseArgsConfig['options']>): string {
  const comment = /^\/\*\*(.*?)\*\//ms.exec(source)?.[1] ?? '';
  const lines = Object.entries(options).map(([name, { type, multiple, default: usual }]) => {
    const value = type === 'string' ? ' VALUE' : '';
    const often = multiple === true ? ', more than once' : '';
    const shown = typeof usual === 'string' ? ` (default: ${usual})` : '';
    return `  --${name}${value}${often}${shown}`;
  });
  return [comment.replace(/^ *\* ?/gm, '').trim(), ...(lines.length > 0 ? ['', 'Options:', ...lines] : [])].join('\n');
}
