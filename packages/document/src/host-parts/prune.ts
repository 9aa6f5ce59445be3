import { choice } from '../sections/field.ts';
import { hostPart } from './part.ts';

export const prune = hostPart({
  description:
    'Whether to remove files, links, directories and drop-ins that an earlier run created and the document no longer lists. Anything changed since is kept.',
  default: 'Always',
  changes: 'removes files, links, directories and drop-ins that an earlier run created',
  example: 'Never',
  linuxOnly: 'what earlier runs made stays there',
  schema: choice({
    Always: 'Anything that the document no longer lists is removed.',
    Never: 'It stays.',
  }),
  toModel: (section): 'Always' | 'Never' => section ?? 'Always',
});
