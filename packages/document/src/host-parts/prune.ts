import { choice } from '../fields/field.ts';
import { hostPart } from './part.ts';

export const prune = hostPart({
  description:
    'Whether a run undoes what earlier runs created or changed for entries that left the document. Anything changed since is kept.',
  default: 'Always',
  changes: 'removes what an earlier run created, and restores what it changed',
  example: 'Never',
  linuxOnly: 'what earlier runs made stays there',
  schema: choice({
    Always: 'What the document no longer asks for is removed, or becomes again what it was before the first run.',
    Never: 'It stays.',
  }),
  toModel: (section): 'Always' | 'Never' => section ?? 'Always',
});
