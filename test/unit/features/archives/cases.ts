import { tarOf } from '../../../support/archives.ts';
import type { FeatureCases } from '../../../support/feature-cases.ts';

/** An archive of files, a directory and a link that is unpacked there. */
const archive = (path: string, more = ''): string => {
  const members = [
    { name: 'hosts', content: 'ours\n' },
    { name: 'deep/er/tool', content: 'tool' },
    { name: 'empty', type: '5' },
    { name: 'latest', type: '2', target: 'deep/er/tool' },
  ];
  const content = tarOf(members).toString('base64');
  return `files: [{path: ${path}, encoding: base64, content: ${content}, unpack: {${more}}}]`;
};

export const cases: FeatureCases = {
  undo: {
    'an archive in new directories': archive('/opt/cni/bin'),
    'an archive over what was there': archive('/etc'),
    'a file of an archive': archive('/opt/bin/tool', 'member: deep/er/tool'),
  },
  drifts: {
    'host.files[].unpack.**': {
      elsewhere: [
        'test/unit/features/archives/archives.test.ts',
        'is found and repaired in every attribute, and downloaded again only for a content',
      ],
    },
  },
};
