import manifest from '../package.json' with { type: 'json' };

/** The version of the translator, which is that of the release. */
export const VERSION: string = manifest.version;
