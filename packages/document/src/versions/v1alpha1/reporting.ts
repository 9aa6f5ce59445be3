import * as z from 'zod';
import { field, object } from '../../sections/field.ts';
import { absolutePath, duration } from './fields.ts';
import { sinkSection } from './sinks/index.ts';

export const reporting = object({
  sentinel: field(
    object({
      path: field(absolutePath, 'The path of the sentinel. Its content is "success" and a line break.', {
        example: '/run/cluster-api/bootstrap-success.complete',
      }),
    }),
    "The file whose existence means that the node works. Cluster API's bootstrap contract asks for it.",
    { absent: 'the path of Cluster API', example: { path: '/run/cluster-api/bootstrap-success.complete' } },
  ),
  deadline: field(
    duration,
    'How long delivery to remote sinks is tried after the run has ended, in a process of its own. Reports that remain are spooled and sent later.',
    { default: '30s', example: '2m' },
  ),
  sinks: field(
    z.array(sinkSection).max(32),
    'Receivers of the events of a run. A receiver that is down neither fails nor delays a bootstrap.',
    { default: [{ type: 'Journal' }], example: [{ type: 'Journal' }, { type: 'Console', device: '/dev/ttyS0' }] },
  ),
});
