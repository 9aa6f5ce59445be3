import { readFile } from 'node:fs/promises';
import { errorMessage } from '@machineadm/document/errors.ts';
import { Kept } from '../kept.ts';
import { type Profile, parseProfiles } from '../profiles.ts';

/**
 * The profiles of a file that may change at any time, as a mounted ConfigMap does. It is read for each translation and
 * parsed when its text changed. Without a file there is no profile. Throws `Kept` with `OptionsInvalid`.
 */
export function profilesFrom(path: string | undefined): () => Promise<ReadonlyMap<string, Profile>> {
  let known: { readonly text: string; readonly profiles: ReadonlyMap<string, Profile> } | undefined;
  return async () => {
    if (path === undefined) return new Map();
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      throw new Kept('OptionsInvalid', `the profiles cannot be read: ${errorMessage(error)}`);
    }
    if (known?.text !== text) known = { text, profiles: parseProfiles(text) };
    return known.profiles;
  };
}
