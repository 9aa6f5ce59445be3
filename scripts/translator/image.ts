/** The archive that `npm run translator -- --all` writes to `dist/`. */
export const TRANSLATOR_ARCHIVE = 'machineadm-translator-image-linux.tar';

/** The directory of the bundled programs, the one that is started, and the Node that runs it, in the image. */
export const TRANSLATOR_DIRECTORY = 'usr/share/machineadm-translator';
export const TRANSLATOR_PROGRAMS = ['translator.cjs', 'conversions.cjs'] as const;
export const TRANSLATOR_NODE = 'usr/local/bin/node';

/**
 * The image in the manifests. clusterctl takes canonical names only. This one is what container runtimes make of the name in the
 * archive, and nobody can publish there: it must be replaced by a registry, or imported on each node.
 */
export const TRANSLATOR_REPOSITORY = 'docker.io/library/machineadm-translator';

/** Uid and gid of the process, as in the Deployment. */
const USER = '65532:65532';

/**
 * The image of the translator. Memory in MiB: at most 96 + 3 * 4 for the heap, 96 + 8 for that of each of two threads for
 * conversions, 32 for concurrent reviews, and about 70 for Node itself. The sum is below the memory limit of the Deployment.
 * Without the limit of arenas, glibc keeps freed memory of each of its threads apart.
 */
export const TRANSLATOR_IMAGE = {
  title: 'machineadm-translator',
  description: 'Bootstrap translator of machineadm for the management cluster of Cluster API',
  entrypoint: [
    `/${TRANSLATOR_NODE}`,
    '--max-old-space-size=96',
    '--max-semi-space-size=4',
    '--disable-sigusr1',
    `/${TRANSLATOR_DIRECTORY}/${TRANSLATOR_PROGRAMS[0]}`,
  ],
  environment: ['MALLOC_ARENA_MAX=2'],
  user: USER,
} as const;
