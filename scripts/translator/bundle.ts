import { join } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';

const CLIENT = '@kubernetes/client-node';

/**
 * Bundles the translator into two CommonJS files in a directory, and returns the inputs that are in them. Unlike the agent, it
 * has no parts that are loaded lazily, because it is a long-running server. Each of its threads loads its own file: with one
 * file for all, every thread held the code of the others.
 */
export async function bundleTranslator(root: string, directory: string): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: {
      translator: join(root, 'packages/translator/src/main.ts'),
      conversions: join(root, 'packages/translator/src/worker/main.ts'),
    },
    absWorkingDir: root,
    outdir: directory,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    legalComments: 'none',
    keepNames: true,
    minify: true,
    metafile: true,
    logLevel: 'warning',
    plugins: [UNUSED_CLIENTS],
  });
  return withoutUnused(metafile);
}

/**
 * Removes the unused code of the Kubernetes client. Its package does not declare that its modules have no side effects, so
 * the bundler would keep the types of every API and the clients of exec and port-forward.
 */
const UNUSED_CLIENTS: Plugin = {
  name: 'unused-clients',
  setup({ onResolve, resolve: resolveModule }) {
    onResolve({ filter: /.*/ }, async ({ path, pluginData, ...request }) => {
      const isOfClient = path === CLIENT || request.resolveDir.includes(`/node_modules/${CLIENT}/`);
      if (pluginData === UNUSED_CLIENTS || !isOfClient) return undefined;
      const { importer, namespace, resolveDir, kind } = request;
      const found = await resolveModule(path, { importer, namespace, resolveDir, kind, pluginData: UNUSED_CLIENTS });
      return { ...found, sideEffects: false };
    });
  },
};

/** Removes inputs without code in the bundle, so that licences and the bill of materials do not list their packages. */
function withoutUnused({ inputs, outputs }: Metafile): Metafile {
  const used = new Set(
    Object.values(outputs).flatMap((one) =>
      Object.entries(one.inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
    ),
  );
  return { inputs: Object.fromEntries(Object.entries(inputs).filter(([path]) => used.has(path))), outputs };
}
