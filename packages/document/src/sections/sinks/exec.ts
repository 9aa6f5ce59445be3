import type { ResolveSecret } from '../../fields/convert-values.ts';
import { field } from '../../fields/field.ts';
import { environmentName, secret } from '../../fields/types.ts';
import * as z from '../../schema/zod.ts';
import type { SecretValue } from '../../secrets/secret.ts';
import { type RemoteOptions, remoteFields, sinkSchema, toRemoteOptions } from './sink.ts';

/** A program that is given each event on standard input. */
export interface ExecSinkModel extends RemoteOptions {
  readonly kind: 'Exec';
  /** Program and arguments; the program absolute, or a name on root's PATH. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, SecretValue>>;
}

const schema = sinkSchema(
  'Exec',
  'A program that reads each event from stdin.',
  { command: ['/usr/local/bin/report'] },
  {
    command: field(
      z.array(z.string()).min(1),
      'The program and its arguments. It is started for each event and reads it from stdin as one line of JSON.',
      { example: ['/usr/local/bin/report'] },
    ),
    environment: field(
      z.record(environmentName, secret),
      'Environment variables of the program. A value is a secret, given directly or by name.',
      { default: {}, example: { TOKEN: { secret: 'reportToken' } } },
    ),
    ...remoteFields,
  },
);

function toExecSink(section: z.infer<typeof schema>, name: string, resolve: ResolveSecret): ExecSinkModel {
  return {
    kind: 'Exec',
    ...toRemoteOptions(section, name),
    command: section.command,
    environment: Object.fromEntries(
      Object.entries(section.environment ?? {}).map(([variable, value]) => [
        variable,
        resolve(value, `${variable} of the sink ${name}`),
      ]),
    ),
  };
}

export const exec = { schema, toModel: toExecSink };
