import { readFile } from 'node:fs/promises';
import { errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { Kept } from '../handover/kept.ts';
import { NO_PROFILES, type Profiles, parseProfiles } from '../handover/profiles.ts';

/**
 * The profiles of a file that may change at any time, as a mounted ConfigMap does. It is read for each translation and
 * parsed when its text changed. A file that does not exist has no profiles: the ConfigMap is optional. Throws `Kept` with
 * `OptionsInvalid`.
 */
export function profilesFrom(path: string | undefined): () => Promise<Profiles> {
  let known: { readonly text: string; readonly profiles: Profiles } | undefined;
  return async () => {
    if (path === undefined) return NO_PROFILES;
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return NO_PROFILES;
      throw new Kept('OptionsInvalid', `the profiles cannot be read: ${errorMessage(error)}`);
    }
    if (known?.text !== text) known = { text, profiles: parseProfiles(text) };
    return known.profiles;
  };
}
