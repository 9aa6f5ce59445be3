import type { Finding, PathSegment } from '../../diagnostics/index.ts';
import type { ResolveSecret } from '../../fields/convert-values.ts';
import * as z from '../../schema/zod.ts';
import type { SecretsSection } from '../secrets.ts';
import { aws } from './aws.ts';
import { azure } from './azure.ts';
import { exec } from './exec.ts';
import { gcp } from './gcp.ts';
import { guestinfo } from './guestinfo.ts';
import { kubernetes, node } from './kubernetes.ts';
import { journal, type LocalSinkModel, machineConsole, systemdNotify, windowsEventLog } from './local.ts';
import { nats } from './nats.ts';
import { otlp } from './otlp.ts';
import { webhook } from './webhook.ts';

/**
 * The kinds of sinks, each with all that is known of it in one module: its form, its words, what it becomes and what else is
 * wrong with it. How to add a remote one, say `NATS`: `nats.ts` here with `sinkSchema`, the fields of every remote sink
 * (`remoteFields`) and its model, and a line below; `reporting/remote/nats.ts`, a `RemoteSink`, and a line in
 * `reporting/remote/registry.ts`. Every secret in a model is a `SecretValue`: that alone makes it redacted, kept out of the
 * spool and found by `documentSecrets`. Spool, order, retries, deadlines, `report flush` and `report test` follow by themselves.
 */
const KINDS = [
  journal,
  machineConsole,
  systemdNotify,
  windowsEventLog,
  exec,
  kubernetes,
  node,
  nats,
  aws,
  gcp,
  azure,
  otlp,
  guestinfo,
  webhook,
] as const;

type Kinds = typeof KINDS;
type SchemasOf<Of extends readonly { readonly schema: z.ZodType }[]> = { [Index in keyof Of]: Of[Index]['schema'] };

export const sinkSection = z.discriminatedUnion(
  'type',
  KINDS.map(({ schema }) => schema) as unknown as SchemasOf<Kinds>,
);

export type SinkSection = z.infer<typeof sinkSection>;

export type SinkModel = ReturnType<Kinds[number]['toModel']>;

/** A sink that the deliverer, a separate process, sends to. What is not a `SecretValue` of it is written to disk as it is. */
export type RemoteSinkModel = Exclude<SinkModel, LocalSinkModel>;

/** A kind of sink as it is handed its own sections only, which no type can say of a list. */
interface AnyKind {
  toModel(section: SinkSection, name: string, resolve: ResolveSecret): SinkModel;
  check?(section: SinkSection, path: readonly PathSegment[], secrets: SecretsSection): Finding[];
}

const BY_TYPE = new Map(KINDS.map((kind) => [kind.schema.shape.type.value, kind as AnyKind]));

function kindOf({ type }: SinkSection): AnyKind {
  const kind = BY_TYPE.get(type);
  if (kind === undefined) throw new TypeError(`no sink is of the type ${type}`);
  return kind;
}

/** @param name what the sink is called where the document gives it no name */
export function toSink(section: SinkSection, name: string, resolve: ResolveSecret): SinkModel {
  return kindOf(section).toModel(section, name, resolve);
}

/** What the schema of a sink cannot say: mistakes across its fields. */
export function checkSinks(sinks: readonly SinkSection[], secrets: SecretsSection): Finding[] {
  return sinks.flatMap((sink, index) => kindOf(sink).check?.(sink, ['reporting', 'sinks', index], secrets) ?? []);
}
