import type { Finding } from '../diagnostics/index.ts';
import { all, is, must, when, without } from '../fields/conditions.ts';
import { choice, field, object } from '../fields/field.ts';
import { repeated } from '../fields/repeated.ts';
import { unitDropInPath, unitPath } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import { claimsOn, doubles, hostPart } from './part.ts';
import { absentField, absentNames, checkAbsentNames, presentOf } from './paths-of-host.ts';

export interface ServiceModel {
  readonly name: string;
  readonly enabled: boolean | undefined;
  readonly masked: boolean | undefined;
  readonly state: 'Started' | 'Stopped' | undefined;
  readonly dropIns: readonly { readonly name: string; readonly content: string }[];
  /** Its place in the document; absent: that in this list. */
  readonly at?: number;
}

const DROP_IN = '[Service]\nLimitNOFILE=65536\n';

const dropIn = object({
  name: field(
    z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*\.conf$/, 'not the name of a drop-in: it ends in ".conf"'),
    'The file name, which ends in ".conf".',
    { example: '10-limits.conf' },
  ),
  content: field(z.string().min(1), 'The content of the drop-in.', { example: DROP_IN }),
});

export const services = hostPart({
  description: 'Services of the operating system.',
  default: [],
  changes: 'the state of the services, and drop-ins in `/etc/systemd/system`',
  example: [{ name: 'kubelet', enabled: true }],
  entryKeys: { '': ['name'], '*.dropIns': ['name'] },
  schema: z.array(
    object(
      {
        name: field(
          z.string().regex(/^[A-Za-z0-9:_.@\\-]+$/, 'not the name of a service'),
          'The name of the service. On Linux, .service may be left out.',
          { example: 'kubelet' },
        ),
        enabled: field(z.boolean(), 'Whether the service starts at boot.', {
          absent: 'it stays as it is',
          example: true,
        }),
        masked: field(
          z.boolean(),
          'Whether the service is masked, so that nothing can start it. Excludes enabled and state Started.',
          { absent: 'it stays as it is', example: true },
        ),
        state: field(
          choice({ Started: 'The service runs.', Stopped: 'The service does not run.' }),
          'Whether the service runs now.',
          { absent: 'it stays as it is', example: 'Started' },
        ),
        dropIns: field(
          z.array(dropIn),
          'Drop-ins of the unit. The service restarts if one changes. A drop-in that leaves the document is removed.',
          { default: [], example: [{ name: '10-limits.conf', content: DROP_IN }] },
        ),
        absent: absentField(
          'Whether the service is stopped and disabled, and its unit in /etc/systemd/system is removed with its drop-ins. A unit of a package cannot be removed: mask it instead.',
        ),
      },
      () => [
        when(is('absent', true), without('enabled', 'masked', 'state', 'dropIns')),
        when(is('masked', true), all(must('enabled', { const: false }), must('state', { const: 'Stopped' }))),
      ],
    ),
  ),
  toModel: (section = []): readonly ServiceModel[] =>
    presentOf(section).map(({ entry: { name, enabled, masked, state, dropIns = [] }, place }) => ({
      ...{ name, enabled, masked, state, dropIns },
      ...place,
    })),
  removesNames: (section) => absentNames('service', 'services', section),
  claims: (services) =>
    services.flatMap(({ name, masked, dropIns, at: place }, index) => [
      ...dropIns.flatMap((dropIn, at) =>
        claimsOn('services', [place ?? index, 'dropIns', at], 'file', unitDropInPath(name, dropIn.name)),
      ),
      // A link to /dev/null in the place of the unit (systemctl(1), mask).
      ...(masked === true ? claimsOn('services', [place ?? index, 'masked'], 'file', unitPath(name)) : []),
    ]),
  check: (section) => [
    ...doubles(section),
    ...checkAbsentNames(section),
    ...section.flatMap(({ masked, enabled, state, dropIns = [] }, index): Finding[] => [
      ...(masked === true && (enabled === true || state === 'Started')
        ? [{ path: [index], message: 'a masked service neither runs nor starts', hint: 'keep one of them' }]
        : []),
      ...[...repeated(dropIns.map(({ name }) => name)).keys()].map(
        (at): Finding => ({
          code: 'Duplicate',
          path: [index, 'dropIns', at, 'name'],
          message: 'another drop-in of this service has this name',
        }),
      ),
    ]),
  ],
});

export type ServicesSection = z.infer<typeof services.schema>;
